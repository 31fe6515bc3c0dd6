"""`bakeoff run`: from an experiment file to recordings and their report."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from bakeoff.cli import arguments
from bakeoff.cli.execution import execute, place
from bakeoff.cli.output import amount, amount_of_bytes, amount_of_time, print_json, print_table, say
from bakeoff.worlds import registry

if TYPE_CHECKING:
    from pathlib import Path

    from bakeoff.experiment import Plan
    from bakeoff.recording import ResultFolder

_RIGHT = ("repeat", "packets", "CPU", "disk")


@click.command("run")
@arguments.experiment_argument
@arguments.change_options
@click.option("--world", type=click.Choice(list(registry.MODULES)), help="What executes the runs; sim by default.")
@arguments.execution_options
@click.option("--check", is_flag=True, help="Exit with 1 if a claim of the experiment fails.")
@click.option("--dry-run", is_flag=True, help="Show the runs and what they will cost, and run nothing.")
@arguments.json_option
@click.pass_obj
def command(  # noqa: PLR0913 - one argument per option
    words: list[str],
    *,
    experiment: str,
    changes: tuple[str, ...],
    schemes: tuple[str, ...],
    repeats: int | None,
    world: str | None,
    jobs: int | None,
    out: Path | None,
    resume: bool,
    check: bool,
    dry_run: bool,
    quiet: bool,
    as_json: bool,
) -> int:
    """Run an experiment and write its report.

    The experiment is a suite (bakeoff list suites) or a TOML file. Results go to results/NAME/TIME, and
    results/NAME/latest points there.
    """
    from bakeoff.experiment import expand, load  # noqa: PLC0415 - loaded when the command runs
    from bakeoff.recording import ResultFolder  # noqa: PLC0415

    plan = expand(load(experiment, arguments.all_changes(changes, schemes, repeats)), world)
    world_of_plan = registry.world(plan.world)
    world_of_plan.check_plan(plan)
    if dry_run:
        _show_plan(plan, world_of_plan, as_json=as_json)
        return 0
    world_of_plan.prepare()
    folder = ResultFolder.create(place(plan.experiment.name, out, resume=resume), plan, resume=resume)
    execute(plan, folder, jobs, words, quiet=quiet)
    return _report(folder, check=check, as_json=as_json)


def _report(folder: ResultFolder, *, check: bool, as_json: bool) -> int:
    from bakeoff.reports import html, model, terminal  # noqa: PLC0415

    report = model.load(folder)
    page = folder.write_report(html.render(report, datetime.now(tz=UTC)))
    if as_json:
        print_json(report.to_json())
    else:
        terminal.show(report, terminal.make_console())
    say(f"report: {page}")
    failed = [run for run in report.runs if run.summary.status != "complete"]
    broken = [claim for claim in report.claims if claim.verdict == "fails"] if check else []
    if broken:
        say(f"{amount(len(broken), 'claim')} failed: {', '.join(claim.id for claim in broken)}")
    return 1 if failed or broken else 0


def _show_plan(plan: Plan, world: registry.World, *, as_json: bool) -> None:
    from bakeoff.experiment import estimate  # noqa: PLC0415

    costs = [world.cost(run.scenario) for run in plan.runs]
    whole = estimate.total(costs)
    if as_json:
        runs = [
            {
                "id": run.id,
                "cell": run.cell,
                "repeat": run.repeat,
                "seed": run.seed,
                "packets": cost.packets,
                "cpu_s": round(cost.cpu_s, 3),
                "disk_bytes": cost.disk_bytes,
                "scenario": run.scenario,
            }
            for run, cost in zip(plan.runs, costs, strict=True)
        ]
        total = {"cpu_s": round(whole.cpu_s, 3), "disk_bytes": whole.disk_bytes}
        print_json({"experiment": plan.to_json(), **total, "runs": runs})
        return
    axes = [axis.name for axis in plan.experiment.axes]
    print_table(
        ["run", *axes, "repeat", "packets", "CPU", "disk"],
        [
            [
                run.id,
                *run.cell.values(),
                str(run.repeat),
                f"{cost.packets}",
                amount_of_time(cost.cpu_s),
                amount_of_bytes(cost.disk_bytes),
            ]
            for run, cost in zip(plan.runs, costs, strict=True)
        ],
        right=_RIGHT,
    )
    for unmet in plan.unmet:
        say(f"{', '.join(unmet.labels.values())} {unmet.reason}: {unmet.remedy}")
    say(
        f"{amount(len(plan.runs), 'run')}, about {whole.packets:.2g} packets, {amount_of_time(whole.cpu_s)} of CPU "
        f"and {amount_of_bytes(whole.disk_bytes)}; nothing was run"
    )

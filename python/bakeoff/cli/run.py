"""`bakeoff run`: from an experiment file to recordings and their report."""

from __future__ import annotations

import os
import shlex
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bakeoff.cli import arguments
from bakeoff.cli.output import amount, amount_of_bytes, amount_of_time, print_json, print_table, say
from bakeoff.errors import UserError

if TYPE_CHECKING:
    from bakeoff.experiment import Plan, PlannedRun
    from bakeoff.experiment.estimate import Cost
    from bakeoff.recording import ResultFolder
    from bakeoff.worlds.runner import Finished

WORLDS = ("sim", "emu", "linux", "live")
_RIGHT = ("repeat", "packets", "CPU", "disk")


@click.command("run")
@arguments.experiment_argument
@arguments.change_options
@click.option("--world", type=click.Choice(WORLDS), help="What executes the runs; sim by default.")
@click.option("--jobs", type=click.IntRange(1, 1024), metavar="N", help="Runs at a time; all processors by default.")
@click.option("--out", type=click.Path(path_type=Path), metavar="DIR", help="Folder of the results.")
@click.option("--resume", is_flag=True, help="Run what an earlier, interrupted command lacks.")
@click.option("--check", is_flag=True, help="Exit with 1 if a claim of the experiment fails.")
@click.option("--dry-run", is_flag=True, help="Show the runs and what they will cost, and run nothing.")
@click.option("--quiet", "-q", is_flag=True, help="No progress on stderr.")
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

    plan = expand(load(experiment, arguments.all_changes(changes, schemes, repeats)))
    _check_world(world or plan.experiment.world)
    if dry_run:
        _show_plan(plan, as_json=as_json)
        return 0
    folder = _folder(plan, out, resume=resume)
    _execute(plan, folder, jobs, words, quiet=quiet)
    return _report(folder, check=check, as_json=as_json)


def _check_world(world: str) -> None:
    if world != "sim":
        raise UserError(f'the world "{world}" is not part of this version; the only one is "sim", the simulator')


def _folder(plan: Plan, out: Path | None, *, resume: bool) -> ResultFolder:
    from bakeoff.recording import ResultFolder, latest_folder, new_folder  # noqa: PLC0415

    name = plan.experiment.name
    path = out
    if path is None and resume:
        path = latest_folder(name)
        if path is None:
            raise UserError(
                f"--resume: there is no results/{name}/latest; name the folder with --out, or omit --resume"
            )
    return ResultFolder.create(path or new_folder(name), plan, resume=resume)


def _execute(plan: Plan, folder: ResultFolder, jobs: int | None, words: list[str], *, quiet: bool) -> None:
    from bakeoff.cli.progress import display  # noqa: PLC0415
    from bakeoff.experiment import estimate  # noqa: PLC0415
    from bakeoff.worlds import runner, sim  # noqa: PLC0415

    missing = [run for run in plan.runs if not folder.is_complete(run.id)]
    if not missing:
        return
    whole = estimate.total(run.scenario for run in missing)
    jobs = jobs or _default_jobs(whole)
    if not quiet:
        _announce(plan, missing, whole, jobs)
    failed: list[Finished] = []

    def on_finished(finished: Finished) -> None:
        scenario = finished.run.scenario
        shown.advance(estimate.cost(scenario).cpu_s, scenario["duration_ns"] / 1e9)
        if finished.status != "complete":
            failed.append(finished)

    try:
        with display(len(missing), whole.cpu_s, quiet=quiet) as shown:
            runner.run_plan(missing, folder, sim.execute, jobs=jobs, on_finished=on_finished)
    except runner.Interrupted as error:
        rest = [word for word in words if word != "--resume"]
        raise runner.Interrupted(f"{error}; `{shlex.join(['bakeoff', *rest, '--resume'])}` runs the rest") from None
    for finished in failed:
        say(f"run {finished.run.id} {finished.status}: {finished.error}")


def _default_jobs(whole: Cost) -> int:
    """One job a processor, but no more than half the memory holds."""
    installed = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    fitting = installed // 2 // max(whole.memory_bytes, 1)
    return max(1, min(len(os.sched_getaffinity(0)), fitting))


def _announce(plan: Plan, missing: list[PlannedRun], whole: Cost, jobs: int) -> None:
    kept = len(plan.runs) - len(missing)
    rest = f" ({kept} complete already)" if kept else ""
    cores = min(jobs, len(missing))
    say(
        f"{amount(len(missing), 'run')}{rest} on {amount(cores, 'core')}, "
        f"about {amount_of_time(whole.cpu_s / cores)} and {amount_of_bytes(whole.disk_bytes)}"
    )


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


def _show_plan(plan: Plan, *, as_json: bool) -> None:
    from bakeoff.experiment import estimate  # noqa: PLC0415

    costs = [estimate.cost(run.scenario) for run in plan.runs]
    whole = estimate.total(run.scenario for run in plan.runs)
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
    say(
        f"{amount(len(plan.runs), 'run')}, about {whole.packets:.2g} packets, {amount_of_time(whole.cpu_s)} of CPU "
        f"and {amount_of_bytes(whole.disk_bytes)}; nothing was run"
    )

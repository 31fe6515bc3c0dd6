"""`bakeoff agree`: one experiment in two worlds, and how far they agree."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from bakeoff.cli import arguments
from bakeoff.cli.execution import check_jobs, execute, place, planned
from bakeoff.cli.output import print_json, say
from bakeoff.errors import UserError
from bakeoff.worlds import registry

if TYPE_CHECKING:
    from pathlib import Path

    from bakeoff.experiment import Plan
    from bakeoff.recording import ResultFolder

_KIND = "-agree"
_JSON = "agreement.json"
_PAGE = "agreement.html"


@click.command("agree")
@arguments.experiment_argument
@arguments.change_options
@click.option("--worlds", required=True, metavar="A,B", help="The two worlds; differences are A - B, relative to B.")
@arguments.execution_options
@arguments.json_option
@click.pass_obj
def command(  # noqa: PLR0913 - one argument per option
    words: list[str],
    *,
    experiment: str,
    changes: tuple[str, ...],
    schemes: tuple[str, ...],
    repeats: int | None,
    worlds: str,
    jobs: int | None,
    out: Path | None,
    resume: bool,
    quiet: bool,
    as_json: bool,
) -> int:
    """Run an experiment in two worlds and say how far they agree.

    Every metric of every flow and cell is compared: the difference of the means over repeats, whether it lies
    within the spread between seeds, and how it compares with what is tolerated. Results go to
    results/NAME/TIME-agree: the recordings of each world, agreement.json and agreement.html.
    """
    from bakeoff.experiment import load, standin  # noqa: PLC0415 - loaded when the command runs

    names = _two(worlds)
    plan = planned(load(experiment, arguments.all_changes(changes, schemes, repeats)), quiet=quiet)
    plans = [standin.in_world(plan, name) for name in names]
    for ours in plans:
        if ours.stand_ins:
            say(f"in {ours.world}, our models stand in for {', '.join(ours.stand_ins)}")
    worlds_of_plans = [registry.world(ours.world) for ours in plans]
    for ours, world in zip(plans, worlds_of_plans, strict=True):
        check_jobs(ours.world, jobs)
        world.check_plan(ours)
    for world in worlds_of_plans:
        world.prepare()
    root = _root(plan.experiment.name, out, names, resume=resume)
    folders = _folders(root, plans, resume=resume)
    for ours, folder in zip(plans, folders, strict=True):
        execute(ours, folder, jobs, words, quiet=quiet)
    return _report(root, folders, as_json=as_json)


def _two(worlds: str) -> list[str]:
    """The names of two different worlds of this version."""
    names = [name.strip() for name in worlds.split(",")]
    if len(names) != 2:
        raise UserError(f'--worlds: "{worlds}" must name two worlds, as in --worlds sim,linux')
    for name in names:
        registry.check(name)
    if names[0] == names[1]:
        raise UserError(f'--worlds: "{names[0]}" is there twice; name two different worlds, as in --worlds sim,linux')
    return names


def _root(name: str, out: Path | None, worlds: list[str], *, resume: bool) -> Path:
    """The folder of the agreement; one that is not empty has to hold an earlier one."""
    from bakeoff.recording.atomic import explained  # noqa: PLC0415 - loaded when the command runs

    root = place(name, out, resume=resume, kind=_KIND)
    with explained(root, writing="the agreement"):
        ours = any((root / world).is_dir() for world in worlds) or not (root.is_dir() and any(root.iterdir()))
    if not ours:
        raise UserError(f"{root}: not empty, and not an agreement of {' and '.join(worlds)}; choose another --out")
    return root


def _folders(root: Path, plans: list[Plan], *, resume: bool) -> list[ResultFolder]:
    from bakeoff.recording import ResultFolder  # noqa: PLC0415 - loaded when the command runs

    return [ResultFolder.create(root / plan.world, plan, resume=resume) for plan in plans]


def _report(root: Path, folders: list[ResultFolder], *, as_json: bool) -> int:
    from bakeoff.recording.atomic import write_file  # noqa: PLC0415 - loaded when the command runs
    from bakeoff.recording.manifest import encode_json  # noqa: PLC0415
    from bakeoff.reports.agreement import model, page, terminal  # noqa: PLC0415
    from bakeoff.reports.console import make_console  # noqa: PLC0415

    report = model.load(*folders)
    found = report.to_json()
    write_file(root / _JSON, encode_json(found), writing="the agreement")
    write_file(root / _PAGE, page.render(report, datetime.now(tz=UTC)).encode(), writing="the agreement's page")
    if as_json:
        print_json(found)
    else:
        terminal.show(report, make_console())
    say(f"agreement: {root / _PAGE}")
    return 1 if any(side.failures for side in report.sides) else 0

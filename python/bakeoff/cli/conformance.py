"""`bakeoff conformance`: whether a scheme does what its specification says, case by case."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from bakeoff.cli import arguments
from bakeoff.cli.execution import execute, place, status
from bakeoff.cli.output import print_json, say
from bakeoff.errors import UserError

if TYPE_CHECKING:
    from pathlib import Path

_GROUP = "conformance/"


def _schemes() -> list[str]:
    from bakeoff import suites  # noqa: PLC0415 - loaded when the command runs

    return [name.removeprefix(_GROUP) for name in suites.names() if name.startswith(_GROUP)]


@click.command("conformance")
@click.argument("scheme", shell_complete=arguments.completing(_schemes))
@arguments.execution_options
@arguments.json_option
@click.pass_obj
def command(  # noqa: PLR0913 - one argument per option
    words: list[str], *, scheme: str, jobs: int | None, out: Path | None, resume: bool, quiet: bool, as_json: bool
) -> int:
    """Check whether a scheme does what its specification says.

    The cases are the claims of the suite conformance/SCHEME: for each its source, its path, what is expected, what was
    measured, and the verdict. Exits with 1 if one fails.
    """
    from bakeoff.experiment import expand, load  # noqa: PLC0415 - loaded when the command runs
    from bakeoff.experiment.likely import nearest  # noqa: PLC0415
    from bakeoff.recording import ResultFolder  # noqa: PLC0415
    from bakeoff.reports import conformance, model  # noqa: PLC0415
    from bakeoff.reports.console import make_console  # noqa: PLC0415

    if scheme not in _schemes():
        raise UserError(f'"{scheme}": no suite checks the conformance of this scheme; {nearest(scheme, _schemes())}')
    plan = expand(load(f"{_GROUP}{scheme}"))
    folder = ResultFolder.create(place(plan.experiment.name, out, resume=resume), plan, resume=resume)
    execute(plan, folder, jobs, words, quiet=quiet)
    report = model.load(folder)
    cases = conformance.cases(report)
    if as_json:
        print_json(conformance.to_json(scheme, report, cases))
    else:
        conformance.show(cases, make_console())
    say(f"recordings: {folder.path}")
    return status([report], check=True)

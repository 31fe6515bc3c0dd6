"""`bakeoff report`: the report of a result folder, written again."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bakeoff.cli import arguments
from bakeoff.cli.output import print_json, say, say_writing
from bakeoff.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bakeoff.recording import ResultFolder


@click.command("report", short_help="Write the report of a result folder again.")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path, file_okay=False))
@click.option("--out", type=click.Path(path_type=Path), metavar="FILE", help="The page; DIR/report.html by default.")
@click.option(
    "--beside",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    multiple=True,
    help="A folder of the same experiment in another world, whose totals stand beside; repeatable.",
)
@arguments.json_option
def command(folder: Path, out: Path | None, beside: tuple[Path, ...], *, as_json: bool) -> None:
    """Write the report of a result folder again, and print its table."""
    from bakeoff.recording import ResultFolder  # noqa: PLC0415 - loaded when the command runs
    from bakeoff.reports import html, model, terminal  # noqa: PLC0415
    from bakeoff.reports.console import make_console  # noqa: PLC0415

    results = ResultFolder.open(folder)
    besides = [ResultFolder.open(other) for other in beside]
    _check_same_experiment(results, beside, besides)
    say_writing(len(results.plan))
    report, others = model.load(results), [model.load(other) for other in besides]
    page = results.write_report(html.render(report, datetime.now(tz=UTC), others), out)
    if as_json:
        print_json(report.to_json())
    else:
        terminal.show(report, make_console())
    say(f"report: {page}")


def _check_same_experiment(results: ResultFolder, beside: Sequence[Path], others: Sequence[ResultFolder]) -> None:
    name, worlds = results.experiment["name"], [results.experiment["world"]]
    for place, other in zip(beside, others, strict=True):
        if other.experiment["name"] != name:
            raise UserError(f"--beside {place}: holds {other.experiment['name']}; give a folder of {name}")
        world = other.experiment["world"]
        if world in worlds:
            raise UserError(f"--beside {place}: is of {world} too; `bakeoff compare` shows folders of one world")
        worlds.append(world)

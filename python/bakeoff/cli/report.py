"""`bakeoff report`: the report of a result folder, written again."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bakeoff.cli import arguments
from bakeoff.cli.output import print_json, say, say_writing
from bakeoff.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bakeoff.recording import ResultFolder
    from bakeoff.recording.sameness import Contrast


@click.command("report", short_help="Write the report of a result folder again.")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path, file_okay=False))
@click.option("--out", type=click.Path(path_type=Path), metavar="FILE", help="The page; DIR/report.html by default.")
@click.option(
    "--beside",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    multiple=True,
    help="For the HTML page: a folder of the same experiment in another world, whose totals stand beside; repeatable.",
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
        _check_same_conditions(results, place, other)


def _check_same_conditions(results: ResultFolder, place: Path, other: ResultFolder) -> None:
    """Compares path, duration, traffic and times of the cells that both folders have."""
    from bakeoff.recording import sameness  # noqa: PLC0415 - loaded when the command runs

    ours, theirs = _scenarios(results), _scenarios(other)
    if ours and theirs and not ours.keys() & theirs.keys():
        raise UserError(f"--beside {place}: has no cell of {results.path}; give a folder of the same experiment")
    for cell, scenario in ours.items():
        found = sameness.of_conditions(scenario, theirs[cell]) if cell in theirs else None
        if found is not None:
            where = f" ({', '.join(f'{axis} {label}' for axis, label in cell)})" if cell else ""
            key, value, there = _readable(found)
            raise UserError(
                f"--beside {place}{where}: another experiment of this name: {key} is {there} there and {value} in "
                f"{results.path}; give a folder of the same experiment"
            )


def _scenarios(folder: ResultFolder) -> dict[tuple[tuple[str, str], ...], dict[str, Any]]:
    """The scenario of the first run of each cell; schemes of the kernel are in the cells of ours."""
    from bakeoff.experiment.catalogue import plain  # noqa: PLC0415 - loaded when the command runs
    from bakeoff.experiment.published_row import SCHEME_AXIS  # noqa: PLC0415

    found: dict[tuple[tuple[str, str], ...], dict[str, Any]] = {}
    for run in folder.recordings():
        cell = tuple(
            (axis, plain(label) if axis == SCHEME_AXIS else label) for axis, label in run.manifest.cell.items()
        )
        found.setdefault(cell, run.scenario)
    return found


def _readable(found: Contrast) -> tuple[str, str, str]:
    """The key without its unit, and both values with it: ours, and theirs."""
    from bakeoff.experiment import units  # noqa: PLC0415 - loaded when the command runs

    forms = {"_ns": units.format_time, "_bps": units.format_rate, "_bytes": units.format_size}
    suffix = next((suffix for suffix in forms if found.key.endswith(suffix)), "")
    # Flows of a run have numbers of their own, other than those of the file where one of it stands for several.
    key = re.sub(r"^flow\.(\d+)\.(.+)", r"\2 of flow \1", found.key.removesuffix(suffix))

    def text(value: Any) -> str:
        if value is None:
            return "not set"
        return forms[suffix](value) if suffix and isinstance(value, int) else units.shown(value)

    return key, text(found.ours), text(found.theirs)

"""`bakeoff list`: what there is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from bakeoff.cli import arguments
from bakeoff.cli.output import print_json, print_table

if TYPE_CHECKING:
    from collections.abc import Callable

    Row = dict[str, str]


def _suites() -> list[Row]:
    from bakeoff import suites  # noqa: PLC0415 - loaded when the command runs
    from bakeoff.experiment.source import read_toml  # noqa: PLC0415

    return [{"suite": name, "title": str(read_toml(suites.file(name), name)["title"])} for name in suites.names()]


def _paths() -> list[Row]:
    from bakeoff import suites  # noqa: PLC0415 - loaded when the command runs
    from bakeoff.experiment.source import read_path  # noqa: PLC0415

    return [{"path": name, "title": str(read_path(name)["title"])} for name in suites.path_names()]


def _schemes() -> list[Row]:
    from bakeoff.experiment.catalogue import of_core  # noqa: PLC0415 - loaded when the command runs

    catalogue = of_core()
    return [
        {
            "scheme": entry.name,
            "title": entry.title,
            "worlds": ", ".join(entry.worlds),
            "held against": entry.validation,
            "profiles": ", ".join(entry.profiles),
            "needs": ", ".join(f"a {file.name} file" for file in catalogue.files_of(entry.name)),
            "source": entry.source,
        }
        for entry in catalogue.schemes.values()
    ]


def _queues() -> list[Row]:
    from bakeoff.experiment.catalogue import of_core  # noqa: PLC0415 - loaded when the command runs

    entries = of_core().queues.values()
    return [{"queue": entry.name, "title": entry.title, "source": entry.source} for entry in entries]


def _metrics() -> list[Row]:
    from bakeoff.metrics import DEFINITIONS  # noqa: PLC0415 - loaded when the command runs

    return [
        {"metric": entry.name, "of": ", ".join(entry.scope), "unit": entry.unit, "meaning": entry.meaning}
        for entry in DEFINITIONS
    ]


KINDS: dict[str, Callable[[], list[Row]]] = {
    "suites": _suites,
    "schemes": _schemes,
    "queues": _queues,
    "paths": _paths,
    "metrics": _metrics,
}

# How many of the last columns may stand below their row.
DETAILS = {"schemes": 4, "queues": 1}


@click.command("list")
@click.argument("kind", type=click.Choice(list(KINDS)))
@arguments.json_option
def command(kind: str, *, as_json: bool) -> None:
    """List suites, schemes, queues, paths or metrics."""
    rows = KINDS[kind]()
    if as_json:
        print_json(rows)
    else:
        print_table(list(rows[0]), [list(row.values()) for row in rows], details=DETAILS.get(kind, 0))

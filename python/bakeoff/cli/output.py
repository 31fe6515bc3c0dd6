"""Writing for people and programs: tables and JSON on stdout, talk on stderr."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rich.console import Console

_PIPE_WIDTH = 10_000
_NARROWEST_COLUMN = 22
# Spaces between columns.
_GAP = 2


def say(sentence: str) -> None:
    """A sentence for the person, on stderr."""
    click.echo(f"bakeoff: {sentence}", err=True)


def say_writing(runs: int) -> None:
    """That a report is being made, which takes a while if it has many runs."""
    say(f"writing the report of {amount(runs, 'run')} ...")


def print_json(value: Any) -> None:
    """One JSON document on stdout."""
    click.echo(json.dumps(value, indent=2, ensure_ascii=False))


def console() -> Console:
    """Stdout with styles where it is a terminal; lines are not wrapped where it is not."""
    from rich.console import Console  # noqa: PLC0415 - loaded when something is printed

    width = None if sys.stdout.isatty() else _PIPE_WIDTH
    return Console(file=sys.stdout, width=width, highlight=False)


def print_table(
    head: Sequence[str], rows: Iterable[Sequence[str]], *, right: Sequence[str] = (), details: int = 0
) -> list[str]:
    """A table on stdout, or one block a row where the terminal is too narrow for it.

    Args:
        head: names of the columns.
        rows: cells as text.
        right: columns to be aligned right.
        details: how many of the last columns a table may go without where a row would not fit into a line with them.

    Returns:
        The columns that were left out.
    """
    from rich.table import Table  # noqa: PLC0415 - loaded when something is printed
    from rich.text import Text  # noqa: PLC0415

    lines = [list(row) for row in rows]
    out = console()
    shown = columns_that_fit([head, *lines], details, out.width)
    if out.width < _NARROWEST_COLUMN * shown:
        for line in lines:
            for name, cell in zip(head, line, strict=True):
                if cell:
                    out.print(Text(f"{name}: {cell}"))
            out.print()
        return []
    table = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style="bold")
    for name in head[:shown]:
        justify = "right" if name in right else "left"
        table.add_column(name, justify=justify, overflow="fold", no_wrap=name == head[0])  # type: ignore[arg-type]
    for line in lines:
        table.add_row(*(Text(cell) for cell in line[:shown]))
    out.print(table)
    return list(head[shown:])


def columns_that_fit(lines: Sequence[Sequence[str]], details: int, width: int) -> int:
    """How many columns to show.

    Args:
        lines: cells as text, the head among them.
        details: how many of the last columns may be left out, so that each row fits into a line.
        width: of a line.
    """
    from rich.cells import cell_len  # noqa: PLC0415 - loaded when something is printed

    widths = [max(map(cell_len, column)) for column in zip(*lines, strict=True)]
    shown = len(widths)
    while details and sum(widths[:shown]) + _GAP * (shown - 1) > width:
        shown, details = shown - 1, details - 1
    return shown


def amount_of_bytes(number: float) -> str:
    """A size for people: three digits and a unit."""
    for unit in ("B", "kB", "MB", "GB"):
        if number < 1000:
            return f"{number:.3g} {unit}"
        number /= 1000
    return f"{number:.3g} TB"


def amount_of_time(seconds: float) -> str:
    """A duration for people: "0.1 s" at least, "0.4 s", "12 s", "3 min", "2.5 h"."""
    if seconds < 0.1:
        return "0.1 s"
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 120:
        return f"{seconds:.0f} s"
    if seconds < 7200:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


def amount(number: int, singular: str) -> str:
    """A number of things: "1 run", "12 runs"."""
    return f"{number} {singular}" if number == 1 else f"{number} {singular}s"

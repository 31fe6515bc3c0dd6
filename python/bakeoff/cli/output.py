"""Writing for people and programs: tables and JSON on stdout, talk on stderr."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rich.console import Console

_NARROWEST_COLUMN = 22
# Spaces before what stands below a row.
_INDENT = 4


def say(sentence: str) -> None:
    """A sentence for the person, on stderr."""
    click.echo(f"bakeoff: {sentence}", err=True)


def say_writing(runs: int) -> None:
    """That a report is being made, which takes a while if it has many runs."""
    say(f"writing the report of {amount(runs, 'run')} ...")


def print_json(value: Any) -> None:
    """One JSON document on stdout."""
    click.echo(json.dumps(value, indent=2, ensure_ascii=False))


def print_paragraphs(text: str) -> None:
    """Text on stdout, a paragraph a line; in a terminal lines end between words, those of "- " below its text."""
    import textwrap  # noqa: PLC0415 - loaded when something is printed

    from bakeoff.reports.console import make_console  # noqa: PLC0415

    width = make_console().width
    for line in text.splitlines():
        indent = "  " if line.startswith("- ") else ""
        click.echo(textwrap.fill(line, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False))


def print_table(
    head: Sequence[str], rows: Iterable[Sequence[str]], *, right: Sequence[str] = (), details: int = 0
) -> None:
    """A table on stdout, or one block a row where the terminal is too narrow for it.

    Args:
        head: names of the columns.
        rows: cells as text.
        right: columns to be aligned right.
        details: how many of the last columns stand below their row where rows would not fit into a line.
    """
    from rich.cells import cell_len  # noqa: PLC0415 - loaded when something is printed
    from rich.text import Text  # noqa: PLC0415

    from bakeoff.reports.console import GAP, make_console, make_table  # noqa: PLC0415

    lines = [list(row) for row in rows]
    out = make_console()
    widths = [max(map(cell_len, column)) + GAP for column in zip(head, *lines, strict=True)]
    beside = len(head) - details
    if details and sum(widths[:beside]) <= out.width < sum(widths):
        _print_with_details(out, head, lines, widths[:beside])
    elif out.width < (sum(widths) if details else _NARROWEST_COLUMN * len(head)):
        for line in lines:
            for name, cell in zip(head, line, strict=True):
                if cell:
                    out.print(Text(f"{name}: {cell}"))
            out.print()
    else:
        table = make_table()
        for name in head:
            justify = "right" if name in right else "left"
            table.add_column(name, justify=justify, overflow="fold", no_wrap=name == head[0])  # type: ignore[arg-type]
        for line in lines:
            table.add_row(*map(Text, line))
        out.print(table)


def _print_with_details(
    out: Console, head: Sequence[str], lines: Sequence[Sequence[str]], widths: Sequence[int]
) -> None:
    """A line for the columns that have a width; below it, indented, a line for each other cell that is not empty."""
    from rich.padding import Padding  # noqa: PLC0415 - loaded when something is printed
    from rich.text import Text  # noqa: PLC0415

    def padded(cells: Sequence[str], style: str = "") -> Text:
        text = Text(style=style)
        for cell, width in zip(cells, widths, strict=False):
            piece = Text(cell)
            piece.pad_right(width - piece.cell_len)
            text.append_text(piece)
        return text

    out.print(padded(head, "bold"))
    for line in lines:
        out.print(padded(line))
        for name, cell in zip(head[len(widths) :], line[len(widths) :], strict=True):
            if cell:
                out.print(Padding(Text(f"{name}: {cell}"), (0, 0, 0, _INDENT)))


def amount_of_bytes(number: float) -> str:
    """A size for people: three digits and a unit."""
    for unit in ("B", "kB", "MB", "GB"):
        # What would be rounded to 1000 is one of the next unit.
        if number < 999.5:
            return f"{number:.3g} {unit}"
        number /= 1000
    return f"{number:.3g} TB" if number < 999.5 else f"{number:.0f} TB"


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

"""Where tables are printed."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

if TYPE_CHECKING:
    from rich.table import Table

PIPE_WIDTH = 10_000
"""As many columns as no table has: where no terminal limits lines, none is broken."""
_INDENT = 2


def make_console() -> Console:
    """A console on stdout, with styles where it is a terminal; lines are not broken where it is not."""
    return Console(file=sys.stdout, width=None if sys.stdout.isatty() else PIPE_WIDTH, highlight=False)


def fits(table: Table, console: Console) -> bool:
    """Whether a table can be printed without breaking a cell."""
    return console.measure(table, options=console.options.update(width=PIPE_WIDTH)).maximum <= console.width


def print_table(table: Table, console: Console) -> None:
    """Prints a table, or where it would have to break its cells a paragraph a row.

    A paragraph is the first cell, and below it each other one that is not empty behind the heading of its column. The
    heading of the first column stands above them all.
    """
    if fits(table, console):
        console.print(table)
        return
    headings = [str(column.header).replace("\n", " ") for column in table.columns]
    console.print(Text(headings[0], style="dim"))
    for cells in zip(*(column.cells for column in table.columns), strict=True):
        first, *others = (cell if isinstance(cell, Text) else Text(str(cell)) for cell in cells)
        console.print(Text(first.plain, style="bold"))
        told = [Text.assemble(f"{name} ", cell) for name, cell in zip(headings[1:], others, strict=True) if cell]
        console.print(Padding(Text("; ").join(told), (0, 0, 0, _INDENT)))

"""Where tables are printed."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Sequence

PIPE_WIDTH = 10_000
"""As many columns as no table has: where no terminal limits lines, none is broken."""
GAP = 2
"""Spaces between the columns of a table."""
_INDENT = 2


def make_console() -> Console:
    """A console on stdout, with styles where it is a terminal; lines are not broken where it is not."""
    return Console(file=sys.stdout, width=None if sys.stdout.isatty() else PIPE_WIDTH, highlight=False)


def make_table(left: Sequence[str] = (), right: Sequence[str] = ()) -> Table:
    """A table without lines, for rows to be added.

    Args:
        left: headings of its first columns.
        right: headings of those behind, of numbers, which are aligned right.
    """
    table = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0), header_style="bold")
    for heading in left:
        table.add_column(heading)
    for heading in right:
        table.add_column(heading, justify="right")
    return table


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

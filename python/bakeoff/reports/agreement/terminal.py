"""The agreement in the terminal: the summary, what is farthest apart, and every line if there are few."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from bakeoff.reports import words
from bakeoff.reports.agreement import shown
from bakeoff.reports.console import make_table, print_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console
    from rich.table import Table

    from bakeoff.metrics.agreement import Line
    from bakeoff.reports.agreement.model import Report

_MOST_WORST = 15
_MOST_LINES = 24
_AGREES = {"yes": "green", "no": "red"}


def show(report: Report, console: Console) -> None:
    """Prints an agreement."""
    here, there = report.sides
    console.print(Text(report.experiment["title"], style="bold"))
    runs = " and ".join(f"{side.complete} of {report.planned} runs in {side.world}" for side in report.sides)
    console.print(f"{here.world} against {there.world}, the reference: {runs}\n")
    print_table(_summary(report), console)
    far = report.far
    if far:
        console.print(f"\nBeyond three tolerances: {words.count(len(far), 'line')}", style="bold")
        print_table(_lines(report, far[:_MOST_WORST]), console)
    if len(far) > _MOST_WORST:
        console.print(f"and {len(far) - _MOST_WORST} more, on the page and in agreement.json", style="dim")
    every = [line for line in report.lines if line.exists]
    if len(every) <= _MOST_LINES:
        console.print("\nEvery line", style="bold")
        print_table(_lines(report, every), console)


def _summary(report: Report) -> Table:
    numbers = ("lines", "median error", "90th %ile", "seeds", "agrees", "beyond 3", "in spread")
    table = make_table(("metric", "tolerance"), numbers)
    table.add_column("worst")
    for found in (entry for entry in report.metrics if entry.exists):
        row = shown.summary(found.metric, found.whole)
        agrees = Text(row.agrees, style=_AGREES.get(row.agrees, ""))
        cells = (
            row.tolerance,
            row.cells,
            str(row.median),
            str(row.p90),
            row.seeds,
            agrees,
            row.far,
            row.within,
            Text(row.worst),
        )
        table.add_row(Text(shown.title(found.metric)), *cells)
    return table


def _lines(report: Report, lines: Sequence[Line]) -> Table:
    here, there = (side.world for side in report.sides)
    table = make_table(("cell", "metric"), (here, there, "difference", "relative", "spread", "in spread", "tolerances"))
    for found in lines:
        row = shown.line(found)
        numbers = (row.a, row.b, row.difference, row.relative, row.spread, row.within, row.tolerance)
        table.add_row(Text(row.name), Text(row.metric), *numbers)
    return table

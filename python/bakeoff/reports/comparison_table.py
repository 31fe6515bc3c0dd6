"""A comparison in the terminal: a table, or lines where it is too narrow, and what its words mean."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.padding import Padding
from rich.text import Text

from bakeoff import references
from bakeoff.reports import words
from bakeoff.reports.compare import GOODPUT, few
from bakeoff.reports.console import fits, make_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console
    from rich.table import Table

    from bakeoff.reports.compare import Comparison, Line

# Longer names of folders are in the way of the rest.
_LONGEST = 24


def show(comparison: Comparison, console: Console) -> None:
    """Prints a comparison: a table, or lines where it would have to break its cells."""
    left, right = _names(comparison)
    console.print(f"{left}: {comparison.left}\n{right}: {comparison.right}", highlight=False, markup=False)
    table = _table(comparison, left, right)
    if fits(table, console):
        console.print(table)
    else:
        _lines(comparison, left, right, console)
    for sentence in _remarks(comparison):
        console.print(Text(sentence, style="dim"))
    for side, rows in ((left, comparison.only_left), (right, comparison.only_right)):
        if rows:
            console.print(Text(f"only {side}: {', '.join(rows)}", style="dim"))


def _table(comparison: Comparison, left: str, right: str) -> Table:
    has_differences = any(line.difference is not None for line in comparison.lines)
    table = make_table(("row", "flow", "metric"))
    for heading in (left, right, f"{left} /\n{right}"):
        table.add_column(Text(heading), justify="right")
    if has_differences:
        table.add_column(Text(f"{left} -\n{right}, 95 % interval"))
    before = None
    for line in comparison.lines:
        key = (line.row, _flow(line))
        names = (Text(line.row), Text(_flow(line))) if key != before else (Text(), Text())
        difference = (_difference(line, left),) if has_differences else ()
        table.add_row(*names, line.metric, *_numbers(line), *difference)
        before = key
    return table


def _lines(comparison: Comparison, left: str, right: str, console: Console) -> None:
    """A heading a row and flow, and a line a metric."""
    has_differences = any(line.difference is not None for line in comparison.lines)
    difference = f", {left} - {right} (95 % interval)" if has_differences else ""
    console.print(Text(f"Each line: {left}, {right}, {left} / {right}{difference}", style="dim"))
    before = None
    for line in comparison.lines:
        if (key := (line.row, _flow(line))) != before:
            flows = line.transfers or ("all flows" if line.flow is None else f"flow {line.flow}")
            console.print(Text(f"{line.row}, {flows}", style="bold"))
        told = Text(f"{line.metric}: {', '.join(_numbers(line))}")
        if line.difference is not None:
            told.append(", ").append_text(_difference(line, left))
        console.print(Padding(told, (0, 0, 0, 2)))
        before = key


def _flow(line: Line) -> str:
    return line.transfers or ("all" if line.flow is None else str(line.flow))


def _numbers(line: Line) -> tuple[str, str, str]:
    """Both sides and their ratio."""
    return words.significant(line.left, 4), words.significant(line.right, 4), words.ratio(line.left, line.right)


def _names(comparison: Comparison) -> tuple[str, str]:
    """What the sides are called: by the last part of their names if that tells them apart."""
    left, right = (side.rstrip("/").rpartition("/")[2] for side in (comparison.left, comparison.right))
    # "." and ".." name nothing.
    are_names = all(name.strip(".") and len(name) <= _LONGEST for name in (left, right))
    return (left, right) if are_names and left != right else ("left", "right")


def _remarks(comparison: Comparison) -> list[str]:
    """What the words of the last column mean, and why there are intervals missing."""
    lines = [line for line in comparison.lines if line.left is not None and line.right is not None]
    found = []
    if comparison.right in references.names() and (steady := references.load(comparison.right).steady):
        found.append(f"The {GOODPUT} of a flow is that over {steady}, as published.")
    if any(line.transfers for line in lines):
        found.append("The completion_s of transfers of one size is the median of a run; what did not complete is last.")
    if any(line.verdict and line.is_paired for line in lines):
        found.append("Means and intervals are over pairs of runs with equal seeds.")
    means = dict.fromkeys(line.row for line in lines if line.verdict and not line.is_paired)
    if means:
        found.append(
            f"Intervals{_where(means, lines)} are of the difference of two means (Welch's t), because the seeds "
            "differ. Those over runs with equal seeds are mostly narrower."
        )
    if any(line.verdict == "undecided" for line in lines):
        found.append("Undecided: the interval holds 0, so that these runs show no difference; more repeats may.")
    if any(line.difference is not None and line.difference.count == 1 for line in lines):
        found.append("One pair of runs with equal seeds has no interval: run both with more --repeats.")
    apart = dict.fromkeys(line.row for line in lines if line.difference is None)
    if apart and comparison.right not in references.names():
        found.append(
            f"No intervals{_where(apart, lines)}: the runs have no seed in common, and a side has one run only; run "
            "both with the same seed or with more --repeats."
        )
    return found


def _where(rows: dict[str, None], lines: Sequence[Line]) -> str:
    """The rows that a sentence is about, where it is not about all."""
    return f" in {few(list(rows))}" if len(rows) < len({line.row for line in lines}) else ""


def _difference(line: Line, left: str) -> Text:
    found = line.difference
    if found is None:
        return Text(words.MISSING)
    if found.low is None:
        return Text(f"{words.significant(found.mean)} (1 pair)")
    is_shown = line.verdict in {"higher", "lower"}
    verdict = f"{left} {line.verdict}" if is_shown else line.verdict
    interval = f"{words.significant(found.low)} to {words.significant(found.high)}"
    return Text(f"{interval} {verdict}", style="bold" if is_shown else "dim")

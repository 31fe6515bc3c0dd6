"""Two result folders, or a folder and published numbers, side by side.

Two folders are compared cell by cell on totals, in pairs of runs with equal seeds where there are any: what a seed does
to both sides then cancels. A published report is compared by scheme, per flow and in total, by Pantheon's definitions.
"""

from __future__ import annotations

import os
import statistics
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from bakeoff import references
from bakeoff.errors import UserError
from bakeoff.experiment.published_row import published_row
from bakeoff.metrics.statistics import Estimate, paired
from bakeoff.recording import ResultFolder
from bakeoff.reports import model, words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rich.console import Console

    from bakeoff.metrics import RunSummary, TotalSummary
    from bakeoff.references import Published, PublishedScheme, Reference
    from bakeoff.reports.model import Group, Report

_TOTALS: dict[str, Callable[[TotalSummary], float | None]] = {
    "throughput_mbps": lambda total: total.throughput_mbps,
    "goodput_mbps": lambda total: total.goodput_mbps,
    "owd_p95_ms": lambda total: total.owd_p95_ms,
    "queue_p95_ms": lambda total: total.queue_p95_ms,
    "loss": lambda total: total.loss,
    "jain": lambda total: total.jain,
    "utilisation": lambda total: total.utilisation,
}
_PUBLISHED: dict[str, Callable[[Published], float | None]] = {
    "pantheon.throughput_mbps": lambda numbers: numbers.throughput_mbps,
    "pantheon.owd_p95_ms": lambda numbers: numbers.owd_p95_ms,
    "pantheon.loss": lambda numbers: numbers.loss,
}


@dataclass(frozen=True, kw_only=True)
class Line:
    """One number on both sides.

    Attributes:
        row: the cell or scheme.
        flow: number of the flow; None for all flows together.
        metric: name of the metric, as in `bakeoff list metrics`.
        left: mean over runs on the left.
        right: mean on the right.
        ratio: left over right; None if it does not exist.
        difference: mean of left - right over pairs of runs with equal seeds; None without pairs.
    """

    row: str
    flow: int | None
    metric: str
    left: float | None
    right: float | None
    ratio: float | None
    difference: Estimate | None

    @property
    def verdict(self) -> str:
        """What the pairs show: `higher`, `lower`, or `same` if the interval contains 0; empty without an interval."""
        found = self.difference
        if found is None or found.low is None or found.high is None:
            return ""
        if found.low <= 0 <= found.high:
            return "same"
        return "higher" if found.low > 0 else "lower"


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Everything that both sides have, and what only one has.

    Attributes:
        left: name of the left side.
        right: name of the right side.
        lines: numbers of both.
        only_left: rows without a counterpart.
        only_right: the same on the right.
    """

    left: str
    right: str
    lines: tuple[Line, ...]
    only_left: tuple[str, ...]
    only_right: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """The comparison as plain values; ratios 0..1, what does not exist is null."""
        value = asdict(self)
        value["lines"] = [asdict(line) | {"verdict": line.verdict or None} for line in self.lines]
        value["only_left"], value["only_right"] = list(self.only_left), list(self.only_right)
        return value


def compare(left: str, right: str) -> Comparison:
    """Compares a result folder with another one or with a published reference.

    Args:
        left: path of a result folder.
        right: path of a result folder, or name of a reference such as `pantheon/india-ppp0`.

    Raises:
        UserError: a side is neither, or a folder is damaged.
    """
    ours = model.load(ResultFolder.open(Path(left)))
    if os.path.isdir(right):  # noqa: PTH112 - never raises
        return _folders(left, ours, right, model.load(ResultFolder.open(Path(right))))
    if right in references.names():
        return _published(left, ours, references.load(right))
    known = ", ".join(references.names())
    raise UserError(f'"{right}": neither a result folder nor a published reference ({known}).')


def _folders(left: str, ours: Report, right: str, theirs: Report) -> Comparison:
    others = {tuple(sorted(group.cell.items())): group for group in theirs.groups}
    lines: list[Line] = []
    matched = []
    for group in ours.groups:
        other = others.get(tuple(sorted(group.cell.items())))
        if other is not None:
            matched.append(group.label)
            lines += [_paired_line(group, other, metric) for metric in _TOTALS]
    return Comparison(
        left=left,
        right=right,
        lines=tuple(lines),
        only_left=tuple(group.label for group in ours.groups if group.label not in matched),
        only_right=tuple(group.label for group in theirs.groups if group.label not in matched),
    )


def _by_seed(group: Group, metric: str) -> dict[int, float]:
    def value(summary: RunSummary) -> float | None:
        return _TOTALS[metric](summary.total) if summary.total else None

    return {summary.seed: number for summary in group.summaries if (number := value(summary)) is not None}


def _paired_line(group: Group, other: Group, metric: str) -> Line:
    ours, theirs = _by_seed(group, metric), _by_seed(other, metric)
    left, right = _mean(ours), _mean(theirs)
    return Line(
        row=group.label,
        flow=None,
        metric=metric,
        left=left,
        right=right,
        ratio=_ratio(left, right),
        difference=paired(ours, theirs),
    )


def _mean(values: dict[int, float]) -> float | None:
    return statistics.fmean(values.values()) if values else None


def _published(left: str, ours: Report, reference: Reference) -> Comparison:
    lines: list[Line] = []
    rows = [published_row(reference, group.key, group.cell) for group in ours.groups]
    for group, row in zip(ours.groups, rows, strict=True):
        if row is not None:
            lines += _published_lines(group, row)
    return Comparison(
        left=left,
        right=reference.name,
        lines=tuple(lines),
        only_left=tuple(group.label for group, row in zip(ours.groups, rows, strict=True) if row is None),
        only_right=tuple(row.name for row in reference.schemes if row not in rows),
    )


def _published_lines(group: Group, row: PublishedScheme) -> Iterator[Line]:
    for flow in (None, *sorted(row.flows)):
        ours, theirs = group.pantheon(flow, row), row.total if flow is None else row.flows[flow]
        for metric, value in _PUBLISHED.items():
            left, right = value(ours), value(theirs)
            yield Line(
                row=group.label,
                flow=flow,
                metric="packet_loss" if metric == "pantheon.loss" and row.counts_packets else metric,
                left=left,
                right=right,
                ratio=_ratio(left, right),
                difference=None,
            )


def _ratio(left: float | None, right: float | None) -> float | None:
    return left / right if left is not None and right else None


def show(comparison: Comparison, console: Console) -> None:
    """Prints a comparison."""
    paired_runs = any(line.difference is not None for line in comparison.lines)
    console.print(f"left: {comparison.left}\nright: {comparison.right}", highlight=False)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for heading in ("row", "flow", "metric"):
        table.add_column(heading, no_wrap=heading != "row")
    for heading in ("left", "right", "ratio"):
        table.add_column(heading, justify="right", no_wrap=True)
    if paired_runs:
        table.add_column("difference, 95 % interval", no_wrap=True)
    before = None
    for line in comparison.lines:
        key = (line.row, line.flow)
        table.add_row(
            *([line.row, "all" if line.flow is None else str(line.flow)] if key != before else ["", ""]),
            line.metric,
            words.significant(line.left, 4),
            words.significant(line.right, 4),
            words.ratio(line.left, line.right),
            *([_difference(line)] if paired_runs else []),
        )
        before = key
    console.print(table)
    for side, rows in (("left", comparison.only_left), ("right", comparison.only_right)):
        if rows:
            console.print(f"only {side}: {', '.join(rows)}", style="dim", highlight=False)


def _difference(line: Line) -> Text:
    found = line.difference
    if found is None:
        return Text(words.MISSING)
    if found.low is None:
        return Text(f"{words.significant(found.mean)} (1 pair)")
    style = {"same": "dim", "higher": "bold", "lower": "bold"}[line.verdict]
    interval = f"{words.significant(found.low)} to {words.significant(found.high)}"
    return Text(f"{interval} {line.verdict}", style=style)

"""Rows of the page's tables, ready to print."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bakeoff.metrics.statistics import paired
from bakeoff.reports import cell_looks, summary_columns, titles, words
from bakeoff.reports.corrected import CORRECTED, Column, existing
from bakeoff.reports.rows import Absent, Group
from bakeoff.reports.summary_columns import METRICS, Metric

if TYPE_CHECKING:
    from bakeoff.references import Published
    from bakeoff.reports.looks import Look
    from bakeoff.reports.model import Report


PUBLISHED_BAND = 0.25
"""How far from the published throughput and delay a faithful model may be, as in the claims of the suites."""


@dataclass(frozen=True)
class Cell:
    """One number of the summary table: ours, the published one, and their ratio; empty is what does not exist."""

    ours: str
    published: str
    ratio: str


@dataclass(frozen=True)
class SummaryRow:
    """A row of the summary table.

    Attributes:
        name: the scheme.
        look: its colour and marker.
        runs: how many runs count.
        note: why there are no runs, or empty.
        remedy: the option that would bring them, or empty.
        cells: by metric, then flow.
    """

    name: str
    look: Look
    runs: str
    note: str
    remedy: str
    cells: list[list[Cell]]


def summary(report: Report) -> list[SummaryRow]:
    """The table in the image of Pantheon's, with the published numbers inside."""
    return [
        SummaryRow(
            name=row.label if isinstance(row, Group) else row.name,
            look=row.look,
            runs=row.counted if isinstance(row, Group) else "",
            note="" if isinstance(row, Group) else row.reason,
            remedy="" if isinstance(row, Group) else row.remedy,
            cells=[[_cell(metric, row, flow) for _, flow in summary_columns.of(report)] for metric in METRICS],
        )
        for row in report.rows
    ]


def _cell(metric: Metric, row: Group | Absent, flow: int | None) -> Cell:
    theirs = summary_columns.published(row, flow)
    is_shown = summary_columns.has_published(metric, theirs)
    expected = metric.value(theirs) if theirs is not None else None
    printed = metric.text(expected) if is_shown else ""
    if isinstance(row, Absent):
        return Cell("", printed, "")
    ours = metric.value(row.pantheon(flow))
    return Cell(metric.text(ours), printed, words.ratio(ours, expected) if is_shown and expected is not None else "")


@dataclass(frozen=True)
class Comparison:
    """One number of the totals table.

    Attributes:
        ours: our mean.
        published: the published mean.
        ratio: ours over published.
        verdict: `within` or `outside` the band, or empty.
    """

    ours: str
    published: str
    ratio: str
    verdict: str


@dataclass(frozen=True)
class TotalsRow:
    """A scheme against its published totals, a comparison per metric."""

    name: str
    look: Look
    cells: list[Comparison]


@dataclass(frozen=True)
class Totals:
    """All flows together against the published totals.

    Attributes:
        metrics: those that are published for any scheme.
        rows: schemes.
    """

    metrics: list[Metric]
    rows: list[TotalsRow]


def totals(report: Report) -> Totals:
    """All flows together against the published totals; without rows where nothing like that is published."""
    # A table of single flows has no totals.
    has_totals = report.reference is not None and any(row.runs for row in report.reference.schemes)
    found = [(group, group.published.total) for group in report.groups if has_totals and group.published is not None]
    metrics = [metric for metric in METRICS if any(metric.value(theirs) is not None for _, theirs in found)]
    rows = [
        TotalsRow(group.label, group.look, [compare(metric, group.pantheon(None), theirs) for metric in metrics])
        for group, theirs in found
    ]
    return Totals(metrics, rows)


def compare(metric: Metric, our_numbers: Published, their_numbers: Published) -> Comparison:
    """One number of ours beside the published one."""
    ours, theirs = metric.value(our_numbers), metric.value(their_numbers)
    verdict = ""
    if metric.is_judged and ours is not None and theirs:
        verdict = "within" if abs(ours / theirs - 1) <= PUBLISHED_BAND else "outside"
    return Comparison(metric.text(ours), metric.text(theirs), words.ratio(ours, theirs), verdict)


@dataclass(frozen=True)
class CorrectedRow:
    """A scheme in numbers without Pantheon's quirks: a mean and an interval per column."""

    name: str
    look: Look
    cells: list[tuple[str, str]]


@dataclass(frozen=True)
class Corrected:
    """Numbers without Pantheon's quirks: headings of the columns, and rows."""

    columns: list[str]
    rows: list[CorrectedRow]


@dataclass(frozen=True)
class Differences:
    """Every cell minus the one of another scheme over the same path, over pairs of runs with equal seeds.

    Attributes:
        baseline: that scheme, or value of another axis.
        has_others: whether cells differ in other axes too, which are the same in both of a pair.
        columns: headings.
        rows: name, look, and per column the interval of the mean difference.
    """

    baseline: str
    has_others: bool
    columns: list[str]
    rows: list[CorrectedRow]


_DIFFERENCES = CORRECTED[:1] + CORRECTED[3:6]
_BASELINE = "cubic"


def differences(report: Report) -> Differences | None:
    """Paired differences to Cubic, or to the first scheme; None without repeats or without a second scheme."""
    groups = [group for group in report.groups if len(group.summaries) > 1]
    axes = cell_looks.compared_first([group.cell for group in report.groups])
    if len(groups) < 2 or not axes:
        return None
    first = next((group for group in groups if group.key == _BASELINE), groups[0])
    chosen = first.cell[axes[0]]
    baselines = {_beside(group, axes[0]): group for group in groups if group.cell[axes[0]] == chosen}
    columns = existing(_DIFFERENCES, groups)
    rows = [
        CorrectedRow(group.label, group.look, [_difference(group, baseline, column) for column in columns])
        for group in groups
        if (baseline := baselines.get(_beside(group, axes[0]))) is not None and group is not baseline
    ]
    name = first.label if len(axes) == 1 else titles.axis_value(axes[0], chosen)
    return Differences(name, len(axes) > 1, [column.title for column in columns], rows)


def _beside(group: Group, axis: str) -> tuple[tuple[str, str], ...]:
    """The cell of a group but for one axis."""
    return tuple((other, value) for other, value in group.cell.items() if other != axis)


def _difference(group: Group, baseline: Group, column: Column) -> tuple[str, str]:
    least, most = column.bounds(group)
    found = paired(group.by_seed(column.value), baseline.by_seed(column.value))
    mean, half = words.plus_minus(found, column.text, (least - most, most - least))
    return (mean if mean.startswith("-") or mean == words.MISSING else f"+{mean}"), half


def both_ways(report: Report) -> str:
    """What the totals of runs are whose flows go both ways, or nothing."""
    runs = [run for run in report.complete if run.goes_both_ways]
    if not runs:
        return ""
    used = sorted({run.total.bottleneck for run in runs if run.total and run.total.bottleneck})
    of = f", and utilisation is that of {' or '.join(used)}" if used else ""
    return f"Where flows go both ways, rates are those of both directions together{of}."


def corrected(report: Report) -> Corrected:
    """Means over runs with 95 % intervals."""
    columns = existing(CORRECTED, report.groups)
    rows = [
        CorrectedRow(group.label, group.look, [column.interval(group) for column in columns]) for group in report.groups
    ]
    return Corrected([column.title for column in columns], rows)

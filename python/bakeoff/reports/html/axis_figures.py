"""The figure of a matrix of two axes: a panel a metric, a row a value of one axis, a marker a value of the other.

Panels are drawn as SVG, which needs no script and prints well.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bakeoff.metrics.statistics import Estimate, estimate
from bakeoff.reports import cell_looks, ticks, titles, words
from bakeoff.reports.summary_columns import METRICS, Metric

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bakeoff.reports.looks import Look
    from bakeoff.reports.model import Report
    from bakeoff.reports.rows import Group

WIDTH, RIGHT, TOP, BOTTOM = 340.0, 10.0, 8.0, 22.0
# Width of a letter of the names of rows, and what lies between these and the axis.
_LETTER, _GAP = 6.3, 8.0
# Names of rows leave room for the axis.
_LONGEST = 24
# Height of a row without its markers, and of each of these.
_ROW, _STEP = 8.0, 9.0
# Fewer rows are no figure; with more of either, nobody can tell them apart.
_ROWS = range(3, 25)
_SERIES = range(2, 8)
# Values that lie in a narrow range have an axis that does not begin at zero.
_NARROW = 0.6


@dataclass(frozen=True)
class Mark:
    """One number of a cell.

    Attributes:
        series: the place of its value on the axis of the markers.
        x: pixels from the left.
        y: pixels from the top.
        low: left end of its 95 % interval; None if it has none.
        high: right end.
        hollow: whether it is a published one.
        name: what it is, for the pointer.
    """

    series: int
    x: float
    y: float
    low: float | None
    high: float | None
    hollow: bool
    name: str


@dataclass(frozen=True)
class Panel:
    """One metric.

    Attributes:
        title: the metric with its unit.
        ticks: position and label on the horizontal axis.
        marks: the numbers.
    """

    title: str
    ticks: list[tuple[float, str]]
    marks: list[Mark]


@dataclass(frozen=True)
class Figure:
    """The figure.

    Attributes:
        axis: the axis of the rows.
        series: name and look of each value of the other axis.
        rows: vertical position and name of each value.
        left: where names of rows end.
        height: of a panel, pixels.
        panels: by metric.
        has_published: whether there are hollow markers.
    """

    axis: str
    series: list[tuple[str, Look]]
    rows: list[tuple[float, str]]
    left: float
    height: float
    panels: list[Panel]
    has_published: bool


def figure(report: Report) -> Figure | None:
    """The figure of a report; None unless its cells differ in two axes, with few enough values, and have numbers."""
    cells = [group.cell for group in report.groups]
    values, varying = cell_looks.values(cells), cell_looks.compared_first(cells)
    if len(varying) != 2:
        return None
    series, rows = (values[axis] for axis in varying)
    names = [titles.axis_value(varying[1], value) for value in rows]
    if len(rows) not in _ROWS or len(series) not in _SERIES or max(map(len, names)) > _LONGEST:
        return None
    colours = report.cell_looks.colours if report.cell_looks else cell_looks.of_values(varying[0], series)
    layout = _Layout(varying[0], varying[1], series, rows, _LETTER * max(map(len, names)) + _GAP)
    panels = [panel for metric in METRICS if (panel := layout.panel(report, metric)) is not None]
    if not panels:
        return None
    return Figure(
        axis=titles.axis(varying[1]),
        series=[(titles.axis_value(varying[0], value), colours[value]) for value in series],
        rows=[(layout.middle(row), name) for row, name in enumerate(names)],
        left=layout.left - _GAP,
        height=layout.bottom + BOTTOM,
        panels=panels,
        has_published=any(mark.hollow for panel in panels for mark in panel.marks),
    )


@dataclass(frozen=True)
class _Layout:
    series_axis: str
    row_axis: str
    series: Sequence[str]
    rows: Sequence[str]
    left: float

    @property
    def height(self) -> float:
        """Pixels from row to row."""
        return _ROW + _STEP * len(self.series)

    @property
    def bottom(self) -> float:
        return TOP + self.height * len(self.rows)

    def middle(self, row: int) -> float:
        return TOP + self.height * (row + 0.5)

    def x(self, share: float) -> float:
        """Pixels from the left."""
        return self.left + share * (WIDTH - self.left - RIGHT)

    def panel(self, report: Report, metric: Metric) -> Panel | None:
        """What there is of a metric; None if there is nothing."""
        found = [number for group in report.groups for number in _numbers(group, metric)]
        if not found:
            return None
        scale = _Scale.of(end for number in found for end in number.extent)
        marks = [self._mark(metric, scale, number) for number in found]
        marked = [(self.x(scale.share(tick)), ticks.label(tick)) for tick in ticks.even(scale.low, scale.high)]
        return Panel(metric.title, marked, marks)

    def _mark(self, metric: Metric, scale: _Scale, number: _Number) -> Mark:
        group, estimated = number.group, number.estimate
        series, row = self.series.index(group.cell[self.series_axis]), self.rows.index(group.cell[self.row_axis])
        whose = "published" if number.is_published else words.mean_of(estimated.count)
        return Mark(
            series=series,
            x=self.x(scale.share(estimated.mean)),
            y=self.middle(row) + _STEP * (series - (len(self.series) - 1) / 2),
            low=None if estimated.low is None else self.x(scale.share(estimated.low)),
            high=None if estimated.high is None else self.x(scale.share(estimated.high)),
            hollow=number.is_published,
            name=f"{group.label}: {ticks.label(estimated.mean)}, {metric.title}, {whose}",
        )


@dataclass(frozen=True)
class _Scale:
    low: float
    high: float

    @staticmethod
    def of(numbers: Iterable[float]) -> _Scale:
        """One that holds all these numbers, from zero unless they are close together."""
        known = list(numbers)
        low, high = min(0.0, *known), max(known)
        if min(known) > _NARROW * high:
            low, high = ticks.widened(min(known), high)
            low -= 0.1 * (high - low)
        return _Scale(low, high + 0.03 * (high - low) if high > low else low + 1)

    def share(self, number: float) -> float:
        """Of the way from the left."""
        return (number - self.low) / (self.high - self.low)


@dataclass(frozen=True)
class _Number:
    group: Group
    estimate: Estimate
    is_published: bool

    @property
    def extent(self) -> list[float]:
        """What its scale has to hold."""
        return [self.estimate.mean, *(end for end in (self.estimate.low, self.estimate.high) if end is not None)]


def _numbers(group: Group, metric: Metric) -> Iterable[_Number]:
    """Our mean as it is printed, and the published one."""
    ours = [metric.factor * value for numbers in group.numbers(None) if (value := metric.value(numbers)) is not None]
    if (estimated := estimate(ours)) is not None:
        yield _Number(group, estimated.between(0, metric.most), is_published=False)
    theirs = metric.value(group.published.total) if group.published is not None else None
    if theirs is not None:
        yield _Number(group, Estimate(metric.factor * theirs, None, None, 1), is_published=True)

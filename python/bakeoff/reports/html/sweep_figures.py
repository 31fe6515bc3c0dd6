"""The figure of a matrix that has an axis of quantities: a metric over the axis, a line a scheme.

Panels are drawn as SVG, which needs no script and prints well.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bakeoff.experiment import units
from bakeoff.experiment.published_row import SCHEME_AXIS
from bakeoff.metrics.statistics import Estimate, estimate
from bakeoff.reports import cell_looks, shares, ticks, titles, words
from bakeoff.reports.summary_columns import DELAY, METRICS, THROUGHPUT, Metric

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from bakeoff.reports.looks import Look
    from bakeoff.reports.model import Report
    from bakeoff.reports.rows import Group

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 340.0, 210.0, 46.0, 22.0, 8.0, 22.0
# Fewer values are no sweep; more lines, or more rows of panels, are no overview.
_LEAST_VALUES = 3
_MOST_SERIES = 7
_MOST_ROWS = 6
# An axis whose ends are so far apart as a factor is logarithmic.
_DECADES_APART = 8.0
# Above the highest number, and below the lowest of a logarithmic axis.
_ROOM = 1.07
# Pixels between the labels of the horizontal axis.
_LABEL = 34.0
_QUANTITY = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?([^\s0-9][^\s]*)")
_PARSERS: tuple[Callable[[object], float], ...] = (units.parse_time, units.parse_rate, units.parse_size)


@dataclass(frozen=True)
class Dot:
    """The mean of a cell.

    Attributes:
        x: pixels from the left.
        y: pixels from the top.
        low: lower end of its 95 % interval, pixels from the top; None if it has none.
        high: upper end.
        name: what it is, for the pointer.
    """

    x: float
    y: float
    low: float | None
    high: float | None
    name: str


@dataclass(frozen=True)
class Panel:
    """One metric.

    Attributes:
        title: the metric with its unit.
        is_log: whether the vertical axis is logarithmic.
        ticks: position and label on it.
        lines: the look of each, and its dots from left to right.
    """

    title: str
    is_log: bool
    ticks: list[tuple[float, str]]
    lines: list[tuple[Look, list[Dot]]]


@dataclass(frozen=True)
class Figure:
    """The figure.

    Attributes:
        axis: the horizontal one.
        is_log: whether it is logarithmic.
        ticks: position and label on it.
        series: name and look of each line.
        is_by_scheme: whether lines are of the flows of a scheme among others, else of all flows.
        rows: values of all other axes, and a panel a metric.
    """

    axis: str
    is_log: bool
    ticks: list[tuple[float, str]]
    series: list[tuple[str, Look]]
    is_by_scheme: bool
    rows: list[tuple[str, list[Panel]]]


def figure(report: Report) -> Figure | None:
    """The figure of a report; None without an axis of quantities, without numbers, or with too much for a figure.

    Published numbers have a figure that shows them.
    """
    cells = [group.cell for group in report.groups]
    values, varying = cell_looks.values(cells), cell_looks.compared_first(cells)
    scales = {axis: found for axis in varying if (found := quantities(values[axis])) is not None}
    if not scales or report.reference is not None:
        return None
    swept = max(scales, key=lambda axis: len(values[axis]))
    compared, *others = [axis for axis in varying if axis != swept] or [""]
    # Where schemes meet, and no other axis is compared, they are.
    schemes = report.scheme_looks if not compared and not any(group.key for group in report.groups) else {}
    series = list(schemes) or values.get(compared, [""])
    rows = list(dict.fromkeys(tuple(cell[axis] for axis in others) for cell in cells))
    if len(series) > _MOST_SERIES or len(rows) > _MOST_ROWS:
        return None
    colours = schemes or (cell_looks.of_values(compared, series) if compared else {"": report.groups[0].look})
    drawing = _Drawing(report, swept, scales[swept], compared, others, colours, is_by_scheme=bool(schemes))
    drawn = [
        (
            ", ".join(titles.axis_value(axis, value) for axis, value in zip(others, row, strict=True)),
            [panel for metric in METRICS if (panel := drawing.panel(metric, row)) is not None],
        )
        for row in rows
    ]
    if not any(panels for _, panels in drawn):
        return None
    axis = SCHEME_AXIS if schemes else compared
    return Figure(
        axis=titles.axis(swept),
        is_log=drawing.x_axis.is_log,
        ticks=drawing.x_ticks(values[swept]),
        series=[(titles.axis_value(axis, value), colours[value]) for value in series] if axis else [],
        is_by_scheme=bool(schemes),
        rows=drawn,
    )


def quantities(labels: Sequence[str]) -> dict[str, float] | None:
    """What the values of an axis are in numbers; None if they are none of one kind, or too few."""
    found = [_QUANTITY.fullmatch(label) for label in labels]
    if len(labels) < _LEAST_VALUES or not all(found):
        return None
    matches = [match for match in found if match is not None]
    if len({match[2] for match in matches}) == 1:
        return {label: float(match[1]) for label, match in zip(labels, matches, strict=True)}
    for parse in _PARSERS:
        try:
            return {label: float(parse(label)) for label in labels}
        except units.UnitError:
            continue
    return None


@dataclass(frozen=True)
class _Axis:
    low: float
    high: float
    is_log: bool

    @staticmethod
    def of(numbers: Iterable[float], *, is_vertical: bool = False, is_linear: bool = False) -> _Axis:
        """One that holds all these numbers; logarithmic if they are far apart, unless it has to be linear."""
        known = list(numbers)
        low, high = min(known), max(known)
        is_log = not is_linear and low > 0 and high >= _DECADES_APART * low
        if is_vertical:
            low, high = (low / _ROOM, high * _ROOM) if is_log else (min(0.0, low), high * _ROOM)
        return _Axis(low, high if high > low else low + 1, is_log)

    def share(self, number: float) -> float:
        """Of the way along it; what lies beyond an end is at that end."""
        at = min(max(number, self.low), self.high)
        if self.is_log:
            return math.log(at / self.low) / math.log(self.high / self.low)
        return (at - self.low) / (self.high - self.low)

    @property
    def ticks(self) -> list[float]:
        """Round numbers along it."""
        return (ticks.logarithmic if self.is_log else ticks.even)(self.low, self.high)


@dataclass(frozen=True)
class _Drawing:
    report: Report
    swept: str
    scale: Mapping[str, float]
    compared: str
    others: Sequence[str]
    colours: Mapping[str, Look]
    is_by_scheme: bool

    @property
    def x_axis(self) -> _Axis:
        """The horizontal one."""
        return _Axis.of(self.scale.values())

    def x(self, value: str) -> float:
        """Pixels from the left."""
        return LEFT + self.x_axis.share(self.scale[value]) * (WIDTH - LEFT - RIGHT)

    def x_ticks(self, values: Iterable[str]) -> list[tuple[float, str]]:
        """The values themselves, as far as there is room for their names."""
        found: list[tuple[float, str]] = []
        for value in sorted(values, key=lambda value: self.scale[value]):
            if not found or self.x(value) - found[-1][0] >= _LABEL:
                found.append((self.x(value), value))
        return found

    def panel(self, metric: Metric, row: tuple[str, ...]) -> Panel | None:
        """A metric in the cells of a row, on the scale of all rows; None if there is nothing."""
        numbers = list(self._numbers(metric))
        here = [number for number in numbers if tuple(number.group.cell[axis] for axis in self.others) == row]
        if not here:
            return None
        # What schemes have of one link are parts of a whole.
        is_linear = self.is_by_scheme and metric is THROUGHPUT
        axis = _Axis.of((number.estimate.mean for number in numbers), is_vertical=True, is_linear=is_linear)
        dots = {
            value: sorted(
                (self._dot(axis, metric, number) for number in here if number.series == value), key=lambda dot: dot.x
            )
            for value in self.colours
        }
        return Panel(
            metric.title,
            axis.is_log,
            [(_y(axis, tick), ticks.label(tick)) for tick in axis.ticks],
            [(look, dots[value]) for value, look in self.colours.items() if dots[value]],
        )

    def _numbers(self, metric: Metric) -> Iterable[_Number]:
        """Our means as they are printed: of all flows of a cell, or of those of each scheme."""
        for group in self.report.groups:
            for series in self.colours if self.is_by_scheme else [group.cell.get(self.compared, "")]:
                values = _of_scheme(group, metric, series) if self.is_by_scheme else _of_all(group, metric)
                if (found := estimate([metric.factor * value for value in values])) is not None:
                    yield _Number(group, series, found.between(0, metric.most))

    def _dot(self, axis: _Axis, metric: Metric, number: _Number) -> Dot:
        found = number.estimate
        runs = words.mean_of(found.count)
        whose = f", {titles.axis_value(SCHEME_AXIS, number.series)}" if self.is_by_scheme else ""
        return Dot(
            x=self.x(number.group.cell[self.swept]),
            y=_y(axis, found.mean),
            low=None if found.low is None else _y(axis, found.low),
            high=None if found.high is None else _y(axis, found.high),
            name=f"{number.group.label}{whose}: {ticks.label(found.mean)}, {metric.title}, {runs}",
        )


@dataclass(frozen=True)
class _Number:
    group: Group
    series: str
    estimate: Estimate


def _y(axis: _Axis, number: float) -> float:
    return HEIGHT - BOTTOM - axis.share(number) * (HEIGHT - BOTTOM - TOP)


def _of_all(group: Group, metric: Metric) -> list[float]:
    values = (metric.value(numbers) for numbers in group.numbers(None))
    return [value for value in values if value is not None]


def _of_scheme(group: Group, metric: Metric, key: str) -> list[float]:
    """A number a run: what the flows of a scheme get while any of them sends, or the delay of the worst of them.

    Their shares of lost packets become no number.
    """
    flows = [flow.flow for flow in group.valid[0].flows if flow.name == key] if group.valid else []
    if metric is THROUGHPUT:
        return [shares.throughput_mbps(run.flows, key) for run in group.valid if flows]
    if metric is DELAY:
        runs = zip(*(group.numbers(flow) for flow in flows), strict=True)
        return [max(metric.value(numbers) or 0.0 for numbers in run) for run in runs]
    return []


def path(dots: Sequence[Dot]) -> str:
    """A line through dots as SVG path data."""
    return "".join(f"{'L' if place else 'M'}{dot.x:.1f},{dot.y:.1f}" for place, dot in enumerate(dots))

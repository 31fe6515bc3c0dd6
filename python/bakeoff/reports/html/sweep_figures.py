"""The figure of a matrix that has an axis of quantities: a metric over the axis, a line a scheme.

Panels are drawn as SVG, which needs no script and prints well.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bakeoff.experiment import units
from bakeoff.metrics.statistics import Estimate, estimate
from bakeoff.reports import cell_looks, model, terminal, ticks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from bakeoff.reports.looks import Look
    from bakeoff.reports.model import Group, Report

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
        ticks: position and label on the vertical axis.
        lines: the look of each, and its dots from left to right.
    """

    title: str
    ticks: list[tuple[float, str]]
    lines: list[tuple[Look, list[Dot]]]


@dataclass(frozen=True)
class Figure:
    """The figure.

    Attributes:
        axis: the horizontal one.
        ticks: position and label on it.
        series: name and look of each line.
        rows: values of all other axes, and a panel a metric.
    """

    axis: str
    ticks: list[tuple[float, str]]
    series: list[tuple[str, Look]]
    rows: list[tuple[str, list[Panel]]]


def figure(report: Report) -> Figure | None:
    """The figure of a report; None without an axis of quantities, with too much for a figure, or beside a publication.

    Published numbers have a figure that shows them.
    """
    cells = [group.cell for group in report.groups]
    values, varying = cell_looks.values(cells), cell_looks.compared_first(cells)
    scales = {axis: found for axis in varying if (found := quantities(values[axis])) is not None}
    if not scales or report.reference is not None:
        return None
    swept = max(scales, key=lambda axis: len(values[axis]))
    compared, *others = [axis for axis in varying if axis != swept] or [""]
    series = values.get(compared, [""])
    rows = list(dict.fromkeys(tuple(cell[axis] for axis in others) for cell in cells))
    if len(series) > _MOST_SERIES or len(rows) > _MOST_ROWS:
        return None
    colours = cell_looks.of_values(compared, series) if compared else {"": report.groups[0].look}
    drawing = _Drawing(report, swept, scales[swept], compared, others, colours)
    return Figure(
        axis=swept.rpartition(".")[2],
        ticks=drawing.x_ticks(values[swept]),
        series=[(model.axis_value(compared, value), colours[value]) for value in series] if compared else [],
        rows=[
            (
                ", ".join(model.axis_value(axis, value) for axis, value in zip(others, row, strict=True)),
                [panel for metric in terminal.METRICS if (panel := drawing.panel(metric, row)) is not None],
            )
            for row in rows
        ],
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
    def of(numbers: Iterable[float], *, is_vertical: bool = False) -> _Axis:
        """One that holds all these numbers."""
        known = list(numbers)
        low, high = min(known), max(known)
        is_log = low > 0 and high >= _DECADES_APART * low
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

    def x(self, value: str) -> float:
        """Pixels from the left."""
        return LEFT + _Axis.of(self.scale.values()).share(self.scale[value]) * (WIDTH - LEFT - RIGHT)

    def x_ticks(self, values: Iterable[str]) -> list[tuple[float, str]]:
        """The values themselves, as far as there is room for their names."""
        found: list[tuple[float, str]] = []
        for value in sorted(values, key=lambda value: self.scale[value]):
            if not found or self.x(value) - found[-1][0] >= _LABEL:
                found.append((self.x(value), value))
        return found

    def panel(self, metric: terminal.Metric, row: tuple[str, ...]) -> Panel | None:
        """A metric in the cells of a row, on the scale of all rows; None if there is nothing."""
        numbers = [(group, found) for group in self.report.groups if (found := _estimate(group, metric)) is not None]
        here = [(group, found) for group, found in numbers if tuple(group.cell[axis] for axis in self.others) == row]
        if not here:
            return None
        axis = _Axis.of((found.mean for _, found in numbers), is_vertical=True)
        dots = {
            value: sorted(
                (self._dot(axis, metric, *each) for each in here if each[0].cell.get(self.compared, "") == value),
                key=lambda dot: dot.x,
            )
            for value in self.colours
        }
        return Panel(
            metric.title,
            [(_y(axis, tick), ticks.label(tick)) for tick in axis.ticks],
            [(look, dots[value]) for value, look in self.colours.items() if dots[value]],
        )

    def _dot(self, axis: _Axis, metric: terminal.Metric, group: Group, found: Estimate) -> Dot:
        runs = "one run" if found.count == 1 else f"mean of {found.count} runs"
        return Dot(
            x=self.x(group.cell[self.swept]),
            y=_y(axis, found.mean),
            low=None if found.low is None else _y(axis, found.low),
            high=None if found.high is None else _y(axis, found.high),
            name=f"{group.label}: {ticks.label(found.mean)}, {metric.title}, {runs}",
        )


def _y(axis: _Axis, number: float) -> float:
    return HEIGHT - BOTTOM - axis.share(number) * (HEIGHT - BOTTOM - TOP)


def _estimate(group: Group, metric: terminal.Metric) -> Estimate | None:
    """Our mean as it is printed."""
    values = (metric.value(numbers) for numbers in group.numbers(None))
    return estimate([metric.factor * value for value in values if value is not None])


def path(dots: Sequence[Dot]) -> str:
    """A line through dots as SVG path data."""
    return "".join(f"{'L' if place else 'M'}{dot.x:.1f},{dot.y:.1f}" for place, dot in enumerate(dots))

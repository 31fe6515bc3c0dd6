"""The main figure: one panel a metric, by how many percent the first world is off the second, over the second's means.

Points on the line agree; those inside the band are within the tolerance. Panels are drawn as SVG, which needs no
script and prints well.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bakeoff.reports import ticks, words
from bakeoff.reports.agreement import shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bakeoff.metrics.agreement import Line
    from bakeoff.metrics.tolerance import Metric
    from bakeoff.reports.agreement.model import Report

WIDTH, HEIGHT = 340.0, 330.0
LEFT, TOP, SIDE = 58.0, 10.0, 270.0
# Where values below the resolution stand, which a logarithmic axis has no place for.
_GUTTER = 24.0
_BAND_STEPS = 48
_NARROWEST = 1.4
_MARGIN = 1.12
# Labels of the vertical axis, in percent, and pixels between them.
_PERCENT = (-99, -90, -70, -50, -30, -10, -3, -1, 0, 1, 3, 10, 30, 100, 300, 1000, 10000, 100000)
_LABEL = 13.0
# The vertical axis shows at least so many times the tolerance, in units of the axis, and has so much room at its ends.
_TOLERANCES, _ROOM = 1.25, 0.25


@dataclass(frozen=True)
class Point:
    """A line of the agreement in its panel.

    Attributes:
        x: pixels from the left.
        y: pixels from the top.
        far: whether it is beyond three tolerances.
        name: what it is, for the pointer.
    """

    x: float
    y: float
    far: bool
    name: str


@dataclass(frozen=True)
class Panel:
    """One metric.

    Attributes:
        title: the metric.
        unit: unit of the horizontal axis; empty if there is none.
        gutter: pixels before the logarithmic part of the horizontal axis, where zeros stand; 0 if there are none.
        x_ticks: position and label on the horizontal axis.
        y_ticks: the same on the vertical axis.
        zero: where the worlds agree, pixels from the top.
        band: SVG path of the tolerance.
        points: by scheme.
        alt: the panel in words.
    """

    title: str
    unit: str
    gutter: float
    x_ticks: list[tuple[float, str]]
    y_ticks: list[tuple[float, str]]
    zero: float
    band: str
    points: dict[str, list[Point]]
    alt: str


@dataclass(frozen=True)
class _Values:
    """The horizontal axis: from a value to pixels."""

    low: float
    high: float
    least: float
    gutter: float

    def x(self, value: float) -> float:
        if value < self.least:
            return LEFT + self.gutter / 2
        share = math.log(value / self.low) / math.log(self.high / self.low)
        return LEFT + self.gutter + share * (SIDE - self.gutter)


@dataclass(frozen=True)
class _Ratios:
    """The vertical axis: from a ratio to pixels; logarithmic, but even within one percent around 1."""

    low: float
    high: float

    @staticmethod
    def of(ratios: Iterable[float], tolerated: float) -> _Ratios:
        """One that holds all these ratios, and what is tolerated on either side of 1."""
        ends = [_bent(ratio) for ratio in ratios]
        least = _TOLERANCES * _bent(1 + tolerated)
        return _Ratios(min([-least, *ends]) - _ROOM, max([least, *ends]) + _ROOM)

    def y(self, ratio: float) -> float:
        at = min(max(_bent(ratio), self.low), self.high)
        return TOP + SIDE * (self.high - at) / (self.high - self.low)

    @property
    def ticks(self) -> list[tuple[float, str]]:
        """Position and label, as far as there is room; the line of zero has one."""
        inside = [percent for percent in _PERCENT if self.low <= _bent(1 + percent / 100) <= self.high]
        found: list[tuple[float, str]] = []
        for percent in sorted(inside, key=abs):
            y = self.y(1 + percent / 100)
            if all(abs(y - other) >= _LABEL for other, _ in found):
                found.append((y, f"{percent:+d} %" if percent else "0 %"))
        return found


def _bent(ratio: float) -> float:
    """The logarithm of a ratio in units of the axis."""
    return math.asinh(100 * math.log(ratio))


def panels(report: Report) -> list[Panel]:
    """A panel for each metric that has a value in both worlds."""
    found = []
    for entry in report.metrics:
        lines = [line for line in report.lines if line.metric == entry.metric and line.found.difference is not None]
        if lines:
            found.append(_panel(entry.metric, lines, [side.world for side in report.sides]))
    return found


def _panel(metric: Metric, lines: Sequence[Line], worlds: Sequence[str]) -> Panel:
    factor = shown.factor(metric)
    pairs = [((line.found.a.mean or 0.0) * factor, (line.found.b.mean or 0.0) * factor) for line in lines]
    values = _values([there for _, there in pairs], metric.resolution.absolute * factor)
    # What is below the resolution counts as that: there is no ratio to nothing.
    ratios = [max(here, values.least) / max(there, values.least) for here, there in pairs]
    scale = _Ratios.of(ratios, metric.tolerance.relative)
    points: dict[str, list[Point]] = {}
    for line, (_, there), ratio in zip(lines, pairs, ratios, strict=True):
        row = shown.line(line)
        name = f"{row.name}: {row.a} {worlds[0]}, {row.b} {worlds[1]}, {row.tolerance} the tolerance"
        points.setdefault(line.scheme, []).append(Point(values.x(there), scale.y(ratio), line.far, name))
    x_ticks = [(values.x(tick), ticks.label(tick)) for tick in _ticks(values.low, values.high)]
    if values.gutter:
        zero = LEFT + values.gutter / 2
        x_ticks = [(zero, "0"), *(tick for tick in x_ticks if tick[0] >= zero + 2 * _LABEL)]
    title, unit = shown.title(metric), shown.unit(metric)
    return Panel(
        title=title,
        unit=unit,
        gutter=values.gutter,
        x_ticks=x_ticks,
        y_ticks=scale.ticks,
        zero=scale.y(1),
        band=_band(metric, values, scale),
        points=points,
        alt=f"{title}: {worlds[0]} over {worlds[1]}, {words.count(len(lines), 'point')}. The table has the errors.",
    )


def _values(known: Sequence[float], least: float) -> _Values:
    above = [value for value in known if value >= least]
    low, high = (min(above), max(above)) if above else (least, 10 * least)
    if high < _NARROWEST * low:
        middle = math.sqrt(low * high)
        low, high = middle / math.sqrt(_NARROWEST), middle * math.sqrt(_NARROWEST)
    gutter = _GUTTER if len(above) < len(known) else 0.0
    return _Values(low / _MARGIN, high * _MARGIN, least, gutter)


def _band(metric: Metric, values: _Values, scale: _Ratios) -> str:
    """The outline of what is tolerated, from the lowest to the highest value and back."""
    factor = shown.factor(metric)
    ratio = values.high / values.low
    corners = [(LEFT, values.least)] if values.gutter else []
    corners += [
        (values.x(value), value) for value in (values.low * ratio ** (n / _BAND_STEPS) for n in range(_BAND_STEPS + 1))
    ]
    widths = [(x, metric.allowed(value / factor) * factor / value) for x, value in corners]
    upper = [f"{x:.1f},{scale.y(1 + width):.1f}" for x, width in widths]
    # All of a value may be tolerated: the panel ends first.
    lower = [f"{x:.1f},{scale.y(1 - width) if width < 1 else TOP + SIDE:.1f}" for x, width in widths]
    return f"M{' '.join([*upper, *reversed(lower)])}Z"


def _ticks(low: float, high: float) -> list[float]:
    """Round values inside the limits: powers of ten, or 1, 2 and 5 times them, or even steps of a narrow range."""
    found = ticks.logarithmic(low, high)
    if 3 <= len(found) <= ticks.MOST:
        return found
    if high / low > 100:
        decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        stride = math.ceil(len(decades) / ticks.MOST)
        return [10.0**power for power in decades[::stride] if low <= 10.0**power <= high]
    return ticks.even(low, high)

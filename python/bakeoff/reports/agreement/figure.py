"""The main figure: one panel a metric, the first world's means over the second's, on equal logarithmic axes.

Points on the diagonal agree; those inside the band are within the tolerance. Panels are drawn as SVG, which needs no
script and prints well.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bakeoff.reports import ticks, words
from bakeoff.reports.agreement import shown

if TYPE_CHECKING:
    from collections.abc import Sequence

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
        unit: unit of both axes; empty if there is none.
        gutter: pixels before the logarithmic part of each axis, where zeros stand; 0 if there are none.
        x_ticks: position and label on the horizontal axis.
        y_ticks: the same on the vertical axis.
        band: SVG path of the tolerance.
        points: by scheme.
        alt: the panel in words.
    """

    title: str
    unit: str
    gutter: float
    x_ticks: list[tuple[float, str]]
    y_ticks: list[tuple[float, str]]
    band: str
    points: dict[str, list[Point]]
    alt: str


@dataclass(frozen=True)
class _Scale:
    """Both axes: from a value to pixels from their origin."""

    low: float
    high: float
    least: float
    gutter: float

    def place(self, value: float) -> float:
        """Pixels from the origin of the axis."""
        if value < self.least:
            return self.gutter / 2
        share = math.log(value / self.low) / math.log(self.high / self.low)
        return self.gutter + share * (SIDE - self.gutter)

    def x(self, value: float) -> float:
        return LEFT + self.place(value)

    def y(self, value: float) -> float:
        return TOP + SIDE - self.place(value)


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
    scale = _scale(pairs, metric.resolution.absolute * factor)
    points: dict[str, list[Point]] = {}
    for line, (a, b) in zip(lines, pairs, strict=True):
        row = shown.line(line)
        name = f"{row.name}: {row.a} {worlds[0]}, {row.b} {worlds[1]}, {row.tolerance} the tolerance"
        points.setdefault(line.scheme, []).append(Point(scale.x(b), scale.y(a), line.far, name))
    marks = _ticks(scale.low, scale.high)
    zero = [(scale.gutter / 2, "0")] if scale.gutter else []
    title, unit = shown.title(metric), shown.unit(metric)
    return Panel(
        title=title,
        unit=unit,
        gutter=scale.gutter,
        x_ticks=[(LEFT + place, label) for place, label in zero]
        + [(scale.x(tick), ticks.label(tick)) for tick in marks],
        y_ticks=[(TOP + SIDE - place, label) for place, label in zero]
        + [(scale.y(tick), ticks.label(tick)) for tick in marks],
        band=_band(metric, scale),
        points=points,
        alt=f"{title}: {worlds[0]} over {worlds[1]}, {words.count(len(lines), 'point')}. The table has the errors.",
    )


def _scale(pairs: Sequence[tuple[float, float]], least: float) -> _Scale:
    values = [value for pair in pairs for value in pair]
    shown_values = [value for value in values if value >= least]
    low, high = (min(shown_values), max(shown_values)) if shown_values else (least, 10 * least)
    if high < _NARROWEST * low:
        middle = math.sqrt(low * high)
        low, high = middle / math.sqrt(_NARROWEST), middle * math.sqrt(_NARROWEST)
    gutter = _GUTTER if len(shown_values) < len(values) else 0.0
    return _Scale(low / _MARGIN, high * _MARGIN, least / _MARGIN, gutter)


def _band(metric: Metric, scale: _Scale) -> str:
    """The outline of what is tolerated, from the lowest to the highest value and back."""
    factor = shown.factor(metric)
    ratio = scale.high / scale.low
    values = [scale.low * ratio ** (step / _BAND_STEPS) for step in range(_BAND_STEPS + 1)]
    widths = [metric.allowed(value / factor) * factor for value in values]
    # Far below the axis is as good as minus infinity: the panel clips it.
    floor = scale.low / ratio
    upper = [(value, value + width) for value, width in zip(values, widths, strict=True)]
    lower = [(value, max(value - width, floor)) for value, width in zip(values, widths, strict=True)]
    span = SIDE - scale.gutter

    def y(value: float) -> float:
        return TOP + span - math.log(value / scale.low) / math.log(ratio) * span

    corners = (f"{scale.x(b):.1f},{y(a):.1f}" for b, a in [*upper, *reversed(lower)])
    return f"M{' '.join(corners)}Z"


def _ticks(low: float, high: float) -> list[float]:
    """Round values inside the limits: powers of ten, or 1, 2 and 5 times them, or even steps of a narrow range."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for factors in ((1, 2, 5), (1, 3), (1,)):
        round_ones = [factor * 10.0**power for power in decades for factor in factors]
        inside = [tick for tick in round_ones if low <= tick <= high]
        if 3 <= len(inside) <= ticks.MOST:
            return inside
    if high / low > 100:
        stride = math.ceil(len(decades) / ticks.MOST)
        return [10.0**power for power in decades[::stride] if low <= 10.0**power <= high]
    return ticks.even(low, high)

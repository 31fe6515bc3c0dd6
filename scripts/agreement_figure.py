"""The figure of a page on agreement: by how many percent the simulator is off, for each flow of each cell."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agreement_pages import Metric, Page, of
from bakeoff.metrics.agreement import FAR

if TYPE_CHECKING:
    from collections.abc import Sequence

WIDTH, HEIGHT = 960, 230
LEFT, TOP, BELOW = 62, 30, 62
TICKS = (-90, -50, -30, -10, -3, -1, 0, 1, 3, 10, 30, 100, 300, 1000, 3000)
LEAST_RANGE = 12.0
NAMED = 3
"""How many of the farthest cells of a panel have their names beside them, as far as there is room."""
LETTER, LINE = 5.4, 12.0


@dataclass(frozen=True)
class Scale:
    """The vertical axis: logarithmic in the ratio, but even within one percent around zero.

    Attributes:
        low: the lower end, in units of the axis.
        high: the upper end.
        top: of the panel in the figure.
    """

    low: float
    high: float
    top: float

    def y(self, ratio: float) -> float:
        """Where a ratio of the simulator to Linux lies."""
        return self.top + HEIGHT * (self.high - bent(ratio)) / (self.high - self.low)

    def shows(self, ratio: float) -> bool:
        """Whether a ratio lies inside of the panel."""
        return self.low <= bent(ratio) <= self.high


@dataclass(frozen=True)
class Column:
    """A part of a group: the flows of one scheme or queue in one suite or at one rate."""

    row: str
    part: str
    cells: list[dict[str, Any]]
    left: float
    width: float

    def x(self, place: int) -> float:
        """Where a flow lies, in the order of the cells."""
        return self.left + self.width * (place + 0.5) / len(self.cells)


def bent(ratio: float) -> float:
    """The logarithm of a ratio in units of the axis."""
    return math.asinh(100 * math.log(ratio))


def figure(page: Page, cells: list[dict[str, Any]]) -> str:
    """One panel a metric, below each other: simulator over kernel in percent, with the band of what is tolerated."""
    found = [(metric, group) for metric in page.metrics if (group := of(cells, metric))]
    step = TOP + HEIGHT + BELOW
    height = step * len(found)
    parts = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" '
            'font-size="12">'
        ),
        f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
    ]
    for number, (metric, group) in enumerate(found):
        parts += panel(page, metric, group, number * step + TOP)
    return "\n".join([*parts, "</svg>"]) + "\n"


def panel(page: Page, metric: Metric, group: list[dict[str, Any]], top: float) -> list[str]:
    """Axes, band and points of one metric."""
    ratios = [bent(ratio_of(metric, cell)) for cell in group]
    least = bent(1 + LEAST_RANGE / 100)
    scale = Scale(min([-least, *ratios]) - 0.3, max([least, *ratios]) + 0.3, top)
    columns = columns_of(page, group)
    return [
        f'<text x="{LEFT}" y="{top - 12}" font-weight="bold">{metric.title}: simulator over Linux</text>',
        *frame(metric, scale),
        *headings(columns, scale),
        # Names lie below the points and hide none.
        *names(page, metric, columns, scale),
        *itertools.chain.from_iterable(points(page, metric, column, scale) for column in columns),
    ]


def ratio_of(metric: Metric, cell: dict[str, Any]) -> float:
    """The simulator's mean over the kernel's; what is next to nothing in either world counts as the least."""
    here, there = (max(cell[side]["mean"] * metric.factor, metric.least) for side in ("a", "b"))
    return float(here / there)


def columns_of(page: Page, group: list[dict[str, Any]]) -> list[Column]:
    """The flows by group and part, over the whole width; a part with few flows still has room for its name."""
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    parts = dict.fromkeys(page.part_of(cell) for cell in group)
    for row, part in itertools.product(page.colours, parts):
        own = [cell for cell in group if (page.group(cell), page.part_of(cell)) == (row, part)]
        if own:
            found[row, part] = own
    gap = 8.0
    rows = len({row for row, _ in found})
    weights = {key: 60 + len(cells) for key, cells in found.items()}
    unit = (WIDTH - LEFT - 10 - gap * rows) / sum(weights.values())
    columns: list[Column] = []
    left = LEFT + gap / 2
    for (row, part), cells in found.items():
        if columns and columns[-1].row != row:
            left += gap
        columns.append(Column(row, part, cells, left, weights[row, part] * unit))
        left += columns[-1].width
    return columns


def frame(metric: Metric, scale: Scale) -> list[str]:
    """The band, the lines of the axis and their labels; the line of zero is the strongest."""
    right, many = WIDTH - 10, scale.y(1 + metric.relative)
    parts = [
        (
            f'<rect x="{LEFT}" y="{many:.1f}" width="{right - LEFT}" '
            f'height="{scale.y(1 - metric.relative) - many:.1f}" fill="#e8e8e8"/>'
        )
    ]
    lowest = math.inf
    for tick in TICKS:
        y = scale.y(1 + tick / 100)
        if not scale.shows(1 + tick / 100) or lowest - y < LINE:
            continue
        lowest = y
        stroke = 'stroke="#444444" stroke-width="1.2"' if tick == 0 else 'stroke="#cccccc" stroke-width="0.6"'
        parts.append(f'<line x1="{LEFT}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}" {stroke}/>')
        label = f"{tick:+d} %" if tick else "0 %"
        parts.append(f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{label}</text>')
    return [
        *parts,
        f'<rect x="{LEFT}" y="{scale.top}" width="{right - LEFT}" height="{HEIGHT}" fill="none" stroke="#888888"/>',
    ]


def headings(columns: Sequence[Column], scale: Scale) -> list[str]:
    """The names of groups and parts below the panel, and lines between them."""
    parts = []
    bottom = scale.top + HEIGHT
    for before, column in zip([None, *columns], columns, strict=False):
        x = column.left + column.width / 2
        if before is not None and before.row == column.row:
            parts.append(
                f'<line x1="{column.left:.1f}" x2="{column.left:.1f}" y1="{scale.top}" y2="{bottom}" stroke="#bbbbbb" '
                'stroke-dasharray="2 3"/>'
            )
        parts.append(f'<text x="{x:.1f}" y="{bottom + 14}" text-anchor="middle" font-size="10">{column.part}</text>')
    for row, own in itertools.groupby(columns, key=lambda column: column.row):
        group = list(own)
        left, right = group[0].left, group[-1].left + group[-1].width
        parts.append(
            f'<text x="{(left + right) / 2:.1f}" y="{bottom + 31}" text-anchor="middle" font-weight="bold">{row}</text>'
        )
        if group[0] is not columns[0]:
            parts.append(
                f'<line x1="{left - 4:.1f}" x2="{left - 4:.1f}" y1="{scale.top}" y2="{bottom + 34}" stroke="#888888"/>'
            )
    return parts


def points(page: Page, metric: Metric, column: Column, scale: Scale) -> list[str]:
    """A point a flow; those that are far have a dark edge."""
    colour = page.colours[column.row]
    parts = []
    for place, cell in enumerate(column.cells):
        edge = ' stroke="#222222"' if cell["tolerance_ratio"] > FAR else ""
        parts.append(
            f'<circle cx="{column.x(place):.1f}" cy="{scale.y(ratio_of(metric, cell)):.1f}" r="2.4" '
            f'fill="{colour}" fill-opacity="0.65"{edge}/>'
        )
    return parts


def names(page: Page, metric: Metric, columns: Sequence[Column], scale: Scale) -> list[str]:
    """The cells that are farthest, by name, each once: where its farthest flow is."""
    every = [(column, place, cell) for column in columns for place, cell in enumerate(column.cells)]
    far = sorted((one for one in every if one[2]["tolerance_ratio"] > FAR), key=lambda one: -one[2]["tolerance_ratio"])
    places = [(column.x(place), scale.y(ratio_of(metric, cell))) for column, place, cell in every]
    named: dict[tuple[str, str], tuple[float, float, float]] = {}
    parts: list[str] = []
    for column, place, cell in far:
        own = " ".join(value for axis, value in cell["cell"].items() if axis not in {page.row, page.part})
        name = f"{own}, flow {cell['flow']}"
        x, y, width = column.x(place), scale.y(ratio_of(metric, cell)) + 4, LETTER * len(name)
        is_left = x + width > WIDTH - 20
        at = x - 6 - width if is_left else x + 6
        is_free = all(abs(y - other) >= LINE or at > end or at + width < begin for begin, end, other in named.values())
        is_free &= not any(at < beside < at + width and abs(y - 4 - level) < LINE / 2 for beside, level in places)
        if (column.row, own) in named or not is_free or len(named) == NAMED:
            continue
        named[column.row, own] = (at, at + width, y)
        side, anchor = (x - 6, "end") if is_left else (x + 6, "start")
        parts.append(
            f'<text x="{side:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="10" fill="#222222" stroke="white" '
            f'stroke-width="3" paint-order="stroke">{name}</text>'
        )
    return parts

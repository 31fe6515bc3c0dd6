"""Data of the two summary figures: throughput over 95th-percentile one-way delay, means and all runs."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bakeoff.reports import looks, ticks, titles
from bakeoff.reports.rows import Absent, Group

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bakeoff.metrics.pantheon import PantheonMetrics
    from bakeoff.references import Published
    from bakeoff.reports.cell_looks import CellLooks
    from bakeoff.reports.looks import Look
    from bakeoff.reports.model import Report

Point = tuple[float, float, str]
"""Delay in ms, throughput in Mbit/s, and a name for the pointer."""

# With more of them, names beside the points are in each other's way; the legend has them all.
_MOST_NAMES = 24
# The list of the legend with what no axis tells of.
_ROWS = "row"
# Beside the outermost points, of what lies between these.
_ROOM = 0.07
# Of so many axes colour and marker of a point tell the value.
_SHOWN = 2
# More small figures are no overview.
_MOST_PANELS = 9


def _point(numbers: Published | PantheonMetrics | None, name: str) -> list[Point]:
    if numbers is None or numbers.owd_p95_ms is None or numbers.throughput_mbps is None:
        return []
    return [(numbers.owd_p95_ms, numbers.throughput_mbps, name)]


def means(report: Report) -> dict[str, Any]:
    """One point a row: the mean over runs of all flows together, and the published one."""
    figure = _Figure(report.cell_looks)
    for row in report.rows:
        ours = _point(row.pantheon(None), f"{row.label}, mean") if isinstance(row, Group) else []
        theirs = _point(row.published.total, f"{row.published.name}, published mean") if row.published else []
        figure.add(row, ours, theirs)
    return figure.data(of_means=True)


def all_runs(report: Report) -> dict[str, Any]:
    """One point a run, and the published runs."""
    figure = _Figure(report.cell_looks)
    for row in report.rows:
        ours: list[Point] = []
        if isinstance(row, Group):
            for summary in row.valid:
                numbers = summary.total.pantheon if summary.total else None
                ours += _point(numbers, f"{row.label}, run {summary.repeat}")
        theirs: list[Point] = []
        for run in row.published.runs if row.published else ():
            name = row.published.name if row.published else ""
            theirs += _point(run.total, f"{name}, published run {run.run}")
        figure.add(row, ours, theirs)
    return figure.data(of_means=False)


@dataclass
class _Figure:
    """A figure while its points are added.

    Attributes:
        looks: those of a matrix of several axes; None if every row stands for itself.
        series: the points so far, a look each.
        legend: by axis the entries of its values, and behind them those of rows that stand for themselves; a series is
            hidden with any entry that it belongs to.
    """

    looks: CellLooks | None
    series: list[dict[str, Any]] = field(default_factory=list)
    legend: dict[str, dict[str, dict[str, Any]]] = field(init=False)

    def __post_init__(self) -> None:
        self.legend = {axis: {} for axis in (*(self.looks.axes if self.looks else ()), _ROWS)}

    def add(self, row: Group | Absent, ours: Sequence[Point], theirs: Sequence[Point]) -> None:
        """Adds the points of a row."""
        if not ours and not theirs:
            return
        entries = self._entries(row)
        for axis, name, look in entries:
            entry = self.legend[axis].setdefault(name, {"part": f"{axis} {name}", "name": name, **look})
            entry["hollow"] = entry.get("hollow", True) and not ours
        parts = [f"{axis} {name}" for axis, name, _ in entries]
        values = [name for _, name, _ in entries]
        style = {"name": _name(row), "parts": parts, "values": values, **_style(row.look)}
        self.series += [
            {"hollow": hollow, "points": points, **style}
            for points, hollow in ((ours, False), (theirs, True))
            if points
        ]

    def _entries(self, row: Group | Absent) -> list[tuple[str, str, dict[str, str]]]:
        """Where the row is found in the legend: by its value of each axis, or by itself."""
        if self.looks is None or isinstance(row, Absent):
            return [(_ROWS, _name(row), _style(row.look))]
        marker = looks.Look(looks.NEUTRAL.light, looks.NEUTRAL.dark, row.look.marker)
        styles = [_style(looks.with_marker(row.look, 0)), _style(marker)]
        return [
            (axis, titles.axis_value(axis, row.cell[axis]), styles[place] if place < len(styles) else {})
            for place, axis in enumerate(self.looks.axes)
        ]

    def data(self, *, of_means: bool) -> dict[str, Any]:
        """What the page draws."""
        delays = [point[0] for entry in self.series for point in entry["points"]]
        names = {entry["name"] for entry in self.series}
        return {
            "kind": "summary",
            "series": self.series,
            # A value without a symbol would tell no point from another.
            "legend": [shown for entries in self.legend.values() if (shown := _with_symbol(entries))],
            "has_pairs": of_means,
            "has_names": of_means and self.looks is None and len(names) <= _MOST_NAMES,
            "log": log_limits(delays),
            "delays": linear_limits(delays),
            "rates": _rate_limits([point[1] for entry in self.series for point in entry["points"]]),
        }


def panels(figure: dict[str, Any], cells: CellLooks | None) -> list[tuple[str, dict[str, Any]]]:
    """A figure as small ones over the same axes, one for the values of the axes that colour and marker do not tell.

    Args:
        figure: all points.
        cells: the looks of the cells.

    Returns:
        Heading and figure of each; the whole one with no heading where there is nothing to take apart, or too much.
    """
    if cells is None or len(cells.axes) <= _SHOWN:
        return [("", figure)]
    parts: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for series in figure["series"]:
        parts.setdefault(tuple(series["values"][_SHOWN:]), []).append(series)
    if () in parts or len(parts) > _MOST_PANELS:
        return [("", figure)]
    return [(", ".join(values), {**figure, "series": series, "legend": []}) for values, series in parts.items()]


def alike(cells: CellLooks | None) -> list[str]:
    """The axes that neither colour nor marker tell, as they are called on the page."""
    return [titles.axis(axis) for axis in cells.axes[_SHOWN:]] if cells else []


def _with_symbol(entries: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    return [entry for entry in entries.values() if "marker" in entry]


def _name(row: Group | Absent) -> str:
    return row.label if isinstance(row, Group) else row.name


def _style(look: Look) -> dict[str, str]:
    return {**look.colours, "marker": look.marker}


def linear_limits(delays: Sequence[float]) -> list[float]:
    """Limits of the delay axis where it is linear.

    There is room beside the data, and they are never so narrow that what is alike seems far apart.
    """
    if not delays:
        return [0.0, 1.0]
    low, high = ticks.widened(min(delays), max(delays))
    room = _ROOM * ((high - low) or 1.0)
    return [low - room, high + room]


def _rate_limits(rates: Sequence[float]) -> list[float]:
    """Limits of the throughput axis: as much room below the slowest as above the fastest, but none below 0.

    They are never so narrow that what is alike seems far apart.
    """
    highest, lowest = max(rates, default=0.0), min(rates, default=0.0)
    room = _ROOM * highest
    return [max(0.0, lowest - room), highest + room or 1.0]


def log_limits(delays: Sequence[float]) -> list[float] | None:
    """Limits of the delay axis if it is to be logarithmic, else None.

    As in Pantheon's figures: with the powers of two just below and above the data, the axis is logarithmic to base 2
    once they are more than a factor of 4 apart. (Its symmetric form for delays of 0 and less is left linear here.)
    """
    if not delays or min(delays) <= 0:
        return None
    low, high = 2.0 ** math.floor(math.log2(min(delays))), 2.0 ** math.ceil(math.log2(max(delays)))
    return [low, high] if high > 4 * low else None

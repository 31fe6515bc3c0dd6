"""Data of the two summary figures: throughput over 95th-percentile one-way delay, means and all runs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from bakeoff.reports.model import Absent, Group

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bakeoff.metrics.pantheon import PantheonMetrics
    from bakeoff.references import Published
    from bakeoff.reports.model import Report

Point = tuple[float, float, str]
"""Delay in ms, throughput in Mbit/s, and a name for the pointer."""


def _point(numbers: Published | PantheonMetrics | None, name: str) -> list[Point]:
    if numbers is None or numbers.owd_p95_ms is None or numbers.throughput_mbps is None:
        return []
    return [(numbers.owd_p95_ms, numbers.throughput_mbps, name)]


def _series(row: Group | Absent, ours: Sequence[Point], theirs: Sequence[Point]) -> Iterable[dict[str, Any]]:
    name = row.label if isinstance(row, Group) else row.name
    style = {"light": row.look.light, "dark": row.look.dark, "marker": row.look.marker}
    for points, hollow in ((ours, False), (theirs, True)):
        if points:
            yield {"name": name, "hollow": hollow, "points": points, **style}


def means(report: Report) -> dict[str, Any]:
    """One point a scheme: the mean over runs of all flows together, and the published one."""
    series: list[dict[str, Any]] = []
    for row in report.rows:
        ours = _point(row.pantheon(None), f"{row.label}, mean") if isinstance(row, Group) else []
        theirs = _point(row.published.total, f"{row.published.name}, published mean") if row.published else []
        series += _series(row, ours, theirs)
    return _figure(series, labels=True)


def all_runs(report: Report) -> dict[str, Any]:
    """One point a run, and the published runs."""
    series: list[dict[str, Any]] = []
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
        series += _series(row, ours, theirs)
    return _figure(series, labels=False)


def _figure(series: list[dict[str, Any]], *, labels: bool) -> dict[str, Any]:
    delays = [point[0] for entry in series for point in entry["points"]]
    return {"kind": "summary", "series": series, "labels": labels, "log": log_limits(delays)}


def log_limits(delays: Sequence[float]) -> list[float] | None:
    """Limits of the delay axis if it is to be logarithmic, else None.

    As in Pantheon's figures: with the powers of two just below and above the data, the axis is logarithmic to base 2
    once they are more than a factor of 4 apart. (Its symmetric form for delays of 0 and less is left linear here.)
    """
    if not delays or min(delays) <= 0:
        return None
    low, high = 2.0 ** math.floor(math.log2(min(delays))), 2.0 ** math.ceil(math.log2(max(delays)))
    return [low, high] if high > 4 * low else None

"""The agreement as one HTML file that needs nothing else."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from bakeoff.metrics.agreement import FAR
from bakeoff.reports import html, looks, words
from bakeoff.reports.agreement import figure, shown
from bakeoff.reports.html.page import asset

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from bakeoff.metrics.agreement import Line
    from bakeoff.reports.agreement.model import MetricAgreement, Report

MAX_WORST = 50
MAX_LINES = 2000


def render(report: Report, generated: datetime) -> str:
    """The page as text.

    Args:
        report: what it shows.
        generated: the time it carries.
    """
    return html.fill("agreement.html.j2", _context(report, generated))


def _context(report: Report, generated: datetime) -> dict[str, Any]:
    metrics = [found for found in report.metrics if found.exists]
    styles = shown.scheme_looks(report.schemes)
    far = report.far
    every = [line for line in report.lines if line.exists]
    return {
        "report": report,
        "experiment": report.experiment,
        "generated": generated,
        "here": report.sides[0],
        "there": report.sides[1],
        "sentences": _sentences(report),
        "summary": [(shown.title(found.metric), shown.summary(found.metric, found.whole)) for found in metrics],
        "by_scheme": _by_scheme(metrics) if len(report.schemes) > 1 else [],
        "panels": figure.panels(report),
        "frame": {"width": figure.WIDTH, "height": figure.HEIGHT, "left": figure.LEFT, "top": figure.TOP}
        | {"side": figure.SIDE},
        "looks": styles,
        "scheme_name": shown.scheme,
        "markers": {look.marker: looks.marker_path(look.marker) for look in styles.values()},
        "marker_path": functools.cache(looks.marker_path),
        "far": _rows(far[:MAX_WORST]),
        "far_more": len(far) - min(len(far), MAX_WORST),
        "far_limit": words.trimmed(FAR),
        "lines": _rows(every[:MAX_LINES]),
        "lines_more": len(every) - min(len(every), MAX_LINES),
        "style": asset("report.css") + asset("agreement.css"),
    }


def _rows(lines: Sequence[Line]) -> list[tuple[Line, shown.LineRow]]:
    return [(line, shown.line(line)) for line in lines]


def _by_scheme(metrics: Sequence[MetricAgreement]) -> list[tuple[str, list[tuple[str, shown.SummaryRow]]]]:
    """For each metric the summary of each scheme."""
    return [
        (
            shown.title(found.metric),
            [(scheme, shown.summary(found.metric, summary)) for scheme, summary in found.schemes.items()],
        )
        for found in metrics
    ]


def _sentences(report: Report) -> list[str]:
    here, there = report.sides
    experiment = report.experiment
    cells = {tuple(line.cell.items()) for line in report.lines}
    sentences = [
        f"{words.count(len(cells), 'cell')}, each run {words.times(experiment['repeats'])} in either world.",
        f"Each run lasts {words.seconds(report.durations_ns)}.",
        f"The reference is {there.world}: differences are {here.world} minus {there.world}, relative to {there.world}.",
    ]
    for side in report.sides:
        if side.stand_ins:
            pairs = ", ".join(f"{ran} for {asked}" for asked, ran in side.stand_ins.items())
            sentences.append(f"In {side.world}, our models stand in for the kernel's schemes: {pairs}.")
    return sentences

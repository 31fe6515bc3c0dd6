"""The columns of a summary: Pantheon's three numbers, by flow or of all together, and the published ones."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bakeoff.reports import titles, words

if TYPE_CHECKING:
    from collections.abc import Callable

    from bakeoff.references import Published
    from bakeoff.reports.model import Report
    from bakeoff.reports.rows import Absent, Group

MAX_FLOW_COLUMNS = 4


@dataclass(frozen=True)
class Metric:
    """One of Pantheon's three numbers, a group of columns.

    Attributes:
        title: heading.
        value: how to take it from numbers.
        text: how to print it.
        is_judged: a faithful model comes near the published number; loss may be next to nothing.
        factor: the printed number over that taken.
        most: the largest printed number that there can be; the least is 0.
    """

    title: str
    value: Callable[[Published], float | None]
    text: Callable[[float | None], str]
    is_judged: bool = True
    factor: float = 1
    most: float = math.inf


THROUGHPUT = Metric("throughput (Mbit/s)", lambda numbers: numbers.throughput_mbps, words.number)
DELAY = Metric("95th-%ile delay (ms)", lambda numbers: numbers.owd_p95_ms, words.number)
LOSS = Metric("loss (%)", lambda numbers: numbers.loss, words.percent, is_judged=False, factor=100, most=100)
METRICS = (THROUGHPUT, DELAY, LOSS)


def of(report: Report) -> list[tuple[str, int | None]]:
    """Heading and flow number of the columns of a metric; too many flows are shown together only.

    So are those beside a published table that has nothing else. Where schemes meet, and each flow has its scheme in all
    cells, the heading says which, in a line of its own.
    """
    reference = report.reference
    has_totals_only = reference is not None and not any(row.flows for row in reference.schemes)
    if report.flow_count > MAX_FLOW_COLUMNS or has_totals_only:
        return [("all flows", None)]
    has_mixed = any(not group.key for group in report.groups)
    found: list[tuple[str, int | None]] = []
    for number in range(1, report.flow_count + 1):
        schemes = {run.flows[number - 1].name for run in report.complete if number <= len(run.flows)}
        name = f"\n{titles.scheme(schemes.pop())}" if has_mixed and len(schemes) == 1 else ""
        found.append((f"flow {number}{name}", number))
    return found


def published(row: Group | Absent, flow: int | None) -> Published | None:
    """The published numbers beside a cell."""
    scheme = row.published
    if scheme is None:
        return None
    return scheme.total if flow is None else scheme.flows.get(flow)


def has_published(metric: Metric, numbers: Published | None) -> bool:
    """Whether a published number belongs beside ours; it does not where a row has others, but never this one."""
    if numbers is None:
        return False
    return metric.value(numbers) is not None or all(other.value(numbers) is None for other in METRICS)

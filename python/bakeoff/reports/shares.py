"""Who gets what where several schemes meet on one link."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bakeoff.metrics.quantities import NS_PER_S, mbps
from bakeoff.metrics.statistics import estimate
from bakeoff.reports import titles, words
from bakeoff.reports.corrected import JAIN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from bakeoff.metrics import FlowSummary
    from bakeoff.reports.looks import Look
    from bakeoff.reports.model import Report
    from bakeoff.reports.rows import Group

    _Flows = Sequence[FlowSummary]


@dataclass(frozen=True)
class Share:
    """What one scheme gets beside others.

    Attributes:
        name: the scheme, with the number of its flows if there are several.
        look: its colour.
        percent: its part of what all flows of the direction receive together.
        throughput: of its flows together while any of them sends, Mbit/s: mean and interval, as `words.plus_minus`.
        delay: 95th percentile of their one-way delay, ms; the worst flow's.
    """

    name: str
    look: Look
    percent: float
    throughput: tuple[str, str]
    delay: tuple[str, str]


@dataclass(frozen=True)
class Cell:
    """The flows of one direction in one cell, which have different schemes.

    Attributes:
        label: name of the cell, with the direction where flows go both ways.
        parts: what each scheme gets.
        jain: Jain's index of all flows: mean and interval, as `words.plus_minus`; missing where flows go both ways.
    """

    label: str
    parts: list[Share]
    jain: tuple[str, str]


@dataclass(frozen=True)
class Shares:
    """Who gets what.

    Attributes:
        are_together: parts are of the goodput while all flows were meant to send, else of all bytes of the run.
        cells: those whose flows of one direction have different schemes.
    """

    are_together: bool
    cells: list[Cell]

    @property
    def span(self) -> str:
        """The time whose bytes are shared out."""
        return "while all of them send" if self.are_together else "in the whole run"


def of(report: Report) -> Shares:
    """Who gets what in the cells whose flows have different schemes; those of the two directions share no link."""
    mixed = [group for group in report.groups if not group.key and group.summaries]
    flows = [flow for group in mixed for run in group.summaries for flow in run.flows]
    # One measure for all; a recording without a series does not have the better one.
    are_together = all(flow.together_mbps is not None for flow in flows)
    part = _together if are_together else _received
    known = report.scheme_looks
    cells = [cell for group in mixed for cell in _cells(group, part, known)]
    return Shares(are_together, cells)


def _cells(group: Group, part: Callable[[FlowSummary], float], known: Mapping[str, Look]) -> Iterator[Cell]:
    """A cell for each direction in which schemes meet."""
    for direction in ("forward", "reverse"):
        runs = [[flow for flow in run.flows if flow.direction == direction] for run in group.summaries]
        if len({flow.name for flows in runs for flow in flows}) > 1:
            label = f"{group.label}, {direction}" if group.summaries[0].goes_both_ways else group.label
            yield Cell(label, _parts(runs, part, known), JAIN.interval(group))


def _parts(runs: Sequence[_Flows], part: Callable[[FlowSummary], float], known: Mapping[str, Look]) -> list[Share]:
    keys = list(dict.fromkeys(flow.name for flows in runs for flow in flows))
    parts = {key: sum(part(flow) for flows in runs for flow in flows if flow.name == key) for key in keys}
    whole = sum(parts.values())
    found: list[Share] = []
    for key in keys:
        count = sum(flow.name == key for flow in runs[0])
        delays = [
            max(delay for flow in flows if flow.name == key and (delay := flow.owd_p95_ms) is not None)
            for flows in runs
            if any(flow.name == key and flow.owd_p95_ms is not None for flow in flows)
        ]
        found.append(
            Share(
                name=titles.scheme(key) if count == 1 else f"{count} {titles.scheme(key)}",
                look=known[key],
                percent=100 * parts[key] / whole if whole else 0.0,
                throughput=words.plus_minus(estimate([throughput_mbps(flows, key) for flows in runs]), words.number),
                delay=words.plus_minus(estimate(delays), lambda value: words.number(value, 1)),
            )
        )
    return found


def throughput_mbps(flows: _Flows, key: str) -> float:
    """What the flows of a scheme receive over the time in which any of them sends, Mbit/s.

    The rates of flows that come one after the other add up to nothing that a link carries.
    """
    own = [flow for flow in flows if flow.name == key]
    busy_s, until_s = 0.0, 0.0
    for start_s, stop_s in sorted((flow.start_s, _end_s(flow)) for flow in own):
        busy_s += max(0.0, stop_s - max(start_s, until_s))
        until_s = max(until_s, stop_s)
    return mbps(sum(flow.delivered_bytes for flow in own), busy_s * NS_PER_S) or 0.0


def _end_s(flow: FlowSummary) -> float:
    """The end of the time that its throughput is over."""
    if not flow.throughput_mbps:
        return flow.stop_s
    return flow.start_s + 8e-6 * flow.delivered_bytes / flow.throughput_mbps


def _together(flow: FlowSummary) -> float:
    return flow.together_mbps or 0.0


def _received(flow: FlowSummary) -> float:
    return float(flow.delivered_bytes)

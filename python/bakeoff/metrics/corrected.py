"""Metrics without Pantheon's quirks.

- Rates are over the time in which a flow was meant to send, and in which what it sent arrived, so a flow that
  starves or stalls shows it: 0 Mbit/s instead of a run that disappears.
- Loss leaves out what was still under way at the end: it is neither delivered nor lost yet.
- Goodput counts what the application got: payload, in order, once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bakeoff.metrics.quantities import mbps

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True)
class Interval:
    """A stretch of a run, in ns from its start."""

    start_ns: int
    stop_ns: int

    @property
    def length_ns(self) -> int:
        """How long it is, at least 0."""
        return max(0, self.stop_ns - self.start_ns)

    def whole(self, bin_ns: int) -> Interval:
        """The whole bins in it, which count from the start of the run; of length 0 if there is none."""
        return Interval(-(-self.start_ns // bin_ns) * bin_ns, self.stop_ns // bin_ns * bin_ns)


def scheduled(row: Mapping[str, Any], duration_ns: int) -> Interval:
    """When a flow was meant to send: from its start to its stop, its completion, or the end of the run.

    Args:
        row: its row of the table `flows`.
        duration_ns: duration of the run.
    """
    stops = (row["stop_ns"], row["completed_ns"], duration_ns)
    return Interval(row["start_ns"], min(stop for stop in stops if stop is not None))


def hull(intervals: Sequence[Interval]) -> Interval:
    """From the earliest start to the latest stop."""
    return Interval(min(i.start_ns for i in intervals), max(i.stop_ns for i in intervals))


def common(intervals: Sequence[Interval]) -> Interval:
    """When all flows were meant to send at once; of length 0 if they never were."""
    return Interval(max(i.start_ns for i in intervals), min(i.stop_ns for i in intervals))


def throughput_mbps(row: Mapping[str, Any], interval: Interval) -> float | None:
    """Received IP bytes over the interval, Mbit/s: 0 for a starved flow; None without an interval.

    Args:
        row: of the table `flows`.
        interval: when it was meant to send; what arrives later makes it longer, so that no link is exceeded.
    """
    return mbps(row["received_bytes"], _to_the_last_arrival(row, interval).length_ns)


def goodput_mbps(row: Mapping[str, Any], interval: Interval) -> float | None:
    """Payload handed to the application, in order and once, over the same time as `throughput_mbps`, Mbit/s."""
    return mbps(row["goodput_bytes"], _to_the_last_arrival(row, interval).length_ns)


def _to_the_last_arrival(row: Mapping[str, Any], interval: Interval) -> Interval:
    return Interval(interval.start_ns, max(interval.stop_ns, row["last_received_ns"] or 0))


def loss(row: Mapping[str, Any]) -> float | None:
    """Bytes lost over bytes sent and duplicated, without those inside the path at the end; None if none is left."""
    settled = row["sent_bytes"] + row.get("duplicated_bytes", 0) - row["inside_bytes"]
    return 1 - row["received_bytes"] / settled if settled > 0 else None


def packet_loss(row: Mapping[str, Any]) -> float | None:
    """Packets lost over packets sent and duplicated, without those inside the path at the end; None if none is left."""
    settled = row["sent_packets"] + row.get("duplicated_packets", 0) - row["inside_packets"]
    return 1 - row["received_packets"] / settled if settled > 0 else None

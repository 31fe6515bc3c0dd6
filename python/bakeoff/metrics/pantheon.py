"""Pantheon's metrics exactly as Pantheon computes them, quirks included, so that tables can be compared.

Source: StanfordSNR/pantheon, src/analysis/tunnel_graph.py at 23e738c; definitions restated here.

- Only packets of the data direction count, all of them: handshake, retransmissions, duplicates. Nothing is
  trimmed.
- A flow's throughput is its received bytes over the time from its first to its last departure from the path.
  A flow that stalls at the end is not punished, and the total is not the sum of the flows: it has a window of
  its own.
- Loss is `1 - received/sent`, in bytes. What is in flight at the end counts as lost: about one-way delay over
  duration, even on a lossless path.
- A run whose departures span less than 0.8 of its duration is discarded, and so is a run in which a flow has
  no departure at all: starvation is invisible. (The version of January 2018 still counted such a run and printed
  0.00 Mbit/s for the flow, without delay and loss: PCC's first run in the report India ppp0.)

Pantheon's own packets carry 36 bytes of tunnel header inside the path MTU; our sizes are IP packets of that
MTU.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bakeoff.metrics.percentile import nearest
from bakeoff.metrics.quantities import NS_PER_S, mbps, ms

if TYPE_CHECKING:
    import polars as pl

LEAST_SPAN = 0.8
PERCENT = 95


@dataclass(frozen=True, kw_only=True)
class PantheonMetrics:
    """Pantheon's three numbers of a flow or of all flows together.

    Attributes:
        throughput_mbps: received bytes over first to last departure, Mbit/s.
        owd_p95_ms: 95th-percentile one-way delay, nearest rank, ms.
        loss: bytes sent and not received, as a ratio of those sent.
    """

    throughput_mbps: float
    owd_p95_ms: float
    loss: float


@dataclass(frozen=True, kw_only=True)
class PantheonRun:
    """Pantheon's view of a run.

    Attributes:
        flows: its numbers for each flow, in order.
        total: its numbers for all flows together.
    """

    flows: tuple[PantheonMetrics, ...]
    total: PantheonMetrics


@dataclass(frozen=True)
class Discarded:
    """Pantheon would have dropped this run.

    Attributes:
        reason: why, as a clause.
    """

    reason: str


@dataclass(frozen=True)
class _Counts:
    """What the three numbers need to know; times in ns, None if nothing arrived."""

    sent_bytes: int
    received_bytes: int
    first_ns: int | None
    last_ns: int | None
    owd_p95_ns: int | None


def from_packets(packets: pl.DataFrame, flows: int, duration_ns: int) -> PantheonRun | Discarded:
    """Pantheon's numbers from every packet.

    Args:
        packets: the table `packets`.
        flows: number of flows of the run.
        duration_ns: duration of the run.
    """
    flow = packets["flow"].to_numpy()
    size = packets["size_bytes"].to_numpy()
    sent = packets["sent_ns"].to_numpy()
    arrived = packets["received_ns"].is_not_null().to_numpy()
    received = packets["received_ns"].fill_null(0).to_numpy()

    def count(chosen: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> _Counts:
        there = chosen & arrived
        times = received[there]
        return _Counts(
            sent_bytes=int(size[chosen].sum()),
            received_bytes=int(size[there].sum()),
            first_ns=int(times.min()) if times.size else None,
            last_ns=int(times.max()) if times.size else None,
            owd_p95_ns=nearest(times - sent[there], PERCENT),
        )

    counts = [count(flow == number) for number in range(1, flows + 1)]
    return _judge(counts, count(np.ones(flow.size, dtype=np.bool_)), duration_ns)


def from_flows(table: pl.DataFrame, duration_ns: int) -> PantheonRun | Discarded:
    """Pantheon's numbers from the counters of each flow, percentiles from the recorder's histogram.

    Args:
        table: the table `flows`, row 0 being all flows together.
        duration_ns: duration of the run.
    """
    counts = {
        row["flow"]: _Counts(
            sent_bytes=row["sent_bytes"],
            received_bytes=row["received_bytes"],
            first_ns=row["first_received_ns"],
            last_ns=row["last_received_ns"],
            owd_p95_ns=row["owd_p95_ns"],
        )
        for row in table.iter_rows(named=True)
    }
    return _judge([counts[number] for number in sorted(counts) if number > 0], counts[0], duration_ns)


def _judge(flows: list[_Counts], total: _Counts, duration_ns: int) -> PantheonRun | Discarded:
    starved = [str(number) for number, counts in enumerate(flows, 1) if counts.last_ns is None]
    if starved:
        return Discarded(f"nothing of flow {', '.join(starved)} arrived")
    if total.first_ns is None or total.last_ns is None:
        return Discarded("nothing arrived")
    span_ns = total.last_ns - total.first_ns
    if span_ns < LEAST_SPAN * duration_ns:
        span, whole = f"{span_ns / NS_PER_S:.1f} s", f"{duration_ns / NS_PER_S:g} s"
        return Discarded(f"arrivals span {span}, less than {LEAST_SPAN} of {whole}")
    return PantheonRun(flows=tuple(_metrics(counts) for counts in flows), total=_metrics(total))


def _metrics(counts: _Counts) -> PantheonMetrics:
    window_ns = (counts.last_ns or 0) - (counts.first_ns or 0)
    return PantheonMetrics(
        throughput_mbps=mbps(counts.received_bytes, window_ns) or 0.0,
        owd_p95_ms=ms(counts.owd_p95_ns) or 0.0,
        loss=1 - counts.received_bytes / counts.sent_bytes,
    )

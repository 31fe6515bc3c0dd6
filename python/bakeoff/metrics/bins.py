"""Throughput over time, in the bins and with the edges of Pantheon's figures.

Bins of 500 ms are counted from the first packet sent. The received curve starts with 0 at the left edge of
its first bin and has each value at the right edge of its bin; the sent curve has each value at the left edge.

Source: StanfordSNR/pantheon, src/analysis/tunnel_graph.py at 23e738c; restated.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bakeoff.metrics.quantities import NS_PER_S

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

BIN_NS = 500_000_000


@dataclass(frozen=True)
class Rates:
    """Rates of all flows on one time axis; NaN where a curve has no value.

    Attributes:
        origin_ns: time of the first packet sent, from which the axis counts.
        t_s: bin edges in s, one more than there are bins.
        sent_mbps: by flow, at left edges.
        received_mbps: by flow, at right edges.
    """

    origin_ns: int
    t_s: NDArray[np.float64]
    sent_mbps: dict[int, NDArray[np.float64]]
    received_mbps: dict[int, NDArray[np.float64]]


def from_packets(packets: pl.DataFrame) -> Rates | None:
    """Rates from every packet; None if none was sent.

    Args:
        packets: the table `packets`.
    """
    if packets.is_empty():
        return None
    flow = packets["flow"].to_numpy()
    size = packets["size_bytes"].to_numpy()
    sent = packets["sent_ns"].to_numpy()
    arrived = packets["received_ns"].is_not_null().to_numpy()
    received = packets["received_ns"].fill_null(0).to_numpy()
    origin = int(sent.min())
    return _rates(
        origin,
        {number: (sent[flow == number], size[flow == number]) for number in np.unique(flow)},
        {
            number: (received[(flow == number) & arrived], size[(flow == number) & arrived])
            for number in np.unique(flow)
        },
    )


def from_series(series: pl.DataFrame) -> Rates | None:
    """Rates from the recorder's bins, from the start of the run; None if there are none.

    Args:
        series: the table `series`; its bins must divide 500 ms for the figures to be exact.
    """
    if series.is_empty():
        return None
    by_flow = {int(number): part for (number,), part in series.partition_by("flow", as_dict=True).items()}
    return _rates(
        0,
        {number: (p["t_ns"].to_numpy(), p["sent_bytes"].to_numpy()) for number, p in by_flow.items()},
        {number: (p["t_ns"].to_numpy(), p["received_bytes"].to_numpy()) for number, p in by_flow.items()},
    )


_Events = dict[int, "tuple[NDArray[np.int64], NDArray[np.int64]]"]


def _rates(origin: int, sent: _Events, received: _Events) -> Rates:
    last = max(
        (int(times.max()) for events in (sent, received) for times, _ in events.values() if times.size),
        default=origin,
    )
    bins = (last - origin) // BIN_NS + 1
    return Rates(
        origin,
        np.arange(bins + 1, dtype=np.float64) * (BIN_NS / NS_PER_S),
        {int(number): _curve(events, origin, bins, shift=0) for number, events in sent.items()},
        {int(number): _curve(events, origin, bins, shift=1) for number, events in received.items()},
    )


def _curve(
    events: tuple[NDArray[np.int64], NDArray[np.int64]], origin: int, bins: int, *, shift: int
) -> NDArray[np.float64]:
    """One curve over the bin edges: values at left edges (shift 0) or at right edges after a 0 (shift 1)."""
    times, sizes = events
    curve = np.full(bins + 1, np.nan)
    # Pantheon's curves begin with the first bin that has an event, and end with the last.
    index = (times[sizes > 0] - origin) // BIN_NS
    if index.size == 0:
        return curve
    first, last = int(index.min()), int(index.max())
    total = np.bincount(index, weights=sizes[sizes > 0], minlength=bins)
    if shift:
        curve[first] = 0.0
    curve[first + shift : last + 1 + shift] = total[first : last + 1] * 8e3 / BIN_NS
    return curve


def capacity(hop_series: pl.DataFrame, hop: str, rates: Rates) -> NDArray[np.float64] | None:
    """Capacity of a hop over the bins of `rates`, in Mbit/s, at left edges; None without a limit.

    Args:
        hop_series: the table `hop_series`.
        hop: name of the hop.
        rates: whose time axis is used.
    """
    rows = hop_series.filter((hop_series["hop"] == hop) & hop_series["capacity_bytes"].is_not_null())
    if rows.height < 2:
        return None
    ends = rows["t_ns"].to_numpy()
    edges = np.insert(ends, 0, 2 * ends[0] - ends[1])
    carried = np.concatenate(([0], np.cumsum(rows["capacity_bytes"].to_numpy())))
    # The run may end within the last bin.
    times = np.minimum(rates.origin_ns + rates.t_s * NS_PER_S, edges[-1])
    covered = np.diff(times)
    sizes = np.diff(np.interp(times, edges, carried))
    curve = np.divide(8e3 * sizes, covered, out=np.full(covered.size, np.nan), where=covered > 0)
    return np.append(curve, curve[-1])

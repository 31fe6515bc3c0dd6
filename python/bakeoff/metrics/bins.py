"""Throughput over time, in the bins and with the edges of Pantheon's figures.

Bins of 500 ms are counted from the first packet sent. The received curve starts with 0 at the left edge of
its first bin and has each value at the right edge of its bin; the sent curve has each value at the left edge.

Source: StanfordSNR/pantheon, src/analysis/tunnel_graph.py at 23e738c; restated.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bakeoff.metrics.quantities import NS_PER_S, mbps

if TYPE_CHECKING:
    from collections.abc import Callable

    import polars as pl
    from numpy.typing import NDArray

    _Times = NDArray[np.int64]
    _Sizes = NDArray[np.int64 | np.float64]
    # Times in ns, and the bytes at each.
    _Event = tuple[_Times, _Sizes]
    _Means = dict[int, float | None]

BIN_NS = 500_000_000


@dataclass(frozen=True)
class Rates:
    """Rates of all flows on one time axis; NaN where a curve has no value.

    Attributes:
        origin_ns: time of the first packet sent, from which the axis counts.
        t_s: bin edges in s, one more than there are bins.
        sent_mbps: by flow, at left edges.
        received_mbps: by flow, at right edges.
        sent_mean_mbps: by flow, all its bytes over the time from the first packet to the last, or to the end of the
            last bin with one; None where that is none.
        received_mean_mbps: the same of what arrived, to the last packet.
    """

    origin_ns: int
    t_s: NDArray[np.float64]
    sent_mbps: dict[int, NDArray[np.float64]]
    received_mbps: dict[int, NDArray[np.float64]]
    sent_mean_mbps: _Means
    received_mean_mbps: _Means


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
    went = {int(number): (sent[flow == number], size[flow == number]) for number in np.unique(flow)}
    came = {number: (received[(flow == number) & arrived], size[(flow == number) & arrived]) for number in went}
    sent_mean, received_mean = ({number: _mean(*of) for number, of in events.items()} for events in (went, came))
    return _rates(origin, went, came, (sent_mean, received_mean))


def from_series(series: pl.DataFrame, flows: pl.DataFrame, interval_ns: int, end_ns: int) -> Rates | None:
    """Rates from the recorder's bins, from the start of the run; None if there are none.

    Args:
        series: the table `series`.
        flows: the table `flows`, for the means.
        interval_ns: length of its bins. The bytes of one that reaches into several of 500 ms count as evenly spread.
        end_ns: end of the run, which may lie within the last bin.
    """
    if series.is_empty():
        return None
    by_flow = {int(number): part for (number,), part in series.partition_by("flow", as_dict=True).items()}

    def ends(begins: _Times) -> _Times:
        return np.minimum(begins.astype(np.int64) + interval_ns, end_ns)

    sent: _Means = {}
    received: _Means = {}
    for number, part in by_flow.items():
        (row,) = flows.filter(flows["flow"] == number).iter_rows(named=True)
        last = part.filter(part["sent_bytes"] > 0)["t_ns"].to_numpy()[-1:]
        spans = (
            (row["first_sent_ns"], int(ends(last)[0]) if last.size else None),
            (row["first_received_ns"], row["last_received_ns"]),
        )
        sent[number], received[number] = (
            mbps(row[size], stop - start) if start is not None and stop is not None else None
            for size, (start, stop) in zip(("sent_bytes", "received_bytes"), spans, strict=True)
        )
    return _rates(
        0,
        {number: (p["t_ns"].to_numpy(), p["sent_bytes"].to_numpy()) for number, p in by_flow.items()},
        {number: (p["t_ns"].to_numpy(), p["received_bytes"].to_numpy()) for number, p in by_flow.items()},
        (sent, received),
        ends,
    )


def _at_once(times: _Times) -> _Times:
    return times


def _rates(
    origin: int,
    sent: dict[int, _Event],
    received: dict[int, _Event],
    means_mbps: tuple[_Means, _Means],
    ends: Callable[[_Times], _Times] = _at_once,
) -> Rates:
    """The rates of what happens at some times, or evenly from then on until it `ends`."""
    last = max(
        (
            int(max(ends(times).max() - 1, times.max()))
            for events in (sent, received)
            for times, _ in events.values()
            if times.size
        ),
        default=origin,
    )
    bins = (last - origin) // BIN_NS + 1

    def curves(events: dict[int, _Event], shift: int) -> dict[int, NDArray[np.float64]]:
        spread = {number: found if ends is _at_once else _spread(*found, ends) for number, found in events.items()}
        return {int(number): _curve(found, origin, bins, shift=shift) for number, found in spread.items()}

    return Rates(
        origin,
        np.arange(bins + 1, dtype=np.float64) * (BIN_NS / NS_PER_S),
        curves(sent, 0),
        curves(received, 1),
        *means_mbps,
    )


def _spread(begins: _Times, sizes: _Sizes, ends: Callable[[_Times], _Times]) -> _Event:
    """Bytes that came evenly until some end, in bins of 500 ms, each at its beginning."""
    until = ends(begins)
    edges = np.arange(-(-int(until[-1]) // BIN_NS) + 1) * BIN_NS
    times = np.stack([begins, until], axis=1, dtype=np.int64).ravel()
    before = np.concatenate([[0], np.cumsum(sizes)])
    return edges[:-1], np.diff(np.interp(edges, times, np.repeat(before, 2)[1:-1]))


def _mean(times: _Times, sizes: _Sizes) -> float | None:
    """All bytes over the time from the first to the last."""
    return mbps(sizes.sum(), int(times.max() - times.min())) if times.size else None


def _curve(events: _Event, origin: int, bins: int, *, shift: int) -> NDArray[np.float64]:
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

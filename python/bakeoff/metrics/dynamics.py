"""How flows come to terms: their rates while all send, how soon they are even, and the round trips that TCP sees.

All is from the tables over time, so runs recorded at level `summary` have none of it. The definitions of convergence
and spike are ours: the studies that speak of them define neither.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from bakeoff.metrics.corrected import Interval, common
from bakeoff.metrics.percentile import nearest_of
from bakeoff.metrics.quantities import NS_PER_S, mbps
from bakeoff.scenario import goes_both_ways

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from bakeoff.recording import RunRecording

_WINDOW_NS = 2 * NS_PER_S
# The fastest flow has at most this times the rate of the slowest.
_EVEN = 1.25
# How long after the start of the last flow a rise of the round trip counts as its doing, and what counts as a rise.
_SPIKE_NS = 15 * NS_PER_S
_SPIKE_MS = 10.0


@dataclass(frozen=True)
class FlowDynamics:
    """What is known of one flow over time; None is what does not exist.

    Attributes:
        together_mbps: mean goodput while all flows were meant to send; None for a flow alone, and where no whole bin
            lies in that time.
        late_mbps: the same over the second half of that time.
        srtt_p50_ms: median of the smoothed round-trip times that its sender saw.
        srtt_p95_ms: 95th percentile of them.
    """

    together_mbps: float | None = None
    late_mbps: float | None = None
    srtt_p50_ms: float | None = None
    srtt_p95_ms: float | None = None


@dataclass(frozen=True)
class Dynamics:
    """What is known of all flows of a run over time; None is what does not exist.

    Attributes:
        flows: by number.
        convergence_s: see `convergence_s`; None where flows go both ways.
        spike_ms: the largest smoothed round-trip time within 15 s of the start of the last flow, above the least one.
        spike_s: how long, in those 15 s, one of them was more than 10 ms above that.
    """

    flows: dict[int, FlowDynamics]
    convergence_s: float | None = None
    spike_ms: float | None = None
    spike_s: float | None = None


def of_run(recording: RunRecording, intervals: Mapping[int, Interval]) -> Dynamics:
    """How the flows of a run behaved over time.

    Args:
        recording: a complete run.
        intervals: when each flow was meant to send.
    """
    numbers, together = sorted(intervals), common(list(intervals.values()))
    interval_ns = int(recording.scenario["record"]["interval_ns"])
    rates: dict[str, dict[int, float | None]] = {"together_mbps": {}, "late_mbps": {}}
    converged = None
    if recording.has("series") and len(numbers) > 1 and together.length_ns:
        series = recording.table("series")
        late = Interval(together.start_ns + together.length_ns // 2, together.stop_ns)
        rates = {
            "together_mbps": goodputs_mbps(series, numbers, together, interval_ns),
            "late_mbps": goodputs_mbps(series, numbers, late, interval_ns),
        }
        if not goes_both_ways(recording.scenario):
            converged = convergence_s(series, numbers, together, interval_ns)
    rows = round_trips(recording.table("telemetry")) if recording.has("telemetry") else None
    flows = {
        number: FlowDynamics(**{name: of.get(number) for name, of in rates.items()}, **_percentiles(rows, number))
        for number in numbers
    }
    if rows is None or rows.is_empty():
        return Dynamics(flows, converged)
    return Dynamics(flows, converged, *spike(rows, together.start_ns, interval_ns))


def goodputs_mbps(
    series: pl.DataFrame, flows: Sequence[int], stretch: Interval, interval_ns: int
) -> dict[int, float | None]:
    """Mean goodput of each flow over a stretch of the run, in Mbit/s; None where no whole bin is in it.

    Args:
        series: the table `series`.
        flows: numbers of the flows.
        stretch: bins that lie in it as a whole are counted, and the time that they cover.
        interval_ns: length of a bin.
    """
    whole = stretch.whole(interval_ns)
    inside = series.filter((series["t_ns"] >= whole.start_ns) & (series["t_ns"] < whole.stop_ns))
    sums = {flow: int(inside.filter(inside["flow"] == flow)["goodput_bytes"].sum()) for flow in flows}
    return {flow: mbps(size, whole.length_ns) for flow, size in sums.items()}


def convergence_s(series: pl.DataFrame, flows: Sequence[int], together: Interval, interval_ns: int) -> float | None:
    """How long after the start of the last flow the flows are even, in seconds; None if they never are.

    Even means that the fastest received at most 1.25 times the bytes of the slowest: in a stretch of 2 s (where bins do
    not divide them, of the fewest that are as long), and in all that follows from its beginning on; silence of all is
    not. The time counts to the end of the first such stretch.
    That all later stretches be even would be too much to ask: those of flows whose windows are saws seldom are.

    Args:
        series: the table `series`.
        flows: numbers of the flows, at least two.
        together: when all were meant to send.
        interval_ns: length of a bin.
    """
    whole = together.whole(interval_ns)
    first, bins, width = whole.start_ns // interval_ns, whole.length_ns // interval_ns, -(-_WINDOW_NS // interval_ns)
    if bins < width:
        return None
    stretches, rests = [], []
    for flow in flows:
        rows = series.filter(series["flow"] == flow)
        where = rows["t_ns"].to_numpy().astype(np.int64) // interval_ns - first
        inside = (where >= 0) & (where < bins)
        sizes = np.bincount(where[inside], rows["received_bytes"].to_numpy()[inside], minlength=bins)
        stretches.append(np.convolve(sizes, np.ones(width), "valid"))
        rests.append(np.cumsum(sizes[::-1], dtype=np.float64)[::-1][: bins - width + 1])
    even = _are_even(stretches) & _are_even(rests)
    if not even.any():
        return None
    return float((first + int(np.argmax(even)) + width) * interval_ns - together.start_ns) / NS_PER_S


def _are_even(sizes: Sequence[NDArray[np.float64]]) -> NDArray[np.bool_]:
    """Where the flows are even; silence of all says nothing."""
    most, least = np.max(sizes, axis=0), np.min(sizes, axis=0)
    return np.asarray((most > 0) & (most <= _EVEN * least))


def spike(round_trips: pl.DataFrame, last_start_ns: int, interval_ns: int) -> tuple[float | None, float | None]:
    """How high round-trip times rose after the start of the last flow, in ms, and for how long, in s.

    Args:
        round_trips: samples of `srtt`, from the table `telemetry`.
        last_start_ns: when the last flow starts.
        interval_ns: time between two samples.
    """
    ends = last_start_ns + _SPIKE_NS
    after = round_trips.filter((round_trips["t_ns"] >= last_start_ns) & (round_trips["t_ns"] < ends))
    if after.is_empty():
        return None, None
    least = float(round_trips["value"].to_numpy().min())
    rises = after.group_by("t_ns").agg(pl.col("value").max())["value"].to_numpy() - least
    return float(rises.max()), float((rises > _SPIKE_MS).sum()) * interval_ns / NS_PER_S


def round_trips(telemetry: pl.DataFrame) -> pl.DataFrame:
    """Samples of the smoothed round-trip time, in ms; those before the first round trip are 0 and left out.

    Args:
        telemetry: the table `telemetry`.
    """
    return telemetry.filter((telemetry["name"] == "srtt") & (telemetry["value"] > 0))


def _percentiles(round_trips: pl.DataFrame | None, flow: int) -> dict[str, float | None]:
    if round_trips is None:
        return {}
    values = round_trips.filter(round_trips["flow"] == flow)["value"].to_numpy()
    if values.size == 0:
        return {}
    return {f"srtt_p{percent}_ms": nearest_of(values, percent) for percent in (50, 95)}

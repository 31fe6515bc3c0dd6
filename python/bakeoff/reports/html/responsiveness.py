"""Data of the figure of rates and round trips: what Flent draws, with two axes, for runs that have probes.

Scales as in the SCE / L4S bake-off: the fixed one ends 100 ms above the base round trip, so that runs can be compared
by eye; the other leaves the largest round trip in the lowest third, and is shown first where the fixed one would cut it
off.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bakeoff.metrics import dynamics
from bakeoff.metrics.quantities import NS_PER_MS, NS_PER_S, mbps
from bakeoff.reports import looks, titles, words
from bakeoff.reports.html import spans
from bakeoff.scenario import base_rtt_ns

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl
    from numpy.typing import NDArray

    from bakeoff.reports.html.encode import Pack
    from bakeoff.reports.looks import Look
    from bakeoff.reports.rows import Run

MAX_FLOWS = 4
_FIXED_MS = 100.0
_VARIABLE_PART = 3.0


def figure(
    run: Run, pack: Pack, capacity: NDArray[np.float64] | None, flow_looks: Sequence[Look]
) -> dict[str, Any] | None:
    """The figure of a run; None if it has no probes, no time series, or too many flows for one figure.

    Args:
        run: a complete run.
        pack: where the arrays go.
        capacity: of the bottleneck over time, Mbit/s.
        flow_looks: the look of each flow.
    """
    recording = run.recording
    needed = all(recording.has(table) for table in ("probes", "series", "telemetry"))
    if not needed or len(run.summary.flows) > MAX_FLOWS:
        return None
    times, interval_ns = _times(run)
    round_trips = _round_trips(run, times, flow_looks)
    known = [float(np.nanmax(curve)) for _, curve, _ in round_trips if not np.all(np.isnan(curve))]
    if not known:
        return None
    base = base_rtt_ns(recording.scenario) / NS_PER_MS
    rates = _rates(run, times, interval_ns, flow_looks)
    taken = spans.of_samples(times / NS_PER_S - interval_ns / NS_PER_S, spans.MOST_INTERVALS)
    lines: list[dict[str, Any]] = []
    for entry, curve in rates:
        lines += taken.lines(entry, curve, "mean", pack) if taken else [{**entry, "y": pack.add(curve)}]
    for entry, curve, colours in round_trips:
        full = {**entry, "right": True, **colours}
        lines += taken.lines(full, curve, "median", pack) if taken else [{**full, "y": pack.add(curve)}]
    mean = run.summary.total.capacity_mbps if run.summary.total else None
    # A link whose rate changes may be far above its mean; so may goodput in the bin in which a gap is filled.
    drawn = [curve for _, curve in rates] + ([] if capacity is None else [capacity])
    rate_top = max(1.2 * mean, *(float(np.nanmax(curve, initial=0.0)) for curve in drawn)) if mean else None
    x = pack.add(taken.centres() if taken else times / NS_PER_S)
    choices = [
        {
            "unit": name,
            "name": name,
            "x": x,
            "series": lines,
            "left": {"unit": "Goodput (Mbit/s)", "range": [0, rate_top]},
            "right": {"unit": "Round trip (ms)", "range": [base, top]},
        }
        for name, top in _scales(base, max(known))
    ]
    note = f"Goodput is the mean, a round trip the median of {taken.name}; areas are the range in it." if taken else ""
    return {"kind": "choice", "label": "Scale of round trips:", "note": note, "choices": choices}


def _scales(base_ms: float, largest_ms: float) -> list[tuple[str, float]]:
    """Names and upper ends of the scales of round trips, in ms; the one that is shown first cuts nothing off."""
    fixed_ms = base_ms + _FIXED_MS
    whole = ("to the largest round trip", base_ms + _VARIABLE_PART * max(1.0, largest_ms - base_ms))
    if largest_ms > fixed_ms:
        return [whole, (f"fixed, without what is above {words.number(fixed_ms, 0)} ms", fixed_ms)]
    return [("fixed", fixed_ms), whole]


def _times(run: Run) -> tuple[NDArray[np.int64], int]:
    """Ends of the bins of the recording, in ns."""
    scenario = run.recording.scenario
    interval_ns = int(scenario["record"]["interval_ns"])
    return np.arange(1, int(scenario["duration_ns"]) // interval_ns + 1, dtype=np.int64) * interval_ns, interval_ns


def _rates(
    run: Run, times: NDArray[np.int64], interval_ns: int, flow_looks: Sequence[Look]
) -> list[tuple[dict[str, str], NDArray[np.float64]]]:
    series = run.recording.table("series")
    lines = []
    for flow, look in zip(run.summary.flows, flow_looks, strict=True):
        rows = series.filter(series["flow"] == flow.flow)
        curve = np.full(times.size, np.nan)
        where = rows["t_ns"].to_numpy().astype(np.int64) // interval_ns
        inside = where < times.size
        curve[where[inside]] = rows["goodput_bytes"].to_numpy()[inside] * mbps(1, interval_ns)
        # The recording has bins of nothing from the beginning of the run on, and to its end.
        curve[times <= flow.start_s * NS_PER_S] = np.nan
        curve[(times - interval_ns >= flow.stop_s * NS_PER_S) & (curve == 0)] = np.nan
        label = f"Flow {flow.flow}, {titles.scheme(flow.name)} (mean {words.number(flow.goodput_mbps)} Mbit/s)"
        lines.append(({"label": label, "style": "solid", **look.colours}, curve))
    return lines


def _round_trips(
    run: Run, times: NDArray[np.int64], flow_looks: Sequence[Look]
) -> list[tuple[dict[str, str], NDArray[np.float64], dict[str, str]]]:
    found = []
    samples = dynamics.round_trips(run.recording.table("telemetry"))
    for flow, look in zip(run.summary.flows, flow_looks, strict=True):
        rows = samples.filter(samples["flow"] == flow.flow)
        label = f"Round trip of flow {flow.flow} (median {words.number(flow.srtt_p50_ms)} ms)"
        curve = _on_grid(rows, "t_ns", rows["value"].to_numpy(), times)
        found.append(({"label": label, "style": "dashed"}, curve, look.colours))
    probes = run.recording.table("probes")
    probes = probes.filter(probes["rtt_ns"].is_not_null())
    for probe, config in zip(run.summary.probes, run.recording.scenario["probes"], strict=True):
        rows = probes.filter(probes["probe"] == probe.probe)
        label = f"Probe {probe.probe}{mark(config)} (median {words.number(probe.rtt_p50_ms)} ms)"
        curve = _on_grid(rows, "sent_ns", rows["rtt_ns"].to_numpy() / NS_PER_MS, times)
        found.append(({"label": label, "style": "dotted"}, curve, looks.of_probe(probe.probe).colours))
    return found


def mark(probe: Mapping[str, Any]) -> str:
    """What tells a probe apart from others: that it is a ping, and its ECN codepoint, if it has one.

    Args:
        probe: a probe of the scenario.
    """
    # Datagrams are the default, and scenarios do not name it.
    kind = ", ping" if probe.get("kind") == "ping" else ""
    return kind + {"ect0": ", ECT(0)", "ect1": ", ECT(1)"}.get(probe["ecn"], "")


def _on_grid(
    rows: pl.DataFrame, column: str, values: NDArray[np.float64], times: NDArray[np.int64]
) -> NDArray[np.float64]:
    """The last value in each bin; NaN in bins without one."""
    curve = np.full(times.size, np.nan)
    where = np.searchsorted(times, rows[column].to_numpy().astype(np.int64), side="left")
    inside = where < times.size
    curve[where[inside]] = values[inside]
    return curve

"""Data of the figures of one run: throughput, one-way delay and round trip of probes over time, and the others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from bakeoff.metrics import bins, utilisation
from bakeoff.metrics.quantities import NS_PER_MS, NS_PER_S
from bakeoff.reports import looks, titles, words
from bakeoff.reports.html import responsiveness, spans, telemetry_figure

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from bakeoff.metrics.bins import Rates
    from bakeoff.metrics.summary import RunSummary
    from bakeoff.recording import RunRecording
    from bakeoff.reports.html.encode import Pack
    from bakeoff.reports.looks import Look
    from bakeoff.reports.rows import Run

MAX_FLOWS = 12
# Ten minutes.
_MOST_BINS = 1200


_DELAYS: tuple[tuple[str, str, spans.Middle], ...] = (
    ("owd_mean_ns", "solid", "mean"),
    ("owd_max_ns", "dashed", "largest"),
)


@dataclass(frozen=True)
class _Flows:
    """The flows of a run, and the look of each."""

    summary: RunSummary
    looks: list[Look]

    def colours(self, flow: int) -> dict[str, str]:
        return self.looks[flow - 1].colours

    def name(self, flow: int) -> str:
        """The flow's number, and where several schemes meet its scheme."""
        schemes = [flow.name for flow in self.summary.flows]
        return f"Flow {flow}, {titles.scheme(schemes[flow - 1])}" if len(set(schemes)) > 1 else f"Flow {flow}"

    def delay_label(self, flow: int) -> str:
        return f"{self.name(flow)} (95th percentile {words.number(self.summary.flows[flow - 1].owd_p95_ms)} ms)"


def figures(run: Run, pack: Pack, most_points: int, known: Mapping[str, Look]) -> dict[str, Any]:
    """The figures of a run by kind; a kind that was not recorded is absent.

    Args:
        run: a complete run.
        pack: where the arrays go.
        most_points: how many packets at most are drawn as dots.
        known: looks of the schemes that meet in the report, as in `looks.of_flows`.
    """
    recording = run.recording
    packets = recording.table("packets") if recording.has("packets") else None
    series = recording.table("series") if recording.has("series") else None
    if packets is not None:
        rates = bins.from_packets(packets)
    else:
        interval_ns, end_ns = int(recording.scenario["record"]["interval_ns"]), int(recording.scenario["duration_ns"])
        rates = bins.from_series(series, recording.table("flows"), interval_ns, end_ns) if series is not None else None
    if rates is None:
        return {}
    capacity = _capacity(run, rates)
    flows = _Flows(run.summary, looks.of_flows([flow.name for flow in run.summary.flows], known))
    found: dict[str, dict[str, Any] | None] = {
        "responsiveness": responsiveness.figure(run, pack, capacity, flows.looks),
        "throughput": _throughput(run, flows, rates, capacity, pack),
    }
    if packets is not None:
        found["delay"] = _delay_dots(packets, rates.origin_ns, flows, pack, most_points)
    elif series is not None:
        found["delay"] = _delay_lines(series, flows, pack)
    if recording.has("probes"):
        found["probes"] = _probes(recording, run.summary, rates.origin_ns, pack)
    if recording.has("telemetry"):
        telemetry = recording.table("telemetry").filter(pl.col("flow").is_between(1, MAX_FLOWS))
        found["telemetry"] = telemetry_figure.figure(telemetry, rates.origin_ns, run.summary, flows.looks, pack)
    span = [0.0, _end_s(rates, int(recording.scenario["duration_ns"]))]
    return {kind: _spanning(figure, span) for kind, figure in found.items() if figure is not None}


def _end_s(rates: Rates, duration_ns: int) -> float:
    """Where time ends: with the last bin or the run, whichever is later, but with a run that is shorter than a bin."""
    run_s = (duration_ns - rates.origin_ns) / NS_PER_S
    return run_s if run_s < rates.t_s[1] else max(run_s, float(rates.t_s[-1]))


def _spanning(figure: dict[str, Any], span: list[float]) -> dict[str, Any]:
    """The figure over a span of time, in s, whatever part of it has data."""
    if "choices" in figure:
        return {**figure, "choices": [choice | {"span": span} for choice in figure["choices"]]}
    return {**figure, "span": span}


def _shown(numbers: list[int]) -> list[int]:
    return sorted(number for number in numbers if 0 < number <= MAX_FLOWS)


def _capacity(run: Run, rates: Rates) -> NDArray[np.float64] | None:
    """Capacity of the bottleneck over time, Mbit/s; None where it was not recorded, has no limit, or is not of all."""
    total = run.summary.total
    if total is None or not total.bottleneck or run.summary.goes_both_ways or not run.recording.has("hop_series"):
        return None
    of_link = bins.capacity(run.recording.table("hop_series"), total.bottleneck, rates)
    policed = utilisation.policed_bps(run.recording.scenario, total.bottleneck)
    if policed is None:
        return of_link
    of_policer = np.full(rates.t_s.size, policed / 1e6)
    return of_policer if of_link is None else np.minimum(of_link, of_policer)


def _throughput(
    run: Run, flows: _Flows, rates: Rates, capacity: NDArray[np.float64] | None, pack: Pack
) -> dict[str, Any]:
    shown: list[dict[str, Any]] = []
    taken = spans.of_samples(rates.t_s[:-1], _MOST_BINS)

    def mean_of(curve: NDArray[np.float64]) -> NDArray[np.float64]:
        return spans.until_the_end(taken.line(curve[:-1], "mean")) if taken else curve

    if capacity is not None and run.summary.total is not None:
        label = f"Capacity (mean {words.number(run.summary.total.capacity_mbps)} Mbit/s, shaded)"
        shown.append({"label": label, "style": "area", "y": pack.add(mean_of(capacity))})
    for flow in _shown(list(rates.received_mbps)):
        colours = flows.colours(flow)
        judged = run.summary.flows[flow - 1].pantheon
        received = judged.throughput_mbps if judged else rates.received_mean_mbps[flow]
        for word, style, curves, mean in (
            ("in", "dashed", rates.sent_mbps, rates.sent_mean_mbps[flow]),
            ("e", "solid", rates.received_mbps, received),
        ):
            label = f"{flows.name(flow)} {word}gress (mean {words.number(mean)} Mbit/s)"
            entry = {"label": label, "style": style, "is_stepped": True, **colours}
            curve = over_bins(curves[flow], at_right=word == "e")
            if taken and word == "e":
                shown += taken.lines(entry, curve[:-1], "mean", pack, is_stepped=True)
            else:
                shown.append({**entry, "y": pack.add(mean_of(curve))})
    return {
        "kind": "time",
        "unit": "Throughput (Mbit/s)",
        "x": pack.add(taken.edges() if taken else rates.t_s),
        "note": f"Lines are means over {taken.name}, areas the range of the bins in them." if taken else "",
        "series": sorted(shown, key=lambda entry: entry["style"] not in ("area", "range")),
    }


def over_bins(curve: NDArray[np.float64], *, at_right: bool) -> NDArray[np.float64]:
    """A curve as steps are drawn: each value at the left edge of its bin, and the last one at the end of its bin too.

    Args:
        curve: rates at bin edges.
        at_right: whether values are at the right edges of their bins, after a 0 at the left edge of the first.
    """
    places = np.flatnonzero(~np.isnan(curve))[int(at_right) :]
    found = np.full(curve.size, np.nan)
    if places.size:
        found[places - int(at_right)] = curve[places]
        found[places[-1] + 1 - int(at_right)] = curve[places[-1]]
    return found


def _delay_dots(packets: pl.DataFrame, origin_ns: int, flows: _Flows, pack: Pack, most: int) -> dict[str, Any] | None:
    arrived = packets.filter(packets["received_ns"].is_not_null() & (packets["flow"] <= MAX_FLOWS)).select(
        "flow",
        pl.col("received_ns").alias("t"),
        (pl.col("received_ns") - pl.col("sent_ns")).alias("delay"),
    )
    if arrived.is_empty():
        return None
    drawn = thin(arrived, most).sort("t", "flow")
    share = drawn.height / arrived.height
    numbers = drawn["flow"].to_numpy()
    delay = drawn["delay"].to_numpy() / NS_PER_MS
    return {
        "kind": "time",
        "unit": "Per-packet one-way delay (ms)",
        "x": pack.add((drawn["t"].to_numpy() - origin_ns) / NS_PER_S),
        "note": "" if share == 1 else f"{drawn.height} of {arrived.height} packets are drawn, extremes included.",
        "series": [
            {
                "label": flows.delay_label(flow),
                "style": "dots",
                "y": pack.add(np.where(numbers == flow, delay, np.nan)),
                **flows.colours(flow),
            }
            for flow in _shown([int(flow) for flow in np.unique(numbers)])
        ],
    }


def thin(packets: pl.DataFrame, most: int) -> pl.DataFrame:
    """Fewer packets that look the same: in each of many spans of time the first, last, fastest and slowest of a flow.

    Args:
        packets: columns `flow`, `t` and `delay`.
        most: how many rows are wanted at most, about.
    """
    if packets.height <= most:
        return packets
    spans = max(1, most // (4 * packets["flow"].n_unique()))
    first, last = packets["t"].min(), packets["t"].max()
    width = (int(last) - int(first)) // spans + 1  # type: ignore[arg-type] # times are integers
    kept = (
        packets.with_row_index("row")
        .group_by("flow", (pl.col("t") - first) // width, maintain_order=True)
        .agg(
            pl.col("row").first().alias("a"),
            pl.col("row").last().alias("b"),
            pl.col("row").get(pl.col("delay").arg_min()).alias("c"),
            pl.col("row").get(pl.col("delay").arg_max()).alias("d"),
        )
    )
    rows = np.unique(np.concatenate([kept[name].to_numpy() for name in "abcd"]))
    return packets[rows]


def _delay_lines(series: pl.DataFrame, flows: _Flows, pack: Pack) -> dict[str, Any] | None:
    rows = series.filter(series["flow"] <= MAX_FLOWS)
    if rows.is_empty():
        return None
    times = np.unique(rows["t_ns"].to_numpy())
    taken = spans.of_samples(times / NS_PER_S, spans.MOST_INTERVALS)
    shown = []
    for flow in _shown(rows["flow"].unique().to_list()):
        own = rows.filter(rows["flow"] == flow)
        where = np.searchsorted(times, own["t_ns"].to_numpy())
        arrived = np.zeros(times.size)
        arrived[where] = own["received_packets"].to_numpy()
        for column, style, word in _DELAYS:
            curve = np.full(times.size, np.nan)
            curve[where] = own[column].cast(pl.Float64).fill_null(np.nan).to_numpy() / NS_PER_MS
            curve = taken.line(curve, word, arrived) if taken else curve
            label = f"{flows.delay_label(flow)}, {word}"
            shown.append({"label": label, "style": style, "y": pack.add(curve), **flows.colours(flow)})
    x = pack.add(taken.centres() if taken else times / NS_PER_S)
    note = f"Bins are of {taken.name}." if taken else ""
    return {"kind": "time", "unit": "One-way delay (ms)", "x": x, "note": note, "series": shown}


def _probes(recording: RunRecording, summary: RunSummary, origin_ns: int, pack: Pack) -> dict[str, Any] | None:
    """Each answered request at the time of its sending."""
    table = recording.table("probes")
    rows = table.filter(table["rtt_ns"].is_not_null() & (table["probe"] <= MAX_FLOWS)).sort("sent_ns", "probe")
    if rows.is_empty():
        return None
    probes, round_trips = rows["probe"].to_numpy(), rows["rtt_ns"].to_numpy() / NS_PER_MS
    marks = [responsiveness.mark(probe) for probe in recording.scenario["probes"]]
    shown = [
        {
            "label": f"Probe {probe.probe}{mark} (95th percentile {words.number(probe.rtt_p95_ms)} ms)",
            "style": "dots",
            "y": pack.add(np.where(probes == probe.probe, round_trips, np.nan)),
            **looks.of_probe(probe.probe).colours,
        }
        for probe, mark in zip(summary.probes[:MAX_FLOWS], marks, strict=False)
    ]
    x = pack.add((rows["sent_ns"].to_numpy() - origin_ns) / NS_PER_S)
    return {"kind": "time", "unit": "Round trip (ms)", "x": x, "series": shown}

"""The numbers of one run, for every report and for `--json`."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from bakeoff.metrics import corrected, dynamics, idle, pantheon, probes, queueing, stalls, utilisation
from bakeoff.metrics.fairness import jain
from bakeoff.metrics.hops import summarise_hops
from bakeoff.metrics.pantheon import Discarded, PantheonMetrics, PantheonRun
from bakeoff.metrics.percentile import nearest
from bakeoff.metrics.quantities import ms
from bakeoff.scenario import flow_name, goes_both_ways

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    from bakeoff.metrics.corrected import Interval
    from bakeoff.metrics.dynamics import FlowDynamics
    from bakeoff.metrics.hops import HopSummary
    from bakeoff.metrics.probes import ProbeSummary
    from bakeoff.metrics.queueing import Queueing
    from bakeoff.metrics.utilisation import Bottleneck
    from bakeoff.recording import RunRecording

_PERCENTILES = (("owd", 50), ("owd", 95), ("owd", 99), ("queue", 50), ("queue", 95))
# Without a time series, Jain's index compares whole-run rates; fair only if the flows ran (nearly) together.
_TOGETHER = 0.9


@dataclass(frozen=True, kw_only=True)
class FlowSummary:
    """One flow of one run. Rates in Mbit/s, delays in ms, ratios 0..1; None is what does not exist.

    Attributes:
        flow: number, from 1.
        scheme: its congestion control.
        name: what reports call that: the variant that the flow names, or the scheme with the parameters that others
            of it lack; else the same as `scheme`.
        direction: `forward` or `reverse`, the way of its data.
        start_s: when it was meant to start.
        stop_s: when it was meant to stop, or had delivered everything.
        completion_s: from its start to the acknowledgement of its last byte; None for what has no size, and if the run
            or the flow ended before.
        sent_packets: packets sent, retransmissions included.
        delivered_packets: packets that arrived.
        delivered_bytes: their bytes, IP headers included.
        throughput_mbps: received IP bytes from its start to its stop, or to the last arrival after that.
        goodput_mbps: payload to the application over the same time.
        owd_p50_ms: median one-way delay of what arrived.
        owd_p95_ms: 95th percentile of it.
        owd_p99_ms: 99th percentile of it.
        queue_p50_ms: median time in queues.
        queue_p95_ms: 95th percentile of it.
        loss: ratio of bytes lost, without those still under way at the end.
        packet_loss: the same of packets.
        together_mbps: payload to the application while all flows were meant to send; None for a flow alone, and for
            less than an interval.
        late_mbps: the same over the second half of that time.
        srtt_p50_ms: median of the smoothed round-trip times that its sender saw.
        srtt_p95_ms: 95th percentile of them.
        ce_marks: packets marked with congestion experienced.
        retransmits: packets sent again.
        timeouts: retransmission timeouts, those of requests to connect included; None if its transport does not tell.
        pantheon: Pantheon's numbers; None if Pantheon would have discarded the run.
    """

    flow: int
    scheme: str
    name: str
    direction: str
    start_s: float
    stop_s: float
    completion_s: float | None
    sent_packets: int
    delivered_packets: int
    delivered_bytes: int
    throughput_mbps: float | None
    goodput_mbps: float | None
    owd_p50_ms: float | None
    owd_p95_ms: float | None
    owd_p99_ms: float | None
    queue_p50_ms: float | None
    queue_p95_ms: float | None
    loss: float | None
    packet_loss: float | None
    together_mbps: float | None
    late_mbps: float | None
    srtt_p50_ms: float | None
    srtt_p95_ms: float | None
    ce_marks: int
    retransmits: int
    timeouts: int | None
    pantheon: PantheonMetrics | None


@dataclass(frozen=True, kw_only=True)
class TotalSummary:
    """All flows of one run together; units as in `FlowSummary`.

    Attributes:
        throughput_mbps: received IP bytes from the first start to the last stop, or arrival.
        goodput_mbps: payload over the same time.
        owd_p50_ms: median one-way delay over all packets.
        owd_p95_ms: 95th percentile of it.
        owd_p99_ms: 99th percentile of it.
        queue_p50_ms: median time in queues.
        queue_p95_ms: 95th percentile of it.
        loss: ratio of bytes lost, without those still under way at the end.
        packet_loss: the same of packets.
        jain: Jain's index of the rates while all flows were meant to send; None where flows go both ways.
        convergence_s: how long after the start of the last flow all are even; None if they never are, and where flows
            go both ways.
        spike_ms: how far round-trip times rose within 15 s of the start of the last flow.
        spike_s: for how long they were more than 10 ms up.
        utilisation: what the bottleneck carried, as a ratio of what it could have.
        capacity_mbps: capacity of the bottleneck.
        bottleneck: its name, which tells its direction where flows go both ways.
        pantheon: Pantheon's numbers; None if Pantheon would have discarded the run.
        pantheon_discarded: why it would have.
    """

    throughput_mbps: float | None
    goodput_mbps: float | None
    owd_p50_ms: float | None
    owd_p95_ms: float | None
    owd_p99_ms: float | None
    queue_p50_ms: float | None
    queue_p95_ms: float | None
    loss: float | None
    packet_loss: float | None
    jain: float | None
    convergence_s: float | None
    spike_ms: float | None
    spike_s: float | None
    utilisation: float | None
    capacity_mbps: float | None
    bottleneck: str | None
    pantheon: PantheonMetrics | None
    pantheon_discarded: str | None


@dataclass(frozen=True, kw_only=True)
class RunSummary:
    """One run. A run that failed has no numbers.

    Attributes:
        id: name of the run.
        cell: its place in the matrix.
        repeat: which repetition, from 1.
        seed: seed of its random streams.
        status: `complete`, `failed` or `invalid`.
        error: one sentence if it is not complete.
        duration_s: simulated or real seconds.
        cpu_s: processor seconds it took; None if unknown.
        flows: by number.
        total: all flows together; None if the run is not complete.
        hops: along the path.
        probes: by number.
        queueing: where queues built up, by direction that carries data.
        idle: sentences on what hops were to do and found no packet for.
        stalled: sentences on flows that have much less goodput than throughput.
    """

    id: str
    cell: dict[str, str]
    repeat: int
    seed: int
    status: str
    error: str | None
    duration_s: float
    cpu_s: float | None
    flows: tuple[FlowSummary, ...] = ()
    total: TotalSummary | None = None
    hops: tuple[HopSummary, ...] = field(default=())
    probes: tuple[ProbeSummary, ...] = ()
    queueing: tuple[Queueing, ...] = ()
    idle: tuple[str, ...] = ()
    stalled: tuple[str, ...] = ()

    @property
    def goes_both_ways(self) -> bool:
        """Whether there are flows in both directions, which share no link: no rate of them all is one of a link."""
        return len({flow.direction for flow in self.flows}) > 1


def summarise(recording: RunRecording) -> RunSummary:
    """The numbers of one run.

    Percentiles are exact if the run recorded packets and no wire made a second one of any, otherwise those of the
    recorder's histogram (within 0.1 %).

    Args:
        recording: the run; a failed one gives a summary without numbers.

    Raises:
        UserError: a table is missing or damaged.
    """
    manifest, scenario = recording.manifest, recording.scenario
    identity: dict[str, Any] = {
        "id": manifest.run,
        "cell": manifest.cell,
        "repeat": manifest.repeat,
        "seed": manifest.seed,
        "status": manifest.status,
        "error": manifest.error,
        "duration_s": scenario["duration_ns"] / 1e9,
        "cpu_s": recording.timing.cpu_s if recording.timing else None,
    }
    if not recording.complete:
        return RunSummary(**identity)
    duration_ns = int(scenario["duration_ns"])
    flows = recording.table("flows")
    hops = recording.table("hops")
    rows = {int(row["flow"]): row for row in flows.iter_rows(named=True)}
    # Of two copies of a packet the table has the first only.
    has_each_packet = recording.has("packets") and not rows[0].get("duplicated_packets")
    packets = recording.table("packets") if has_each_packet else None
    if packets is not None:
        rows = {number: row | _percentiles(packets, number) for number, row in rows.items()}
        judged = pantheon.from_packets(packets, len(rows) - 1, duration_ns)
    else:
        judged = pantheon.from_flows(flows, duration_ns)
    intervals = {n: corrected.scheduled(row, duration_ns) for n, row in rows.items() if n > 0}
    series = recording.table("series") if packets is None and recording.has("series") else None
    moved = dynamics.of_run(recording, intervals)
    shares = _shares(packets, series, rows, intervals, int(scenario["record"]["interval_ns"]))
    sharing = {
        "jain": None if shares is None or goes_both_ways(scenario) else jain(shares),
        "convergence_s": moved.convergence_s,
        "spike_ms": moved.spike_ms,
        "spike_s": moved.spike_s,
    }
    verdicts = recording.table("verdicts")
    counted = summarise_hops(hops, verdicts)
    return RunSummary(
        **identity,
        flows=tuple(_flow(rows[n], scenario, intervals[n], moved.flows[n], judged) for n in sorted(intervals)),
        total=_total(rows[0], utilisation.bottleneck(hops, verdicts, scenario), intervals, sharing, judged),
        hops=counted,
        probes=probes.summarise(recording.table("probes"), len(scenario["probes"])) if recording.has("probes") else (),
        queueing=queueing.check(hops, scenario),
        idle=idle.check(counted, scenario),
        stalled=stalls.check(rows, scenario),
    )


def _percentiles(packets: pl.DataFrame, flow: int) -> dict[str, int | None]:
    """Exact percentiles over the packets of a flow that arrived; flow 0 is all of them."""
    arrived = packets["received_ns"].is_not_null()
    chosen = packets.filter(arrived & (packets["flow"] == flow) if flow else arrived)
    samples: dict[str, NDArray[np.int64]] = {
        "owd": (chosen["received_ns"] - chosen["sent_ns"]).to_numpy(),
        "queue": chosen["queue_ns"].to_numpy(),
    }
    return {f"{kind}_p{percent}_ns": nearest(samples[kind], percent) for kind, percent in _PERCENTILES}


def _flow(
    row: Mapping[str, Any],
    scenario: Mapping[str, Any],
    interval: Interval,
    moved: FlowDynamics,
    judged: PantheonRun | Discarded,
) -> FlowSummary:
    number = int(row["flow"])
    asked = scenario["flows"][number - 1]
    return FlowSummary(
        flow=number,
        scheme=asked["scheme"],
        name=flow_name(scenario, number),
        direction=asked["direction"],
        start_s=interval.start_ns / 1e9,
        stop_s=interval.stop_ns / 1e9,
        completion_s=None if row["completed_ns"] is None else (row["completed_ns"] - row["start_ns"]) / 1e9,
        sent_packets=row["sent_packets"],
        delivered_packets=row["received_packets"],
        delivered_bytes=row["received_bytes"],
        throughput_mbps=corrected.throughput_mbps(row, interval),
        goodput_mbps=corrected.goodput_mbps(row, interval),
        owd_p50_ms=ms(row["owd_p50_ns"]),
        owd_p95_ms=ms(row["owd_p95_ns"]),
        owd_p99_ms=ms(row["owd_p99_ns"]),
        queue_p50_ms=ms(row["queue_p50_ns"]),
        queue_p95_ms=ms(row["queue_p95_ns"]),
        loss=corrected.loss(row),
        packet_loss=corrected.packet_loss(row),
        **asdict(moved),
        ce_marks=row["ce_marks"],
        retransmits=row["retransmits"],
        timeouts=row["timeouts"],
        pantheon=None if isinstance(judged, Discarded) else judged.flows[number - 1],
    )


def _total(
    row: Mapping[str, Any],
    used: Bottleneck | None,
    intervals: Mapping[int, Interval],
    sharing: Mapping[str, float | None],
    judged: PantheonRun | Discarded,
) -> TotalSummary:
    hull = corrected.hull(list(intervals.values()))
    return TotalSummary(
        throughput_mbps=corrected.throughput_mbps(row, hull),
        goodput_mbps=corrected.goodput_mbps(row, hull),
        owd_p50_ms=ms(row["owd_p50_ns"]),
        owd_p95_ms=ms(row["owd_p95_ns"]),
        owd_p99_ms=ms(row["owd_p99_ns"]),
        queue_p50_ms=ms(row["queue_p50_ns"]),
        queue_p95_ms=ms(row["queue_p95_ns"]),
        loss=corrected.loss(row),
        packet_loss=corrected.packet_loss(row),
        **sharing,
        utilisation=used.utilisation if used else None,
        capacity_mbps=used.capacity_mbps if used else None,
        bottleneck=used.hop if used else None,
        pantheon=None if isinstance(judged, Discarded) else judged.total,
        pantheon_discarded=judged.reason if isinstance(judged, Discarded) else None,
    )


def _shares(
    packets: pl.DataFrame | None,
    series: pl.DataFrame | None,
    rows: Mapping[int, Mapping[str, Any]],
    intervals: Mapping[int, Interval],
    interval_ns: int,
) -> Sequence[float] | None:
    """Bytes (or a rate) of each flow while all were meant to send; None if never, or if not known."""
    together = corrected.common(list(intervals.values()))
    if len(intervals) < 2 or not together.length_ns:
        return None
    if packets is not None:
        inside = packets.filter(packets["received_ns"].is_between(together.start_ns, together.stop_ns, closed="left"))
        return [float(inside.filter(inside["flow"] == flow)["size_bytes"].sum()) for flow in sorted(intervals)]
    if series is not None:
        return [_within(together, series, flow, intervals[flow], interval_ns) for flow in sorted(intervals)]
    if together.length_ns < _TOGETHER * max(interval.length_ns for interval in intervals.values()):
        return None
    return [corrected.throughput_mbps(rows[n], intervals[n]) or 0.0 for n in sorted(intervals)]


def _within(stretch: Interval, series: pl.DataFrame, flow: int, scheduled: Interval, interval_ns: int) -> float:
    """Bytes that a flow received in a stretch; those of a bin are spread over the time in it that the flow had."""
    rows = series.filter(series["flow"] == flow)
    times = rows["t_ns"].to_numpy().astype("int64")
    begins = times.clip(scheduled.start_ns, scheduled.stop_ns)
    ends = (times + interval_ns).clip(scheduled.start_ns, scheduled.stop_ns)
    inside = ends.clip(max=stretch.stop_ns) - begins.clip(min=stretch.start_ns)
    shares = inside.clip(min=0) / (ends - begins).clip(min=1)
    return float(rows["received_bytes"].to_numpy() @ shares)

"""What congestion did to each flow, packet by packet: marks and their echoes, round trips, retransmissions, gaps.

Source: the statistics of scetrace (heistp/scetrace at 12a8e57), which reads captures; ours are of what the two
ends sent and got, so that no packet between is missed.
Deviations: round trips are those of data sent once, from the sending to the arrival of the first ack that covers
it. Late segments by time stamp and lost bytes are left out: a recording says what was lost.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from bakeoff.metrics.percentile import nearest_of
from bakeoff.metrics.quantities import NS_PER_MS, mbps

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from bakeoff.recording import RunRecording

_SYN, _CWR, _ECE, _ESCE = 1 << 1, 1 << 7, 1 << 6, 1 << 8
# What asks for accurate ECN has in the place of ESCE (RFC 9768, section 3.1).
_AE = _ESCE
# Logs of real packets keep the beginning of their headers, without SACK blocks.
_WITH_BLOCKS = "sim"
_ECT1, _ECT0, _CE = 1, 2, 3
_COLUMNS = (
    "number", "sent_ns", "out_ns", "ecn_in", "ecn_out", "fate", "retransmit", "flags", "sequence_bytes",
    "payload_bytes", "acknowledged_bytes", "sack_1_start_bytes",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Distribution:
    """Some values; None is what they are too few for.

    Attributes:
        n: how many.
        min: the smallest.
        p50: median, nearest rank, as the other percentiles.
        p95: 95th percentile.
        p99: 99th percentile.
        max: the largest.
        mean: mean.
        stddev: standard deviation.
        burstiness: variance over mean.
    """

    n: int
    min: float | None
    p50: float | None
    p95: float | None
    p99: float | None
    max: float | None
    mean: float | None
    stddev: float | None
    burstiness: float | None


@dataclass(frozen=True, kw_only=True)
class FlowCongestion:
    """One flow. Packets are counted where they arrive, if nothing else is said; times in ms, ratios 0..1.

    Attributes:
        flow: number, from 1.
        scheme: its congestion control.
        segments: packets of the sender, at the receiver.
        data_segments: those with data.
        retransmitted_segments: data sent again.
        retransmitted_ratio: of the data segments that were sent.
        ce: data segments with CE.
        sce: data segments that a queue turned from ECT(0) to ECT(1).
        sce_ratio: of the data segments.
        cwr: segments that say that the window was reduced; None with accurate ECN, where the flag counts marks.
        acks: acks, at the sender.
        ack_ratio: acks per data segment.
        duplicate_acks: acks that acknowledge nothing new and carry SACK blocks; None if the world records none.
        sack_acks: acks with SACK blocks; None as before.
        ece: acks that echo CE; None with accurate ECN, as `cwr`.
        esce: acks that echo SCE; None unless the flow does so.
        acked_bytes: bytes acknowledged.
        esce_acked_ratio: of these, what acks with ESCE acknowledged.
        goodput_mbps: acknowledged bytes from the first ack to the last.
        rtt_ms: round trips.
        gap_ms: between one arrival at the receiver and the next.
        sce_gap_ms: between one SCE-marked arrival and the next.
        sce_run_length: SCE-marked segments in a row.
    """

    flow: int
    scheme: str
    segments: int
    data_segments: int
    retransmitted_segments: int
    retransmitted_ratio: float | None
    ce: int
    sce: int
    sce_ratio: float | None
    cwr: int | None
    acks: int
    ack_ratio: float | None
    duplicate_acks: int | None
    sack_acks: int | None
    ece: int | None
    esce: int | None
    acked_bytes: int
    esce_acked_ratio: float | None
    goodput_mbps: float | None
    rtt_ms: Distribution
    gap_ms: Distribution
    sce_gap_ms: Distribution
    sce_run_length: Distribution


def of_run(recording: RunRecording) -> list[FlowCongestion]:
    """The flows of a run whose transport has headers as TCP has.

    Args:
        recording: a complete run that recorded packets.

    Raises:
        UserError: its table is damaged.
    """
    table = recording.scan("passages")
    flows = enumerate(recording.scenario["flows"], 1)
    found = [_flow(table, number, config, recording.scenario) for number, config in flows]
    known = [one for one in found if one is not None]
    if recording.manifest.world == _WITH_BLOCKS:
        return known
    return [replace(one, duplicate_acks=None, sack_acks=None) for one in known]


def _flow(
    table: pl.LazyFrame, number: int, config: Mapping[str, Any], scenario: Mapping[str, Any]
) -> FlowCongestion | None:
    direction = config["direction"]
    back = "reverse" if direction == "forward" else "forward"
    first = f"flow{number}.data" if config["extra_delay_ns"] else f"{direction}.0"
    last = f"flow{number}.ack" if config["extra_delay_ns"] else f"{back}.{len(scenario[back]) - 1}"
    sent = _packets(table, number, "data", first)
    if sent["flags"].is_null().all():
        return None
    came = _arrived(_packets(table, number, "data", f"{direction}.{len(scenario[direction]) - 1}"))
    acks = _arrived(_packets(table, number, "acks", last)).filter(~_has(_SYN))
    # The last request for a connection that was sent; earlier ones may have asked for what none has answered.
    is_accurate = bool(sent.filter(_has(_SYN)).tail(1).select(_has(_AE)).to_series().any())
    data, sent_data = came.filter(pl.col("payload_bytes") > 0), sent.filter(pl.col("payload_bytes") > 0)
    # What was ECT(0) when it was sent, and is ECT(1) now.
    was = dict(zip(sent_data["number"].to_list(), sent_data["ecn_in"].to_list(), strict=True))
    marked = np.array(
        [ecn == _ECT1 and was.get(n) == _ECT0 for n, ecn in data.select("number", "ecn_out").iter_rows()], dtype=bool
    )
    return FlowCongestion(
        flow=number,
        scheme=config["scheme"],
        segments=came.height,
        data_segments=data.height,
        retransmitted_segments=int(sent_data["retransmit"].sum()),
        retransmitted_ratio=_ratio(int(sent_data["retransmit"].sum()), sent_data.height),
        ce=int((data["ecn_out"] == _CE).sum()),
        sce=int(marked.sum()),
        sce_ratio=_ratio(int(marked.sum()), data.height),
        cwr=None if is_accurate else _count(came.filter(~_has(_SYN)), _CWR),
        ack_ratio=_ratio(acks.height, data.height),
        gap_ms=distribution(np.diff(came["out_ns"].to_numpy()) / NS_PER_MS),
        sce_gap_ms=distribution(np.diff(data["out_ns"].to_numpy()[marked]) / NS_PER_MS),
        sce_run_length=distribution(_runs(marked)),
        rtt_ms=distribution(_round_trips(sent_data, acks)),
        ece=None if is_accurate else _count(acks, _ECE),
        **_of_acks(acks, echoes_sce=_echoes_sce(config)),
    )


def _packets(table: pl.LazyFrame, flow: int, direction: str, hop: str) -> pl.DataFrame:
    chosen = (pl.col("hop") == hop) & (pl.col("flow") == flow) & (pl.col("direction") == direction)
    return table.filter(chosen).select(_COLUMNS).collect()


def _arrived(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.filter(pl.col("fate") == "passed").sort("out_ns", "number")


def _echoes_sce(flow: Mapping[str, Any]) -> bool:
    """Whether a flow says so, or says nothing and has a scheme that does."""
    return bool(flow.get("ecn", "sce" if flow["scheme"].endswith("_sce") else None) == "sce")


def _of_acks(acks: pl.DataFrame, *, echoes_sce: bool) -> dict[str, Any]:
    """The part of a flow that its acks tell."""
    positions = acks["acknowledged_bytes"].fill_null(0).to_numpy()
    highest = np.maximum.accumulate(positions) if positions.size else positions
    news = np.diff(highest, prepend=0)
    has_sack = acks["sack_1_start_bytes"].is_not_null().to_numpy()
    echoes = (acks["flags"].to_numpy() & _ESCE) != 0
    acked = int(highest[-1]) if highest.size else 0
    times = acks["out_ns"].to_numpy()
    return {
        "acks": acks.height,
        "duplicate_acks": int(((news == 0) & has_sack).sum()),
        "sack_acks": int(has_sack.sum()),
        "esce": int(echoes.sum()) if echoes_sce else None,
        "acked_bytes": acked,
        "esce_acked_ratio": _ratio(int(news[echoes].sum()), acked) if echoes_sce else None,
        "goodput_mbps": mbps(acked, int(times[-1] - times[0])) if times.size > 1 else None,
    }


def _round_trips(sent: pl.DataFrame, acks: pl.DataFrame) -> NDArray[np.float64]:
    """Times in ms from data that was sent once to the first ack that covers it."""
    again = sent.filter(pl.col("retransmit"))["sequence_bytes"].unique()
    once = sent.filter(~pl.col("sequence_bytes").is_in(again.implode()))
    if once.is_empty() or acks.is_empty():
        return np.empty(0)
    highest = np.maximum.accumulate(acks["acknowledged_bytes"].fill_null(0).to_numpy())
    ends = (once["sequence_bytes"] + once["payload_bytes"]).to_numpy()
    covering = np.searchsorted(highest, ends)
    is_covered = covering < highest.size
    arrived = acks["out_ns"].to_numpy()[covering[is_covered]]
    times: NDArray[np.float64] = (arrived - once["sent_ns"].to_numpy()[is_covered]) / NS_PER_MS
    return times


def _runs(marked: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Lengths of the runs of true values."""
    edges = np.flatnonzero(np.diff(np.concatenate(([False], marked, [False])).astype(np.int8)))
    return edges[1::2] - edges[::2]


def _has(flag: int) -> pl.Expr:
    return (pl.col("flags").fill_null(0) & flag) != 0


def _count(rows: pl.DataFrame, flag: int) -> int:
    return rows.filter(_has(flag)).height


def _ratio(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def distribution(values: NDArray[Any]) -> Distribution:
    """What is known of some values."""
    if not values.size:
        return Distribution(n=0, **dict.fromkeys(("min", "p50", "p95", "p99", "max", "mean", "stddev", "burstiness")))
    mean, variance = float(values.mean()), float(values.var())
    p50, p95, p99 = (nearest_of(values, percent) for percent in (50, 95, 99))
    return Distribution(
        n=int(values.size),
        min=float(values.min()),
        p50=p50,
        p95=p95,
        p99=p99,
        max=float(values.max()),
        mean=mean,
        stddev=math.sqrt(variance),
        burstiness=variance / mean if mean else None,
    )

"""Summaries: corrected metrics, the JSON contract, and that lower levels agree with packets."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from bakeoff.metrics import (
    DEFINITIONS,
    FlowSummary,
    HopSummary,
    ProbeSummary,
    RunSummary,
    TotalSummary,
    probes,
    summarise,
    to_json,
)
from bakeoff.metrics.corrected import Interval, common, hull, loss, packet_loss, scheduled
from bakeoff.metrics.pantheon import PantheonMetrics
from bakeoff.metrics.utilisation import Bottleneck, bottleneck
from bakeoff.recording import ResultFolder

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SECOND = 1_000_000_000


def test_scheduled_intervals() -> None:
    row = {"start_ns": 10, "stop_ns": 90, "completed_ns": None}
    assert scheduled(row, 50) == Interval(10, 50)
    assert scheduled(row | {"completed_ns": 30}, 50) == Interval(10, 30)
    assert scheduled(row | {"start_ns": 70}, 50).length_ns == 0
    assert hull([Interval(10, 50), Interval(0, 20)]) == Interval(0, 50)
    assert common([Interval(10, 50), Interval(0, 20)]) == Interval(10, 20)


def test_loss_leaves_out_the_tail() -> None:
    assert loss({"sent_bytes": 1000, "received_bytes": 800, "inside_bytes": 100}) == pytest.approx(1 / 9)
    assert loss({"sent_bytes": 900, "duplicated_bytes": 200, "received_bytes": 800, "inside_bytes": 100}) == (
        pytest.approx(0.2)
    )
    assert loss({"sent_bytes": 100, "received_bytes": 0, "inside_bytes": 100}) is None
    assert packet_loss({"sent_packets": 11, "received_packets": 8, "inside_packets": 1}) == pytest.approx(0.2)
    assert packet_loss({"sent_packets": 9, "duplicated_packets": 2, "received_packets": 8, "inside_packets": 1}) == (
        pytest.approx(0.2)
    )
    assert packet_loss({"sent_packets": 2, "received_packets": 1, "inside_packets": 1}) == 0
    assert packet_loss({"sent_packets": 1, "received_packets": 0, "inside_packets": 1}) is None


def test_a_summary_follows_from_its_counters(filled: Callable[..., ResultFolder], plan_of: Callable[..., Any]) -> None:
    summary = summarise(filled(plan_of(("cubic",), 1)).recordings()[0])
    flow = summary.flows[1]
    assert (flow.flow, flow.start_s, flow.stop_s) == (2, 10.0, 30.0)
    assert flow.throughput_mbps == pytest.approx(flow.delivered_packets * 1500 * 8 / 20e6)
    assert flow.goodput_mbps == pytest.approx(flow.delivered_packets * 1448 * 8 / 20e6)
    assert summary.total is not None
    assert summary.total.capacity_mbps == pytest.approx(2.1)
    assert summary.total.bottleneck == "forward.0"
    carried = summary.hops[0].out_packets + summary.hops[0].dropped["loss"]
    assert summary.total.utilisation == pytest.approx(carried * 1500 / 7_875_000)
    assert summary.hops[0].in_packets == (
        summary.hops[0].out_packets + sum(summary.hops[0].dropped.values()) + summary.hops[0].inside_packets
    )


def test_levels_agree(tmp_path: Path, plan_of: Callable[..., Any], tables_of: Callable[..., Any]) -> None:
    found = {}
    for level in ("packets", "series", "summary"):
        plan = plan_of(("cubic",), 1, level=level)
        folder = ResultFolder.create(tmp_path / level, plan)
        folder.write_run(plan.runs[0], tables_of(plan.runs[0].scenario, 1))
        found[level] = summarise(folder.recordings()[0])
    assert found["packets"].flows == found["series"].flows
    over_time: Any = {"together_mbps": None, "late_mbps": None, "srtt_p50_ms": None, "srtt_p95_ms": None}
    assert found["summary"].flows == tuple(replace(flow, **over_time) for flow in found["series"].flows)
    exact, binned, counted = (found[level].total for level in ("packets", "series", "summary"))
    assert exact is not None
    assert exact == binned
    # Flows that start 10 s apart cannot be compared by their whole-run rates.
    assert counted == replace(exact, jain=None, convergence_s=None, spike_ms=None, spike_s=None)


def test_a_starved_flow_counts_as_zero(
    tmp_path: Path, plan_of: Callable[..., Any], tables_of: Callable[..., Any]
) -> None:
    plan = plan_of(("cubic",), 1)
    run = plan.runs[0]
    tables = tables_of(run.scenario, 1)
    gone = pl.col("flow") == 3
    tables["packets"] = tables["packets"].with_columns(
        pl.when(gone).then(-1).otherwise("received_ns").alias("received_ns"),
        pl.when(gone).then(pl.lit("dropped")).otherwise("fate").alias("fate"),
    )
    starved = {"received_packets": 0, "received_bytes": 0, "goodput_bytes": 0, "inside_bytes": 0, "inside_packets": 0}
    times = {"first_received_ns": -1, "last_received_ns": -1}
    tables["flows"] = tables["flows"].with_columns(
        pl.when(gone).then(value).otherwise(name).alias(name) for name, value in (starved | times).items()
    )
    folder = ResultFolder.create(tmp_path / "r", plan)
    folder.write_run(run, tables)
    summary = summarise(folder.recordings()[0])
    flow = summary.flows[2]
    assert (flow.throughput_mbps, flow.goodput_mbps, flow.loss) == (0, 0, 1)
    assert (flow.owd_p95_ms, flow.queue_p95_ms, flow.pantheon) == (None, None, None)
    assert summary.total is not None
    assert summary.total.pantheon is None
    assert summary.total.pantheon_discarded == "nothing of flow 3 arrived"
    assert summary.total.jain is not None
    assert summary.total.jain < 0.7


def test_the_bottleneck_is_on_the_way_of_the_data() -> None:
    hops = pl.DataFrame(
        {
            "hop": ["forward.0", "forward.1", "reverse.0", "flow1.forward"],
            "capacity_bytes": [2000, 1000, 500, None],
            "out_bytes": [700, 600, 500, 700],
        }
    )
    scenario = {"duration_ns": SECOND, "flows": [{"direction": "forward"}]}
    verdicts = pl.DataFrame(
        [
            ("forward.1", "drop", "overlimit", 90),
            ("forward.1", "drop", "loss", 30),
            ("forward.1", "drop", "replay", 40),
            ("forward.1", "duplicate", "duplicate", 20),
            ("forward.0", "drop", "loss", 90),
        ],
        schema=["hop", "verdict", "reason", "bytes"],
        orient="row",
    )
    found = bottleneck(hops, verdicts.clear(), scenario)
    assert found is not None
    assert (found.hop, found.utilisation) == ("forward.1", 0.6)
    # The link has carried what is lost behind it, and not the second copies.
    found = bottleneck(hops, verdicts, scenario)
    assert found is not None
    assert found.utilisation == 0.65
    assert found.capacity_mbps == pytest.approx(0.008)
    # What a policer drops no link could have carried.
    slow, fast = ({"policer": {"rate_bps": bps, "burst_bytes": 9000}} for bps in (6000, 9000))
    assert bottleneck(hops, verdicts.clear(), {**scenario, "forward": [slow, {}]}) == Bottleneck(
        "forward.0", 0.006, 700 / 750
    )
    assert bottleneck(hops, verdicts.clear(), {**scenario, "forward": [{}, fast]}) == Bottleneck(
        "forward.1", 0.008, 0.6
    )
    unlimited = hops.with_columns(capacity_bytes=pl.lit(None, pl.Int64))
    assert bottleneck(unlimited, verdicts.clear(), {**scenario, "forward": [{}, fast]}) == Bottleneck(
        "forward.1", 0.009, 600 / 1125
    )
    backward = {**scenario, "flows": [{"direction": "reverse"}]}
    assert bottleneck(hops, verdicts, backward) == Bottleneck("reverse.0", 0.004, 1.0)
    assert bottleneck(hops.filter(pl.col("capacity_bytes").is_null()), verdicts, scenario) is None


def test_a_link_that_is_down_for_the_whole_run_is_the_bottleneck() -> None:
    hops = pl.DataFrame({"hop": ["forward.0", "forward.1"], "capacity_bytes": [1000, 0], "out_bytes": [700, 0]})
    verdicts = pl.DataFrame(schema={"hop": pl.String, "verdict": pl.String, "reason": pl.String, "bytes": pl.Int64})
    scenario = {"duration_ns": SECOND, "flows": [{"direction": "forward"}]}
    assert bottleneck(hops, verdicts, scenario) == Bottleneck("forward.1", 0.0, None)


def test_second_copies_count_at_every_level(
    tmp_path: Path, plan_of: Callable[..., Any], tables_of: Callable[..., Any]
) -> None:
    found = {}
    for level in ("packets", "series"):
        run = (plan := plan_of(("cubic",), 1, level=level)).runs[0]
        tables = tables_of(run.scenario, 1)
        # The table of packets has the first copy of each only; the counters have both.
        more = (pl.col("received_bytes") + pl.col("received_bytes") // 10).alias("received_bytes")
        tables["flows"] = tables["flows"].with_columns(more, duplicated_packets=pl.lit(1))
        folder = ResultFolder.create(tmp_path / level, plan)
        folder.write_run(run, tables)
        summary = summarise(folder.recordings()[0])
        assert summary.total is not None
        found[level] = summary.total.pantheon
    assert found["packets"] == found["series"]
    assert found["series"] is not None
    assert found["series"].loss < 0


def test_the_contract(india: ResultFolder) -> None:
    runs = [summarise(recording) for recording in india.recordings()]
    value = json.loads(json.dumps(to_json("pantheon/india-ppp0", "sim", runs), allow_nan=False))
    assert list(value) == ["bakeoff", "experiment", "world", "runs"]
    run = value["runs"][0]
    assert set(run) >= {
        "id",
        "cell",
        "repeat",
        "seed",
        "status",
        "error",
        "duration_s",
        "cpu_s",
        "flows",
        "total",
        "hops",
        "probes",
        "queueing",
        "idle",
        "stalled",
    }
    assert run["probes"] == []
    assert set(run["flows"][0]) >= {
        "flow", "scheme", "start_s", "stop_s", "sent_packets", "delivered_packets", "throughput_mbps", "goodput_mbps",
        "owd_p50_ms", "owd_p95_ms", "owd_p99_ms", "queue_p95_ms", "loss", "ce_marks", "retransmits", "pantheon",
    }  # fmt: skip
    assert set(run["flows"][0]["pantheon"]) == {"throughput_mbps", "owd_p95_ms", "loss"}
    assert set(run["total"]) >= {"throughput_mbps", "owd_p95_ms", "loss", "jain", "utilisation", "pantheon"}
    assert set(run["hops"][0]) == {
        "hop", "in_packets", "out_packets", "dropped", "marked", "duplicated", "inside_packets", "queue_p50_ms",
            "queue_p95_ms",
    }  # fmt: skip
    assert run["hops"][1]["queue_p95_ms"] is None


def test_a_probe_counts_what_was_answered() -> None:
    millions = [10, 20, 30, None, None]
    table = pl.DataFrame(
        {
            "probe": [1] * 5,
            "rtt_ns": [None if value is None else value * 1_000_000 for value in millions],
            "fate": ["received"] * 3 + ["dropped", "inside"],
        }
    )
    answered, silent = probes.summarise(table, 2)
    assert answered == ProbeSummary(
        probe=1, sent_packets=5, lost_packets=1, rtt_p50_ms=20, rtt_p95_ms=30, rtt_p99_ms=30, rtt_max_ms=30
    )
    assert silent == ProbeSummary(
        probe=2, sent_packets=0, lost_packets=0, rtt_p50_ms=None, rtt_p95_ms=None, rtt_p99_ms=None, rtt_max_ms=None
    )


def test_every_number_is_defined() -> None:
    defined = {name for entry in DEFINITIONS for name in entry.name.split(", ")}
    described = {
        "flow",
        "scheme",
        "name",
        "direction",
        "hop",
        "start_s",
        "stop_s",
        "bottleneck",
        "pantheon",
        "pantheon_discarded",
    }
    described |= {
        "id",
        "cell",
        "repeat",
        "seed",
        "status",
        "error",
        "flows",
        "total",
        "hops",
        "probe",
        "probes",
        "queueing",
        "idle",
        "stalled",
    }
    for kind in (FlowSummary, TotalSummary, HopSummary, ProbeSummary, RunSummary):
        for entry in fields(kind):
            assert entry.name in defined | described, entry.name
    for entry in fields(PantheonMetrics):
        assert f"pantheon.{entry.name}" in defined

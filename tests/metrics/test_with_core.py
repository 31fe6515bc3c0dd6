"""Summaries of runs that the simulator made: levels agree, and the parts add up."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
import pytest

from bakeoff.experiment import expand, load
from bakeoff.metrics import RunSummary, summarise
from bakeoff.metrics.fairness import jain
from bakeoff.metrics.quantities import NS_PER_S
from bakeoff.recording import ResultFolder, RunRecording
from bakeoff.worlds import sim

if TYPE_CHECKING:
    from pathlib import Path

TOLERANCE = 0.001
"""Relative error of the recorder's histogram."""


def recorded(suite: str, level: str, folder: Path, *changes: str) -> RunRecording:
    plan = expand(load(suite, ["repeats=1", f"record.level={level}", *changes]))
    results = ResultFolder.create(folder / level, plan)
    results.write_run(plan.runs[0], sim.execute(plan.runs[0]).tables)
    return results.recordings()[0]


def run_at(level: str, folder: Path) -> RunSummary:
    # An even link, so that delays are arithmetic.
    changes = ("matrix.scheme=reno", "path.forward.0.rate=1.9Mbit/s")
    return summarise(recorded("pantheon/india-ppp0", level, folder, *changes))


def test_levels_agree(tmp_path: Path) -> None:
    exact = run_at("packets", tmp_path)
    for level in ("series", "summary"):
        counted = run_at(level, tmp_path)
        for one, other in zip(exact.flows, counted.flows, strict=True):
            assert (one.sent_packets, one.delivered_packets, one.loss) == (
                other.sent_packets,
                other.delivered_packets,
                other.loss,
            )
            assert (one.throughput_mbps, one.goodput_mbps) == (other.throughput_mbps, other.goodput_mbps)
            for name in ("owd_p50_ms", "owd_p95_ms", "owd_p99_ms", "queue_p50_ms", "queue_p95_ms"):
                assert getattr(other, name) == pytest.approx(getattr(one, name), rel=TOLERANCE), name
            assert one.pantheon is not None
            assert other.pantheon is not None
            assert one.pantheon.throughput_mbps == other.pantheon.throughput_mbps
            assert one.pantheon.loss == other.pantheon.loss
        assert exact.hops == counted.hops


def test_a_lone_bottleneck_explains_all_delay_and_loss(tmp_path: Path) -> None:
    summary = run_at("packets", tmp_path)
    hop = next(hop for hop in summary.hops if hop.hop == "forward.0")
    assert hop.in_packets == hop.out_packets + sum(hop.dropped.values()) + hop.inside_packets
    assert hop.in_packets == sum(flow.sent_packets for flow in summary.flows)
    assert summary.total is not None
    assert summary.total.utilisation is not None
    assert 0.9 < summary.total.utilisation <= 1
    assert summary.total.jain is not None
    for flow in summary.flows:
        assert flow.owd_p95_ms is not None
        assert flow.queue_p95_ms is not None
        # 60 ms of propagation and 6.3 ms to put a packet on the wire.
        assert flow.owd_p95_ms - flow.queue_p95_ms == pytest.approx(66.3, abs=0.5)


def test_a_link_has_carried_what_is_on_the_wire_when_the_run_ends(tmp_path: Path) -> None:
    # 0.2 s of 3 s are on the wire.
    changes = ("duration=3s", "path.forward.0.rate=10Mbit/s", "path.forward.0.delay=200ms")
    recording = recorded("dumbbell/one-cubic", "packets", tmp_path, *changes)
    rows = recording.table("passages").filter((pl.col("hop") == "forward.0") & (pl.col("reason") != "overlimit"))
    free, carried = 0, 0
    for entered, size in rows.sort("in_ns").select("in_ns", "size_bytes").iter_rows():
        begins = max(entered, free)
        free = begins + size * 800
        carried += size if begins < 3 * NS_PER_S else 0
    total = summarise(recording).total
    assert total is not None
    assert total.utilisation == pytest.approx(carried * 800 / (3 * NS_PER_S), abs=1e-9)


@pytest.mark.parametrize(("interval", "size"), [("100ms", "100kB"), ("500ms", "2MB"), ("1s", "300kB")])
def test_flows_are_compared_over_the_time_that_all_have(tmp_path: Path, interval: str, size: str) -> None:
    # The transfer begins and ends within intervals.
    changes = ("matrix.scheme=cubic", "flow.2.count=1", f"flow.2.traffic.size={size}", "duration=16s")
    exact, binned = (
        summarise(recorded("dumbbell/short-transfers", level, tmp_path, f"record.interval={interval}", *changes)).total
        for level in ("packets", "series")
    )
    assert exact is not None
    assert binned is not None
    assert binned.jain == pytest.approx(exact.jain, abs=0.006)


def test_no_flow_is_faster_than_its_link(tmp_path: Path) -> None:
    # A third of what arrives comes when they have stopped.
    changes = ("duration=8s", "path.forward.0.rate=1Mbit/s", "path.forward.0.queue.limit=infinite", "flow.*.stop=1s")
    for level in ("packets", "series", "summary"):
        summary = summarise(recorded("dumbbell/rtt-fairness", level, tmp_path, "matrix.scheme=cubic", *changes))
        assert summary.total is not None
        assert summary.total.throughput_mbps is not None
        assert 0.7 < summary.total.throughput_mbps < 1
        assert all(flow.stop_s == 1 for flow in summary.flows)


def test_without_a_series_rates_are_compared_as_they_are_told(tmp_path: Path) -> None:
    # Much of what the flow sent arrives after its stop.
    changes = ("duration=10s", "path.forward.0.rate=1Mbit/s", "path.forward.0.queue.limit=infinite", "flow.1.stop=9.1s")
    summary = summarise(recorded("dumbbell/rtt-fairness", "summary", tmp_path, "matrix.scheme=cubic", *changes))
    assert summary.total is not None
    assert len(summary.flows) == 2
    assert summary.total.jain == jain([flow.throughput_mbps or 0.0 for flow in summary.flows])


def test_what_happened_in_a_queue_is_known_of_packets_that_did_not_get_out(tmp_path: Path) -> None:
    queue = 'path.forward.0.queue={kind="fq_codel",ce_threshold="1ms"}'
    changes = ("path.forward.0.rate=10Mbit/s", queue, "path.forward.0.loss=0.02", "flow.1.ecn=classic", "duration=20s")
    recording = recorded("dumbbell/one-cubic", "packets", tmp_path, *changes)
    rows = recording.table("passages").filter(pl.col("hop") == "forward.0")
    marked = dict(rows.filter(pl.col("mark") != "")["mark"].value_counts().iter_rows())
    (hop,) = (hop for hop in summarise(recording).hops if hop.hop == "forward.0")
    assert marked == hop.marked
    for fate in ("dropped", "inside"):
        lost = rows.filter((pl.col("fate") == fate) & (pl.col("mark") != ""))
        assert lost.height > 0
        assert (lost["queue_ns"] > 1_000_000).all()

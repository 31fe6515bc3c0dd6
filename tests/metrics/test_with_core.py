"""Summaries of runs that the simulator made: levels agree, and the parts add up."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bakeoff.experiment import expand, load
from bakeoff.metrics import RunSummary, summarise
from bakeoff.recording import ResultFolder
from bakeoff.worlds import sim

if TYPE_CHECKING:
    from pathlib import Path

TOLERANCE = 0.001
"""Relative error of the recorder's histogram."""


def run_at(level: str, folder: Path) -> RunSummary:
    # An even link, so that delays are arithmetic.
    changes = ["matrix.scheme=reno", "repeats=1", "path.forward.0.rate=1.9Mbit/s", f"record.level={level}"]
    plan = expand(load("pantheon/india-ppp0", changes))
    results = ResultFolder.create(folder / level, plan)
    results.write_run(plan.runs[0], sim.execute(plan.runs[0]).tables)
    return summarise(results.recordings()[0])


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

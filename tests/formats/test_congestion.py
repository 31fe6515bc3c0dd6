"""Statistics of congestion equal what the other tables and a count by hand say."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest

from bakeoff.errors import UserError
from bakeoff.formats import congestion as written
from bakeoff.metrics import congestion, summarise

if TYPE_CHECKING:
    from pathlib import Path

    from bakeoff.recording import ResultFolder


def test_counts_are_those_of_the_other_tables(office: ResultFolder) -> None:
    recording = office.recordings()[0]
    flows, summary = congestion.of_run(recording), summarise(recording)
    assert [flow.flow for flow in flows] == [1, 2]
    for ours, other in zip(flows, summary.flows, strict=True):
        assert ours.segments == other.delivered_packets
        assert ours.ce == other.ce_marks
        assert ours.retransmitted_segments == other.retransmits
        assert other.goodput_mbps is not None
        assert ours.goodput_mbps == pytest.approx(other.goodput_mbps, rel=0.02)
    marked, lossy = flows
    assert marked.cwr is not None
    assert marked.ece is not None
    assert 0 < marked.cwr <= marked.ce <= marked.ece
    assert lossy.retransmitted_segments > 10
    assert lossy.sack_acks is not None
    assert lossy.duplicate_acks is not None
    assert lossy.sack_acks >= lossy.duplicate_acks > 0
    assert marked.esce is None, "it does not echo SCE"


def test_what_counts_marks_is_no_echo(counted: ResultFolder) -> None:
    (flow,) = congestion.of_run(counted.recordings()[0])
    assert flow.ce > 100
    assert (flow.ece, flow.cwr) == (None, None), "with accurate ECN these flags are a counter"


def test_statistics_of_real_packets_are_those_of_the_other_tables(of_kernel: ResultFolder) -> None:
    recording = of_kernel.recordings()[0]
    flows, summary = congestion.of_run(recording), summarise(recording)
    assert [flow.ce for flow in flows] == [flow.ce_marks for flow in summary.flows]
    assert [flow.retransmitted_segments for flow in flows] == [flow.retransmits for flow in summary.flows]
    marked, counted, ours = flows
    for flow in (marked, ours):
        assert flow.cwr is not None
        assert flow.ece is not None
        assert 0 < flow.cwr <= flow.ce <= flow.ece
    assert (counted.cwr, counted.ece) == (None, None)
    assert {flow.sack_acks for flow in flows} == {None}, "real packets' blocks are not recorded"


def test_round_trips_are_those_of_the_path(office: ResultFolder) -> None:
    recording = office.recordings()[0]
    for flow in congestion.of_run(recording):
        assert flow.rtt_ms.min is not None
        # 20 ms each way and 2.4 ms for a packet at 5 Mbit/s.
        assert flow.rtt_ms.min == pytest.approx(42.4, abs=0.001)
    srtt = recording.table("telemetry").filter((pl.col("flow") == 1) & (pl.col("name") == "srtt"))
    assert congestion.of_run(recording)[0].rtt_ms.p50 == pytest.approx(srtt["value"].median(), rel=0.15)


def test_runs_and_distributions_by_hand() -> None:
    marks = np.array([True, False, True, True, True, False, True])
    assert congestion._runs(marks).tolist() == [1, 3, 1]
    assert congestion._runs(np.zeros(3, dtype=bool)).tolist() == []
    found = congestion.distribution(np.array([1.0, 2.0, 3.0, 6.0]))
    assert (found.n, found.min, found.max, found.mean) == (4, 1, 6, 3)
    assert found.stddev == pytest.approx(3.5**0.5)
    assert found.burstiness == pytest.approx(3.5 / 3)
    assert congestion.distribution(np.empty(0)).mean is None


def test_the_file_holds_them(office: ResultFolder, tmp_path: Path) -> None:
    (path,) = written.write(office.recordings()[0], "office", tmp_path)
    value = json.loads(path.read_bytes())
    assert [flow["scheme"] for flow in value["flows"]] == ["cubic", "bbr"]
    assert value["flows"][0]["rtt_ms"]["n"] > 1000


def test_what_nobody_can_read_is_refused(encrypted: ResultFolder, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="run1: no flow has headers that can be read") as caught:
        list(written.write(encrypted.recordings()[0], "office", tmp_path))
    assert "export it as pcapng or flent" in str(caught.value)

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

ESCE = 1 << 8


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


def test_what_sce_does_to_a_flow_is_counted_by_hand(far: ResultFolder) -> None:
    recording = far.recordings()[0]
    marked, other = congestion.of_run(recording)
    passages = recording.table("passages")
    own = passages.filter(pl.col("flow") == 1)
    data = own.filter((pl.col("hop") == "forward.0") & (pl.col("payload_bytes") > 0))
    came = data.filter(pl.col("fate") == "passed")
    changed = came.filter((pl.col("ecn_in") == 2) & (pl.col("ecn_out") == 1))
    assert (marked.sce, marked.data_segments) == (changed.height, came.height)
    assert marked.sce > 50
    assert (other.sce, other.esce) == (0, None), "what is ECT(1) from the beginning is no mark"
    # Acks have to pass the delay of the flow, too.
    acks = own.filter((pl.col("hop") == "flow1.ack") & (pl.col("fate") == "passed") & (pl.col("flags") & 2 == 0))
    acks = acks.sort("out_ns", "number")
    highest = echoed = repeated = 0
    arrivals: dict[int, int] = {}
    for position, flags, sack, time in acks.select(
        "acknowledged_bytes", "flags", "sack_1_start_bytes", "out_ns"
    ).iter_rows():
        news = max(0, (position or 0) - highest)
        highest += news
        echoed += news if flags & ESCE else 0
        repeated += news == 0 and sack is not None
        arrivals.setdefault(highest, time)
    assert (marked.acks, marked.duplicate_acks, marked.acked_bytes) == (acks.height, repeated, highest)
    assert marked.esce == acks.filter(pl.col("flags") & ESCE != 0).height
    assert marked.esce_acked_ratio == pytest.approx(echoed / highest)
    assert marked.ack_ratio == pytest.approx(acks.height / came.height)
    # A round trip is that of data sent once, to the first ack that covers it.
    sent = own.filter((pl.col("hop") == "flow1.data") & (pl.col("payload_bytes") > 0))
    again = set(sent.filter(pl.col("retransmit"))["sequence_bytes"])
    times = [
        min(time for end, time in arrivals.items() if end >= start + size) - left
        for start, size, left in sent.select("sequence_bytes", "payload_bytes", "sent_ns").iter_rows()
        if start not in again and start + size <= highest
    ]
    assert again
    assert marked.rtt_ms.n == len(times)
    assert marked.rtt_ms.min == pytest.approx(min(times) / 1e6)
    assert marked.rtt_ms.mean == pytest.approx(sum(times) / len(times) / 1e6)

"""Every number of a run, computed a second time from its packets, with nothing of what reports compute with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

from bakeoff.errors import RunFailed
from bakeoff.experiment import expand, load
from bakeoff.kernel import cache
from bakeoff.metrics import summarise
from bakeoff.recording import ResultFolder
from bakeoff.worlds import registry

if TYPE_CHECKING:
    from pathlib import Path

    from bakeoff.metrics import FlowSummary, HopSummary, RunSummary
    from bakeoff.recording import RunRecording

HEAD = 'name = "x"\nseed = 3\nrecord = { level = "packets" }\n'
EXPERIMENTS = {
    "schemes meet, start, stop and end": """
duration = "6s"
[[path.forward]]
rate = "10Mbit/s"
delay = "15ms"
queue = { limit = "1bdp" }
[[flow]]
scheme = "cubic"
[[flow]]
scheme = "own:bbr"
start = "1s"
stop = "4s"
[[flow]]
scheme = "own:reno"
start = "2s"
traffic = { kind = "finite", size = "300kB" }
""",
    "marks, losses and two hops": """
duration = "4s"
[[path.forward]]
rate = "30Mbit/s"
delay = "5ms"
loss = 0.01
[[path.forward]]
rate = "12Mbit/s"
delay = "10ms"
queue = { kind = "fq_codel", ce_threshold = "1ms" }
[[flow]]
scheme = "own:cubic"
ecn = "classic"
[[flow]]
scheme = "prague"
[[flow]]
scheme = "own:cubic"
traffic = { kind = "bulk", write = "2000B" }
extra_delay = "20ms"
""",
    "both ways": """
duration = "4s"
[[path.forward]]
rate = "8Mbit/s"
delay = "20ms"
queue = { limit = "40pkt" }
[[path.reverse]]
rate = "4Mbit/s"
delay = "20ms"
queue = { limit = "20pkt" }
[[flow]]
scheme = "cubic"
[[flow]]
scheme = "own:bbr3"
direction = "reverse"
stop = "3s"
""",
}


@pytest.mark.parametrize("world", ["sim", "linux"])
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_numbers_follow_from_packets(tmp_path: Path, name: str, world: str) -> None:
    if world == "linux":
        try:
            cache.default()
        except RunFailed:
            pytest.skip("no kernel is built: bakeoff kernel build")
    file = tmp_path / "x.toml"
    file.write_text(HEAD + EXPERIMENTS[name], encoding="utf-8")
    (run,) = (plan := expand(load(str(file)), world)).runs
    results = ResultFolder.create(tmp_path / "results", plan)
    results.write_run(run, registry.world(world).execute(run).tables)
    (recording,) = results.recordings()
    summary = summarise(recording)
    packets, passages = recording.table("packets"), recording.table("passages")
    for flow in summary.flows:
        check_flow(flow, packets.filter(pl.col("flow") == flow.flow), passages, recording)
    for hop in summary.hops:
        check_hop(hop, passages.filter(pl.col("hop") == hop.hop))
    check_total(summary, packets)


def check_flow(flow: FlowSummary, packets: pl.DataFrame, passages: pl.DataFrame, recording: RunRecording) -> None:
    arrived = packets.filter(pl.col("received_ns").is_not_null())
    length_ns = max(round(flow.stop_s * 1e9), latest_ns(arrived)) - round(flow.start_s * 1e9)
    assert flow.throughput_mbps == pytest.approx(total_bytes(arrived) * 8e3 / length_ns)
    assert flow.goodput_mbps == pytest.approx(delivered(flow.flow, passages, recording) * 8e3 / length_ns)
    settled = packets.filter(pl.col("fate") != "inside")
    assert flow.loss == pytest.approx(1 - total_bytes(arrived) / total_bytes(settled), abs=1e-12)
    assert flow.packet_loss == pytest.approx(1 - arrived.height / settled.height, abs=1e-12)
    assert (flow.sent_packets, flow.delivered_packets) == (packets.height, arrived.height)
    assert flow.delivered_bytes == total_bytes(arrived)
    assert (flow.retransmits, flow.ce_marks) == (packets["retransmit"].sum(), arrived["ce"].sum())
    delays = ((arrived["received_ns"] - arrived["sent_ns"]) / 1e6).to_numpy()
    waits = (arrived["queue_ns"] / 1e6).to_numpy()
    for percent, found in ((50, flow.owd_p50_ms), (95, flow.owd_p95_ms), (99, flow.owd_p99_ms)):
        assert found == pytest.approx(np.percentile(delays, percent, method="nearest"))
    for percent, found in ((50, flow.queue_p50_ms), (95, flow.queue_p95_ms)):
        assert found == pytest.approx(np.percentile(waits, percent, method="nearest"))


def delivered(flow: int, passages: pl.DataFrame, recording: RunRecording) -> int:
    """What has arrived of the stream up to its first gap, bytes."""
    scenario: dict[str, Any] = recording.scenario
    direction = scenario["flows"][flow - 1]["direction"]
    is_of_flow = (pl.col("flow") == flow) & (pl.col("direction") == "data") & (pl.col("payload_bytes") > 0)
    data = passages.filter(is_of_flow)
    sent = data.filter(pl.col("hop") == f"{direction}.0")
    assert up_to_the_first_gap(sent) == (sent["sequence_bytes"] + sent["payload_bytes"]).max(), "a stream has no gaps"
    last_hop = f"{direction}.{len(scenario[direction]) - 1}"
    return up_to_the_first_gap(data.filter((pl.col("hop") == last_hop) & (pl.col("fate") == "passed")))


def up_to_the_first_gap(data: pl.DataFrame) -> int:
    end = 0
    for start, size in data.sort("sequence_bytes").select("sequence_bytes", "payload_bytes").iter_rows():
        if start > end:
            break
        end = max(end, start + size)
    return end


def check_hop(hop: HopSummary, rows: pl.DataFrame) -> None:
    fates = dict(rows["fate"].value_counts().iter_rows())
    assert hop.in_packets == rows.height
    assert (hop.out_packets, hop.inside_packets) == (fates.get("passed", 0), fates.get("inside", 0))
    dropped = rows.filter(pl.col("fate") == "dropped")["reason"].value_counts()
    assert hop.dropped == dict(dropped.iter_rows())
    assert hop.marked == dict(rows.filter(pl.col("mark") != "")["mark"].value_counts().iter_rows())


def check_total(summary: RunSummary, packets: pl.DataFrame) -> None:
    total, flows = summary.total, summary.flows
    assert total is not None
    arrived = packets.filter(pl.col("received_ns").is_not_null())
    begin, end = (round(1e9 * pick) for pick in (max(f.start_s for f in flows), min(f.stop_s for f in flows)))
    together = arrived.filter((pl.col("received_ns") >= begin) & (pl.col("received_ns") < end))
    parts = [total_bytes(together.filter(pl.col("flow") == flow.flow)) for flow in flows]
    index = sum(parts) ** 2 / (len(parts) * sum(part * part for part in parts))
    assert total.jain == (None if summary.goes_both_ways else pytest.approx(index))
    last_ns = max(round(max(f.stop_s for f in flows) * 1e9), latest_ns(arrived))
    length_ns = last_ns - round(min(f.start_s for f in flows) * 1e9)
    assert total.throughput_mbps == pytest.approx(total_bytes(arrived) * 8e3 / length_ns)
    settled = packets.filter(pl.col("fate") != "inside")
    assert total.loss == pytest.approx(1 - total_bytes(arrived) / total_bytes(settled), abs=1e-12)
    assert total.packet_loss == pytest.approx(1 - arrived.height / settled.height, abs=1e-12)


def total_bytes(packets: pl.DataFrame) -> int:
    return int(packets["size_bytes"].sum())


def latest_ns(arrived: pl.DataFrame) -> int:
    return int(arrived["received_ns"].to_numpy().max())

"""The linux world on the kernel that is built on this machine."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from bakeoff.errors import RunFailed
from bakeoff.experiment import PlannedRun, expand
from bakeoff.experiment.catalogue import of_core
from bakeoff.experiment.load import check_source
from bakeoff.experiment.source import Source
from bakeoff.kernel import cache
from bakeoff.recording import tables as files
from bakeoff.worlds import linux, names
from bakeoff.worlds.outcome import RunStopped

if TYPE_CHECKING:
    Tables = dict[str, pl.DataFrame]

MS = 1_000_000
SECOND = 1_000_000_000
# The guest's clock runs in steps of 256 ns, and a packet's way is measured by two or more readings.
CLOCK_NS = 2_000
TREE = Path(__file__).resolve().parents[2] / "crates" / "core" / "tests" / "files" / "one-rule.json"
LIMIT = 30
HOP = {"rate": "12Mbit/s", "delay": "20ms", "queue": {"limit": f"{LIMIT}pkt"}}
SERIALISATION_NS = MS


@pytest.fixture(autouse=True)
def _kernel() -> None:
    try:
        cache.default()
    except RunFailed:
        pytest.skip("no kernel is built: bakeoff kernel build")


def plan(
    *flows: dict[str, Any], forward: list[Any] | None = None, duration: str = "3s", level: str = "packets", **path: Any
) -> PlannedRun:
    raw = {
        "name": "x",
        "duration": duration,
        "start_jitter": "0s",
        "record": {"level": level},
        "path": {"forward": forward or [HOP], **path},
        "flow": [{"scheme": "cubic", **flow} for flow in flows or ({},)],
    }
    return expand(check_source(Source("x.toml", Path(), raw, ""), [], of_core())).runs[0]


def run(*flows: dict[str, Any], **options: Any) -> Tables:
    planned = plan(*flows, **options)
    linux.check(planned.scenario)
    found = linux.execute(planned).tables
    assert_conserved(found)
    return found


def assert_conserved(found: Tables) -> None:
    flows, hops = found["flows"], found["hops"]
    sent, received, dropped, inside = (flows[f"{name}_packets"] for name in ("sent", "received", "dropped", "inside"))
    assert (sent == received + dropped + inside).all()
    came, left, dropped, inside = (hops[f"{name}_packets"] for name in ("in", "out", "dropped", "inside"))
    assert (came == left + dropped + inside).all()
    assert (sent[1:] > 0).all()


def least_delay(found: Tables, flow: int = 1) -> int:
    """The least one-way delay of full packets."""
    packets = found["packets"].filter((pl.col("flow") == flow) & (pl.col("size_bytes") == 1500))
    received = packets.filter(pl.col("fate") == "received")
    return int((received["received_ns"] - received["sent_ns"]).min())  # type: ignore[arg-type]


def received_bps(found: Tables, begin_ns: int, end_ns: int) -> float:
    """What all flows received per second."""
    rows = found["series"].filter((pl.col("t_ns") >= begin_ns) & (pl.col("t_ns") < end_ns))
    return float(rows["received_bytes"].sum()) * 8e9 / (end_ns - begin_ns)


def test_two_runs_are_the_same_bytes_wherever_they_are_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    planned = plan({}, {"scheme": "bbr"}, {"scheme": "own:cubic"}, forward=[{**HOP, "loss": "0.1%"}], duration="2s")

    def recorded() -> dict[str, bytes]:
        return {name: files.encode(table, {})[0] for name, table in linux.execute(planned).tables.items()}

    first = recorded()
    elsewhere = tmp_path / "a folder with a longer name"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    monkeypatch.setattr(tempfile, "tempdir", str(elsewhere))
    monkeypatch.setenv("SOME_VARIABLE", "x" * 1000)
    assert recorded() == first
    other = linux.execute(replace(planned, seed=planned.seed + 1)).tables
    assert {name: files.encode(table, {})[0] for name, table in other.items()} != first


def test_a_run_says_which_kernel_ran_it() -> None:
    outcome = linux.execute(plan(duration="1s"))
    built = cache.default()
    assert outcome.provenance["kernel"] == built.name
    assert outcome.provenance["kernel_sha256"] == built.sha256
    assert outcome.cpu_s > 0
    assert outcome.console == ()


def test_a_queue_holds_no_more_than_its_limit() -> None:
    found = run({"scheme": "reno"}, {"scheme": "cubic"})
    packets = found["packets"].filter(pl.col("fate") == "received")
    assert found["flows"]["dropped_packets"][0] > 0
    assert packets["queue_ns"].max() <= LIMIT * SERIALISATION_NS + CLOCK_NS  # type: ignore[operator]
    came = packets.select(pl.col("sent_ns").alias("t"), pl.lit(1).alias("change"))
    left = packets.select((pl.col("sent_ns") + pl.col("queue_ns")).alias("t"), pl.lit(-1).alias("change"))
    # In one step of the clock a packet may leave and another take its place.
    inside = pl.concat([came, left]).sort("t", "change")["change"].cum_sum()
    assert inside.max() == LIMIT


def test_a_link_carries_its_rate() -> None:
    found = run()
    assert received_bps(found, SECOND, 3 * SECOND) == pytest.approx(12e6, rel=1e-3)


@pytest.mark.parametrize("direction", ["forward", "reverse"])
def test_a_packet_takes_its_serialisation_and_the_delay(direction: str) -> None:
    hops = {"forward": [HOP], "reverse": [{**HOP, "rate": "24Mbit/s", "delay": "10ms"}]}
    expected = {"forward": 21 * MS, "reverse": 10 * MS + MS // 2}
    found = run({"direction": direction}, **hops)
    assert least_delay(found) == pytest.approx(expected[direction], abs=CLOCK_NS)


def test_a_path_of_two_hops_and_one_back() -> None:
    first = {"rate": "24Mbit/s", "delay": "5ms", "queue": {"limit": "1000pkt"}}
    found = run(forward=[first, HOP], reverse=[{"rate": "6Mbit/s", "delay": "7ms", "queue": {"limit": "1000pkt"}}])
    assert found["hops"]["hop"].to_list() == ["forward.0", "forward.1", "reverse.0"]
    # The first packet finds both queues empty.
    assert least_delay(found) == pytest.approx(26 * MS + MS // 2, abs=CLOCK_NS)
    assert found["hops"]["dropped_packets"].to_list()[0] == 0
    assert found["hops"]["dropped_packets"].to_list()[1] > 0


def test_a_flow_may_have_a_delay_of_its_own() -> None:
    found = run({"extra_delay": "30ms"}, {"start": "1s"}, {"extra_delay": "5ms", "direction": "reverse"}, reverse=[HOP])
    assert least_delay(found, 1) == pytest.approx(51 * MS, abs=CLOCK_NS)
    assert {"flow1.data", "flow1.ack", "flow3.data", "flow3.ack"} <= set(found["hops"]["hop"])


def test_a_rate_changes_when_the_schedule_says() -> None:
    steps = [{"at": "0s", "rate": "12Mbit/s"}, {"at": "2s", "rate": "3Mbit/s"}, {"at": "4s", "rate": "6Mbit/s"}]
    found = run(forward=[{**HOP, "rate": {"schedule": steps}}], duration="6s", level="series")
    for begin_s, rate in ((1, 12e6), (3, 3e6), (5, 6e6)):
        assert received_bps(found, begin_s * SECOND, (begin_s + 1) * SECOND) == pytest.approx(rate, rel=0.01)


def test_a_finite_transfer_ends() -> None:
    found = run({"traffic": {"kind": "finite", "size": "100kB"}})
    row = found["flows"].row(1, named=True)
    assert row["goodput_bytes"] == 100_000
    assert 40 * MS < row["completed_ns"] < SECOND


def test_an_on_off_source_is_silent_in_between() -> None:
    traffic = {"kind": "on-off", "on": "300ms", "off": "700ms", "distribution": "constant"}
    found = run({"traffic": traffic}, duration="4s")
    times = found["packets"].filter(pl.col("size_bytes") == 1500)["sent_ns"]
    assert times.diff().drop_nulls().max() > 500 * MS  # type: ignore[operator]
    # A segment may be queued when the source falls silent, and what was lost is sent again.
    assert (times % SECOND > 302 * MS).mean() < 0.03  # type: ignore[operator]


def test_an_on_off_source_writes_whole_segments_with_accurate_ecn_too() -> None:
    traffic = {"kind": "on-off", "on": "300ms", "off": "700ms", "distribution": "constant"}
    passages = run({"traffic": traffic, "ecn": "accurate"})["passages"]
    data = passages.filter((pl.col("direction") == "data") & (pl.col("payload_bytes") > 0))
    assert data["payload_bytes"].unique().to_list() == [1448 - 12]


@pytest.mark.parametrize("ecn", ["off", "accurate"])
def test_a_paced_flow_keeps_the_rate_it_may_have(ecn: str) -> None:
    packets = run({"max_pacing_rate": "6Mbit/s", "ecn": ecn})["packets"]
    late = packets.filter(pl.col("sent_ns").is_between(SECOND, 3 * SECOND) & (pl.col("size_bytes") == 1500))
    # A packet every 2 ms, as the network sees it.
    assert abs(late.height - 1000) <= 2


def test_loss_is_what_was_asked_for() -> None:
    found = run(forward=[{**HOP, "loss": "2%"}], duration="10s", level="summary")
    losses = found["verdicts"].filter(pl.col("reason") == "loss")["packets"].sum()
    passed = found["hops"]["in_packets"][0]
    assert losses / passed == pytest.approx(0.02, rel=0.3)


@pytest.mark.parametrize("segments", [10, 50, 100])
def test_a_receive_window_bounds_a_flow(segments: int) -> None:
    wide = {"rate": "100Mbit/s", "delay": "20ms", "queue": {"limit": "1000pkt"}}
    found = run({"receive_window": f"{1448 * segments}B"}, forward=[wide], level="series")
    # So many segments a round trip; the first packet and its ack take a little longer than 40 ms.
    assert received_bps(found, SECOND, 3 * SECOND) == pytest.approx(segments * 1500 * 8 / 0.0402, rel=0.02)


def test_a_receive_window_holds_from_the_first_segment_on() -> None:
    # 60 ms per packet, so that the receiver's application has read little when the window could be full.
    slow = {"rate": "200kbit/s", "delay": "25ms", "queue": {"limit": "60pkt"}}
    found = run({"receive_window": f"{14 * 1448}B"}, forward=[slow])
    assert found["packets"]["queue_ns"].max() <= 13 * 60 * MS  # type: ignore[operator]


@pytest.mark.parametrize("ecn", ["classic", "accurate"])
@pytest.mark.parametrize("scheme", ["kernel:dctcp", "kernel:westwood", "vegas", "own:bbr", "ledbat"])
def test_any_scheme_runs_with_ecn(scheme: str, ecn: str) -> None:
    found = run({"scheme": scheme, "ecn": ecn})
    assert found["flows"]["received_packets"][1] > 1000
    assert "cwnd" in found["telemetry"]["name"].to_list()


def test_a_scheme_has_its_file_in_the_guest() -> None:
    found = run({"scheme": "taova", "parameters": {"tree": str(TREE)}})
    assert found["flows"]["received_packets"][1] > 100
    assert "intersend" in found["telemetry"]["name"].to_list()


@pytest.mark.parametrize("scheme", ["kernel:reno", "own:reno"])
def test_packets_carry_the_dscp_of_their_flow(scheme: str) -> None:
    # Of the three lines that go one before the other, DSCP 2 has the last and DSCP 4 the first.
    hop = {**HOP, "queue": {"kind": "pfifo_fast"}}
    found = run({"scheme": scheme, "dscp": 2}, {"scheme": scheme, "dscp": 4}, forward=[hop])
    last, first = found["flows"]["received_packets"][1:]
    assert last < 100
    assert first > 2000


def test_flows_both_ways() -> None:
    found = run({}, {"direction": "reverse"}, reverse=[HOP], duration="10s", level="series")
    # Acks between data keep the links from being full: the simulator has 75 %.
    assert found["flows"]["received_packets"].to_list()[1:] == pytest.approx([7500, 7500], rel=0.15)


@pytest.mark.parametrize(
    "flow",
    [
        {"scheme": "prague"},
        {"scheme": "own:cubic", "ecn": "accurate"},
        {"scheme": "own:cubic", "traffic": {"kind": "bulk", "write": "2000B"}},
    ],
)
def test_the_application_has_all_that_its_packets_carried(flow: dict[str, Any]) -> None:
    # Counters of marks, and ends of writes, make packets carry less than a full segment.
    found = run(flow)
    data = found["passages"].filter((pl.col("hop") == "forward.0") & (pl.col("payload_bytes") > 0))
    pieces = dict(sorted(data.select("sequence_bytes", "payload_bytes").iter_rows()))
    assert sum(pieces.values()) == max(start + size for start, size in pieces.items()), "no holes and no overlaps"
    arrived = dict(data.filter(pl.col("fate") == "passed").select("sequence_bytes", "payload_bytes").iter_rows())
    end = 0
    while end in arrived:
        end += arrived[end]
    assert found["flows"]["goodput_bytes"][1] == end > 2_000_000


def test_a_flow_that_stops_leaves_the_way_back_alone() -> None:
    # The first router drops its packets, and answers none of them.
    slow = {"rate": "1Mbit/s", "delay": "10ms", "queue": {"limit": "10pkt"}}
    found = run({}, {"direction": "reverse", "stop": "2s"}, forward=[slow], reverse=[slow], duration="6s")
    rows = found["passages"].filter((pl.col("hop") == "forward.0") & (pl.col("fate") == "passed"))
    full = rows.filter((pl.col("size_bytes") == 1500) & (pl.col("sent_ns") > 3 * SECOND))
    took = full["out_ns"] - full["in_ns"] - full["queue_ns"].cast(pl.Int64)
    assert took.len() > 100
    assert took.min() == pytest.approx(22 * MS, abs=CLOCK_NS)
    assert took.max() == pytest.approx(22 * MS, abs=CLOCK_NS)


def test_a_controller_that_the_kernel_lacks_is_one_sentence() -> None:
    planned = plan({"scheme": "kernel:reno"})
    planned.scenario["flows"][0]["scheme"] = "kernel:nosuch"
    assert names.for_kernel(planned.scenario)["flows"][0]["scheme"] == "kernel:nosuch"
    with pytest.raises(RunStopped, match=r"^flow 1: this kernel has no controller nosuch \(.*\)$"):
        linux.execute(planned)


@pytest.mark.parametrize(
    ("flow", "hop", "sentence"),
    [
        ({}, {"rate": {"trace": [1, 2]}}, "path.forward.0: the kernel has no link that follows a trace"),
        ({}, {"rate": {"poisson": "1Mbit/s"}}, "path.forward.0: the kernel has no link with random gaps"),
        ({}, {"jitter": "1ms"}, "path.forward.0: the kernel's jitter reorders packets"),
        ({"send_jitter": "1ms"}, {}, "flow 1: send_jitter: real senders have no such setting"),
        ({"scheme": "bbr", "parameters": {}}, {"queue": {"limit": ["5pkt", "10ms"]}}, "path.forward.0.queue: "),
    ],
)
def test_what_the_kernel_cannot_do_is_refused_before_it_boots(flow: Any, hop: Any, sentence: str) -> None:
    with pytest.raises(RunStopped) as refused:
        linux.check(plan(flow, forward=[{**HOP, **hop}]).scenario)
    assert str(refused.value).startswith(sentence)


def test_what_waits_behind_a_slow_link_at_the_end_is_inside() -> None:
    steps = [{"at": "0s", "rate": "10Mbit/s"}, {"at": "2s", "rate": "5kbit/s"}]
    slow = {"rate": {"schedule": steps}, "delay": "10ms", "queue": {"kind": "fifo", "limit": "20pkt"}}
    found = run({"scheme": "kernel:cubic"}, forward=[slow], duration="3s")
    (link,) = found["hops"].filter(pl.col("hop") == "forward.0").iter_rows(named=True)
    assert link["inside_packets"] > 15, link

"""The path in words: what a hop does, and nothing that it does not do."""

from __future__ import annotations

from typing import Any

import pytest

from bakeoff.reports import path

FIFO: dict[str, Any] = {
    "kind": "fifo",
    "limit_packets": None,
    "limit_bytes": None,
    "limit_time_ns": None,
    "drop": "tail",
}
LINK = {"kind": "constant", "rate_bps": 3_000_000}
HOP: dict[str, Any] = {"link": LINK, "queue": FIFO, "delay_ns": 0, "loss": 0.0, "jitter_ns": 0}


def said(**changes: Any) -> tuple[str, ...]:
    """The facts of a hop."""
    described = path.describe({"forward": [HOP | changes], "reverse": []})
    assert described["reverse"] == []
    (hop,) = described["forward"]
    assert hop.name == "forward.0"
    return hop.facts


def test_a_hop_is_its_link_its_queue_and_what_happens_on_the_way() -> None:
    assert said() == ("3 Mbit/s", "fifo queue, no limit")
    everything = said(
        delay_ns=100_000_000,
        loss=0.01,
        jitter_ns=2_000_000,
        slots={"packets": 3, "min_ns": 1_000_000, "max_ns": 4_000_000},
        replay_window=64,
        policer={"rate_bps": 2_000_000, "burst_bytes": 15_000},
        duplicate=0.002,
        mangle=[{"match": {}, "set": {"dscp": 46}}],
    )
    # In the order in which a packet meets them.
    assert everything == (
        "1 rule for the DS field",
        "policer of 2 Mbit/s, burst 15 kB",
        "3 Mbit/s",
        "fifo queue, no limit",
        "delay 100 ms",
        "jitter 2 ms",
        "slots of 3 packets every 1 ms to 4 ms",
        "loss 1 %",
        "0.2 % of packets twice",
        "replay window 64 packets",
    )


def test_loss_in_bursts_says_how_the_wire_changes() -> None:
    assert said(loss={"to_bad": 0.01, "to_good": 0.2, "in_bad": 1.0, "in_good": 0.0})[2:] == (
        "loss in bursts: to_bad 1 %, to_good 20 %, in_bad 100 %, in_good 0 %",
    )


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"kind": "ahead", "gap": 5}, "1 % of packets ahead of the delay"),
        ({"kind": "late", "late_ns": 250_000_000}, "1 % of packets 250 ms late"),
        ({"kind": "behind", "packets": 3, "within_ns": 100_000_000}, "1 % of packets behind 3 later packets"),
    ],
)
def test_packets_that_change_places_say_how(change: dict[str, Any], words: str) -> None:
    assert said(reorder={"probability": 0.01, "change": change})[2:] == (words,)


@pytest.mark.parametrize(
    ("link", "words"),
    [
        ({"kind": "poisson", "rate_bps": 6_000_000}, "6 Mbit/s, Poisson"),
        (
            {"kind": "schedule", "steps": [{"rate_bps": 2_000_000}, {"rate_bps": 1_000_000}]},
            "1 Mbit/s to 2 Mbit/s, scheduled",
        ),
        (
            {"kind": "token-bucket", "rate_bps": 5_000_000, "burst_bytes": 10_000, "peak_bps": 8_000_000},
            "token bucket of 5 Mbit/s, burst 10 kB, at most 8 Mbit/s",
        ),
        (
            {"kind": "token-bucket", "rate_bps": 5_000_000, "burst_bytes": 10_000},
            "token bucket of 5 Mbit/s, burst 10 kB",
        ),
    ],
)
def test_rates_that_change_say_how(link: dict[str, Any], words: str) -> None:
    assert said(link=link)[0] == words


@pytest.mark.parametrize(
    ("link", "duration_ms", "words"),
    [
        pytest.param({"opportunities_ms": [1, 1, 3, 6]}, 12, "trace cell.down, mean 8 Mbit/s over the run", id="twice"),
        pytest.param({"opportunities_ms": [1, 1, 3, 6]}, 8, "trace cell.down, mean 9 Mbit/s over the run", id="again"),
        pytest.param(
            {"opportunities_ms": [1, 1, 3, 6]}, 9, "trace cell.down, mean 9.3333 Mbit/s over the run", id="at its end"
        ),
        pytest.param(
            {"opportunities_ms": [1, 1, 3, 9], "mean_rate_bps": 5_000_000},
            6,
            "trace cell.down, mean 6 Mbit/s over the run",
            id="its beginning",
        ),
    ],
)
def test_a_trace_has_its_name_and_its_mean_over_the_run(link: dict[str, Any], duration_ms: int, words: str) -> None:
    scenario = {"duration_ns": duration_ms * 1_000_000, "forward": [HOP | {"link": {"kind": "trace"} | link}]}
    described = path.describe(scenario | {"reverse": [], "traces": {"forward.0": "cell.down"}})
    assert described["forward"][0].facts[0] == words
    without_name = path.describe(scenario | {"reverse": []})["forward"][0].facts[0]
    assert without_name == words.replace(" cell.down", "")


def test_what_is_never_waited_for_has_no_queue() -> None:
    assert said(link={"kind": "unlimited"}) == ("unlimited rate",)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"limit_packets": 14}, "fifo queue, 14 packets"),
        ({"limit_packets": 14, "limit_bytes": 21_000}, "fifo queue, 14 packets or 21 kB"),
        ({"limit_time_ns": 300_000_000, "drop": "head"}, "fifo drop-head queue, 300 ms"),
        ({"limit_bytes": 112_500, "room_bytes": 1_500}, "fifo queue, 112.5 kB, open while 1.5 kB are free"),
    ],
)
def test_a_fifo_says_what_limits_it(changes: dict[str, Any], words: str) -> None:
    assert said(queue=FIFO | changes)[1] == words


def test_what_other_queues_have_by_themselves_is_not_said() -> None:
    assert said(queue={"kind": "codel", "limit_packets": None})[1] == "codel queue"


@pytest.mark.parametrize(
    ("directions", "forward", "reverse"),
    [
        (["forward"], ("Sender", "data", "Receiver"), ("Receiver", "acknowledgements", "Sender")),
        (["reverse"], ("Receiver", "acknowledgements", "Sender"), ("Sender", "data", "Receiver")),
        (
            ["forward", "reverse"],
            ("One end", "data and acknowledgements", "Other end"),
            ("Other end", "data and acknowledgements", "One end"),
        ),
    ],
)
def test_data_go_the_way_of_their_flows(
    directions: list[str], forward: tuple[str, ...], reverse: tuple[str, ...]
) -> None:
    found = path.ways({"flows": [{"direction": direction} for direction in directions]})
    assert found == {"forward": path.Way(*forward), "reverse": path.Way(*reverse)}

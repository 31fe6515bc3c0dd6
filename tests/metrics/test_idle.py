"""Hops that were to mark or to change packets and found none: stated, and nothing else is."""

from __future__ import annotations

from typing import Any

from bakeoff.metrics import HopSummary, idle


def hop(dropped: dict[str, int], marked: dict[str, int], in_packets: int = 100) -> HopSummary:
    return HopSummary(
        hop="forward.0",
        in_packets=in_packets,
        out_packets=in_packets - sum(dropped.values()),
        dropped=dropped,
        marked=marked,
        duplicated={},
        inside_packets=0,
        queue_p50_ms=None,
        queue_p95_ms=None,
    )


def check(found: HopSummary, **config: Any) -> tuple[str, ...]:
    forward = {"queue": {"kind": "codel", "ecn": True}, "mangle": []} | config
    return idle.check([found], {"forward": [forward], "reverse": []})


def test_a_queue_that_was_to_mark_and_only_dropped() -> None:
    (sentence,) = check(hop({"congestion": 7, "overlimit": 2}, {}))
    assert "forward.0 was to mark (ecn = true) and dropped all 7 packets that it chose" in sentence
    (sentence,) = check(hop({"congestion": 7, "threshold": 4}, {}))
    assert "dropped all 11 packets that it chose" in sentence


def test_a_queue_that_marked_or_never_had_to_or_was_not_asked_says_nothing() -> None:
    assert check(hop({"congestion": 7}, {"congestion": 1})) == ()
    assert check(hop({"overlimit": 7}, {})) == ()
    assert check(hop({"congestion": 7}, {}), queue={"kind": "codel"}) == ()
    assert check(hop({"congestion": 7}, {}), queue={"kind": "codel", "ecn": False}) == ()


def test_rules_that_changed_nothing() -> None:
    rules = [{"match": {"ecn": "ect0"}, "set": {"ecn": "ect1"}}]
    (sentence,) = check(hop({}, {}), mangle=rules)
    assert "the rules of forward.0 (mangle) changed none of its 100 packets" in sentence
    assert check(hop({}, {"mangle": 3}), mangle=rules) == ()
    assert check(hop({}, {}, in_packets=0), mangle=rules) == ()

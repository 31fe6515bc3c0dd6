"""What follows from the path of a scenario alone."""

from __future__ import annotations

from typing import Any

from bakeoff.metrics.path import base_rtt_ns, goes_both_ways


def scenario(*flows: tuple[str, int]) -> dict[str, Any]:
    return {
        "forward": [{"delay_ns": 10}, {"delay_ns": 20}],
        "reverse": [{"delay_ns": 300}],
        "flows": [{"direction": direction, "extra_delay_ns": extra} for direction, extra in flows],
    }


def test_the_round_trip_is_that_of_the_nearest_flow() -> None:
    assert base_rtt_ns(scenario(("forward", 5000), ("forward", 1000))) == 2330
    assert base_rtt_ns(scenario(("forward", 5000), ("forward", 0))) == 330


def test_flows_of_one_direction_share_their_links() -> None:
    assert not goes_both_ways(scenario(("reverse", 0), ("reverse", 0)))
    assert goes_both_ways(scenario(("forward", 0), ("reverse", 0)))

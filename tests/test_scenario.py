"""What follows from a scenario alone."""

from __future__ import annotations

from typing import Any

from bakeoff import scenario


def flow(extra_delay_ns: int, mss_bytes: int = 1448) -> dict[str, Any]:
    return {"extra_delay_ns": extra_delay_ns, "mss_bytes": mss_bytes, "header_bytes": 52, "direction": "forward"}


PATH = {"forward": [{"delay_ns": 10}, {"delay_ns": 20}], "reverse": [{"delay_ns": 5}]}


def test_round_trips_are_those_of_the_nearest_and_the_farthest_flow() -> None:
    found = {**PATH, "flows": [flow(7), flow(3)]}
    assert [scenario.rtt_ns(found, each) for each in found["flows"]] == [49, 41]
    assert (scenario.base_rtt_ns(found), scenario.longest_rtt_ns(found)) == (41, 49)


def test_the_largest_packet_may_be_that_of_a_probe() -> None:
    found = {**PATH, "flows": [flow(0, 148), flow(0, 948)]}
    assert scenario.largest_packet_bytes(found) == 1000
    assert scenario.largest_packet_bytes({**found, "probes": [{"size_bytes": 84}, {"size_bytes": 1200}]}) == 1200


def test_flows_of_one_direction_share_their_links() -> None:
    assert not scenario.goes_both_ways({"flows": [flow(0), flow(0)]})
    assert scenario.goes_both_ways({"flows": [flow(0), {**flow(0), "direction": "reverse"}]})

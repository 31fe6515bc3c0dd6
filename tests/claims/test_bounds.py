"""What a measure cannot go beyond."""

from __future__ import annotations

import math

import pytest

from bakeoff.claims.bounds import bounds_of
from bakeoff.claims.measure import parse_measure

ENDLESS = math.inf


@pytest.mark.parametrize(
    ("measure", "least", "most"),
    [
        ("total.loss", 0, 1),
        ("published.loss", 0, 1),
        ("total.pantheon.loss", -ENDLESS, 1),
        ("total.jain", 0, 1),
        ("total.utilisation", 0, 1),
        ('hops["forward.0"].dropped["loss"]', 0, ENDLESS),
        ("1 - total.loss", 0, 1),
        ("-total.loss", -1, 0),
        ("2 * total.loss + 3", 3, 5),
        ("total.loss * total.capacity_mbps", 0, ENDLESS),
        ("0 * total.capacity_mbps", 0, 0),
        ("flow1.srtt_p50_ms - 10", -10, ENDLESS),
        ("flow1.goodput_mbps - flow2.goodput_mbps", -ENDLESS, ENDLESS),
        ("abs(flow1.goodput_mbps - flow2.goodput_mbps)", 0, ENDLESS),
        ("abs(total.loss - 3)", 2, 3),
        ("flow1.late_mbps / flow2.late_mbps", 0, ENDLESS),
        ("total.loss / 4", 0, 0.25),
        ("4 / (total.loss + 1)", 2, 4),
        ("total.loss / (total.jain - 0.5)", -ENDLESS, ENDLESS),
        ("flow2.late_mbps / (flow1.late_mbps + flow2.late_mbps + flow3.late_mbps)", 0, 1),
        ("flow2.late_mbps / (flow1.late_mbps - flow2.late_mbps + flow2.late_mbps)", -ENDLESS, ENDLESS),
        ("default(total.convergence_s, 1000)", 0, ENDLESS),
        ("min(total.loss, 5)", 0, 1),
        ("max(total.loss, 0.5)", 0.5, 1),
        ("seconds(flow1.cwnd > 5)", 0, ENDLESS),
        ("most(flow1.cwnd)", 0, ENDLESS),
        ("mean(flow1.bw)", 0, ENDLESS),
        ("last(flow1.classic)", 0, ENDLESS),
        ("mean(flow1.off_target)", -ENDLESS, ENDLESS),
        ("first(flow1.utility)", -ENDLESS, ENDLESS),
        ("mean(flow1.pacing_rate / 1e6 while time_s > 9)", 0, ENDLESS),
        ("mean(flow1.srtt - flow1.min_rtt)", -ENDLESS, ENDLESS),
        ("mean(flow1.srtt - 80)", -80, ENDLESS),
        ("mean(flow1.pacing_rate / (flow1.pacing_rate + flow2.pacing_rate))", 0, 1),
        ("most(2 * time_s)", 0, ENDLESS),
        ("mean(flow1.goodput_mbps while time_s > 9) / mean(flow2.throughput_mbps)", 0, ENDLESS),
        ("mean(flow1.goodput_mbps) / (mean(flow1.goodput_mbps) + mean(flow2.goodput_mbps))", 0, 1),
        ("rank_correlation(total.loss, published.loss)", -ENDLESS, ENDLESS),
    ],
)
def test_bounds_follow_from_the_quantities(measure: str, least: float, most: float) -> None:
    assert bounds_of(parse_measure(measure)) == (least, most)


@pytest.mark.parametrize(
    ("measure", "least"), [("total.loss", 0), ("total.utilisation", 0), ("flow1.srtt_p50_ms - 10", -ENDLESS)]
)
def test_a_ratio_of_two_cells_has_the_bounds_of_a_ratio(measure: str, least: float) -> None:
    assert bounds_of(parse_measure(measure), compares=True) == (least, ENDLESS)

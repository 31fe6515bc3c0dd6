"""The unit that a measure has."""

from __future__ import annotations

import pytest

from bakeoff.claims.measure import parse_measure
from bakeoff.claims.unit import unit_of


@pytest.mark.parametrize(
    ("measure", "unit"),
    [
        ("total.throughput_mbps", "Mbit/s"),
        ("total.pantheon.owd_p95_ms", "ms"),
        ("flow1.srtt_p50_ms - 10", "ms"),
        ("2 * flow1.srtt_p50_ms", ""),
        ("flow1.throughput_mbps / 50", ""),
        ("flow1.together_mbps / flow2.together_mbps", ""),
        ("flow1.ce_marks", ""),
        ("flow1.delivered_bytes", "bytes"),
        ("default(total.convergence_s, 1000)", "s"),
        ("min(flow1.throughput_mbps, flow1.srtt_p50_ms)", ""),
        ("most(flow1.srtt while time_s > 5) - 80", "ms"),
        ("mean(flow1.in_flight while time_s > 6)", "packets"),
        ("first(flow1.max_bw while flow1.bbr_state == 1) / 9.6e6", ""),
        ("longest(flow1.cwnd > 5)", "s"),
        ("spells(flow1.cwnd > 5)", ""),
        ("rank_correlation(total.throughput_mbps, published.throughput_mbps)", ""),
    ],
)
def test_a_unit_follows_from_the_quantities(measure: str, unit: str) -> None:
    assert unit_of(parse_measure(measure)) == unit

"""The unit that a measure has, and which measures are counts."""

from __future__ import annotations

import pytest

from bakeoff.claims.measure import parse_measure
from bakeoff.claims.unit import is_count, unit_of


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
        ("mean(flow1.goodput_mbps while time_s > 6)", "Mbit/s"),
        ("longest(flow1.cwnd > 5)", "s"),
        ("spells(flow1.cwnd > 5)", ""),
        ("rank_correlation(total.throughput_mbps, published.throughput_mbps)", ""),
    ],
)
def test_a_unit_follows_from_the_quantities(measure: str, unit: str) -> None:
    assert unit_of(parse_measure(measure)) == unit


@pytest.mark.parametrize(
    ("measure", "counts"),
    [
        ("flow1.ce_marks", True),
        ("flow1.retransmits + 2 * flow2.timeouts", True),
        ("total.pantheon.throughput_mbps", False),
        ('hops["forward.0"].dropped["overlimit"]', True),
        ('hops["forward.0"].in_packets - hops["forward.0"].out_packets', True),
        ("max(flow1.delivered_bytes, flow2.delivered_bytes)", True),
        ("default(flow1.timeouts, 0)", True),
        ("default(total.convergence_s, 1000)", False),
        ("flow1.retransmits / flow1.sent_packets", False),
        ("0.5 * flow1.retransmits", False),
        ("spells(flow1.cwnd > 5)", True),
        ("longest(flow1.cwnd > 5)", False),
        ("most(flow1.cwnd)", False),
        ("rank_correlation(flow1.ce_marks, flow2.ce_marks)", False),
    ],
)
def test_counts_are_made_of_counts(measure: str, *, counts: bool) -> None:
    assert is_count(parse_measure(measure)) is counts

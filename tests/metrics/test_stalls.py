"""Flows whose application gets little of what arrives are told of, and no others."""

from __future__ import annotations

from typing import Any

import pytest

from bakeoff.metrics import stalls


def check(arrived: int, handed: int, packets: int = 1000, **scenario: Any) -> tuple[str, ...]:
    """What is said of a flow whose packets bring `arrived` bytes of payload together."""
    row = {
        "flow": 1,
        "received_packets": packets,
        "received_bytes": arrived + 52 * packets,
        "goodput_bytes": handed,
    }
    flow = {"scheme": scenario.pop("scheme", "cubic"), "header_bytes": 52}
    return stalls.check({1: row}, {"flows": [flow], **scenario})


def test_a_flow_that_waits_for_what_never_came() -> None:
    (sentence,) = check(1_000_000, 12_000)
    assert "flow 1 has much less goodput than throughput" in sentence
    assert "1.2% of the payload that arrived" in sentence
    (sentence,) = check(1_000_000, 0)
    assert " 0.0% of " in sentence


@pytest.mark.parametrize(
    ("arrived", "handed", "packets"),
    [
        (1_000_000, 500_000, 1000),
        # A few packets that wait for a loss at the end of the run.
        (99_000, 0, 99),
        # Small writes: most of what arrives are headers.
        (10_000, 10_000, 1000),
        (0, 0, 1000),
    ],
)
def test_others_are_not_told_of(arrived: int, handed: int, packets: int) -> None:
    assert check(arrived, handed, packets) == ()


def test_nobody_knows_what_a_program_sends() -> None:
    assert check(1_000_000, 0, scheme="program:iperf", programs={"iperf": {}}) == ()
    assert check(1_000_000, 0, scheme="kernel:reno", programs={"iperf": {}})

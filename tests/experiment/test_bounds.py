"""Bounds: what lies exactly on one is allowed or not as it is told, and what lies beyond it is not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from bakeoff.errors import UserError
from bakeoff.experiment import matrix, units
from bakeoff.experiment.units import Limit, UnitError
from bakeoff.formats import mahimahi

if TYPE_CHECKING:
    from collections.abc import Callable

    from bakeoff.experiment import Plan

    Planned = Callable[..., Plan]

# The file has 12 Mbit/s, 40 ms there and back, packets of 1500 bytes and runs of 30 s.
ALLOWED_AND_NOT = [
    # A queue has to hold one packet.
    ("queue=1500B", "queue=1499B", "1499 bytes holds no packet of 1500 bytes; make it larger"),
    ("queue=1ms", "queue=999us", "999us is 1498 bytes at 12Mbit/s, which holds no packet of 1500 bytes"),
    ("queue=0.025bdp", "queue=0.0249bdp", "0.0249bdp is 1494 bytes at 12Mbit/s and 40ms, which holds no packet"),
    ("flow.1.mss=100B", "flow.1.mss=99B", "99 bytes: must be from 100B to 65000B"),
    ("flow.1.receive_window=2896B", "flow.1.receive_window=2895B", "2895 bytes hold less than two segments"),
    ("probe=[{size='36B'}]", "probe=[{size='35B'}]", "35 bytes: must be from 36B to 65000B"),
    ("flow.1.parameters.beta=0.1", "flow.1.parameters.beta=0.09", "write a number from 0.1 to 0.9"),
    ("flow.1.parameters.beta=0.9", "flow.1.parameters.beta=0.91", "write a number from 0.1 to 0.9"),
    ("flow.1.count=10000", "flow.1.count=10001", "10001 flows in one run; the most is 10000"),
    # A flow starts up to 100 ms later than it says, before the end, and stops after that, at the end at the latest.
    ("flow.1.start=29899ms", "flow.1.start=29900ms", "the flow starts at 30s at the latest (start_jitter)"),
    ("flow.1.stop=101ms", "flow.1.stop=100ms", "100ms: must lie after the start of the flow, 100ms at the latest"),
    ("flow.1.stop=30s", "flow.1.stop=30001ms", "30.001s: must lie after the start of the flow"),
]


@pytest.mark.parametrize(("allowed", "refused", "sentence"), ALLOWED_AND_NOT)
def test_a_value_at_its_bound_and_one_beyond(
    planned: Planned, minimal: str, allowed: str, refused: str, sentence: str
) -> None:
    assert planned(minimal, allowed).runs
    with pytest.raises(UserError) as caught:
        planned(minimal, refused)
    assert sentence in str(caught.value)


def test_the_largest_packets_of_flows_and_probes(planned: Planned, minimal: str) -> None:
    largest = ("queue=66kB", "flow.1.mss=65000B", "probe=[{size='65000B'}]")
    scenario = planned(minimal, *largest).runs[0].scenario
    assert (scenario["flows"][0]["mss_bytes"], scenario["probes"][0]["size_bytes"]) == (65_000, 65_000)
    for larger in ("flow.1.mss=65001B", "probe=[{size='65001B'}]"):
        with pytest.raises(UserError, match="65001 bytes: must be from"):
            planned(minimal, "queue=66kB", larger)


def rate_of(planned: Planned, minimal: str, rate: str) -> dict[str, Any]:
    link: dict[str, Any] = planned(minimal, f"rate={rate}").runs[0].scenario["forward"][0]["link"]
    return link


def test_steps_of_a_schedule_come_one_after_the_other(planned: Planned, minimal: str) -> None:
    steps = "schedule=[{at='0s',rate='1Mbit/s'},{at='5s',rate='2Mbit/s'}"
    assert rate_of(planned, minimal, f"{{{steps}],period='5000000001ns'}}")["period_ns"] == 5_000_000_001
    with pytest.raises(UserError, match="the period must be longer than the time of the last step"):
        rate_of(planned, minimal, f"{{{steps}],period='5s'}}")
    with pytest.raises(UserError, match="a step must come later than the one before it"):
        rate_of(planned, minimal, f"{{{steps},{{at='5s',rate='3Mbit/s'}}]}}")


def test_a_slow_prefix_leaves_something_of_its_trace(planned: Planned, minimal: str) -> None:
    trace = "{trace={poisson='1Mbit/s',length='1s',slow_prefix='%s'}}"
    assert rate_of(planned, minimal, trace % "900ms")["opportunities_ms"][:9] == tuple(range(100, 1000, 100))
    with pytest.raises(UserError, match="the slow prefix must be shorter than the trace"):
        rate_of(planned, minimal, trace % "1s")


def test_a_trace_that_names_no_seed_has_the_seed_1(planned: Planned, minimal: str) -> None:
    found = rate_of(planned, minimal, "{trace={poisson='1Mbit/s',length='1s'}}")["opportunities_ms"]
    assert list(found) == mahimahi.poisson(1_000_000, 1000, seed=1)


def test_a_bdp_is_rounded_to_the_nearest_byte(planned: Planned, minimal: str) -> None:
    # 12 Mbit/s over 40.0005 ms are 60,000.75 bytes.
    scenario = planned(minimal, "rtt=40000500ns", "queue=1bdp").runs[0].scenario
    assert scenario["forward"][0]["queue"]["limit_bytes"] == 60_001


def test_quantities_at_their_bounds() -> None:
    assert units.parse_limit("10000bdp") == Limit(bdp=10_000)
    with pytest.raises(UnitError, match="must lie above 0 and at most at 10000bdp"):
        units.parse_limit("10000.1bdp")
    assert units.parse_size("1GiB") == 1_073_741_824
    assert units.parse_time("1.6ns") == 2


def test_as_many_runs_as_there_may_be() -> None:
    assert matrix.count((), 100_000, "x.toml") == 100_000
    with pytest.raises(UserError, match="the matrix has 100001 runs; the most is 100000"):
        matrix.count((), 100_001, "x.toml")


def test_a_trace_of_a_week() -> None:
    week_ms = 7 * 24 * 3600 * 1000
    mahimahi.check([0, week_ms])
    with pytest.raises(mahimahi.TraceError, match="is longer than a week"):
        mahimahi.check([0, week_ms + 1])

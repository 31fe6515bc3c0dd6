"""What this machine carries in real time, with a machine that is only pretended."""

from __future__ import annotations

import errno
import math
import os
import platform
from typing import TYPE_CHECKING, Any

import pytest

from bakeoff.worlds import capacity
from bakeoff.worlds.outcome import Outcome, RunInvalid, RunStopped

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture(autouse=True)
def _empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


def machine(single_bps: float, merged_bps: float, disturbed: int = 0) -> Callable[[Any], Outcome]:
    """A machine whose packets are late beyond these rates, and whose first runs are disturbed."""
    runs = iter(range(1000))

    def execute(planned: Any) -> Outcome:
        scenario = planned.scenario
        rate_bps = scenario["forward"][0]["link"]["rate_bps"]
        if rate_bps > (merged_bps if scenario["emulation"]["merge"] else single_bps) or next(runs) < disturbed:
            raise RunInvalid("too late", Outcome())
        packets = rate_bps * scenario["duration_ns"] // 12_000 // 10**9
        return Outcome(measurements={"hops": [{"delivered": [packets, 0]}], "lateness": {"p99_ns": 5000}})

    return execute


def scenario(rate_bps: int, *, merge: bool = False) -> dict[str, Any]:
    return capacity.scenario_of(rate_bps, 10**9) | {"emulation": {"merge": merge}}


def test_the_fastest_link_that_is_carried_is_found_and_kept() -> None:
    found = capacity.measure(machine(3e8, 2e9))
    assert found is not None
    assert (found.packets_per_second, found.merged_packets_per_second) == pytest.approx((2e8 / 12_000, 2e9 / 12_000))
    assert capacity.known() == found


def test_packets_that_are_handed_over_together_are_never_said_to_be_slower() -> None:
    found = capacity.measure(machine(2e9, 5e8))
    assert found is not None
    assert (found.packets_per_second, found.merged_packets_per_second) == pytest.approx((2e9 / 12_000, 2e9 / 12_000))


def test_the_largest_packets_of_flows_are_what_fills_a_link() -> None:
    capacity.measure(machine(1e8, 1e8))
    found = scenario(100_000_000)
    capacity.check(found | {"flows": [found["flows"][0], found["flows"][0] | {"mss_bytes": 500}]})
    with pytest.raises(RunStopped, match="100Mbit/s in 552-byte packets is more"):
        capacity.check(found | {"flows": [found["flows"][0] | {"mss_bytes": 500}]})


def test_a_disturbance_is_not_a_limit() -> None:
    found = capacity.measure(machine(1e8, 1e8, disturbed=2))
    assert found is not None
    assert found.packets_per_second == pytest.approx(1e8 / 12_000)
    assert capacity.measure(machine(1e8, 0, disturbed=3)) is None


@pytest.mark.parametrize(("share", "carried"), [(0.8, True), (0.79, False)])
def test_a_link_that_is_not_filled_was_more_than_the_machine_carries(share: float, *, carried: bool) -> None:
    def execute(planned: Any) -> Outcome:
        scenario = planned.scenario
        rate_bps = scenario["forward"][0]["link"]["rate_bps"]
        part = 1.0 if rate_bps == 100_000_000 else share
        packets = math.ceil(part * rate_bps * scenario["duration_ns"] / 12_000 / 10**9)
        return Outcome(measurements={"hops": [{"delivered": [packets, 0]}], "lateness": {"p99_ns": 5000}})

    found = capacity.measure(execute)
    assert found is not None
    assert found.packets_per_second == pytest.approx((5e9 if carried else 1e8) / 12_000)


def test_what_another_machine_carries_is_not_known_of_this_one(monkeypatch: pytest.MonkeyPatch) -> None:
    capacity.measure(machine(1e8, 1e8))
    monkeypatch.setattr(platform, "node", lambda: "another")
    assert capacity.known() is None
    capacity.check(scenario(10**10))


@pytest.mark.parametrize("content", [b"", b"\xff", b"[]", b'{"packets_per_second": 1.0}'])
def test_what_cannot_be_read_is_not_known(content: bytes) -> None:
    capacity.measure(machine(1e8, 1e8))
    capacity._place().write_bytes(content)
    assert capacity.known() is None


def test_a_machine_whose_cache_cannot_be_written_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    assert capacity.measure(machine(1e8, 1e8)) is not None
    assert capacity.known() is None


def test_more_than_the_machine_carries_is_refused() -> None:
    capacity.check(scenario(10**10))
    capacity.measure(machine(1e8, 1e9))
    capacity.check(scenario(100_000_000))
    capacity.check(scenario(1_000_000_000, merge=True))
    sentence = r"path\.forward: 1Gbit/s .*, 100Mbit/s when .*; lower the rate, set emulation\.merge = true, or let"
    with pytest.raises(RunStopped, match=sentence):
        capacity.check(scenario(1_000_000_000))
    with pytest.raises(RunStopped, match=r"1Gbit/s when .* measured it; lower the rate, or let"):
        capacity.check(scenario(2_000_000_000, merge=True))


def test_a_fast_link_for_acks_is_not_refused() -> None:
    capacity.measure(machine(1e8, 1e8))
    fast = {"kind": "constant", "rate_bps": 10**10}
    found = scenario(100_000_000)
    capacity.check({**found, "reverse": [{**found["reverse"][0], "link": fast}]})
    with pytest.raises(RunStopped, match=r"path\.forward: 10Gbit/s"):
        capacity.check({**found, "forward": [{**found["forward"][0], "link": fast}]})

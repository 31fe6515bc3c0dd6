"""Which runs in real time are no results, and in which words."""

from __future__ import annotations

from typing import Any

import pytest

from bakeoff.worlds import trust

MS = 1_000_000
NEAR: dict[str, Any] = {
    "forward": [{"delay_ns": 5 * MS}],
    "reverse": [{"delay_ns": 5 * MS}],
    "flows": [{"extra_delay_ns": 0}],
}
# Flows with round trips of 400 and 100 ms.
FAR: dict[str, Any] = NEAR | {
    "forward": [{"delay_ns": 95 * MS}],
    "flows": [{"extra_delay_ns": 150 * MS}, {"extra_delay_ns": 0}],
}
KERNEL = {"sent": 7, "received": 9, "sent_dropped": 0, "received_dropped": 0}
HOST = {"read": 7, "written": 9, "refused": 0, "kernel": KERNEL}


def report(late_ns: int = 0, *interfaces: dict[str, Any]) -> dict[str, Any]:
    """What the emulator says of its own work: one packet in a hundred was so late, and what each host counted."""
    return {"lateness": {"p99_ns": late_ns}, "interfaces": [*interfaces, HOST]}


@pytest.mark.parametrize(("scenario", "allowed_ns"), [(NEAR, MS), (FAR, 2 * MS)])
def test_a_packet_may_be_late_by_a_millisecond_or_a_fiftieth_of_the_shortest_round_trip(
    scenario: dict[str, Any], allowed_ns: int
) -> None:
    assert trust.problem(scenario, report(allowed_ns)) is None
    found = trust.problem(scenario, report(allowed_ns + MS // 10))
    assert f"{allowed_ns / MS + 0.1:.1f} ms late or later, and {allowed_ns / MS:.1f} ms are allowed" in str(found)


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"read": 6}, "packets do not add up: -1 at the left host 1 were read by the emulator but not counted by"),
        ({"read": 8}, "packets do not add up: 1 at the left host 1 were read by the emulator but not counted by"),
        ({"refused": 2}, "packets do not add up: 2 at the left host 1 were refused by the kernel"),
        ({"written": 12}, "packets do not add up: 3 at the left host 1 were handed over but not counted by the kernel"),
        (
            {"kernel": KERNEL | {"received_dropped": 4}},
            "packets do not add up: 4 at the left host 1 were handed over and thrown away by the kernel",
        ),
        (
            {"kernel": KERNEL | {"sent_dropped": 5}},
            "5 packets that the left host 1 sent were lost before the emulator could read them",
        ),
    ],
)
def test_every_packet_has_to_be_accounted_for(wrong: dict[str, Any], sentence: str) -> None:
    assert trust.problem(NEAR, report(0, HOST, HOST)) is None
    found = trust.problem(NEAR, report(0, HOST | wrong))
    assert str(found).startswith(sentence)


@pytest.mark.parametrize(("place", "host"), [(0, "left host 1"), (1, "right host 1"), (2, "left host 2")])
def test_hosts_are_named_in_pairs(place: int, host: str) -> None:
    hosts = [HOST, HOST, HOST]
    hosts[place] = HOST | {"refused": 1}
    assert (
        trust.problem(NEAR, report(0, *hosts)) == f"packets do not add up: 1 at the {host} were refused by the kernel"
    )

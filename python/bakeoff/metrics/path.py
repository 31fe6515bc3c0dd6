"""What follows from the path alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


def base_rtt_ns(scenario: Mapping[str, Any]) -> int:
    """Round-trip time of the path without queues, for the flow that is nearest, in nanoseconds.

    Args:
        scenario: what is run.
    """
    delays = sum(int(hop["delay_ns"]) for hop in (*scenario["forward"], *scenario["reverse"]))
    return delays + 2 * min((int(flow["extra_delay_ns"]) for flow in scenario["flows"]), default=0)


def goes_both_ways(scenario: Mapping[str, Any]) -> bool:
    """Whether flows send in both directions: those of different ones share no link, so none is fair to another.

    Args:
        scenario: what is run.
    """
    return len({flow["direction"] for flow in scenario["flows"]}) > 1

"""Where the queue of a run really built up, and whether that is the hop which the experiment meant."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bakeoff.metrics.quantities import NS_PER_MS, ms
from bakeoff.scenario import largest_packet_bytes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl

# A link that is never overloaded still lets a packet wait for the one before it, and sometimes for two.
_PACKETS_OF_A_QUEUE = 2
# The queue is elsewhere if packets wait so much longer there: hops may share it, and percentiles are not exact.
_CLEARLY_LONGER = 2.0
# Capacities that differ by less are equal: random links carry a little more or less in every run.
_EQUAL_CAPACITY = 1.01


@dataclass(frozen=True, kw_only=True)
class Queueing:
    """The queue of one direction that carries data. Delays are 95th percentiles of the time in a hop's queue.

    Attributes:
        direction: `forward` or `reverse`.
        meant: the hops with the lowest mean capacity during the run, where the queue is meant to be.
        hop: where packets waited longest; None if no queue built up, as when the application is the limit.
        queue_p95_ms: how long they waited there.
        meant_p95_ms: how long they waited where they were meant to.
        warning: a sentence if the queue built up elsewhere than meant.
    """

    direction: str
    meant: tuple[str, ...]
    hop: str | None
    queue_p95_ms: float | None
    meant_p95_ms: float | None
    warning: str | None


def check(hops: pl.DataFrame, scenario: Mapping[str, Any]) -> tuple[Queueing, ...]:
    """Looks at the queues of a run; directions without a rate say nothing.

    Args:
        hops: the table `hops`.
        scenario: the scenario of the run, for the directions of its flows and the size of packets.
    """
    rows = [row for row in hops.iter_rows(named=True) if row["in_packets"]]
    found = []
    for direction in sorted({flow["direction"] for flow in scenario["flows"]}):
        on_the_way = [row for row in rows if row["hop"].partition(".")[0] == direction]
        limited = [row for row in on_the_way if row["capacity_bytes"]]
        if limited:
            found.append(_check(direction, on_the_way, limited, scenario))
    return tuple(found)


def _check(
    direction: str,
    on_the_way: Sequence[Mapping[str, Any]],
    limited: Sequence[Mapping[str, Any]],
    scenario: Mapping[str, Any],
) -> Queueing:
    least = min(row["capacity_bytes"] for row in limited)
    meant = [row for row in limited if row["capacity_bytes"] <= least * _EQUAL_CAPACITY]
    longest = max(on_the_way, key=_wait)
    packet_ns = largest_packet_bytes(scenario) * scenario["duration_ns"] / least
    built_up = _wait(longest) > _PACKETS_OF_A_QUEUE * packet_ns
    there, here = _wait(longest), max(_wait(row) for row in meant)
    is_elsewhere = built_up and longest not in meant and there >= _CLEARLY_LONGER * here
    names = tuple(row["hop"] for row in meant)
    if built_up and not is_elsewhere:
        # Where waits are alike, the queue counts as being where it was meant to be.
        longest = max(meant, key=_wait)
    return Queueing(
        direction=direction,
        meant=names,
        hop=longest["hop"] if built_up else None,
        queue_p95_ms=ms(_wait(longest)) if built_up else None,
        meant_p95_ms=ms(here),
        warning=_warning(longest["hop"], there, names, here) if is_elsewhere else None,
    )


def _wait(row: Mapping[str, Any]) -> int:
    return row["queue_p95_ns"] or 0


def _warning(hop: str, there_ns: int, meant: Sequence[str], here_ns: int) -> str:
    return (
        f"the queue built up at {hop} ({_told(there_ns)} in the 95th percentile), not at {' or '.join(meant)} "
        f"({_told(here_ns)}), which has the lowest rate of its direction"
    )


def _told(wait_ns: int) -> str:
    """A wait in ms with three digits, or as many as it has before the point; never with an exponent."""
    wait_ms = wait_ns / NS_PER_MS
    return f"{wait_ms:.0f} ms" if wait_ms >= 999.5 else f"{wait_ms:.3g} ms"

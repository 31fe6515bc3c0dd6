"""How much of the bottleneck was used."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bakeoff.metrics.quantities import mbps

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl


@dataclass(frozen=True)
class Bottleneck:
    """The hop of the data direction that could carry least, of both directions where data goes both ways.

    Attributes:
        hop: its name.
        capacity_mbps: what it could have carried over the run, Mbit/s: its link, or its policer if that lets less pass.
        utilisation: what it carried, as a ratio of that; None of a link that could carry nothing in the whole run.
    """

    hop: str
    capacity_mbps: float
    utilisation: float | None


# What happens to packets behind the link, which has carried those that are lost there and not the second copies.
_BEHIND = {"loss": 1, "replay": 1, "duplicate": -1}


def bottleneck(hops: pl.DataFrame, verdicts: pl.DataFrame, scenario: Mapping[str, Any]) -> Bottleneck | None:
    """The bottleneck of a run; None if nothing limits the rate.

    Args:
        hops: the table `hops`.
        verdicts: the table `verdicts`.
        scenario: the scenario of the run, for the direction of its flows and the policers of its hops.
    """
    directions = {flow["direction"] for flow in scenario["flows"]}
    limited = [
        (limit, row)
        for row in hops.iter_rows(named=True)
        if row["hop"].partition(".")[0] in directions and (limit := _capacity_bytes(row, scenario)) is not None
    ]
    if not limited:
        return None
    capacity_bytes, least = min(limited, key=lambda found: found[0])
    capacity = mbps(capacity_bytes, scenario["duration_ns"])
    if capacity is None:
        return None
    of_hop = verdicts.filter(verdicts["hop"] == least["hop"]).iter_rows(named=True)
    behind = sum(_BEHIND.get(row["reason"], 0) * row["bytes"] for row in of_hop)
    # Recordings of older versions do not tell what was on the wire at the end.
    carried = least["out_bytes"] + least.get("on_wire_bytes", 0) + behind
    return Bottleneck(least["hop"], capacity, carried / capacity_bytes if capacity_bytes else None)


def policed_bps(scenario: Mapping[str, Any], hop: str) -> int | None:
    """The rate that the policer of a hop lets pass in the long run, bit/s; None without one.

    Args:
        scenario: the scenario of the run.
        hop: name of the hop, such as `forward.0`.
    """
    direction, _, place = hop.partition(".")
    found = scenario.get(direction, ())[int(place) :][:1]
    return int(found[0]["policer"]["rate_bps"]) if found and "policer" in found[0] else None


def _capacity_bytes(row: Mapping[str, Any], scenario: Mapping[str, Any]) -> float | None:
    """What a hop could have carried over the run; None without a limit."""
    policed = policed_bps(scenario, row["hop"])
    of_policer = None if policed is None else policed * scenario["duration_ns"] / 8e9
    return min((limit for limit in (row["capacity_bytes"], of_policer) if limit is not None), default=None)

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
        capacity_mbps: what it could have carried over the run, Mbit/s.
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
        scenario: the scenario of the run, for the direction of its flows.
    """
    directions = {flow["direction"] for flow in scenario["flows"]}
    limited = [
        row
        for row in hops.iter_rows(named=True)
        if row["hop"].partition(".")[0] in directions and row["capacity_bytes"] is not None
    ]
    if not limited:
        return None
    least = min(limited, key=lambda row: row["capacity_bytes"])
    capacity = mbps(least["capacity_bytes"], scenario["duration_ns"])
    if capacity is None:
        return None
    of_hop = verdicts.filter(verdicts["hop"] == least["hop"]).iter_rows(named=True)
    behind = sum(_BEHIND.get(row["reason"], 0) * row["bytes"] for row in of_hop)
    # Recordings of older versions do not tell what was on the wire at the end.
    carried = least["out_bytes"] + least.get("on_wire_bytes", 0) + behind
    return Bottleneck(least["hop"], capacity, carried / least["capacity_bytes"] if least["capacity_bytes"] else None)

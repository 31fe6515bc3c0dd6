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
    """The hop of the data direction that could carry least.

    Attributes:
        hop: its name.
        capacity_mbps: what it could have carried over the run, Mbit/s.
        utilisation: what it carried, as a ratio of that.
    """

    hop: str
    capacity_mbps: float
    utilisation: float


def bottleneck(hops: pl.DataFrame, scenario: Mapping[str, Any]) -> Bottleneck | None:
    """The bottleneck of a run; None if nothing limits the rate.

    Args:
        hops: the table `hops`.
        scenario: the scenario of the run, for the direction of its flows.
    """
    directions = {flow["direction"] for flow in scenario["flows"]}
    limited = [
        row
        for row in hops.iter_rows(named=True)
        if row["hop"].partition(".")[0] in directions and row["capacity_bytes"]
    ]
    if not limited:
        return None
    least = min(limited, key=lambda row: row["capacity_bytes"])
    capacity = mbps(least["capacity_bytes"], scenario["duration_ns"])
    if capacity is None:
        return None
    return Bottleneck(least["hop"], capacity, least["out_bytes"] / least["capacity_bytes"])

"""The numbers of probes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bakeoff.metrics.percentile import nearest
from bakeoff.metrics.quantities import ms

if TYPE_CHECKING:
    import polars as pl

_PERCENTILES = (50, 95, 99)


@dataclass(frozen=True, kw_only=True)
class ProbeSummary:
    """One probe of one run. Times in ms; None is what does not exist.

    Attributes:
        probe: number, from 1.
        sent_packets: requests sent.
        lost_packets: requests that were lost, or their answers; not those still under way at the end.
        rtt_p50_ms: median time from a request to its answer.
        rtt_p95_ms: 95th percentile of it.
        rtt_p99_ms: 99th percentile of it.
        rtt_max_ms: the longest.
    """

    probe: int
    sent_packets: int
    lost_packets: int
    rtt_p50_ms: float | None
    rtt_p95_ms: float | None
    rtt_p99_ms: float | None
    rtt_max_ms: float | None


def summarise(table: pl.DataFrame, count: int) -> tuple[ProbeSummary, ...]:
    """The probes of a run, by number.

    Args:
        table: the table `probes` of a recording.
        count: how many probes the run had; one that fell silent before its start has no rows.
    """
    return tuple(_summary(number, table.filter(table["probe"] == number)) for number in range(1, count + 1))


def _summary(number: int, rows: pl.DataFrame) -> ProbeSummary:
    round_trips = rows["rtt_ns"].drop_nulls().to_numpy()
    times = {f"rtt_p{percent}_ms": ms(nearest(round_trips, percent)) for percent in _PERCENTILES}
    times["rtt_max_ms"] = ms(nearest(round_trips, 100))
    lost = int((rows["fate"] == "dropped").sum())
    return ProbeSummary(probe=number, sent_packets=rows.height, lost_packets=lost, **times)

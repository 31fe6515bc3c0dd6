"""What one hop of one run did with its packets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bakeoff.metrics.quantities import ms

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, kw_only=True)
class HopSummary:
    """One hop of one run.

    Attributes:
        hop: name, such as `forward.0`.
        in_packets: packets that entered.
        out_packets: packets that left.
        dropped: packets dropped, by reason.
        marked: packets marked, by reason.
        duplicated: second copies that the wire made, by reason.
        inside_packets: packets inside at the end.
        queue_p50_ms: median time in its queue.
        queue_p95_ms: 95th percentile of it.
    """

    hop: str
    in_packets: int
    out_packets: int
    dropped: dict[str, int]
    marked: dict[str, int]
    duplicated: dict[str, int]
    inside_packets: int
    queue_p50_ms: float | None
    queue_p95_ms: float | None


def summarise_hops(hops: pl.DataFrame, verdicts: pl.DataFrame) -> tuple[HopSummary, ...]:
    """What each hop of a run counted, along the path.

    Args:
        hops: the table of hops of a recording.
        verdicts: its table of verdicts, which has the reasons.
    """
    reasons: dict[tuple[str, str], dict[str, int]] = {}
    for row in verdicts.iter_rows(named=True):
        reasons.setdefault((row["hop"], row["verdict"]), {})[row["reason"]] = row["packets"]
    return tuple(
        HopSummary(
            hop=row["hop"],
            in_packets=row["in_packets"],
            out_packets=row["out_packets"],
            dropped=reasons.get((row["hop"], "drop"), {}),
            marked=reasons.get((row["hop"], "mark"), {}),
            duplicated=reasons.get((row["hop"], "duplicate"), {}),
            inside_packets=row["inside_packets"],
            queue_p50_ms=ms(row["queue_p50_ns"]),
            queue_p95_ms=ms(row["queue_p95_ns"]),
        )
        for row in hops.iter_rows(named=True)
    )

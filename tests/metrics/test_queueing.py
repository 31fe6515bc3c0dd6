"""Where queues build up: stated always, and warned of only if that is not where it was meant to be."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from bakeoff.metrics import queueing

if TYPE_CHECKING:
    from bakeoff.metrics.queueing import Queueing

MS = 1_000_000
SECOND = 1_000_000_000


def scenario(*directions: str) -> dict[str, Any]:
    flows = [{"direction": name, "mss_bytes": 1448, "header_bytes": 52} for name in directions or ("forward",)]
    return {"duration_ns": 10 * SECOND, "flows": flows}


def hops(*rows: tuple[str, float | None, float | None]) -> pl.DataFrame:
    """A table of hops: name, capacity in Mbit/s, and the 95th percentile of the wait in ms."""
    return pl.DataFrame(
        [
            {
                "hop": name,
                "in_packets": 1000,
                "capacity_bytes": None if rate is None else int(rate * 1e6 / 8 * 10),
                "queue_p95_ns": None if wait is None else int(wait * MS),
            }
            for name, rate, wait in rows
        ],
        schema={"hop": pl.String, "in_packets": pl.Int64, "capacity_bytes": pl.Int64, "queue_p95_ns": pl.Int64},
    )


def only(table: pl.DataFrame, *directions: str) -> Queueing:
    (found,) = queueing.check(table, scenario(*directions))
    return found


def test_the_narrowest_hop_has_the_queue() -> None:
    found = only(hops(("forward.0", 100, 0.3), ("forward.1", 10, 40), ("reverse.0", None, 0)))
    assert (found.meant, found.hop, found.queue_p95_ms, found.warning) == (("forward.1",), "forward.1", 40, None)


def test_a_queue_at_a_faster_hop_is_a_warning() -> None:
    found = only(hops(("forward.0", 100, 80), ("forward.1", 10, 1.3)))
    assert found.hop == "forward.0"
    assert found.warning == (
        "the queue built up at forward.0 (80 ms in the 95th percentile), not at forward.1 (1.3 ms), "
        "which has the lowest rate of its direction"
    )


@pytest.mark.parametrize(("wait", "told"), [(999.7, "1000 ms"), (7277, "7277 ms"), (12_345, "12345 ms")])
def test_long_waits_have_no_exponent(wait: float, told: str) -> None:
    warning = only(hops(("forward.0", 100, wait), ("forward.1", 10, 1.3))).warning
    assert warning is not None
    assert f"forward.0 ({told} in the 95th percentile)" in warning


def test_a_hop_without_a_rate_that_holds_packets_is_a_warning() -> None:
    assert only(hops(("forward.0", None, 30), ("forward.1", 10, 5))).hop == "forward.0"


@pytest.mark.parametrize("wait", [0, 1.2, 2.3, 2.4, None])
def test_no_queue_is_no_warning(wait: float | None) -> None:
    found = only(hops(("forward.0", 100, 0.2), ("forward.1", 10, wait)))
    assert (found.hop, found.queue_p95_ms, found.warning) == (None, None, None)


def test_more_than_two_packets_are_a_queue() -> None:
    assert only(hops(("forward.0", 10, 2.5))).hop == "forward.0"
    # Of the largest packets that there are.
    mixed = scenario("forward", "forward")
    mixed["flows"][0]["mss_bytes"] = 448
    (found,) = queueing.check(hops(("forward.0", 10, 2.3)), mixed)
    assert found.hop is None


def test_a_wait_twice_as_long_elsewhere_is_a_warning() -> None:
    assert only(hops(("forward.0", 100, 20), ("forward.1", 10, 10))).warning is not None
    # Of several hops that are meant, the one with the longest wait counts.
    found = only(hops(("forward.0", 10.05, 5), ("forward.1", 10, 30), ("forward.2", 100, 40)))
    assert (found.hop, found.queue_p95_ms, found.meant_p95_ms, found.warning) == ("forward.1", 30, 30, None)


def test_a_hop_that_nothing_reached_is_not_meant() -> None:
    table = hops(("forward.0", 100, 40), ("forward.1", 10, None))
    table = table.with_columns(in_packets=pl.when(pl.col("hop") == "forward.0").then(pl.lit(1000)).otherwise(0))
    found = only(table)
    assert (found.meant, found.hop, found.warning) == (("forward.0",), "forward.0", None)


def test_a_burst_at_the_faster_hop_is_no_queue() -> None:
    assert only(hops(("forward.0", 100, 2.3), ("forward.1", 10, 0.5))).warning is None


def test_equal_waits_and_equal_rates_count_as_meant() -> None:
    found = only(hops(("forward.0", 100, 12), ("forward.1", 10, 10)))
    assert (found.hop, found.warning) == ("forward.1", None)
    found = only(hops(("forward.0", 10.05, 50), ("forward.1", 10, 2)))
    assert (found.meant, found.hop, found.warning) == (("forward.0", "forward.1"), "forward.0", None)


def test_directions_without_data_or_rate_say_nothing() -> None:
    table = hops(("forward.0", 10, 40), ("reverse.0", 1, 90))
    assert [found.direction for found in queueing.check(table, scenario("forward"))] == ["forward"]
    both = queueing.check(table, scenario("forward", "reverse"))
    assert [(found.direction, found.hop) for found in both] == [("forward", "forward.0"), ("reverse", "reverse.0")]
    assert queueing.check(hops(("forward.0", None, 0)), scenario()) == ()


def test_a_wait_behind_two_large_probes_is_no_queue() -> None:
    table = hops(("forward.0", 100, 0), ("forward.1", 1, 20))
    small = {"direction": "forward", "mss_bytes": 148, "header_bytes": 52}
    asked = {"duration_ns": 10 * SECOND, "flows": [small]}
    (without,) = queueing.check(table, asked)
    assert without.hop == "forward.1"
    (beside,) = queueing.check(table, {**asked, "probes": [{"size_bytes": 1500}]})
    assert beside.hop is None

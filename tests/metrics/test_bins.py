"""Throughput over time: which bin a packet falls into, and at which edge its bin is drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

from bakeoff.metrics import bins

if TYPE_CHECKING:
    from collections.abc import Callable

    from bakeoff.recording import ResultFolder

MS = 1_000_000


def frame(rows: list[tuple[int, int, int, int | None]]) -> pl.DataFrame:
    schema = {"flow": pl.Int64, "size_bytes": pl.Int64, "sent_ns": pl.Int64, "received_ns": pl.Int64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def test_edges_are_those_of_pantheon() -> None:
    # The first packet leaves at 70 ms: bins begin there. Flow 2 has an empty bin between two full ones.
    rates = bins.from_packets(
        frame(
            [
                (1, 1000, 70 * MS, 569 * MS),
                (1, 1000, 569 * MS, 570 * MS),
                (2, 500, 600 * MS, 700 * MS),
                (2, 500, 1600 * MS, 1700 * MS),
                (2, 500, 1601 * MS, None),
            ]
        )
    )
    assert rates is not None
    assert rates.origin_ns == 70 * MS
    assert rates.t_s.tolist() == [0.0, 0.5, 1.0, 1.5, 2.0]
    nan, one, half = np.nan, 8 * 1000 / 500_000, 8 * 500 / 500_000
    np.testing.assert_allclose(rates.sent_mbps[1], [2 * one, nan, nan, nan, nan])
    np.testing.assert_allclose(rates.received_mbps[1], [0, one, one, nan, nan])
    np.testing.assert_allclose(rates.sent_mbps[2], [nan, half, 0, 2 * half, nan])
    np.testing.assert_allclose(rates.received_mbps[2], [nan, 0, half, 0, half])


def totals(size: int) -> pl.DataFrame:
    """The table `flows` of a flow that sends from 70 ms on, and whose packets arrive from 100 to 500 ms."""
    return pl.DataFrame(
        {
            "flow": [1],
            "sent_bytes": [size],
            "received_bytes": [size],
            "first_sent_ns": [70 * MS],
            "first_received_ns": [100 * MS],
            "last_received_ns": [500 * MS],
        }
    )


def test_series_and_packets_agree(filled: Callable[..., ResultFolder], plan_of: Callable[..., Any]) -> None:
    recording = filled(plan_of(("cubic",), 1)).recordings()[0]
    exact, binned = (
        bins.from_packets(recording.table("packets")),
        bins.from_series(recording.table("series"), recording.table("flows"), 100 * MS, 30_000 * MS),
    )
    assert exact is not None
    assert binned is not None
    assert exact.origin_ns == 0
    for flow in (1, 2, 3):
        np.testing.assert_allclose(exact.received_mbps[flow], binned.received_mbps[flow])
        np.testing.assert_allclose(exact.sent_mbps[flow], binned.sent_mbps[flow])
        assert binned.received_mean_mbps[flow] == exact.received_mean_mbps[flow]
        assert binned.sent_mean_mbps[flow] == pytest.approx(exact.sent_mean_mbps[flow], rel=0.01)


def test_capacity_is_that_of_the_link(filled: Callable[..., ResultFolder], plan_of: Callable[..., Any]) -> None:
    recording = filled(plan_of(("cubic",), 1)).recordings()[0]
    rates = bins.from_packets(recording.table("packets"))
    assert rates is not None
    capacity = bins.capacity(recording.table("hop_series"), "forward.0", rates)
    assert capacity is not None
    np.testing.assert_allclose(capacity, 2.1)
    assert bins.capacity(recording.table("hop_series"), "reverse.0", rates) is None


def test_capacity_where_bins_do_not_line_up() -> None:
    rates = bins.from_packets(frame([(1, 1000, 250 * MS, 300 * MS), (1, 1000, 1100 * MS, 1150 * MS)]))
    assert rates is not None
    hop_series = pl.DataFrame(
        {"t_ns": [500 * MS, 1000 * MS], "hop": ["a", "a"], "capacity_bytes": [1000, 3000]},
        schema_overrides={"t_ns": pl.Int64},
    )
    capacity = bins.capacity(hop_series, "a", rates)
    assert capacity is not None
    # 250..750 ms has half of each; 750..1250 ms has only the last quarter second that the run covers.
    assert capacity.tolist() == pytest.approx([8 * 2000 / 500_000, 8 * 1500 / 250_000, 8 * 1500 / 250_000])


def test_nothing_sent() -> None:
    assert bins.from_packets(frame([])) is None


@pytest.mark.parametrize(
    ("interval_ms", "sizes", "expected"),
    [
        (100, [100] * 10, [500, 500]),
        (500, [100, 300], [100, 300]),
        # A bin that reaches across an edge counts for both sides.
        (200, [100] * 5, [250, 250]),
        (1000, [100, 300], [50, 50, 150, 150]),
        (400, [0, 100, 200], [25, 175, 100]),
    ],
)
def test_what_was_recorded_is_spread_evenly(interval_ms: int, sizes: list[int], expected: list[float]) -> None:
    rows = [(1, index * interval_ms * MS, size, size) for index, size in enumerate(sizes)]
    series = pl.DataFrame(rows, schema=["flow", "t_ns", "sent_bytes", "received_bytes"], orient="row")
    rates = bins.from_series(series, totals(sum(sizes)), interval_ms * MS, 10_000 * MS)
    assert rates is not None
    assert rates.t_s.size == len(expected) + 1
    np.testing.assert_allclose(rates.sent_mbps[1][:-1], np.array(expected) * 8 / 500_000)
    np.testing.assert_allclose(rates.received_mbps[1][1:], np.array(expected) * 8 / 500_000)
    assert rates.sent_mean_mbps[1] == pytest.approx(sum(sizes) * 8e-3 / (interval_ms * len(sizes) - 70))
    assert rates.received_mean_mbps[1] == pytest.approx(sum(sizes) * 8e-3 / 400)


def test_a_mean_is_over_the_time_from_the_first_to_the_last() -> None:
    rates = bins.from_packets(frame([(1, 1000, 0, 90 * MS), (1, 1000, 50 * MS, 190 * MS), (2, 1000, 0, None)]))
    assert rates is not None
    assert rates.sent_mean_mbps == {1: pytest.approx(2000 * 8e-3 / 50), 2: None}
    assert rates.received_mean_mbps == {1: pytest.approx(2000 * 8e-3 / 100), 2: None}


def test_the_last_interval_ends_with_the_run() -> None:
    series = pl.DataFrame(
        {"flow": [1, 1], "t_ns": [0, 1000 * MS], "sent_bytes": [200, 100], "received_bytes": [200, 100]}
    )
    rates = bins.from_series(series, totals(300), 1000 * MS, 1500 * MS)
    assert rates is not None
    np.testing.assert_allclose(rates.sent_mbps[1][:-1], np.full(3, 100 * 8 / 500_000))
    assert rates.sent_mean_mbps[1] == pytest.approx(300 * 8e-3 / 1430)


def test_a_flow_of_which_nothing_arrived_has_no_mean() -> None:
    series = pl.DataFrame({"flow": [1], "t_ns": [0], "sent_bytes": [200], "received_bytes": [0]})
    nothing = totals(200).with_columns(
        pl.lit(0).alias("received_bytes"), *(pl.lit(None).alias(f"{end}_received_ns") for end in ("first", "last"))
    )
    rates = bins.from_series(series, nothing, 100 * MS, 1500 * MS)
    assert rates is not None
    assert rates.sent_mean_mbps[1] == pytest.approx(200 * 8e-3 / 30)
    assert rates.received_mean_mbps[1] is None

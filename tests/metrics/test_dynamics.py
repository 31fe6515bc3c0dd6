"""Rates side by side, convergence and spikes, on series made by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from bakeoff.metrics.corrected import Interval
from bakeoff.metrics.dynamics import convergence_s, goodputs_mbps, of_run, spike
from bakeoff.metrics.quantities import NS_PER_S
from bakeoff.recording import ResultFolder

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

BIN = NS_PER_S // 2


def series(*flows: list[int], width: int = BIN) -> pl.DataFrame:
    """Flows that receive these bytes in bins, by default of half a second."""
    rows = [(flow, index * width, size) for flow, sizes in enumerate(flows, 1) for index, size in enumerate(sizes)]
    table = pl.DataFrame(rows, schema=["flow", "t_ns", "received_bytes"], orient="row")
    return table.with_columns(goodput_bytes=pl.col("received_bytes") // 2)


def test_goodput_is_of_the_bins_inside() -> None:
    table = series([100, 200, 300, 400], [0, 0, 0, 8])
    found = goodputs_mbps(table, [1, 2, 3], Interval(BIN, 3 * BIN), BIN)
    assert found == {1: pytest.approx(250 * 8e-6), 2: 0, 3: 0}
    # Of a stretch that begins and ends within bins, those that lie in it count, and their time.
    assert goodputs_mbps(table, [1], Interval(BIN // 2, 3 * BIN + 1), BIN) == {1: pytest.approx(250 * 8e-6)}
    assert goodputs_mbps(table, [1], Interval(BIN + 1, 2 * BIN), BIN) == {1: None}


@pytest.mark.parametrize(
    ("second", "expected"),
    [
        ([10] * 20, 2.0),
        # 125 % is even, more is not.
        ([8] * 20, 2.0),
        ([7] * 20, None),
        # After 5 bins the rest is even; the 2 s that begin one bin earlier are not.
        ([1] * 5 + [10] * 15, 4.5),
        # Even for 2 s, but not on the whole of what follows.
        ([10] * 4 + [5] * 16, None),
        # A saw is even on the whole, from the first 2 s on.
        ([5, 15] * 10, 2.0),
        ([10] * 4 + [1] * 8 + [10] * 8, 8.0),
    ],
)
def test_convergence_lasts_on_the_whole(second: list[int], expected: float | None) -> None:
    start = [0] * 4
    table = series([20] * 4 + [10] * 20, start + second)
    assert convergence_s(table, [1, 2], Interval(4 * BIN, 24 * BIN), BIN) == expected


@pytest.mark.parametrize(
    ("interval_ms", "expected"), [(100, 2.0), (300, 2.1), (700, 2.1), (1500, 3.0), (2000, 2.0), (3000, 3.0)]
)
def test_a_stretch_is_never_shorter_than_two_seconds(interval_ms: int, expected: float) -> None:
    width = interval_ms * 1_000_000
    table = series([10] * 40, [10] * 40, width=width)
    assert convergence_s(table, [1, 2], Interval(0, 40 * width), width) == expected


def test_flows_that_have_no_longer_than_a_stretch_can_be_even_in_it() -> None:
    assert convergence_s(series([10] * 4, [10] * 4), [1, 2], Interval(0, 4 * BIN), BIN) == 2.0


def test_silence_at_the_end_is_not_even() -> None:
    table = series([90] * 16 + [0] * 6, [10] * 16 + [0] * 6)
    assert convergence_s(table, [1, 2], Interval(0, 22 * BIN), BIN) is None


def test_a_flow_without_rows_is_a_starved_one() -> None:
    assert convergence_s(series([10] * 20), [1, 2], Interval(0, 20 * BIN), BIN) is None
    assert convergence_s(series([10] * 3), [1], Interval(0, 3 * BIN), BIN) is None, "shorter than the window"


def test_a_spike_is_what_rises_after_the_last_start() -> None:
    times = [BIN * index for index in range(60)]
    first = [50.0 if 4 <= index < 7 else 20.0 for index in range(60)]
    # The rise ends before 15 s after the start of the last flow, and 10 ms are none.
    second = [70.0 if 6 <= index < 9 else 90.0 if index == 34 else 30.0 for index in range(60)]
    rows = [
        (time, flow, value)
        for flow, values in ((1, first), (2, second))
        for time, value in zip(times, values, strict=True)
    ]
    table = pl.DataFrame(rows, schema=["t_ns", "flow", "value"], orient="row")
    assert spike(table, 2 * NS_PER_S, BIN) == (50.0, 2.5)
    assert spike(table, 40 * NS_PER_S, BIN) == (None, None)
    # What it rises above may lie before the start.
    earlier = pl.DataFrame({"t_ns": [0], "flow": [1], "value": [15.0]})
    assert spike(pl.concat([table, earlier]), 2 * NS_PER_S, BIN) == (55.0, 15.0)


def test_what_is_late_is_of_the_second_half(filled: Callable[..., ResultFolder], plan_of: Callable[..., Any]) -> None:
    recording = filled(plan_of(("cubic",), 1, level="series")).recordings()[0]
    found = of_run(recording, {1: Interval(0, 30 * NS_PER_S), 2: Interval(10 * NS_PER_S, 30 * NS_PER_S)})
    for half, whole in ((20, "late_mbps"), (10, "together_mbps")):
        stretch = Interval(half * NS_PER_S, 30 * NS_PER_S)
        goodputs = goodputs_mbps(recording.table("series"), [1, 2], stretch, 100_000_000)
        assert {number: getattr(flow, whole) for number, flow in found.flows.items()} == goodputs


def test_samples_before_the_first_round_trip_are_none(
    tmp_path: Path, plan_of: Callable[..., Any], tables_of: Callable[..., Any]
) -> None:
    plan = plan_of(("cubic",), 1, level="series")
    tables = tables_of(plan.runs[0].scenario, 1)
    rows = [(time * NS_PER_S, 1, "srtt", value) for time, value in ((1, 0.0), (2, 0.0), (3, 40.0))]
    telemetry = pl.DataFrame(rows, schema=["t_ns", "flow", "name", "value"], orient="row")
    folder = ResultFolder.create(tmp_path / "r", plan)
    folder.write_run(plan.runs[0], tables | {"telemetry": telemetry})
    found = of_run(folder.recordings()[0], {1: Interval(0, 30 * NS_PER_S)})
    assert (found.flows[1].srtt_p50_ms, found.flows[1].srtt_p95_ms, found.spike_ms) == (40.0, 40.0, 0.0)

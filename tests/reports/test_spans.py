"""Figures of long runs: lines through spans of time, and areas that hold every sample."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.reports.test_html import decode

from bakeoff.reports import model
from bakeoff.reports.html import encode, run_figures, spans

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from bakeoff.recording import ResultFolder

NAN = float("nan")


@pytest.mark.parametrize(
    ("end_s", "step_s", "length_s", "count"),
    [(7200, 0.5, 20, 360), (601, 0.5, 2, 301), (180, 0.1, 0.5, 360), (1e7, 500, 20000, 500)],
)
def test_spans_have_round_lengths_and_reach_the_end(end_s: float, step_s: float, length_s: float, count: int) -> None:
    times = np.arange(round(end_s / step_s) + 1, dtype=np.float64) * step_s
    found = spans.of_samples(times, 1000)
    assert found is not None
    assert (found.length_s, found.count) == (length_s, count)
    # The last sample is that of the end of the run, and has no span of its own.
    assert found.of[-2:].tolist() == [count - 1] * 2
    assert np.bincount(found.of)[:-1].tolist() == [round(length_s / step_s)] * (count - 1)
    assert found.edges()[-1] >= end_s
    assert spans.of_samples(times, times.size) is None


def test_a_span_has_the_least_a_middle_and_the_largest_of_its_samples() -> None:
    found = spans.Spans(1.0, np.array([0, 0, 0, 0, 1, 1, 3]))
    curve = np.array([4.0, 1.0, 2.0, NAN, NAN, NAN, 7.0])
    low, mean, high = found.taken(curve, "mean")
    np.testing.assert_array_equal(low, [1, NAN, NAN, 7])
    np.testing.assert_allclose(mean, [7 / 3, NAN, NAN, 7])
    np.testing.assert_array_equal(high, [4, NAN, NAN, 7])
    np.testing.assert_array_equal(found.line(curve, "largest"), high)
    # A state between two others is none.
    np.testing.assert_array_equal(found.line(np.array([4.0, 1.0, 2.0, 3.0, 1.0, 3.0, 7.0]), "median"), [2, 1, NAN, 7])
    weights = np.array([1.0, 0.0, 3.0, 1.0, 1.0, 1.0, 1.0])
    low, mean, _ = found.taken(curve, "mean", weights)
    np.testing.assert_allclose(mean, [10 / 4, NAN, NAN, 7])
    # What counts for nothing is no sample.
    np.testing.assert_array_equal(low, [2, NAN, NAN, 7])


def test_the_figures_of_a_long_run_lose_nothing(
    filled: Callable[..., ResultFolder], plan_of: Callable[..., Any]
) -> None:
    plan = plan_of(("vegas",), 1, level="series", flows=1, seconds=700, reference=None)
    (run,) = model.load(filled(plan)).runs
    figures = run_figures.figures(run, pack := encode.Pack(), 1000, {})
    floats = decode(pack.encode())

    def drawn(place: tuple[int, int]) -> NDArray[np.float32]:
        return floats[place[0] : sum(place)]

    throughput = figures["throughput"]
    styles = [entry["style"] for entry in throughput["series"]]
    assert styles == ["area", "range", "dashed", "solid"]
    _, area, _, egress = throughput["series"]
    edges, line = drawn(throughput["x"]), drawn(egress["y"])
    assert np.unique(np.diff(edges)).tolist() == [2.0]
    (row,) = run.recording.table("flows").filter(run.recording.table("flows")["flow"] == 1).to_dicts()
    assert line[:-1].sum() * 2e6 / 8 == pytest.approx(row["received_bytes"], rel=1e-3)
    assert (drawn(area["low"])[:-1] <= line[:-1]).all()
    assert (drawn(area["y"])[:-1] >= line[:-1]).all()
    assert "means over 2 s" in throughput["note"]
    series = run.recording.table("series")
    mean, largest = (drawn(entry["y"]) for entry in figures["delay"]["series"])
    delays, arrived = series["owd_mean_ns"].fill_null(0).to_numpy() / 1e6, series["received_packets"].to_numpy()
    assert largest.max() == pytest.approx(series["owd_max_ns"].fill_null(0).to_numpy().max() / 1e6, rel=1e-6)
    # The sixth span has the intervals of 100 ms from 10 s to 12 s.
    assert mean[5] == pytest.approx(np.average(delays[100:120], weights=arrived[100:120]), rel=1e-6)
    (window,) = (choice for choice in figures["telemetry"]["choices"] if choice["name"] == "cwnd")
    assert [entry["style"] for entry in window["series"]] == ["range", "solid"]
    values = run.recording.table("telemetry")["value"].to_numpy()
    assert np.nanmax(drawn(window["series"][0]["y"])) == pytest.approx(values.max(), rel=1e-6)

"""Differences between two worlds against values computed by hand."""

from __future__ import annotations

import math

import pytest

from bakeoff.metrics.agreement import Line, compare, errors, sample, summarise
from bakeoff.metrics.statistics import t95, welch_half_width
from bakeoff.metrics.tolerance import METRICS, Band, Metric

BY_KEY = {metric.key: metric for metric in METRICS}
THROUGHPUT, LOSS, QUEUE = BY_KEY["flow.throughput_mbps"], BY_KEY["flow.loss"], BY_KEY["flow.queue_p95_ms"]


def line(metric: Metric, ours: float, theirs: float, flow: int = 1) -> Line:
    found = compare(metric, [ours], [theirs])
    return Line(cell={"scheme": "cubic"}, flow=flow, scheme="cubic", metric=metric, found=found)


def test_welch_by_hand() -> None:
    # Variances 1 and 4 over 3 values each: standard error sqrt(5/3), freedom (5/3)^2 / (1/9/2 + 16/9/2) = 2.94 -> 2.
    assert welch_half_width([1, 2, 3], [2, 4, 6]) == pytest.approx(4.3027 * math.sqrt(5 / 3))
    # Equal variances and counts: the pooled freedom, 2n - 2.
    assert welch_half_width([1, 2, 3, 4], [5, 6, 7, 8]) == pytest.approx(t95(6) * math.sqrt(2 * (5 / 3) / 4))
    # One side without variance: the freedom of the other.
    assert welch_half_width([1, 2, 3], [5, 5]) == pytest.approx(4.3027 / math.sqrt(3))


def test_welch_at_its_edges() -> None:
    assert welch_half_width([1], [1, 2]) is None
    assert welch_half_width([1, 2], []) is None
    assert welch_half_width([3, 3], [4, 4]) == 0
    assert welch_half_width([1e-200, 2e-200], [1e-200, 2e-200]) == pytest.approx(0, abs=1e-190)


def test_a_sample() -> None:
    found = sample([1.0, 1.0, 10.0])
    assert (found.mean, found.median, found.n) == (4.0, 1.0, 3)
    assert found.sd == pytest.approx(math.sqrt(27))
    single = sample([2])
    assert (single.mean, single.median, single.sd, single.n) == (2.0, 2, None, 1)
    empty = sample([])
    assert (empty.mean, empty.median, empty.sd, empty.n) == (None, None, None, 0)


def test_a_difference_by_hand() -> None:
    found = compare(THROUGHPUT, [9.0, 10.0, 11.0], [10.0, 10.5, 11.0])
    assert found.difference == pytest.approx(-0.5)
    assert found.relative == pytest.approx(-0.5 / 10.5)
    assert found.median_difference == pytest.approx(-0.5)
    # Variances 1 and 1/4: freedom (5/12)^2 / (1/18 + 1/288) = 2.94 -> 2.
    assert found.spread == pytest.approx(4.3027 * math.sqrt(5 / 12))
    assert found.within is True
    assert found.tolerance_ratio == pytest.approx(0.5 / (0.03 * 10.5))


def test_seeds_in_two_states_show_in_the_median() -> None:
    found = compare(THROUGHPUT, [1.0, 1.0, 9.0], [1.0, 1.0, 1.0])
    assert found.relative == pytest.approx(8 / 3)
    assert (found.median_difference, found.median_relative) == (0.0, 0.0)
    # Relative to the median of the reference, whose mean is 4.
    assert compare(THROUGHPUT, [2.0, 2.0, 2.0], [1.0, 1.0, 10.0]).median_relative == 1.0


def test_the_spread_is_at_least_the_resolution() -> None:
    found = compare(QUEUE, [50.0, 50.0], [50.04, 50.04])
    assert found.spread == pytest.approx(0.001 * 50.04)
    assert found.within is True
    assert compare(QUEUE, [50.0, 50.0], [50.06, 50.06]).within is False


def test_one_repeat_has_no_spread() -> None:
    found = compare(THROUGHPUT, [1.0], [2.0])
    assert (found.spread, found.within, found.a.sd) == (None, None, None)
    assert found.relative == -0.5


def test_what_a_world_lacks_is_not_compared() -> None:
    found = compare(QUEUE, [], [1.0, 2.0])
    assert (found.difference, found.relative, found.spread, found.within, found.tolerance_ratio) == (None,) * 5
    assert found.b.mean == 1.5


def test_nothing_in_the_reference_is_an_absolute_error() -> None:
    found = compare(LOSS, [0.001], [0.0])
    assert found.relative is None
    assert found.tolerance_ratio == pytest.approx(2)
    assert compare(THROUGHPUT, [0.0], [0.0]).tolerance_ratio == 0


@pytest.mark.parametrize(
    ("ours", "theirs", "ratio"),
    [(0.115, 0.1, 1.0), (0.0012, 0.001, 0.4), (0.0025, 0.001, 3.0), (0.1, 0.1, 0.0)],
)
def test_either_side_of_a_tolerance_is_enough(ours: float, theirs: float, ratio: float) -> None:
    assert compare(LOSS, [ours], [theirs]).tolerance_ratio == pytest.approx(ratio)


def test_errors() -> None:
    assert errors([]) is None
    found = errors([-3.0, 1.0, 2.0, -4.0])
    assert found is not None
    assert (found.n, found.median, found.p90) == (4, 2.5, 4.0)
    many = errors([float(size) for size in range(11)])
    assert many is not None
    assert (many.median, many.p90) == (5.0, 9.0)


def test_a_summary_keeps_small_values_apart() -> None:
    # The floor of loss is 0.05 points / 15 %, a third of a percent.
    assert LOSS.floor == pytest.approx(0.0005 / 0.15)
    lines = [
        line(LOSS, 0.11, 0.1, 1),
        line(LOSS, 0.08, 0.1, 2),
        line(LOSS, 0.0003, 0.001, 3),
        line(LOSS, 0.003, 0.0, 4),
    ]
    found = summarise(LOSS, lines)
    assert found.relative is not None
    assert found.absolute is not None
    assert found.tolerance is not None
    assert (found.relative.n, found.absolute.n) == (2, 2)
    assert found.relative.median == pytest.approx(0.15)
    assert found.absolute.median == pytest.approx((0.0007 + 0.003) / 2)
    ratios = sorted([0.1 / 0.15, 0.2 / 0.15, 0.0007 / 0.0005, 0.003 / 0.0005])
    assert found.tolerance.median == pytest.approx((ratios[1] + ratios[2]) / 2)
    assert found.agrees is False
    assert found.far == 1
    assert found.worst is lines[3]
    assert (found.judged, found.within, found.spread) == (0, 0, None)


WHOLE = Metric(scope="flow", name="loss", tolerance=Band(relative=0.5, absolute=1.0), resolution=Band(absolute=1.0))


def test_a_bound_that_is_met_exactly_is_met() -> None:
    found = summarise(WHOLE, [line(WHOLE, 3.0, 2.0)])
    assert found.agrees is True, "one tolerance apart"
    assert found.relative is not None, "the reference is the floor"
    assert found.absolute is None
    assert summarise(WHOLE, [line(WHOLE, 5.0, 2.0)]).far == 0, "three tolerances apart"
    assert compare(WHOLE, [3.0, 3.0], [2.0, 2.0]).within is True, "as much as the resolution"


def test_the_floor_is_where_the_wider_of_two_fixed_amounts_ends() -> None:
    assert THROUGHPUT.floor == pytest.approx(0.001 / 0.03)


def test_a_summary_counts_what_is_missing() -> None:
    gone = Line(cell={}, flow=1, scheme="cubic", metric=QUEUE, found=compare(QUEUE, [], [1.0]))
    found = summarise(QUEUE, [gone, line(QUEUE, 10.5, 10.0)])
    assert (found.cells, found.missing, found.agrees) == (1, 1, True)
    nothing = summarise(QUEUE, [gone])
    assert (nothing.cells, nothing.agrees, nothing.worst, nothing.tolerance) == (0, None, None, None)


def test_the_spread_is_summarised_in_tolerances() -> None:
    found = compare(THROUGHPUT, [9.0, 10.0, 11.0], [10.0, 10.0, 10.0])
    whole = summarise(THROUGHPUT, [Line(cell={}, flow=1, scheme="x", metric=THROUGHPUT, found=found)])
    assert whole.spread is not None
    assert whole.spread.median == pytest.approx(4.3027 / math.sqrt(3) / 0.3)
    assert (whole.judged, whole.within) == (1, 1)


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.key)
def test_every_tolerance_is_above_zero_everywhere(metric: Metric) -> None:
    assert metric.allowed(0.0) > 0
    assert metric.tolerance.relative > 0
    assert metric.resolution.width(1.0) <= metric.tolerance.width(1.0) or metric.name == "retransmits"


def test_a_band_is_the_wider_of_its_sides() -> None:
    assert Band(0.1, 2.0).width(-30) == 3.0
    assert Band(0.1, 2.0).width(5) == 2.0

"""Intervals, pairs, percentiles and fairness against independent calculations."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bakeoff.metrics.fairness import jain
from bakeoff.metrics.percentile import nearest
from bakeoff.metrics.statistics import Estimate, estimate, median, paired, t95, unpaired


@pytest.mark.parametrize("freedom", [1, 2, 3, 5, 10, 20, 30, 31, 50, 200])
def test_t_quantiles_hold_95_percent(freedom: int) -> None:
    # Simpson's rule over the density of Student's t.
    grid = np.linspace(-t95(freedom), t95(freedom), 200_001)
    norm = math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2)) / math.sqrt(freedom * math.pi)
    density = norm * (1 + grid**2 / freedom) ** (-(freedom + 1) / 2)
    weights = np.where(np.arange(grid.size) % 2 == 1, 4.0, 2.0)
    weights[[0, -1]] = 1.0
    inside = float((density * weights).sum() * (grid[1] - grid[0]) / 3)
    assert inside == pytest.approx(0.95, abs=5e-5)


def test_estimates() -> None:
    assert estimate([]) is None
    single = estimate([2.5])
    assert single is not None
    assert (single.mean, single.low, single.high, single.count) == (2.5, None, None, 1)
    three = estimate([1.0, 2.0, 3.0])
    assert three is not None
    assert three.high == pytest.approx(2 + 4.3027 / math.sqrt(3))
    assert three.low == pytest.approx(2 - 4.3027 / math.sqrt(3))


def test_an_interval_ends_where_numbers_do() -> None:
    wide = Estimate(0.9, -0.3, 2.1, 3)
    assert wide.between(0, 1) == Estimate(0.9, 0, 1, 3)
    assert wide.between(-1, 3) == wide
    assert Estimate(0.9, None, None, 1).between(0, 1) == Estimate(0.9, None, None, 1)


def test_means_without_common_seeds_are_compared() -> None:
    found = unpaired([1.0, 2.0, 3.0], [2.0, 4.0, 6.0])
    # Welch: an error of sqrt(1/3 + 4/3) and 2.94 degrees of freedom, rounded down.
    assert found is not None
    assert (found.mean, found.count) == (-2, 6)
    assert (found.low, found.high) == pytest.approx((-2 - 4.3027 * math.sqrt(5 / 3), -2 + 4.3027 * math.sqrt(5 / 3)))
    assert unpaired([1.0, 2.0], [3.0]) is None
    assert unpaired([], []) is None


# From tables of the sign test: the runs, from either end, between which the median is in 95 % of cases or more.
@pytest.mark.parametrize(("count", "rank"), [(6, 1), (8, 1), (9, 2), (10, 2), (12, 3), (20, 6), (40, 14), (100, 40)])
def test_a_median_lies_between_two_runs(count: int, rank: int) -> None:
    found = median(list(range(count, 0, -1)))
    assert found is not None
    assert (found.mean, found.low, found.high, found.count) == ((count + 1) / 2, rank, count + 1 - rank, count)
    few = median([3.0, 1.0, 2.0, 9.0, 8.0])
    assert few is not None
    assert (few.mean, few.low, few.high) == (3.0, None, None)
    assert median([]) is None


def test_equal_values_have_no_width() -> None:
    found = estimate([0.1] * 7)
    assert found is not None
    assert (found.low, found.mean, found.high) == (0.1, 0.1, 0.1)


def test_pairs_cancel_what_seeds_share() -> None:
    luck = {1: 10.0, 2: 50.0, 3: 90.0}
    ours = {seed: value + 1 for seed, value in luck.items()}
    found = paired(ours, luck | {4: 0.0})
    assert found is not None
    assert (found.low, found.mean, found.high, found.count) == (1, 1, 1, 3)
    assert paired(ours, {9: 1.0}) is None


def test_jain() -> None:
    assert jain([]) is None
    assert jain([5.0]) is None
    assert jain([0.0, 0.0]) is None
    assert jain([1.0, 1.0, 1.0]) == pytest.approx(1)
    assert jain([7.0, 0.0, 0.0, 0.0]) == pytest.approx(1 / 4)
    assert jain([1.0, 3.0]) == pytest.approx(16 / 20)


@given(st.lists(st.floats(0, 1e300), min_size=2, max_size=20))
def test_jain_is_a_ratio(shares: list[float]) -> None:
    found = jain(shares)
    assert found is None or 1 / len(shares) * (1 - 1e-9) <= found <= 1 + 1e-9


@given(st.lists(st.integers(-(10**12), 10**12), min_size=1, max_size=200), st.sampled_from([50, 95, 99]))
def test_percentiles_are_samples(values: list[int], percent: float) -> None:
    found = nearest(np.array(values), percent)
    assert found in values
    assert nearest(np.array([], dtype=np.int64), percent) is None

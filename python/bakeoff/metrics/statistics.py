"""Means and medians over repeats with their uncertainty, and comparisons on equal seeds."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

# Two-sided 95 % quantiles of Student's t for 1..30 degrees of freedom, from any table of it.
_T95 = (
    12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281,
    2.2010, 2.1788, 2.1604, 2.1448, 2.1314, 2.1199, 2.1098, 2.1009, 2.0930, 2.0860,
    2.0796, 2.0739, 2.0687, 2.0639, 2.0595, 2.0555, 2.0518, 2.0484, 2.0452, 2.0423,
)  # fmt: skip
_Z95 = 1.959964


@dataclass(frozen=True)
class Estimate:
    """A mean or a median over runs.

    Attributes:
        mean: the plain mean, or the median.
        low: lower end of the 95 % confidence interval; None for a single run, and for the median of fewer than six.
        high: upper end; None as before.
        count: number of runs.
    """

    mean: float
    low: float | None
    high: float | None
    count: int

    def between(self, least: float, most: float) -> Estimate:
        """The same, its interval without values that cannot be: one of few runs reaches beyond them."""
        if self.low is None or self.high is None:
            return self
        return replace(self, low=max(self.low, least), high=min(self.high, most))


def mean_of_known(values: Iterable[float | None]) -> float | None:
    """The plain mean of those values that exist; None if none does."""
    known = [value for value in values if value is not None]
    return statistics.fmean(known) if known else None


def t95(freedom: int) -> float:
    """Two-sided 95 % quantile of Student's t distribution.

    Args:
        freedom: degrees of freedom, at least 1. Above 30 the first two terms of the Cornish-Fisher expansion
            serve (error below 0.0005).
    """
    if freedom <= len(_T95):
        return _T95[freedom - 1]
    z = _Z95
    return z + (z**3 + z) / (4 * freedom) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)


def estimate(values: Sequence[float]) -> Estimate | None:
    """Mean and 95 % t-interval of independent runs; None if there are none."""
    if not values:
        return None
    # The exact mean: equal values have that value as their mean, also beside a bound.
    mean = statistics.mean(values)
    if len(values) == 1:
        return Estimate(mean, None, None, 1)
    half = t95(len(values) - 1) * statistics.stdev(values) / math.sqrt(len(values))
    return Estimate(mean, mean - half, mean + half, len(values))


def median(values: Sequence[float]) -> Estimate | None:
    """Median of independent runs, between the two that enclose it in 95 % of cases or more; None if there are no runs.

    So many runs lie on one side of the median as heads fall in so many throws (the sign test): nothing is assumed of
    how they are distributed. Fewer than six never enclose it so surely.
    """
    if not values:
        return None
    ordered, count = sorted(values), len(values)
    outside, tail = 0, 1
    while 40 * tail <= 2**count:
        outside += 1
        tail += math.comb(count, outside)
    if outside == 0:
        return Estimate(statistics.median(ordered), None, None, count)
    return Estimate(statistics.median(ordered), ordered[outside - 1], ordered[count - outside], count)


def paired(ours: Mapping[int, float], theirs: Mapping[int, float]) -> Estimate | None:
    """Mean of `ours - theirs` over the pairs that share a seed, with its 95 % interval.

    Differences on equal seeds leave out what the seeds have in common, so far fewer repeats show a
    difference.
    """
    return estimate([value - theirs[key] for key, value in ours.items() if key in theirs])


def unpaired(ours: Sequence[float], theirs: Sequence[float]) -> Estimate | None:
    """Difference of the means of runs that have no seeds in common, with its 95 % interval by Welch's t.

    It counts the runs of both sides. None if a side has fewer than two.
    """
    half = welch_half_width(ours, theirs)
    if half is None:
        return None
    mean = statistics.mean(ours) - statistics.mean(theirs)
    return Estimate(mean, mean - half, mean + half, len(ours) + len(theirs))


def welch_half_width(ours: Sequence[float], theirs: Sequence[float]) -> float | None:
    """Half the width of the 95 % interval of the difference of two means, by Welch's t.

    The variances may differ. The degrees of freedom (Welch-Satterthwaite) are rounded down, which widens the
    interval. None if a side has fewer than two values.
    """
    if min(len(ours), len(theirs)) < 2:
        return None
    parts = [statistics.variance(values) / len(values) for values in (ours, theirs)]
    error = sum(parts)
    if error == 0:
        return 0.0
    # Shares rather than squares of variances: the latter underflow.
    shares = ((part / error) ** 2 / (len(values) - 1) for part, values in zip(parts, (ours, theirs), strict=True))
    freedom = max(1, math.floor(1 / sum(shares) + 1e-9))
    return t95(freedom) * math.sqrt(error)

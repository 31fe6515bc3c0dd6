"""How far two worlds agree on a number: differences over seeds, in units of their tolerance, and their summary.

The second world is the reference: differences are first minus second, and relative to the second.
"""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bakeoff.metrics.percentile import nearest_of
from bakeoff.metrics.statistics import welch_half_width

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bakeoff.metrics.tolerance import Metric

FAR = 3.0
"""Beyond this many tolerances a value is far, and listed as one of the worst."""


@dataclass(frozen=True)
class Sample:
    """One number over the seeds of a world.

    Attributes:
        mean: the plain mean; None without a value.
        median: the middle value, which seeds that fall into one of two states do not blur.
        sd: standard deviation between seeds; None for fewer than two.
        n: number of complete runs that have the number.
    """

    mean: float | None
    median: float | None
    sd: float | None
    n: int


def sample(values: Sequence[float]) -> Sample:
    """Mean, median and standard deviation."""
    if not values:
        return Sample(None, None, None, 0)
    deviation = statistics.stdev(values) if len(values) > 1 else None
    # The exact mean, as in `statistics.estimate`: equal values have that value as their mean.
    return Sample(float(statistics.mean(values)), statistics.median(values), deviation, len(values))


@dataclass(frozen=True, kw_only=True)
class Difference:
    """One number in two worlds. What does not exist is None.

    Attributes:
        a: in the first world.
        b: in the second, the reference.
        difference: mean in a minus mean in b.
        relative: that over the mean in b; None if b is 0.
        median_difference: median in a minus median in b.
        median_relative: that over the median in b; None if it is 0.
        spread: half-width of the 95 % interval of the difference of the means (Welch's t), at least the metric's
            resolution; None with one repeat.
        within: whether the seeds explain the difference: it is not larger than the spread.
        tolerance_ratio: |difference| over what is tolerated; up to 1 the worlds agree.
    """

    a: Sample
    b: Sample
    difference: float | None = None
    relative: float | None = None
    median_difference: float | None = None
    median_relative: float | None = None
    spread: float | None = None
    within: bool | None = None
    tolerance_ratio: float | None = None


def compare(metric: Metric, ours: Sequence[float], theirs: Sequence[float]) -> Difference:
    """Compares the values of a metric over the seeds of two worlds.

    Equal seeds are not paired: they fix the starts of flows, and not what happens afterwards in another world.

    Args:
        metric: what the values are.
        ours: one value a run of the first world.
        theirs: the same of the second, the reference.
    """
    a, b = sample(ours), sample(theirs)
    if a.mean is None or b.mean is None or a.median is None or b.median is None:
        return Difference(a=a, b=b)
    difference = a.mean - b.mean
    median_difference = a.median - b.median
    half = welch_half_width(ours, theirs)
    spread = None if half is None else max(half, metric.resolution.width(b.mean))
    return Difference(
        a=a,
        b=b,
        difference=difference,
        relative=difference / b.mean if b.mean else None,
        median_difference=median_difference,
        median_relative=median_difference / b.median if b.median else None,
        spread=spread,
        within=None if spread is None else abs(difference) <= spread,
        tolerance_ratio=abs(difference) / metric.allowed(b.mean),
    )


@dataclass(frozen=True, kw_only=True)
class Line:
    """One metric of one flow or probe of one cell, in two worlds.

    Attributes:
        cell: value of each axis.
        flow: number, from 1; None for all flows together, and for probes.
        probe: number, from 1; None for flows.
        scheme: that of the flow; of all flows together, and of a probe, every one that occurs, joined by "+".
        metric: which number.
        found: the number in both worlds.
    """

    cell: dict[str, str]
    flow: int | None
    probe: int | None = None
    scheme: str
    metric: Metric
    found: Difference

    @property
    def exists(self) -> bool:
        """Whether any run of either world has the number; Jain's index of a single flow does not exist."""
        return self.found.a.n + self.found.b.n > 0

    @property
    def far(self) -> bool:
        """Whether it is one of the worst: beyond three tolerances."""
        ratio = self.found.tolerance_ratio
        return ratio is not None and ratio > FAR


@dataclass(frozen=True)
class Errors:
    """Absolute values of errors.

    Attributes:
        n: how many.
        median: the middle one.
        p90: 90th percentile, nearest rank.
    """

    n: int
    median: float
    p90: float


def errors(values: Sequence[float]) -> Errors | None:
    """Median and 90th percentile of absolute values; None if there are none."""
    if not values:
        return None
    sizes = np.abs(np.asarray(values, dtype=np.float64))
    return Errors(len(values), float(np.median(sizes)), nearest_of(sizes, 90))


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """One metric over several lines.

    Attributes:
        cells: lines that have the number in both worlds.
        missing: lines that lack it in one world or in both.
        relative: relative errors of the lines whose reference is at least the metric's floor.
        absolute: errors of the others, in the unit of the value.
        tolerance: errors in units of the tolerance, of all lines.
        spread: spreads between seeds in the same units: an error below it is one that so few repeats cannot show.
        agrees: whether the median error is within the tolerance; None without lines.
        far: lines beyond three tolerances.
        within: lines whose difference the seeds explain.
        judged: lines with a spread.
        worst: the line that is most tolerances apart; None without lines.
    """

    cells: int
    missing: int
    relative: Errors | None
    absolute: Errors | None
    tolerance: Errors | None
    spread: Errors | None
    agrees: bool | None
    far: int
    within: int
    judged: int
    worst: Line | None


def summarise(metric: Metric, lines: Sequence[Line]) -> Agreement:
    """The summary of all lines of a metric."""
    ratios: list[float] = []
    relative: list[float] = []
    absolute: list[float] = []
    spreads: list[float] = []
    worst, most = None, -1.0
    for line in lines:
        found = line.found
        if found.difference is None or found.tolerance_ratio is None or found.b.mean is None:
            continue
        ratios.append(found.tolerance_ratio)
        if found.spread is not None:
            spreads.append(found.spread / metric.allowed(found.b.mean))
        if found.relative is not None and abs(found.b.mean) >= metric.floor:
            relative.append(found.relative)
        else:
            absolute.append(found.difference)
        if found.tolerance_ratio > most:
            worst, most = line, found.tolerance_ratio
    tolerance = errors(ratios)
    return Agreement(
        cells=len(ratios),
        missing=len(lines) - len(ratios),
        relative=errors(relative),
        absolute=errors(absolute),
        tolerance=tolerance,
        spread=errors(spreads),
        agrees=None if tolerance is None else tolerance.median <= 1,
        far=sum(line.far for line in lines),
        within=sum(line.found.within is True for line in lines),
        judged=len(spreads),
        worst=worst,
    )

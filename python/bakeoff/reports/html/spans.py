"""Long runs, whose samples would be drawn as a solid band: lines through spans of time, and the range in each."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from bakeoff.metrics.quantities import NS_PER_S
from bakeoff.reports import words

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bakeoff.reports.html.encode import Pack

    _Floats = NDArray[np.float64]

Middle = Literal["mean", "median", "largest"]

# A figure has about as many pixels as two for each of these.
_MOST = 500
# Ten minutes of intervals of 100 ms.
MOST_INTERVALS = 6000
_ROUNDED = 1e-9
_LENGTHS_S = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600)


@dataclass(frozen=True)
class Spans:
    """Spans of one length, which begin with time.

    Attributes:
        length_s: how long one is.
        of: the number of the span that each sample lies in; no more than 500, and 16 bits are sorted fast.
    """

    length_s: float
    of: NDArray[np.int16]

    @property
    def name(self) -> str:
        """For a caption: "20 s"."""
        return words.time(round(self.length_s * NS_PER_S))

    @property
    def count(self) -> int:
        """How many there are."""
        return int(self.of[-1]) + 1

    def edges(self) -> _Floats:
        """Where they begin and the last one ends, in s."""
        return np.arange(self.count + 1, dtype=np.float64) * self.length_s

    def centres(self) -> _Floats:
        """The middle of each, in s."""
        return self.edges()[:-1] + self.length_s / 2

    def taken(self, curve: _Floats, middle: Middle, weights: _Floats | None = None) -> tuple[_Floats, _Floats, _Floats]:
        """The least, a middle and the largest value in each span; NaN in spans without one.

        Args:
            curve: a value a sample, or NaN.
            middle: which one the line is through.
            weights: how much each counts in a mean; all the same by default.
        """
        weights = np.ones(curve.size) if weights is None else weights
        kept = ~np.isnan(curve) & (weights > 0)
        of, values = self.of[kept], curve[kept]
        columns = np.full((3, self.count), np.nan)
        if of.size:
            first = np.flatnonzero(np.diff(of, prepend=-1))
            columns[:, of[first]] = (
                np.minimum.reduceat(values, first),
                _middles(middle, of, values, weights[kept], first),
                np.maximum.reduceat(values, first),
            )
        return columns[0], columns[1], columns[2]

    def line(self, curve: _Floats, middle: Middle, weights: _Floats | None = None) -> _Floats:
        """The middle of `taken`."""
        return self.taken(curve, middle, weights)[1]

    def lines(
        self, entry: dict[str, Any], curve: _Floats, middle: Middle, pack: Pack, *, is_stepped: bool = False
    ) -> list[dict[str, Any]]:
        """The entries of a figure for a curve: the range of its samples in each span as an area, and a line.

        Args:
            entry: label, style and colours of the curve.
            curve: a value a sample, or NaN.
            middle: what the line is through.
            pack: where the arrays go.
            is_stepped: whether values are those of the time from one edge to the next, rather than of a centre.
        """
        low, line, high = (until_the_end(found) if is_stepped else found for found in self.taken(curve, middle))
        area = {**entry, "label": f"{entry['label']}: range", "style": "range"}
        return [area | {"y": pack.add(high), "low": pack.add(low)}, entry | {"y": pack.add(line)}]


def _middles(
    middle: Middle, of: NDArray[np.int16], values: _Floats, weights: _Floats, first: NDArray[np.intp]
) -> _Floats:
    """A value of each span that has samples.

    Args:
        middle: which one.
        of: the span of each sample, in order.
        values: the samples.
        weights: how much each counts in a mean.
        first: the first sample of each span.
    """
    found: _Floats
    match middle:
        case "mean":
            found = np.add.reduceat(values * weights, first) / np.add.reduceat(weights, first)
        case "median":
            ordered = np.argsort(values)
            ordered = ordered[np.argsort(of[ordered], kind="stable")]
            last = np.append(first[1:], of.size) - 1
            # One that there is: what stands between two states is none.
            found = values[ordered[(first + last) // 2]]
        case "largest":
            found = np.maximum.reduceat(values, first)
    return found


def of_samples(times_s: _Floats, most_samples: int) -> Spans | None:
    """Spans for samples at some times, in s from the beginning of the axis; None if there are few enough to draw all.

    Args:
        times_s: their times, in order.
        most_samples: how many are drawn one by one.
    """
    if times_s.size <= most_samples:
        return None
    wanted_s = float(times_s[-1]) / _MOST
    length_s = next((length for length in _LENGTHS_S if length >= wanted_s), wanted_s)
    # A time that was rounded lies where it is meant to, and the end of the run in the last span.
    count = max(1, math.ceil(times_s[-1] / length_s - _ROUNDED))
    return Spans(length_s, np.floor(times_s / length_s + _ROUNDED).clip(0, count - 1).astype(np.int16))


def until_the_end(curve: _Floats) -> _Floats:
    """Values at left edges of spans, and the last one at the end of its span too."""
    places = np.flatnonzero(~np.isnan(curve))
    found = np.append(curve, np.nan)
    if places.size:
        found[places[-1] + 1] = curve[places[-1]]
    return found

"""The ends of an axis, and round numbers along it."""

from __future__ import annotations

import math

from bakeoff.reports import words

MOST = 6
# Of the middle of an axis: numbers that are alike do not stand at its opposite ends.
_LEAST_SPAN = 0.2


def widened(low: float, high: float) -> tuple[float, float]:
    """The ends of an axis, moved apart to a tenth below and above their middle if they are closer together."""
    middle, half = (low + high) / 2, max((high - low) / 2, _LEAST_SPAN / 2 * abs(low + high) / 2)
    return middle - half, middle + half


def even(low: float, high: float) -> list[float]:
    """Multiples of the smallest round step that gives at most `MOST`, from `low` to `high`."""
    power = 10.0 ** math.floor(math.log10((high - low) / MOST))
    for step in (power, 2 * power, 5 * power, 10 * power):
        ticks = [place * step for place in range(math.ceil(low / step), math.floor(high / step) + 1)]
        if len(ticks) <= MOST:
            break
    return ticks


def logarithmic(low: float, high: float) -> list[float]:
    """Ones, twos and fives of each decade from `low` to `high`, or ones only where that were more than `MOST`."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for digits in ((1, 2, 5), (1, 3), (1,)):
        ticks = [digit * 10.0**decade for decade in decades for digit in digits if low <= digit * 10.0**decade <= high]
        if len(ticks) <= MOST:
            break
    return ticks


def label(tick: float) -> str:
    """A tick as it stands at its axis."""
    return words.trimmed(float(f"{tick:.4g}")) if tick < 1e6 else f"{tick:.0e}"

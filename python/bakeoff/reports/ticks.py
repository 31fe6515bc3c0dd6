"""Round numbers along an axis."""

from __future__ import annotations

import math

from bakeoff.reports import words

MOST = 6


def even(low: float, high: float) -> list[float]:
    """Multiples of the smallest round step that gives at most `MOST`, from `low` to `high`."""
    power = 10.0 ** math.floor(math.log10((high - low) / MOST))
    for step in (power, 2 * power, 5 * power, 10 * power):
        ticks = [place * step for place in range(math.ceil(low / step), math.floor(high / step) + 1)]
        if len(ticks) <= MOST:
            break
    return ticks


def label(tick: float) -> str:
    """A tick as it stands at its axis."""
    return words.trimmed(float(f"{tick:.4g}")) if tick < 1e6 else f"{tick:.0e}"

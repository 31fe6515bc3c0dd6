"""Percentiles that are values which occurred.

The nearest-rank choice of numpy's `method="nearest"` (rank `(n-1)*q`, halves to the even rank), which
Pantheon uses for its 95th-percentile delay; no value between two samples is invented.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def nearest(values: NDArray[np.int64], percent: float) -> int | None:
    """The sample at a percentile, in the unit of the samples; None if there are none."""
    return int(np.percentile(values, percent, method="nearest")) if values.size else None


def nearest_of(values: NDArray[Any], percent: float) -> float:
    """The sample at a percentile of at least one, in the unit of the samples."""
    return float(np.percentile(values, percent, method="nearest"))

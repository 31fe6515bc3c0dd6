"""What is given to environments, and by the functions of a task: whether it is what it has to be."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bakeoff.errors import UserError
from bakeoff.scheme.loading import shortened

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bakeoff.gym.intervals import Numbers

# Kinds of arrays that hold real numbers.
_REAL = "fiub"
_MOST_CHARACTERS = 60


def checked(name: str, given: object, wanted: str, resting: NDArray[np.bool_], *, finite: bool = False) -> Numbers:
    """What a function of the task gave for each run; of those that rest it may be anything.

    Raises:
        UserError: that is not a number for each run, or one is NaN, or infinite where it has to be `finite`.
    """
    right = f"it has to give {wanted} for each run"
    try:
        values = np.asarray(given)
    except ValueError as error:  # lists of several lengths
        raise UserError(f"{name}: gave {quoted(given)}; {right}") from error
    if values.shape != resting.shape or values.dtype.kind not in _REAL:
        raise UserError(f"{name}: gave {quoted(given)}; {right}")
    wrong = ~resting & (~np.isfinite(values) if finite else np.isnan(values))
    if wrong.any():
        place = np.flatnonzero(wrong)[0]
        raise UserError(f"{name}: gave {values[place]} for run {place + 1}; {right}")
    return values


def is_count(value: object) -> bool:
    """Whether it is a whole number of at least 1."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool) and bool(value >= 1)


def is_number(value: object) -> bool:
    """Whether it is of the kind of real numbers, NaN and infinite ones included."""
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)


def quoted(value: object) -> str:
    """The value as it is written in Python, cut where it is long."""
    return shortened(repr(value), _MOST_CHARACTERS)

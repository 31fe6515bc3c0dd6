"""Numbers inside a page: arrays of 32-bit floats, deflated, in base64.

The bytes are stored plane by plane (all first bytes, then all second bytes ...): neighbouring samples share their high
bytes, which makes them deflate to about half.
"""

from __future__ import annotations

import base64
import json
import zlib
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


class Pack:
    """Collects arrays and hands out references to them."""

    def __init__(self) -> None:
        self._arrays: list[NDArray[np.float32]] = []
        self._length = 0

    def add(self, values: NDArray[Any] | Sequence[float]) -> list[int]:
        """Stores an array (NaN: no value) and returns its place: first element and length."""
        array = np.asarray(values, dtype="<f4")
        place = [self._length, array.size]
        self._arrays.append(array)
        self._length += array.size
        return place

    def encode(self) -> str:
        """Everything stored so far as base64 text."""
        joined = np.concatenate(self._arrays) if self._arrays else np.empty(0, dtype="<f4")
        planes = joined.view(np.uint8).reshape(-1, 4).T
        return base64.b64encode(zlib.compress(planes.tobytes(), 9)).decode()


def json_for_script(value: Any) -> str:
    """JSON that may stand inside a script element."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.replace("<", "\\u003c")

"""Ends a callback that takes too long, so that an endless loop is an error with a line."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import FrameType


class Overdue(BaseException):
    """A callback takes too long; no `except Exception` of a scheme may swallow that."""


class Patience:
    """Looks, now and then, whether a callback is still the one that it was at the last look.

    It costs a callback two assignments. A callback is ended after one to two times the patience. Only the main thread
    may have one.

    Args:
        seconds: time between looks; 0: never.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._count = 0
        self._inside = False
        self._seen = 0
        if seconds:
            signal.signal(signal.SIGALRM, self._look)
            signal.setitimer(signal.ITIMER_REAL, seconds, seconds)

    def begin(self) -> None:
        """A callback begins."""
        self._count += 1
        self._inside = True

    def end(self) -> None:
        """It has ended."""
        self._inside = False

    def _look(self, _signal: int, _frame: FrameType | None) -> None:
        if self._inside and self._seen == self._count:
            raise Overdue(f"it takes longer than {self._seconds:g} s (an endless loop, or a wait?)")
        self._seen = self._count

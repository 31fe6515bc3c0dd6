"""Ends a callback that takes too long, so that an endless loop is an error with a line."""

from __future__ import annotations

import faulthandler
import signal
import threading
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import FrameType

# The exception of a look takes effect before; a process where it does not is ended.
_LOOKS = 3
# Whatever a class has made of `sys.stderr`.
_STDERR = 2


class Overdue(BaseException):
    """A callback takes too long; no `except Exception` of a scheme may swallow that."""


class Patience:
    """Looks, now and then, whether a callback is still the one that it was at the last look.

    It costs a callback two assignments. A callback is ended after one to two times the patience. Where that has no
    effect, as in C code, behind a bare `except` or with an alarm that is ignored, the process is ended after three to
    four times, with status 1 and the lines of its threads in faulthandler's form. Only the main thread may have one.

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
            threading.Thread(target=self._postpone, daemon=True).start()

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

    def _postpone(self) -> None:
        """Puts the end of the process off for as long as callbacks end; it comes too if C code never lets this run."""
        seen = 0
        while True:
            if not (self._inside and seen == self._count):
                faulthandler.dump_traceback_later(_LOOKS * self._seconds, exit=True, file=_STDERR)
            seen = self._count
            time.sleep(self._seconds)

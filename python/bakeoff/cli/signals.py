"""Signals that ask a process to end."""

from __future__ import annotations

import contextlib
import signal
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextlib.contextmanager
def like_ctrl_c() -> Iterator[None]:
    """Makes SIGTERM and SIGHUP what Ctrl-C is: a `KeyboardInterrupt`, after which everything is put in order.

    Whoever has arranged for them otherwise, as `nohup` does, has the last word.
    """
    before = {}
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) == signal.SIG_DFL:
                before[number] = signal.signal(number, signal.default_int_handler)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)

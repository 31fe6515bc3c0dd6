"""Signals that end a build: one is enough, and nothing half-made stays behind."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from typing import TYPE_CHECKING

from bakeoff import errors

if TYPE_CHECKING:
    from collections.abc import Iterator

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_AGAIN_S = 0.05


class Interrupted(errors.Interrupted):
    """A signal ended what was under way.

    Args:
        number: the signal; the exit code is 128 more, as a shell has it.
    """

    def __init__(self, number: int) -> None:
        super().__init__("interrupted: nothing half-made is left")
        self.exit_code = 128 + number


class _Watch:
    """What has been received."""

    def __init__(self) -> None:
        self.first: int | None = None
        self.shields = 0

    def receive(self, number: int, _frame: object) -> None:
        """Handles a signal. Those after the first are ignored, for they would break into the cleaning up."""
        if self.first is None:
            self.first = number
            if self.shields == 0:
                raise KeyboardInterrupt


_watch = _Watch()


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """Lets the first signal that asks a process to end leave the block at once; other threads are left alone.

    Raises:
        Interrupted: there was a signal.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    global _watch  # noqa: PLW0603 - the handlers of a process are global too
    watch = _watch = _Watch()
    # SIGINT too: a library may have put a handler in place that lets a blocked read go on. SIGHUP unless under nohup.
    numbers = [number for number in _SIGNALS if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN]
    before = {number: signal.signal(number, watch.receive) for number in numbers}
    try:
        with _insistent(watch):
            yield
    except BaseException:
        if watch.first is not None:
            raise Interrupted(watch.first) from None
        raise
    finally:
        for number, handler in before.items():
            signal.signal(number, handler if handler is not None else signal.SIG_DFL)


@contextlib.contextmanager
def _insistent(watch: _Watch) -> Iterator[None]:
    """Sends a signal again until it is handled: a call that blocks is not ended by one that came just before it."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    before = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    main, is_over = threading.get_ident(), threading.Event()

    def insist() -> None:
        while number := os.read(reader, 1):
            while number[0] in _SIGNALS and watch.first is None and not is_over.wait(_AGAIN_S):
                signal.pthread_kill(main, number[0])

    thread = threading.Thread(target=insist, daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        signal.set_wakeup_fd(before)
        os.close(writer)
        thread.join()
        os.close(reader)


@contextlib.contextmanager
def shielded() -> Iterator[None]:
    """Holds a signal back until the block is left: what is made in it must be known to be cleaned up."""
    watch = _watch
    watch.shields += 1
    try:
        yield
    finally:
        watch.shields -= 1
    if watch.first is not None and watch.shields == 0:
        raise KeyboardInterrupt

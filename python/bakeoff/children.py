"""Child processes: each leads a session of its own, so that it can be ended with all that it has started."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path


def start(command: Sequence[str], folder: Path, environment: Mapping[str, str]) -> subprocess.Popen[str]:
    """Starts a program without input; its output and errors come together from its `stdout`.

    Args:
        command: program and arguments.
        folder: where it runs.
        environment: all of its variables.

    Raises:
        FileNotFoundError: there is no such program.
    """
    return subprocess.Popen(  # noqa: S603 - our own words, no shell
        command,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    )


def await_end(child: subprocess.Popen[str]) -> None:
    """Returns when a child has ended. It keeps its number until it is waited for, so that `kill` finds what it left."""
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)


def kill(child: subprocess.Popen[str]) -> None:
    """Ends a child with all that it has started, unless it was waited for: its number may be another's by now."""
    if child.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)


@contextlib.contextmanager
def limited(child: subprocess.Popen[str], wall_s: float) -> Iterator[threading.Event]:
    """Kills a child if the block takes too long. The child must not be waited for in it.

    Args:
        child: what `start` returned.
        wall_s: how long the block may take.

    Yields:
        What is set if the child was killed.
    """
    hung = threading.Event()

    def give_up() -> None:
        hung.set()
        kill(child)

    watchdog = threading.Timer(wall_s, give_up)
    watchdog.daemon = True
    watchdog.start()
    try:
        yield hung
    finally:
        watchdog.cancel()
        watchdog.join()

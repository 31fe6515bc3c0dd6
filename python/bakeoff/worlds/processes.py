"""Processes that work for a run, each in a folder of its own: all can be stopped, and none outlives its run."""

from __future__ import annotations

import atexit
import collections
import contextlib
import os
import shutil
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bakeoff import children
from bakeoff.errors import RunFailed
from bakeoff.worlds import scratch

if TYPE_CHECKING:
    import re
    import subprocess
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

# How long killed processes may take to be gone.
_GRACE_S = 5.0
# What is kept of what a process prints.
_KEPT_LINES = 20

_gate = threading.Condition()
_processes: dict[Path, subprocess.Popen[str] | None] = {}


@contextlib.contextmanager
def folder() -> Iterator[Path]:
    """A folder for a process, which vanishes at the end."""
    path = None
    try:
        with scratch.folder() as path:
            with _gate:
                _processes[path] = None
            yield path
    finally:
        # Known until it is gone, so that whoever stops everything does not leave before.
        if path is not None:
            with _gate:
                _processes.pop(path, None)


@contextlib.contextmanager
def started(command: Sequence[str], place: Path, environment: Mapping[str, str]) -> Iterator[subprocess.Popen[str]]:
    """A process in its folder. At the end it is gone, with all that it has started.

    Args:
        command: program and arguments.
        place: what `folder` made.
        environment: all of its variables.

    Yields:
        The process; its output and errors come together from its `stdout`.

    Raises:
        RunFailed: there is no such program, or everything was stopped meanwhile.
    """
    with _gate:
        if place not in _processes:
            raise RunFailed("interrupted")
        try:
            process = _processes[place] = children.start(command, place, environment)
        except FileNotFoundError as error:
            raise RunFailed(f"there is no program {error.filename}") from error
    try:
        with process:
            try:
                yield process
            finally:
                children.kill(process)
    finally:
        with _gate:
            if place in _processes:
                _processes[place] = None
            _gate.notify_all()


@dataclass(frozen=True)
class Watched:
    """A process that has ended.

    Attributes:
        console: the last lines that it printed.
        cpu_s: CPU seconds that it and its descendants took.
        has_hung: whether it was killed because it did not end in time.
        status: its exit code, or the negative number of the signal that ended it.
    """

    console: tuple[str, ...]
    cpu_s: float
    has_hung: bool
    status: int


def watch(process: subprocess.Popen[str], wall_s: float, noise: re.Pattern[str] | None = None) -> Watched:
    """Waits until a process that was `started` ends, and kills it if that takes too long.

    Args:
        process: the process.
        wall_s: how long it may take.
        noise: lines that are not worth keeping.
    """
    console: collections.deque[str] = collections.deque(maxlen=_KEPT_LINES)
    lines = (line.strip() for line in process.stdout or ())
    told = (line for line in lines if line and not (noise and noise.search(line)))
    reader = threading.Thread(target=console.extend, args=(told,), daemon=True)
    reader.start()
    try:
        with children.limited(process, wall_s) as hung:
            children.await_end(process)
    finally:
        # A process that it left behind would hold its console open; one that has left its group still does.
        children.kill(process)
        reader.join(_GRACE_S)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return Watched(tuple(console), usage.ru_utime + usage.ru_stime, hung.is_set(), process.returncode)


@atexit.register
def stop() -> None:
    """Ends all processes that were `started`, and removes their folders."""
    with _gate:
        for process in filter(None, _processes.values()):
            children.kill(process)
        _gate.wait_for(lambda: not any(_processes.values()), _GRACE_S)
        places = list(_processes)
        _processes.clear()
    for place in places:
        shutil.rmtree(place, ignore_errors=True)

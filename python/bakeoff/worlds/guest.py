"""Guests: a kernel as an ordinary process, in virtual time, with a folder as its disk and nothing else of the host."""

from __future__ import annotations

import atexit
import contextlib
import os
import queue
import re
import shutil
import signal
import subprocess
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

# Everything in the guest's command line feeds its random numbers, so nothing in it but the seed may differ between two
# runs: the folders are named as the guest's own process sees them.
_HERE = "/proc/self/cwd"
_START_NS = 1_700_000_000_000_000_000
_LAST_LINES = 3
# What every boot says, for lack of consoles that nobody needs.
_NOISE = re.compile(r"Using a channel type which is configured out of UML|setup_one_line failed for device")
_SHARED_MEMORY = Path("/dev/shm")  # noqa: S108 - the machine's memory file system, used for memory


@dataclass(frozen=True)
class Limits:
    """What a guest may use.

    Attributes:
        cpu_s: CPU seconds; a guest that never ends is stopped after that.
        memory_bytes: its memory.
    """

    cpu_s: int
    memory_bytes: int


@dataclass(frozen=True)
class Ended:
    """A guest that has ended.

    Attributes:
        console: what it printed.
        cpu_s: CPU seconds that it took.
        limits: what it was allowed.
        status: exit status as `wait` has it.
    """

    console: str
    cpu_s: float
    limits: Limits
    status: int

    def problem(self) -> str:
        """One sentence about a guest that did not do its job, with its last lines."""
        lines = [line.strip() for line in self.console.splitlines() if line.strip() and not _NOISE.search(line)]
        own = [line.removeprefix("bakeoff-guest: ") for line in lines if line.startswith("bakeoff-guest: ")]
        if own:
            return own[-1]
        last = " / ".join(lines[-_LAST_LINES:]) or "it printed nothing"
        if self.cpu_s >= self.limits.cpu_s:
            limit = f"{self.limits.cpu_s} CPU seconds"
            return f"the guest did not end within {limit} and was stopped; its last lines: {last}"
        return f"the guest failed; its last lines: {last}"


class _Processors:
    """Lends each guest a processor: its processes take turns, and on two processors would only wait for each other."""

    def __init__(self) -> None:
        self._free: queue.SimpleQueue[int] = queue.SimpleQueue()
        for processor in sorted(os.sched_getaffinity(0)):
            self._free.put(processor)

    @contextlib.contextmanager
    def lend(self) -> Iterator[int | None]:
        """A processor, or None while more guests run than there are."""
        try:
            processor = self._free.get_nowait()
        except queue.Empty:
            yield None
            return
        try:
            yield processor
        finally:
            self._free.put(processor)


_processors = _Processors()
_running: set[subprocess.Popen[str]] = set()
_gate = threading.Lock()


def prepare(scratch: Path, init: Path) -> tuple[Path, Path]:
    """Makes the guest's disk, and the folder that it shares with us.

    Args:
        scratch: an empty folder, which becomes the working folder of the guest's process.
        init: the guest's first and only program.

    Returns:
        `scratch`, and the shared folder in it.
    """
    disk = scratch / "root"
    for folder in ("proc", "run"):
        (disk / folder).mkdir(parents=True)
    shutil.copyfile(init, disk / "init")
    (disk / "init").chmod(0o755)
    shared = scratch / "run"
    shared.mkdir()
    return scratch, shared


def boot(kernel: Path, scratch: Path, seed: int, limits: Limits) -> Ended:
    """Runs a guest to its end, within its limits, and leaves no process behind.

    Args:
        kernel: the kernel's program.
        scratch: what `prepare` made.
        seed: fixes the guest's random numbers.
        limits: what the guest may use.
    """
    with _processors.lend() as processor:
        command = [*_wrappers(processor, limits), str(kernel), *_arguments(seed, limits)]
        with subprocess.Popen(  # noqa: S603 - our own words, no shell
            command,
            cwd=scratch,
            env={"HOME": str(scratch), "PATH": "/usr/bin:/bin", "TMPDIR": str(_memory_folder(scratch, limits))},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        ) as process:
            with _gate:
                _running.add(process)
            try:
                return _wait(process, limits)
            finally:
                _kill(process)
                with _gate:
                    _running.discard(process)


def _wait(process: subprocess.Popen[str], limits: Limits) -> Ended:
    # A guest that sleeps for ever uses no CPU; one that works gets its share even on a crowded machine.
    watchdog = threading.Timer(10.0 * limits.cpu_s, _kill, [process])
    watchdog.daemon = True
    watchdog.start()
    try:
        console = process.stdout.read() if process.stdout else ""
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    finally:
        watchdog.cancel()
    return Ended(console, usage.ru_utime + usage.ru_stime, limits, process.returncode)


def _wrappers(processor: int | None, limits: Limits) -> list[str]:
    """The guest dies with us, within its time, and finds its memory at the same addresses every time."""
    pinned = [] if processor is None else ["taskset", "-c", str(processor)]
    return ["setpriv", "--pdeathsig", "KILL", *pinned, "prlimit", f"--cpu={limits.cpu_s}", "setarch", "-R"]


def _arguments(seed: int, limits: Limits) -> list[str]:
    return [
        f"mem={limits.memory_bytes}",
        "root=none",
        "rootfstype=hostfs",
        f"rootflags={_HERE}/root",
        "init=/init",
        "con=null",
        "con0=fd:0,fd:1",
        "quiet",
        "norandmaps",
        "umid=bakeoff",
        "time-travel=inf-cpu",
        f"time-travel-start={_START_NS}",
        "seccomp=on",
        f"seed={seed}",
        f"folder={_HERE}/run",
    ]


def _memory_folder(scratch: Path, limits: Limits) -> Path:
    """Where the guest's memory is a file: in memory if there is room, so that nothing of it is written to a disk."""
    try:
        roomy = shutil.disk_usage(_SHARED_MEMORY).free > 2 * limits.memory_bytes
    except OSError:
        roomy = False
    return _SHARED_MEMORY if roomy and os.access(_SHARED_MEMORY, os.W_OK) else scratch


def _kill(process: subprocess.Popen[str]) -> None:
    """Ends every process of a guest, which is a session of its own."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


@atexit.register
def _kill_all() -> None:
    with _gate:
        for process in _running:
            _kill(process)

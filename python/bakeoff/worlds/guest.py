"""Guests: a kernel as an ordinary process, in virtual time, with a folder as its disk and nothing else of the host."""

from __future__ import annotations

import contextlib
import os
import queue
import re
import shutil
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bakeoff.errors import RunFailed
from bakeoff.kernel.boot import arguments
from bakeoff.worlds import processes

if TYPE_CHECKING:
    from collections.abc import Iterator

# Everything in the guest's command line feeds its random numbers, so nothing in it but the seed may differ between two
# runs: the folders are named as the guest's own process sees them.
_HERE = "/proc/self/cwd"
_PATH = "/usr/bin:/bin"
# What starts a guest; one Debian package has them all.
TOOLS = ("setpriv", "taskset", "prlimit", "setarch")
_PACKAGE = "util-linux"
_OWN_WORDS = "bakeoff-guest: "
# What of a console is quoted in a sentence.
_QUOTED_LINES = 3
# What every boot says, for lack of consoles that nobody needs.
_NOISE = re.compile(r"Using a channel type which is configured out of UML|setup_one_line failed for device")
_SHARED_MEMORY = Path("/dev/shm")  # noqa: S108 - the machine's memory file system, used for memory


@dataclass(frozen=True)
class Limits:
    """What a guest may use.

    Attributes:
        cpu_s: CPU seconds; a guest that works for ever is stopped after that.
        wall_s: seconds that pass; a guest that waits for ever uses no CPU.
        memory_bytes: its memory.
    """

    cpu_s: int
    wall_s: float
    memory_bytes: int


@dataclass(frozen=True)
class Ended:
    """A guest that has ended.

    Attributes:
        console: the last lines that it printed, without those of every boot.
        cpu_s: CPU seconds that it took.
        limits: what it was allowed.
        has_hung: whether it was stopped because it did not end in time.
        status: its exit code, or the negative number of the signal that ended it.
    """

    console: tuple[str, ...]
    cpu_s: float
    limits: Limits
    has_hung: bool
    status: int

    def problem(self) -> str:
        """One sentence about a guest that did not do its job, with its last lines."""
        own = [line.removeprefix(_OWN_WORDS) for line in self.console if line.startswith(_OWN_WORDS)]
        if own:
            return own[-1]
        last = " / ".join(self.console[-_QUOTED_LINES:]) or "it printed nothing"
        if self.has_hung:
            return f"the guest hung and was stopped after {self.limits.wall_s:g} s; its last lines: {last}"
        if self.status == -signal.SIGKILL:
            # The kernel counts towards the limit by ticks, which is coarse.
            if self.cpu_s > self.limits.cpu_s / 2:
                limit = f"{self.limits.cpu_s} CPU seconds"
                return f"the guest did not end within {limit} and was stopped; its last lines: {last}"
            return f"the guest was killed, as happens where memory is short (try --jobs 1); its last lines: {last}"
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


def check_tools() -> None:
    """Looks for the programs that start a guest.

    Raises:
        RunFailed: some are missing.
    """
    if missing := [tool for tool in TOOLS if shutil.which(tool, path=_PATH) is None]:
        raise RunFailed(f"the linux world needs {', '.join(missing)} in {_PATH}: apt install {_PACKAGE}")


def prepare(place: Path, init: Path) -> Path:
    """Makes the guest's disk, and the folder that it shares with us.

    Args:
        place: an empty folder, which becomes the working folder of the guest's process.
        init: the guest's first and only program.

    Returns:
        The shared folder.
    """
    disk = place / "root"
    for folder in ("proc", "run"):
        (disk / folder).mkdir(parents=True)
    shutil.copyfile(init, disk / "init")
    (disk / "init").chmod(0o755)
    shared = place / "run"
    shared.mkdir()
    return shared


def boot(kernel: Path, place: Path, seed: int, limits: Limits) -> Ended:
    """Runs a guest to its end, within its limits, and leaves no process behind.

    Args:
        kernel: the kernel's program.
        place: a folder of `processes.folder`, with what `prepare` made.
        seed: fixes the guest's random numbers.
        limits: what the guest may use.

    Raises:
        RunFailed: it cannot be started.
    """
    environment = {"HOME": str(place), "PATH": _PATH, "TMPDIR": str(_memory_folder(place, limits))}
    with _processors.lend() as processor:
        guest = [*arguments(f"{_HERE}/root", str(limits.memory_bytes), seed), f"folder={_HERE}/run"]
        command = [*_wrappers(processor, limits), str(kernel), *guest]
        with processes.started(command, place, environment) as process:
            watched = processes.watch(process, limits.wall_s, _NOISE)
    return Ended(watched.console, watched.cpu_s, limits, watched.has_hung, watched.status)


def _wrappers(processor: int | None, limits: Limits) -> list[str]:
    """The guest dies with us, within its time, and finds its memory at the same addresses every time."""
    pinned = [] if processor is None else ["taskset", "-c", str(processor)]
    return ["setpriv", "--pdeathsig", "KILL", *pinned, "prlimit", f"--cpu={limits.cpu_s}", "--core=0", "setarch", "-R"]


def _memory_folder(place: Path, limits: Limits) -> Path:
    """Where the guest's memory is a file: in memory if there is room, so that nothing of it is written to a disk."""
    try:
        roomy = shutil.disk_usage(_SHARED_MEMORY).free > 2 * limits.memory_bytes
    except OSError:
        roomy = False
    return _SHARED_MEMORY if roomy and os.access(_SHARED_MEMORY, os.W_OK) else place

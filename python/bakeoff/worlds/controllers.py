"""Controllers that an experiment brings along as BPF objects: in the kernel while a run needs them, and no longer."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bakeoff.worlds.outcome import RunStopped

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_TOOL = "bpftool"
_AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
# Names of what is loaded, one a file with the numbers that the kernel gave it, so that what a killed process leaves is
# known to be ours.
_NOTES = Path("/run/bakeoff-controllers")
_SAID_LINES = 6
# As bpftool tells it: "Registered tcp_congestion_ops aimd id 7".
_ID = re.compile(r"\bid (\d+)")


def check(objects: Mapping[str, str]) -> None:
    """Looks for the object files and for what loads them.

    Raises:
        RunStopped: something is missing.
    """
    if not objects:
        return
    for name, file in objects.items():
        if not os.path.isfile(file):  # noqa: PTH113 - never raises
            raise RunStopped(f"kernel:{name}: there is no file {file}")
    if shutil.which(_TOOL) is None:
        raise RunStopped(f"controllers are loaded with {_TOOL}, which is not there (on Debian: apt install bpftool)")


@contextlib.contextmanager
def loaded(objects: Mapping[str, str]) -> Iterator[None]:
    """Keeps controllers in the kernel.

    Args:
        objects: files by the name of the controller in them.

    Raises:
        RunStopped: the kernel refuses one, or it has another name.
    """
    with contextlib.ExitStack() as stack:
        for name, file in objects.items():
            stack.enter_context(_loaded(name, file))
        yield


@contextlib.contextmanager
def _loaded(name: str, file: str) -> Iterator[None]:
    before = available()
    if name in before:
        raise RunStopped(f"kernel:{name}: the kernel has a controller of this name already; give yours another one")
    _NOTES.mkdir(mode=0o700, exist_ok=True)
    note = _NOTES / name
    note.touch()
    try:
        answer = _bpftool(["struct_ops", "register", file])
        note.write_text(" ".join(_ID.findall(answer.stdout + answer.stderr)), encoding="ascii")
        if answer.returncode != 0:
            raise RunStopped(f"kernel:{name}: the kernel refuses {file}: {_complaint(answer)}")
        found = set(available()).difference(before)
        if name not in found:
            has = ", ".join(sorted(found)) or "none"
            raise RunStopped(f"kernel:{name}: {file} has no controller of this name; it has {has}")
        yield
    finally:
        _remove(note)


def available() -> tuple[str, ...]:
    """Names of the controllers of this machine's kernel, those that were loaded from objects among them."""
    try:
        return tuple(_AVAILABLE.read_text(encoding="ascii").split())
    except OSError:
        return ()


def sweep() -> list[str]:
    """Removes the controllers that a killed process has left, and returns their names."""
    if not _NOTES.is_dir() or shutil.which(_TOOL) is None:
        return []
    left = [note.name for note in _NOTES.iterdir()]
    there = available()
    for name in left:
        _remove(_NOTES / name)
    return [name for name in left if name in there]


def _remove(note: Path) -> None:
    """Takes out what a note tells of: by its numbers, since a controller need not have the name of its variable."""
    numbers = note.read_text(encoding="ascii").split() if note.is_file() else []
    # Who was killed while it was loaded has not noted any.
    for which in [["id", number] for number in numbers] or [["name", note.name]]:
        _bpftool(["struct_ops", "unregister", *which])
    note.unlink(missing_ok=True)


def _bpftool(words: Sequence[str]) -> subprocess.CompletedProcess[str]:
    with tempfile.TemporaryDirectory() as home:
        return subprocess.run(  # noqa: S603 - our own words
            [_TOOL, *words],
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            env={"PATH": os.environ.get("PATH", os.defpath), "HOME": home},
        )


def _complaint(answer: subprocess.CompletedProcess[Any]) -> str:
    """The last lines of what the verifier or the loader said."""
    lines = [line.strip() for line in (answer.stderr + answer.stdout).splitlines() if line.strip()]
    return " / ".join(lines[-_SAID_LINES:]) or f"{_TOOL} ended with status {answer.returncode}"

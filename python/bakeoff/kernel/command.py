"""Other programs: each in a session of its own, which ends with the step that it belongs to, whatever ends the step."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from typing import TYPE_CHECKING

from bakeoff import children
from bakeoff.errors import RunFailed
from bakeoff.kernel.interruption import shielded

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

# What a build needs: the program or header, and the Debian package that has it.
TOOLS = {
    "make": "make",
    "gcc": "gcc",
    "ld": "binutils",
    "flex": "flex",
    "bison": "bison",
    "bc": "bc",
    "tar": "tar",
    "xz": "xz-utils",
    "prlimit": "util-linux",
    "setarch": "util-linux",
}
FETCHING = {"apt-get": "apt", "dpkg-deb": "dpkg"}
# What tar says last tells nothing.
_FAREWELLS = ("tar: Error is not recoverable", "tar: Exiting with failure")
_HEADER = "stdio.h"
_HEADER_PACKAGE = "libc6-dev"


def check_tools(*, fetching: bool) -> None:
    """Looks for everything that a build needs.

    Args:
        fetching: whether the distribution's package is to be fetched.

    Raises:
        RunFailed: something is missing; the sentence names it, and the Debian packages that have it.
    """
    tools = TOOLS | FETCHING if fetching else TOOLS
    missing = {tool: package for tool, package in tools.items() if shutil.which(tool) is None}
    if "gcc" not in missing and not _has_header():
        missing[_HEADER] = _HEADER_PACKAGE
    if missing:
        packages = " ".join(sorted(set(missing.values())))
        raise RunFailed(f"a kernel cannot be built without {', '.join(missing)}: apt install {packages}")


def _has_header() -> bool:
    words = ["gcc", "-E", "-x", "c", "-o", os.devnull, "-"]
    done = subprocess.run(words, input=f"#include <{_HEADER}>\n", capture_output=True, text=True, check=False)  # noqa: S603 - our own words, no shell
    return done.returncode == 0


def environment(scratch: Path) -> dict[str, str]:
    """All variables of a program whose result is kept: flags, options and languages of the user have no say in it.

    Args:
        scratch: a folder for what it keeps at home, and for temporary files.
    """
    path = os.environ.get("PATH", os.defpath)
    return {"PATH": path, "HOME": str(scratch), "TMPDIR": str(scratch), "LC_ALL": "C"}


@contextlib.contextmanager
def started(
    command: Sequence[str], *, cwd: Path, failing: str, environment: Mapping[str, str]
) -> Iterator[subprocess.Popen[str]]:
    """Starts a program, and ends it with all that it has started when the block is left.

    Args:
        command: program and arguments.
        cwd: folder to run in.
        failing: the beginning of the sentence if there is no such program.
        environment: all of its variables.

    Yields:
        The program; its output and errors come together from its `stdout`. The block must not wait for it: that is done
        when it is left.

    Raises:
        RunFailed: there is no such program.
    """
    process = None
    try:
        with shielded():
            process = _start(command, cwd, failing, environment)
        yield process
    finally:
        if process is not None:
            children.kill(process)
            _outlive(process)


def _start(command: Sequence[str], cwd: Path, failing: str, environment: Mapping[str, str]) -> subprocess.Popen[str]:
    try:
        return children.start(command, cwd, environment)
    except FileNotFoundError as error:
        raise RunFailed(f"{failing}: there is no program {command[0]}") from error


def _outlive(process: subprocess.Popen[str]) -> None:
    """Waits until the last process has closed its output, for a dying compiler may still write where we clean up."""
    if process.stdout is not None and not process.stdout.closed:
        while os.read(process.stdout.fileno(), 1 << 16):
            pass
        process.stdout.close()
    process.wait()


def output(process: subprocess.Popen[str]) -> str:
    """All that a program prints that was `started`, when it has ended."""
    text = process.stdout.read() if process.stdout else ""
    children.await_end(process)
    return text


def run(command: Sequence[str], *, cwd: Path, failing: str, environment: Mapping[str, str]) -> str:
    """Runs a program to its end and returns what it printed.

    Args:
        command: program and arguments.
        cwd: folder to run in.
        failing: the beginning of the sentence for a failure; what the program said follows.
        environment: all of its variables.

    Raises:
        RunFailed: it is missing or fails.
    """
    with started(command, cwd=cwd, failing=failing, environment=environment) as process:
        text = output(process)
    if process.returncode != 0:
        raise RunFailed(f"{failing}: {complaint(text) or f'exit code {process.returncode}'}")
    return text


def complaint(text: str) -> str:
    """The line that says best why a program failed: its first error, or else its last line."""
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith(_FAREWELLS)]
    for line in lines:
        if line.startswith("E: ") or "error: " in line or "Error " in line:
            return line
    return lines[-1] if lines else ""

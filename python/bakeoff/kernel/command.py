"""Other programs: run to the end, with one sentence if they fail."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import TYPE_CHECKING

from bakeoff.errors import RunFailed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

# What a build needs: the program or header, and the Debian package that has it.
TOOLS = {
    "make": "make",
    "gcc": "gcc",
    "flex": "flex",
    "bison": "bison",
    "bc": "bc",
    "tar": "tar",
    "xz": "xz-utils",
    "setarch": "util-linux",
}


def missing_tools(tools: Mapping[str, str] = TOOLS) -> list[str]:
    """The Debian packages of the programs that are not on the path."""
    return sorted({package for tool, package in tools.items() if shutil.which(tool) is None})


def check_tools() -> None:
    """Says which packages a build lacks.

    Raises:
        RunFailed: some are missing.
    """
    if packages := missing_tools():
        raise RunFailed(f"a kernel cannot be built without {', '.join(packages)}: apt install {' '.join(packages)}")


def run(
    command: Sequence[str], *, cwd: Path, failing: str, environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Runs a program quietly.

    Args:
        command: program and arguments.
        cwd: folder to run in.
        failing: the sentence for a failure, to which the program's last line is added.
        environment: variables beside the present ones.

    Raises:
        RunFailed: it is missing or fails.
    """
    try:
        done = subprocess.run(  # noqa: S603 - our own words, no shell
            command,
            cwd=cwd,
            env={**os.environ, **(environment or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
    except FileNotFoundError as error:
        raise RunFailed(f"{failing}: there is no program {command[0]}") from error
    if done.returncode != 0:
        last = (done.stderr.strip() or done.stdout.strip() or f"exit code {done.returncode}").splitlines()[-1]
        raise RunFailed(f"{failing}: {last}")
    return done

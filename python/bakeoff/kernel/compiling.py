"""Configures and compiles a source, with progress."""

from __future__ import annotations

import os
import subprocess
import time
from typing import TYPE_CHECKING

from bakeoff.errors import RunFailed
from bakeoff.kernel import configuration
from bakeoff.kernel.command import run

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

STEPS = 1470
"""Steps that a build takes, as Linux 7.3 counts; only for the estimate of the time left."""
_REPORT_EVERY_S = 10
_LOG_LINES = 3


def configure(tree: Path, build: Path) -> None:
    """Writes the configuration into the build folder.

    Raises:
        RunFailed: the source does not know an option, or cannot be configured.
    """
    build.mkdir()
    make = ["make", "-s", "ARCH=um", f"O={build}"]
    failing = f"{tree.name}: cannot be configured"
    run([*make, "tinyconfig"], cwd=tree, failing=failing)
    config = build / ".config"
    config.write_text(config.read_text(encoding="utf-8") + configuration.fragment(), encoding="utf-8")
    run([*make, "olddefconfig"], cwd=tree, failing=failing)
    if lacking := configuration.missing(config.read_text(encoding="utf-8")):
        raise RunFailed(f"{tree.name}: has no {', '.join(lacking)}; use Linux 7.2 or 7.3")


def compile_kernel(tree: Path, build: Path, jobs: int, log: Path, say: Callable[[str], None]) -> Path:
    """Compiles the configured source and returns the stripped kernel, which is an ordinary program.

    Args:
        tree: the source.
        build: the build folder.
        jobs: compilers at a time.
        log: gets everything that make prints.
        say: takes lines of progress.

    Raises:
        RunFailed: the compiler fails; the log is named.
    """
    command = ["make", f"-j{jobs}", "ARCH=um", f"O={build}", "linux"]
    environment = {**os.environ, **configuration.BUILD_ENVIRONMENT}
    with (
        log.open("w", encoding="utf-8") as file,
        subprocess.Popen(  # noqa: S603 - our own words, no shell
            command,
            cwd=tree,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        ) as process,
    ):
        try:
            _follow(process, file.write, say)
        except BaseException:
            process.kill()
            raise
    if process.returncode != 0:
        last = " / ".join(log.read_text(encoding="utf-8").strip().splitlines()[-_LOG_LINES:])
        raise RunFailed(f"the kernel does not compile: {last}; the whole log is {log}")
    kernel = build / "linux"
    run(["strip", str(kernel)], cwd=build, failing=f"{kernel}: cannot be stripped")
    return kernel


def _follow(process: subprocess.Popen[str], write: Callable[[str], object], say: Callable[[str], None]) -> None:
    """Counts the steps of a build as they are printed."""
    start = told = time.monotonic()
    steps = 0
    for line in process.stdout or ():
        write(line)
        steps += line.startswith("  ")
        now = time.monotonic()
        if now - told >= _REPORT_EVERY_S:
            told = now
            left = (now - start) * max(STEPS - steps, 0) / max(steps, 1)
            say(f"compiling: {steps} of about {STEPS} steps, about {left / 60:.0f} min left")

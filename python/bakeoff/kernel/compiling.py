"""Configures and compiles a source, with progress."""

from __future__ import annotations

import shutil
import time
from typing import TYPE_CHECKING

from bakeoff import children
from bakeoff.errors import RunFailed
from bakeoff.kernel import configuration
from bakeoff.kernel.command import complaint, environment, run, started

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable, Mapping
    from pathlib import Path

FILES = 696
"""Files that are compiled of Linux 7.3; only for the estimate of the time left."""
_REPORT_EVERY_S = 10
_LOG = "make.log"
# The kernel contains its configuration, which would name the machine's rustc and pahole.
_MAKE = ("make", "ARCH=um", "RUSTC=/dev/null", "PAHOLE=/dev/null")


def configure(tree: Path, build: Path, named: str) -> None:
    """Writes the configuration into the build folder, which is made.

    Args:
        tree: the source.
        build: the build folder.
        named: what the user knows the source as.

    Raises:
        RunFailed: the source does not know an option, or cannot be configured.
    """
    build.mkdir()
    wanted = build / "wanted"
    wanted.write_text(configuration.fragment(), encoding="utf-8")
    variables = {**_variables(build), "KCONFIG_ALLCONFIG": str(wanted)}
    words = [*_MAKE, f"O={build}", "allnoconfig"]
    run(words, cwd=tree, failing=f"{named}: cannot be configured", environment=variables)
    config = (build / ".config").read_text(encoding="utf-8")
    if lacking := configuration.missing(config):
        raise RunFailed(f"{named}: has no {', '.join(lacking)}; use the source of Linux 7.3")


def compile_kernel(tree: Path, build: Path, jobs: int, kept_log: Path, say: Callable[[str], None]) -> Path:
    """Compiles the configured source and returns the stripped kernel, which is an ordinary program.

    Args:
        tree: the source.
        build: the build folder.
        jobs: compilers at a time.
        kept_log: gets everything that make prints if it fails.
        say: takes lines of progress.

    Raises:
        RunFailed: the compiler fails; the log is named.
    """
    words = [*_MAKE, f"-j{jobs}", f"O={build}", "linux"]
    variables = _variables(build)
    failing = "the kernel does not compile"
    log = build / _LOG
    with (
        log.open("w", encoding="utf-8") as file,
        started(words, cwd=tree, failing=failing, environment=variables) as process,
    ):
        _follow(process, file.write, say)
    kernel = build / "linux"
    if process.returncode != 0 or not kernel.is_file():
        shutil.copyfile(log, kept_log)
        why = complaint(log.read_text(encoding="utf-8")) or f"make ends with exit code {process.returncode}"
        raise RunFailed(f"{failing}: {why}; the whole log is {kept_log}")
    run(["strip", str(kernel)], cwd=build, failing=f"{kernel}: cannot be stripped", environment=variables)
    return kernel


def _variables(build: Path) -> Mapping[str, str]:
    return {**environment(build), **configuration.BUILD_ENVIRONMENT}


def _follow(process: subprocess.Popen[str], write: Callable[[str], object], say: Callable[[str], None]) -> None:
    """Counts the files of a build as they are printed, until make ends."""
    start = told = time.monotonic()
    files = 0
    for line in process.stdout or ():
        write(line)
        files += line.startswith("  CC ")
        now = time.monotonic()
        if now - told >= _REPORT_EVERY_S:
            told = now
            left = (now - start) * max(FILES - files, 0) / max(files, 1)
            say(f"compiling: {files} of about {FILES} files, about {left / 60:.0f} min left")
    children.await_end(process)

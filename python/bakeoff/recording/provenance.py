"""Where a recording comes from: versions, git state, host and kernel."""

from __future__ import annotations

import functools
import hashlib
import platform
import subprocess
from importlib import metadata
from pathlib import Path

import bakeoff

SHOWN_DIGITS = 12
"""Of a digest, where a person reads it."""

# The compiled core, what feeds it and reads its results, and what those are written with. Of the rest of the package a
# scenario tells what it has become; but which scheme a plain name is in a world is only decided when a run begins.
_DECIDING = (
    "_core*.so",
    "scheme/*.py",
    "worlds/*.py",
    "scenario.py",
    "experiment/catalogue.py",
    "recording/tables.py",
)


@functools.cache
def versions() -> dict[str, str]:
    """Versions of what decides the bytes of a recording."""
    return {
        "bakeoff": bakeoff.__version__,
        "build": _build(),
        "python": platform.python_version(),
        "polars": metadata.version("polars"),
        "numpy": metadata.version("numpy"),
    }


def _build() -> str:
    """The beginning of a digest of the code that decides a run: builds of one version differ in it."""
    digest = hashlib.sha256()
    for file in sorted(file for pattern in _DECIDING for file in Path(bakeoff.__file__).parent.glob(pattern)):
        digest.update(file.read_bytes())
    return digest.hexdigest()[:SHOWN_DIGITS]


@functools.cache
def git_state() -> dict[str, str | bool] | None:
    """Commit of the checkout this package runs from, and whether it has changes; None outside one."""
    source = Path(bakeoff.__file__).resolve()
    root = next((folder for folder in source.parents if (folder / ".git").exists()), None)
    if root is None or not (root / "pyproject.toml").is_file():
        return None
    commit = _git(root, "rev-parse", "HEAD")
    changes = _git(root, "status", "--porcelain", "--untracked-files=no")
    if commit is None or changes is None:
        return None
    return {"commit": commit, "changed": bool(changes)}


def _git(root: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(  # noqa: S603 - fixed arguments
            ["git", "-C", str(root), *arguments],  # noqa: S607 - the user's git
            capture_output=True,
            text=True,
            timeout=10,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


@functools.cache
def host() -> dict[str, str]:
    """The machine, in the words of `uname`; its name stays out, so that equal machines write equal bytes."""
    return {
        "system": platform.system(),
        "kernel": platform.release(),
        "machine": platform.machine(),
    }

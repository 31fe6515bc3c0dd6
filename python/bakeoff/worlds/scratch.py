"""Folders of runs: each vanishes with its run, and one whose process was killed is swept away by a later one."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

PREFIX = "bakeoff-run-"
# A folder has this name until it is locked, so that nobody sweeps it away before.
_UNLOCKED = "bakeoff-new-"


@contextlib.contextmanager
def folder() -> Iterator[Path]:
    """A folder in the system's place for temporary files, locked while this process lives."""
    made = Path(tempfile.mkdtemp(prefix=_UNLOCKED))
    lock = os.open(made, os.O_RDONLY | os.O_DIRECTORY)
    path = made.with_name(PREFIX + made.name.removeprefix(_UNLOCKED))
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        made.rename(path)
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)
        os.close(lock)


def sweep() -> list[Path]:
    """Removes the folders of processes that could not, and returns which."""
    swept = []
    for path in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):
            lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(path, ignore_errors=True)
                swept.append(path)
            finally:
                os.close(lock)
    return swept

"""The built kernels: one folder each in the user's cache, whole or absent."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import shutil
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bakeoff import places
from bakeoff.errors import RunFailed, UserError, reason
from bakeoff.kernel import configuration, patches
from bakeoff.kernel.interruption import shielded
from bakeoff.recording.atomic import TEMPORARY_PREFIX, sweep, sync_directory

if TYPE_CHECKING:
    from collections.abc import Iterator

KERNEL = "linux"
MANIFEST = "manifest.json"
_LOCK = ".lock"


@dataclass(frozen=True)
class Built:
    """A kernel in the cache; its manifest is these fields.

    Attributes:
        name: `VERSION-DIGEST`, the name of its folder; the digest is of configuration and source.
        version: of the source.
        configuration: digest of options, build environment and changes.
        source: the package and its version, or the name of what the user gave.
        source_sha256: of the source's tarball, or of the names and contents of its folder.
        from_distribution: whether the source is the distribution's package.
        size_bytes: of the kernel.
        sha256: of the kernel.
        banner: what it said when it was booted.
    """

    name: str
    version: str
    configuration: str
    source: str
    source_sha256: str
    from_distribution: bool
    size_bytes: int
    sha256: str
    banner: str


def folder() -> Path:
    """Where kernels are kept: `bakeoff/kernels` in the user's cache."""
    return places.cache() / "kernels"


def kernel_of(built: Built) -> Path:
    """The program of a kernel."""
    return folder() / built.name / KERNEL


def names() -> list[str]:
    """The names of all kernels, also of those that are damaged or of another bakeoff."""
    if not folder().is_dir():
        return []
    return sorted(entry.name for entry in folder().iterdir() if entry.is_dir() and not entry.name.startswith("."))


def entries() -> list[Built]:
    """All whole kernels, by name. A folder that is not one of ours is passed over."""
    found = []
    for name in names():
        try:
            built = Built(**json.loads((folder() / name / MANIFEST).read_text(encoding="utf-8")))
            whole = built.name == name and kernel_of(built).stat().st_size == built.size_bytes
        except (ValueError, TypeError, OSError):
            continue
        if whole:
            found.append(built)
    return found


def default() -> Built:
    """The kernel to run on: the one that this bakeoff builds from the distribution's source, or else the only one.

    Of several that were built from the distribution, the newest source counts.

    Raises:
        RunFailed: there is none, or several of which none is this bakeoff's.
    """
    found = entries()
    current = configuration.digest(patches.described())
    ours = [built for built in found if built.from_distribution and built.configuration == current]
    if ours:
        return max(ours, key=lambda built: [int(number) for number in re.findall(r"\d+", built.source)])
    if len(found) == 1:
        return found[0]
    if not found:
        raise RunFailed("no kernel is built yet: run `bakeoff kernel build` once, which takes about eight minutes")
    known = ", ".join(built.name for built in found)
    raise RunFailed(f"none of the kernels {known} is the one of this bakeoff: run `bakeoff kernel build`")


@contextlib.contextmanager
def workshop(needed_bytes: int) -> Iterator[Path]:
    """A folder to build in, which vanishes at the end with all that is still in it.

    Args:
        needed_bytes: the disk space that the build takes.

    Raises:
        RunFailed: another build is under way, or there is not enough disk.
        UserError: the cache cannot be written.
    """
    with _explained():
        folder().mkdir(parents=True, exist_ok=True)
        lock = (folder() / _LOCK).open("w", encoding="utf-8")
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise RunFailed(f"{folder()}: another build of a kernel is under way; wait until it has ended") from error
        sweep(folder())  # what a build left that could not clean up
        free = shutil.disk_usage(folder()).free
        if free < needed_bytes:
            raise RunFailed(
                f"{folder()}: building a kernel takes {needed_bytes / 1e9:.1f} GB of disk and {free / 1e9:.1f} GB are "
                "free; make room, or set XDG_CACHE_HOME to a folder on another disk"
            )
        with _temporary() as work:
            yield work


def store(built: Built, kernel: Path) -> Path:
    """Keeps a kernel in one step, in place of one of that name, and returns its program.

    Raises:
        UserError: the cache cannot be written.
    """
    with _explained():
        folder().mkdir(parents=True, exist_ok=True)
        with _temporary() as scratch:
            new = scratch / "new"
            new.mkdir()
            shutil.copyfile(kernel, new / KERNEL)
            (new / KERNEL).chmod(0o755)
            manifest = json.dumps(asdict(built), indent=4, sort_keys=True) + "\n"
            (new / MANIFEST).write_text(manifest, encoding="utf-8")
            for file in (new / KERNEL, new / MANIFEST):
                with file.open("rb") as written:
                    os.fsync(written.fileno())
            sync_directory(new)
            target = folder() / built.name
            with shielded():
                if target.exists():
                    # A directory cannot replace a full one, so the old one steps aside first.
                    target.rename(scratch / "old")
                new.rename(target)
        sync_directory(folder())
    return kernel_of(built)


def remove(name: str) -> None:
    """Removes a kernel in one step, also a damaged one.

    Raises:
        UserError: there is none of that name, or the cache cannot be written.
    """
    found = names()
    if name not in found:
        known = f"there are {', '.join(found)}" if found else "none is built"
        raise UserError(f'"{name}": no such kernel; {known}')
    with _explained(), _temporary() as scratch:
        (folder() / name).rename(scratch / name)


@contextlib.contextmanager
def _temporary() -> Iterator[Path]:
    """A folder beside the kernels, of the name of those that are swept away."""
    scratch = None
    try:
        with shielded():
            scratch = Path(tempfile.mkdtemp(prefix=TEMPORARY_PREFIX, dir=folder()))
        yield scratch
    finally:
        if scratch is not None:
            shutil.rmtree(scratch, ignore_errors=True)


@contextlib.contextmanager
def _explained() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        wanted = "set XDG_CACHE_HOME to a folder that you may write to"
        raise UserError(f"{folder()}: the cache cannot be written ({reason(error)}); {wanted}") from error

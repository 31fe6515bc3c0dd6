"""Writing files and folders so that a reader finds them whole or not at all.

Everything is written under a temporary name in the directory where it will stay, synced, and renamed; the
directory is synced too, because on Linux the rename itself is only durable then.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from bakeoff.errors import RunFailed, UserError, reason

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

TEMPORARY_PREFIX = ".partial-"

_DISK_TROUBLE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EFBIG})


@contextlib.contextmanager
def explained(path: Path, *, writing: str) -> Iterator[None]:
    """Turns an `OSError` into one sentence for the user.

    Args:
        path: what was being written.
        writing: what it holds, for the message ("the experiment", "run cubic-1").

    Raises:
        RunFailed: the disk is full or broken.
        UserError: the path cannot be written for another reason.
    """
    try:
        yield
    except OSError as error:
        failure = f"{path}: {writing} could not be written ({reason(error)})"
        if error.errno in _DISK_TROUBLE:
            message = f"{failure}; make room, then repeat the command: run, agree and conformance go on with --resume"
            raise RunFailed(message) from error
        message = f"{failure}; choose a folder that you may write to with --out"
        raise UserError(message) from error


def sync_directory(path: Path) -> None:
    """Makes the entries of a directory durable."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _write_synced(path: Path, content: bytes) -> None:
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _temporary_name(path: Path) -> Path:
    return path.with_name(f"{TEMPORARY_PREFIX}{path.name}-{uuid.uuid4().hex[:8]}")


def _target(path: Path) -> Path:
    """The file that a path leads to: a link stays, and what is no file is not replaced by one."""
    target = Path(os.path.realpath(path))
    if target.is_symlink() or (target.exists() and not target.is_file()):
        raise UserError(f"{path}: is not a regular file, so it is not replaced; name a file with --out")
    return target


def write_file(path: Path, content: bytes, *, writing: str) -> None:
    """Writes a file atomically, replacing what is there; a symbolic link stays, and what it leads to is replaced.

    Raises:
        RunFailed, UserError: the file cannot be written; nothing half-written is left.
    """
    with stream_file(path, writing=writing) as file:
        file.write(content)


@contextlib.contextmanager
def stream_file(path: Path, *, writing: str) -> Iterator[BinaryIO]:
    """A file to be written piece by piece; it is there once all of it is, and replaces what was.

    Raises:
        RunFailed, UserError: the file cannot be written; nothing half-written is left.
    """
    with explained(path, writing=writing):
        target = _target(path)
        temporary = _temporary_name(target)
        try:
            with temporary.open("wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(target)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        sync_directory(target.parent)


def write_folder(path: Path, files: Mapping[str, bytes], *, writing: str) -> None:
    """Writes a folder of files atomically, replacing a folder of that name.

    Args:
        path: the folder to make.
        files: content by file name.
        writing: what it holds, for the message.

    Raises:
        RunFailed, UserError: the folder cannot be written; nothing half-written is left.
    """
    with explained(path, writing=writing):
        temporary = _temporary_name(path)
        try:
            temporary.mkdir()
            for name, content in files.items():
                _write_synced(temporary / name, content)
            sync_directory(temporary)
            if path.exists():
                # A directory cannot replace a full one, so the old one steps aside first.
                old = _temporary_name(path)
                path.rename(old)
                temporary.rename(path)
                shutil.rmtree(old)
            else:
                temporary.rename(path)
        except BaseException:
            shutil.rmtree(temporary, ignore_errors=True)
            raise
        sync_directory(path.parent)


def is_temporary(path: Path, name: str = "") -> bool:
    """Whether a path is the temporary name of a file or folder whose name begins like this."""
    return path.name.startswith(f"{TEMPORARY_PREFIX}{name}")


def sweep(folder: Path, name: str = "") -> None:
    """Removes what interrupted writers left in `folder`.

    Args:
        folder: where they wrote.
        name: how the names begin of what they wrote; by default all.
    """
    for entry in folder.glob(f"{TEMPORARY_PREFIX}{name}*"):
        if entry.is_dir():
            shutil.rmtree(entry, ignore_errors=True)
        else:
            entry.unlink(missing_ok=True)

"""Where the kernel's source comes from: the distribution's package, or a folder or tarball that the user names."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tarfile
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING

from bakeoff.errors import RunFailed, UserError
from bakeoff.kernel import apt
from bakeoff.kernel.command import environment, run

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

# Big parts of a source that User-mode Linux never compiles: the fewer files, the sooner they are gone. What configures
# them stays. Machines and drivers go by first letters: um and x86 stay, and base, char, net and tty.
_LEFT_OUT = (
    "*/.git",
    "*/Documentation/*/*",
    "*/arch/[!ux]*/*.[chS]",
    "*/arch/*/boot/dts/*",
    "*/drivers/[!bcnt]*/*.[ch]",
    "*/drivers/net/*/*.[ch]",
    "*/sound/*.[ch]",
    "*/tools/perf/*",
    "*/tools/testing/*",
)
_BUILT_IN = (".config", "include/config", "arch/x86/include/generated")
_GIVE = "give a folder or a tarball of a Linux source with --source"


@dataclass(frozen=True)
class Source:
    """An unpacked source that may be changed.

    Attributes:
        tree: its folder.
        version: of the kernel, as its Makefile states it.
        origin: the package and its version, or the name of what the user gave.
        from_distribution: whether it is the distribution's package.
        sha256: of the tarball, or of the names and contents of a folder.
    """

    tree: Path
    version: str
    origin: str
    from_distribution: bool
    sha256: str


def check(given: Path) -> None:
    """Refuses what cannot be a source, before anything is done.

    Raises:
        UserError: it is not there, is no tarball, or has been compiled in.
    """
    if os.path.isdir(given):  # noqa: PTH112 - never raises
        version(given, named=given)
        if any((given / name).exists() for name in _BUILT_IN):
            raise UserError(f"{given}: has been compiled in; clean it with `make ARCH=um mrproper`, or give a tarball")
    elif not os.path.exists(given):  # noqa: PTH110 - never raises
        raise UserError(f"{given}: no such folder or tarball; {_GIVE}")
    elif not (given.is_file() and tarfile.is_tarfile(given)):
        raise UserError(f"{given}: not a tarball; {_GIVE}")


def prepare(given: Path | None, work: Path, say: Callable[[str], None]) -> Source:
    """A source of its own to change and to compile: the package's, or a copy of what the user names.

    Args:
        given: a folder or tarball that has been checked; the distribution's package if None.
        work: a folder to work in.
        say: takes lines of progress.

    Raises:
        RunFailed: the package cannot be had, or the source not be unpacked or copied.
        UserError: what the user names is no source.
    """
    target = work / "source"
    if given is None:
        tarball, origin = apt.fetch(work, say)
        tree = unpack(tarball, target, say)
        sha256 = _digest_of_file(tarball)
        shutil.rmtree(work / "apt")
        return Source(tree, version(tree, named=tarball), origin, from_distribution=True, sha256=sha256)
    given = given.resolve()
    if given.is_dir():
        say(f"copying {given} ...")
        _copy(given, target)
        tree, sha256 = target, _digest_of_folder(target)
    else:
        tree, sha256 = unpack(given, target, say), _digest_of_file(given)
    return Source(tree, version(tree, named=given), given.name, from_distribution=False, sha256=sha256)


def unpack(tarball: Path, target: Path, say: Callable[[str], None]) -> Path:
    """Unpacks a tarball, without what the guest never compiles, and returns the folder of the source.

    Raises:
        RunFailed: it is damaged, or the disk is full.
    """
    target.mkdir()
    say(f"unpacking {tarball.name} ...")
    excludes = [f"--exclude={pattern}" for pattern in _LEFT_OUT]
    words = ["tar", "-xf", str(tarball), "--no-same-owner", *excludes, "-C", str(target)]
    run(words, cwd=target, failing=f"{tarball}: cannot be unpacked", environment=environment(target.parent))
    inside = list(target.iterdir())
    return inside[0] if len(inside) == 1 and inside[0].is_dir() else target


def version(tree: Path, *, named: Path) -> str:
    """The version of a source as its Makefile states it: "7.3.4".

    Args:
        tree: the folder of the source.
        named: what the user knows it as, for the message.

    Raises:
        UserError: there is no Makefile of a kernel.
    """
    makefile = tree / "Makefile"
    text = makefile.read_text(encoding="utf-8", errors="replace") if makefile.is_file() else ""
    words: dict[str, str] = dict(re.findall(r"^([A-Z]+)[ \t]*=[ \t]*(\S*)[ \t]*$", text, re.MULTILINE))
    numbers = [words.get(name, "") for name in ("VERSION", "PATCHLEVEL", "SUBLEVEL")]
    found = ".".join(numbers) + words.get("EXTRAVERSION", "")
    if not re.fullmatch(r"\d+\.\d+\.\d+[\w.+~-]*", found):
        raise UserError(f"{named}: holds no Makefile of Linux; {_GIVE}")
    return found


def _copy(folder: Path, target: Path) -> None:
    """Copies a source without what the guest never compiles."""

    def left_out(inner: str, names: Sequence[str]) -> set[str]:
        place = Path("/source") / Path(inner).relative_to(folder)
        return {name for name in names if any(fnmatch(str(place / name), pattern) for pattern in _LEFT_OUT)}

    try:
        shutil.copytree(folder, target, symlinks=True, ignore=left_out)
    except shutil.Error as error:
        first = error.args[0][0]
        raise RunFailed(f"{first[0]}: cannot be copied: {first[2]}") from error


def _digest_of_file(file: Path) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def _digest_of_folder(folder: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_symlink():
            content = str(path.readlink())
        elif path.is_file():
            content = _digest_of_file(path)
        else:
            continue
        digest.update(f"{path.relative_to(folder)}\0{content}\0".encode(errors="surrogateescape"))
    return digest.hexdigest()

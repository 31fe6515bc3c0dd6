"""The built kernels: one folder each in the user's cache, whole or absent."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path

from bakeoff.errors import RunFailed, UserError
from bakeoff.recording.atomic import sweep, write_folder

KERNEL = "linux"
MANIFEST = "manifest.json"


@dataclass(frozen=True)
class Built:
    """A kernel in the cache.

    Attributes:
        name: `VERSION-CONFIGURATION`, the name of its folder.
        version: of the source.
        configuration: digest of options, build environment and changes.
        size_bytes: of the kernel.
        sha256: of the kernel.
        banner: what it said when it was booted.
    """

    name: str
    version: str
    configuration: str
    size_bytes: int
    sha256: str
    banner: str


def folder() -> Path:
    """Where kernels are kept: `bakeoff/kernels` in the user's cache."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "bakeoff" / "kernels"


def kernel_of(built: Built) -> Path:
    """The program of a kernel."""
    return folder() / built.name / KERNEL


def entries() -> list[Built]:
    """All kernels, by name. A folder that is not one of ours is passed over."""
    found = []
    for manifest in sorted(folder().glob(f"*/{MANIFEST}")):
        try:
            built = Built(**json.loads(manifest.read_text(encoding="utf-8")))
        except (ValueError, TypeError, OSError):
            continue
        if built.name == manifest.parent.name and kernel_of(built).is_file():
            found.append(built)
    return found


def store(built: Built, kernel: Path) -> Path:
    """Keeps a kernel, in place of one of that name, and returns its program."""
    folder().mkdir(parents=True, exist_ok=True)
    sweep(folder())
    manifest = json.dumps(asdict(built), indent=4, sort_keys=True) + "\n"
    files = {KERNEL: kernel.read_bytes(), MANIFEST: manifest.encode()}
    write_folder(folder() / built.name, files, writing=f"kernel {built.name}")
    kernel_of(built).chmod(0o755)
    return kernel_of(built)


def remove(name: str) -> None:
    """Removes a kernel.

    Raises:
        UserError: there is none of that name.
    """
    names = [built.name for built in entries()]
    if name not in names:
        known = f"there are {', '.join(names)}" if names else "none is built"
        raise UserError(f'"{name}": no such kernel; {known}')
    shutil.rmtree(folder() / name)


def default() -> Built:
    """The kernel that runs guests.

    Raises:
        RunFailed: none is built.
    """
    found = entries()
    if not found:
        raise RunFailed("no kernel is built yet, and the linux world needs one: run `bakeoff kernel build`")
    return found[-1]

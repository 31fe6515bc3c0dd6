"""Our changes to the source: a finer clock tick, and no randomness from the machine.

Each replaces a text that must stand exactly once in its file; a source that looks different is refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bakeoff.errors import RunFailed

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True)
class Patch:
    """One replacement.

    Attributes:
        file: path within the source.
        why: what it is for.
        old: the text to replace.
        new: the text in its place.
    """

    file: str
    why: str
    old: str
    new: str


PATCHES = (
    Patch(
        file="arch/um/Kconfig",
        why="a clock tick of 1 ms, as servers have, in place of 10 ms",
        old="config HZ\n\tint\n\tdefault 100\n",
        new="config HZ\n\tint\n\tdefault 1000\n",
    ),
    Patch(
        file="arch/um/include/asm/archrandom.h",
        why="no random numbers from the host while running",
        old="\tret = os_getrandom(v, max_longs * sizeof(*v), 0);\n",
        new="\tret = -1;\n",
    ),
    Patch(
        file="arch/um/kernel/um_arch.c",
        why="no random seed from the host at boot",
        old="\tif (os_getrandom(rng_seed, sizeof(rng_seed), 0) == sizeof(rng_seed)) {\n",
        new="\tmemset(rng_seed, 0x5a, sizeof(rng_seed));\n\t{\n",
    ),
)


def described() -> dict[str, str]:
    """The changes by file, for the name of the kernel's configuration."""
    return {patch.file: patch.new for patch in PATCHES}


def apply(tree: Path, patches: tuple[Patch, ...] = PATCHES) -> None:
    """Changes an unpacked source; what is changed already stays as it is.

    Raises:
        RunFailed: a file is missing or does not look as expected.
    """
    for patch in patches:
        file = tree / patch.file
        try:
            text = file.read_text(encoding="utf-8")
        except OSError as error:
            raise RunFailed(f"{file}: cannot be read, so this is not a Linux source with User-mode Linux") from error
        if patch.new in text and patch.old not in text:
            continue
        if text.count(patch.old) != 1:
            raise RunFailed(
                f"{file}: does not look as expected where it is to be changed ({patch.why}); use Linux 7.2 or 7.3"
            )
        file.write_text(text.replace(patch.old, patch.new), encoding="utf-8")

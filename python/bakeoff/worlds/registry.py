"""The worlds by name: which exist in this version, and where they are."""

from __future__ import annotations

import importlib

from bakeoff.errors import UserError
from bakeoff.worlds.world import World

# Module of each world, which calls it `WORLD`; None: not part of this version.
MODULES: dict[str, str | None] = {
    "sim": "bakeoff.worlds.sim",
    "emu": "bakeoff.worlds.emu",
    "linux": "bakeoff.worlds.linux",
    "live": None,
}


def available() -> list[str]:
    """Names of the worlds of this version."""
    return [name for name, module in MODULES.items() if module is not None]


def check(name: str) -> None:
    """Checks that a world exists in this version, without loading it.

    Raises:
        UserError: it is unknown, or not part of this version.
    """
    if name not in MODULES:
        from bakeoff.experiment.likely import nearest  # noqa: PLC0415 - only for the message

        raise UserError(f'"{name}" is not a world; {nearest(name, available())}')
    if MODULES[name] is None:
        there = ", ".join(f'"{known}"' for known in available())
        raise UserError(f'the world "{name}" is not part of this version; there are {there}')


def world(name: str) -> World:
    """Loads a world.

    Raises:
        UserError: it is unknown, or not part of this version.
    """
    check(name)
    found = importlib.import_module(str(MODULES[name])).WORLD
    if not isinstance(found, World):
        raise TypeError(f"{MODULES[name]}.WORLD is not a World")
    return found

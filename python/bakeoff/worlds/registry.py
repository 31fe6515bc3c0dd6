"""The worlds by name: which exist in this version, and where they are.

A world is a module with `execute(run) -> Outcome`; see `runner.World`. It is imported when it is asked for.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from bakeoff.errors import UserError

if TYPE_CHECKING:
    from bakeoff.worlds.runner import World

# Module of each world; None: not part of this version.
MODULES: dict[str, str | None] = {
    "sim": "bakeoff.worlds.sim",
    "emu": None,
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
        from bakeoff.experiment.base import nearest  # noqa: PLC0415 - only for the message

        raise UserError(f'"{name}" is not a world; {nearest(name, MODULES)}')
    if MODULES[name] is None:
        there = " and ".join(f'"{known}"' for known in available())
        only = "the only one is" if len(available()) == 1 else "there are"
        raise UserError(f'the world "{name}" is not part of this version; {only} {there}')


def world(name: str) -> World:
    """What executes the runs of a world.

    Raises:
        UserError: it is unknown, or not part of this version.
    """
    check(name)
    execute: World = importlib.import_module(str(MODULES[name])).execute
    return execute

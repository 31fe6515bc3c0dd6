"""The worlds by name: which exist in this version, and where they are."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bakeoff.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from bakeoff.experiment import Plan
    from bakeoff.experiment.estimate import Cost
    from bakeoff.worlds.runner import Execute

# Module of each world; None: not part of this version.
MODULES: dict[str, str | None] = {
    "sim": "bakeoff.worlds.sim",
    "emu": "bakeoff.worlds.emu",
    "linux": "bakeoff.worlds.linux",
    "live": None,
}


def _nothing(*_: Any) -> None:
    pass


@dataclass(frozen=True)
class World:
    """What the module of a world offers: `execute` always, the rest where the world needs it.

    Attributes:
        execute: runs one planned run; see `runner.Execute`.
        cost: estimates what a scenario will cost.
        check: raises `RunStopped` if the world cannot run a scenario; before anything is run.
        prepare: makes ready for runs, and raises `RunFailed` if this machine lacks something.
        stop: ends what still works for runs outside this process.
        provenance: what runs a run beside bakeoff itself, by name; once the machine is prepared.
        most_jobs: runs that may go on at a time; None: any number.
    """

    execute: Execute
    cost: Callable[[Mapping[str, Any]], Cost]
    check: Callable[[Mapping[str, Any]], None]
    prepare: Callable[[], None]
    stop: Callable[[], None]
    provenance: Callable[[], Mapping[str, str]]
    most_jobs: int | None = None

    def check_plan(self, plan: Plan) -> None:
        """Checks, before anything is run, that the world can run every cell.

        Raises:
            UserError: it cannot run one; the message names the file, the cell, what is wrong and what would be right.
        """
        from bakeoff.worlds import named_files  # noqa: PLC0415 - only where runs are planned
        from bakeoff.worlds.outcome import RunStopped  # noqa: PLC0415

        for run in plan.runs:
            if run.repeat == 1:
                try:
                    named_files.check(run.scenario)
                    self.check(run.scenario)
                except RunStopped as error:
                    raise UserError(f"{plan.where(run)}: {error}") from error


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
    from bakeoff.experiment import estimate  # noqa: PLC0415 - only where runs are planned

    module = importlib.import_module(str(MODULES[name]))
    return World(
        execute=module.execute,
        cost=getattr(module, "cost", estimate.cost),
        check=getattr(module, "check", _nothing),
        prepare=getattr(module, "prepare", _nothing),
        stop=getattr(module, "stop", _nothing),
        provenance=getattr(module, "provenance", dict),
        most_jobs=getattr(module, "MOST_JOBS", None),
    )

"""What makes a world: how it runs one run, and what belongs before and after that."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bakeoff.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from bakeoff.experiment import Plan
    from bakeoff.experiment.estimate import Cost
    from bakeoff.worlds.runner import Execute


def _nothing(*_: Any) -> None:
    pass


@dataclass(frozen=True, kw_only=True)
class World:
    """What the module of a world offers: `execute` and `cost` always, the rest where the world needs it.

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
    check: Callable[[Mapping[str, Any]], None] = _nothing
    prepare: Callable[[], None] = _nothing
    stop: Callable[[], None] = _nothing
    provenance: Callable[[], Mapping[str, str]] = dict
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

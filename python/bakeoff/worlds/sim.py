"""The simulated world: one run in virtual time, by the compiled core."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from bakeoff import _core
from bakeoff.worlds import frames, names
from bakeoff.worlds.outcome import Outcome, RunInvalid, RunStopped

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bakeoff.experiment import PlannedRun


def execute(run: PlannedRun) -> Outcome:
    """Runs a scenario.

    The interpreter lock is released meanwhile, so that several threads run several scenarios.

    Raises:
        RunStopped: the core cannot run this scenario, or a stack lost the connection of a flow.
        RunInvalid: the packets of the run do not add up.
    """
    try:
        result = _core.run(json.dumps(names.for_simulator(run.scenario)))
    except (_core.ScenarioError, _core.ConnectionLost) as error:
        raise RunStopped(str(error)) from error
    except _core.ConservationError as error:
        raise RunInvalid(str(error)) from error
    return Outcome(frames.of_core(result["tables"]))


def check(scenario: Mapping[str, Any]) -> None:
    """Checks, before anything is run, that the simulator can run a scenario.

    Raises:
        RunStopped: it cannot; the message says what would be right.
    """
    try:
        _core.check(json.dumps(names.for_simulator(scenario)))
    except _core.ScenarioError as error:
        raise RunStopped(str(error)) from error

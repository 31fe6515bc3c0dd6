"""The simulated world: one run in virtual time, by the compiled core."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from bakeoff import _core
from bakeoff.experiment import estimate
from bakeoff.worlds import frames, named_files, names, processes, python_schemes
from bakeoff.worlds.outcome import Outcome, RunInvalid, RunStopped
from bakeoff.worlds.world import World

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bakeoff.experiment import PlannedRun
    from bakeoff.experiment.estimate import Cost


def execute(run: PlannedRun) -> Outcome:
    """Runs a scenario.

    The interpreter lock is released meanwhile, so that several threads run several scenarios.

    A scenario with schemes in Python has a process of its own.

    Raises:
        RunStopped: the core cannot run this scenario, a scheme in Python failed, a stack lost its connection, or a file
            has changed.
        RunInvalid: the packets of the run do not add up.
    """
    named_files.check_unchanged(run.scenario)
    scenario = names.for_simulator(run.scenario)
    if python_schemes.has_any(run.scenario):
        return python_schemes.execute(run.scenario, scenario)
    try:
        result = _core.run(json.dumps(scenario))
    except (_core.ScenarioError, _core.ConnectionLost) as error:
        raise RunStopped(str(error)) from error
    except _core.ConservationError as error:
        raise RunInvalid(str(error)) from error
    return Outcome(frames.of_core(result["tables"]))


def cost(scenario: Mapping[str, Any]) -> Cost:
    """What one run costs."""
    return python_schemes.cost(scenario) if python_schemes.has_any(scenario) else estimate.cost(scenario)


def stop() -> None:
    """Ends the processes of schemes in Python."""
    processes.stop()


def check(scenario: Mapping[str, Any]) -> None:
    """Checks, before anything is run, that the simulator can run a scenario.

    Raises:
        RunStopped: it cannot; the message says what would be right.
    """
    try:
        _core.check(json.dumps(names.for_simulator(scenario)))
    except _core.ScenarioError as error:
        raise RunStopped(str(error)) from error
    python_schemes.check(scenario)


WORLD = World(execute=execute, cost=cost, check=check, stop=stop)

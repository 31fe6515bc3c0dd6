"""The emulated world: one run in real time, with real senders on this machine and our own path between them."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import platform
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bakeoff import _core
from bakeoff.errors import RunFailed
from bakeoff.experiment import estimate
from bakeoff.scenario import CONTROLLERS, merges
from bakeoff.worlds import (
    capacity,
    controllers,
    frames,
    named_files,
    names,
    privilege,
    processes,
    programs,
    python_schemes,
    scratch,
    trust,
)
from bakeoff.worlds.outcome import Outcome, RunInvalid, RunStopped
from bakeoff.worlds.world import World

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bakeoff.experiment import PlannedRun
    from bakeoff.experiment.estimate import Cost

_EMULATOR = Path(__file__).resolve().parents[1] / "_emulator"
_JOB = "job.json"
_REPORT = "report.json"
_ENDINGS = "endings.json"
_OWN_WORDS = "bakeoff-emulator: "
_SCHEME_ENDED = re.compile(
    r"flow (?P<flow>\d+): the process of its scheme has ended (with status (?P<status>\d+)|by signal (?P<signal>\d+))"
)
_QUOTED_LINES = 3
# Beside the run itself: namespaces, devices, the last packets, and tables from the log.
_OVERHEAD_S = 0.6
_PACKETS_PER_TABLE_SECOND = 1e6
# An emulator that has not ended by then never will.
_PATIENCE_S = 30.0
_MEMORY_BYTES_PER_PACKET = 300


def execute(run: PlannedRun) -> Outcome:
    """Runs a scenario between real senders.

    Raises:
        RunFailed: the emulator cannot be started.
        RunStopped: the run failed, and what the emulator said is quoted; or a file has changed.
        RunInvalid: the run cannot be trusted: packets were late, or do not add up.
    """
    named_files.check_unchanged(run.scenario)
    scenario = names.for_host(run.scenario)
    job = {"scenario": scenario, "merge": merges(run.scenario), "programs": programs.of(run.scenario)}
    job["schemes"] = python_schemes.servers(run.scenario, privilege.ordinary())
    with processes.folder() as place, controllers.loaded(run.scenario.get(CONTROLLERS, {})):
        (place / _JOB).write_text(json.dumps(job), encoding="utf-8")
        command = [str(_EMULATOR), str(place)]
        with processes.started(command, place, privilege.environment()) as process:
            watched = processes.watch(process, run.scenario["duration_ns"] / 1e9 + _PATIENCE_S)
        outcome = Outcome(cpu_s=watched.cpu_s, provenance=provenance(), console=watched.console)
        if watched.status != 0:
            raise RunStopped(_problem(watched, run.scenario), outcome)
        report = json.loads((place / _REPORT).read_text(encoding="utf-8"))
        outcome = replace(outcome, measurements=report)
        endings = json.loads((place / _ENDINGS).read_text(encoding="utf-8")) if job["programs"] else []
        if (problem := trust.problem(run.scenario, report)) is not None:
            raise RunInvalid(problem, outcome)
        try:
            tables = _core.tables_from_events(json.dumps(scenario), str(place))["tables"]
        except OSError as error:
            raise RunStopped(str(error), outcome) from error
        except _core.ConservationError as error:
            raise RunInvalid(str(error), outcome) from error
    result = replace(outcome, tables=frames.of_core(tables), console=())
    if (silent := programs.silent(scenario, result.tables, endings)) is not None:
        raise RunStopped(silent, outcome)
    return result


def check(scenario: Mapping[str, Any]) -> None:
    """Checks, before anything is run, that this machine can run a scenario.

    Raises:
        RunStopped: it cannot; the message names the key, and what would be right.
    """
    programs.check(scenario)
    capacity.check(scenario)
    controllers.check(scenario.get(CONTROLLERS, {}))
    try:
        _core.check_emulated(json.dumps(names.for_host(scenario)))
    except _core.ScenarioError as error:
        raise RunStopped(str(error)) from error
    # Who is not root gives up nothing, and is told of that when the machine is prepared.
    python_schemes.check(scenario, privilege.ordinary() if os.geteuid() == 0 else None)


def prepare() -> None:
    """Looks for what the emulator needs, and removes what those that were killed have left.

    Raises:
        RunFailed: this user may not, this machine cannot, or another emulated experiment is under way.
    """
    privilege.check()
    if not _EMULATOR.is_file():
        raise RunFailed("the emulator is missing; start ./bakeoff once to compile it")
    privilege.take_machine()
    scratch.sweep()
    controllers.sweep()


def clean() -> list[str]:
    """Removes what killed processes have left, by our own names only, and says what that was.

    Raises:
        RunFailed: this user may not, or an emulated experiment is under way.
    """
    privilege.check()
    privilege.take_machine()
    loaded, folders = controllers.sweep(), scratch.sweep()
    return [f"the controller {name}" for name in loaded] + [f"the folder {path}" for path in folders]


def cost(scenario: Mapping[str, Any]) -> Cost:
    """What one run costs; time passes as it does."""
    simulated = estimate.cost(scenario)
    tables_s = simulated.packets / _PACKETS_PER_TABLE_SECOND
    return replace(
        simulated,
        cpu_s=scenario["duration_ns"] / 1e9 + _OVERHEAD_S + tables_s,
        memory_bytes=simulated.memory_bytes + _MEMORY_BYTES_PER_PACKET * simulated.packets,
    )


def stop() -> None:
    """Ends the emulator at once, and with it everything that it has started."""
    processes.stop()


@functools.cache
def provenance() -> dict[str, str]:
    """The kernel that sends, and the emulator."""
    return {"host_kernel": platform.release(), "emulator_sha256": hashlib.sha256(_EMULATOR.read_bytes()).hexdigest()}


def _problem(watched: processes.Watched, scenario: Mapping[str, Any]) -> str:
    """One sentence about an emulator that did not do its job; the first thing it said is the cause."""
    own = [line.removeprefix(_OWN_WORDS) for line in watched.console if line.startswith(_OWN_WORDS)]
    if own and (ended := _SCHEME_ENDED.fullmatch(own[0])):
        place = python_schemes.places(scenario)[int(ended["flow"]) - 1]
        said = [line for line in watched.console if not line.startswith(_OWN_WORDS)]
        how = python_schemes.ending(-int(ended["signal"]) if ended["signal"] else int(ended["status"]), said)
        return f"flow {ended['flow']}: {python_schemes.end([place], 'its process', how, said)}"
    if own:
        return own[0]
    last = " / ".join(watched.console[-_QUOTED_LINES:]) or "it printed nothing"
    if watched.has_hung:
        return f"the emulator hung and was stopped; its last lines: {last}"
    return f"the emulator ended early (status {watched.status}); its last lines: {last}"


WORLD = World(
    execute=execute,
    cost=cost,
    check=check,
    prepare=prepare,
    stop=stop,
    provenance=provenance,
    # Runs in real time would disturb each other.
    most_jobs=1,
)

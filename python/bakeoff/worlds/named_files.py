"""Files that an experiment names, such as weights: whether they hold what a scheme needs, and are what they were."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bakeoff import _core
from bakeoff.errors import reason
from bakeoff.experiment.catalogue import OWN
from bakeoff.scenario import FILES
from bakeoff.worlds.outcome import RunStopped

if TYPE_CHECKING:
    from collections.abc import Mapping


def check(scenario: Mapping[str, Any]) -> None:
    """Checks, before anything is run, that the files of a scenario can be read and hold what they should.

    Raises:
        RunStopped: one does not; the message names flow, parameter and file.
    """
    files = scenario.get(FILES, {})
    for number, flow in enumerate(scenario["flows"], 1):
        if not files.keys().isdisjoint(map(str, flow["parameters"].values())):
            try:
                _core.check_scheme(flow["scheme"].removeprefix(OWN), json.dumps(flow["parameters"]))
            except _core.ScenarioError as error:
                raise RunStopped(f"flow {number}: {error}") from error


def check_unchanged(scenario: Mapping[str, Any]) -> None:
    """Checks, before a run begins, that its files are what they were when the experiment was read.

    Raises:
        RunStopped: one is not; the message names it.
    """
    for file, digest in scenario.get(FILES, {}).items():
        try:
            content = Path(file).read_bytes()
        except OSError as error:
            raise RunStopped(f"{file}: cannot be read ({reason(error)})") from error
        if hashlib.sha256(content).hexdigest() != digest:
            raise RunStopped(f"{file} has changed since the experiment was read; run it again")


def brought_along(scenario: Mapping[str, Any], folder: Path, seen_as: str) -> dict[str, Any]:
    """A scenario with copies of its files in a folder, for a guest that has another view of it and of nothing else.

    Args:
        scenario: what is to be run.
        folder: where the copies go.
        seen_as: what the guest calls the folder.
    """
    places = {}
    for number, file in enumerate(scenario.get(FILES, {}), 1):
        copy = Path(shutil.copy(file, folder / f"file-{number}"))
        places[file] = f"{seen_as}/{copy.name}"
    flows = [
        {**flow, "parameters": {name: places.get(str(value), value) for name, value in flow["parameters"].items()}}
        for flow in scenario["flows"]
    ]
    return {**scenario, "flows": flows}

"""Files that the parameters of schemes name, such as weights: whether they hold what the scheme needs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from bakeoff import _core
from bakeoff.experiment.catalogue import FILES, OWN
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

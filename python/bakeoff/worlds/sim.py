"""The simulated world: one run in virtual time, by the compiled core."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np  # noqa: F401 - the core would load it within the first run, and its time be taken for the run's
import polars as pl
from polars import selectors

from bakeoff import _core
from bakeoff.worlds.outcome import RunInvalid, RunStopped

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bakeoff.experiment import PlannedRun

Tables = dict[str, pl.DataFrame]


def execute(run: PlannedRun) -> Tables:
    """Runs a scenario and returns its tables by name, as the core declares them (-1: does not exist).

    The interpreter lock is released meanwhile, so that several threads run several scenarios.

    Raises:
        RunStopped: the core cannot run this scenario.
        RunInvalid: the packets of the run do not add up.
    """
    try:
        result = _core.run(json.dumps(run.scenario))
    except _core.ScenarioError as error:
        raise RunStopped(str(error)) from error
    except _core.ConservationError as error:
        raise RunInvalid(str(error)) from error
    return {name: _frame(columns) for name, columns in result["tables"].items()}


def _frame(columns: Mapping[str, Any]) -> pl.DataFrame:
    # Text comes as lists, which have no type when they are empty.
    table = pl.DataFrame(
        {
            name: pl.Series(values, dtype=pl.String) if isinstance(values, list) else values
            for name, values in columns.items()
        }
    )
    # Unsigned columns would wrap in the first subtraction of a reader; no count or time needs the 64th bit.
    return table.with_columns(selectors.unsigned_integer().cast(pl.Int64))

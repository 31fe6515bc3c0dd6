"""Summaries as the JSON object that `--json` prints.

Fields are added, never renamed; what does not exist is null, never 0.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import bakeoff

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bakeoff.metrics.summary import RunSummary


def run_to_json(summary: RunSummary) -> dict[str, Any]:
    """One run as plain values."""
    value = asdict(summary)
    value["flows"] = list(value["flows"])
    value["hops"] = list(value["hops"])
    value["probes"] = list(value["probes"])
    value["queueing"] = [entry | {"meant": list(entry["meant"])} for entry in value["queueing"]]
    return value


def to_json(experiment: str, world: str, summaries: Sequence[RunSummary]) -> dict[str, Any]:
    """The whole object.

    Args:
        experiment: name of the experiment.
        world: what executed the runs.
        summaries: the runs, in the order of the plan.
    """
    return {
        "bakeoff": bakeoff.__version__,
        "experiment": experiment,
        "world": world,
        "runs": [run_to_json(summary) for summary in summaries],
    }

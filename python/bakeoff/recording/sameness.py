"""Whether two folders hold the same experiment, to be resumed or set beside each other, and what differs if not."""

from __future__ import annotations

import itertools
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bakeoff.errors import UserError
from bakeoff.recording import manifest
from bakeoff.scenario import FILES, PYTHON

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from bakeoff.recording.manifest import PlannedRun

_SPELLINGS = frozenset({"source", "settings", "axis_values"})
_REPEATS = frozenset({"repeats", "claim_repeats"})
_DIGEST = "scenarios_sha256"
# What a scenario says of the conditions in which its schemes meet, and what of a flow is the scheme's own.
_CONDITIONS = ("duration_ns", "start_jitter_ns", "forward", "reverse", "flows", "probes")
_OF_SCHEMES = frozenset({"scheme", "parameters"})


def essence(content: Mapping[str, Any]) -> dict[str, Any]:
    """What an experiment is, however its file and its settings are spelt; the digest of the scenarios holds these."""
    kept = {name: value for name, value in content["experiment"].items() if name not in _SPELLINGS}
    return {**content, "experiment": kept}


def has_fewer_repeats(there: Mapping[str, Any], here: Mapping[str, Any]) -> bool:
    """Whether an experiment is another with fewer repeats: all its runs are also in the other, with the same seeds.

    Args:
        there: the essence of the one.
        here: the essence of the other.
    """
    ours, theirs = (
        {name: value for name, value in content["experiment"].items() if name not in _REPEATS}
        for content in (here, there)
    )
    planned = {run["id"]: run for run in here["plan"]}
    return ours == theirs and all(planned.get(run["id"]) == run for run in there["plan"])


def differences(
    there: Mapping[str, Any], here: Mapping[str, Any], folder: Path, runs: Sequence[PlannedRun]
) -> list[str]:
    """The keys and files that differ between two experiments; empty where no run is there to tell.

    Args:
        there: the essence of the experiment in the folder.
        here: the essence of the one to be resumed.
        folder: where the runs of the former are.
        runs: the runs of the latter.
    """
    ours, theirs = here["experiment"], there["experiment"]
    keys = [name for name in sorted({*ours, *theirs} - {_DIGEST}) if ours.get(name) != theirs.get(name)]
    return [name.removesuffix("_ns") for name in keys] or _of_scenarios(folder, runs)


@dataclass(frozen=True)
class Contrast:
    """A key in which two scenarios differ.

    Attributes:
        key: its place, numbers as in experiment files, but of the flows of a run; the unit of its value is in its last
            word.
        ours: its value in the first scenario; None where there is none.
        theirs: the same of the second.
    """

    key: str
    ours: Any
    theirs: Any


def of_conditions(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> Contrast | None:
    """The first key of path, duration, traffic and times in which two scenarios differ; None where all are the same.

    Schemes and their parameters may differ, since other worlds have others, and so may seeds.

    Args:
        ours: a scenario, as a manifest has it.
        theirs: another one.
    """
    for name in _CONDITIONS:
        if (found := _contrast(_named(name, None, None)[0], ours.get(name), theirs.get(name))) is not None:
            return found
    return None


def _contrast(key: str, ours: Any, theirs: Any) -> Contrast | None:
    if isinstance(ours, dict) and isinstance(theirs, dict):
        names = sorted({*ours, *theirs} - (_OF_SCHEMES if key.startswith("flow.") else frozenset()))
        pairs = [(f"{key}.{name}", ours.get(name), theirs.get(name)) for name in names]
    elif all(isinstance(value, list | None) for value in (ours, theirs)):
        word, first = (key.removesuffix("s"), 1) if key in {"flows", "probes"} else (key, 0)
        both = enumerate(itertools.zip_longest(ours or [], theirs or []), first)
        pairs = [(f"{word}.{number}", one, other) for number, (one, other) in both]
    else:
        return Contrast(key, ours, theirs) if ours != theirs else None
    return next((found for pair in pairs if (found := _contrast(*pair)) is not None), None)


def _of_scenarios(folder: Path, runs: Sequence[PlannedRun]) -> list[str]:
    """What differs in the first run that is there and runs otherwise now."""
    for run in runs:
        try:
            recorded = manifest.read(folder / run.id / manifest.FILE_NAME).scenario
        except UserError:
            continue
        planned = json.loads(manifest.encode_json(run.scenario))
        keys = [key for key in sorted({*recorded, *planned}) if recorded.get(key) != planned.get(key)]
        if keys:
            return [name for key in keys for name in _named(key, recorded.get(key), planned.get(key))]
    return []


def _named(key: str, recorded: Any, planned: Any) -> list[str]:
    """How a person calls a key of scenarios: for files, which of them have changed."""
    if key in {PYTHON, FILES} and recorded and planned:
        return [_path(name, planned) for name in planned if recorded.get(name) != planned[name]] or [key]
    return [f"path.{key}" if key in {"forward", "reverse"} else key]


def _path(name: str, files: Mapping[str, Any]) -> str:
    """The path of a file; those of classes in Python are listed by class."""
    entry = files[name]
    return str(entry["file"]) if isinstance(entry, dict) else name

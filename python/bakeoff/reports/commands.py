"""The command lines that repeat what a report shows."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from bakeoff.experiment import keys, overrides
from bakeoff.experiment.published_row import SCHEME_AXIS

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence


def run(experiment: Mapping[str, Any]) -> str:
    """What repeats an experiment."""
    return _run(experiment, experiment["settings"])


def run_cell(experiment: Mapping[str, Any], cell: Mapping[str, str]) -> str:
    """What repeats the runs of one cell; their seeds do not depend on the rest of the matrix."""
    settings = [
        setting
        for setting in experiment["settings"]
        if not any(_narrows(setting.removeprefix("--set ").partition("=")[0], axis) for axis in cell)
    ]
    # Folders of earlier versions have no values.
    values = experiment.get("axis_values", {})
    for axis, label in cell.items():
        option = "--scheme " if axis == SCHEME_AXIS and axis in values else f"--set {axis}="
        settings.append(option + (values[axis][label] if axis in values else overrides.written(label)))
    return _run(experiment, settings)


def agree(experiment: Mapping[str, Any], worlds: Sequence[str]) -> str:
    """What repeats an agreement of two worlds."""
    asked = ["agree", experiment["source"], "--worlds", ",".join(worlds)]
    return shlex.join([*_program(worlds), *asked, *_options(experiment["settings"])])


def _run(experiment: Mapping[str, Any], settings: Sequence[str]) -> str:
    world = experiment["world"]
    in_world = [] if world == "sim" else ["--world", world]
    return shlex.join([*_program([world]), "run", experiment["source"], *in_world, *_options(settings)])


def _options(settings: Sequence[str]) -> list[str]:
    """The words of settings such as "--set seed=1"."""
    return [word for setting in settings for word in setting.split(" ", 1)]


def _program(worlds: Collection[str]) -> list[str]:
    """How bakeoff is called to run something in these worlds: emu takes root."""
    return ["sudo", "bakeoff"] if "emu" in worlds else ["bakeoff"]


def _narrows(key: str, axis: str) -> bool:
    key = key.removeprefix("matrix.")
    return key == axis or (keys.short_word(axis) is not None and keys.short_word(key) == keys.short_word(axis))

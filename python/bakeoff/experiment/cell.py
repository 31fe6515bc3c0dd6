"""One cell of the matrix: the file with the values of the axes in place, and the scenario that follows from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from bakeoff.errors import UserError
from bakeoff.experiment import clashes, keys, resolve, source
from bakeoff.experiment.catalogue import KERNEL, OWN
from bakeoff.experiment.clashes import Touch
from bakeoff.experiment.problems import FileWanted, KeyProblem, first_problem
from bakeoff.experiment.schema import ExperimentFile
from bakeoff.experiment.units import shown
from bakeoff.scheme import reference

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bakeoff.experiment.catalogue import Catalogue
    from bakeoff.experiment.keys import Setting
    from bakeoff.experiment.matrix import Axis, Choice
    from bakeoff.experiment.source import Source


@dataclass(frozen=True)
class Cell:
    """One cell of the matrix.

    Attributes:
        labels: the value of each axis.
        model: the experiment with those values in place.
        scenario: what a world runs, without the seed.
    """

    labels: dict[str, str]
    model: ExperimentFile
    scenario: dict[str, Any]


@dataclass(frozen=True)
class Unmet:
    """A cell of the matrix that cannot be run until the user gives a file.

    Attributes:
        labels: the value of each axis.
        reason: what is missing.
        remedy: the option that gives it.
    """

    labels: dict[str, str]
    reason: str
    remedy: str


def resolve_cell(
    found: Source, settings: Sequence[Setting], axes: Sequence[Axis], choices: Sequence[Choice], catalogue: Catalogue
) -> Cell | Unmet:
    """One cell, checked.

    Args:
        found: the file, without its matrix.
        settings: what the command line changes outside the matrix.
        axes: the matrix.
        choices: the value of each axis.
        catalogue: schemes and queues that exist.

    Raises:
        UserError: the cell is wrong; the sentence says who put the key there that is.
    """
    raw, touched = assemble(found, settings, axes, choices)
    clashes.check_axes(touched, found.name)
    try:
        model = ExperimentFile.model_validate(raw, context=catalogue)
    except ValidationError as error:
        key, sentence = first_problem(error)
        raise UserError(f"{_blamed(key, touched, found.name)}{key}: {sentence}") from error
    labels = {axis.name: choice.label for axis, choice in zip(axes, choices, strict=True)}
    try:
        _check_names(model, catalogue)
        scenario = resolve.scenario(model, found.folder, catalogue)
    except FileWanted as error:
        return Unmet(labels, error.sentence, f"--set {error.key}=FILE")
    except KeyProblem as error:
        raise UserError(f"{_blamed(error.key, touched, found.name)}{error}") from error
    return Cell(labels, model, scenario)


def _check_names(model: ExperimentFile, catalogue: Catalogue) -> None:
    """Finds what is named as a scheme of the core and is another: it would be reported as that scheme.

    Raises:
        KeyProblem: there is such a name.
    """
    for name, variant in model.variant.items():
        if name in catalogue.schemes and variant.scheme.removeprefix(OWN).removeprefix(KERNEL) != name:
            sentence = f"{shown(name)} is the name of another scheme; write {shown(name)}, or rename the variant"
            raise KeyProblem(f"variant.{name}.scheme", sentence)
    for number, flow in enumerate(model.flow, 1):
        of_variant = model.variant.get(flow.scheme or "")
        named = reference.parse(of_variant.scheme if of_variant else flow.scheme or "")
        if named is not None and named.name in catalogue.schemes:
            sentence = f"the class {named.name} of {named.file} has the name of a scheme of bakeoff; rename the class"
            raise KeyProblem(f"flow.{number}.scheme", sentence)


def assemble(
    found: Source, settings: Sequence[Setting], axes: Sequence[Axis], choices: Sequence[Choice]
) -> tuple[dict[str, Any], list[Touch]]:
    """The content of the file with the values of a cell in place, and what was set for that."""
    raw = keys.copied(found.raw)
    of_axes = [(setting, axis.name) for axis, one in zip(axes, choices, strict=True) for setting in one.settings]
    pairs = [*((setting, None) for setting in settings), *of_axes]
    touched: list[Touch] = []
    # A named path must be in place before its hops can be changed.
    for names_path in (True, False):
        for setting, axis in pairs:
            if (setting.key == keys.USE) is names_path:
                touched += [Touch(key, setting, axis) for key in keys.apply(raw, setting)]
        source.use_named_path(raw, _blamed(keys.USE, touched, found.name))
    return raw, touched


def _blamed(key: str, touched: Sequence[Touch], name: str) -> str:
    """Who put the value of a key there: the file, an axis or the command line."""
    for touch in reversed(touched):
        if f"{key}.".startswith(f"{touch.key}.") or f"{touch.key}.".startswith(f"{key}."):
            return f"{touch.setting.origin}: "
    return f"{name}: " if key else name

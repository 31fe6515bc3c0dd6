"""The schemes of flows and variants: that they exist, with parameters that they have, and with their files."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bakeoff.errors import UserError
from bakeoff.experiment.problems import FileWanted, KeyProblem
from bakeoff.experiment.units import shown
from bakeoff.scheme import reference

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bakeoff.experiment.catalogue import Catalogue
    from bakeoff.experiment.flow import Flow
    from bakeoff.experiment.schema import ExperimentFile


def of_flow(
    flow: Flow, key: str, experiment: ExperimentFile, folder: Path, catalogue: Catalogue
) -> tuple[str, dict[str, Any]]:
    """The scheme of a flow as scenarios name it, and its parameters: its own, and those of a variant that it names.

    Raises:
        KeyProblem: there is no such scheme, or not with these parameters.
        FileWanted: a file is for the user to give.
    """
    if flow.scheme is None:
        raise KeyProblem(f"{key}.scheme", 'missing; name one, or list schemes in matrix.scheme, as in scheme = ["bbr"]')
    scheme, written = flow.scheme, _written(flow.parameters, key)
    if (variant := experiment.variant.get(scheme)) is not None:
        key = f"variant.{scheme}"
        scheme, written = variant.scheme, _written(variant.parameters, key) | written
    else:
        _check_scheme(scheme, key, folder, catalogue)
    parameters = _parameters(scheme, written, folder, catalogue)
    for parameter in catalogue.files_of(scheme):
        if (name := parameter.name) not in parameters:
            example = f"--set variant.mine.scheme={scheme} --set variant.mine.parameters.{name}=FILE"
            sentence = f"missing; {scheme} needs {parameter.values}; {example} makes a scheme called mine"
            raise KeyProblem(f"{key}.parameters.{name}", sentence)
    named = reference.parse(scheme)
    return f"{reference.PREFIX}{named.name}" if named else scheme, parameters


def check_variants(experiment: ExperimentFile, folder: Path, catalogue: Catalogue) -> None:
    """Checks what variants say, whether or not a flow names them; their files may be for the user to give.

    Raises:
        KeyProblem: one has no such scheme, or not with its parameters.
    """
    # What a variant cannot name is no hint.
    catalogue = replace(catalogue, variants=())
    for title, variant in experiment.variant.items():
        key = f"variant.{title}"
        if variant.scheme in experiment.variant and variant.scheme not in catalogue.schemes:
            sentence = f"{shown(variant.scheme)} is itself a variant; name the scheme that it is"
            raise KeyProblem(f"{key}.scheme", sentence)
        _check_scheme(variant.scheme, key, folder, catalogue)
        with contextlib.suppress(FileWanted):
            _parameters(variant.scheme, _written(variant.parameters, key), folder, catalogue)


def classes(experiment: ExperimentFile, folder: Path) -> dict[str, Any]:
    """The files of schemes in Python, by name of the class; their digests tell two versions of one apart.

    Raises:
        KeyProblem: two classes of one name are in different files.
    """
    found: dict[str, Any] = {}
    for number, flow in enumerate(experiment.flow, 1):
        variant = experiment.variant.get(flow.scheme or "")
        named = reference.parse(variant.scheme if variant else flow.scheme or "")
        if named is None:
            continue
        file = reference.find(named, folder)
        entry = {"file": file.file, "sha256": file.sha256}
        if found.setdefault(named.name, entry) != entry:
            sentence = f"{named.name} is also a class of {found[named.name]['file']}; rename one of the two"
            raise KeyProblem(f"flow.{number}.scheme", sentence)
    return found


def _check_scheme(scheme: str, key: str, folder: Path, catalogue: Catalogue) -> None:
    try:
        catalogue.check_scheme(scheme, folder)
    except UserError as error:
        raise KeyProblem(f"{key}.scheme", str(error)) from error


def _written(parameters: Mapping[str, Any], key: str) -> dict[str, tuple[str, Any]]:
    """Parameters by name, each with its place in the file."""
    return {name: (f"{key}.parameters.{name}", value) for name, value in parameters.items()}


def _parameters(
    scheme: str, written: Mapping[str, tuple[str, Any]], folder: Path, catalogue: Catalogue
) -> dict[str, Any]:
    """Parameters of a scheme, checked; those that are files have paths for any process."""
    files = {parameter.name for parameter in catalogue.files_of(scheme)}
    found = {}
    for name, (place, value) in written.items():
        if name in files and value == "":
            raise FileWanted(place, f"needs a {name} file")
        is_path = name in files and isinstance(value, str)
        found[name] = str((folder / Path(value).expanduser()).absolute()) if is_path else value
        try:
            catalogue.check_parameter(scheme, name, found[name])
        except UserError as error:
            raise KeyProblem(place, str(error)) from error
    return found

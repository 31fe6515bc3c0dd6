"""Loading an experiment: a file, what the command line changes in it, and the checks that concern all of its cells."""

from __future__ import annotations

import functools
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bakeoff import references
from bakeoff.claims import ClaimSyntaxError, check
from bakeoff.errors import UserError
from bakeoff.experiment import clashes, matrix, overrides, source
from bakeoff.experiment.catalogue import plain
from bakeoff.experiment.cell import Cell, Unmet, assemble, resolve_cell
from bakeoff.experiment.likely import nearest
from bakeoff.experiment.units import shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from bakeoff.experiment.catalogue import Catalogue
    from bakeoff.experiment.keys import Setting
    from bakeoff.experiment.matrix import Axis
    from bakeoff.experiment.overrides import Shorthand
    from bakeoff.experiment.schema import Claim, ExperimentFile
    from bakeoff.experiment.source import Source


@dataclass(frozen=True)
class Replaced:
    """A setting of the command line that some values of an axis replace, and others do not.

    Attributes:
        setting: what has no effect in some cells.
        axis: name of the axis.
        labels: of the values that set the same.
    """

    setting: Setting
    axis: str
    labels: tuple[str, ...]


@dataclass(frozen=True)
class Experiment:
    """An experiment, checked as far as its first cell.

    Attributes:
        source: the file it comes from.
        changes: what the command line changes, as `KEY=VALUE`.
        settings: those changes that are outside the matrix.
        axes: the matrix.
        first: its first cell; name, repeats, claims and all else that no axis can change are read there.
        catalogue: schemes and queues that exist.
        replaced: those of the settings that have no effect in some cells.
    """

    source: Source
    changes: tuple[str, ...]
    settings: tuple[Setting, ...]
    axes: tuple[Axis, ...]
    first: Cell
    catalogue: Catalogue
    replaced: tuple[Replaced, ...]

    @property
    def name(self) -> str:
        """Name of the experiment, also of the folder of its results."""
        return self.first.model.name

    @property
    def title(self) -> str:
        """Heading of the report; the name if the file has none."""
        return self.first.model.title or self.name

    @property
    def description(self) -> str:
        """A paragraph for the report."""
        return self.first.model.description

    @property
    def doc(self) -> str:
        """Text of the suite, in Markdown; empty for a user's file."""
        return self.source.doc

    @property
    def repeats(self) -> int:
        """Runs of each cell."""
        return self.first.model.repeats

    @property
    def claim_repeats(self) -> int:
        """Runs of each cell that a claim is about."""
        return max(self.repeats, self.first.model.claim_repeats)

    @property
    def seed(self) -> int:
        """What all randomness follows from."""
        return self.first.model.seed

    @property
    def world(self) -> str:
        """What executes the runs."""
        return self.first.model.world

    @property
    def reference(self) -> str | None:
        """Name of the published numbers to show beside ours."""
        return self.first.model.reference

    @functools.cached_property
    def claims(self) -> tuple[Claim, ...]:
        """What the results are expected to show, without the claims about cells that the command line left out."""
        labels = _labels(self.axes)
        return tuple(
            claim
            for claim in self.first.model.claim
            if all(label in labels.get(axis, ()) for axis, label in (*claim.where.items(), *claim.against.items()))
        )

    def where(self, labels: Mapping[str, str]) -> str:
        """The file and a cell of it, for messages."""
        named = ", ".join(f"{axis} {label}" for axis, label in labels.items())
        return f"{self.source.name} ({named})" if named else self.source.name

    def repeats_of(self, labels: Mapping[str, str]) -> int:
        """Runs of one cell.

        Args:
            labels: the value of each axis.
        """
        return self.claim_repeats if any(claim.is_about(labels) for claim in self.claims) else self.repeats

    def cells(self) -> Iterator[Cell | Unmet]:
        """All cells, the last axis moving fastest.

        Raises:
            UserError: a cell is wrong.
        """
        for choices in matrix.cells(self.axes):
            yield resolve_cell(self.source, self.settings, self.axes, choices, self.catalogue)


def load(name_or_path: str, changes: Sequence[str | Shorthand] = (), catalogue: Catalogue | None = None) -> Experiment:
    """Loads a suite or a file.

    Args:
        name_or_path: name of a suite, or path of an experiment file.
        changes: what overrides the file.
        catalogue: schemes and queues that exist; by default those of the core.

    Raises:
        UserError: the file or a setting is wrong.
    """
    if catalogue is None:
        from bakeoff.experiment.catalogue import of_core  # noqa: PLC0415 - the core is loaded when it is needed

        catalogue = of_core()
    return check_source(source.find(name_or_path), changes, catalogue)


def check_source(found: Source, changes: Sequence[str | Shorthand], catalogue: Catalogue) -> Experiment:
    """The experiment of a file that was read.

    Raises:
        UserError: its content or a setting is wrong.
    """
    raw = dict(found.raw)
    # A claim is checked against the matrix as written too: a narrower one does not make it wrong.
    written = matrix.parse(raw.get("matrix"), found.name)
    rest, of_axes = overrides.apply_to_matrix(raw, [overrides.parse(change, catalogue) for change in changes])
    settings = tuple(rest)
    if any(setting.key == "repeats" for setting in settings):
        raw.pop("claim_repeats", None)
    axes = matrix.parse(raw.pop("matrix", None), found.name, of_axes)
    programs, controllers, variants = (_names(raw.get(table)) for table in ("program", "controller", "variant"))
    # The command line may name more.
    variants += [name for setting in settings if (name := _variant_made(setting.key))]
    catalogue = catalogue.declared(programs, controllers, dict.fromkeys(variants))
    _check_variants(catalogue.variants, settings)
    _check_values(axes, catalogue, found)
    stripped = source.Source(found.name, found.folder, raw, found.doc)
    replaced = _check_effects(stripped, settings, axes)
    first = _first(stripped, settings, axes, catalogue)
    _check_claims(first.model, _labels([*written, *axes]), found.name)
    _check_reference(first.model.reference, found.name)
    assignments = tuple(overrides.assignment(change) for change in changes)
    return Experiment(stripped, assignments, settings, axes, first, catalogue, replaced)


def _first(found: Source, settings: Sequence[Setting], axes: Sequence[Axis], catalogue: Catalogue) -> Cell:
    """The first cell that can be run."""
    unmet: Unmet | None = None
    for choices in matrix.cells(axes):
        cell = resolve_cell(found, settings, axes, choices, catalogue)
        if isinstance(cell, Cell):
            return cell
        unmet = unmet or cell
    who = ", ".join(unmet.labels.values()) or "a flow" if unmet else ""
    missing = f"{who} {unmet.reason}; add {unmet.remedy}" if unmet else "no cell"
    raise UserError(f"{found.name}: nothing to run: {missing}")


def _check_effects(found: Source, settings: Sequence[Setting], axes: Sequence[Axis]) -> tuple[Replaced, ...]:
    """Finds what the command line sets twice, and what an axis sets again.

    Returns:
        what some values of an axis set again.

    Raises:
        UserError: a setting is there twice, or all values of an axis set it again.
    """
    replaced: list[Replaced] = []
    first = [axis.choices[0] for axis in axes]
    if settings:
        clashes.check_settings(assemble(found, settings, axes, first)[1])
    for place, axis in enumerate(axes if settings else ()):
        lost: list[list[Setting]] = []
        for choice in axis.choices:
            _, touched = assemble(found, settings, axes, [*first[:place], choice, *first[place + 1 :]])
            lost.append(clashes.without_effect(touched, axis.name))
        for setting in settings:
            labels = [
                choice.label
                for choice, without in zip(axis.choices, lost, strict=True)
                if any(setting is other for other in without)
            ]
            if len(labels) == len(axis.choices):
                sentence = f"has no effect: the axis {shown(axis.name)} sets it in every cell"
                raise setting.fail(f"{sentence}; narrow that with --set {shlex.quote(axis.name)}=VALUE")
            if labels:
                replaced.append(Replaced(setting, axis.name, tuple(labels)))
    return tuple(replaced)


def _names(table: Any) -> list[str]:
    """The keys of a table of the file, which may be anything as long as it is not checked."""
    return [str(key) for key in table] if isinstance(table, dict) else []


def _variant_made(key: str) -> str | None:
    """The variant that a key makes if there is none of its name yet."""
    match key.split("."):
        case ["variant", name] | ["variant", name, "scheme"]:
            return name
    return None


def _check_variants(known: Sequence[str], settings: Sequence[Setting]) -> None:
    """Finds parameters of a variant that nobody makes.

    Raises:
        UserError: there are such; the sentence names the variants that there are.
    """
    for setting in settings:
        table, *names = setting.key.split(".")
        if table == "variant" and names and names[0] not in known:
            there = f"known are {', '.join(known)}" if known else "the file has none"
            make = f"--set variant.{names[0]}.scheme=SCHEME makes it"
            raise setting.fail(f"there is no variant {shown(names[0])}; {there}; {make}")


def _check_values(axes: Sequence[Axis], catalogue: Catalogue, found: Source) -> None:
    """Finds a misspelt scheme in any place of the axis, not only the first."""
    for axis in axes:
        for choice in axis.choices if axis.name == "scheme" else ():
            for setting in choice.settings:
                if isinstance(setting.value, str):
                    if setting.value in catalogue.variants:
                        continue
                    try:
                        catalogue.check_scheme(setting.value, found.folder)
                    except UserError as error:
                        sentence = _only_published(setting.value, found) or error
                        raise UserError(f"{axis.origin}: {sentence}") from error


def _only_published(scheme: str, found: Source) -> str | None:
    """What to say of a name that is no scheme, if the published report beside the experiment has it."""
    name = found.raw.get("reference")
    report = references.find(name) if isinstance(name, str) else None
    row = report.scheme(plain(scheme)) if report else None
    if report is None or row is None:
        return None
    return f"{shown(scheme)} is not implemented yet; there are only its published numbers ({report.title})"


def _labels(axes: Sequence[Axis]) -> dict[str, list[str]]:
    labels: dict[str, dict[str, None]] = {}
    for axis in axes:
        labels.setdefault(axis.name, {}).update(dict.fromkeys(choice.label for choice in axis.choices))
    return {name: list(known) for name, known in labels.items()}


def _check_claims(model: ExperimentFile, known: dict[str, list[str]], name: str) -> None:
    seen: set[str] = set()
    for number, claim in enumerate(model.claim, 1):
        where = f"{name}: claim.{number}"
        if claim.id in seen:
            raise UserError(f"{where}.id: {shown(claim.id)} is the id of an earlier claim; give it another")
        seen.add(claim.id)
        _check_cells(claim.where, known, f"{where}.where")
        _check_cells(claim.against, known, f"{where}.against")
        try:
            measure = check(claim.measure, claim.expect)
        except ClaimSyntaxError as error:
            raise UserError(f"{where}: {error}") from error
        if measure.beside is not None and claim.against:
            raise UserError(f"{where}.against: a rank correlation is about all cells already; leave it out")


def _check_cells(cells: Mapping[str, str], known: dict[str, list[str]], where: str) -> None:
    for axis, label in cells.items():
        if axis not in known:
            raise UserError(f"{where}: {shown(axis)} is not an axis of the matrix; {nearest(axis, known)}")
        if label not in known[axis]:
            hint = nearest(label, known[axis])
            raise UserError(f"{where}.{axis}: {shown(label)} is not a value of that axis; {hint}")


def _check_reference(reference: Any, name: str) -> None:
    if reference is not None and reference not in references.names():
        hint = nearest(reference, references.names())
        raise UserError(f"{name}: reference: {shown(reference)} is not a published reference; {hint}")

"""Claims beside the cells that they are about: whether what they measure exists there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bakeoff import references
from bakeoff.claims.measure import parse_measure
from bakeoff.claims.subjects import subjects
from bakeoff.claims.tree import NUMBERED
from bakeoff.errors import UserError
from bakeoff.experiment.likely import nearest
from bakeoff.experiment.published_row import published_row, scheme_of
from bakeoff.scenario import hops

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bakeoff.claims.tree import Measure
    from bakeoff.experiment.cell import Cell
    from bakeoff.experiment.load import Experiment
    from bakeoff.experiment.schema import Claim

# What the command line may change without taking from a claim what it is about.
_BESIDE = frozenset({"repeats", "claim_repeats", "seed", "duration", "record.level", "record.interval", "world"})


def check(experiment: Experiment, cells: Sequence[Cell]) -> None:
    """Finds claims that measure what no run of theirs will have.

    A claim that lost what it is about by the command line is left to be undecided.

    Args:
        experiment: with the claims.
        cells: those that can be run.

    Raises:
        UserError: there is such a claim; the message names the cell and the claim.
    """
    whole = all(change.partition("=")[0].strip() in _BESIDE for change in experiment.changes)
    kept = {claim.id for claim in experiment.claims}
    for number, claim in enumerate(experiment.first.model.claim, 1):
        if claim.id not in kept:
            continue
        measure = parse_measure(claim.measure)
        about = [cell for cell in cells if claim.is_about(cell.labels)]
        try:
            _check_level(measure, about)
            if whole:
                _check_subjects(claim, measure, about)
        except _Missing as missing:
            where = experiment.where(missing.cell.labels)
            raise UserError(f"{where}: claim.{number}.measure: {missing}") from missing


class _Missing(Exception):  # noqa: N818 - becomes a UserError where the claim is known
    def __init__(self, cell: Cell, sentence: str) -> None:
        super().__init__(sentence)
        self.cell = cell


def _check_level(measure: Measure, about: Sequence[Cell]) -> None:
    """Finds what cells lack that are recorded at level `summary`."""
    needed = "telemetry" if measure.needs_telemetry else measure.over_time
    for cell in about:
        if needed and cell.scenario["record"]["level"] == "summary":
            raise _Missing(cell, f'needs {needed}, and record.level is "summary"; set it to "series"')


def _check_subjects(claim: Claim, measure: Measure, about: Sequence[Cell]) -> None:
    """Finds what a cell lacks that has to have it, or all lack where one is enough."""
    for subject in subjects(measure):
        problems = [problem for cell in about for problem in _problem(claim, subject.steps, cell)]
        if problems and (subject.is_needed or len(problems) == len(about)):
            raise problems[0]


def _problem(claim: Claim, steps: tuple[str, ...], cell: Cell) -> Iterator[_Missing]:
    head = steps[0]
    if head == "published":
        yield from _problem_of_published(claim, steps[1:], cell)
        return
    scenario = cell.scenario
    if match := NUMBERED.fullmatch(head):
        kind = match[1]
        name, count = head, len(scenario.get(f"{kind}s", ()))
        known = [f"{kind}{number}" for number in range(1, count + 1)]
        hint = f"there is {known[0]}" if count == 1 else f"there are {known[0]} to {known[-1]}" if known else "add one"
    elif head == "hops":
        name, known = steps[1], list(hops(scenario))
        hint = nearest(name, known)
    else:
        return
    if name not in known:
        yield _Missing(cell, f'"{claim.id}" is about {name}, which the run does not have; {hint}')


def _problem_of_published(claim: Claim, steps: tuple[str, ...], cell: Cell) -> Iterator[_Missing]:
    reference = references.find(cell.model.reference)
    if reference is None:
        sentence = "and the file names no reference; add one, or leave the claim out"
        yield _Missing(cell, f'"{claim.id}" is about a published number, {sentence}')
        return
    scheme = scheme_of(cell.scenario, cell.labels, cell.model.variant)
    row = published_row(reference, scheme, cell.labels)
    match = NUMBERED.fullmatch(steps[0])
    numbers = None if row is None else row.flows.get(int(match[2])) if match else row.total
    if numbers is None or getattr(numbers, steps[-1]) is None:
        what = ".".join(("published", *steps))
        sentence = f"which {reference.name} does not have here; name another, or narrow claim.where"
        yield _Missing(cell, f'"{claim.id}" is about {what}, {sentence}')

"""The plan: every run of an experiment, with a name, a seed and a scenario."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bakeoff.experiment import claimed, estimate, matrix, notes, overrides
from bakeoff.experiment.cell import Unmet
from bakeoff.scenario import NAMES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bakeoff.experiment.load import Experiment

_MAX_NAME = 120


@dataclass(frozen=True)
class PlannedRun:
    """One run to be executed.

    Attributes:
        id: readable name, unique in the plan, fit for a folder.
        cell: the value of each axis.
        repeat: which repetition, from 1.
        seed: seed of all its random streams.
        scenario: what the world runs.
    """

    id: str
    cell: dict[str, str]
    repeat: int
    seed: int
    scenario: dict[str, Any]


@dataclass(frozen=True)
class Plan:
    """An experiment and its runs.

    Attributes:
        experiment: where the runs come from.
        world: what executes them.
        runs: in the order in which they are started: all cells once, then again as often as each asks.
        stand_ins: schemes that run in place of others in this world, by the names of those that were asked for.
        unmet: cells that wait for a file of the user's.
        notes: sentences on what the author of the file may not expect.
    """

    experiment: Experiment
    world: str
    runs: tuple[PlannedRun, ...]
    stand_ins: dict[str, str] = field(default_factory=dict)
    unmet: tuple[Unmet, ...] = ()
    notes: tuple[str, ...] = ()

    def where(self, run: PlannedRun) -> str:
        """The file and the cell of a run, for messages."""
        return self.experiment.where(run.cell)

    def to_json(self) -> dict[str, Any]:
        """The resolved experiment, as the result folder keeps it; the same for the same file and settings."""
        experiment = self.experiment
        model = experiment.first.model
        return {
            "name": experiment.name,
            "title": experiment.title,
            "description": experiment.description,
            "doc": experiment.doc,
            "source": experiment.source.name,
            "settings": [f"--set {change}" for change in experiment.changes],
            "world": self.world,
            "stand_ins": self.stand_ins,
            "duration_ns": model.duration,
            "repeats": experiment.repeats,
            "claim_repeats": experiment.claim_repeats,
            "seed": experiment.seed,
            "record": {"level": model.record.level, "interval_ns": model.record.interval},
            "reference": experiment.reference,
            "variants": {name: variant.scheme for name, variant in model.variant.items()},
            "unmet": [{"cell": one.labels, "reason": one.reason, "remedy": one.remedy} for one in self.unmet],
            "axes": {axis.name: [choice.label for choice in axis.choices] for axis in experiment.axes},
            "axis_values": self._values(),
            "claims": [claim.model_dump() for claim in experiment.claims],
            "scenarios_sha256": self._digest(),
        }

    def _values(self) -> dict[str, dict[str, str]]:
        """What `--set AXIS=` takes for each label of an axis that is a list; variants go by their labels."""
        folder, catalogue = self.experiment.source.folder, self.experiment.catalogue
        return {
            axis.name: {
                choice.label: overrides.written(
                    overrides.placed(axis.name, choice.settings[0].value, folder, catalogue)
                )
                for choice in axis.choices
            }
            for axis in self.experiment.axes
            if axis.is_list
        }

    def _digest(self) -> str:
        """What tells two plans apart whose runs have the same names."""
        digest = hashlib.sha256()
        for run in self.runs:
            if run.repeat == 1:
                # What flows are called changes no run, and older folders do not say it.
                scenario = {key: value for key, value in run.scenario.items() if key != NAMES}
                digest.update(json.dumps(scenario, sort_keys=True).encode())
        return digest.hexdigest()


def expand(experiment: Experiment, world: str | None = None) -> Plan:
    """All runs of an experiment.

    Args:
        experiment: what to run.
        world: what executes the runs; by default what the experiment names.

    Raises:
        UserError: a cell cannot be run, or the whole is larger than anyone would wait for.
    """
    matrix.count(experiment.axes, experiment.claim_repeats, experiment.source.name)
    resolved = list(experiment.cells())
    cells = [cell for cell in resolved if not isinstance(cell, Unmet)]
    unmet = tuple(cell for cell in resolved if isinstance(cell, Unmet))
    for cell in cells:
        estimate.check(cell.scenario, experiment.where(cell.labels))
    claimed.check(experiment, cells)
    names = _names([cell.labels for cell in cells])
    most = [experiment.repeats_of(cell.labels) for cell in cells]
    runs = tuple(
        PlannedRun(
            id=f"{name}run{repeat}",
            cell=dict(cell.labels),
            repeat=repeat,
            seed=(seed := derive_seed(experiment.seed, repeat)),
            scenario={"seed": seed, **cell.scenario},
        )
        for repeat in range(1, max(most) + 1)
        for name, cell, last in zip(names, cells, most, strict=True)
        if repeat <= last
    )
    found = [*notes.of_used_path(experiment), *notes.of_replaced(experiment), *notes.of_queues(cells)]
    told = tuple(f"{experiment.source.name}: {sentence}" for sentence in found)
    return Plan(experiment, world or experiment.world, runs, unmet=unmet, notes=told)


def derive_seed(seed: int, repeat: int) -> int:
    """The seed of a repetition: the same in every cell, so that schemes are compared under the same chance.

    It has 53 bits, which any reader of JSON keeps exactly.
    """
    digest = hashlib.sha256(f"bakeoff repeat {seed} {repeat}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 11


def _names(cells: Iterable[dict[str, str]]) -> list[str]:
    """The beginning of each run's name: its labels, fit for any file system, and told apart where they coincide."""
    names: list[str] = []
    seen: set[str] = set()
    for labels in cells:
        name = "".join(f"{_word(label)}_" for label in labels.values())
        if len(name) > _MAX_NAME or name.casefold() in seen:
            digest = hashlib.sha256(repr(sorted(labels.items())).encode()).hexdigest()[:8]
            name = f"{name[:_MAX_NAME]}{digest}_"
        seen.add(name.casefold())
        names.append(name)
    return names


def _word(label: str) -> str:
    word = re.sub(r"[^A-Za-z0-9.+%-]+", "-", label)
    return word if re.match(r"[A-Za-z0-9]", word) else f"x{word}"

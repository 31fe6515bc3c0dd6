"""What every report shows, computed once from a result folder."""

from __future__ import annotations

import functools
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from bakeoff.claims import ClaimResult, Telemetry, evaluate
from bakeoff.experiment.published_row import SCHEME_AXIS
from bakeoff.metrics import RunSummary, summarise, to_json
from bakeoff.references import PublishedScheme, Reference, find
from bakeoff.reports import cell_looks, commands, looks, words
from bakeoff.reports.rows import Absent, Group, Loss, RowMaker, Run, by_cell, loss_beside

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bakeoff.recording import ResultFolder
    from bakeoff.reports.cell_looks import CellLooks


@dataclass(frozen=True)
class Report:
    """Everything a report shows.

    Attributes:
        experiment: the resolved experiment, as the folder keeps it.
        rows: groups and absent rows, in the order of the tables.
        reference: the published report, if the experiment names one.
        claims: verdicts.
        planned: number of runs in the plan.
        flow_count: the largest number of flows in a run.
        command: what repeats the experiment.
        path: the result folder as it was named.
        cell_looks: how the cells of a matrix of several axes look; None if each has a look of its own.
    """

    experiment: dict[str, Any]
    rows: tuple[Group | Absent, ...]
    reference: Reference | None
    claims: tuple[ClaimResult, ...]
    planned: int
    flow_count: int
    command: str
    path: str
    cell_looks: CellLooks | None
    _json: dict[str, Any] = field(repr=False, default_factory=dict)

    @property
    def groups(self) -> list[Group]:
        """The rows that have runs here."""
        return [row for row in self.rows if isinstance(row, Group)]

    @property
    def runs(self) -> list[Run]:
        """All runs, by row."""
        return [run for group in self.groups for run in group.runs]

    @property
    def complete(self) -> list[RunSummary]:
        """The numbers of the complete runs, by row."""
        return [summary for group in self.groups for summary in group.summaries]

    @functools.cached_property
    def scheme_looks(self) -> dict[str, looks.Look]:
        """The look of each scheme, the same in all cells and figures, if schemes meet in any cell; else none."""
        if all(group.key for group in self.groups):
            return {}
        schemes = {flow.name: flow.scheme for run in self.complete for flow in run.flows}
        return looks.of_schemes(schemes, schemes)

    @property
    def loss(self) -> Loss:
        """What the loss of the summary counts, the same in all rows."""
        return loss_beside(self.reference)

    def definitions(self, *, of_flows: bool) -> str:
        """Whose the numbers of single flows are, or those of all flows together, as a clause."""
        text = f"by Pantheon's definitions, {self.loss.value}"
        steady = self.reference.steady if self.reference and of_flows else None
        if steady:
            return f"{text}; throughput as published: of payload, over {steady}"
        return f"{text}; throughput of each flow over its own time" if of_flows and self._has_own_times else text

    @property
    def _has_own_times(self) -> bool:
        """Whether flows of a run were meant to start or stop at different times: their rates do not add up."""
        flows = (run.recording.scenario["flows"] for run in self.runs)
        return any(len({(flow["start_ns"], flow["stop_ns"]) for flow in of_run}) > 1 for of_run in flows)

    @property
    def varies(self) -> list[str]:
        """Axes of the matrix beside the scheme that have several values."""
        return [axis for axis, labels in self.experiment["axes"].items() if axis != SCHEME_AXIS and len(labels) > 1]

    @property
    def noun(self) -> str:
        """What a row of the tables is."""
        return "cell" if self.varies or any(not group.key for group in self.groups) else "scheme"

    def to_json(self) -> dict[str, Any]:
        """The object of the JSON contract, with the claims."""
        return self._json


def queues(report: Report) -> dict[str, int]:
    """Where queues built up, and in how many runs; `no hop` stands for runs without a queue."""
    places = [found.hop or "no hop" for run in report.runs for found in run.summary.queueing]
    return {place: places.count(place) for place in sorted(set(places))}


def warnings(summary: RunSummary) -> list[str]:
    """What is not as the experiment meant it: queues elsewhere, hops that found nothing to act on, stalled flows."""
    return [*(found.warning for found in summary.queueing if found.warning), *summary.idle, *summary.stalled]


def discarded(report: Report) -> list[str]:
    """A sentence a reason for which runs are not counted, without a period: how many runs, and the first of them."""
    found: dict[str, list[str]] = {}
    for summary in report.complete:
        if summary.total and summary.total.pantheon_discarded:
            found.setdefault(summary.total.pantheon_discarded, []).append(summary.id)
    return [_not_counted(first, len(others), reason) for reason, (first, *others) in found.items()]


def _not_counted(first: str, others: int, reason: str) -> str:
    more = f" and {words.count(others, 'run')} more" if others else ""
    return f"{first}{more}: not counted, as Pantheon would: {reason}"


def load(folder: ResultFolder) -> Report:
    """Reads a folder and computes all that a report shows.

    Raises:
        UserError: a file of the folder is missing or damaged, or a claim cannot be understood.
    """
    runs = [Run(recording, summarise(recording)) for recording in folder.recordings()]
    experiment = folder.experiment
    reference = find(experiment.get("reference"))
    contract = to_json(experiment["name"], experiment["world"], [run.summary for run in runs])
    # Folders of earlier versions have neither.
    variants, unmet = experiment.get("variants", {}), experiment.get("unmet", [])
    maker = RowMaker(reference, variants, unmet)
    cells = by_cell(runs)
    known_looks = cell_looks.of_cells([runs[0].summary.cell for runs in cells])
    groups = maker.groups(cells, known_looks)
    recordings = {run.summary.id: run.recording for run in runs}
    # A run that has yet to be executed leaves a claim about it as open as one that failed.
    planned = [{**entry, "status": "absent"} for entry in folder.plan if entry["id"] not in recordings]
    beside = _beside_published([*contract["runs"], *planned], groups)
    claims = tuple(evaluate(experiment["claims"], beside, lambda run: Telemetry.of_run(recordings[run]), unmet))
    contract["claims"] = [asdict(claim) for claim in claims]
    return Report(
        experiment=experiment,
        rows=tuple(maker.rows(groups)),
        reference=reference,
        claims=claims,
        planned=len(folder.plan),
        flow_count=max((len(run.recording.scenario["flows"]) for run in runs), default=0),
        command=commands.run(experiment),
        path=str(folder.path),
        cell_looks=known_looks,
        _json=contract,
    )


def _beside_published(runs: Sequence[Mapping[str, Any]], groups: Sequence[Group]) -> list[dict[str, Any]]:
    """The runs of the JSON contract, each with the published numbers of its row, for the claims."""
    rows = {tuple(group.cell.items()): group.published for group in groups if group.published is not None}
    found = ((run, rows.get(tuple(run["cell"].items()))) for run in runs)
    return [{**run, "published": _numbers(row) if row is not None else None} for run, row in found]


def _numbers(row: PublishedScheme) -> dict[str, Any]:
    """What a claim may ask of a published row: the numbers of all flows together, and of each."""
    return {**asdict(row.total), **{f"flow{number}": asdict(flow) for number, flow in row.flows.items()}}

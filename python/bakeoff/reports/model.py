"""What every report shows, computed once from a result folder."""

from __future__ import annotations

import shlex
import statistics
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from bakeoff.claims import ClaimResult, Telemetry, evaluate
from bakeoff.experiment.catalogue import plain
from bakeoff.metrics import RunSummary, summarise, to_json
from bakeoff.metrics.statistics import Estimate, estimate
from bakeoff.references import Published, PublishedScheme, Reference, find
from bakeoff.reports import looks

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bakeoff.metrics.pantheon import PantheonMetrics
    from bakeoff.recording import ResultFolder, RunRecording

THROUGHPUT_BAND = 0.20
DELAY_BAND = 0.25
SCHEME_AXIS = "scheme"
# Axes of a single word that stand for a key of the path or the flows.
_NARROWABLE = frozenset({SCHEME_AXIS, "rtt", "rate", "queue", "loss", "trace"})


@dataclass(frozen=True)
class Run:
    """One run: its recording and its numbers."""

    recording: RunRecording
    summary: RunSummary


@dataclass(frozen=True)
class Group:
    """All repeats of one cell of the matrix: a row of the tables.

    Attributes:
        label: the cell for people.
        key: key of the scheme, empty if its flows differ.
        cell: value of each axis.
        look: colour and marker.
        runs: its runs, in order; failed ones too.
        published: the published row of the same scheme, if there is one.
    """

    label: str
    key: str
    cell: dict[str, str]
    look: looks.Look
    runs: tuple[Run, ...]
    published: PublishedScheme | None

    @property
    def summaries(self) -> list[RunSummary]:
        """The numbers of the runs that are complete."""
        return [run.summary for run in self.runs if run.summary.total is not None]

    @property
    def valid(self) -> list[RunSummary]:
        """The complete runs that Pantheon would count."""
        return [summary for summary in self.summaries if summary.total and summary.total.pantheon]

    def over_runs(self, value: Callable[[RunSummary], float | None]) -> Estimate | None:
        """Mean and interval of a number over the complete runs that have it."""
        values = [value(summary) for summary in self.summaries]
        return estimate([number for number in values if number is not None])

    def pantheon(self, flow: int | None) -> Published:
        """Means of Pantheon's numbers over its valid runs; None for `flow` means all flows together.

        As in Pantheon's report, the means are over numbers already rounded as its statistics print them. Beside a table
        that does not count packets in flight at the end as lost, neither does ours.
        """
        found = [_pantheon_of(summary, flow) for summary in self.valid]
        known = [numbers for numbers in found if numbers is not None]
        if not known:
            return Published(None, None, None)
        losses = [float(f"{100 * numbers.loss:.2f}") / 100 for numbers in known]
        if self.published is not None and not self.published.counts_in_flight:
            losses = [loss for summary in self.valid if (loss := _loss_of(summary, flow)) is not None]
        return Published(
            statistics.fmean(float(f"{numbers.throughput_mbps:.2f}") for numbers in known),
            statistics.fmean(float(f"{numbers.owd_p95_ms:.3f}") for numbers in known),
            statistics.fmean(losses) if losses else None,
        )


@dataclass(frozen=True)
class Absent:
    """A published row that this folder has no runs for.

    Attributes:
        published: the row.
        look: colour and marker.
        reason: `not implemented` or `not in this run`.
    """

    published: PublishedScheme
    look: looks.Look
    reason: str


@dataclass(frozen=True)
class Report:
    """Everything a report shows.

    Attributes:
        experiment: the resolved experiment, as the folder keeps it.
        rows: groups and absent published rows, in the order of the tables.
        reference: the published report, if the experiment names one.
        claims: verdicts.
        planned: number of runs in the plan.
        flow_count: the largest number of flows in a run.
        command: what repeats the experiment.
        path: the result folder as it was named.
    """

    experiment: dict[str, Any]
    rows: tuple[Group | Absent, ...]
    reference: Reference | None
    claims: tuple[ClaimResult, ...]
    planned: int
    flow_count: int
    command: str
    path: str
    _json: dict[str, Any] = field(repr=False, default_factory=dict)

    @property
    def groups(self) -> list[Group]:
        """The rows that have runs here."""
        return [row for row in self.rows if isinstance(row, Group)]

    @property
    def runs(self) -> list[Run]:
        """All runs, by row."""
        return [run for group in self.groups for run in group.runs]

    def to_json(self) -> dict[str, Any]:
        """The object of the JSON contract, with the claims."""
        return self._json


def _pantheon_of(summary: RunSummary, flow: int | None) -> PantheonMetrics | None:
    if flow is None:
        return summary.total.pantheon if summary.total else None
    return summary.flows[flow - 1].pantheon if flow <= len(summary.flows) else None


def _loss_of(summary: RunSummary, flow: int | None) -> float | None:
    if flow is None:
        return summary.total.loss if summary.total else None
    return summary.flows[flow - 1].loss if flow <= len(summary.flows) else None


def load(folder: ResultFolder) -> Report:
    """Reads a folder and computes all that a report shows.

    Raises:
        UserError: a file of the folder is missing or damaged, or a claim cannot be understood.
    """
    runs = [Run(recording, summarise(recording)) for recording in folder.recordings()]
    experiment = folder.experiment
    reference = find(experiment.get("reference"))
    contract = to_json(experiment["name"], experiment["world"], [run.summary for run in runs])
    recordings = {run.summary.id: run.recording for run in runs}
    claims = tuple(evaluate(experiment["claims"], contract["runs"], lambda run: _telemetry(recordings[run])))
    contract["claims"] = [asdict(claim) for claim in claims]
    return Report(
        experiment=experiment,
        rows=tuple(_rows(_grouped(runs), reference)),
        reference=reference,
        claims=claims,
        planned=len(folder.plan),
        flow_count=max((len(run.recording.scenario["flows"]) for run in runs), default=0),
        command=_command(experiment),
        path=str(folder.path),
        _json=contract,
    )


def _telemetry(recording: RunRecording) -> Telemetry | None:
    return Telemetry(recording.table("telemetry")) if recording.has("telemetry") else None


def _grouped(runs: Sequence[Run]) -> list[list[Run]]:
    cells: dict[tuple[tuple[str, str], ...], list[Run]] = {}
    for run in runs:
        cells.setdefault(tuple(run.summary.cell.items()), []).append(run)
    return list(cells.values())


def _rows(cells: Sequence[Sequence[Run]], reference: Reference | None) -> list[Group | Absent]:
    """Groups in the order of the reference, absent rows where they stand there, and the rest behind."""
    groups = [_group(runs, look, reference) for runs, look in zip(cells, _looks(cells), strict=True)]
    if reference is None:
        return list(groups)
    rows: list[Group | Absent] = []
    for index, published in enumerate(reference.schemes):
        ours = [group for group in groups if group.published is published]
        rows += ours or [_absent(published, index)]
    return rows + [group for group in groups if group.published is None]


def _looks(cells: Sequence[Sequence[Run]]) -> list[looks.Look]:
    """The look of each cell: its scheme's, and a marker for the rest of the cell if there is more than the scheme."""
    keys = [_key(runs[0]) for runs in cells]
    rests = [tuple(item for item in runs[0].summary.cell.items() if item[0] != SCHEME_AXIS) for runs in cells]
    places = {rest: place for place, rest in enumerate(dict.fromkeys(rests))}
    found = []
    for index, (key, rest) in enumerate(zip(keys, rests, strict=True)):
        look = looks.of_scheme(key, index)
        found.append(look if len(places) == 1 or not key else looks.with_marker(look, places[rest]))
    return found


def _key(run: Run) -> str:
    """The scheme of all flows of a run, or nothing if they differ."""
    used = {flow["scheme"] for flow in run.recording.scenario["flows"]}
    return used.pop() if len(used) == 1 else ""


def axis_value(axis: str, value: str) -> str:
    """A value of an axis for people: a scheme by its name, a number with what it is of."""
    if axis == SCHEME_AXIS:
        return looks.title(value)
    return f"{axis.rpartition('.')[2]} {value}" if value[:1].isdigit() else value


def _group(runs: Sequence[Run], look: looks.Look, reference: Reference | None) -> Group:
    first = runs[0]
    cell = first.summary.cell
    key = _key(first)
    name = looks.title(key) if key else ""
    parts = [name] if key and (SCHEME_AXIS in cell or not cell) else []
    parts += [axis_value(axis, value) for axis, value in cell.items() if axis != SCHEME_AXIS or not key]
    return Group(
        label=", ".join(parts) or "all runs",
        key=key,
        cell=cell,
        look=look,
        runs=tuple(sorted(runs, key=lambda run: run.summary.repeat)),
        published=reference.scheme(plain(key), cell) if reference else None,
    )


def _absent(published: PublishedScheme, index: int) -> Absent:
    known = published.key in looks.implemented()
    look = looks.of_scheme(published.key, index)
    return Absent(published, look, "not in this run" if known else "not implemented")


def _command(experiment: dict[str, Any]) -> str:
    return shlex.join(_words(experiment["source"], experiment["settings"]))


def _words(source: str, settings: Sequence[str]) -> list[str]:
    return ["bakeoff", "run", source, *(word for setting in settings for word in setting.split(" ", 1))]


def cell_command(experiment: dict[str, Any], cell: dict[str, str]) -> str:
    """What repeats the runs of one cell; their seeds do not depend on the rest of the matrix.

    Axes that are tables of named variants cannot be narrowed, and stay whole.
    """
    narrowed = {axis: value for axis, value in cell.items() if "." in axis or axis in _NARROWABLE}
    settings = [
        setting
        for setting in experiment["settings"]
        if not any(setting.startswith((f"--set matrix.{axis}=", f"--set {axis}=")) for axis in narrowed)
    ]
    own = [f"--scheme {value}" if axis == SCHEME_AXIS else f"--set {axis}={value}" for axis, value in narrowed.items()]
    return shlex.join(_words(experiment["source"], settings + own))

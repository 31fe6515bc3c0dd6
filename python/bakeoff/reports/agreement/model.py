"""What an agreement shows, computed from one result folder a world."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import bakeoff
from bakeoff.metrics import summarise
from bakeoff.metrics.agreement import Agreement, Line, compare
from bakeoff.metrics.agreement import summarise as summarise_lines
from bakeoff.metrics.tolerance import METRICS
from bakeoff.reports import commands
from bakeoff.scenario import flow_names

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from bakeoff.metrics import FlowSummary, ProbeSummary, RunSummary, TotalSummary
    from bakeoff.metrics.tolerance import Metric
    from bakeoff.recording import ResultFolder, RunRecording

    Key = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Side:
    """One of the two worlds.

    Attributes:
        world: its name.
        stand_ins: schemes that run there in place of others, by the names of those that were asked for.
        complete: number of runs that are complete.
        failures: the others: run, status and error.
        versions: of bakeoff and of the system that it ran on.
    """

    world: str
    stand_ins: dict[str, str]
    complete: int
    failures: tuple[tuple[str, str, str], ...]
    versions: str


@dataclass(frozen=True)
class MetricAgreement:
    """A metric.

    Attributes:
        metric: which.
        whole: over everything.
        schemes: over the lines of each scheme.
        exists: whether any run of either world has it.
    """

    metric: Metric
    whole: Agreement
    schemes: dict[str, Agreement]
    exists: bool


@dataclass(frozen=True)
class Report:
    """Everything that an agreement shows.

    Attributes:
        experiment: the resolved experiment, as the folders keep it.
        planned: number of runs in each world.
        durations_ns: how long runs last; those that left no record are not known.
        sides: the two worlds; the second is the reference.
        lines: every metric of every flow of every cell.
        metrics: their summaries, in the order of the tables; also of metrics that do not exist here.
        command: what repeats it.
    """

    experiment: dict[str, Any]
    planned: int
    durations_ns: tuple[int, ...]
    sides: tuple[Side, Side]
    lines: tuple[Line, ...]
    metrics: tuple[MetricAgreement, ...]
    command: str

    @property
    def far(self) -> list[Line]:
        """Lines beyond three tolerances, the worst first."""
        return sorted((line for line in self.lines if line.far), key=lambda line: -(line.found.tolerance_ratio or 0))

    @property
    def schemes(self) -> list[str]:
        """Schemes and mixtures of schemes, in the order in which they occur."""
        return list(dict.fromkeys(line.scheme for line in self.lines))

    def to_json(self) -> dict[str, Any]:
        """The agreement as plain values; ratios 0..1, what does not exist is null.

        Fields are added, never renamed.
        """
        return {
            "bakeoff": bakeoff.__version__,
            "experiment": self.experiment["name"],
            "worlds": [side.world for side in self.sides],
            "runs": {side.world: {"planned": self.planned, "complete": side.complete} for side in self.sides},
            "stand_ins": {side.world: side.stand_ins for side in self.sides if side.stand_ins},
            "metrics": {found.metric.key: _metric_to_json(found) for found in self.metrics},
            "cells": [_line_to_json(line) for line in self.lines],
        }


def _metric_to_json(found: MetricAgreement) -> dict[str, Any]:
    metric = found.metric
    return {
        "unit": metric.unit,
        "tolerance": asdict(metric.tolerance),
        "resolution": asdict(metric.resolution),
        "all": _summary_to_json(found.whole),
        "schemes": {scheme: _summary_to_json(summary) for scheme, summary in found.schemes.items()},
    }


def _summary_to_json(summary: Agreement) -> dict[str, Any]:
    worst = summary.worst
    shown = worst and {
        "cell": worst.cell,
        "flow": worst.flow,
        "probe": worst.probe,
        "tolerance_ratio": worst.found.tolerance_ratio,
    }
    return asdict(summary) | {"worst": shown}


def _line_to_json(line: Line) -> dict[str, Any]:
    return {
        "cell": line.cell,
        "flow": line.flow,
        "probe": line.probe,
        "scheme": line.scheme,
        "metric": line.metric.name,
        **asdict(line.found),
    }


@dataclass(frozen=True)
class _Cell:
    """A cell of the matrix in one world: complete runs, the schemes of its flows there, and number of probes."""

    summaries: list[RunSummary]
    schemes: list[str]
    probes: int = 0


@dataclass(frozen=True)
class _Part:
    """What of a run has numbers: a flow, a probe, or all flows together."""

    scope: str
    number: int | None = None

    def values(self, metric: Metric, summaries: Sequence[RunSummary]) -> list[float]:
        """The values of a metric over some runs."""
        parts = [self._of(summary) for summary in summaries]
        return [value for part in parts if part is not None and (value := metric.value(part)) is not None]

    def _of(self, summary: RunSummary) -> FlowSummary | TotalSummary | ProbeSummary | None:
        if self.number is None:
            return summary.total
        return (summary.flows if self.scope == "flow" else summary.probes)[self.number - 1]


def load(first: ResultFolder, second: ResultFolder) -> Report:
    """Compares the runs of one plan in two worlds.

    Args:
        first: what the first world ran.
        second: what the second ran, the reference.

    Raises:
        UserError: a file of a folder is missing or damaged.
    """
    folders = (first, second)
    recordings = tuple(folder.recordings() for folder in folders)
    ours, theirs = (_cells(found) for found in recordings)
    order = dict.fromkeys(_key(entry["cell"]) for entry in first.plan)
    durations = {int(one.scenario["duration_ns"]) for found in recordings for one in found}
    here, there = (_side(folder, found) for folder, found in zip(folders, recordings, strict=True))
    lines = tuple(line for key in order for line in _lines(dict(key), ours.get(key), theirs.get(key), here.stand_ins))
    return Report(
        experiment=first.experiment,
        planned=len(first.plan),
        durations_ns=tuple(sorted(durations or {first.experiment["duration_ns"]})),
        sides=(here, there),
        lines=lines,
        metrics=tuple(_metric(metric, lines) for metric in METRICS),
        command=commands.agree(first.experiment, (here.world, there.world)),
    )


def _key(cell: Mapping[str, str]) -> Key:
    return tuple(cell.items())


def _cells(recordings: Sequence[RunRecording]) -> dict[Key, _Cell]:
    cells: dict[Key, _Cell] = {}
    for recording in recordings:
        schemes = flow_names(recording.scenario)
        probes = len(recording.scenario.get("probes", ()))
        cell = cells.setdefault(_key(recording.manifest.cell), _Cell([], schemes, probes))
        if recording.complete:
            cell.summaries.append(summarise(recording))
    return cells


def _lines(
    labels: dict[str, str], ours: _Cell | None, theirs: _Cell | None, stand_ins: Mapping[str, str]
) -> Iterator[Line]:
    """All metrics of a cell; `stand_ins` are those of the first world."""
    ours, theirs = ours or _Cell([], []), theirs or _Cell([], [])
    both = zip(ours.schemes or theirs.schemes, theirs.schemes or ours.schemes, strict=True)
    schemes = [there if stand_ins.get(there) == here else here for here, there in both]
    every = "+".join(dict.fromkeys(schemes))
    parts = [(_Part("flow", number), scheme) for number, scheme in enumerate(schemes, 1)]
    parts += [(_Part("probe", number), every) for number in range(1, max(ours.probes, theirs.probes) + 1)]
    for part, scheme in [*parts, (_Part("total"), every)]:
        for metric in (metric for metric in METRICS if metric.scope == part.scope):
            found = compare(metric, part.values(metric, ours.summaries), part.values(metric, theirs.summaries))
            yield Line(
                cell=labels,
                flow=part.number if part.scope == "flow" else None,
                probe=part.number if part.scope == "probe" else None,
                scheme=scheme,
                metric=metric,
                found=found,
            )


def _side(folder: ResultFolder, recordings: Sequence[RunRecording]) -> Side:
    manifests = [recording.manifest for recording in recordings]
    versions = {
        f"bakeoff {m.versions.get('bakeoff', 'unknown')}, {m.host.get('system')} {m.host.get('kernel')}"
        for m in manifests
    }
    return Side(
        world=folder.experiment["world"],
        stand_ins=folder.experiment["stand_ins"],
        complete=sum(recording.complete for recording in recordings),
        failures=tuple((m.run, m.status, m.error or "") for m in manifests if m.status != "complete"),
        versions="; ".join(sorted(versions)),
    )


def _metric(metric: Metric, lines: Sequence[Line]) -> MetricAgreement:
    own = [line for line in lines if line.metric == metric]
    schemes = dict.fromkeys(line.scheme for line in own)
    by_scheme = {scheme: [line for line in own if line.scheme == scheme] for scheme in schemes}
    return MetricAgreement(
        metric,
        summarise_lines(metric, own),
        {scheme: summarise_lines(metric, some) for scheme, some in by_scheme.items()},
        exists=any(line.exists for line in own),
    )

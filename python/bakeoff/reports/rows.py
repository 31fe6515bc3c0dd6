"""The rows of a report: cells of the matrix that have runs, and what is only published or waits for a file."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

from bakeoff.experiment.published_row import SCHEME_AXIS, published_row, scheme_of
from bakeoff.metrics.corrected import Interval
from bakeoff.metrics.dynamics import goodputs_mbps
from bakeoff.metrics.quantities import NS_PER_S
from bakeoff.metrics.statistics import Estimate, estimate, mean_of_known
from bakeoff.references import Published, PublishedScheme, Reference
from bakeoff.reports import looks, titles

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import polars as pl

    from bakeoff.metrics import RunSummary, TotalSummary
    from bakeoff.metrics.pantheon import PantheonMetrics
    from bakeoff.recording import RunRecording
    from bakeoff.references.model import Steady
    from bakeoff.reports.cell_looks import CellLooks


class Loss(Enum):
    """What the summary calls loss, after "by Pantheon's definitions": as the published table does, if there is one."""

    PANTHEON = "loss with what was in flight at the end"
    PACKETS = "but loss as published: of packets, without those in flight at the end"
    BYTES = "but loss without what was in flight at the end"


@dataclass(frozen=True)
class Run:
    """One run: its recording and its numbers."""

    recording: RunRecording
    summary: RunSummary

    @functools.cached_property
    def _goodput(self) -> pl.DataFrame | None:
        has_series = self.recording.has("series")
        return self.recording.table("series", ("flow", "t_ns", "goodput_bytes")) if has_series else None

    def steady_mbps(self, flow: int, steady: Steady) -> float | None:
        """Mean goodput of a flow over the time of published ones; None in a run that is shorter, or without series."""
        record, end_ns = self.recording.scenario["record"], self.recording.scenario["duration_ns"]
        stop_ns = end_ns - steady.rest_s * NS_PER_S
        stretch = Interval(stop_ns - steady.length_s * NS_PER_S, stop_ns)
        if self._goodput is None or stretch.start_ns < 0:
            return None
        return goodputs_mbps(self._goodput, [flow], stretch, int(record["interval_ns"]))[flow]


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
        loss: what counts as lost.
        steady: when the throughputs of flows are measured; None for Pantheon's time.
    """

    label: str
    key: str
    cell: dict[str, str]
    look: looks.Look
    runs: tuple[Run, ...]
    published: PublishedScheme | None
    loss: Loss
    steady: Steady | None

    @property
    def summaries(self) -> list[RunSummary]:
        """The numbers of the runs that are complete."""
        return [run.summary for run in self.runs if run.summary.total is not None]

    @property
    def valid(self) -> list[RunSummary]:
        """The complete runs that Pantheon would count."""
        return [summary for summary in self.summaries if summary.total and summary.total.pantheon]

    @property
    def counted(self) -> str:
        """Over how many runs Pantheon's numbers are: "3", or "2 of 3" where some are not valid."""
        valid, whole = len(self.valid), len(self.runs)
        return str(whole) if valid == whole else f"{valid} of {whole}"

    def over_runs(self, value: Callable[[RunSummary], float | None]) -> Estimate | None:
        """Mean and interval of a number over the complete runs that have it."""
        values = [value(summary) for summary in self.summaries]
        return estimate([number for number in values if number is not None])

    def by_seed(self, value: Callable[[RunSummary], float | None]) -> dict[int, float]:
        """A number of the complete runs that have it, by their seeds."""
        return {summary.seed: number for summary in self.summaries if (number := value(summary)) is not None}

    def numbers(self, flow: int | None, beside: PublishedScheme | None = None) -> list[Published]:
        """Pantheon's numbers of each valid run, as its statistics print them.

        Args:
            flow: its number; None for all flows together.
            beside: a published row that they are to be compared with. If it does not count packets in flight at the
                end as lost, neither do these, and if its throughputs of flows are of a part of the run, so are these;
                without one they count as the whole report does.
        """
        counted, steady = (loss_beside(beside), beside.steady) if beside else (self.loss, self.steady)
        found = []
        for run in self.runs:
            summary = run.summary
            if (exact := _pantheon_of(summary, flow)) is not None:
                printed = float(f"{100 * exact.loss:.2f}") / 100
                loss = printed if counted is Loss.PANTHEON else _loss_of(summary, flow, counted)
                whole, delay = float(f"{exact.throughput_mbps:.2f}"), float(f"{exact.owd_p95_ms:.3f}")
                throughput = run.steady_mbps(flow, steady) if steady and flow is not None else whole
                found.append(Published(throughput, delay, loss))
        return found

    def pantheon(self, flow: int | None, beside: PublishedScheme | None = None) -> Published:
        """Means of `numbers`, as in Pantheon's report."""
        known = self.numbers(flow, beside)
        return Published(
            mean_of_known(numbers.throughput_mbps for numbers in known),
            mean_of_known(numbers.owd_p95_ms for numbers in known),
            mean_of_known(numbers.loss for numbers in known),
        )


@dataclass(frozen=True)
class Absent:
    """A row that this folder has no runs for.

    Attributes:
        name: the scheme, or the cell of the matrix.
        published: the published row, if there is one.
        look: colour and marker.
        reason: why there is none: `not implemented yet`, `not in this run`, or what the user has to give.
        remedy: the option that gives it, or empty.
    """

    name: str
    published: PublishedScheme | None
    look: looks.Look
    reason: str
    remedy: str = ""


def of_total(value: Callable[[TotalSummary], float | None]) -> Callable[[RunSummary], float | None]:
    """How to take a number of all flows together from a run; one that is not complete has none."""
    return lambda run: value(run.total) if run.total else None


def _pantheon_of(summary: RunSummary, flow: int | None) -> PantheonMetrics | None:
    if flow is None:
        return summary.total.pantheon if summary.total else None
    return summary.flows[flow - 1].pantheon if flow <= len(summary.flows) else None


def loss_beside(published: Reference | PublishedScheme | None) -> Loss:
    """What loss counts beside a published table, or a row of one."""
    if published is None or not published.has_loss:
        return Loss.BYTES
    return Loss.PACKETS if published.counts_packets else Loss.PANTHEON


def _loss_of(summary: RunSummary, flow: int | None, counted: Loss) -> float | None:
    """The loss of a run without what was in flight at its end."""
    part = summary.total if flow is None else next((one for one in summary.flows if one.flow == flow), None)
    if part is None:
        return None
    return part.packet_loss if counted is Loss.PACKETS else part.loss


def by_cell(runs: Sequence[Run]) -> list[list[Run]]:
    """The runs of each cell, in the order in which cells come first."""
    cells: dict[tuple[tuple[str, str], ...], list[Run]] = {}
    for run in runs:
        cells.setdefault(tuple(run.summary.cell.items()), []).append(run)
    return list(cells.values())


@dataclass(frozen=True)
class RowMaker:
    """Makes the rows of a report.

    Attributes:
        reference: the published report, if there is one.
        variants: names that the experiment gives to schemes with parameters, and their schemes.
        unmet: cells that were not run, and why.
    """

    reference: Reference | None
    variants: Mapping[str, str]
    unmet: Sequence[Mapping[str, Any]]

    def groups(self, cells: Sequence[Sequence[Run]], known: CellLooks | None) -> list[Group]:
        """A group of each cell."""
        found = [known.of(runs[0].summary.cell) for runs in cells] if known else self._looks(cells)
        return [self._group(runs, look) for runs, look in zip(cells, found, strict=True)]

    def rows(self, groups: Sequence[Group]) -> list[Group | Absent]:
        """Rows of this folder in the order of the reference, then those it lacks; last what is only published."""
        here: list[Group | Absent] = [*groups, *(self._waiting(unmet, index) for index, unmet in enumerate(self.unmet))]
        rows: list[Group | Absent] = []
        absent: list[Absent] = []
        for index, published in enumerate(self.reference.schemes if self.reference else ()):
            found = [row for row in here if row.published is published]
            rows += found
            absent += [] if found else [self._absent(published, index)]
        return [*rows, *(row for row in here if row.published is None), *absent]

    def _waiting(self, unmet: Mapping[str, Any], index: int) -> Absent:
        """The row of a cell that waits for a file."""
        cell = unmet["cell"]
        key = cell.get(SCHEME_AXIS, "")
        published, look = published_row(self.reference, key, cell), self._look(key, index)
        return Absent(titles.cell(key, cell), published, look, unmet["reason"], unmet["remedy"])

    def _absent(self, published: PublishedScheme, index: int) -> Absent:
        # A row without a key is about flows of several schemes.
        known = not published.key or published.key in titles.implemented() or published.key in self.variants
        reason = "not in this run" if known else "not implemented yet"
        return Absent(published.name, published, self._look(published.key, index), reason)

    def _look(self, key: str, index: int) -> looks.Look:
        own = looks.SCHEMES.get(key)
        return own or looks.of_scheme(self.variants.get(key, key), index)

    def _looks(self, cells: Sequence[Sequence[Run]]) -> list[looks.Look]:
        """The look of each cell: its scheme's, and a marker for the rest of the cell if there is more than that."""
        # A cell whose flows differ has the look of the scheme that it is called after.
        keys = [self._key(runs[0]) or runs[0].summary.cell.get(SCHEME_AXIS, "") for runs in cells]
        rests = [tuple(item for item in runs[0].summary.cell.items() if item[0] != SCHEME_AXIS) for runs in cells]
        places = {rest: place for place, rest in enumerate(dict.fromkeys(rests))}
        known = looks.of_schemes(dict.fromkeys(filter(None, keys)), self.variants)
        found = []
        for index, (key, rest) in enumerate(zip(keys, rests, strict=True)):
            look = self._look(key, index) if key in looks.SCHEMES else known.get(key) or looks.of_scheme(key, index)
            found.append(look if len(places) == 1 or not key else looks.with_marker(look, places[rest]))
        return found

    def _key(self, run: Run) -> str:
        return scheme_of(run.recording.scenario, run.summary.cell, self.variants)

    def _group(self, runs: Sequence[Run], look: looks.Look) -> Group:
        first = runs[0]
        key = self._key(first)
        return Group(
            label=titles.cell(key, first.summary.cell),
            key=key,
            cell=first.summary.cell,
            look=look,
            runs=tuple(sorted(runs, key=lambda run: run.summary.repeat)),
            published=published_row(self.reference, key, first.summary.cell),
            loss=loss_beside(self.reference),
            steady=self.reference.steady if self.reference else None,
        )

"""What is published: reports, their rows, and the numbers in them."""

from __future__ import annotations

import csv
import statistics
from dataclasses import dataclass, field
from importlib import resources
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class Published:
    """Three published numbers; None where the report has none.

    Attributes:
        throughput_mbps: average throughput, Mbit/s.
        owd_p95_ms: 95th-percentile one-way delay, ms.
        loss: ratio 0..1 (the report prints percent).
    """

    throughput_mbps: float | None
    owd_p95_ms: float | None
    loss: float | None


@dataclass(frozen=True)
class PublishedRun:
    """One published run of a scheme.

    Attributes:
        run: its number, from 1.
        total: all flows together.
        flows: by number.
    """

    run: int
    total: Published
    flows: Mapping[int, Published]


@dataclass(frozen=True)
class Steady:
    """The time over which published throughputs are, which are of payload then.

    Attributes:
        length_s: how long it is.
        rest_s: how long before the end of a run it ends.
    """

    length_s: int
    rest_s: int

    def __str__(self) -> str:
        """For a sentence: "the 40 s that end 2 s before the end"."""
        return f"the {self.length_s} s that end {self.rest_s} s before the end"


@dataclass(frozen=True)
class PublishedScheme:
    """One row of a published summary table.

    Attributes:
        name: the scheme's name in the report.
        key: the key of the scheme here.
        run_count: valid runs that the means are over.
        flows: means over runs, by flow number.
        runs: what the report prints of each run.
        cell: the cells of the matrix that it is about, one value for some axes; none where the scheme says enough.
        counts_packets: its loss is a share of packets, without those in flight at the end; else Pantheon's, of bytes
            and with them.
        steady: when its throughputs were measured; None for from the first arrival to the last, as Pantheon does.
    """

    name: str
    key: str
    run_count: int
    flows: Mapping[int, Published]
    runs: tuple[PublishedRun, ...]
    cell: Mapping[str, str] = field(default_factory=dict)
    counts_packets: bool = False
    steady: Steady | None = None

    @property
    def has_loss(self) -> bool:
        """Whether a loss of it is published."""
        numbers = [*self.flows.values(), *(run.total for run in self.runs)]
        return any(found.loss is not None for found in numbers)

    @property
    def total(self) -> Published:
        """Means over runs of the numbers of all flows together (the figures use these, the table does not)."""
        totals = [run.total for run in self.runs]
        return Published(
            _mean([total.throughput_mbps for total in totals]),
            _mean([total.owd_p95_ms for total in totals]),
            _mean([total.loss for total in totals]),
        )


@dataclass(frozen=True)
class Reference:
    """A published report.

    Attributes:
        name: what an experiment calls it.
        title: the path it measured.
        schemes: rows of its table, in its order.
    """

    name: str
    title: str
    schemes: tuple[PublishedScheme, ...]

    @property
    def has_loss(self) -> bool:
        """Whether losses are published."""
        return any(row.has_loss for row in self.schemes)

    @property
    def counts_packets(self) -> bool:
        """Whether rows of it count loss in packets, so that all that stands beside them has to."""
        return any(row.counts_packets for row in self.schemes)

    @property
    def steady(self) -> Steady | None:
        """When the throughputs of its rows were measured, so that all that stands beside them has to be of then."""
        return next((row.steady for row in self.schemes if row.steady), None)

    def scheme(self, key: str, cell: Mapping[str, str] | None = None) -> PublishedScheme | None:
        """The row of a scheme, by our key, and of a cell of the matrix where rows are about cells."""
        rows = (row for row in self.schemes if row.key == key)
        return next((row for row in rows if row.cell.items() <= (cell or {}).items()), None)


def _mean(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.fmean(known) if known else None


def rows(file: str) -> list[dict[str, str]]:
    """The rows of a table in `data/`."""
    text = (resources.files("bakeoff.references") / "data" / file).read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))

"""Numbers of all flows together without Pantheon's quirks, as columns of tables."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from bakeoff.reports import words
from bakeoff.reports.rows import of_total

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bakeoff.metrics import RunSummary
    from bakeoff.reports.rows import Group


def _jain_bounds(group: Group) -> tuple[float, float]:
    """What Jain's index of the flows of a cell can be: from 1/n, if one has everything, to 1."""
    return 1 / max((len(run.flows) for run in group.summaries), default=1), 1.0


class Column(NamedTuple):
    """A column of a table.

    Attributes:
        title: its heading.
        value: how to take the number from a run.
        text: how to print it.
        bounds: the least and the most that it can be in a cell.
    """

    title: str
    value: Callable[[RunSummary], float | None]
    text: Callable[[float | None], str]
    bounds: Callable[[Group], tuple[float, float]] = lambda _: (0.0, math.inf)

    def interval(self, group: Group) -> tuple[str, str]:
        """Mean and interval over the runs of a cell, as `words.plus_minus`."""
        return words.plus_minus(group.over_runs(self.value), self.text, self.bounds(group))


JAIN = Column("Jain's index", of_total(lambda total: total.jain), lambda x: words.number(x, 3), _jain_bounds)
CORRECTED: tuple[Column, ...] = (
    Column("Throughput (Mbit/s)", of_total(lambda total: total.throughput_mbps), words.number),
    Column("Goodput (Mbit/s)", of_total(lambda total: total.goodput_mbps), words.number),
    Column(
        "Utilisation, whole run (%)",
        of_total(lambda total: total.utilisation),
        lambda x: words.percent(x, 1),
        lambda _: (0.0, 1.0),
    ),
    Column("Loss without tail (%)", of_total(lambda total: total.loss), words.percent, lambda _: (0.0, 1.0)),
    Column("Queueing delay, 95th-%ile (ms)", of_total(lambda total: total.queue_p95_ms), lambda x: words.number(x, 1)),
    JAIN,
    Column("Retransmissions", lambda run: sum(flow.retransmits for flow in run.flows), lambda x: words.number(x, 0)),
)


def existing(columns: Sequence[Column], groups: Sequence[Group]) -> list[Column]:
    """The columns of what exists in any run; a single flow, for one, is neither fair nor unfair."""
    runs = [run for group in groups for run in group.summaries]
    return [column for column in columns if any(column.value(run) is not None for run in runs)]

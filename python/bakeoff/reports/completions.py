"""How long finite transfers took.

Transfers of one size by one scheme are a class: its size in bytes, and the name of the scheme where several meet in a
cell, else "".
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bakeoff.metrics.percentile import nearest_of
from bakeoff.reports import titles, words

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from bakeoff.reports.model import Report
    from bakeoff.reports.rows import Group, Run

    Class = tuple[int, str]

PERCENTS = (50, 95, 99)
HEADINGS = ("median (s)", "95th-%ile (s)", "99th-%ile (s)")


@dataclass(frozen=True)
class Transfers:
    """The transfers of one size by one scheme in one cell, over all its runs.

    Attributes:
        label: name of the cell.
        name: size, and scheme where several meet.
        count: how many there were.
        completed: how many of them completed.
        times: completion times of these at `PERCENTS`, nearest rank, in s.
    """

    label: str
    name: str
    count: int
    completed: int
    times: list[str]


def of(report: Report) -> list[Transfers]:
    """The transfers of a report, by cell; empty if no flow has a size."""
    return [transfers for group in report.groups for transfers in _in_cell(group)]


def medians(group: Group) -> dict[Class, dict[int, float]]:
    """The median completion time of each class of a cell, in s, by seed of the run.

    One that did not complete took longer than all that did; a run of which half did not complete has no median.
    """
    found: dict[Class, dict[int, float]] = {}
    for run in group.runs:
        for key, times in _by_class([run], group).items():
            longest = np.array([math.inf if time is None else time for time in times])
            by_seed = found.setdefault(key, {})
            if math.isfinite(median := nearest_of(longest, 50)):
                by_seed[run.summary.seed] = median
    return found


def title(key: Class) -> str:
    """A class for people."""
    size, name = words.size(key[0]), key[1]
    return f"{size}, {titles.scheme(name)}" if name else size


def _by_class(runs: Iterable[Run], group: Group) -> dict[Class, list[float | None]]:
    found: dict[Class, list[float | None]] = {}
    for run in runs:
        # A run without numbers has no flows.
        for flow, asked in zip(run.summary.flows, run.recording.scenario["flows"], strict=False):
            if asked["traffic"]["kind"] == "finite":
                # A cell of one scheme is called after it.
                key = (asked["traffic"]["size_bytes"], "" if group.key else flow.name)
                found.setdefault(key, []).append(flow.completion_s)
    return found


def _in_cell(group: Group) -> Iterator[Transfers]:
    for key, times in _by_class(group.runs, group).items():
        known = np.array([time for time in times if time is not None])
        shown = [words.significant(nearest_of(known, percent) if known.size else None) for percent in PERCENTS]
        yield Transfers(group.label, title(key), len(times), known.size, shown)

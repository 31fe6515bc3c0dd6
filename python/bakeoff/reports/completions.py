"""How long finite transfers took."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bakeoff.metrics.percentile import nearest_of
from bakeoff.reports import looks, words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bakeoff.reports.model import Group, Report

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


def _in_cell(group: Group) -> Iterator[Transfers]:
    found: dict[tuple[str, int], list[float | None]] = {}
    for run in group.runs:
        # A run without numbers has no flows.
        for flow, asked in zip(run.summary.flows, run.recording.scenario["flows"], strict=False):
            if asked["traffic"]["kind"] == "finite":
                found.setdefault((flow.name, asked["traffic"]["size_bytes"]), []).append(flow.completion_s)
    for (name, size_bytes), times in found.items():
        known = np.array([time for time in times if time is not None])
        shown = [words.significant(nearest_of(known, percent) if known.size else None) for percent in PERCENTS]
        size = words.size(size_bytes)
        # A cell of one scheme is called after it.
        title = size if group.key else f"{size}, {looks.title(name)}"
        yield Transfers(group.label, title, len(times), known.size, shown)

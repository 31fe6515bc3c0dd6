"""Which of several flows that are alike in the file started first: chance, which may look like a result."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bakeoff.reports.model import Report
    from bakeoff.reports.rows import Group


def sentences(report: Report) -> list[str]:
    """A sentence for each set of flows that are alike and of which one started first in all runs of a cell.

    A cell is named only where other cells have something else to say.
    """
    cells: dict[str, list[str]] = {}
    for group in report.groups:
        for sentence in _of(group):
            cells.setdefault(sentence, []).append(group.label)
    if all(len(labels) == len(report.groups) for labels in cells.values()):
        return list(cells)
    return [f"{', '.join(labels)}: {sentence}" for sentence, labels in cells.items()]


def _of(group: Group) -> list[str]:
    runs = [run for run in group.runs if run.summary.total is not None]
    if not runs or not all(run.recording.scenario["start_jitter_ns"] for run in runs):
        return []
    flows = runs[0].recording.scenario["flows"]
    found = []
    for place, flow in enumerate(flows):
        alike = [number for number, other in enumerate(flows, 1) if other == flow]
        if len(alike) < 2 or alike[0] != place + 1:
            continue
        first = {min(alike, key=lambda number: run.summary.flows[number - 1].start_s) for run in runs}
        if len(first) == 1:
            found.append(_sentence(alike, first.pop(), len(runs)))
    return found


def _sentence(alike: list[int], first: int, runs: int) -> str:
    *most, last = map(str, alike)
    everywhere = "in the only run" if runs == 1 else f"in {'both' if runs == 2 else f'all {runs}'} runs"
    return (
        f"Flows {', '.join(most)} and {last} are alike in the file, but start_jitter let flow {first} start first "
        f"{everywhere}: what it has more or less than the other{'s' if len(alike) > 2 else ''} may come from that. "
        "More repeats or another seed may mix the order."
    )

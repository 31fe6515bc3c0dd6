"""The same cells in several result folders, one column a world, beside the published numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bakeoff.experiment.catalogue import plain
from bakeoff.experiment.published_row import SCHEME_AXIS
from bakeoff.reports import words
from bakeoff.reports.summary_columns import METRICS, Metric

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bakeoff.references import Published
    from bakeoff.reports.looks import Look
    from bakeoff.reports.model import Report
    from bakeoff.reports.rows import Group


@dataclass(frozen=True)
class Row:
    """A scheme, or a cell of a matrix that has more axes.

    Attributes:
        name: for people.
        look: its colour and marker.
        cells: by metric, then world, all flows together; empty where a folder lacks the cell.
        published: by metric; empty where nothing is published.
    """

    name: str
    look: Look
    cells: list[list[str]]
    published: list[str]


@dataclass(frozen=True)
class Worlds:
    """The table.

    Attributes:
        names: of the worlds, in order.
        is_published: by metric, for any scheme.
        rows: schemes, or cells.
    """

    names: list[str]
    is_published: list[bool]
    rows: list[Row]


def table(report: Report, beside: Sequence[Report]) -> Worlds | None:
    """The totals of a report and of others of the same experiment; None without others."""
    if not beside:
        return None
    reports = (report, *beside)
    found = [{_place(group): group for group in one.groups} for one in reports]
    keys = list(dict.fromkeys(key for groups in found for key in groups))
    published = [group.published.total for groups in found for group in groups.values() if group.published]
    return Worlds(
        [one.experiment["world"] for one in reports],
        [any(metric.value(numbers) is not None for numbers in published) for metric in METRICS],
        [_row([groups.get(key) for groups in found]) for key in keys],
    )


def _place(group: Group) -> tuple[str, ...]:
    """What a cell shares with those of other worlds, where the kernel's Cubic may send in place of ours."""
    return (plain(group.key), *(value for axis, value in group.cell.items() if axis != SCHEME_AXIS or not group.key))


def _row(groups: Sequence[Group | None]) -> Row:
    first = next(group for group in groups if group is not None)
    ours = [group.pantheon(None) if group else None for group in groups]
    theirs = first.published.total if first.published else None
    return Row(
        first.published.name if first.published and set(first.cell) <= {SCHEME_AXIS} else first.label,
        first.look,
        [[_text(metric, numbers) for numbers in ours] for metric in METRICS],
        [_text(metric, theirs) for metric in METRICS],
    )


def _text(metric: Metric, numbers: Published | None) -> str:
    return metric.text(metric.value(numbers)) if numbers else words.MISSING

"""Two result folders, or a folder and published numbers, side by side.

Two folders are compared cell by cell on totals, in pairs of runs with equal seeds where every run of a side has a
partner: what a seed does to both sides then cancels. Else their means are compared. A published report is compared by
scheme, per flow and in total, by Pantheon's definitions.
"""

from __future__ import annotations

import os
import statistics
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bakeoff import references
from bakeoff.errors import UserError
from bakeoff.experiment.published_row import published_row
from bakeoff.metrics.statistics import Estimate, paired, unpaired
from bakeoff.recording import ResultFolder
from bakeoff.reports import completions, model
from bakeoff.reports.rows import Loss, loss_beside, of_total

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from bakeoff.metrics import RunSummary
    from bakeoff.references import Published, PublishedScheme, Reference
    from bakeoff.reports.model import Report
    from bakeoff.reports.rows import Group

_TOTALS: dict[str, Callable[[RunSummary], float | None]] = {
    "throughput_mbps": of_total(lambda total: total.throughput_mbps),
    "goodput_mbps": of_total(lambda total: total.goodput_mbps),
    "owd_p95_ms": of_total(lambda total: total.owd_p95_ms),
    "queue_p95_ms": of_total(lambda total: total.queue_p95_ms),
    "loss": of_total(lambda total: total.loss),
    "jain": of_total(lambda total: total.jain),
    "utilisation": of_total(lambda total: total.utilisation),
}
# Longer lists of rows are in the way of the rest.
_MOST_NAMED = 3
_THROUGHPUT, GOODPUT = "pantheon.throughput_mbps", "goodput_mbps"
_PUBLISHED: dict[str, Callable[[Published], float | None]] = {
    _THROUGHPUT: lambda numbers: numbers.throughput_mbps,
    "pantheon.owd_p95_ms": lambda numbers: numbers.owd_p95_ms,
    "pantheon.loss": lambda numbers: numbers.loss,
}
_LOSS = {Loss.PANTHEON: "pantheon.loss", Loss.PACKETS: "packet_loss", Loss.BYTES: "loss"}


@dataclass(frozen=True, kw_only=True)
class Line:
    """One number on both sides.

    Attributes:
        row: the cell or scheme.
        flow: number of the flow; None for all flows together.
        metric: name of the metric, as in `bakeoff list metrics`.
        transfers: which finite transfers it is the median of, in each run; None where it is not of transfers.
        left: mean over runs on the left, over those of pairs where there are some.
        right: mean on the right.
        ratio: left over right; None if it does not exist.
        difference: mean of left - right over pairs of runs with equal seeds, or of the means of all runs; None where
            a side without pairs has fewer than two runs.
        is_paired: whether it is over pairs.
    """

    row: str
    flow: int | None
    metric: str
    left: float | None
    right: float | None
    ratio: float | None
    difference: Estimate | None
    is_paired: bool = False
    transfers: str | None = None

    @property
    def verdict(self) -> str:
        """What the runs show of the left side: `higher` or `lower`, `undecided`, or `same`; empty without an interval.

        An interval that holds 0 does not show that both sides are the same, only that these runs do not tell. They are
        the same where every pair is, or every run.
        """
        found = self.difference
        if found is None or found.low is None or found.high is None:
            return ""
        if found.low == found.high == 0:
            return "same"
        if found.low <= 0 <= found.high:
            return "undecided"
        return "higher" if found.low > 0 else "lower"


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Everything that both sides have, and what only one has.

    Attributes:
        left: name of the left side.
        right: name of the right side.
        lines: numbers of both.
        only_left: rows without a counterpart.
        only_right: the same on the right.
    """

    left: str
    right: str
    lines: tuple[Line, ...]
    only_left: tuple[str, ...]
    only_right: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """The comparison as plain values; ratios 0..1, what does not exist is null."""
        value = asdict(self)
        value["lines"] = [asdict(line) | {"verdict": line.verdict or None} for line in self.lines]
        value["only_left"], value["only_right"] = list(self.only_left), list(self.only_right)
        return value


def compare(left: str, right: str) -> Comparison:
    """Compares a result folder with another one or with a published reference.

    Args:
        left: path of a result folder.
        right: path of a result folder, or name of a reference such as `pantheon/india-ppp0`.

    Raises:
        UserError: a side is neither, a folder is damaged, or the sides have no row in common.
    """
    if left in references.names() and not os.path.isdir(left):  # noqa: PTH112 - never raises
        raise UserError(f"{left} is a published reference, which goes second: bakeoff compare DIR {left}")
    ours = model.load(ResultFolder.open(Path(left)))
    if os.path.isdir(right):  # noqa: PTH112 - never raises
        found = _folders(left, ours, right, model.load(ResultFolder.open(Path(right))))
    elif right in references.names():
        found = _published(left, ours, references.load(right))
    else:
        known = ", ".join(references.names())
        raise UserError(f'"{right}": neither a result folder nor a published reference ({known})')
    if not found.lines:
        raise UserError(
            f"{left} and {right} have no {ours.noun} in common: the first has {few(found.only_left)}, the second "
            f"{few(found.only_right)}; {_remedy(right)}"
        )
    return found


def _remedy(right: str) -> str:
    """What to do where the sides have nothing in common."""
    if right in references.names():
        return "run the schemes that were published, or give a folder that has them"
    return (
        "to compare these with each other, run them in one experiment (--scheme A,B, or an axis of [matrix]), whose "
        "report has their differences"
    )


def few(rows: Sequence[str]) -> str:
    """The first rows by name, and how many more there are."""
    more = [f"{len(rows) - _MOST_NAMED} more"] if len(rows) > _MOST_NAMED else []
    *most, last = [*(f'"{row}"' for row in rows[:_MOST_NAMED]), *more] or ["no run"]
    return f"{', '.join(most)} and {last}" if most else last


def _folders(left: str, ours: Report, right: str, theirs: Report) -> Comparison:
    others = {tuple(sorted(group.cell.items())): group for group in theirs.groups}
    lines: list[Line] = []
    matched = []
    for group in ours.groups:
        other = others.get(tuple(sorted(group.cell.items())))
        if other is not None:
            matched.append(group.label)
            lines += [_line(group, metric, group.by_seed(of), other.by_seed(of)) for metric, of in _TOTALS.items()]
            lines += _transfers(group, other)
    return Comparison(
        left=left,
        right=right,
        lines=tuple(lines),
        only_left=tuple(group.label for group in ours.groups if group.label not in matched),
        only_right=tuple(group.label for group in theirs.groups if group.label not in matched),
    )


def _transfers(group: Group, other: Group) -> Iterator[Line]:
    theirs = completions.medians(other)
    for key, ours in completions.medians(group).items():
        if key in theirs:
            yield _line(group, "completion_s", ours, theirs[key], completions.title(key))


def _line(
    group: Group, metric: str, ours: dict[int, float], theirs: dict[int, float], transfers: str | None = None
) -> Line:
    seeds = ours.keys() & theirs.keys()
    is_paired = 0 < len(seeds) == min(len(ours), len(theirs))
    if is_paired:
        ours, theirs = ({seed: side[seed] for seed in sorted(seeds)} for side in (ours, theirs))
    left, right = _mean(ours), _mean(theirs)
    difference = paired(ours, theirs) if is_paired else unpaired([*ours.values()], [*theirs.values()])
    return Line(
        row=group.label,
        flow=None,
        metric=metric,
        left=left,
        right=right,
        ratio=_ratio(left, right),
        difference=difference,
        is_paired=is_paired,
        transfers=transfers,
    )


def _mean(values: dict[int, float]) -> float | None:
    return statistics.fmean(values.values()) if values else None


def _published(left: str, ours: Report, reference: Reference) -> Comparison:
    lines: list[Line] = []
    rows = [published_row(reference, group.key, group.cell) for group in ours.groups]
    for group, row in zip(ours.groups, rows, strict=True):
        if row is not None:
            lines += _published_lines(group, row)
    return Comparison(
        left=left,
        right=reference.name,
        lines=tuple(lines),
        only_left=tuple(group.label for group, row in zip(ours.groups, rows, strict=True) if row is None),
        only_right=tuple(row.name for row in reference.schemes if row not in rows),
    )


def _published_lines(group: Group, row: PublishedScheme) -> Iterator[Line]:
    names = {name: name for name in _PUBLISHED} | {"pantheon.loss": _LOSS[loss_beside(row)]}
    for flow in (None, *sorted(row.flows)):
        if flow is not None and row.steady:
            names[_THROUGHPUT] = GOODPUT
        ours, theirs = group.pantheon(flow, row), row.total if flow is None else row.flows[flow]
        for metric, value in _PUBLISHED.items():
            left, right = value(ours), value(theirs)
            yield Line(
                row=group.label,
                flow=flow,
                metric=names[metric],
                left=left,
                right=right,
                ratio=_ratio(left, right),
                difference=None,
            )


def _ratio(left: float | None, right: float | None) -> float | None:
    return left / right if left is not None and right else None

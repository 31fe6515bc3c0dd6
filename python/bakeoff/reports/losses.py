"""Rows that lose a good part of what they send, which figures of throughput and delay do not show."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bakeoff.reports import words
from bakeoff.reports.rows import of_total

if TYPE_CHECKING:
    from bakeoff.reports.model import Report
    from bakeoff.reports.rows import Group

# About what three flows of BBR lose behind a third of a BDP.
_MUCH = 0.1
_MOST_NAMES = 5


def sentence(report: Report) -> str | None:
    """What loses a tenth of its packets and more, the worst first; None if nothing does."""
    found = [(loss, group.label) for group in report.groups if (loss := _loss(group)) is not None and loss >= _MUCH]
    if not found:
        return None
    found.sort(key=lambda row: -row[0])
    names = [f"{label} ({words.percent(loss, 0)} %)" for loss, label in found[:_MOST_NAMES]]
    if rest := len(found) - len(names):
        names.append(words.count(rest, f"other {report.noun}"))
    told = "Losses do not show where throughput stands over delay. A tenth of the packets and more was lost by: "
    return f"{told}{'; '.join(names)}."


def _loss(group: Group) -> float | None:
    """As in the summary; where Pantheon would count no run, of all runs."""
    if group.valid:
        return group.pantheon(None).loss
    mean = group.over_runs(of_total(lambda total: total.loss))
    return mean.mean if mean else None

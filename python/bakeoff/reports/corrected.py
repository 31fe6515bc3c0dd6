"""Numbers of all flows together without Pantheon's quirks, as columns of tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from bakeoff.reports import words

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bakeoff.metrics import RunSummary
    from bakeoff.reports.model import Group

Column: TypeAlias = "tuple[str, Callable[[RunSummary], float | None], Callable[[float | None], str]]"
CORRECTED: tuple[Column, ...] = (
    ("Throughput (Mbit/s)", lambda run: run.total.throughput_mbps if run.total else None, words.number),
    ("Goodput (Mbit/s)", lambda run: run.total.goodput_mbps if run.total else None, words.number),
    (
        "Utilisation, whole run (%)",
        lambda run: run.total.utilisation if run.total else None,
        lambda x: words.percent(x, 1),
    ),
    ("Loss without tail (%)", lambda run: run.total.loss if run.total else None, words.percent),
    (
        "Queueing delay, 95th-%ile (ms)",
        lambda run: run.total.queue_p95_ms if run.total else None,
        lambda x: words.number(x, 1),
    ),
    ("Jain's index", lambda run: run.total.jain if run.total else None, lambda x: words.number(x, 3)),
    ("Retransmissions", lambda run: sum(flow.retransmits for flow in run.flows), lambda x: words.number(x, 0)),
)
"""Heading, how to take the number from a run, and how to print it."""


def existing(columns: Sequence[Column], groups: Sequence[Group]) -> list[Column]:
    """The columns of what exists in any run; a single flow, for one, is neither fair nor unfair."""
    runs = [run for group in groups for run in group.summaries]
    return [column for column in columns if any(column[1](run) is not None for run in runs)]

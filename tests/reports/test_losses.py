"""That much was lost is said beside figures in which it does not show, and only where it was."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from bakeoff.reports import html, losses, model

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bakeoff.recording import ResultFolder
    from bakeoff.reports.rows import Run

SCHEMES = ("bbr", "cubic", "ledbat", "reno", "vegas", "copa", "verus")


@pytest.fixture
def report(filled: Callable[..., ResultFolder], plan_of: Callable[..., Any]) -> Callable[..., model.Report]:
    """Makes the report of schemes that lose so much: `report([0.0, 0.97])`."""

    def make(lost: Sequence[float], *, counts: bool = True) -> model.Report:
        schemes = SCHEMES[: len(lost)]
        found = model.load(filled(plan_of(schemes, 1, level="summary", seconds=3, reference=None)))
        rows = tuple(
            replace(group, runs=tuple(_losing(run, loss, counts=counts) for run in group.runs))
            for group, loss in zip(found.groups, lost, strict=True)
        )
        return replace(found, rows=rows)

    return make


def _losing(run: Run, loss: float, *, counts: bool) -> Run:
    total = run.summary.total
    assert total is not None
    pantheon = total.pantheon if counts else None
    return replace(run, summary=replace(run.summary, total=replace(total, loss=loss, pantheon=pantheon)))


def test_the_worst_come_first_and_only_those_that_lose_much(report: Callable[..., model.Report]) -> None:
    found = report([0.0999, 0.1, 0.97])
    told = "A tenth of the packets and more was lost by: LEDBAT (97 %); TCP Cubic (10 %)."
    assert (losses.sentence(found) or "").endswith(told)
    assert html.render(found, datetime(2026, 3, 4, tzinfo=UTC)).count(told) == 1


def test_runs_that_pantheon_would_not_count_are_told_too(report: Callable[..., model.Report]) -> None:
    assert "TCP Cubic (50 %)." in (losses.sentence(report([0.0, 0.5], counts=False)) or "")


def test_five_names_are_enough(report: Callable[..., model.Report]) -> None:
    told = losses.sentence(report([0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3])) or ""
    assert told.endswith("(50 %); 2 other schemes.")


def test_nothing_is_said_where_little_is_lost(report: Callable[..., model.Report]) -> None:
    found = report([0.0, 0.05])
    assert losses.sentence(found) is None
    assert "Losses do not show" not in html.render(found, datetime(2026, 3, 4, tzinfo=UTC))

"""That chance let one of several equal flows start first is said, once, and only where it did."""

from __future__ import annotations

import io
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
from rich.console import Console

from bakeoff.reports import html, model, starts, terminal

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bakeoff.recording import ResultFolder
    from bakeoff.reports.rows import Run

JITTER_NS = 100_000_000


@pytest.fixture
def report(filled: Callable[..., ResultFolder], plan_of: Callable[..., Any]) -> Callable[..., model.Report]:
    """Makes the report of flows that are alike: `report([[0.1, 0.3], [0.2, 0.5]])` with starts in s, a run each."""

    def make(
        begins: Sequence[Sequence[float]], schemes: tuple[str, ...] = ("cubic", "reno"), jitter_ns: int = JITTER_NS
    ) -> model.Report:
        plan = plan_of(schemes, len(begins), level="summary", seconds=3, flows=len(begins[0]), reference=None)
        for run in plan.runs:
            run.scenario["start_jitter_ns"] = jitter_ns
            for flow in run.scenario["flows"]:
                flow["start_ns"] = 0
        found = model.load(filled(plan))
        rows = tuple(
            replace(group, runs=tuple(_started(run, begins[run.summary.repeat - 1]) for run in group.runs))
            for group in found.groups
        )
        return replace(found, rows=rows)

    return make


def _started(run: Run, begins: Sequence[float]) -> Run:
    flows = tuple(replace(flow, start_s=start) for flow, start in zip(run.summary.flows, begins, strict=True))
    return replace(run, summary=replace(run.summary, flows=flows))


def test_a_flow_that_is_first_in_all_runs_is_named_once(report: Callable[..., model.Report]) -> None:
    found = report([[0.01, 0.03], [0.02, 0.05], [0.0, 0.09]])
    (sentence,) = starts.sentences(found)
    assert sentence.startswith(
        "Flows 1 and 2 are alike in the file, but start_jitter let flow 1 start first in all 3 runs: "
    )
    file = io.StringIO()
    terminal.show(found, Console(file=file, width=400))
    assert file.getvalue().count(sentence) == 1
    assert html.render(found, datetime(2026, 3, 4, tzinfo=UTC)).count(sentence) == 1


def test_of_three_flows_the_first_counts(report: Callable[..., model.Report]) -> None:
    (sentence,) = starts.sentences(report([[0.02, 0.01, 0.03], [0.05, 0.01, 0.02]]))
    assert "Flows 1, 2 and 3 are alike" in sentence
    assert "let flow 2 start first in both runs: what it has more or less than the others" in sentence


@pytest.mark.parametrize(
    ("begins", "jitter_ns"),
    [
        pytest.param([[0.01, 0.03], [0.06, 0.05]], JITTER_NS, id="another was first in one run"),
        pytest.param([[0.0, 0.0], [0.0, 0.0]], 0, id="no jitter"),
        pytest.param([[0.01], [0.02]], JITTER_NS, id="a flow alone"),
    ],
)
def test_nothing_is_said_where_it_does_not_hold(
    report: Callable[..., model.Report], begins: list[list[float]], jitter_ns: int
) -> None:
    assert starts.sentences(report(begins, jitter_ns=jitter_ns)) == []


def test_flows_that_differ_in_the_file_are_not_alike(report: Callable[..., model.Report]) -> None:
    found = report([[0.01, 0.03]], schemes=("cubic",))
    assert "in the only run" in starts.sentences(found)[0]
    found.runs[0].recording.scenario["flows"][1]["start_ns"] = 1
    assert starts.sentences(found) == []


def test_cells_are_named_where_they_differ(report: Callable[..., model.Report]) -> None:
    found = report([[0.01, 0.03], [0.02, 0.05]])
    first, second = found.groups
    other = replace(second, runs=tuple(_started(run, (0.03, 0.01)) for run in second.runs))
    told = starts.sentences(replace(found, rows=(first, other)))
    assert [sentence.partition(":")[0] for sentence in told] == ["TCP Cubic", "TCP Reno"]

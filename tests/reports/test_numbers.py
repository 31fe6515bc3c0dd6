"""Numbers in tables and figures are those that their headings name."""

from __future__ import annotations

import math
import statistics
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

from bakeoff.metrics import queueing
from bakeoff.metrics.statistics import Estimate, t95
from bakeoff.reports import looks, model, shares, words
from bakeoff.reports.html import encode, run_figures, tables

if TYPE_CHECKING:
    from collections.abc import Callable

    from bakeoff.metrics import TotalSummary
    from bakeoff.recording import ResultFolder

# Number of a run, factor and decimals behind the heading of a column.
COLUMNS = {
    "Throughput (Mbit/s)": ("throughput_mbps", 1, 2),
    "Goodput (Mbit/s)": ("goodput_mbps", 1, 2),
    "Utilisation, whole run (%)": ("utilisation", 100, 1),
    "Loss without tail (%)": ("loss", 100, 2),
    "Queueing delay, 95th-%ile (ms)": ("queue_p95_ms", 1, 1),
    "Jain's index": ("jain", 1, 3),
}


@pytest.fixture
def report(filled: Callable[..., ResultFolder], plan_of: Callable[..., Any]) -> model.Report:
    """Three runs of two schemes, whose totals have a number of their own in every place."""
    found = model.load(filled(plan_of(("cubic", "bbr"), 3, flows=2, seconds=4, level="series", reference=None)))
    rows = []
    for place, group in enumerate(found.groups):
        runs = (_numbered(run, 10 * place + run.summary.repeat**2) for run in group.runs)
        rows.append(replace(group, runs=tuple(runs)))
    return replace(found, rows=tuple(rows))


def _numbered(run: model.Run, number: int) -> model.Run:
    total = total_of(run)
    values: dict[str, Any] = {
        "throughput_mbps": number + 0.1,
        "goodput_mbps": number + 0.2,
        "owd_p95_ms": number + 0.3,
        "queue_p50_ms": number + 0.4,
        "queue_p95_ms": number + 0.5,
        "loss": (number + 1) / 1000,
        "packet_loss": (number + 2) / 1000,
        "jain": 1 / (number + 1),
        "utilisation": 1 / (number + 2),
    }
    flows = tuple(replace(flow, retransmits=number, ce_marks=7) for flow in run.summary.flows)
    return replace(run, summary=replace(run.summary, flows=flows, total=replace(total, **values)))


def total_of(run: model.Run) -> TotalSummary:
    total = run.summary.total
    assert total is not None
    return total


def test_a_mean_stands_beside_half_of_its_interval() -> None:
    assert words.plus_minus(Estimate(2.0, 1.0, 3.0, 5), words.number) == ("2.00", "\N{PLUS-MINUS SIGN} 1.00")


def test_columns_are_means_of_what_they_are_called(report: model.Report) -> None:
    found = tables.corrected(report)
    assert found.columns == [*COLUMNS, "Retransmissions"]
    for row, group in zip(found.rows, report.groups, strict=True):
        cells = dict(zip(found.columns, row.cells, strict=True))
        for title, (name, factor, digits) in COLUMNS.items():
            values = [factor * getattr(total_of(run), name) for run in group.runs]
            half = t95(2) * statistics.stdev(values) / math.sqrt(3)
            mean = f"{statistics.fmean(values):.{digits}f}"
            assert cells[title] == (mean, f"\N{PLUS-MINUS SIGN} {half:.{digits}f}"), title
        resent = [sum(flow.retransmits for flow in run.summary.flows) for run in group.runs]
        assert cells["Retransmissions"][0] == f"{statistics.fmean(resent):.0f}"


def test_differences_are_over_pairs_of_equal_seeds(report: model.Report) -> None:
    base, other = report.groups
    assert base.key == "cubic"
    # The seeds of the second scheme are not in the order of its repeats.
    turned = [replace(run, summary=replace(run.summary, seed=run.summary.seed % 3 + 1)) for run in other.runs]
    found = tables.differences(replace(report, rows=(base, replace(other, runs=tuple(turned)))))
    assert found is not None
    titles = ["Throughput (Mbit/s)", "Loss without tail (%)", "Queueing delay, 95th-%ile (ms)", "Jain's index"]
    assert found.columns == titles
    ((throughput, half), *_) = found.rows[0].cells
    theirs = {run.summary.seed: total_of(run).throughput_mbps for run in base.runs}
    values = [(total_of(run).throughput_mbps or 0) - (theirs[run.summary.seed] or 0) for run in turned]
    assert throughput == f"+{statistics.fmean(values):.2f}"
    assert half == f"\N{PLUS-MINUS SIGN} {t95(2) * statistics.stdev(values) / math.sqrt(3):.2f}"


def test_loss_is_counted_as_the_report_says(report: model.Report) -> None:
    group = report.groups[0]
    for counted, name in ((model.Loss.PACKETS, "packet_loss"), (model.Loss.BYTES, "loss")):
        losses = [getattr(total_of(run), name) for run in group.runs]
        assert replace(group, loss=counted).pantheon(None).loss == pytest.approx(statistics.fmean(losses))
    printed = [total.pantheon.loss for run in group.runs if (total := total_of(run)).pantheon]
    assert len(printed) == 3
    # Pantheon's means are of what it prints of each run.
    exact = replace(group, loss=model.Loss.PANTHEON).pantheon(None).loss
    assert exact == pytest.approx(statistics.fmean(round(100 * loss, 2) / 100 for loss in printed), abs=1e-12)
    assert exact != pytest.approx(statistics.fmean(printed), abs=1e-9)


def test_places_of_queues_are_counted_run_by_run(report: model.Report) -> None:
    places = iter(["forward.0", "forward.1", None, "forward.0", "forward.0", None])

    def placed(run: model.Run) -> model.Run:
        found = queueing.Queueing(
            direction="forward", meant=(), hop=next(places), queue_p95_ms=1, meant_p95_ms=1, warning=None
        )
        return replace(run, summary=replace(run.summary, queueing=(found,)))

    rows = tuple(replace(group, runs=tuple(placed(run) for run in group.runs)) for group in report.groups)
    assert model.queues(replace(report, rows=rows)) == {"forward.0": 3, "forward.1": 1, "no hop": 2}


def test_a_scheme_has_what_its_flows_have_together_and_the_delay_of_the_worst(
    filled: Callable[..., ResultFolder], plan_of: Callable[..., Any]
) -> None:
    plan = plan_of(("mixed",), 1, flows=3, seconds=4, level="series", reference=None)
    for flow, scheme in zip(plan.runs[0].scenario["flows"], ("cubic", "bbr", "bbr"), strict=True):
        flow["scheme"] = scheme
    found = model.load(filled(plan))
    (group,) = found.groups
    (run,) = group.runs
    numbers = ((1.0, 10.0), (2.0, 90.0), (4.0, 50.0))
    flows = tuple(
        replace(flow, throughput_mbps=rate, owd_p95_ms=delay, together_mbps=rate, delivered_bytes=100)
        for flow, (rate, delay) in zip(run.summary.flows, numbers, strict=True)
    )

    def shared(*flows: Any) -> shares.Shares:
        changed = replace(run, summary=replace(run.summary, flows=flows))
        return shares.of(replace(found, rows=(replace(group, runs=(changed,)),)))

    (cell,) = shared(*flows).cells
    assert [(part.throughput[0], part.delay[0]) for part in cell.parts] == [("1.00", "10"), ("6.00", "90")]
    assert [part.percent for part in cell.parts] == pytest.approx([100 / 7, 600 / 7])
    # One measure for all: what one flow lacks is asked of none.
    lacking = shared(*flows[:2], replace(flows[2], together_mbps=None))
    assert not lacking.are_together
    assert [part.percent for part in lacking.cells[0].parts] == pytest.approx([100 / 3, 200 / 3])


def _curves(figure: dict[str, Any], pack: encode.Pack) -> dict[str, list[float]]:
    """The values of each curve by the end of its label."""
    values = np.concatenate(pack._arrays)
    drawn = [{"label": "x", "y": figure["x"]}, *figure["series"]]
    return {entry["label"].rpartition(" ")[2]: values[entry["y"][0] : sum(entry["y"])].tolist() for entry in drawn}


def test_lines_of_delay_are_called_what_they_are(report: model.Report) -> None:
    flows = run_figures._Flows(report.runs[0].summary, [looks.NEUTRAL] * 2)
    rows = [(1, 0, 30_000_000, 50_000_000), (1, 500_000_000, 40_000_000, 60_000_000)]
    table = pl.DataFrame(rows, schema=["flow", "t_ns", "owd_mean_ns", "owd_max_ns"], orient="row")
    figure = run_figures._delay_lines(table, flows, pack := encode.Pack())
    assert figure is not None
    assert _curves(figure, pack) == {"x": [0, 0.5], "mean": [30, 40], "largest": [50, 60]}
    assert [entry["style"] for entry in figure["series"]] == ["solid", "dashed"]

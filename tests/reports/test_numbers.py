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
from bakeoff.reports import corrected, looks, model, shares, summary_columns, words
from bakeoff.reports.html import encode, run_figures, summary_figures, sweep_figures, tables, telemetry_figure
from bakeoff.reports.rows import Group, Loss, Run

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
        runs = (_numbered(run, 100 + 10 * place + run.summary.repeat**2) for run in group.runs)
        rows.append(replace(group, runs=tuple(runs)))
    return replace(found, rows=tuple(rows))


def _numbered(run: Run, number: int) -> Run:
    total = total_of(run)
    values: dict[str, Any] = {
        "throughput_mbps": number + 0.1,
        "goodput_mbps": number + 0.2,
        "owd_p95_ms": number + 0.3,
        "queue_p50_ms": number + 0.4,
        "queue_p95_ms": number + 0.5,
        "loss": (number + 1) / 1000,
        "packet_loss": (number + 2) / 1000,
        "jain": 1 - number / 1000,
        "utilisation": 1 / (number + 2),
    }
    flows = tuple(
        replace(flow, retransmits=number, ce_marks=7, pantheon=replace(flow.pantheon, owd_p95_ms=100.0 + flow.flow))
        for flow in run.summary.flows
        if flow.pantheon is not None
    )
    return replace(run, summary=replace(run.summary, flows=flows, total=replace(total, **values)))


def total_of(run: Run) -> TotalSummary:
    total = run.summary.total
    assert total is not None
    return total


def test_a_mean_stands_beside_half_of_its_interval() -> None:
    assert words.plus_minus(Estimate(2.0, 1.0, 3.0, 5), words.number) == ("2.00", "\N{PLUS-MINUS SIGN} 1.00")


def test_an_interval_beyond_what_can_be_is_told_by_its_ends() -> None:
    index, below = Estimate(0.8, -0.1, 1.7, 2), Estimate(2.0, -1.0, 5.0, 2)
    assert words.plus_minus(index, words.number, (0.5, 1)) == ("0.80", "(0.50 to 1.00)")
    assert words.plus_minus(below, words.number) == ("2.00", "(0.00 to 5.00)")
    assert words.plus_minus(below, words.number, (-math.inf, math.inf)) == ("2.00", "\N{PLUS-MINUS SIGN} 3.00")
    # Rounding may put a mean of ones a little above one.
    assert words.plus_minus(Estimate(1.1, 0.9, 1.3, 2), words.number, (0, 1)) == ("1.10", "(0.90 to 1.10)")


def test_jains_index_lies_between_its_least_for_so_many_flows_and_one(report: model.Report) -> None:
    column = next(column for column in corrected.CORRECTED if column.title == "Jain's index")
    group = report.groups[0]
    apart = [
        replace(run, summary=replace(run.summary, total=replace(total_of(run), jain=jain)))
        for run, jain in zip(group.runs, (0.6, 0.99), strict=False)
    ]
    # Of two flows.
    assert column.interval(replace(group, runs=tuple(apart))) == ("0.795", "(0.500 to 1.000)")


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
    for counted, name in ((Loss.PACKETS, "packet_loss"), (Loss.BYTES, "loss")):
        losses = [getattr(total_of(run), name) for run in group.runs]
        assert replace(group, loss=counted).pantheon(None).loss == pytest.approx(statistics.fmean(losses))
    printed = [total.pantheon.loss for run in group.runs if (total := total_of(run)).pantheon]
    assert len(printed) == 3
    # Pantheon's means are of what it prints of each run.
    exact = replace(group, loss=Loss.PANTHEON).pantheon(None).loss
    assert exact == pytest.approx(statistics.fmean(round(100 * loss, 2) / 100 for loss in printed), abs=1e-12)
    assert exact != pytest.approx(statistics.fmean(printed), abs=1e-9)


def test_places_of_queues_are_counted_run_by_run(report: model.Report) -> None:
    places = iter(["forward.0", "forward.1", None, "forward.0", "forward.0", None])

    def placed(run: Run) -> Run:
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
    numbers = ((0.0, 1.0, 10.0), (1.0, 2.0, 90.0), (3.0, 4.0, 50.0))
    # Each for a second.
    flows = tuple(
        replace(
            flow,
            start_s=start,
            throughput_mbps=rate,
            owd_p95_ms=delay,
            together_mbps=rate,
            delivered_bytes=round(125_000 * rate),
        )
        for flow, (start, rate, delay) in zip(run.summary.flows, numbers, strict=True)
    )

    def shared(*flows: Any) -> shares.Shares:
        changed = replace(run, summary=replace(run.summary, flows=flows))
        return shares.of(replace(found, rows=(replace(group, runs=(changed,)),)))

    (cell,) = shared(*flows).cells
    assert [(part.throughput[0], part.delay[0]) for part in cell.parts] == [("1.00", "10.0"), ("3.00", "90.0")]
    # Two seconds in which one of them sends or the other; one second in which both do; half a second of both.
    for start, rate in ((1.0, "6.00"), (1.5, "4.00")):
        (cell,) = shared(*flows[:2], replace(flows[2], start_s=start)).cells
        assert cell.parts[1].throughput[0] == rate
    starved = replace(flows[2], start_s=0.0, stop_s=4.0, throughput_mbps=0.0, delivered_bytes=0)
    (cell,) = shared(*flows[:2], starved).cells
    assert cell.parts[1].throughput[0] == "0.50"
    assert [part.percent for part in cell.parts] == pytest.approx([100 / 7, 600 / 7])
    # One measure for all: what one flow lacks is asked of none.
    lacking = shared(*flows[:2], replace(flows[2], together_mbps=None))
    assert not lacking.are_together
    assert [part.percent for part in lacking.cells[0].parts] == pytest.approx([100 / 7, 600 / 7])


def _curves(figure: dict[str, Any], pack: encode.Pack) -> dict[str, list[float]]:
    """The values of each curve by the end of its label."""
    values = np.concatenate(pack._arrays)
    drawn = [{"label": "x", "y": figure["x"]}, *figure["series"]]
    return {entry["label"].rpartition(" ")[2]: values[entry["y"][0] : sum(entry["y"])].tolist() for entry in drawn}


def test_points_are_of_throughput_over_delay(report: model.Report) -> None:
    means = [group.pantheon(None) for group in report.groups]
    found = [entry["points"] for entry in summary_figures.means(report)["series"]]
    assert [points[0][:2] for points in found] == [(mean.owd_p95_ms, mean.throughput_mbps) for mean in means]
    for entry, group in zip(summary_figures.all_runs(report)["series"], report.groups, strict=True):
        runs = [numbers for run in group.runs if (numbers := total_of(run).pantheon)]
        assert [point[:2] for point in entry["points"]] == [(run.owd_p95_ms, run.throughput_mbps) for run in runs]
        assert [point[2] for point in entry["points"]] == [f"{group.label}, run {repeat}" for repeat in (1, 2, 3)]


def test_a_line_of_a_sweep_is_of_all_flows_of_a_scheme(report: model.Report) -> None:
    group = report.groups[0]
    of_flows = [group.numbers(number) for number in (1, 2)]
    # One of them lasts for the whole run.
    rates = [sum(flow.delivered_bytes for flow in run.flows) * 8e-6 / run.duration_s for run in group.valid]
    delays = [max(numbers.owd_p95_ms or 0 for numbers in run) for run in zip(*of_flows, strict=True)]
    assert min(of_flows[0][0].owd_p95_ms or 0, of_flows[1][0].owd_p95_ms or 0) < delays[0]
    throughput, delay, loss = summary_columns.METRICS
    assert sweep_figures._of_scheme(group, throughput, "cubic") == pytest.approx(rates)
    assert sweep_figures._of_scheme(group, delay, "cubic") == delays
    assert sweep_figures._of_scheme(group, loss, "cubic") == []


def test_a_state_holds_from_its_sample_on() -> None:
    held = telemetry_figure.held(np.array([20, 40]), np.array([2.0, 4.0]), np.array([10, 20, 30, 40, 50]))
    np.testing.assert_array_equal(held, [np.nan, 2, 2, 4, np.nan])


def test_dots_of_delay_stand_over_the_time_from_the_first_packet(report: model.Report) -> None:
    flows = run_figures._Flows(report.runs[0].summary, [looks.NEUTRAL] * 2)
    rows = [(1, 2_000_000_000, 2_030_000_000), (2, 2_500_000_000, 3_000_000_000), (2, 2_600_000_000, None)]
    packets = pl.DataFrame(rows, schema=["flow", "sent_ns", "received_ns"], orient="row")
    figure = run_figures._delay_dots(packets, 2_000_000_000, flows, pack := encode.Pack(), 100)
    assert figure is not None
    values = np.concatenate(pack._arrays)
    times, first, second = (
        values[start : start + count] for start, count in (figure["x"], *(entry["y"] for entry in figure["series"]))
    )
    np.testing.assert_allclose(times, [0.03, 1.0], rtol=1e-6)
    np.testing.assert_array_equal(first, [30, np.nan])
    np.testing.assert_array_equal(second, [np.nan, 500])


def test_lines_of_delay_are_called_what_they_are(report: model.Report) -> None:
    flows = run_figures._Flows(report.runs[0].summary, [looks.NEUTRAL] * 2)
    rows = [(1, 0, 30_000_000, 50_000_000, 1), (1, 500_000_000, 40_000_000, 60_000_000, 1)]
    schema = ["flow", "t_ns", "owd_mean_ns", "owd_max_ns", "received_packets"]
    table = pl.DataFrame(rows, schema=schema, orient="row")
    figure = run_figures._delay_lines(table, flows, pack := encode.Pack())
    assert figure is not None
    assert _curves(figure, pack) == {"x": [0, 0.5], "mean": [30, 40], "largest": [50, 60]}
    assert [entry["style"] for entry in figure["series"]] == ["solid", "dashed"]


def test_indices_of_two_flows_differ_by_no_more_than_a_half(report: model.Report) -> None:
    def with_jain(group: Group, values: tuple[float, float]) -> Group:
        runs = [
            replace(run, summary=replace(run.summary, total=replace(total_of(run), jain=jain)))
            for run, jain in zip(group.runs, values, strict=False)
        ]
        return replace(group, runs=tuple(runs))

    first, second = report.groups
    rows = (with_jain(first, (0.6, 0.99)), with_jain(second, (0.9, 0.6)))
    found = tables.differences(replace(report, rows=rows))
    assert found is not None
    cells = dict(zip(found.columns, found.rows[0].cells, strict=True))
    assert cells["Jain's index"] == ("-0.045", "(-0.500 to 0.500)")

"""Tables in the terminal, from wide to very narrow."""

from __future__ import annotations

import io
import statistics
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from rich.console import Console
from tests.conftest import SECOND, simulate

from bakeoff.recording import ResultFolder
from bakeoff.references.model import Published
from bakeoff.reports import model, shares, summary_columns, terminal
from bakeoff.reports.rows import Absent, Group, Loss

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def printed(report: model.Report, width: int, **console: Any) -> str:
    file = io.StringIO()
    terminal.show(report, Console(file=file, width=width, highlight=False, **console))
    return file.getvalue()


@pytest.mark.parametrize("width", [200, 100, 70, 40])
def test_no_number_is_cut(india: ResultFolder, width: int) -> None:
    report = model.load(india)
    text = printed(report, width)
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= width
    for row in report.groups:
        for flow in (1, 2, 3):
            numbers = row.pantheon(flow)
            assert f"{numbers.throughput_mbps:.2f}" in text
            assert f"{numbers.owd_p95_ms:.2f}" in text
    assert "\N{MULTIPLICATION SIGN}1." in text


@pytest.mark.parametrize("width", [200, 100, 40])
def test_published_rows_without_runs_are_counted_in_one_line(india: ResultFolder, width: int) -> None:
    report = model.load(india)
    absent = [row for row in report.rows if isinstance(row, Absent)]
    later = sum(row.reason == "not implemented yet" for row in absent)
    text = printed(report, width)
    line = (
        f"{len(absent)} published rows are not shown ({later} not implemented yet, {len(absent) - later} not in this "
        "run); the HTML report has all of them."
    )
    assert 0 < later < len(absent)
    assert line in " ".join(text.split())
    assert not any(row.name in text for row in absent)


def test_the_report_has_published_rows_without_runs_below_ours(india: ResultFolder) -> None:
    kinds = [type(row) for row in model.load(india).rows]
    ours = kinds.count(Group)
    assert kinds == [Group] * ours + [Absent] * (len(kinds) - ours)
    assert Absent in kinds


def test_wide_is_one_table(india: ResultFolder) -> None:
    line = next(line for line in printed(model.load(india), 200).splitlines() if line.startswith("TCP Cubic"))
    assert len(line.split()) == 2 + 1 + 9


def test_the_table_says_by_whose_definitions(india: ResultFolder) -> None:
    report = model.load(india)
    # Its flows start one after the other.
    first = (
        "By Pantheon's definitions, loss with what was in flight at the end; throughput of each flow over its own time."
    )
    for width in (200, 72):
        text = " ".join(printed(report, width).split())
        assert f"{first} `bakeoff list metrics` has these and others." in text


def test_of_flows_that_run_together_and_of_their_total_nothing_is_said_of_times(
    filled: Callable[..., ResultFolder], plan_of: Callable[..., Any]
) -> None:
    plan = plan_of(("cubic",), 1, level="summary", flows=2)
    for run in plan.runs:
        run.scenario["flows"] = [flow | {"start_ns": 0} for flow in run.scenario["flows"]]
    report = model.load(filled(plan))
    assert "its own time" not in printed(report, 200)


def test_of_all_flows_together_nothing_is_said_of_times(india: ResultFolder) -> None:
    report = model.load(india)
    assert "its own time" in report.definitions(of_flows=True)
    assert "its own time" not in report.definitions(of_flows=False)


def test_without_a_published_table_loss_is_what_was_lost(
    filled: Callable[..., ResultFolder], plan_of: Callable[..., Any], india: ResultFolder
) -> None:
    report = model.load(filled(plan_of(("cubic",), 3, level="summary", reference=None)))
    (own,) = report.groups
    beside = next(group for group in model.load(india).groups if group.key == "cubic")
    text = printed(report, 200)
    for flow in (1, 2, 3):
        ours, theirs = own.pantheon(flow).loss, beside.pantheon(flow).loss
        assert ours is not None
        assert theirs is not None
        assert ours == statistics.fmean(run.flows[flow - 1].loss or 0.0 for run in own.valid)
        assert ours < theirs
        assert f" {100 * ours:.2f}" in text
    assert own.pantheon(None).loss == statistics.fmean((run.total and run.total.loss) or 0.0 for run in own.valid)
    assert "By Pantheon's definitions, but loss without what was in flight at the end; throughput of each flow" in text


def test_plain_text_without_a_terminal(india: ResultFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    report = model.load(india)
    assert "\x1b" not in printed(report, 120)
    monkeypatch.setenv("NO_COLOR", "1")
    colours = ("\x1b[3", "\x1b[9", "\x1b[4")
    assert not any(code in printed(report, 120, force_terminal=True) for code in colours[1:])


def test_many_flows_are_shown_together(filled: Callable[..., ResultFolder], plan_of: Callable[..., Any]) -> None:
    text = printed(model.load(filled(plan_of(("cubic",), 1, flows=8, level="summary"))), 120)
    assert "all flows" in text
    assert "flow 1" not in text


def _mixed(filled: Callable[..., ResultFolder], plan_of: Callable[..., Any], *schemes: str) -> model.Report:
    plan = plan_of(("cubic",), 2, level="summary", flows=len(schemes))
    for run in plan.runs:
        for flow, scheme in zip(run.scenario["flows"], schemes, strict=True):
            flow |= {"scheme": scheme, "start_ns": 0}
    runs = tuple(replace(run, cell={}) for run in plan.runs)
    return model.load(filled(replace(plan, runs=runs)))


@pytest.mark.parametrize("width", [200, 80, 40])
def test_who_gets_what_where_schemes_meet(
    filled: Callable[..., ResultFolder], plan_of: Callable[..., Any], width: int
) -> None:
    report = _mixed(filled, plan_of, "cubic", "bbr", "reno", "vegas", "vegas")
    text = printed(report, width)
    assert "…" not in text
    (cell,) = shares.of(report).cells
    found = text[text.index("Who gets what") :].replace(",", "").split()
    for part, name in zip(cell.parts, ("Cubic", "BBR", "Reno", "Vegas"), strict=True):
        after = found[found.index(name) :][:12]
        assert {f"{part.percent:.0f}", part.throughput[0], part.delay[0]} <= set(after)
    assert found[found.index("Vegas") - 2] == "2"
    assert cell.jain[0] in text


def test_no_shares_where_all_flows_have_one_scheme(india: ResultFolder) -> None:
    assert "Who gets what" not in printed(model.load(india), 200)


def test_columns_of_flows_that_meet_name_their_schemes(
    filled: Callable[..., ResultFolder], plan_of: Callable[..., Any], india: ResultFolder
) -> None:
    report = _mixed(filled, plan_of, "cubic", "bbr")
    assert [heading for heading, _ in summary_columns.of(report)] == ["flow 1\nTCP Cubic", "flow 2\nTCP BBR"]
    assert "flow 2 TCP BBR:" in printed(report, 40)
    assert [heading for heading, _ in summary_columns.of(model.load(india))] == ["flow 1", "flow 2", "flow 3"]


def test_claims_and_failures(tmp_path: Any, filled: Callable[..., ResultFolder], plan_of: Callable[..., Any]) -> None:
    claims: list[dict[str, Any]] = [
        {
            "id": "full",
            "says": "the link is used",
            "source": None,
            "where": {},
            "measure": "total.utilisation",
            "expect": ">= 1%",
        }
    ]
    folder = filled(plan_of(("cubic",), 2, level="summary", claims=claims))
    text = printed(model.load(folder), 120)
    assert "full: the link is used" in text
    assert "holds" in text


def test_rounding_is_that_of_pantheon(india: ResultFolder) -> None:
    group = next(group for group in model.load(india).groups if group.key == "cubic")
    printed_runs = [
        float(f"{run.flows[0].pantheon.throughput_mbps:.2f}") for run in group.valid if run.flows[0].pantheon
    ]
    mean = group.pantheon(1).throughput_mbps
    assert mean == pytest.approx(sum(printed_runs) / 3)


def test_all_rows_of_a_report_count_losses_alike(
    filled: Callable[..., ResultFolder], plan_of: Callable[..., Any]
) -> None:
    plan = plan_of(("quic_bbr",), 1, level="summary", reference="bbr-loss/clean")
    cells = [{"sender": sender, "case": "1"} for sender in ("BBR(false)", "BBR(false), gain 2.885")]
    runs = tuple(replace(plan.runs[0], id=f"run{place}", cell=cell) for place, cell in enumerate(cells))
    report = model.load(filled(replace(plan, runs=runs)))
    with_published, without = report.groups
    assert with_published.published is not None
    assert without.published is None
    assert report.loss is Loss.PACKETS
    assert "By Pantheon's definitions, but loss as published: of packets," in printed(report, 200)
    for group in report.groups:
        total = group.runs[0].summary.total
        assert total is not None
        assert group.pantheon(None).loss == total.packet_loss


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        ("pantheon/india-ppp0", Loss.PANTHEON),
        ("pantheon/london-sydney", Loss.PANTHEON),
        ("bbr-loss/as-published", Loss.PACKETS),
        ("l4s-tests/s6", Loss.BYTES),
        (None, Loss.BYTES),
    ],
)
def test_a_published_table_without_losses_leaves_ours_as_it_is(
    filled: Callable[..., ResultFolder], plan_of: Callable[..., Any], reference: str | None, expected: Loss
) -> None:
    report = model.load(filled(plan_of(("cubic",), 1, level="summary", seconds=3, reference=reference)))
    assert report.loss is expected
    assert [group.loss for group in report.groups] == [expected]


def test_a_rate_stands_beside_a_published_one_of_the_same_time(
    filled: Callable[..., ResultFolder], plan_of: Callable[..., Any]
) -> None:
    def report_of(seconds: int, level: str) -> model.Report:
        plan = plan_of(("cubic",), 1, level=level, flows=2, seconds=seconds, reference="l4s-tests/s6")
        plan.runs[0].scenario["flows"][1]["scheme"] = "reno"
        cell = {"queue": "pie", "pair": "prague, reno-ecn"}
        runs = tuple(replace(run, id=f"{level}{seconds}", cell=cell) for run in plan.runs)
        return model.load(filled(replace(plan, runs=runs)))

    report = report_of(60, "series")
    series = report.runs[0].recording.table("series")
    within = series.filter(series["t_ns"].is_between(18 * SECOND, 58 * SECOND, closed="left"))
    rates = [8 * int(within.filter(within["flow"] == flow)["goodput_bytes"].sum()) / 40e6 for flow in (1, 2)]
    (group,) = report.groups
    assert [group.pantheon(flow).throughput_mbps for flow in (1, 2)] == pytest.approx(rates)
    text = " ".join(printed(report, 200).split())
    assert f"{rates[0]:.2f}" in text
    assert "of payload, over the 40 s that end 2 s before the end." in text
    total = report.runs[0].summary.total
    assert total is not None
    assert total.pantheon is not None
    assert group.pantheon(None).throughput_mbps == pytest.approx(total.pantheon.throughput_mbps, abs=0.005)


@pytest.mark.parametrize(("seconds", "level"), [(41, "series"), (60, "summary")])
def test_a_run_without_the_time_of_a_published_rate_has_none_beside_it(
    filled: Callable[..., ResultFolder], plan_of: Callable[..., Any], seconds: int, level: str
) -> None:
    plan = plan_of(("cubic",), 1, level=level, flows=2, seconds=seconds, reference="l4s-tests/s6")
    (group,) = model.load(filled(plan)).groups
    assert group.pantheon(1).throughput_mbps is None
    assert group.pantheon(1).owd_p95_ms is not None


def test_a_number_that_a_published_row_lacks_is_not_shown_beside_ours() -> None:
    def shown(*numbers: float | None) -> list[bool]:
        return [summary_columns.has_published(metric, Published(*numbers)) for metric in summary_columns.METRICS]

    assert shown(1.0, None, 0.1) == [True, False, True]
    assert shown(None, None, None) == [True, True, True], "a row that has none at all says so"
    assert not summary_columns.has_published(summary_columns.METRICS[0], None)


def test_a_published_table_fits_into_eighty_columns(india: ResultFolder) -> None:
    lines = printed(model.load(india), 80).splitlines()
    row = next(line for line in lines if line.startswith("TCP Cubic"))
    assert len(row.split()) == 2 + 1 + 3, "one table a metric"
    assert lines[lines.index(row) + 1].count("\N{MULTIPLICATION SIGN}") == 3


def test_claims_are_lines_where_a_table_would_be_broken(
    filled: Callable[..., ResultFolder], plan_of: Callable[..., Any]
) -> None:
    claim: dict[str, Any] = {
        "id": "a-name-that-is-rather-long",
        "says": "the flow carries what the link of this path can carry, and not less than that",
        "source": None,
        "where": {},
        "measure": "total.throughput_mbps",
        "expect": ">= 1",
    }
    report = model.load(filled(plan_of(("cubic",), 2, level="summary", claims=[claim])))
    text = printed(report, 80)
    assert "…" not in text
    assert "holds  a-name-that-is-rather-long: the flow carries" in text
    assert "expected \N{GREATER-THAN OR EQUAL TO} 1 Mbit/s" in text


def test_a_run_that_is_still_to_come_leaves_a_claim_open(tmp_path: Path, plan_of: Callable[..., Any]) -> None:
    claim = {"id": "a", "says": "b", "measure": "total.loss", "expect": "< 1"}
    plan = plan_of(("cubic",), 3, level="summary", claims=[claim], seconds=3)
    folder = ResultFolder.create(tmp_path / "r", plan)
    for run in plan.runs[:2]:
        folder.write_run(run, simulate(run.scenario, run.seed))
    (result,) = model.load(folder).claims
    assert (result.verdict, result.reason) == ("undecided", "runs that failed, are still to come or lack the value: 1")
    folder.write_run(plan.runs[2], simulate(plan.runs[2].scenario, 3))
    (result,) = model.load(folder).claims
    assert result.verdict == "holds"


@pytest.mark.parametrize("width", [200, 120, 80, 40])
def test_numbers_of_runs_that_pantheon_would_not_count_are_whole(
    tmp_path: Path, plan_of: Callable[..., Any], width: int
) -> None:
    plan = plan_of(("cubic", "vegas"), 2, level="summary")
    folder = ResultFolder.create(tmp_path / "short", plan)
    for run in plan.runs:
        tables = simulate(run.scenario, run.seed)
        early = pl.col("first_received_ns") + SECOND
        folder.write_run(run, tables | {"flows": tables["flows"].with_columns(early.alias("last_received_ns"))})
    report = model.load(folder)
    text = printed(report, width)
    assert max(map(len, text.splitlines())) <= width
    assert "\N{HORIZONTAL ELLIPSIS}" not in text
    told = " ".join(text.split())
    for heading in ("Throughput (Mbit/s)", "Loss without tail (%)", "Retransmissions"):
        assert heading in told
    for group in report.groups:
        found = group.over_runs(lambda run: run.total.throughput_mbps if run.total else None)
        assert found is not None
        assert f"{found.mean:.2f}" in told


@pytest.mark.parametrize("width", [200, 40])
def test_brackets_in_the_name_of_a_cell_are_shown(
    filled: Callable[..., ResultFolder], plan_of: Callable[..., Any], width: int
) -> None:
    plan = plan_of(("cubic",), 1, level="summary", seconds=3, reference=None)
    name = "[red]a & <b>[/x]"
    report = model.load(filled(replace(plan, runs=tuple(replace(run, cell={"case": name}) for run in plan.runs))))
    assert name in printed(report, width)

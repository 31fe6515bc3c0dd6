"""The figure of a matrix of two axes: every number is in its row, beside the published one, on one scale."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from bakeoff.references import Published
from bakeoff.reports import cell_looks, html, looks, model, ticks
from bakeoff.reports.html import axis_figures, summary_figures, tables
from bakeoff.reports.rows import Group

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bakeoff.recording import ResultFolder
    from bakeoff.reports.model import Report

CASES = ("1", "2", "3")


@pytest.fixture
def report(filled: Callable[..., ResultFolder], plan_of: Callable[..., Any]) -> Callable[..., Report]:
    """Makes the report of a matrix: `report(("CUBIC", "other"), ("1", "2"), repeats=2)`."""

    def make(senders: Sequence[str], cases: Sequence[str], repeats: int = 2) -> Report:
        plan = plan_of(("quic_cubic",), repeats, level="summary", seconds=3, reference="bbr-loss/clean")
        runs = tuple(
            replace(run, id=f"{sender}_{case}_run{run.repeat}", cell={"sender": sender, "case": case})
            for sender in senders
            for case in cases
            for run in plan.runs
        )
        return model.load(filled(replace(plan, runs=runs)))

    return make


def test_a_row_a_case_and_a_marker_a_sender(report: Callable[..., Report]) -> None:
    found = axis_figures.figure(report(("CUBIC", "other"), CASES))
    assert found is not None
    assert (found.axis, [name for name, _ in found.series]) == ("case", ["CUBIC", "other"])
    assert [name for _, name in found.rows] == ["case 1", "case 2", "case 3"]
    assert [panel.title for panel in found.panels] == ["throughput (Mbit/s)", "95th-%ile delay (ms)", "loss (%)"]
    for panel in found.panels:
        ours = [mark for mark in panel.marks if not mark.hollow]
        assert [mark.series for mark in ours] == [0, 0, 0, 1, 1, 1]
        for mark in ours:
            assert mark.low is not None
            assert mark.high is not None
            assert found.left <= mark.low <= mark.x <= mark.high <= axis_figures.WIDTH
        # Both markers of a case are nearer to its row than to any other.
        nearest = [min(range(3), key=lambda row: abs(found.rows[row][0] - mark.y)) for mark in ours]
        assert nearest == [0, 1, 2, 0, 1, 2]


def test_published_numbers_stand_on_the_same_scale(report: Callable[..., Report]) -> None:
    matrix = report(("CUBIC", "other"), CASES)
    found = axis_figures.figure(matrix)
    assert found is not None
    assert found.has_published
    *others, loss = found.panels
    assert not any(mark.hollow for panel in others for mark in panel.marks)
    (zero, _), (end, label) = loss.ticks[0], loss.ticks[-1]
    read = [(mark.x - zero) / (end - zero) * float(label) for mark in loss.marks]
    means = [100 * (group.pantheon(None).loss or 0.0) for group in matrix.groups]
    assert [number for number, mark in zip(read, loss.marks, strict=True) if not mark.hollow] == pytest.approx(means)
    assert [number for number, mark in zip(read, loss.marks, strict=True) if mark.hollow] == pytest.approx(
        [0.77, 0.99, 1.06]
    )
    assert "0.77, loss (%), published" in [mark.name.partition(": ")[2] for mark in loss.marks]


def test_numbers_that_are_alike_stand_close_together(report: Callable[..., Report]) -> None:
    assert ticks.widened(19.6, 19.8) == pytest.approx((17.73, 21.67))
    assert ticks.widened(10.0, 20.0) == (10.0, 20.0)
    found = axis_figures.figure(report(("CUBIC", "other"), CASES, 1))
    assert found is not None
    # All cells of this matrix have the same runs.
    throughput, delay, _ = found.panels
    for panel in (throughput, delay):
        first, last = (float(label) for _, label in (panel.ticks[0], panel.ticks[-1]))
        assert last - first > 0.1 * last


def test_intervals_end_where_numbers_do(report: Callable[..., Report], monkeypatch: pytest.MonkeyPatch) -> None:
    runs = [Published(0.1, 20.0, 0.2), Published(4.0, 20.0, 1.0), Published(5.0, 20.0, 1.0)]
    monkeypatch.setattr(Group, "numbers", lambda *_: runs)
    matrix = report(("CUBIC", "other"), CASES)
    found = axis_figures.figure(matrix)
    assert found is not None
    for panel in (found.panels[0], found.panels[2]):
        (zero, first), (end, last) = panel.ticks[0], panel.ticks[-1]
        assert first == "0"
        unit = (end - zero) / float(last)
        for mark in (mark for mark in panel.marks if not mark.hollow):
            assert mark.low == pytest.approx(zero)
            assert mark.high is not None
            if panel is found.panels[2]:
                assert mark.high == pytest.approx(zero + 100 * unit)
                assert last == "100"
            else:
                assert mark.high > zero + 5 * unit


def test_a_colour_a_sender_and_a_marker_a_case_in_all_figures(report: Callable[..., Report]) -> None:
    senders, cases = ("CUBIC", "other"), tuple("123456789")
    matrix = report(senders, cases, 1)
    found = axis_figures.figure(matrix)
    assert found is not None
    colours = {name: look.light for name, look in found.series}
    assert len(set(colours.values())) == 2
    of_groups = {(group.cell["sender"], group.cell["case"]): group.look for group in matrix.groups}
    assert {(sender, look.light) for (sender, _), look in of_groups.items()} == set(colours.items())
    assert len({(case, look.marker) for (_, case), look in of_groups.items()}) == 9
    assert len({(look.light, look.marker) for look in of_groups.values()}) == 18


def test_the_legend_of_a_matrix_has_its_colours_and_its_markers(report: Callable[..., Report]) -> None:
    means = summary_figures.means(report(("CUBIC", "other"), tuple("123456789"), 1))
    names = [[entry["name"] for entry in entries] for entries in means["legend"]]
    assert names == [["CUBIC", "other"], [f"case {case}" for case in "123456789"]]
    (compared, rest) = ({entry["part"]: entry for entry in entries} for entries in means["legend"])
    for series in means["series"]:
        colour, marker = series["parts"]
        assert series["light"] == compared[colour]["light"]
        assert series["marker"] == rest[marker]["marker"]
        assert series["name"] == f"{rest[marker]['name']}, {compared[colour]['name']}"
    assert not means["has_names"], "colour and marker say it"


def test_values_that_are_compared_have_different_markers() -> None:
    schemes = ["quinn:cubic", "cubic", "quinn:newreno", "reno", "quinn:bbr", "bbr"]
    found = cell_looks.of_values("scheme", schemes)
    assert list(found) == schemes
    assert len({look.marker for look in found.values()}) == 6
    assert (found["bbr"], found["reno"]) == (looks.SCHEMES["bbr"], looks.SCHEMES["reno"])
    assert len(cell_looks.of_values("rate", [f"{rate}M" for rate in range(30)])) == 30


def test_a_third_axis_is_not_in_the_looks() -> None:
    cells = [{"sender": s, "case": c, "rate": r} for s in "ab" for c in "123" for r in ("2M", "4M", "6M", "8M")]
    found = cell_looks.of_cells(cells)
    assert found is not None
    assert found.axes == ("sender", "case", "rate")
    assert len({found.of(cell) for cell in cells}) == 6


def _of_three_axes(
    filled: Callable[..., ResultFolder], plan_of: Callable[..., Any], rates: Sequence[str]
) -> model.Report:
    plan = plan_of(("cubic",), 1, level="summary", seconds=3, reference=None)
    cells = [{"sender": s, "case": c, "rate": r} for s in "ab" for c in "123" for r in rates]
    runs = tuple(replace(plan.runs[0], id=f"run{place}", cell=cell) for place, cell in enumerate(cells))
    return model.load(filled(replace(plan, runs=runs)))


def test_a_third_axis_is_a_panel_a_value(filled: Callable[..., ResultFolder], plan_of: Callable[..., Any]) -> None:
    report = _of_three_axes(filled, plan_of, ("2M", "4M", "6M", "8M"))
    means = summary_figures.means(report)
    names = [[entry["name"] for entry in entries] for entries in means["legend"]]
    assert names == [["a", "b"], ["case 1", "case 2", "case 3"]], "no entry without a symbol"
    panels = summary_figures.panels(means, report.cell_looks)
    assert [name for name, _ in panels] == ["rate 2M", "rate 4M", "rate 6M", "rate 8M"]
    for name, panel in panels:
        assert {series["values"][2] for series in panel["series"]} == {name}
        assert len({(series["light"], series["marker"]) for series in panel["series"]}) == 6
        assert (panel["delays"], panel["rates"]) == (means["delays"], means["rates"]), "one scale"
    text = html.render(report, datetime(2026, 3, 4, tzinfo=UTC))
    assert text.count("<h4>rate 4M</h4>") == 1
    assert 'id="figure-means-4"' in text


def test_too_many_panels_are_one_figure(filled: Callable[..., ResultFolder], plan_of: Callable[..., Any]) -> None:
    report = _of_three_axes(filled, plan_of, [f"{rate}M" for rate in range(10)])
    means = summary_figures.means(report)
    assert summary_figures.panels(means, report.cell_looks) == [("", means)]


def test_two_axes_need_no_panels(report: Callable[..., Report]) -> None:
    matrix = report(("CUBIC", "other"), CASES, 1)
    means = summary_figures.means(matrix)
    assert summary_figures.panels(means, matrix.cell_looks) == [("", means)]


def test_what_the_looks_cannot_tell_apart_is_named_one_by_one(report: Callable[..., Report]) -> None:
    matrix = report(tuple("abcdefg"), tuple("1234567"), 1)
    assert matrix.cell_looks is None
    means = summary_figures.means(matrix)
    (names,) = means["legend"]
    assert (len(names), means["has_names"]) == (49, False), "so many names are in each other's way"


@pytest.mark.parametrize(
    ("senders", "cases"),
    [
        pytest.param(("CUBIC",), CASES, id="one axis"),
        pytest.param(("CUBIC", "other"), CASES[:2], id="hardly any rows"),
        pytest.param(tuple("abcdefgh"), tuple("123456789"), id="too many markers"),
        pytest.param(("CUBIC", "other"), ("a-name-that-leaves-no-room", *CASES), id="long names"),
    ],
)
def test_what_is_no_figure(report: Callable[..., Report], senders: Sequence[str], cases: Sequence[str]) -> None:
    assert axis_figures.figure(report(senders, cases, 1)) is None


def test_a_single_run_has_no_interval_and_the_page_says_so(report: Callable[..., Report]) -> None:
    matrix = report(("CUBIC", "other"), CASES, 1)
    found = axis_figures.figure(matrix)
    assert found is not None
    assert all(mark.low is None for panel in found.panels for mark in panel.marks)
    text = html.render(matrix, datetime(2026, 3, 4, tzinfo=UTC))
    assert "<h3>By case</h3>" in text
    assert "one run each; hollow markers are published" in text
    assert 'class="interval"' not in text


def test_differences_are_those_of_cells_over_one_path(report: Callable[..., Report]) -> None:
    matrix = report(("CUBIC", "other"), CASES)
    found = tables.differences(matrix)
    assert found is not None
    assert (found.baseline, found.has_others) == ("CUBIC", True)
    assert [row.name for row in found.rows] == ["case 1, other", "case 2, other", "case 3, other"]
    # Both senders have the same runs here.
    assert {row.cells[0] for row in found.rows} == {("+0.00", "± 0.00")}
    text = html.render(matrix, datetime(2026, 3, 4, tzinfo=UTC))
    assert " minus CUBIC, all else equal, over pairs of runs with equal seeds" in text


def test_a_cell_without_one_to_compare_it_with_has_no_difference(report: Callable[..., Report]) -> None:
    matrix = report(("CUBIC", "other"), CASES)
    lonely = replace(matrix, rows=tuple(row for row in matrix.rows if getattr(row, "label", "") != "case 2, CUBIC"))
    found = tables.differences(lonely)
    assert found is not None
    assert [row.name for row in found.rows] == ["case 1, other", "case 3, other"]

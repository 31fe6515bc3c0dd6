"""The figure over an axis of quantities: every mean at its place, a line a scheme, and one scale for all panels."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
from tests.conftest import SECOND

from bakeoff.references import Published
from bakeoff.reports import html, looks, model, shares, ticks
from bakeoff.reports.html import sweep_figures
from bakeoff.reports.rows import Group

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bakeoff.recording import ResultFolder
    from bakeoff.reports.model import Report

RTTS = ("10ms", "40ms", "160ms")
GENERATED = datetime(2026, 3, 4, tzinfo=UTC)


@pytest.fixture
def report(filled: Callable[..., ResultFolder], plan_of: Callable[..., Any]) -> Callable[..., Report]:
    """Makes the report of a matrix: `report(scheme=("cubic", "bbr"), rtt=RTTS)`; the rtt is the path's."""

    def make(repeats: int = 2, reference: str | None = None, **axes: Sequence[str]) -> Report:
        schemes = axes.get("scheme", ("cubic",))
        plan = plan_of(schemes, repeats, level="summary", seconds=3, flows=1, reference=reference)
        runs = []
        for place, values in enumerate(itertools.product(*axes.values())):
            cell = dict(zip(axes, values, strict=True))
            own = [run for run in plan.runs if run.cell["scheme"] == cell.get("scheme", "cubic")]
            # Cells of another queue lose more.
            hop = own[0].scenario["forward"][0] | ({"loss": 0.05} if cell.get("queue") == "pie" else {})
            runs += [
                replace(
                    run,
                    id=f"cell{place}_run{run.repeat}",
                    cell=cell,
                    scenario=run.scenario | {"forward": [hop]},
                )
                for run in own
            ]
        return model.load(filled(replace(plan, runs=tuple(runs))))

    return make


def test_a_line_a_scheme_over_the_axis(report: Callable[..., Report]) -> None:
    matrix = report(scheme=("cubic", "bbr"), rtt=RTTS)
    found = sweep_figures.figure(matrix)
    assert found is not None
    assert (found.axis, [label for _, label in found.ticks]) == ("rtt", list(RTTS))
    assert found.series == [("TCP Cubic", looks.SCHEMES["cubic"]), ("TCP BBR", looks.SCHEMES["bbr"])]
    ((heading, (throughput, delay, _)),) = found.rows
    assert heading == ""
    assert [look for look, _ in throughput.lines] == [looks.SCHEMES["cubic"], looks.SCHEMES["bbr"]]
    for _, dots in (*throughput.lines, *delay.lines):
        assert [dot.x for dot in dots] == [x for x, _ in found.ticks]
        assert all(dot.low is not None and dot.high is not None and dot.high <= dot.y <= dot.low for dot in dots)
    # A logarithmic axis, on which equal factors are equal ways.
    first, second, third = (x for x, _ in found.ticks)
    assert second - first == pytest.approx(third - second)


@pytest.mark.parametrize(("rtts", "times"), [(RTTS, 1), (("10ms", "20ms", "30ms"), 0)])
@pytest.mark.parametrize("apart", [1.0, math.inf])
def test_logarithmic_axes_are_said_to_be(
    report: Callable[..., Report], monkeypatch: pytest.MonkeyPatch, rtts: Sequence[str], times: int, apart: float
) -> None:
    matrix = report(scheme=("cubic", "bbr"), rtt=rtts)
    assert html.render(matrix, GENERATED).count("The horizontal axis is logarithmic.") == times
    # All axes, or none.
    monkeypatch.setattr(sweep_figures, "_DECADES_APART", apart)
    text = html.render(matrix, GENERATED)
    assert ("The horizontal axis is logarithmic." in text) == (apart == 1.0)
    assert ("<h5>95th-%ile delay (ms), logarithmic</h5>" in text) == (apart == 1.0)
    assert ("<h5>95th-%ile delay (ms)</h5>" in text) == (apart != 1.0)


def test_intervals_end_where_numbers_do(report: Callable[..., Report], monkeypatch: pytest.MonkeyPatch) -> None:
    runs = [Published(4.0, 20.0, 0.9), Published(4.0, 20.0, 1.0)]
    monkeypatch.setattr(Group, "numbers", lambda *_: runs)
    found = sweep_figures.figure(report(scheme=("cubic", "bbr"), rtt=RTTS))
    assert found is not None
    loss = found.rows[0][1][2]
    (zero, _), (end, label) = loss.ticks[0], loss.ticks[-1]
    for _, dots in loss.lines:
        assert all(dot.high == pytest.approx(zero + 100 / float(label) * (end - zero)) for dot in dots)


def test_means_are_read_off_the_axis(report: Callable[..., Report]) -> None:
    matrix = report(scheme=("cubic", "bbr"), rtt=RTTS)
    found = sweep_figures.figure(matrix)
    assert found is not None
    (zero, _), (end, label) = found.rows[0][1][0].ticks[0], found.rows[0][1][0].ticks[-1]
    read = [(dot.y - zero) / (end - zero) * float(label) for _, dots in found.rows[0][1][0].lines for dot in dots]
    assert read == pytest.approx([group.pantheon(None).throughput_mbps for group in matrix.groups])


def test_further_axes_have_rows_of_panels_on_one_scale(report: Callable[..., Report]) -> None:
    matrix = report(1, scheme=("cubic", "bbr"), rtt=RTTS, queue=("fifo", "pie"))
    found = sweep_figures.figure(matrix)
    assert found is not None
    assert [heading for heading, _ in found.rows] == ["fifo", "pie"]
    first, second = (panels for _, panels in found.rows)
    assert [panel.ticks for panel in first] == [panel.ticks for panel in second]
    assert first[2].lines[0][1][0].y > second[2].lines[0][1][0].y
    text = html.render(matrix, GENERATED)
    assert "<h3>Over rtt</h3>" in text
    assert "<h3>By rtt</h3>" not in text


def test_a_sweep_alone_is_one_line(report: Callable[..., Report]) -> None:
    found = sweep_figures.figure(report(1, rtt=RTTS))
    assert found is not None
    assert (found.series, len(found.rows[0][1][0].lines)) == ([], 1)


def test_schemes_that_meet_have_a_line_each(filled: Callable[..., ResultFolder], plan_of: Callable[..., Any]) -> None:
    plan = plan_of(("cubic",), 1, level="summary", seconds=6, flows=3, reference=None)
    # What two flows of BBR have of the link is over all 6 s, though the second of them has only half of that.
    kinds = (("cubic", 0), ("bbr", 0), ("bbr", 3))
    flows = [
        flow | {"scheme": scheme, "start_ns": start * SECOND}
        for flow, (scheme, start) in zip(plan.runs[0].scenario["flows"], kinds, strict=True)
    ]
    scenario = plan.runs[0].scenario | {"flows": flows}
    runs = [replace(plan.runs[0], id=rtt, cell={"rtt": rtt}, scenario=scenario) for rtt in RTTS]
    report = model.load(filled(replace(plan, runs=tuple(runs))))
    found = sweep_figures.figure(report)
    assert found is not None
    assert [name for name, _ in found.series] == ["TCP Cubic", "TCP BBR"]
    ((_, (throughput, delay)),) = found.rows
    assert [panel.title for panel in (throughput, delay)] == ["throughput (Mbit/s)", "95th-%ile delay (ms)"]
    first, second, third = report.groups[0].valid[0].flows
    (_, cubic), (_, bbr) = throughput.lines
    (zero, least), (end, label) = throughput.ticks[0], throughput.ticks[-1]
    assert least == "0"
    read = [(dot.y - zero) / (end - zero) * float(label) for dot in (cubic[0], bbr[0])]
    sizes = (first.delivered_bytes, second.delivered_bytes + third.delivered_bytes)
    assert read == pytest.approx([8 * size / 6e6 for size in sizes])
    assert "TCP BBR: " in bbr[0].name
    worst = max(second.owd_p95_ms or 0.0, third.owd_p95_ms or 0.0)
    assert f"TCP BBR: {ticks.label(worst)}, 95th" in delay.lines[1][1][0].name
    assert "The flows of a scheme together" in html.render(report, GENERATED)


def test_what_schemes_have_of_a_link_is_read_off_a_linear_axis(
    filled: Callable[..., ResultFolder], plan_of: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = plan_of(("cubic",), 1, level="summary", seconds=3, flows=2, reference=None)
    flows = [
        flow | {"scheme": scheme, "start_ns": 0}
        for flow, scheme in zip(plan.runs[0].scenario["flows"], ("cubic", "bbr"), strict=True)
    ]
    scenario = plan.runs[0].scenario | {"flows": flows}
    runs = [replace(plan.runs[0], id=rtt, cell={"rtt": rtt}, scenario=scenario) for rtt in RTTS]
    report = model.load(filled(replace(plan, runs=tuple(runs))))
    # Two flows of which one has a hundredth of the other.
    monkeypatch.setattr(shares, "throughput_mbps", lambda _, key: {"cubic": 1.0, "bbr": 100.0}[key])
    found = sweep_figures.figure(report)
    assert found is not None
    assert found.is_by_scheme
    ((_, (throughput, _)),) = found.rows
    labels = [float(label) for _, label in throughput.ticks]
    assert labels[0] == 0
    assert labels[2] - labels[1] == pytest.approx(labels[1])


@pytest.mark.parametrize(("rtts", "is_log"), [(("10ms", "20ms", "80ms"), True), (("10ms", "20ms", "79ms"), False)])
def test_an_axis_whose_ends_are_a_factor_of_eight_apart_is_logarithmic(
    report: Callable[..., Report], rtts: Sequence[str], *, is_log: bool
) -> None:
    found = sweep_figures.figure(report(1, rtt=rtts))
    assert found is not None
    first, last = sweep_figures.LEFT, sweep_figures.WIDTH - sweep_figures.RIGHT
    ((_, panels),) = found.rows
    (_, middle, _) = (dot.x for dot in panels[0].lines[0][1])
    assert (middle - first) / (last - first) == pytest.approx(1 / 3 if is_log else 10 / 69)


@pytest.mark.parametrize(
    ("labels", "numbers"),
    [
        (("10ms", "1s", "40ms"), [1e7, 1e9, 4e7]),
        (("0.3bdp", "1bdp", "4bdp"), [0.3, 1, 4]),
        (("2M", "20M", "100M"), [2, 20, 100]),
        (("500kbit/s", "2Mbit/s", "8 Mbit/s"), [5e5, 2e6, 8e6]),
        (("1", "2", "3"), None),
        (("none", "2ms", "10ms"), None),
        (("10ms", "2Mbit/s", "3ms"), None),
        (("10ms", "20ms"), None),
    ],
)
def test_what_is_a_quantity(labels: Sequence[str], numbers: list[float] | None) -> None:
    found = sweep_figures.quantities(labels)
    assert (None if found is None else list(found.values())) == numbers


def test_what_is_no_figure(report: Callable[..., Report]) -> None:
    many = report(1, scheme=("cubic",), rtt=RTTS, case=tuple("abcdefgh"), link=("x", "y", "z", "u", "v", "w", "q"))
    assert sweep_figures.figure(many) is None
    assert sweep_figures.figure(replace(many, rows=())) is None
    (first, *_) = many.groups
    assert sweep_figures.figure(replace(many, rows=(first,))) is None


def test_published_numbers_keep_the_figure_that_shows_them(report: Callable[..., Report]) -> None:
    matrix = report(1, "pantheon/india-ppp0", scheme=("cubic", "bbr"), rtt=RTTS)
    assert sweep_figures.figure(matrix) is None
    assert "<h3>By rtt</h3>" in html.render(matrix, GENERATED)


@pytest.mark.parametrize(
    ("low", "high", "expected"), [(8, 250, [10, 20, 50, 100, 200]), (0.2, 5000, [1, 10, 100, 1000])]
)
def test_ticks_of_a_logarithmic_axis(low: float, high: float, expected: list[float]) -> None:
    found = ticks.logarithmic(low, high)
    assert found == pytest.approx(expected)
    assert all(low <= tick <= high for tick in found)


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [(0, 5, [0, 1, 2, 3, 4, 5]), (0, 6, [0, 2, 4, 6]), (0.5, 11, [2, 4, 6, 8, 10]), (0, 1, [0, 0.2, 0.4, 0.6, 0.8, 1])],
)
def test_a_linear_axis_has_up_to_six_ticks(low: float, high: float, expected: list[float]) -> None:
    assert ticks.even(low, high) == pytest.approx(expected)


def test_six_ticks_of_a_logarithmic_axis_are_not_too_many() -> None:
    assert ticks.logarithmic(1, 50) == pytest.approx([1, 2, 5, 10, 20, 50])
    assert ticks.logarithmic(1, 100) == pytest.approx([1, 3, 10, 30, 100])

"""The page of an agreement and its figure."""

from __future__ import annotations

import io
import itertools
import math
import re
from dataclasses import replace
from datetime import UTC, datetime
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from rich.console import Console

from bakeoff.metrics.agreement import Line, compare
from bakeoff.metrics.tolerance import METRICS
from bakeoff.recording import ResultFolder
from bakeoff.reports import commands
from bakeoff.reports import looks as known_looks
from bakeoff.reports.agreement import figure, model, page, shown, terminal

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

GENERATED = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
VOID = {"meta", "br"}


class Nesting(HTMLParser):
    """Checks that every element is closed, and collects what the page loads and the ids it has and uses."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.loads: list[str] = []
        self.ids: set[str] = set()
        self.uses: set[str] = set()
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        if tag not in VOID:
            self.open.append(tag)
        if name := found.get("id"):
            assert name not in self.ids
            self.ids.add(name)
        for target in (found.get("href"), found.get("src")):
            if target and target.startswith("#"):
                self.uses.add(target[1:])
            elif target:
                self.loads.append(target)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag


@pytest.fixture(scope="module")
def make(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., model.Report]:
    """Makes an agreement of a plan with itself in another world, where fewer bytes arrive."""

    def function(plan_of: Callable[..., Any], tables_of: Callable[..., Any], **experiment: Any) -> model.Report:
        root: Path = tmp_path_factory.mktemp("agreement")
        folders = []
        for world, share in (("sim", 1.0), ("linux", 0.8)):
            options: dict[str, Any] = {"flows": 2, "level": "series", "seconds": 5, "world": world, "stand_ins": {}}
            plan = plan_of(("cubic", "vegas"), 2, **options | experiment)
            folder = ResultFolder.create(root / world, plan)
            for run in plan.runs:
                tables = tables_of(run.scenario, run.seed)
                fewer = (pl.col("received_bytes") * share).cast(pl.Int64)
                folder.write_run(run, tables | {"flows": tables["flows"].with_columns(fewer)})
            folders.append(folder)
        return model.load(folders[0], folders[1])

    return function


def test_the_page_is_whole_and_loads_nothing(make: Any, plan_of: Any, tables_of: Any) -> None:
    bad = "</title><script>alert(1)</script>"
    report = make(plan_of, tables_of, title=bad, description=bad)
    text = page.render(report, GENERATED)
    found = Nesting(text)
    assert found.open == []
    assert found.loads == []
    assert found.uses <= found.ids
    assert bad not in text
    assert "<script" not in text
    assert "2026-03-04 05:06:07 UTC" in text
    assert "bakeoff agree pantheon/india-ppp0 --worlds sim,linux" in text


@pytest.mark.parametrize("width", [80, 50])
def test_a_narrow_terminal_breaks_no_word(make: Any, plan_of: Any, tables_of: Any, width: int) -> None:
    report = make(plan_of, tables_of)
    file = io.StringIO()
    terminal.show(report, Console(file=file, width=width, highlight=False))
    text = file.getvalue()
    assert max(map(len, text.splitlines())) <= width
    lines = text.splitlines()
    for found in (entry for entry in report.metrics if entry.exists):
        title = shown.title(found.metric)
        assert f"  tolerance {shown.summary(found.metric, found.whole).tolerance}; " in lines[lines.index(title) + 1]


def test_the_command_that_repeats_an_agreement_takes_root_where_emu_is(make: Any, plan_of: Any, tables_of: Any) -> None:
    report = make(plan_of, tables_of)
    assert report.command.startswith("bakeoff agree ")
    assert commands.agree({"source": "x.toml", "settings": []}, ("sim", "emu")).startswith("sudo bakeoff agree x.toml")


def test_runs_of_several_lengths_are_said_to_be(tmp_path: Path, plan_of: Any, tables_of: Any) -> None:
    folders = []
    for world in ("sim", "linux"):
        options: dict[str, Any] = {"flows": 2, "level": "series", "world": world, "stand_ins": {}}
        short, long = (plan_of((scheme,), 1, seconds=s, **options) for scheme, s in (("cubic", 3), ("vegas", 5)))
        folder = ResultFolder.create(tmp_path / world, replace(short, runs=short.runs + long.runs))
        for run in (*short.runs, *long.runs):
            folder.write_run(run, tables_of(run.scenario, run.seed))
        folders.append(folder)
    text = page.render(model.load(folders[0], folders[1]), GENERATED)
    assert "Each run lasts 3 to 5 s." in text


def test_where_nothing_ran_the_length_is_that_of_the_experiment(tmp_path: Path, plan_of: Any) -> None:
    folders = [
        ResultFolder.create(tmp_path / world, plan_of(("cubic",), 1, seconds=7, world=world, stand_ins={}))
        for world in ("sim", "linux")
    ]
    assert "Each run lasts 7 s." in page.render(model.load(folders[0], folders[1]), GENERATED)


def test_every_metric_is_a_panel_with_every_line_in_it(make: Any, plan_of: Any, tables_of: Any) -> None:
    report = make(plan_of, tables_of)
    panels = figure.panels(report)
    metrics = [found for found in report.metrics if found.exists]
    assert {found.metric.key for found in report.metrics if not found.exists} == {
        "flow.completion_s",
        "probe.rtt_p50_ms",
        "probe.rtt_p95_ms",
    }
    assert [panel.title for panel in panels] == [shown.title(found.metric) for found in metrics]
    for panel, found in zip(panels, metrics, strict=True):
        points = [point for points in panel.points.values() for point in points]
        assert len(points) == found.whole.cells
        assert sum(point.far for point in points) == found.whole.far
        assert all(figure.LEFT <= point.x <= figure.LEFT + figure.SIDE for point in points)
        assert all(figure.TOP <= point.y <= figure.TOP + figure.SIDE for point in points)
        assert 2 <= len(panel.x_ticks) <= 8


def test_how_far_the_first_world_is_off_is_read_off_the_axis(make: Any, plan_of: Any, tables_of: Any) -> None:
    rates = figure.panels(make(plan_of, tables_of))[0]
    places = {label: y for y, label in rates.y_ticks}
    assert places["0 %"] == rates.zero
    assert places["0 %"] - places["+3 %"] > 30, "three percent are seen"
    for point in itertools.chain(*rates.points.values()):
        # A fifth of the bytes is missing in the second world: 25 % more in the first.
        assert places["+30 %"] < point.y < places["+10 %"]
        assert point.far


def test_the_band_holds_the_line_of_zero_and_ends_at_the_tolerance(make: Any, plan_of: Any, tables_of: Any) -> None:
    panels = {panel.title: panel for panel in figure.panels(make(plan_of, tables_of))}
    for panel in panels.values():
        corners = [tuple(map(float, pair.split(","))) for pair in re.findall(r"[\d.-]+,[\d.-]+", panel.band)]
        upper, lower = corners[: len(corners) // 2], corners[: len(corners) // 2 - 1 : -1]
        for (x, top), (left, bottom) in zip(upper, lower, strict=True):
            assert x == left
            assert figure.TOP <= top < panel.zero < bottom <= figure.TOP + figure.SIDE
    rates = panels["throughput, each flow"]
    places = {label: y for y, label in rates.y_ticks}
    corners = re.findall(r"([\d.]+),([\d.]+)", rates.band)
    assert {float(top) for _, top in corners[: len(corners) // 2]} == {round(places["+3 %"], 1)}


def test_the_band_of_percentages_is_as_wide_as_what_is_tolerated_of_ratios() -> None:
    metric = next(metric for metric in METRICS if metric.key == "flow.loss")
    # Losses of 0.1 % and 1 %, of which 0.05 points and 15 % are tolerated.
    values, scale = figure._Values(0.1, 1.0, 0.01, 0.0), figure._Ratios(-10.0, 10.0)
    corners = re.findall(r"([\d.]+),([\d.]+)", figure._band(metric, values, scale))
    upper = [float(y) for _, y in corners[: len(corners) // 2]]
    assert (upper[0], upper[-1]) == pytest.approx((scale.y(1.5), scale.y(1.15)), abs=0.06)


def test_medians_and_numbers_of_a_line_are_its_own(make: Any, plan_of: Any, tables_of: Any) -> None:
    report = make(plan_of, tables_of)
    metric = next(metric for metric in METRICS if metric.key == "flow.throughput_mbps")
    found = compare(metric, [1.0, 2.0, 9.0], [1.0, 3.0, 11.0])
    row = shown.line(Line(cell={}, flow=1, scheme="cubic", metric=metric, found=found))
    assert (row.a, row.a_median, row.b, row.b_median) == ("4.000", "2.000", "5.000", "3.000")
    parts = {
        line.flow: line.found.a.mean
        for line in report.lines
        if line.metric == metric and line.cell == {"scheme": "cubic"}
    }
    assert parts[1] != parts[2]


def test_the_worst_lines_come_first_and_ratios_are_shown_in_percent(make: Any, plan_of: Any, tables_of: Any) -> None:
    ratios = [line.found.tolerance_ratio for line in make(plan_of, tables_of).far]
    assert len(set(ratios)) > 1
    assert ratios == sorted(ratios, reverse=True)
    percent = {metric.name for metric in METRICS if shown.unit(metric) == "%"}
    assert percent == {metric.name for metric in METRICS if shown.factor(metric) == 100} == {"loss", "utilisation"}


def test_what_is_nothing_in_one_world_has_a_place(make: Any, plan_of: Any, tables_of: Any) -> None:
    report = make(plan_of, tables_of)
    first = next(line for line in report.lines if line.metric.key == "flow.throughput_mbps")
    found = replace(first.found, b=replace(first.found.b, mean=0.0))
    other = next(line for line in report.lines if line.metric == first.metric and line is not first)
    little = replace(other.found, b=replace(other.found.b, mean=0.001))
    lines = (replace(first, found=found), other, replace(other, found=little))
    (panel,) = figure.panels(replace(report, lines=lines))
    above, beside, _ = panel.points[first.scheme]
    assert panel.gutter > 0
    assert above.x < figure.LEFT + panel.gutter < beside.x
    assert figure.TOP < above.y < beside.y
    (zero, label), (second, _) = panel.x_ticks[:2]
    assert (zero, label) == (above.x, "0")
    assert second - zero > 20, "labels have room"


def test_from_the_resolution_on_values_have_places_of_their_own(make: Any, plan_of: Any, tables_of: Any) -> None:
    report = make(plan_of, tables_of)
    first = next(line for line in report.lines if line.metric.key == "flow.throughput_mbps")
    least = first.metric.resolution.absolute
    means = (0.95 * least, least, 100 * least)
    lines = [replace(first, found=replace(first.found, b=replace(first.found.b, mean=mean))) for mean in means]
    (panel,) = figure.panels(replace(report, lines=lines))
    below, at, above = panel.points[first.scheme]
    # What is below stands where nothing does.
    assert below.x == panel.x_ticks[0][0]
    assert panel.x_ticks[0][1] == "0"
    assert figure.LEFT + panel.gutter < at.x < above.x
    # There is no ratio to less than the resolution.
    assert below.y == at.y


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (0.9, 11, [1, 2, 5, 10]),
        (0.5, 2000, [1, 10, 100, 1000]),
        (0.95, 1.05, [0.96, 0.98, 1.0, 1.02, 1.04]),
        (4, 32, [5, 10, 20]),
    ],
)
def test_ticks_are_round(low: float, high: float, ticks: list[float]) -> None:
    found = figure._ticks(low, high)
    assert [round(tick, 9) for tick in found] == ticks


@pytest.mark.parametrize("exponents", [(-9, 9), (-3, -2.99), (0, 0.2), (2, 2.9), (5, 9)])
def test_any_range_has_a_few_ticks(exponents: tuple[float, float]) -> None:
    low, high = (10**exponent for exponent in exponents)
    found = figure._ticks(low, high)
    assert 2 <= len(found) <= 8
    assert all(low * (1 - 1e-9) <= tick <= high * (1 + 1e-9) for tick in found)
    assert all(math.isfinite(tick) for tick in found)


def test_schemes_in_words_and_looks() -> None:
    assert shown.scheme("kernel:cubic") == "TCP Cubic (kernel)"
    assert shown.scheme("cubic+kernel:bbr") == "TCP Cubic + TCP BBR (kernel)"
    looks = shown.scheme_looks(["cubic", "kernel:cubic", "bbr", "cubic+bbr"])
    assert looks["cubic"].light == looks["kernel:cubic"].light
    assert looks["cubic"].marker != looks["kernel:cubic"].marker
    assert len({(look.light, look.marker) for look in looks.values()}) == 4


def test_a_flow_has_its_scheme_in_its_name_where_the_cell_does_not_tell(
    make: Any, plan_of: Any, tables_of: Any
) -> None:
    report = make(plan_of, tables_of)
    line = next(line for line in report.lines if line.metric.key == "flow.throughput_mbps")
    assert shown.name(replace(line, cell={}, flow=2, scheme="cubic")) == "flow 2 (TCP Cubic)"
    told = replace(line, cell={"scheme": "cubic"}, flow=2, scheme="kernel:cubic")
    assert shown.name(told) == "TCP Cubic, flow 2"
    assert shown.name(replace(line, cell={"scheme": "bbr"}, flow=2, scheme="cubic")) == "TCP BBR, flow 2 (TCP Cubic)"
    assert shown.name(replace(line, cell={}, flow=None, scheme="cubic")) == "all flows"


def test_a_stack_has_its_own_name_and_colour() -> None:
    assert shown.scheme("quinn:cubic+quinn:newreno") == "quinn CUBIC + quinn New Reno"
    assert shown.scheme_looks(["quinn:cubic"])["quinn:cubic"] == known_looks.SCHEMES["quinn:cubic"]

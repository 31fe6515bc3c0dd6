"""The page: well-formed, self-contained, honest about what is missing, and its data intact."""

from __future__ import annotations

import base64
import io
import itertools
import json
import re
import shlex
import tomllib
import zlib
from dataclasses import replace
from datetime import UTC, datetime
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from rich.console import Console
from tests.conftest import SECOND, fill, simulate

from bakeoff import suites
from bakeoff.experiment import expand, load
from bakeoff.metrics.bins import Rates
from bakeoff.recording import Origin, ResultFolder
from bakeoff.references import Published
from bakeoff.reports import commands, html, looks, model, shares, summary_columns, terminal
from bakeoff.reports.html import doc, encode, run_figures, run_sections, summary_figures, tables, worlds
from bakeoff.reports.words import MISSING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

GENERATED = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
VOID = {"meta", "br", "path", "link", "img", "input", "hr"}


class Page(HTMLParser):
    """Checks nesting and collects what a test asks about."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.loads: list[str] = []
        self.scripts: dict[str, str] = {}
        self.text: list[str] = []
        self._script = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        if tag not in VOID:
            self.open.append(tag)
        if name := found.get("id"):
            self.ids.append(name)
        if tag == "a":
            self.links.append(found.get("href") or "")
        elif found.get("src") or found.get("href") or found.get("srcset"):
            self.loads.append(str(found))
        if tag == "script":
            self._script = found.get("id") or found.get("data-for") or ""

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "script":
            self.scripts[self._script] = self.scripts.get(self._script, "") + data
        elif self.open and self.open[-1] != "style":
            self.text.append(data)


@pytest.fixture(scope="module")
def text(india: ResultFolder) -> str:
    return html.render(model.load(india), GENERATED)


@pytest.fixture(scope="module")
def page(text: str) -> Page:
    return Page(text)


def test_nothing_is_loaded_from_elsewhere(text: str, page: Page) -> None:
    assert page.loads == []
    assert "default-src 'none'" in text
    style = text[text.index("<style>") : text.index("</style>")]
    assert "@import" not in style
    assert "url(" not in style
    code = page.scripts[""]
    assert not re.search(r"\b(fetch|XMLHttpRequest|import)\s*\(", code)


def test_nesting_anchors_and_ids(page: Page) -> None:
    assert page.open == []
    assert len(page.ids) == len(set(page.ids))
    for link in page.links:
        assert link.startswith(("#", "https://", "http://")), link
        if link.startswith("#"):
            assert link[1:] in page.ids


def test_the_sections_of_a_pantheon_report(page: Page) -> None:
    everything = " ".join(" ".join(page.text).split())
    for words in (
        "4 schemes, each run 3 times.",
        "Each run lasts 30 s and has 3 flows that start 10 s apart.",
        "bakeoff run pantheon/india-ppp0",
        "Throughput (Mbit/s)",
        "95th-%ile delay (ms)",
        "not implemented",
        "What differs and why",
        "One bottleneck.",
        "-- Total of 3 flows:",
        "Why these numbers.",
    ):
        assert words in everything, words
    assert everything.count("Datalink statistics") == 12


def test_the_same_recordings_give_the_same_page(india: ResultFolder, text: str) -> None:
    assert html.render(model.load(india), GENERATED) == text


def decode(arrays: str) -> np.ndarray[Any, np.dtype[np.float32]]:
    planes = np.frombuffer(zlib.decompress(base64.b64decode(arrays)), dtype=np.uint8)
    return planes.reshape(4, -1).T.copy().view("<f4").ravel()


def test_packed_arrays_come_back() -> None:
    pack = encode.Pack()
    first, second = pack.add([1.5, float("nan"), -3.0]), pack.add(np.arange(5))
    floats = decode(pack.encode())
    np.testing.assert_array_equal(floats[first[0] : sum(first)], [1.5, np.nan, -3.0])
    np.testing.assert_array_equal(floats[second[0] : sum(second)], [0, 1, 2, 3, 4])
    assert decode(encode.Pack().encode()).size == 0


def test_every_packet_is_on_the_page(india: ResultFolder, page: Page) -> None:
    recording = next(r for r in india.recordings() if r.id == "cubic_run2")
    packets = recording.table("packets").drop_nulls("received_ns")
    figure = json.loads(page.scripts["run-cubic_run2-data"])["delay"]
    floats = decode(page.scripts["run-cubic_run2-arrays"])
    drawn = [floats[place[0] : sum(place)] for place in (entry["y"] for entry in figure["series"])]
    expected = (packets["received_ns"] - packets["sent_ns"]).to_numpy() / 1e6
    found = np.concatenate([values[~np.isnan(values)] for values in drawn])
    np.testing.assert_allclose(np.sort(found), np.sort(expected), rtol=1e-6)


def test_thinning_keeps_the_extremes() -> None:
    rng = np.random.default_rng(1)
    packets = pl.DataFrame(
        {"flow": rng.integers(1, 4, 50_000), "t": np.sort(rng.integers(0, 10**10, 50_000)), "delay": rng.random(50_000)}
    )
    kept = run_figures.thin(packets, 2000)
    assert 1000 < kept.height <= 2200
    for flow in (1, 2, 3):
        own, few = packets.filter(pl.col("flow") == flow), kept.filter(pl.col("flow") == flow)
        for column in ("t", "delay"):
            assert (few[column].min(), few[column].max()) == (own[column].min(), own[column].max())
    assert run_figures.thin(packets, 50_000) is packets


def test_script_data_cannot_end_the_script(filled: Callable[..., ResultFolder], plan_of: Callable[..., Any]) -> None:
    bad = "</script><script>alert(1)</script>"
    folder = filled(plan_of(("cubic",), 1, seconds=3, title=bad, description=bad, doc=f"# x\n\n{bad}\n"))
    text = html.render(model.load(folder), GENERATED)
    assert bad not in text
    assert Page(text).open == []
    assert encode.json_for_script(bad) == '"\\u003c/script>\\u003cscript>alert(1)\\u003c/script>"'


@pytest.mark.parametrize(
    ("delays", "limits"),
    [
        ([130, 390], None),
        ([100, 390], [64, 512]),
        ([100, 600], [64, 1024]),
        ([64, 256], None),
        ([63, 256], [32, 256]),
        ([], None),
        ([-3, 500], None),
    ],
)
def test_the_delay_axis_is_logarithmic_when_pantheons_is(delays: list[float], limits: list[float] | None) -> None:
    assert summary_figures.log_limits(delays) == limits


@pytest.mark.parametrize("delays", [[58.06, 58.32], [100.0], [5.0, 5.1, 5.2]])
def test_delays_that_are_alike_do_not_stand_at_opposite_ends(delays: list[float]) -> None:
    low, high = summary_figures.linear_limits(delays)
    assert low <= 0.9 * min(delays) + 0.1
    assert high >= 1.1 * max(delays) - 0.2
    assert (max(delays) - min(delays)) / (high - low) < 0.2


def test_an_axis_of_delays_holds_all_of_them() -> None:
    low, high = summary_figures.linear_limits([50.0, 150.0])
    assert (low, high) == pytest.approx((43, 157))
    assert summary_figures.linear_limits([-3.0, 500.0])[0] < -3
    assert summary_figures.linear_limits([0.0]) == [-0.07, 0.07]


def test_published_points_are_hollow(india: ResultFolder) -> None:
    means = summary_figures.means(model.load(india))
    kinds = {(entry["name"], entry["hollow"]) for entry in means["series"]}
    assert {("TCP Cubic", False), ("TCP Cubic", True), ("Sprout", True)} <= kinds
    assert ("Sprout", False) not in kinds
    assert not any(name == "QUIC Cubic" for name, _ in kinds)
    assert (means["has_names"], means["has_pairs"]) == (True, True)
    (entries,) = means["legend"]
    hollow = {entry["name"]: entry["hollow"] for entry in entries}
    assert (hollow["TCP Cubic"], hollow["Sprout"]) == (False, True)
    assert [series["parts"] for series in means["series"] if series["name"] == "Sprout"] == [["row Sprout"]]


def section(text: str, identity: str) -> str:
    """The words of a section of a page."""
    found = text.split(f'<section id="{identity}">')[1].split("</section>", maxsplit=1)[0]
    return " ".join(" ".join(Page(found).text).split())


def test_claims_keep_numbers_with_their_units(filled: Callable[..., ResultFolder], plan_of: Callable[..., Any]) -> None:
    claim = {"id": "a", "says": "within 25 %", "note": "of 9 ms", "measure": "total.loss", "expect": "< 1"}
    folder = filled(plan_of(("cubic",), 1, level="summary", claims=[claim], seconds=3))
    shown = html.render(model.load(folder), GENERATED)
    assert "within 25\N{NO-BREAK SPACE}%" in shown
    assert "of 9\N{NO-BREAK SPACE}ms" in shown


def test_totals_are_judged_by_the_band_of_the_claims(text: str) -> None:
    claims = tomllib.loads(suites.file("pantheon/india-ppp0").read_text(encoding="utf-8"))["claim"]
    assert {claim["expect"] for claim in claims if " / published." in claim["measure"]} == {"1 +- 25%"}
    assert "within 25 % of the published throughput and delay" in section(text, "totals")
    metric = summary_columns.METRICS[0]
    verdicts = [
        tables.compare(metric, Published(ours, 100, 0.1), Published(1.0, 100, 0.1)).verdict for ours in (1.25, 1.26)
    ]
    assert verdicts == ["within", "outside"]


def test_what_a_table_does_not_publish_has_no_column(
    filled: Callable[..., ResultFolder], plan_of: Callable[..., Any]
) -> None:
    plan = plan_of(("quic_bbr",), 1, level="summary", reference="bbr-loss/clean", axes={"sender": ["BBR(false)"]})
    runs = tuple(replace(run, cell={"sender": "BBR(false)", "case": "1"}) for run in plan.runs)
    report = model.load(filled(replace(plan, runs=runs)))
    text = html.render(report, GENERATED, [report])
    assert "ours published ratio" in (totals := section(text, "totals"))
    assert "Loss (%)" in totals
    assert "Throughput" not in totals
    assert "faithful" not in totals
    assert section(text, "worlds").replace("as published", "").count("published") == 2
    assert "hollow ones" not in section(text, "figures")


def test_rows_are_called_what_they_are(filled: Callable[..., ResultFolder], plan_of: Callable[..., Any]) -> None:
    schemes = {"scheme": ["cubic", "bbr"], "rtt": ["20ms"]}
    report = model.load(filled(plan_of(("cubic", "bbr"), 1, level="summary", axes=schemes)))
    assert (report.noun, report.varies) == ("scheme", [])
    groups = tuple(replace(group, key="") for group in report.groups)
    assert replace(report, rows=groups).noun == "cell"
    report = replace(report, experiment=report.experiment | {"axes": schemes | {"rtt": ["20ms", "80ms"]}})
    assert (report.noun, report.varies) == ("cell", ["rtt"])
    text = html.render(report, GENERATED)
    assert "2 cells, each run once." in section(text, "overview")
    heading = (
        "Summary table Per flow, by Pantheon's definitions, loss with what was in flight at the end; "
        "throughput of each flow over its own time."
    )
    assert section(text, "summary").startswith(heading)
    assert all("Cell" in section(text, identity) for identity in ("summary", "totals", "corrected"))
    assert "interval" not in section(text, "corrected")


def test_runs_of_several_lengths_are_said_to_be(
    filled: Callable[..., ResultFolder], plan_of: Callable[..., Any]
) -> None:
    short, long = (plan_of((scheme,), 1, seconds=seconds) for scheme, seconds in (("cubic", 3), ("bbr", 5)))
    report = model.load(filled(replace(short, runs=short.runs + long.runs)))
    assert "Each run lasts 3 to 5 s and has 3 flows" in section(html.render(report, GENERATED), "overview")


def test_numbers_of_flows_and_their_starts_are_those_of_all_runs(
    filled: Callable[..., ResultFolder], plan_of: Callable[..., Any]
) -> None:
    two, one = (plan_of((scheme,), 1, flows=flows, seconds=4) for scheme, flows in (("cubic", 2), ("bbr", 1)))
    gap = two.runs[0].scenario["flows"][1]["start_ns"] // 10**9
    report = model.load(filled(replace(two, runs=two.runs + one.runs)))
    assert f"has 1 to 2 flows that start {gap} s apart." in section(html.render(report, GENERATED), "overview")


def test_flows_that_start_together_in_some_runs_are_not_said_to_start_apart(
    filled: Callable[..., ResultFolder], plan_of: Callable[..., Any]
) -> None:
    plan = plan_of(("cubic", "bbr"), 1, flows=2, seconds=4)
    for flow in plan.runs[1].scenario["flows"]:
        flow["start_ns"] = 0
    assert "has 2 flows." in section(html.render(model.load(filled(plan)), GENERATED), "overview")


def test_a_row_says_how_many_of_its_runs_count(text: str, india: ResultFolder) -> None:
    report = model.load(india)
    (first, *_) = report.groups
    starved = replace(first.runs[0].summary, total=None)
    runs = (replace(first.runs[0], summary=starved), *first.runs[1:])
    partly = replace(report, rows=(replace(first, runs=runs),))
    (row,) = tables.summary(partly)
    assert row.runs == "2 of 3"
    file = io.StringIO()
    terminal.show(partly, Console(file=file, width=40))
    assert "(2 of 3 runs)" in file.getvalue()
    assert "2 of 3" not in section(text, "summary")


def test_a_single_point_is_no_figure(filled: Callable[..., ResultFolder], plan_of: Callable[..., Any]) -> None:
    alone = html.render(model.load(filled(plan_of(("cubic",), 1, level="summary", reference=None))), GENERATED)
    assert 'id="figures"' not in alone
    assert "#figures" not in alone


def test_no_axes_without_a_point_and_why_runs_do_not_count(tmp_path: Path, plan_of: Callable[..., Any]) -> None:
    plan = plan_of(("cubic", "vegas"), 2, level="summary", reference=None)
    folder = ResultFolder.create(tmp_path / "short", plan)
    for run in plan.runs:
        tables = simulate(run.scenario, run.seed)
        early = (pl.col("first_received_ns") + SECOND).alias("last_received_ns")
        folder.write_run(run, tables | {"flows": tables["flows"].with_columns(early)})
    text = html.render(model.load(folder), GENERATED)
    assert 'id="figures"' not in text
    assert "#figures" not in text
    reason = "cubic_run1 and 3 runs more: not counted, as Pantheon would: arrivals span 1.0 s, less than 0.8 of 30 s."
    assert reason in section(text, "summary")


@pytest.mark.parametrize(("limits", "said"), [([64, 512], "inverted and logarithmic."), (None, "inverted.")])
def test_a_logarithmic_axis_is_said_to_be(
    india: ResultFolder, monkeypatch: pytest.MonkeyPatch, limits: list[float] | None, said: str
) -> None:
    monkeypatch.setattr(summary_figures, "log_limits", lambda _: limits)
    assert section(html.render(model.load(india), GENERATED), "figures").count(f"The delay axis is {said}") == 2


def test_points_that_look_alike_are_said_to(tmp_path: Path, plan_of: Callable[..., Any]) -> None:
    def captions(axes: int) -> str:
        plan = plan_of(("cubic", "vegas"), 1, level="summary", reference=None, seconds=3)
        names = ("queue", "rtt", "arrival")[:axes]
        # So many values of the last that there is no panel for each.
        cells = itertools.product(plan.runs, *(range(2 if name != "arrival" else 12) for name in names))
        runs = [
            replace(run, id=f"run{place}", cell=run.cell | dict(zip(names, map(str, values), strict=True)))
            for place, (run, *values) in enumerate(cells)
        ]
        folder = fill(tmp_path / f"{axes}", replace(plan, runs=tuple(runs)))
        return section(html.render(model.load(folder), GENERATED), "figures")

    assert "alike" not in captions(1)
    assert "Points that differ in rtt or arrival only look alike" in captions(3)


def test_flows_that_are_not_drawn_are_not_told_of_beside_probes(
    filled: Callable[..., ResultFolder], plan_of: Callable[..., Any]
) -> None:
    report = model.load(filled(plan_of(("cubic",), 1, flows=13, seconds=3, reference=None)))
    (group,) = report.groups
    captions = [run_sections._figure("run", kind, {}, group, group.runs[0]).caption for kind in ("delay", "probes")]
    assert ["Flows 1 to 12 of 13 are drawn." in caption for caption in captions] == [True, False]


def test_menus_and_legends_of_figures_are_not_hidden_behind_a_picture(text: str) -> None:
    plots = re.findall(r'<div class="plot"[^>]*>', text)
    assert plots
    # What stands inside a picture is none of its own to those who have it read.
    assert all('role="group" aria-label="' in plot for plot in plots)


def test_what_needs_a_script_is_hidden_and_told_without_one(text: str) -> None:
    assert "<noscript><style>.plot, .hint { display: none; }</style></noscript>" in text
    assert "drawn by a script inside this page, which this browser does not run" in text


@pytest.mark.parametrize(
    ("seconds", "origin_s", "last_s", "end"),
    [(30, 0.1, 30.0, 30.0), (30, 0.1, 12.5, 29.9), (0.05, 0.0, 0.5, 0.05)],
)
def test_time_ends_with_the_run(seconds: float, origin_s: float, last_s: float, end: float) -> None:
    rates = Rates(round(origin_s * SECOND), np.array([0, 0.5, last_s]), {}, {}, {}, {})
    assert run_figures._end_s(rates, round(seconds * SECOND)) == pytest.approx(end)


def test_the_figures_of_a_run_show_the_same_time(page: Page) -> None:
    figures = json.loads(page.scripts["run-cubic_run1-data"])
    drawn = [choice for figure in figures.values() for choice in figure.get("choices", [figure])]
    assert set(figures) >= {"throughput", "delay", "telemetry"}
    assert len({tuple(figure["span"]) for figure in drawn}) == 1
    assert drawn[0]["span"][0] == 0.0


def test_steps_of_what_is_sent_and_what_arrives_stand_over_their_bins() -> None:
    nan = np.nan
    sent = run_figures.over_bins(np.array([nan, 3.0, 4.0, 5.0, nan]), at_right=False)
    np.testing.assert_array_equal(sent, [nan, 3, 4, 5, 5])
    received = run_figures.over_bins(np.array([nan, 0.0, 3.0, 4.0, 5.0]), at_right=True)
    np.testing.assert_array_equal(received, [nan, 3, 4, 5, 5])
    early = run_figures.over_bins(np.array([0.0, 3.0, nan, nan]), at_right=True)
    np.testing.assert_array_equal(early, [3, 3, nan, nan])
    assert np.isnan(run_figures.over_bins(np.array([nan, nan]), at_right=True)).all()


def test_nothing_that_arrives_stands_above_the_capacity(page: Page) -> None:
    for run in ("cubic_run1", "vegas_run2"):
        (area, *curves) = json.loads(page.scripts[f"run-{run}-data"])["throughput"]["series"]
        floats = decode(page.scripts[f"run-{run}-arrays"])
        values = [floats[curve["y"][0] : sum(curve["y"])] for curve in (area, *curves)]
        assert [curve["is_stepped"] for curve in curves] == [True] * 6
        arrived = np.nansum([values[place] for place in (2, 4, 6)], axis=0)
        # A packet may reach over the edge of a bin.
        assert (arrived <= values[0] + 1500 * 8e-6 / 0.5 + 1e-6).all()


def test_curves_of_schemes_that_meet_have_their_colours(
    filled: Callable[..., ResultFolder], plan_of: Callable[..., Any], page: Page
) -> None:
    def colours(page: Page, run: str) -> list[str]:
        series = json.loads(page.scripts[f"run-{run}-data"])["delay"]["series"]
        return list(dict.fromkeys(curve["light"] for curve in series))

    plan = plan_of(("cubic",), 1, flows=2, seconds=3)
    plan.runs[0].scenario["flows"][1]["scheme"] = "bbr"
    mixed = Page(html.render(model.load(filled(plan)), GENERATED))
    assert colours(mixed, "cubic_run1") == [looks.SCHEMES[key].light for key in ("cubic", "bbr")]
    assert colours(page, "cubic_run1") == [looks.of_flow(flow).light for flow in (1, 2, 3)]


def test_columns_of_flows_that_meet_name_their_schemes_in_a_second_line(
    filled: Callable[..., ResultFolder], plan_of: Callable[..., Any]
) -> None:
    plan = plan_of(("cubic",), 1, flows=2, seconds=3)
    plan.runs[0].scenario["flows"][1]["scheme"] = "bbr"
    text = html.render(model.load(filled(plan)), GENERATED)
    assert text.count("flow 2<br>TCP BBR</th>") == len(summary_columns.METRICS)


def test_flows_of_one_scheme_among_others_are_paler_one_by_one(
    filled: Callable[..., ResultFolder], plan_of: Callable[..., Any]
) -> None:
    plan = plan_of(("cubic",), 1, flows=4, seconds=3)
    for flow, scheme in zip(plan.runs[0].scenario["flows"], ("bbr", "cubic", "cubic", "cubic"), strict=True):
        flow |= {"scheme": scheme, "start_ns": 0}
    report = model.load(filled(plan))
    figures = json.loads(Page(html.render(report, GENERATED)).scripts["run-cubic_run1-data"])
    drawn = {
        kind: list(dict.fromkeys(curve["light"] for curve in curves if "light" in curve))
        for kind, figure in figures.items()
        for curves in [figure.get("choices", [figure])[0]["series"]]
    }
    bbr, *cubics = drawn["delay"]
    assert (bbr, cubics[0]) == (looks.SCHEMES["bbr"].light, looks.SCHEMES["cubic"].light)
    red = [int(colour[1:3], 16) for colour in cubics]
    assert len(cubics) == 3
    assert red == sorted(red)
    # The last one is 45 % on the way to the paper, the one between half as far.
    assert [round((value - red[0]) / (255 - red[0]), 2) for value in red] == pytest.approx([0, 0.225, 0.45], abs=0.006)
    assert drawn["throughput"] == drawn["telemetry"] == drawn["delay"]
    assert {part.look.light for part in shares.of(report).cells[0].parts} == {bbr, cubics[0]}


def test_schemes_that_meet_have_colours_of_their_own() -> None:
    found = looks.of_schemes(["quinn:cubic", "prague", "ledbat", "copa", "fillp", "fillp_sheep", "own:cubic"])
    assert len({look.light for look in found.values()}) == 7
    assert [found[key] for key in ("ledbat", "copa", "fillp")] == [
        looks.SCHEMES[key] for key in ("ledbat", "copa", "fillp")
    ]


def test_many_cells_have_looks_of_their_own() -> None:
    found = [looks.of_scheme("", place) for place in range(72)]
    assert len({(look.light, look.marker) for look in found}) == 72


def test_curves_of_schemes_that_meet_are_called_by_them(
    filled: Callable[..., ResultFolder], plan_of: Callable[..., Any], page: Page
) -> None:
    plan = plan_of(("cubic",), 1, flows=2, seconds=3)
    plan.runs[0].scenario["flows"][1]["scheme"] = "bbr"
    mixed = Page(html.render(model.load(filled(plan)), GENERATED))

    def labels(page: Page, run: str, kind: str) -> list[str]:
        series = json.loads(page.scripts[f"run-{run}-data"])[kind]["series"]
        return [curve["label"].partition(" (")[0] for curve in series if curve["style"] != "area"]

    assert labels(mixed, "cubic_run1", "delay") == ["Flow 1, TCP Cubic", "Flow 2, TCP BBR"]
    assert labels(mixed, "cubic_run1", "throughput")[:2] == ["Flow 1, TCP Cubic ingress", "Flow 1, TCP Cubic egress"]
    assert labels(page, "cubic_run1", "delay") == ["Flow 1", "Flow 2", "Flow 3"]


def test_worlds_are_beside_each_other_cell_by_cell(tmp_path: Path, plan_of: Callable[..., Any]) -> None:
    axes = {"scheme": ["cubic", "bbr"], "rtt": ["20ms", "80ms"]}

    def report(world: str, prefix: str) -> model.Report:
        plan = plan_of(("cubic", "bbr"), 1, level="summary", reference=None, axes=axes, world=world)
        runs = []
        for run, rtt in itertools.product(plan.runs, axes["rtt"]):
            scheme = prefix + run.cell["scheme"]
            scenario = run.scenario | {"flows": [flow | {"scheme": scheme} for flow in run.scenario["flows"]]}
            cell = {"scheme": scheme, "rtt": rtt}
            runs.append(replace(run, id=f"{run.id}-{rtt}", cell=cell, scenario=scenario))
        return model.load(fill(tmp_path / world, replace(plan, runs=tuple(runs))))

    sim, emu = report("sim", ""), report("emu", "kernel:")
    rows = worlds.table(sim, [emu])
    assert rows is not None
    assert [row.name for row in rows.rows] == [group.label for group in sim.groups]
    assert all(MISSING not in cell for row in rows.rows for cell in row.cells)


def test_totals_of_flows_that_go_both_ways_are_said_to_be(
    filled: Callable[..., ResultFolder], plan_of: Callable[..., Any], text: str
) -> None:
    plan = plan_of(("cubic",), 1, flows=2, seconds=4, level="summary")
    plan.runs[0].scenario["flows"][1]["direction"] = "reverse"
    said = section(html.render(model.load(filled(plan)), GENERATED), "corrected")
    assert "rates are those of both directions together, and utilisation is that of forward.0." in said
    assert "both directions" not in section(text, "corrected")


@pytest.mark.parametrize("level", ["series", "summary"])
def test_shares_are_of_what_all_receive_while_all_send(
    filled: Callable[..., ResultFolder], plan_of: Callable[..., Any], level: str
) -> None:
    plan = plan_of(("cubic",), 1, flows=2, seconds=4, level=level)
    plan.runs[0].scenario["flows"][1]["scheme"] = "bbr"
    report = model.load(filled(plan))
    found = shares.of(report)
    assert found.are_together == (level == "series")
    parts = found.cells[0].parts
    received = report.runs[0].recording.table("flows").sort("flow")["received_bytes"].to_list()[1:]
    together = [flow.together_mbps or 0.0 for flow in report.runs[0].summary.flows]
    whole = together if found.are_together else received
    assert [part.percent for part in parts] == pytest.approx([100 * part / sum(whole) for part in whole])
    words = "while all of them send" if found.are_together else "in the whole run"
    assert f"what all receive {words}" in section(html.render(report, GENERATED), "shares")


def test_a_scheme_has_one_colour_wherever_it_meets_others(
    filled: Callable[..., ResultFolder], plan_of: Callable[..., Any]
) -> None:
    plan = plan_of(("one", "two"), 1, flows=2)
    for run, pair in zip(plan.runs, (("prague", "cubic"), ("cubic", "prague")), strict=True):
        for flow, scheme in zip(run.scenario["flows"], pair, strict=True):
            flow["scheme"] = scheme
    first, second = (cell.parts for cell in shares.of(model.load(filled(plan))).cells)
    assert {part.name: part.look for part in first} == {part.name: part.look for part in second}


def test_a_cell_called_after_a_scheme_looks_like_it_whoever_else_sends(
    filled: Callable[..., ResultFolder], plan_of: Callable[..., Any]
) -> None:
    plan = plan_of(("vegas", "bbr"), 1, flows=2, seconds=3)
    for run in plan.runs:
        run.scenario["flows"][1]["scheme"] = "cubic"
    report = model.load(filled(plan))
    assert [group.key for group in report.groups] == ["", ""]
    assert [group.look for group in report.groups] == [looks.SCHEMES["vegas"], looks.SCHEMES["bbr"]]
    assert [cell.parts[0].look for cell in shares.of(report).cells] == [group.look for group in report.groups]


def test_one_flow_is_neither_fair_nor_unfair(
    filled: Callable[..., ResultFolder], plan_of: Callable[..., Any], text: str
) -> None:
    assert "Jain's" in section(text, "corrected")
    assert "Jain's" in section(text, "differences")
    alone = html.render(model.load(filled(plan_of(("cubic", "bbr"), 2, level="summary", flows=1))), GENERATED)
    assert "Retransmissions" in section(alone, "corrected")
    assert "Jain's" not in section(alone, "corrected") + section(alone, "differences")


def test_negative_differences_have_a_minus_sign(india: ResultFolder, text: str) -> None:
    found = tables.differences(model.load(india))
    assert found is not None
    negative = [cell for row in found.rows for cell, _ in row.cells if cell.startswith("-")]
    assert negative
    shown = section(text, "differences")
    for cell in negative:
        assert f" \N{MINUS SIGN}{cell[1:]} " in shown
        assert f" {cell} " not in shown


def test_a_suite_text_is_split_at_its_differences() -> None:
    parts = doc.render("# Title\n\nAbout <b>it</b>.\n\n## What differs\n\nA.\n\n### More\n\nB.\n\n## Next\n\nC.\n")
    assert parts.differences == "<p>A.</p>\n<h5>More</h5>\n<p>B.</p>\n"
    assert parts.about == "<p>About &lt;b&gt;it&lt;/b&gt;.</p>\n<h4>Next</h4>\n<p>C.</p>\n"
    assert doc.render("").differences == ""


def test_unfinished_and_failed_runs_are_told(tmp_path: Path, plan_of: Callable[..., Any]) -> None:
    plan = plan_of(("cubic",), 2, level="summary")
    folder = ResultFolder.create(tmp_path / "r", plan)
    assert "No run has ended yet." in html.render(model.load(folder), GENERATED)
    folder.write_failure(plan.runs[0], "the core said <no>.")
    text = html.render(model.load(folder), GENERATED)
    assert "0 of 2 planned runs are complete" in text
    assert "failed: the core said &lt;no&gt;." in text
    assert Page(text).open == []


def test_the_top_of_the_report_says_why_runs_failed(tmp_path: Path, plan_of: Callable[..., Any]) -> None:
    def banner(folder: ResultFolder) -> str:
        text = html.render(model.load(folder), GENERATED)
        return text[: text.index('class="facts"')].partition('<p class="warning">')[2].partition("</p>")[0]

    plan = plan_of(("cubic", "bbr"), 2, level="summary")
    folder = fill(tmp_path / "r", plan)
    assert banner(folder) == ""
    folder.write_failure(plan.runs[1], "on_loss raised <no>")
    count = "3 of 4 planned runs are complete; the numbers below are over these."
    first = f"{plan.runs[1].id}: failed: on_loss raised &lt;no&gt;"
    assert banner(folder) == f"{count} {first}"
    folder.write_failure(plan.runs[3], "something else")
    assert banner(folder) == f"{count.replace('3', '2')} The first of 2 that ended without numbers: {first}"


def test_the_kernel_of_guests_is_named(
    tmp_path: Path, plan_of: Callable[..., Any], tables_of: Callable[..., Any], page: Page
) -> None:
    plan = plan_of(("cubic",), 1, seconds=3)
    folder = ResultFolder.create(tmp_path / "r", plan)
    folder.write_run(plan.runs[0], tables_of(plan.runs[0].scenario, 1), origin=Origin({"kernel": "7.3.4-abc"}))
    assert "Linux 7.3.4-abc" in Page(html.render(model.load(folder), GENERATED)).text
    assert "Kernel of the guests" not in page.text


@pytest.mark.parametrize("level", ["summary", "series"])
def test_lower_levels(filled: Callable[..., ResultFolder], plan_of: Callable[..., Any], level: str) -> None:
    page = Page(html.render(model.load(filled(plan_of(("cubic",), 1, level=level, flows=7))), GENERATED))
    assert page.open == []
    assert ("run-cubic_run1-data" in page.scripts) == (level == "series")


@pytest.mark.parametrize("suite", ["l4s-tests/s2", "sce-l4s/s3", "mixed/india-ppp0", "bbr-loss/clean"])
def test_the_command_under_a_figure_repeats_its_cell_and_no_other(suite: str) -> None:
    plan = expand(load(suite))
    run = plan.runs[-1]
    *start, settings = commands.run_cell(plan.to_json(), run.cell).split(" ", 3)
    assert start == ["bakeoff", "run", suite]
    words = shlex.split(settings)
    keys = {"--set": "", "--scheme": "scheme="}
    changes = [keys[option] + value for option, value in zip(words[::2], words[1::2], strict=True)]
    again = [found for found in expand(load(suite, changes)).runs if found.repeat == run.repeat]
    assert [(found.cell, found.scenario) for found in again] == [(run.cell, run.scenario)]


def test_the_command_that_repeats_runs_names_their_world() -> None:
    experiment = {"source": "x.toml", "settings": ["--set rate=2Mbit/s"], "world": "sim"}
    assert commands.run_cell(experiment, {}) == "bakeoff run x.toml --set rate=2Mbit/s"
    assert commands.run_cell(experiment | {"world": "emu"}, {}).startswith("sudo bakeoff run x.toml --world emu --set")
    assert commands.run_cell(experiment | {"world": "linux"}, {}).startswith("bakeoff run x.toml --world linux --set")

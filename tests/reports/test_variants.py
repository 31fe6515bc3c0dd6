"""Rows of variants, of what waits for a file, and of schemes that meet on one link."""

from __future__ import annotations

import io
import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from rich.console import Console

from bakeoff.experiment import expand, load
from bakeoff.recording import ResultFolder
from bakeoff.reports import model, shares, summary_columns, terminal
from bakeoff.reports.html import page
from bakeoff.reports.rows import Absent
from bakeoff.worlds import registry, runner

if TYPE_CHECKING:
    from pathlib import Path


def _report(folder: Path, suite: str, *changes: str) -> model.Report:
    plan = expand(load(suite, ["repeats=1", "duration=25s", *changes]))
    results = ResultFolder.create(folder, plan)
    runner.run_plan(plan.runs, results, registry.world("sim").execute, jobs=1, on_finished=lambda _: None)
    return model.load(results)


@pytest.fixture(scope="module")
def india(tmp_path_factory: pytest.TempPathFactory) -> model.Report:
    return _report(
        tmp_path_factory.mktemp("india") / "r", "pantheon/india-ppp0", "matrix.scheme=copa,cubic,indigo_1_32"
    )


def test_a_variant_stands_in_the_row_of_its_name(india: model.Report) -> None:
    copa, cubic = (next(group for group in india.groups if group.key == key) for key in ("copa", "cubic"))
    assert (copa.label, copa.look.marker) == ("Copa", "circle")
    assert copa.published is not None
    assert copa.published.name == "Copa"
    assert cubic.label == "TCP Cubic"


def test_absent_rows_say_why(india: model.Report) -> None:
    absent = {row.name: (row.reason, row.remedy) for row in india.rows if isinstance(row, Absent)}
    remedy = "--set variant.indigo_1_32.parameters.weights=FILE"
    assert absent["Indigo-1-32"] == ("needs a weights file", remedy)
    assert absent["Indigo-2-256"] == ("not in this run", "")
    assert absent["SCReAM"] == ("not implemented yet", "")
    file = io.StringIO()
    terminal.show(india, Console(file=file, width=220))
    assert f"Indigo-1-32 needs a weights file: {remedy}" in file.getvalue()
    name, below = file.getvalue().partition("\nIndigo-1-32 ")[2].splitlines()[:2]
    assert name.split() == [], "published numbers stand below ours, also where there are none"
    assert below.split()[:5] == ["needs", "a", "weights", "file", "0.68"]


def test_claims_see_the_published_row(india: model.Report) -> None:
    claims = {claim.id: claim for claim in india.claims}
    assert claims["cubic-delay"].mean == pytest.approx(1, abs=0.3)
    assert claims["rank-delay"].verdict == "undecided", "two schemes are too few"


def test_schemes_that_meet_have_shares(tmp_path: Path, india: model.Report) -> None:
    assert shares.of(india).cells == []
    pair = 'matrix.pair={cubic-vs-vegas={"flow.1.scheme"="cubic","flow.2.scheme"="vegas"}}'
    report = _report(tmp_path / "r", "mixed/india-ppp0", pair)
    (pair_cell,) = [cell for cell in shares.of(report).cells if cell.label == "cubic-vs-vegas"]
    cubic, vegas = pair_cell.parts
    assert (cubic.name, vegas.name) == ("TCP Cubic", "TCP Vegas")
    assert cubic.percent + vegas.percent == pytest.approx(100)
    assert cubic.percent > 60


def test_a_share_of_the_whole_run_has_what_arrived_after_a_stop(tmp_path: Path) -> None:
    # Behind a deep queue much of it does.
    flows = """[[flow]]
scheme = "cubic"
stop = "1s"
[[flow]]
scheme = "reno"
start = "1s"
"""
    path = MIXED.partition("[[flow]]")[0].replace("1bdp", "2s").replace("20Mbit", "2Mbit")
    report = model.load(_run(tmp_path, f'{path}{flows}[record]\nlevel = "summary"\n'))
    (run,) = report.complete
    (cell,) = (found := shares.of(report)).cells
    assert not found.are_together
    whole = sum(flow.delivered_bytes for flow in run.flows)
    assert [part.percent for part in cell.parts] == [100 * flow.delivered_bytes / whole for flow in run.flows]


MIXED = """
name = "mixed"
duration = "3s"
[[path.forward]]
rate = "20Mbit/s"
delay = "20ms"
queue = { kind = "fifo", limit = "1bdp" }
[[flow]]
scheme = "cubic"
[[flow]]
scheme = "gentle"
[[flow]]
scheme = "harsh"
[variant.gentle]
scheme = "copa"
parameters = { delta = 0.5 }
[variant.harsh]
scheme = "copa"
parameters = { delta = 0.05 }
"""


def _run(folder: Path, text: str) -> ResultFolder:
    file = folder / "mixed.toml"
    file.write_text(text)
    plan = expand(load(str(file)))
    results = ResultFolder.create(folder / "r", plan)
    runner.run_plan(plan.runs, results, registry.world("sim").execute, jobs=1, on_finished=lambda _: None)
    return results


def _opponents(report: model.Report) -> list[str]:
    (cell,) = shares.of(report).cells
    return [part.name for part in cell.parts]


def test_flows_are_called_after_their_variants(tmp_path: Path) -> None:
    # As `bakeoff report` does, from the folder alone.
    report = model.load(ResultFolder.open(_run(tmp_path, MIXED).path))
    assert [heading.split("\n")[1] for heading, _ in summary_columns.of(report)] == ["TCP Cubic", "gentle", "harsh"]
    assert _opponents(report) == ["TCP Cubic", "gentle", "harsh"]
    assert len({look.light for look in report.scheme_looks.values()}) == 3
    (run,) = report.to_json()["runs"]
    assert [(flow["scheme"], flow["name"]) for flow in run["flows"]] == [
        ("cubic", "cubic"),
        ("copa", "gentle"),
        ("copa", "harsh"),
    ]


def test_variants_of_one_scheme_are_opponents(tmp_path: Path) -> None:
    report = model.load(_run(tmp_path, MIXED.replace('[[flow]]\nscheme = "cubic"\n', "")))
    assert _opponents(report) == ["gentle", "harsh"]


def test_flows_of_one_scheme_are_called_after_the_parameters_in_which_they_differ(tmp_path: Path) -> None:
    flows = """[[flow]]
scheme = "copa"
[[flow]]
scheme = "copa"
count = 2
parameters = { delta = 0.05 }
"""
    path = MIXED.partition("[[flow]]")[0]
    assert _opponents(model.load(_run(tmp_path, path + flows))) == ["Copa", "2 Copa delta=0.05"]


def test_recordings_without_names_are_called_after_their_schemes(tmp_path: Path) -> None:
    results = _run(tmp_path, MIXED)
    for file in results.path.rglob("manifest.json"):
        manifest = json.loads(file.read_text())
        del manifest["scenario"]["names"]
        file.write_text(json.dumps(manifest))
    assert _opponents(model.load(results)) == ["TCP Cubic", "2 Copa"]


TWO_WAY = """
name = "two-way"
duration = "5s"
[[path.forward]]
rate = "20Mbit/s"
delay = "20ms"
queue = { kind = "fifo", limit = "1bdp" }
[[path.reverse]]
rate = "10Mbit/s"
delay = "20ms"
queue = { kind = "fifo", limit = "1bdp" }
[[flow]]
scheme = "cubic"
[[flow]]
scheme = "bbr"
[[flow]]
scheme = "vegas"
direction = "reverse"
"""


def test_only_flows_of_one_direction_have_shares(tmp_path: Path) -> None:
    report = model.load(_run(tmp_path, TWO_WAY))
    (cell,) = shares.of(report).cells
    assert (cell.label, cell.jain[0]) == ("all runs, forward", "\N{EN DASH}")
    assert [part.name for part in cell.parts] == ["TCP Cubic", "TCP BBR"]
    assert sum(part.percent for part in cell.parts) == pytest.approx(100)
    total = report.complete[0].total
    assert total is not None
    assert (total.jain, total.convergence_s) == (None, None)


def test_no_capacity_is_drawn_where_flows_go_both_ways(tmp_path: Path) -> None:
    both = TWO_WAY.replace('scheme = "vegas"', 'scheme = "cubic"')
    forward = both.replace('direction = "reverse"', "")
    for text, is_drawn in ((both, False), (forward, True)):
        folder = tmp_path / str(is_drawn)
        folder.mkdir()
        shown = page.context(model.load(_run(folder, text)), datetime(2026, 3, 4, tzinfo=UTC))
        ((_, _, (run,)),) = shown["groups"]
        (figure,) = (figure for figure in run.figures if figure.kind == "throughput")
        assert ("Capacity" in figure.alt, "Shaded" in figure.caption) == (is_drawn, is_drawn)

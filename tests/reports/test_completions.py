"""How long finite transfers took: one number a flow, and percentiles by size and scheme in the report."""

from __future__ import annotations

import io
import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from rich.console import Console

from bakeoff.experiment import expand, load
from bakeoff.recording import ResultFolder
from bakeoff.reports import compare, comparison_table, completions, html, model, terminal, words
from bakeoff.worlds import registry, runner

if TYPE_CHECKING:
    from pathlib import Path

# A packet takes 1 ms of the link and 50 ms each way; the last flow is too large to end.
EXPERIMENT = """
name = "transfers"
duration = "1s"
start_jitter = "0s"
repeats = 2
[[path.forward]]
rate = "12Mbit/s"
delay = "50ms"
queue = { kind = "fq_codel" }
[[flow]]
acks = "each"
handshake = false
traffic = { kind = "finite", size = "1448B" }
count = 3
interval = "200ms"
[[flow]]
traffic = { kind = "finite", size = "1GB" }
start = "700ms"
[[flow]]
scheme = "bbr"
start = "700ms"
[matrix]
scheme = ["cubic", "reno"]
"""


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> model.Report:
    return _report(tmp_path_factory.mktemp("transfers"), EXPERIMENT)


def _report(folder: Path, text: str) -> model.Report:
    (folder / "x.toml").write_text(text)
    plan = expand(load(str(folder / "x.toml")))
    results = ResultFolder.create(folder / "r", plan)
    runner.run_plan(plan.runs, results, registry.world("sim").execute, jobs=1, on_finished=lambda _: None)
    return model.load(results)


def _printed(report: model.Report, width: int) -> str:
    file = io.StringIO()
    terminal.show(report, Console(file=file, width=width))
    return file.getvalue()


def test_a_transfer_takes_from_its_start_to_the_last_ack(report: model.Report) -> None:
    times = [[flow.completion_s for flow in run.flows] for run in report.complete]
    assert times == [[0.101, 0.101, 0.101, None, None]] * 4


def test_transfers_are_told_by_size_and_scheme(report: model.Report) -> None:
    small, large, *others = completions.of(report)
    assert (small.label, small.name) == ("TCP Cubic", "1.448 kB, TCP Cubic")
    assert (small.count, small.completed, small.times) == (6, 6, ["0.101"] * 3)
    assert (large.name, large.count, large.completed, large.times) == ("1 GB, TCP Cubic", 2, 0, [words.MISSING] * 3)
    assert [row.label for row in others] == ["TCP Reno"] * 2


def test_where_all_have_one_scheme_the_size_is_enough(tmp_path: Path) -> None:
    report = _report(tmp_path, EXPERIMENT.replace('scheme = "bbr"', ""))
    assert [(row.label, row.name) for row in completions.of(report)][:2] == [
        ("TCP Cubic", "1.448 kB"),
        ("TCP Cubic", "1 GB"),
    ]


@pytest.mark.parametrize("width", [200, 40])
def test_completion_times_are_shown(report: model.Report, width: int) -> None:
    text = " ".join(_printed(report, width).split())
    assert "Completion times" in text
    assert "6 of 6" in text
    assert "0 of 2" in text
    page = html.render(report, datetime(2026, 1, 1, tzinfo=UTC))
    assert page.count("<td>6 of 6</td><td><b>0.101</b></td>") == 2
    assert '<a href="#completions">' in page


def test_two_folders_are_compared_by_the_median_of_each_size(report: model.Report, tmp_path: Path) -> None:
    # Each packet takes 2 ms of this link.
    slower = _report(tmp_path, EXPERIMENT.replace("12Mbit/s", "6Mbit/s"))
    found = compare.compare(slower.path, report.path)
    lines = [line for line in found.lines if line.metric == "completion_s" and line.row == "TCP Cubic"]
    assert [(line.transfers, line.flow) for line in lines] == [("1.448 kB, TCP Cubic", None), ("1 GB, TCP Cubic", None)]
    small, large = lines
    assert (small.left, small.right, small.is_paired, small.verdict) == (0.102, 0.101, True, "higher")
    assert (large.left, large.right, large.verdict) == (None, None, "")
    file = io.StringIO()
    comparison_table.show(found, Console(file=file, width=200))
    assert re.search(r"1.448 kB, TCP Cubic +completion_s +0.102\d* +0.101", file.getvalue())
    assert "The completion_s of transfers of one size is the median of a run" in file.getvalue()


def test_a_transfer_that_did_not_complete_is_the_last(report: model.Report, tmp_path: Path) -> None:
    # Of three, one starts less than 101 ms before the end, and then two.
    late = EXPERIMENT.replace("200ms", "470ms")
    group, _ = _report(tmp_path, late).groups
    assert [*completions.medians(group)[1448, "cubic"].values()] == [0.101] * 2
    (tmp_path / "most").mkdir()
    later = EXPERIMENT.replace('interval = "200ms"', 'interval = "20ms"\nstart = "880ms"')
    group, _ = _report(tmp_path / "most", later).groups
    assert completions.medians(group)[1448, "cubic"] == {}


def test_without_transfers_there_is_no_word_of_them(tmp_path: Path) -> None:
    bulk = EXPERIMENT.replace('traffic = { kind = "finite", size = "1448B" }', "").replace(
        'traffic = { kind = "finite", size = "1GB" }', ""
    )
    report = _report(tmp_path, bulk)
    assert completions.of(report) == []
    assert "Completion times" not in _printed(report, 200)
    assert "completions" not in html.render(report, datetime(2026, 1, 1, tzinfo=UTC))

"""Reports show probes where there are some."""

from __future__ import annotations

import io
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from rich.console import Console

from bakeoff.experiment import expand, load
from bakeoff.recording import ResultFolder
from bakeoff.reports import html, model, terminal
from bakeoff.reports.html import encode, run_figures
from bakeoff.worlds import sim

if TYPE_CHECKING:
    from pathlib import Path

FILE = """
name = "x"
duration = "3s"
repeats = 2
[[path.forward]]
rate = "12Mbit/s"
delay = "20ms"
queue = { limit = "20pkt" }
[[flow]]
scheme = "reno"
"""
PROBES = """
[[probe]]
interval = "10ms"
[[probe]]
direction = "reverse"
[[claim]]
id = "latency"
says = "the queue adds no more than it holds"
measure = "probe1.rtt_p99_ms"
expect = "<= 61"
"""


def report(folder: Path, text: str) -> model.Report:
    file = folder / "x.toml"
    file.write_text(text, encoding="utf-8")
    plan = expand(load(str(file)))
    results = ResultFolder.create(folder / "results", plan)
    for run in plan.runs:
        results.write_run(run, sim.execute(run).tables)
    return model.load(results)


def test_rates_of_a_link_that_slows_down_are_not_cut_off(tmp_path: Path) -> None:
    schedule = 'rate = { schedule = [{ at = "0s", rate = "12Mbit/s" }, { at = "1s", rate = "1Mbit/s" }] }'
    shown = report(tmp_path, FILE.replace('rate = "12Mbit/s"', schedule) + PROBES)
    figure = run_figures.figures(shown.runs[0], encode.Pack(), 1000, {})["responsiveness"]
    assert figure["choices"][0]["left"]["range"] == [0, pytest.approx(12, rel=1e-3)]


def printed(shown: model.Report, width: int) -> str:
    file = io.StringIO()
    terminal.show(shown, Console(file=file, width=width, highlight=False))
    return file.getvalue()


@pytest.mark.parametrize("width", [120, 40])
def test_the_terminal_has_a_line_a_probe(tmp_path: Path, width: int) -> None:
    shown = report(tmp_path, FILE + PROBES)
    text = printed(shown, width)
    assert max(map(len, text.splitlines())) <= width
    runs = [run.summary.probes[0] for run in shown.runs]
    medians = [probe.rtt_p50_ms or 0 for probe in runs]
    lost, sent = sum(probe.lost_packets for probe in runs), sum(probe.sent_packets for probe in runs)
    words = " ".join(text.split())
    assert f"probe 1: round trip (ms) {sum(medians) / 2:.2f} median, " in words
    assert f"; {lost} of {sent} lost" in words
    assert "probe 2: round trip" in words
    assert shown.claims[0].verdict == "holds"


def test_the_page_has_a_figure_of_them(tmp_path: Path) -> None:
    text = html.render(report(tmp_path, FILE + PROBES), datetime(2026, 3, 4, tzinfo=UTC))
    assert text.count("Round trip of probes over time</h") == 2
    assert '"unit": "Round trip (ms)"' in text or '"unit":"Round trip (ms)"' in text


def test_figures_and_path_name_what_they_show(tmp_path: Path) -> None:
    marked = (
        FILE.replace('queue = { limit = "20pkt" }', 'queue = { kind = "dualpi2" }')
        + '[[probe]]\n[[probe]]\necn = "ect1"\n'
    )
    text = html.render(report(tmp_path, marked), datetime(2026, 3, 4, tzinfo=UTC))
    assert "Probe 2, ECT(1) (95th percentile" in text
    assert "Probe 1 (95th percentile" in text
    assert "Flow 1, TCP Reno" in text.replace("Flow 1, TCP Reno (mean", "")
    assert "dualpi2 queue" in text
    assert "no limit" not in text


def test_nothing_is_said_of_probes_that_were_not_there(tmp_path: Path) -> None:
    shown = report(tmp_path, FILE)
    assert "probe" not in printed(shown, 120)
    assert "Round trip" not in html.render(shown, datetime(2026, 3, 4, tzinfo=UTC))

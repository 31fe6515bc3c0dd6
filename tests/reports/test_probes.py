"""Reports show probes where there are some."""

from __future__ import annotations

import base64
import io
import zlib
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from rich.console import Console

from bakeoff.experiment import expand, load
from bakeoff.recording import ResultFolder
from bakeoff.reports import html, model, terminal
from bakeoff.reports.html import encode, run_figures
from bakeoff.worlds import sim

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

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
    # Nothing is lost, so that goodput stays below the rate of the link.
    text = FILE.replace('rate = "12Mbit/s"', schedule).replace("20pkt", "2000pkt")
    shown = report(tmp_path, text + PROBES)
    figure = run_figures.figures(shown.runs[0], encode.Pack(), 1000, {})["responsiveness"]
    assert figure["choices"][0]["left"]["range"] == [0, pytest.approx(12, rel=1e-3)]


def _responsiveness(folder: Path, text: str) -> tuple[dict[str, Any], list[NDArray[np.float32]]]:
    """The figure, and the curves of its series."""
    pack = encode.Pack()
    figure = run_figures.figures(report(folder, text).runs[0], pack, 1000, {})["responsiveness"]
    planes = np.frombuffer(zlib.decompress(base64.b64decode(pack.encode())), dtype=np.uint8).reshape(4, -1)
    values = np.ascontiguousarray(planes.T).view("<f4").ravel()
    places = [entry["y"] for entry in figure["choices"][0]["series"]]
    return figure, [values[start : start + count] for start, count in places]


BESIDE = FILE.replace("20pkt", "2000pkt") + '[[flow]]\nscheme = "bbr"\nstart = "1s"\n[[probe]]\nkind = "ping"\n'


def test_the_axes_hold_what_is_drawn(tmp_path: Path) -> None:
    figure, curves = _responsiveness(tmp_path, BESIDE)
    shown = figure["choices"][0]
    tops = {False: shown["left"]["range"][1], True: shown["right"]["range"][1]}
    for entry, curve in zip(shown["series"], curves, strict=True):
        assert np.nanmax(curve) <= tops["right" in entry] * (1 + 1e-6), entry["label"]
    largest = max(np.nanmax(curve) for entry, curve in zip(shown["series"], curves, strict=True) if "right" in entry)
    assert largest > 140, "a round trip that the fixed scale would cut off"
    assert [choice["name"] for choice in figure["choices"]] == [
        "to the largest round trip",
        "fixed, without what is above 140 ms",
    ]


def test_round_trips_are_in_milliseconds_above_those_of_the_empty_path(tmp_path: Path) -> None:
    figure, curves = _responsiveness(tmp_path, BESIDE)
    assert [choice["right"]["range"][0] for choice in figure["choices"]] == [40.0, 40.0]
    for entry, curve in zip(figure["choices"][0]["series"], curves, strict=True):
        if "right" in entry:
            assert 40 <= np.nanmin(curve) <= np.nanmax(curve) < 2000, entry["label"]


def test_a_gap_that_is_filled_is_not_cut_off(tmp_path: Path) -> None:
    """What waited for a lost packet is handed over at once, at more than the rate of the link."""
    figure, curves = _responsiveness(tmp_path, FILE + PROBES)
    fastest = np.nanmax(curves[0])
    assert fastest > 1.2 * 12
    assert figure["choices"][0]["left"]["range"] == [0, pytest.approx(fastest)]


def test_nothing_is_drawn_before_a_flow_starts(tmp_path: Path) -> None:
    _, (first, second, *_) = _responsiveness(tmp_path, BESIDE)
    assert np.isnan(second[:10]).all()
    assert not np.isnan(second[12:]).any()
    assert not np.isnan(first[2:]).any()


def test_nothing_is_drawn_after_a_flow_has_stopped(tmp_path: Path) -> None:
    _, (curve, *_) = _responsiveness(tmp_path, FILE + 'stop = "1500ms"\n' + PROBES)
    assert not np.isnan(curve[2:15]).any()
    assert np.isnan(curve[20:]).all()


def test_labels_say_what_sends(tmp_path: Path) -> None:
    figure, _ = _responsiveness(tmp_path, BESIDE + '[[probe]]\necn = "ect1"\n')
    names = [entry["label"].partition(" (")[0] for entry in figure["choices"][0]["series"][2:]]
    assert names == ["Round trip of flow 1", "Round trip of flow 2", "Probe 1, ping", "Probe 2, ECT(1)"]


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
    high, highest = (sum(getattr(probe, f"rtt_{name}_ms") for probe in runs) / 2 for name in ("p95", "p99"))
    assert (
        f"probe 1: round trip (ms) {sum(medians) / 2:.2f} median, {high:.2f} 95th-%ile, {highest:.2f} 99th-%ile; "
    ) in words
    assert high < highest
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

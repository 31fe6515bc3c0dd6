"""The figure of the senders' inner state: each quantity with the unit of the scheme whose it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from bakeoff.experiment import expand, load
from bakeoff.recording import ResultFolder
from bakeoff.reports import model
from bakeoff.reports.html import encode, run_figures, telemetry_figure
from bakeoff.worlds import sim

if TYPE_CHECKING:
    from pathlib import Path

FLOWS = """
name = "x"
duration = "2s"
[[path.forward]]
rate = "12Mbit/s"
delay = "10ms"
queue = { kind = "fifo", limit = "20pkt" }
[[flow]]
scheme = "ledbat"
[[flow]]
scheme = "verus"
[[flow]]
scheme = "cubic"
[[flow]]
scheme = "quic_cubic"
"""


def test_what_two_schemes_call_alike_is_drawn_apart(tmp_path: Path) -> None:
    file = tmp_path / "x.toml"
    file.write_text(FLOWS, encoding="utf-8")
    (run,) = (plan := expand(load(str(file)))).runs
    results = ResultFolder.create(tmp_path / "results", plan)
    results.write_run(run, sim.execute(run).tables)
    figure = run_figures.figures(model.load(results).runs[0], encode.Pack(), 1000, {})["telemetry"]
    drawn = {choice["unit"]: [curve["label"] for curve in choice["series"]] for choice in figure["choices"]}
    assert drawn["window (bytes)"] == ["Flow 1, LEDBAT", "Flow 4, QUIC Cubic"]
    assert drawn["window (packets)"] == ["Flow 2, Verus"]
    assert drawn["w_max (packets)"] == ["Flow 3, TCP Cubic"]
    assert drawn["w_max (bytes)"] == ["Flow 4, QUIC Cubic"]
    assert len(drawn["cwnd (packets)"]) == 4
    # All of them at the same times.
    (window,) = (choice for choice in figure["choices"] if choice["unit"] == "cwnd (packets)")
    telemetry = results.recordings()[0].table("telemetry").filter(pl.col("name") == "cwnd")
    assert window["x"][1] == telemetry["t_ns"].n_unique() < telemetry.height
    assert next(iter(drawn)) == "cwnd (packets)"


def test_a_scheme_that_the_core_lacks_has_the_units_of_the_transport() -> None:
    assert telemetry_figure.units("kernel:nosuch")["srtt"] == "ms"
    assert "w_max" not in telemetry_figure.units("kernel:nosuch")

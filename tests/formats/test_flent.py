"""Flent itself reads and draws our files, and its numbers are ours."""

from __future__ import annotations

import csv
import gzip
import importlib.metadata
import json
import os
import re
import subprocess
import sys
from datetime import datetime
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from bakeoff.errors import UserError
from bakeoff.formats import flent
from bakeoff.metrics import summarise
from bakeoff.metrics.fairness import jain
from bakeoff.recording import ResultFolder

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

TROUBLE = re.compile(r"warning|error|traceback|no data", re.IGNORECASE)


@pytest.fixture(scope="session")
def exported(office: ResultFolder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    (path,) = flent.write(office.recordings()[0], "office", tmp_path_factory.mktemp("flent"))
    return path


def run_flent(path: Path, *words: str) -> str:
    """What Flent prints on stdout; it complains on stderr and exits with 0 all the same."""
    command = [sys.executable, "-m", "flent", "-i", str(path), *words]
    environment = os.environ | {"MPLBACKEND": "Agg", "HOME": str(path.parent), "MPLCONFIGDIR": str(path.parent)}
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=250, env=environment)
    assert not TROUBLE.search(done.stderr), done.stderr
    return done.stdout


def test_flent_reads_a_recording_of_real_packets(of_kernel: ResultFolder, tmp_path: Path) -> None:
    recording = of_kernel.recordings()[0]
    (path,) = flent.write(recording, "office", tmp_path)
    text = run_flent(path, "-f", "summary")
    (ping,) = [line.split() for line in text.splitlines() if line.strip().startswith("Ping (ms) ICMP")]
    (probe,) = summarise(recording).probes
    assert float(ping[5]) == pytest.approx(probe.rtt_p50_ms, rel=0.02)


@pytest.mark.parametrize(
    "plot", ["totals", "ping_cdf", pytest.param("box_totals", marks=pytest.mark.slow), "upload_with_ping_and_tcp_rtt"]
)
def test_flent_draws_it(exported: Path, tmp_path: Path, plot: str) -> None:
    image = tmp_path / f"{plot}.png"
    run_flent(exported, "-p", plot, "--fallback-layout", "-o", str(image))
    assert image.stat().st_size > 10_000


def test_its_statistics_are_ours(exported: Path, office: ResultFolder) -> None:
    recording = office.recordings()[0]
    text = run_flent(exported, "-f", "stats").split(":\n", 1)[1]
    totals = {
        name: float(total)
        for name, total in re.findall(r"^ (.+?):\n  Data points: \d+\n  Total: +([\d.]+) Mbits$", text, re.MULTILINE)
    }
    flows = recording.table("flows")
    for number in (1, 2):
        goodput = flows.filter(pl.col("flow") == number)["goodput_bytes"][0]
        assert totals[f"TCP upload::{number}"] == pytest.approx(goodput * 8 / 1e6, rel=1e-6)
    assert totals["TCP upload sum"] == pytest.approx(flows["goodput_bytes"][0] * 8 / 1e6, rel=1e-6)
    round_trips = recording.table("probes")["rtt_ns"].drop_nulls() / 1e6
    pings = text.split(" Ping (ms) ICMP:\n")[1]
    low, high = (float(re.findall(rf"  {word}: +([\d.]+) ms", pings)[0]) for word in ("Min", "Max"))
    assert (low, high) == pytest.approx((round_trips.min(), round_trips.max()), rel=1e-6)


def test_its_table_is_ours(exported: Path, office: ResultFolder) -> None:
    recording = office.recordings()[0]
    rows = list(csv.DictReader(run_flent(exported, "-f", "csv").splitlines()[1:]))
    series = recording.table("series")
    start_ns = recording.table("flows").filter(pl.col("flow") == 2)["start_ns"][0]
    first = start_ns // 100_000_000
    ours = series.filter((pl.col("flow") == 2) & (pl.col("t_ns") >= first * 100_000_000))["goodput_bytes"] * 8e-5
    theirs = [float(row["TCP upload::2"]) for row in rows if row["TCP upload::2"]]
    assert theirs == pytest.approx(list(ours.to_list()))
    both = [row for row in rows if row["TCP upload::1"] and row["TCP upload::2"]]
    shares = [float(both[-1]["TCP upload::1"]), float(both[-1]["TCP upload::2"])]
    assert float(both[-1]["TCP upload fairness"]) == pytest.approx(jain(shares))
    assert float(both[-1]["TCP upload avg"]) == pytest.approx(sum(shares) / 2)
    # The grid is Flent's: the run begins after 5 s, and so does flow 2 a little after 3 s more.
    at = [float(row["x"] if "x" in row else next(iter(row.values()))) for row in rows if row["TCP upload::2"]]
    assert at[0] == pytest.approx(5 + (first + 1) / 10)


def test_names_are_those_of_a_test_that_has_such_flows() -> None:
    assert flent._stream_names(["forward"]) == ["TCP upload"]
    assert flent._test_of(1, 0) == "tcp_1up"
    assert flent._stream_names(["reverse"] * 2) == ["TCP download::1", "TCP download::2"]
    assert flent._test_of(0, 2) == "tcp_ndown"
    assert flent._stream_names(["forward", "reverse"]) == ["TCP upload BE::1", "TCP download BE::1"]
    assert flent._test_of(1, 1) == "rrul_be_nflows"
    assert importlib.metadata.version("flent").startswith("2.3.")


def test_a_run_without_series_is_refused(filled: Callable[..., ResultFolder], plan_of: Callable[..., Any]) -> None:
    recording = filled(plan_of(("cubic",), 1, level="summary")).recordings()[0]
    with pytest.raises(UserError, match=r'cubic_run1: recorded at level "summary".*--set record.level=series'):
        flent.encode(recording, "x")


def test_a_file_holds_what_flent_needs(exported: Path) -> None:
    value = json.loads(gzip.decompress(exported.read_bytes()))
    assert value["version"] == 4
    assert value["metadata"]["NAME"] == "tcp_nup"
    assert all(len(values) == len(value["x_values"]) for values in value["results"].values())
    assert value["metadata"]["TOTAL_LENGTH"] == 22
    sample = value["raw_values"]["TCP upload::2"][5]
    assert set(sample) == {"t", "val", "dur", "tcp_rtt", "tcp_cwnd", "tcp_pacing_rate"}


def test_what_is_known_of_a_sender_has_the_units_of_flent(exported: Path, office: ResultFolder) -> None:
    value = json.loads(gzip.decompress(exported.read_bytes()))
    telemetry = office.recordings()[0].table("telemetry").filter(pl.col("flow") == 2)
    samples = value["raw_values"]["TCP upload::2"]
    for name, key, factor in (
        ("srtt", "tcp_rtt", 1),
        ("cwnd", "tcp_cwnd", 1),
        ("pacing_rate", "tcp_pacing_rate", 1e-6),
    ):
        ours = telemetry.filter(pl.col("name") == name).sort("t_ns")["value"] * factor
        theirs = [sample[key] for sample in samples if key in sample]
        assert theirs == pytest.approx(ours.to_list()[: len(theirs)]), key


def test_the_end_of_an_interval_is_on_the_grid() -> None:
    clock = flent._Clock(0.0, 0.02, 1000)
    assert [clock.step(place * 20_000_000) for place in range(600)] == list(range(250, 850))
    assert clock.step(20_000_001) == 252


def test_an_interval_that_ends_after_its_flow_is_there(
    filled: Callable[..., ResultFolder], plan_of: Callable[..., Any]
) -> None:
    plan = plan_of(("cubic",), 1, flows=2, seconds=4, level="series")
    plan.runs[0].scenario["flows"][0]["stop_ns"] = 1_050_000_000
    value = json.loads(gzip.decompress(flent.encode(filled(plan).recordings()[0], "x")))
    first, second = (value["raw_values"][f"TCP upload::{number}"] for number in (1, 2))
    # From 0 to 1.1 s, and from 2 to 4 s.
    assert (len(first), len(second)) == (11, 20)


def test_the_means_that_flent_shows_are_our_goodputs(exported: Path, office: ResultFolder) -> None:
    text = run_flent(exported, "-f", "summary")
    means = {name: float(mean) for name, mean in re.findall(r"^ +(.+?) +: +([\d.]+)", text, re.MULTILINE)}
    flows = [float(flow.goodput_mbps or 0) for flow in summarise(office.recordings()[0]).flows]
    assert [means["TCP upload::1"], means["TCP upload::2"]] == pytest.approx(flows, abs=0.006)
    # As Flent's ComputingRunner has it: over the means of the flows, whenever these were there.
    assert means["TCP upload avg"] == pytest.approx(sum(flows) / 2, abs=0.006)
    assert means["TCP upload sum"] == pytest.approx(sum(flows), abs=0.006)
    assert means["TCP upload fairness"] == pytest.approx(jain(flows), abs=0.006)


def test_the_mean_of_a_flow_of_few_intervals_is_over_the_time_that_it_took(
    filled: Callable[..., ResultFolder], plan_of: Callable[..., Any]
) -> None:
    plan = plan_of(("cubic",), 1, flows=1, seconds=4, level="series")
    plan.runs[0].scenario["flows"][0]["start_ns"] = 3_675_000_000
    recording = filled(plan).recordings()[0]
    value = json.loads(gzip.decompress(flent.encode(recording, "x")))
    # A quarter of an interval, and three whole ones.
    assert len(value["raw_values"]["TCP upload"]) == 4
    goodput_bits = recording.table("flows")["goodput_bytes"][1] * 8
    mean = value["metadata"]["SERIES_META"]["TCP upload"]["MEAN_VALUE"]
    assert mean == pytest.approx(goodput_bits / 0.325 / 1e6)


def test_pings_have_their_mean_in_each_step_and_as_a_whole(
    plan_of: Callable[..., Any], tables_of: Callable[..., Any], tmp_path: Path
) -> None:
    plan = plan_of(("cubic",), 1, level="series")
    run = plan.runs[0]
    run.scenario["probes"] = [{}]
    # Answers arrive at 1.03, 1.084 and 1.312 s; one never does.
    probes = {"probe": [1] * 4, "sent_ns": [10**9, 1_050_000_000, 1_100_000_000, 1_300_000_000]}
    probes["rtt_ns"] = [30_000_000, 34_000_000, -1, 12_000_000]
    folder = ResultFolder.create(tmp_path / "results", plan)
    folder.write_run(run, tables_of(run.scenario, 1) | {"probes": pl.DataFrame(probes)})
    value = json.loads(gzip.decompress(flent.encode(folder.recordings()[0], "x")))
    grid = dict(zip(value["x_values"], value["results"]["Ping (ms) ICMP"], strict=True))
    # The run begins 5 s into the file.
    assert {x: mean for x, mean in grid.items() if mean is not None} == pytest.approx({6.1: 32, 6.4: 12})
    assert value["metadata"]["SERIES_META"]["Ping (ms) ICMP"]["MEAN_VALUE"] == pytest.approx(76 / 3)
    # Each sample is of the time at which it came, and the file goes on for 5 s after the run of 30 s.
    begun_s = datetime.fromisoformat(value["metadata"]["T0"]).timestamp()
    arrivals = [sample["t"] - begun_s for sample in value["raw_values"]["Ping (ms) ICMP"]]
    assert arrivals == pytest.approx([6.03, 6.084, 6.312], abs=1e-5)
    assert (len(value["x_values"]), value["x_values"][-1]) == (401, 40)


def test_an_interval_may_end_after_the_file(filled: Callable[..., ResultFolder], plan_of: Callable[..., Any]) -> None:
    plan = plan_of(("cubic",), 1, flows=1, seconds=4, level="series")
    plan.runs[0].scenario["record"]["interval_ns"] = 8_000_000_000
    value = json.loads(gzip.decompress(flent.encode(filled(plan).recordings()[0], "x")))
    assert value["x_values"] == [0, 8]
    assert value["results"] == {"TCP upload": [None, None]}
    assert len(value["raw_values"]["TCP upload"]) == 1

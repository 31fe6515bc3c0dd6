"""Probes, from the experiment file to the numbers of a run, in the simulator and on a real kernel."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from bakeoff.errors import RunFailed
from bakeoff.experiment import expand
from bakeoff.experiment.catalogue import of_core
from bakeoff.experiment.load import check_source
from bakeoff.experiment.source import Source
from bakeoff.kernel import cache
from bakeoff.metrics import run_to_json, summarise
from bakeoff.recording import ResultFolder
from bakeoff.worlds import linux, sim

if TYPE_CHECKING:
    from collections.abc import Callable

    import polars as pl

    from bakeoff.experiment import Plan
    from bakeoff.worlds.outcome import Outcome

# 84 bytes at 12 Mbit/s, and 20 ms each way.
BASE_NS = 40_056_000


def plan(flow: dict[str, Any], *probes: dict[str, Any], limit: str = "60pkt", duration: str = "10s") -> Plan:
    raw: dict[str, Any] = {
        "name": "probes",
        "duration": duration,
        "start_jitter": "0s",
        "record": {"level": "summary"},
        "path": {"forward": [{"rate": "12Mbit/s", "delay": "20ms", "queue": {"limit": limit}}]},
        "flow": [flow],
    }
    if probes:
        raw["probe"] = list(probes)
    return expand(check_source(Source("x.toml", Path(), raw, ""), [], of_core()))


def far_from(values: pl.Series, expected: pl.Series | int) -> int:
    """The largest difference, in the unit of the values."""
    return max(abs(int(value)) for value in values - expected)


def probes_of(execute: Callable[..., Outcome], planned: Plan) -> pl.DataFrame:
    return execute(planned.runs[0]).tables["probes"]


@pytest.fixture
def in_linux() -> Callable[..., Outcome]:
    """The linux world, if this machine can run it."""
    try:
        cache.default()
    except RunFailed as error:
        pytest.skip(str(error))
    return linux.execute


IDLE = plan({"scheme": "cubic", "start": "4s"}, {"start": "10ms", "stop": "3900ms"}, duration="5s")


def test_without_probes_nothing_is_added() -> None:
    planned = plan({"scheme": "cubic"})
    assert "probes" not in planned.runs[0].scenario
    assert "probes" not in sim.execute(planned.runs[0]).tables


def test_an_idle_path_shows_its_round_trip() -> None:
    table = probes_of(sim.execute, IDLE)
    assert table["rtt_ns"].to_list() == [BASE_NS] * 39
    assert table["sent_ns"][1] == 110_000_000


def test_an_idle_path_of_the_kernel_shows_its_round_trip(in_linux: Callable[..., Outcome]) -> None:
    table = probes_of(in_linux, IDLE)
    assert table.height == 39
    assert far_from(table["sent_ns"], probes_of(sim.execute, IDLE)["sent_ns"]) <= 2_000
    assert far_from(table["rtt_ns"], BASE_NS) <= 2_000
    assert far_from(table["request_ns"], BASE_NS - 20_000_000) <= 2_000


def test_worlds_agree_on_the_queue_that_a_flow_builds(in_linux: Callable[..., Outcome]) -> None:
    planned = plan({"scheme": "cubic"}, {"interval": "20ms", "start": "2s"}, duration="20s")
    ours, kernels = (probes_of(execute, planned) for execute in (sim.execute, in_linux))
    medians = [table["rtt_ns"].filter(table["rtt_ns"] >= 0).median() for table in (ours, kernels)]
    assert medians[0] == pytest.approx(medians[1], rel=0.05)


def test_probes_of_a_kernel_add_up(in_linux: Callable[..., Outcome]) -> None:
    far = {"scheme": "cubic", "extra_delay": "5ms", "ecn": "classic"}
    probes = [{"interval": "2ms", "ecn": "ect1"}, {"interval": "7ms", "size": "1000B", "direction": "reverse"}]
    tables = in_linux(plan(far, *probes, limit="5pkt", duration="4s").runs[0]).tables
    rows, hops, flows = tables["probes"], tables["hops"], tables["flows"]
    assert set(rows["fate"]) == {"received", "dropped", "inside"}
    assert rows.filter(rows["probe"] == 2).height == -(-4_000 // 7)
    requests = rows.filter(rows["probe"] == 1)
    answers = rows.filter((rows["probe"] == 2) & (rows["request_ns"] >= 0))
    # Requests of the first probe and answers to the second take the bottleneck; packets of the flow may not have come
    # so far.
    waiting = flows["sent_packets"][1] + requests.height + answers.height - hops["in_packets"][0]
    assert 0 <= waiting <= 10


def test_a_run_with_probes_is_summarised(tmp_path: Path) -> None:
    planned = plan({"scheme": "cubic"}, {"interval": "10ms"}, {"start": "1s", "direction": "reverse"}, limit="20pkt")
    folder = ResultFolder.create(tmp_path / "r", planned)
    folder.write_run(planned.runs[0], sim.execute(planned.runs[0]).tables)
    recording = folder.recordings()[0]
    rows = recording.table("probes")
    found = json.loads(json.dumps(run_to_json(summarise(recording))))["probes"]
    assert [(probe["probe"], probe["sent_packets"]) for probe in found] == [(1, 1000), (2, 90)]
    assert found[0]["lost_packets"] == rows.filter((rows["probe"] == 1) & (rows["fate"] == "dropped")).height > 0
    assert rows["rtt_ns"].null_count() == rows.filter(rows["fate"] != "received").height
    for probe in found:
        assert BASE_NS / 1e6 <= probe["rtt_p50_ms"] <= probe["rtt_p95_ms"] <= probe["rtt_p99_ms"] <= 61

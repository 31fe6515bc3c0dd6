"""Queues and path elements held to the real kernel's, as `test_against_kernel` holds the transport and its schemes.

`BAKEOFF_BLESS=1` writes the numbers anew from the kernel in the cache; read the difference before you commit it.
"""

from __future__ import annotations

import os
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING

import polars as pl
import pytest

from bakeoff.errors import RunFailed
from bakeoff.experiment import expand, load
from bakeoff.kernel import cache
from bakeoff.worlds import linux, sim

if TYPE_CHECKING:
    from collections.abc import Callable

    from bakeoff.experiment import PlannedRun
    from bakeoff.worlds.outcome import Outcome

GOLDEN = Path(__file__).parent / "golden" / "linux_elements.txt"
COLUMNS = ("received", "dropped", "marked", "queue_p95_us")
# Means of three seeds, because most queues decide by chance and two flows share by chance. Elements are on the hop in
# the middle: in the guest, flows with and without ECN have hosts of their own, and each pair of them its own last wire.
EXPERIMENT = """
name = "elements"
duration = "15s"
repeats = 3

[[path.forward]]
rate = "10Mbit/s"
delay = "20ms"
queue = { kind = "fifo", limit = "1bdp" }

[[path.forward]]
delay = "1ms"

[[path.forward]]
delay = "1ms"

[[flow]]
scheme = "cubic"

[[flow]]
scheme = "cubic"
ecn = "classic"
dscp = 4
start = "1s"

[matrix.way]
codel = { "path.forward.0.queue" = { kind = "codel", ecn = true } }
fq_codel = { "path.forward.0.queue" = { kind = "fq_codel" } }
one_line = { "path.forward.0.queue" = { kind = "fq_codel", flows = 1 } }
cake = { "path.forward.0.queue" = { kind = "cake", diffserv = "besteffort" } }
pie = { "path.forward.0.queue" = { kind = "pie", ecn = true } }
fq_pie = { "path.forward.0.queue" = { kind = "fq_pie", ecn = true } }
red = { "path.forward.0.queue" = { kind = "red", limit = "400kB", ecn = true } }
dualpi2 = { "path.forward.0.queue" = { kind = "dualpi2" } }
fq = { "path.forward.0.queue" = { kind = "fq" } }
pfifo_fast = { "path.forward.0.queue" = { kind = "pfifo_fast" } }
tokens = { "path.forward.0.rate" = { token_bucket = "10Mbit/s", burst = "30kB" } }
peak = { "path.forward.0.rate" = { token_bucket = "10Mbit/s", burst = "30kB", peak = "40Mbit/s" } }
bursts = { "path.forward.1.loss" = { to_bad = "0.1%", to_good = "20%" } }
ahead = { "path.forward.1.delay" = "5ms", "path.forward.1.reorder" = { probability = "20%", gap = 50 } }
"""

# Where no law decides by chance, the two are as good as the same.
WITHOUT_CHANCE = ("pfifo_fast", "tokens", "peak", "bursts", "ahead")


# A flow that comes later finds the band of the other one at work, and waits until that has used its credit up.
SECOND_FLOW = """
name = "second-flow"
duration = "6s"
repeats = 2
record.level = "packets"

[[path.forward]]
rate = "10Mbit/s"
delay = "1ms"
queue = "fq"

[[path.forward]]
delay = "20ms"

[[flow]]
scheme = "cubic"

[[flow]]
scheme = "cubic"
start = "5s"
"""
# What the kernel gave: the waits of each run's handshake and first seven packets, in tenths of a millisecond.
SECOND_FLOW_WAITS = [[1549, 12, 12, 24, 36, 48, 60, 72], [1310, 12, 12, 24, 36, 48, 60, 72]]


def runs(folder: Path) -> dict[str, list[PlannedRun]]:
    """The runs of each way."""
    file = folder / "elements.toml"
    file.write_text(EXPERIMENT, encoding="utf-8")
    found: dict[str, list[PlannedRun]] = {}
    for run in expand(load(str(file), [])).runs:
        found.setdefault(run.cell["way"], []).append(run)
    return found


def numbers(outcome: Outcome) -> tuple[int, ...]:
    flows, hops = (outcome.tables[name].row(0, named=True) for name in ("flows", "hops"))
    counts = flows["received_packets"], flows["dropped_packets"], hops["marked_packets"]
    return *counts, flows["queue_p95_ns"] // 1000


def measured(ways: dict[str, list[PlannedRun]], execute: Callable[[PlannedRun], Outcome]) -> dict[str, list[float]]:
    """The mean of each number over the runs of each way."""
    return {
        way: [round(mean(values), 1) for values in zip(*(numbers(execute(run)) for run in every), strict=True)]
        for way, every in ways.items()
    }


def table(results: dict[str, list[float]]) -> str:
    width = max(map(len, results))
    lines = [" ".join(["way".ljust(width), *(column.rjust(12) for column in COLUMNS)])]
    for way, values in results.items():
        lines.append(" ".join([way.ljust(width), *(f"{value:12.1f}" for value in values)]))
    return "\n".join(lines) + "\n"


def golden() -> dict[str, list[float]]:
    lines = GOLDEN.read_text(encoding="utf-8").splitlines()[1:]
    return {way: [float(word) for word in words] for way, *words in map(str.split, lines)}


def test_the_simulator_gives_what_the_kernel_gave(tmp_path: Path) -> None:
    known = golden()
    found = measured(runs(tmp_path), sim.execute)
    assert found.keys() == known.keys()
    for way, ours in found.items():
        place = f"{way}: {ours} in the simulator, {known[way]} on the kernel"
        received, dropped, marked, queue_us = ours
        kernel_received, kernel_dropped, kernel_marked, kernel_queue_us = known[way]
        assert received == pytest.approx(kernel_received, rel=0.03), place
        assert queue_us == pytest.approx(kernel_queue_us, rel=0.1, abs=1250), place
        assert dropped + marked == pytest.approx(kernel_dropped + kernel_marked, rel=0.2, abs=20), place
        if way in WITHOUT_CHANCE:
            assert (received, queue_us) == pytest.approx((kernel_received, kernel_queue_us), rel=1e-4), place
            assert dropped == pytest.approx(kernel_dropped, abs=1), place


def test_the_kernel_gives_what_it_gave(tmp_path: Path) -> None:
    try:
        built = cache.default()
    except RunFailed as error:
        pytest.skip(f"the live comparison needs a kernel: {error}")
    results = measured(runs(tmp_path), linux.execute)
    if os.environ.get("BAKEOFF_BLESS"):
        GOLDEN.write_text(table(results), encoding="utf-8")
    assert table(results) == GOLDEN.read_text(encoding="utf-8"), built.name


def second_flow_waits(folder: Path, execute: Callable[[PlannedRun], Outcome]) -> list[list[int]]:
    """The waits of the first packets of a second flow behind fq, in tenths of a millisecond, in each run."""
    file = folder / "second-flow.toml"
    file.write_text(SECOND_FLOW, encoding="utf-8")
    of_second = (pl.col("flow") == 2) & (pl.col("direction") == "data") & (pl.col("hop") == "forward.0")
    found = []
    for run in expand(load(str(file), [])).runs:
        passages = execute(run).tables["passages"].filter(of_second).sort("in_ns").head(8)
        found.append([round(wait / 1e5) for wait in passages["queue_ns"]])
    return found


def test_a_flow_that_comes_later_waits_behind_fq_as_it_does_in_the_kernel(tmp_path: Path) -> None:
    assert second_flow_waits(tmp_path, sim.execute) == SECOND_FLOW_WAITS


def test_that_is_what_the_kernel_gives(tmp_path: Path) -> None:
    try:
        cache.default()
    except RunFailed as error:
        pytest.skip(f"the live comparison needs a kernel: {error}")
    assert second_flow_waits(tmp_path, linux.execute) == SECOND_FLOW_WAITS

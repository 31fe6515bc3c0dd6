"""Random experiments held to what the real kernel did with them: paths, queues, schemes and traffic that nobody chose.

`BAKEOFF_BLESS=1` writes the numbers anew from the kernel in the cache; read the difference before you commit it.
"""

from __future__ import annotations

import math
import os
import random
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any

import pytest

from bakeoff.errors import RunFailed
from bakeoff.experiment import expand
from bakeoff.experiment.catalogue import of_core
from bakeoff.experiment.load import check_source
from bakeoff.experiment.source import Source
from bakeoff.kernel import cache
from bakeoff.worlds import linux, sim

if TYPE_CHECKING:
    from collections.abc import Callable

    from bakeoff.experiment import PlannedRun
    from bakeoff.worlds.outcome import Outcome

GOLDEN = Path(__file__).parent / "golden" / "linux_random.txt"
WORLDS = 60
REPEATS = 4
COLUMNS = ("received_packets", "dropped_packets", "queue_p95_ns")
SCHEMES = ("reno", "cubic", "cubic", "bbr", "vegas", "illinois", "westwood")
QUEUES = ("fifo", "fifo", "fifo", "codel", "fq_codel", "fq", "red")


def experiment(number: int) -> dict[str, Any]:
    """A random experiment that both worlds can run."""
    chance = random.Random(number)  # noqa: S311 - no secret
    rate, delay = chance.choice((1, 2, 4, 10, 20)), chance.choice((2, 10, 25, 60))
    forward: list[dict[str, Any]] = [{"rate": f"{rate}Mbit/s", "delay": f"{delay}ms", "queue": queue(chance)}]
    if chance.random() < 0.3:
        forward.append({"delay": f"{chance.choice((1, 5))}ms", "loss": chance.choice((0.002, 0.01, 0.04))})
    if chance.random() < 0.2:
        forward.append({"rate": f"{2 * rate}Mbit/s", "delay": "3ms", "queue": {"limit": "40pkt"}})
    path: dict[str, Any] = {"forward": forward}
    is_two_way = chance.random() < 0.35
    if is_two_way or chance.random() < 0.3:
        back = f"{rate * chance.choice((1000, 1000, 100, 40))}kbit/s"
        path["reverse"] = [{"rate": back, "delay": f"{delay}ms", "queue": {"limit": f"{chance.choice((20, 60))}pkt"}}]
        if chance.random() < 0.3:
            path["reverse"][0]["loss"] = chance.choice((0.01, 0.05, 0.15))
    flows = [flow(chance, index) for index in range(chance.choice((1, 2, 2, 3)))]
    if is_two_way:
        flows[-1]["direction"] = "reverse"
    return {"name": "random", "duration": "15s", "repeats": REPEATS, "path": path, "flow": flows}


def queue(chance: random.Random) -> dict[str, Any]:
    kind = chance.choice(QUEUES)
    limits = {"fifo": {"limit": chance.choice(("8pkt", "30pkt", "120pkt"))}, "red": {"limit": "300kB"}}
    ecn = {"ecn": True} if kind in ("codel", "red") else {}
    return {"kind": kind, **limits.get(kind, {}), **ecn}


def flow(chance: random.Random, index: int) -> dict[str, Any]:
    found: dict[str, Any] = {"scheme": chance.choice(SCHEMES), "start": f"{index * chance.choice((0, 700, 2000))}ms"}
    if chance.random() < 0.25:
        found["ecn"] = "classic"
    if chance.random() < 0.2:
        found["receive_window"] = chance.choice(("20kB", "64kB", "200kB"))
    if chance.random() < 0.25:
        found["extra_delay"] = chance.choice(("5ms", "40ms"))
    if chance.random() < 0.2:
        found["traffic"] = {"kind": "finite", "size": chance.choice(("30kB", "500kB", "3MB"))}
    return found


@dataclass(frozen=True)
class Found:
    """Mean and standard deviation of a number over the repeats."""

    mean: float
    deviation: float


@dataclass(frozen=True)
class Row:
    """What a flow of a world came to."""

    world: int
    flow: int
    scheme: str
    found: tuple[Found, ...]


def runs(number: int) -> list[PlannedRun]:
    return list(expand(check_source(Source("random.toml", Path(), experiment(number), ""), [], of_core())).runs)


def measured(execute: Callable[[PlannedRun], Outcome]) -> list[Row]:
    rows = []
    for number in range(WORLDS):
        tables = [execute(run).tables["flows"] for run in runs(number)]
        for place, described in enumerate(experiment(number)["flow"]):
            # The first row is that of all flows.
            values = [[table[column][place + 1] or 0 for table in tables] for column in COLUMNS]
            found = tuple(Found(round(fmean(value), 1), round(stdev(value), 1)) for value in values)
            rows.append(Row(number, place + 1, described["scheme"], found))
    return rows


def table(rows: list[Row]) -> str:
    head = ["world", "flow", f"{'scheme':9}", *(f"{column:>17} {'+-':>13}" for column in COLUMNS)]
    lines = [" ".join(head)]
    for row in rows:
        numbers = " ".join(f"{found.mean:17.1f} {found.deviation:13.1f}" for found in row.found)
        lines.append(f"{row.world:5} {row.flow:4} {row.scheme:9} {numbers}")
    return "\n".join(lines) + "\n"


def golden() -> list[Row]:
    rows = []
    for world, flow, scheme, *numbers in map(str.split, GOLDEN.read_text(encoding="utf-8").splitlines()[1:]):
        values = [float(number) for number in numbers]
        pairs = zip(values[::2], values[1::2], strict=True)
        rows.append(Row(int(world), int(flow), scheme, tuple(Found(*pair) for pair in pairs)))
    return rows


def distance(ours: Found, kernel: Found, share: float, least: float) -> float:
    """How far two means are apart, in what chance, twice its deviation, and a share of the kernel's allow."""
    chance = math.hypot(ours.deviation, kernel.deviation) / math.sqrt(REPEATS)
    return abs(ours.mean - kernel.mean) / (2 * chance + share * kernel.mean + least)


def test_the_simulator_gives_what_the_kernel_gave() -> None:
    ours, kernel = measured(sim.execute), golden()
    assert [(row.world, row.flow, row.scheme) for row in ours] == [(row.world, row.flow, row.scheme) for row in kernel]
    allowed = {"received_packets": (0.03, 3), "dropped_packets": (0.15, 3), "queue_p95_ns": (0.05, 1e6)}
    for place, (column, (share, least)) in enumerate(allowed.items()):
        apart = [
            (distance(one.found[place], other.found[place], share, least), one, other)
            for one, other in zip(ours, kernel, strict=True)
        ]
        far = [entry for entry in apart if entry[0] > 1]
        assert len(far) <= 0.02 * len(apart), "\n".join(f"{column}: {one} here, {other} there" for _, one, other in far)


def test_no_scheme_gets_more_or_less_in_the_mean() -> None:
    ratios = defaultdict(list)
    for one, other in zip(measured(sim.execute), golden(), strict=True):
        ratios[one.scheme].append(math.log(one.found[0].mean / other.found[0].mean))
    for scheme, logs in ratios.items():
        assert abs(fmean(logs)) < 0.02, f"{scheme}: {math.exp(fmean(logs)):.3f} of the kernel's over {len(logs)} flows"


def test_the_kernel_gives_what_it_gave() -> None:
    try:
        built = cache.default()
    except RunFailed as error:
        pytest.skip(f"the live comparison needs a kernel: {error}")
    results = table(measured(linux.execute))
    if os.environ.get("BAKEOFF_BLESS"):
        GOLDEN.write_text(results, encoding="utf-8")
    assert results == GOLDEN.read_text(encoding="utf-8"), built.name

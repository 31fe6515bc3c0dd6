"""Runs examples/dualpi2.toml, looks at every packet, and writes the table of docs/dualpi2.md.

.venv/bin/python scripts/dualpi2.py

It takes a minute on two cores.
"""

from __future__ import annotations

import math
import os
import statistics
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

import printed
from bakeoff.experiment import expand, load
from bakeoff.metrics.quantities import NS_PER_MS
from bakeoff.worlds import sim

if TYPE_CHECKING:
    from bakeoff.experiment import PlannedRun

PAGE = printed.ROOT / "docs" / "dualpi2.md"
EXPERIMENT = printed.ROOT / "examples" / "dualpi2.toml"
CUBIC, PRAGUE = 1, 2
FROM_NS = 15 * 10**9
# Prague's least round trip, and what CUBIC's packets are to wait.
VIRTUAL_RTT_MS, TARGET_MS = 25, 15
PROFILE = "flow.2.parameters.profile"
HEAD = (
    "link",
    "round trip",
    "queue of L, median",
    "p_L",
    "2 √p_C",
    "y (expected)",
    "W √p_C of CUBIC",
    "ratio expected",
    "ratio, `draft`",
    "ratio, `linux`",
)


@dataclass(frozen=True)
class Measured:
    """What one run shows from 15 s on.

    Attributes:
        waited_ms: median of what Prague's packets waited.
        marked: share of Prague's packets that arrived marked.
        dropped: share of CUBIC's that were dropped.
        marks: of Prague's packets in a round trip, which counts as no less than 25 ms.
        window: CUBIC's mean window, packets.
        ratio: Prague's rate over CUBIC's.
    """

    waited_ms: float
    marked: float
    dropped: float
    marks: float
    window: float
    ratio: float


def main() -> None:
    """Runs the experiment and rewrites the page."""
    printed.parser(__doc__).parse_args()
    plan = expand(load(str(EXPERIMENT), ["record.level=packets"]))
    cells: dict[tuple[str, str], dict[str, list[Measured]]] = {}
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for run, seen in zip(plan.runs, pool.map(measure, plan.runs), strict=True):
            of_link = cells.setdefault((run.cell["rate"], run.cell["rtt"]), {})
            of_link.setdefault(run.cell[PROFILE], []).append(seen)
    lines = [HEAD, ["---"] * len(HEAD), *(row(*link, found["draft"], found["linux"]) for link, found in cells.items())]
    printed.put(PAGE, "\n".join(f"| {' | '.join(line)} |" for line in lines), by="dualpi2")


def measure(run: PlannedRun) -> Measured:
    """Runs one and looks at its packets."""
    tables = sim.execute(run).tables
    late = pl.col("sent_ns") >= FROM_NS
    cubic, prague = (tables["packets"].filter(late, pl.col("flow") == flow) for flow in (CUBIC, PRAGUE))
    arrived = prague.filter(pl.col("fate") == "received")
    windows = tables["telemetry"].filter(pl.col("name") == "cwnd", pl.col("flow") == CUBIC, pl.col("t_ns") >= FROM_NS)
    waited_ms = float(np.median(arrived["queue_ns"].to_numpy())) / NS_PER_MS
    round_trip_ms = max(rtt_ms(run.cell["rtt"]) + waited_ms, VIRTUAL_RTT_MS)
    rounds = (run.scenario["duration_ns"] - FROM_NS) / NS_PER_MS / round_trip_ms
    ce = arrived.filter(pl.col("ce")).height
    return Measured(
        waited_ms=waited_ms,
        marked=ce / arrived.height,
        dropped=cubic.filter(pl.col("fate") == "dropped").height / cubic.height,
        marks=ce / rounds,
        window=float(np.mean(windows["value"].to_numpy())),
        ratio=arrived.height / cubic.filter(pl.col("fate") == "received").height,
    )


def rtt_ms(text: str) -> float:
    """A round trip of the experiment."""
    return float(text.removesuffix("ms"))


def row(rate: str, rtt: str, draft: list[Measured], linux: list[Measured]) -> list[str]:
    """The line of a link: laws and means of `draft`, and the ratios of both."""
    waited, marked, dropped, marks, window = (
        statistics.fmean(getattr(seen, name) for seen in draft)
        for name in ("waited_ms", "marked", "dropped", "marks", "window")
    )
    # y = 2 (1 - p_L)(1 + 1/y).
    expected = 1 - marked + math.sqrt((1 - marked) ** 2 + 2 * (1 - marked))
    ratio = expected * (rtt_ms(rtt) + TARGET_MS) / (2 * 1.22 * max(rtt_ms(rtt), VIRTUAL_RTT_MS))
    return [
        rate.replace("Mbit/s", " Mbit/s"),
        rtt.replace("ms", " ms"),
        f"{waited:.1f} ms",
        f"{marked:.3f}",
        f"{2 * math.sqrt(dropped):.3f}",
        f"{marks:.2f} ({expected:.2f})",
        f"{window * math.sqrt(dropped):.2f}",
        f"{ratio:.2f}",
        *(f"{statistics.geometric_mean([seen.ratio for seen in seeds]):.2f}" for seeds in (draft, linux)),
    ]


if __name__ == "__main__":
    main()

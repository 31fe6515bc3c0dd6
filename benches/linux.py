"""Measures the linux world beside ns-3: bottleneck packets per CPU-second, user and system time of all processes."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from bakeoff.errors import BakeoffError
from bakeoff.experiment import PlannedRun
from bakeoff.worlds import linux
from run import CASES, BenchError, Case, Measurement, build_ns3, measure, ns3_arguments, say, warn_if_busy

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

_CHOSEN = ("a", "b", "d", "e-loss")
# Enough that the boot does not count; ns-3 gets the time that run.py gives it.
_SECONDS = {"a": 1200, "b": 60, "d": 4, "e-loss": 300}


def measure_linux(case: Case) -> tuple[int, float]:
    """Packets that the bottleneck sent, and CPU seconds: the guest's, and ours for the tables."""
    scenario: dict[str, Any] = case.scenario() | {"duration_ns": _SECONDS[case.name] * 10**9}
    for flow in scenario["flows"]:
        flow["stop_ns"] = scenario["duration_ns"]
        flow.setdefault("parameters", {})
    started = time.process_time()
    outcome = linux.execute(PlannedRun(case.name, {}, 1, scenario["seed"], scenario))
    cpu_s = time.process_time() - started + outcome.cpu_s
    hop = outcome.tables["hops"].row(0, named=True)
    verdicts = outcome.tables["verdicts"]
    lost = verdicts.filter((verdicts["hop"] == hop["hop"]) & (verdicts["reason"] == "loss"))["packets"].sum()
    return hop["out_packets"] + int(lost), cpu_s


def measure_ns3(program: Path, case: Case) -> Measurement:
    """The same case in ns-3."""
    return measure([str(program), *ns3_arguments(case)])


def main() -> int:
    """Measures, prints a table."""
    try:
        ns3 = build_ns3()
        warn_if_busy()
        print(f"{'case':8}{'scenario':28}{'sim s':>7}{'CPU s':>8}{'kpkt/CPU-s':>12}{'ns-3':>12}{'ratio':>7}")
        for case in CASES:
            if case.name not in _CHOSEN:
                continue
            packets, cpu_s = measure_linux(case)
            rate = packets / cpu_s / 1e3
            theirs = measure_ns3(ns3, case).packets_per_cpu_s / 1e3 if ns3 else None
            beside = f"{theirs:12.1f}{rate / theirs:7.1f}" if theirs else f"{'absent':>12}"
            print(f"{case.name:8}{case.title:28}{_SECONDS[case.name]:7}{cpu_s:8.2f}{rate:12.1f}{beside}", flush=True)
    except (BenchError, BakeoffError) as error:
        say(f"error: {error}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

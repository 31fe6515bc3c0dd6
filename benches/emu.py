"""Measures the emulated world beside the least that a TUN emulator can do: throughput, and CPU-seconds per gigabyte."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from bakeoff.errors import BakeoffError
from bakeoff.experiment import PlannedRun
from bakeoff.worlds import emu
from bakeoff.worlds.capacity import scenario_of
from bakeoff.worlds.outcome import RunInvalid
from run import BenchError, say, warn_if_busy

_PEER = Path(__file__).parent / "plain_tun.c"
_SECONDS = 4
_UNCAPPED_BPS = 10_000_000_000
_SEGMENT, _PACKET = 1448, 1500


@dataclasses.dataclass(frozen=True)
class Case:
    """A link, and whether segments that are due together are handed over together."""

    title: str
    rate_bps: int
    merge: bool


_CASES = (
    Case("100 Mbit/s", 100_000_000, merge=False),
    Case("1 Gbit/s", 1_000_000_000, merge=False),
    Case("1 Gbit/s, merged", 1_000_000_000, merge=True),
    Case("uncapped", _UNCAPPED_BPS, merge=False),
    Case("uncapped, merged", _UNCAPPED_BPS, merge=True),
)


def measure_plain() -> tuple[float, float]:
    """Goodput in Mbit/s and CPU-seconds per gigabyte of the plain loop."""
    with tempfile.TemporaryDirectory() as folder:
        program = str(Path(folder) / "plain_tun")
        subprocess.run(["gcc", "-O2", "-o", program, str(_PEER)], check=True)  # noqa: S607 - where the system has it
        done = subprocess.run([program, str(_SECONDS)], check=True, capture_output=True, text=True)
    payload, cpu_s = (float(word) for word in done.stdout.split())
    return payload * 8 / _SECONDS / 1e6, cpu_s / (payload / 1e9)


def measure(case: Case) -> tuple[float, float, Any]:
    """Goodput in Mbit/s, CPU-seconds per gigabyte of the emulator's process, and its report."""
    scenario = scenario_of(case.rate_bps, _SECONDS * 10**9) | {"emulation": {"merge": case.merge}}
    scenario["flows"][0]["scheme"] = "kernel:cubic"
    try:
        outcome = emu.execute(PlannedRun("bench", {}, 1, 1, scenario))
    except RunInvalid as error:
        say(f"{case.title}: {error}")
        outcome = error.outcome
    report = outcome.measurements
    payload = report["hops"][0]["delivered"][1] * _SEGMENT / _PACKET
    return payload * 8 / _SECONDS / 1e6, sum(report["emulator_cpu"].values()) / (payload / 1e9), report


def main() -> int:
    """Measures, prints a table."""
    try:
        emu.prepare()
        warn_if_busy()
        print(f"{'case':24}{'goodput Mbit/s':>15}{'of ceiling':>11}{'CPU-s/GB':>10}{'late p99 us':>12}{'lost':>6}")
        goodput, cost = measure_plain()
        print(f"{'plain loop, uncapped':24}{goodput:15.0f}{'':>11}{cost:10.2f}")
        for case in _CASES:
            goodput, cost, report = measure(case)
            ceiling = (
                f"{goodput * 1e6 * _PACKET / _SEGMENT / case.rate_bps:.1%}" if "uncapped" not in case.title else ""
            )
            lost = sum(interface["kernel"]["sent_dropped"] for interface in report["interfaces"])
            late = report["lateness"]["p99_ns"] / 1e3
            print(f"{case.title:24}{goodput:15.0f}{ceiling:>11}{cost:10.2f}{late:12.0f}{lost:6}", flush=True)
    except (BenchError, BakeoffError, subprocess.CalledProcessError) as error:
        say(f"error: {error}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

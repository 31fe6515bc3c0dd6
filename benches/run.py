"""Measures the simulator beside ns-3: bottleneck packets per user-CPU-second, and peak memory."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

BENCHES = Path(__file__).resolve().parent
ROOT = BENCHES.parent
BUILD = ROOT / "target" / "benches"
OURS = ROOT / "target" / "release" / "examples" / "bench_case"
NS3_SOURCE = BENCHES / "ns3" / "dumbbell.cc"
NS3_HEADER = Path("/usr/include/ns3/core-module.h")
NS3_LIBRARIES = ("applications", "internet", "point-to-point", "network", "core")
MOST_LOAD = 1.0  # of other work, beyond which numbers are not to be published
REPEATS = 3  # of our runs, which are short; the median is shown


class BenchError(Exception):
    """A sentence for the person at the terminal, and the exit code that goes with it."""

    def __init__(self, sentence: str, exit_code: int = 1) -> None:
        super().__init__(sentence)
        self.exit_code = exit_code


@dataclass(frozen=True)
class Case:
    """A scenario of cases/, and the simulated time that ns-3 gets for it: less, because ns-3 is slow."""

    name: str
    title: str
    ns3_seconds: int

    def scenario(self) -> dict[str, Any]:
        """The resolved scenario, as the simulator reads it."""
        scenario: dict[str, Any] = json.loads(self.path.read_text(encoding="utf-8"))
        return scenario

    @property
    def path(self) -> Path:
        """Where the scenario is."""
        return BENCHES / "cases" / f"{self.name}.json"


CASES = (
    Case("a", "2 Mbit/s, 30 ms, 3 cubic", 600),
    Case("b", "50 Mbit/s, 40 ms, 3 cubic", 20),
    Case("c", "800 Mbit/s, 136 ms, 3 cubic", 5),
    Case("d", "1 Gbit/s, 20 ms, 100 cubic", 2),
    Case("e-loss", "C with 1 % random loss", 300),
    Case("e-bbr", "C with 3 bbr", 4),
)


@dataclass(frozen=True)
class Measurement:
    """What one program did with one case. Peak memory is the resident set's, in units of 10^6 bytes."""

    simulated_s: float
    bottleneck_packets: int
    user_cpu_s: float
    peak_mb: float

    @property
    def packets_per_cpu_s(self) -> float:
        """Packets forwarded by the bottleneck per second of user CPU."""
        return self.bottleneck_packets / max(self.user_cpu_s, 1e-3)

    def to_json(self) -> dict[str, float]:
        """The fields, and the rate that follows from them."""
        return {**asdict(self), "packets_per_cpu_s": self.packets_per_cpu_s}


@dataclass(frozen=True)
class Row:
    """One case, measured."""

    case: Case
    summary: Measurement
    packets: Measurement
    ns3: Measurement | None

    @property
    def packets_level_slowdown(self) -> float:
        """How much slower the level `packets` is than `summary`: 0.3 is 30 % fewer packets per second."""
        return 1 - self.packets.packets_per_cpu_s / self.summary.packets_per_cpu_s

    @property
    def ratio(self) -> float | None:
        """How many times ns-3's rate ours is."""
        return self.summary.packets_per_cpu_s / self.ns3.packets_per_cpu_s if self.ns3 else None

    def to_json(self) -> dict[str, Any]:
        """One object of the JSON output."""
        return {
            "case": self.case.name,
            "title": self.case.title,
            "bakeoff": {"summary": self.summary.to_json(), "packets": self.packets.to_json()},
            "ns3": self.ns3.to_json() if self.ns3 else None,
            "packets_level_slowdown": self.packets_level_slowdown,
            "ratio": self.ratio,
        }


def say(line: str) -> None:
    """Talk goes to standard error."""
    print(line, file=sys.stderr, flush=True)


def build(command: list[str]) -> None:
    """Runs a compiler, whose own messages go to standard error."""
    if shutil.which(command[0]) is None:
        raise BenchError(f"{command[0]} is not installed, and the benchmark needs it to build", exit_code=2)
    if subprocess.run(command, cwd=ROOT, check=False, stdout=sys.stderr).returncode != 0:
        raise BenchError(f"the build failed: {' '.join(command)}")


def build_ours() -> None:
    """Compiles the example that runs one case."""
    build(["cargo", "build", "--locked", "--release", "-p", "bakeoff-sim", "--example", "bench_case"])


def build_ns3() -> Path | None:
    """Compiles the ns-3 scenario if it is out of date; None, and a word about it, where ns-3 is absent."""
    if not NS3_HEADER.exists():
        say("ns-3 is left out: it is not installed (Debian: apt install libns3-dev)")
        return None
    program = BUILD / "ns3-dumbbell"
    if not program.exists() or program.stat().st_mtime < NS3_SOURCE.stat().st_mtime:
        BUILD.mkdir(parents=True, exist_ok=True)
        libraries = [f"-lns3-{name}" for name in NS3_LIBRARIES]
        build(["g++", "-std=c++17", "-O2", "-DNDEBUG", str(NS3_SOURCE), "-o", str(program), *libraries])
    return program


def warn_if_busy() -> None:
    """Says so when other work shares the caches and hyper-threads: CPU times then come out larger."""
    load = os.getloadavg()[0]
    if load > MOST_LOAD + 1:  # the build that has just ended makes up for one
        say(f"the machine is busy (load {load:.1f}): rates come out too low, those of ns-3 most of all")


def measure(command: list[str]) -> Measurement:
    """Runs a program whose last line is a JSON object, and asks the kernel what it used."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None  # noqa: S101 - it was asked for in the line above
        output = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise BenchError(f"a run ended with exit status {process.returncode}: {' '.join(command)}")
    result = json.loads(output.splitlines()[-1])
    return Measurement(
        simulated_s=result["simulated_s"],
        bottleneck_packets=result["bottleneck_packets"],
        user_cpu_s=usage.ru_utime,
        peak_mb=usage.ru_maxrss * 1024 / 1e6,
    )


def measure_ours(case: Case, level: str) -> Measurement:
    """Our simulator on one case: the run with the median CPU time, and the largest memory of all runs."""
    runs = [measure([str(OURS), str(case.path), level]) for _ in range(REPEATS)]
    median = statistics.median_low(run.user_cpu_s for run in runs)
    chosen = next(run for run in runs if run.user_cpu_s == median)
    peak_mb = max(run.peak_mb for run in runs)
    return Measurement(chosen.simulated_s, chosen.bottleneck_packets, median, peak_mb)


def ns3_arguments(case: Case) -> list[str]:
    """The scenario of a case in the words of the ns-3 program."""
    scenario = case.scenario()
    (hop,) = scenario["forward"]
    return [
        f"--rate_bps={hop['link']['rate_bps']}",
        f"--delay_ns={hop['delay_ns']}",
        f"--queue_packets={hop['queue']['limit_packets']}",
        f"--loss={hop['loss']}",
        f"--flows={len(scenario['flows'])}",
        f"--scheme={scenario['flows'][0]['scheme']}",
        f"--start_jitter_ns={scenario['start_jitter_ns']}",
        f"--seed={scenario['seed']}",
        f"--duration_ns={case.ns3_seconds * 10**9}",
    ]


def measure_case(case: Case, ns3: Path | None) -> Row:
    """One row of the table."""
    say(f"{case.name}: {case.title}")
    summary = measure_ours(case, "summary")
    packets = measure_ours(case, "packets")
    return Row(case, summary, packets, measure([str(ns3), *ns3_arguments(case)]) if ns3 else None)


def table(rows: list[Row]) -> str:
    """The rows as aligned text."""
    ours, theirs = f"{'bakeoff, level summary':^34}", f"{'ns-3':^34}"
    measured = f"{'sim s':>7}{'CPU s':>8}{'Mpkt/CPU-s':>12}{'MB':>7}"
    head = [
        f"{'':36}{ours}{'level packets':^20}{theirs}",
        f"{'case':8}{'scenario':28}{measured}{'Mpkt/CPU-s':>12}{'slower':>8}{measured}{'ratio':>7}",
    ]
    return "\n".join(head + [line(row) for row in rows])


def line(row: Row) -> str:
    """One row as aligned text."""
    packets = f"{row.packets.packets_per_cpu_s / 1e6:12.4f}{row.packets_level_slowdown:8.0%}"
    ns3 = f"{columns(row.ns3)}{row.ratio:7.0f}" if row.ns3 else f"{'absent':>12}"
    return f"{row.case.name:8}{row.case.title:28}{columns(row.summary)}{packets}{ns3}"


def columns(measured: Measurement) -> str:
    """Simulated time, CPU time, rate and memory."""
    return (
        f"{measured.simulated_s:7.0f}{measured.user_cpu_s:8.2f}"
        f"{measured.packets_per_cpu_s / 1e6:12.4f}{measured.peak_mb:7.0f}"
    )


def exit_code(benchmark: Callable[[], None]) -> int:
    """Runs a benchmark; if something is in its way, says what."""
    try:
        benchmark()
    except BenchError as error:
        say(f"error: {error}")
        return error.exit_code
    return 0


def main() -> None:
    """Builds, measures, prints."""
    names = [case.name for case in CASES]
    parser = argparse.ArgumentParser(prog="benches/run.py", description=__doc__)
    parser.add_argument("case", nargs="*", metavar="CASE", help=f"{', '.join(names)} (default: all)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    arguments = parser.parse_args()
    if unknown := set(arguments.case) - set(names):
        parser.error(f"no case is called {min(unknown)}; there are {', '.join(names)}")
    chosen = [case for case in CASES if case.name in (arguments.case or names)]
    build_ours()
    ns3 = build_ns3()
    warn_if_busy()
    rows = [measure_case(case, ns3) for case in chosen]
    print(json.dumps([row.to_json() for row in rows], indent=2) if arguments.json else table(rows))


if __name__ == "__main__":
    sys.exit(exit_code(main))

"""Measures the simulator beside htsim, in turn: bottleneck packets per user-CPU-second, and the ratio."""

from __future__ import annotations

import os
import statistics
import sys
from pathlib import Path

from run import BENCHES, BUILD, CASES, OURS, BenchError, Case, build, build_ours, exit_code, measure, warn_if_busy

_SOURCE = BENCHES / "htsim" / "dumbbell.cpp"
_ROUNDS = 9
# NewReno without SACK needs long to get out of slow start at such rates, but not long to run.
_LONGER = {"c": 10, "e-bbr": 10}


def _build_htsim() -> Path:
    """Compiles the scenario with the checkout of htsim that `HTSIM` names."""
    checkout = os.environ.get("HTSIM", "")
    library = Path(checkout) / "libhtsim.a"
    if not checkout or not library.is_file():
        raise BenchError(
            f"HTSIM is {checkout or 'not set'}; give it the folder sim of github.com/Broadcom/csg-htsim, "
            "where `make libhtsim.a` has been run",
            exit_code=2,
        )
    program = BUILD / "htsim-dumbbell"
    BUILD.mkdir(parents=True, exist_ok=True)
    build(["g++", "-std=c++11", "-O3", f"-I{checkout}", str(_SOURCE), str(library), "-o", str(program)])
    return program


def _arguments(case: Case) -> list[str]:
    """The scenario of a case in the words of the htsim program."""
    scenario = case.scenario()
    (hop,) = scenario["forward"]
    values = (
        hop["link"]["rate_bps"],
        hop["delay_ns"],
        hop["queue"]["limit_packets"],
        hop["loss"],
        len(scenario["flows"]),
        scenario["start_jitter_ns"],
        scenario["seed"],
        scenario["duration_ns"] * _LONGER.get(case.name, 1),
    )
    return [str(value) for value in values]


def _rates(case: Case, htsim: Path) -> list[tuple[float, float]]:
    """Million packets per CPU-second, ours and htsim's, round by round."""
    ours, theirs = [str(OURS), str(case.path), "summary"], [str(htsim), *_arguments(case)]
    return [(measure(ours).packets_per_cpu_s / 1e6, measure(theirs).packets_per_cpu_s / 1e6) for _ in range(_ROUNDS)]


def main() -> None:
    """Measures, prints a table: medians of all rounds, the best in parentheses, and the median of their ratios."""
    build_ours()
    htsim = _build_htsim()
    warn_if_busy()
    print(f"{'case':8}{'scenario':28}{'bakeoff':>15}{'htsim':>15}{'ratio':>8}")
    for case in CASES:
        rates = _rates(case, htsim)
        columns = (f"{statistics.median(of):7.2f} ({max(of):.2f})" for of in zip(*rates, strict=True))
        ratio = statistics.median(ours / theirs for ours, theirs in rates)
        rest = "".join(f"{column:>15}" for column in columns)
        print(f"{case.name:8}{case.title:28}{rest}{ratio:8.2f}", flush=True)


if __name__ == "__main__":
    sys.exit(exit_code(main))

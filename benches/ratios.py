"""Measures schemes of the core: user CPU per bottleneck packet, as a multiple of CUBIC's right beside it."""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

from run import CASES, OURS, build_ours, exit_code, measure, warn_if_busy

_CASES = ("b", "c")
_BASE = "cubic"
# Two of them are CUBIC again, sending and hearing as the schemes do that pace and that have an ack for every packet.
_FLOWS: dict[str, dict[str, Any]] = {
    _BASE: {},
    "cubic, paced": {"pacing": "internal"},
    "cubic, paced, an ack per packet": {"pacing": "internal", "acks": "each"},
    "copa": {"scheme": "copa"},
    "bbr3": {"scheme": "bbr3"},
    "bbr": {"scheme": "bbr"},
    "vivace": {"scheme": "vivace"},
}
_ROUNDS = 9


def _scenario(case: str, changes: dict[str, Any]) -> str:
    """A case whose flows are changed."""
    (found,) = (known for known in CASES if known.name == case)
    scenario = found.scenario()
    scenario["flows"] = [{**flow, **changes} for flow in scenario["flows"]]
    return json.dumps(scenario)


def _rounds(folder: Path, case: str) -> dict[str, list[float]]:
    """CPU seconds per packet of every round, each round one run of everything."""
    taken: dict[str, list[float]] = {title: [] for title in _FLOWS}
    for number, changes in enumerate(_FLOWS.values()):
        (folder / f"{number}.json").write_text(_scenario(case, changes), encoding="utf-8")
    for _ in range(_ROUNDS):
        for number, title in enumerate(_FLOWS):
            run = measure([str(OURS), str(folder / f"{number}.json"), "summary"])
            taken[title].append(1 / run.packets_per_cpu_s)
    return taken


def main() -> None:
    """Measures, prints a table: medians of all rounds, and the least of each over CUBIC's least."""
    build_ours()
    warn_if_busy()
    print(f"{'case':6}{'flows':34}{'median':>8}{'least':>8}")
    for case in _CASES:
        with tempfile.TemporaryDirectory() as folder:
            taken = _rounds(Path(folder), case)
        for title, values in taken.items():
            pairs = (value / base for value, base in zip(values, taken[_BASE], strict=True))
            least = min(values) / min(taken[_BASE])
            print(f"{case:6}{title:34}{statistics.median(pairs):8.2f}{least:8.2f}", flush=True)


if __name__ == "__main__":
    sys.exit(exit_code(main))

"""Runs the suite quic/quinn in sim and linux, and writes the table of docs/quinn.md.

python scripts/quinn.py
"""

from __future__ import annotations

import json
import statistics
import subprocess
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "quinn.md"
BEGIN, END = "<!-- numbers: written by scripts/quinn.py -->", "<!-- end of numbers -->"
SUITE = "quic/quinn"
CASES = {
    "10M": "10 Mbit/s",
    "50M": "50 Mbit/s",
    "10M-loss": "10 Mbit/s, 1 % random loss",
    "50M-loss": "50 Mbit/s, 1 % random loss",
}
# What stands together: the name of a row, its world and its scheme.
ROWS = (
    ("`quinn:cubic`", "sim", "quinn:cubic"),
    ("`cubic` in sim", "sim", "cubic"),
    ("`kernel:cubic` in linux", "linux", "cubic"),
    ("`quinn:newreno`", "sim", "quinn:newreno"),
    ("`reno` in sim", "sim", "reno"),
    ("`kernel:reno` in linux", "linux", "reno"),
    ("`quinn:bbr`", "sim", "quinn:bbr"),
    ("`bbr` in sim", "sim", "bbr"),
    ("`kernel:bbr` in linux", "linux", "bbr"),
)


def main() -> None:
    """Runs the suite and rewrites the page."""
    found = {"sim": runs("sim"), "linux": runs("linux", "--scheme", "cubic,reno,bbr")}
    lines = ["| path | scheme | throughput | goodput | 95 % delay | loss |", "|---|---|---|---|---|---|"]
    for case, path in CASES.items():
        for title, world, scheme in ROWS:
            cells = [run for run in found[world] if run["cell"] == {"scheme": scheme, "case": case}]
            lines.append(f"| {path} | {title} | {' | '.join(values(cells))} |")
    text = PAGE.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    after = rest.split(END)[1]
    table = "\n".join(lines)
    PAGE.write_text(f"{before}{BEGIN}\n\n{table}\n\n{END}{after}", encoding="utf-8")


def runs(world: str, *more: str) -> list[dict[str, Any]]:
    """The runs of the suite in a world."""
    command = [str(ROOT / "bakeoff"), "run", SUITE, "--world", world, "--json", *more]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, cwd=ROOT)
    found: list[dict[str, Any]] = json.loads(done.stdout)["runs"]
    return found


def values(cells: list[dict[str, Any]]) -> list[str]:
    """Means over the repeats of a cell."""

    def mean(key: str) -> float:
        return statistics.fmean(run["flows"][0][key] for run in cells)

    return [
        f"{mean('throughput_mbps'):.2f} Mbit/s",
        f"{mean('goodput_mbps'):.2f} Mbit/s",
        f"{mean('owd_p95_ms'):.1f} ms",
        f"{100 * mean('loss'):.2f} %",
    ]


if __name__ == "__main__":
    main()

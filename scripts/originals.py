"""Writes the table of docs/originals.md from runs of examples/originals/programs.toml and ours.toml.

.venv/bin/python scripts/originals.py PROGRAMS OURS
"""

from __future__ import annotations

import json
import statistics
import sys
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import printed

if TYPE_CHECKING:
    from collections.abc import Callable

PAGE = printed.ROOT / "docs" / "originals.md"
HEAD = [
    "| scheme | link | Mbit/s: program | ours | 95 % delay, ms: program | ours | dropped, %: program | ours |",
    "|---|---|---|---|---|---|---|---|",
]
# A longer stand-still of the host changes what some programs do.
MOST_LATE_NS = 5_000_000
LINKS = ("deep", "lossy", "slow", "fast")
Cells = dict[tuple[str, str], list[dict[str, Any]]]


def main() -> None:
    """Reads both folders and rewrites the page."""
    parser = printed.parser(__doc__)
    for name in ("programs", "ours"):
        parser.add_argument(
            name, metavar=name.upper(), type=Path, help=f"result folder of examples/originals/{name}.toml"
        )
    given = parser.parse_args()
    programs, ours = (cells(folder.absolute()) for folder in (given.programs, given.ours))
    schemes = sorted({scheme for scheme, _ in programs})
    lines = [
        row(scheme, link, programs[scheme, link], ours[scheme, link])
        for scheme in schemes
        for link in LINKS
        if (scheme, link) in programs and (scheme, link) in ours
    ]
    printed.put(PAGE, "\n".join([*HEAD, *lines]), by="originals")


def cells(folder: Path) -> Cells:
    """The sound runs of a folder, by scheme and link."""
    found: Cells = defaultdict(list)
    for run in printed.runs_of("report", str(folder)):
        if (
            run["error"] is None
            and run["status"] == "complete"
            and lateness(folder / "runs" / run["id"]) < MOST_LATE_NS
        ):
            cell = run["cell"]
            if "link" not in cell:
                sys.exit(f"{folder}: has runs without a link; give a result folder of the files in examples/originals")
            scheme = cell.get("sender") or cell["scheme"].removeprefix("program:")
            found[scheme, cell["link"]].append(run)
    return dict(found)


def lateness(folder: Path) -> int:
    """By how much a packet of a run was late at most, ns: so long the host stood still. In virtual time nothing is."""
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    return int((manifest["measurements"].get("lateness") or {"max_ns": 0})["max_ns"])


def row(scheme: str, link: str, program: list[dict[str, Any]], ours: list[dict[str, Any]]) -> str:
    """A line of the table."""
    pairs = [f"{extent(program, value)} | {extent(ours, value)}" for value in (throughput, delay, dropped)]
    return f"| `{scheme}` | {link} | {' | '.join(pairs)} |"


def extent(runs: list[dict[str, Any]], value: Callable[[dict[str, Any]], float]) -> str:
    """The mean, and where the runs differ by more than a twentieth of it, the least and the most."""
    values = [value(run) for run in runs]
    mean, least, most = statistics.fmean(values), min(values), max(values)
    digits = 1 if mean >= 10 else 2
    shown = f"{mean:.{digits}f}"
    return shown if most - least <= mean / 20 else f"{shown} ({least:.{digits}f} to {most:.{digits}f})"


def throughput(run: dict[str, Any]) -> float:
    """Mbit/s, by Pantheon's definition."""
    return float(run["total"]["pantheon"]["throughput_mbps"])


def delay(run: dict[str, Any]) -> float:
    """The 95th percentile of the one-way delay, ms, likewise."""
    return float(run["total"]["pantheon"]["owd_p95_ms"])


def dropped(run: dict[str, Any]) -> float:
    """What queue and link dropped of what came in, percent."""
    hop = run["hops"][0]
    return float(100 * sum(hop["dropped"].values()) / hop["in_packets"])


if __name__ == "__main__":
    main()

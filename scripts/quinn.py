"""Runs the suites quic/quinn, in linux and sim, and quic/ack-jitter, in sim, and writes the tables of docs/quinn.md.

.venv/bin/python scripts/quinn.py

It needs the kernel of the linux world: bakeoff kernel build.
"""

from __future__ import annotations

import statistics
from typing import Any

import printed

PAGE = printed.ROOT / "docs" / "quinn.md"
HEAD = ["| path | scheme | throughput | goodput | 95 % delay | loss |", "|---|---|---|---|---|---|"]
JITTERS = ("none", "2ms", "10ms")
JITTER_SCHEMES = ("quinn:bbr", "bbr", "quinn:cubic", "cubic")
CASES = ("10 Mbit/s", "50 Mbit/s", "10 Mbit/s, 1 % loss", "50 Mbit/s, 1 % loss")
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
    """Runs the suites and rewrites the page."""
    printed.parser(__doc__).parse_args()
    found = {
        # First, because it is the one that may lack something.
        "linux": runs("quic/quinn", "linux", "--scheme", "cubic,reno,bbr"),
        "sim": runs("quic/quinn", "sim"),
        "jitter": runs("quic/ack-jitter", "sim"),
    }
    numbers = [
        row(case, title, found[world], {"scheme": scheme, "case": case})
        for case in CASES
        for title, world, scheme in ROWS
    ]
    jitter = [
        row(f"jitter {jitter}", f"`{scheme}`", found["jitter"], {"scheme": scheme, "jitter": jitter})
        for jitter in JITTERS
        for scheme in JITTER_SCHEMES
    ]
    for name, lines in (("numbers", numbers), ("jitter", jitter)):
        printed.put(PAGE, "\n".join([*HEAD, *lines]), by="quinn", name=name)


def row(path: str, title: str, found: list[dict[str, Any]], cell: dict[str, str]) -> str:
    """The line of a table with the means of a cell."""
    return f"| {path} | {title} | {' | '.join(values([run for run in found if run['cell'] == cell]))} |"


def runs(suite: str, world: str, *more: str) -> list[dict[str, Any]]:
    """The runs of a suite in a world."""
    return printed.runs_of("run", suite, "--world", world, *more)


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

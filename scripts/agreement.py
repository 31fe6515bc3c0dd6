"""Writes the tables and the figure of docs/agreement.md from what `bakeoff agree --json` printed.

python scripts/agreement.py one.json three.json loss.json step.json
"""

from __future__ import annotations

import json
import math
import statistics
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGE, FIGURE = DOCS / "agreement.md", DOCS / "agreement.svg"
BEGIN, END = "<!-- numbers: written by scripts/agreement.py -->", "<!-- end of numbers -->"
FAR = 3.0
WORST = 20
SCHEMES = {"reno": "#7570b3", "cubic": "#1b9e77", "bbr": "#d95f02", "vegas": "#e7298a"}


@dataclass(frozen=True)
class Metric:
    """What is compared: its key in the JSON, how it is called, its unit, what is tolerated, and the end of its axis."""

    key: str
    title: str
    unit: str
    factor: float
    relative: float
    least: float


METRICS = (
    Metric("throughput_mbps", "Throughput per flow", "Mbit/s", 1.0, 0.03, 0.05),
    Metric("queue_p95_ms", "95th-percentile queueing delay", "ms", 1.0, 0.07, 0.1),
    Metric("loss", "Loss", "%", 100.0, 0.15, 0.01),
)


def main() -> None:
    """Reads the files and rewrites page and figure."""
    found = [json.loads(Path(name).read_text(encoding="utf-8")) for name in sys.argv[1:]]
    if not found:
        sys.exit("give the files that `bakeoff agree --json` printed")
    every = [cell | {"suite": run["experiment"]} for run in found for cell in run["cells"] if cell["flow"]]
    # A later file may repeat cells with more seeds.
    cells = list(
        {(cell["suite"], *cell["cell"].values(), cell["flow"], cell["metric"]): cell for cell in every}.values()
    )
    text = PAGE.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    after = rest.split(END)[1]
    PAGE.write_text(f"{before}{BEGIN}\n\n{summary(cells)}\n{worst(cells)}\n{END}{after}", encoding="utf-8")
    FIGURE.write_text(figure(cells), encoding="utf-8")


def of(cells: list[dict[str, Any]], **wanted: str) -> list[dict[str, Any]]:
    """The cells with these properties that both worlds have a value for."""
    return [
        cell
        for cell in cells
        if cell["tolerance_ratio"] is not None and all(cell[key] == value for key, value in wanted.items())
    ]


def summary(cells: list[dict[str, Any]]) -> str:
    """The medians by suite and scheme, and over all suites."""
    lines = ["| suite | scheme | flows | " + " | ".join(f"{metric.title}: median error" for metric in METRICS) + " |"]
    lines.append("|---" * (3 + len(METRICS)) + "|")
    for suite in dict.fromkeys(cell["suite"] for cell in cells):
        for scheme in SCHEMES:
            here = [of(cells, suite=suite, scheme=scheme, metric=metric.key) for metric in METRICS]
            if here[0]:
                shown = " | ".join(map(error, here))
                lines.append(f"| {suite} | {scheme} | {len(here[0])} | {shown} |")
    for scheme in SCHEMES:
        here = [of(cells, scheme=scheme, metric=metric.key) for metric in METRICS]
        shown = " | ".join(map(error, here))
        lines.append(f"| **all** | **{scheme}** | {len(here[0])} | {shown} |")
    return "\n".join(lines) + "\n"


def error(group: list[dict[str, Any]]) -> str:
    """The median error, and how many are beyond three times what is tolerated."""
    far = sum(cell["tolerance_ratio"] > FAR for cell in group)
    median = statistics.median(abs(cell["relative"] or 0) for cell in group)
    return f"{median:.2%} ({far} far)"


def worst(cells: list[dict[str, Any]]) -> str:
    """The cells that are farthest from agreement."""
    judged = [(metric, cell) for metric in METRICS for cell in of(cells, metric=metric.key)]
    judged.sort(key=lambda pair: -pair[1]["tolerance_ratio"])
    lines = [
        "| cell | flow | metric | sim | linux | error / tolerance | within the spread of seeds |",
        "|---" * 7 + "|",
    ]
    for metric, cell in judged[:WORST]:
        a, b = (cell[side]["mean"] * metric.factor for side in ("a", "b"))
        inside = {True: "yes", False: "no", None: ""}[cell["within"]]
        name = " ".join(cell["cell"].values())
        lines.append(
            f"| {name} | {cell['flow']} | {metric.title.lower()} | {a:.3g} {metric.unit} | {b:.3g} {metric.unit} "
            f"| {cell['tolerance_ratio']:.1f} | {inside} |"
        )
    return f"The {WORST} cells farthest from agreement:\n\n" + "\n".join(lines) + "\n"


SIDE, MARGIN, GAP = 300, 62, 40


def figure(cells: list[dict[str, Any]]) -> str:
    """One panel a metric: the simulator over the kernel, with the band of what is tolerated."""
    width, height = len(METRICS) * (SIDE + MARGIN + GAP), SIDE + 110
    box = f'viewBox="0 0 {width} {height}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {box} font-family="sans-serif" font-size="12">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
    ]
    for number, metric in enumerate(METRICS):
        parts += panel(metric, of(cells, metric=metric.key), MARGIN + number * (SIDE + MARGIN + GAP))
    for number, (scheme, colour) in enumerate(SCHEMES.items()):
        x = MARGIN + 90 * number
        parts.append(f'<circle cx="{x}" cy="{height - 14}" r="4" fill="{colour}"/>')
        parts.append(f'<text x="{x + 9}" y="{height - 10}">{scheme}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def panel(metric: Metric, group: list[dict[str, Any]], left: float) -> list[str]:
    """Axes, band and points of one metric, on logarithmic scales."""
    pairs = [tuple(max(cell[side]["mean"] * metric.factor, metric.least) for side in ("b", "a")) for cell in group]
    low, high = metric.least, 10 ** math.ceil(math.log10(max(max(pair) for pair in pairs)))
    top = 34

    def place(value: float) -> float:
        return SIDE * math.log(min(max(value, low), high) / low) / math.log(high / low)

    def x(value: float) -> float:
        return left + place(value)

    def y(value: float) -> float:
        return top + SIDE - place(value)

    many, few = 1 + metric.relative, 1 - metric.relative
    band = [(x(low), y(low)), (x(low), y(low * many)), (x(high / many), y(high)), (x(high), y(high))]
    band += [(x(high), y(high * few)), (x(low / few), y(low))]
    parts = [
        f'<text x="{left}" y="18" font-weight="bold">{metric.title}, {metric.unit}</text>',
        f'<polygon points="{" ".join(f"{a:.1f},{b:.1f}" for a, b in band)}" fill="#dddddd"/>',
        f'<rect x="{left}" y="{top}" width="{SIDE}" height="{SIDE}" fill="none" stroke="#888888"/>',
        f'<text x="{left + SIDE / 2}" y="{top + SIDE + 38}" text-anchor="middle">real Linux</text>',
        f'<text transform="translate({left - 44} {top + SIDE / 2}) rotate(-90)" text-anchor="middle">simulator</text>',
    ]
    for exponent in range(math.ceil(math.log10(low)), round(math.log10(high)) + 1):
        tick = 10.0**exponent
        parts.append(f'<text x="{x(tick)}" y="{top + SIDE + 18}" text-anchor="middle">{tick:g}</text>')
        parts.append(f'<text x="{left - 8}" y="{y(tick) + 4}" text-anchor="end">{tick:g}</text>')
    for cell, (there, here) in zip(group, pairs, strict=True):
        colour = SCHEMES[cell["scheme"]]
        parts.append(f'<circle cx="{x(there):.1f}" cy="{y(here):.1f}" r="2.6" fill="{colour}" fill-opacity="0.6"/>')
    return parts


if __name__ == "__main__":
    main()

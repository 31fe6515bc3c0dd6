"""Writes the tables and the figure of a page on agreement from what `bakeoff agree --json` printed.

python scripts/agreement.py schemes one.json three.json loss.json step.json
python scripts/agreement.py queues queues.json
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
BEGIN, END = "<!-- numbers: written by scripts/agreement.py -->", "<!-- end of numbers -->"
FAR = 3.0
WORST = 20


@dataclass(frozen=True)
class Metric:
    """What is compared: its key in the JSON, how it is called, its unit, what is tolerated, and the end of its axis."""

    key: str
    title: str
    unit: str
    factor: float
    relative: float
    least: float


@dataclass(frozen=True)
class Page:
    """A page: its name in docs, what its rows are, their colours, and what is compared."""

    name: str
    row: str
    colours: dict[str, str]
    metrics: tuple[Metric, ...]

    def group(self, cell: dict[str, Any]) -> str:
        """The row that a cell belongs to."""
        found: str = cell["cell"]["queue"] if self.row == "queue" else cell["scheme"]
        return found


PAGES = {
    "schemes": Page(
        "agreement",
        "scheme",
        {
            "reno": "#7570b3",
            "cubic": "#1b9e77",
            "bbr": "#d95f02",
            "vegas": "#e7298a",
            "illinois": "#66a61e",
            "westwood": "#a6761d",
        },
        (
            Metric("throughput_mbps", "Throughput per flow", "Mbit/s", 1.0, 0.03, 0.05),
            Metric("queue_p95_ms", "95th-percentile queueing delay", "ms", 1.0, 0.07, 0.1),
            Metric("loss", "Loss", "%", 100.0, 0.15, 0.01),
        ),
    ),
    "queues": Page(
        "agreement-queues",
        "queue",
        {
            "codel": "#1b9e77",
            "fq_codel": "#d95f02",
            "cake": "#7570b3",
            "pie": "#e7298a",
            "fq_pie": "#66a61e",
            "red": "#e6ab02",
            "dualpi2": "#a6761d",
        },
        (
            Metric("throughput_mbps", "Throughput per flow", "Mbit/s", 1.0, 0.05, 0.05),
            Metric("queue_p95_ms", "95th-percentile queueing delay", "ms", 1.0, 0.10, 0.1),
            Metric("loss", "Drops", "%", 100.0, 0.2, 0.01),
            Metric("ce_marks", "Marks", "packets", 1.0, 0.2, 1.0),
        ),
    ),
}


def main() -> None:
    """Reads the files and rewrites page and figure."""
    if len(sys.argv) < 3 or sys.argv[1] not in PAGES:
        sys.exit(f"give a page ({' or '.join(PAGES)}) and the files that `bakeoff agree --json` printed")
    page = PAGES[sys.argv[1]]
    found = [json.loads(Path(name).read_text(encoding="utf-8")) for name in sys.argv[2:]]
    every = [cell | {"suite": run["experiment"]} for run in found for cell in run["cells"] if cell["flow"]]
    # A later file may repeat cells with more seeds.
    cells = list(
        {(cell["suite"], *cell["cell"].values(), cell["flow"], cell["metric"]): cell for cell in every}.values()
    )
    file = DOCS / f"{page.name}.md"
    before, rest = file.read_text(encoding="utf-8").split(BEGIN)
    after = rest.split(END)[1]
    numbers = f"{summary(page, cells)}\n{worst(page, cells)}"
    file.write_text(f"{before}{BEGIN}\n\n{numbers}\n{END}{after}", encoding="utf-8")
    (DOCS / f"{page.name}.svg").write_text(figure(page, cells), encoding="utf-8")


def of(cells: list[dict[str, Any]], metric: Metric, **wanted: str) -> list[dict[str, Any]]:
    """The cells with these properties that both worlds have a value for; of counts, those where either is above 0."""
    return [
        cell
        for cell in cells
        if cell["metric"] == metric.key
        and cell["tolerance_ratio"] is not None
        and (metric.unit != "packets" or cell["a"]["mean"] > 0 or cell["b"]["mean"] > 0)
        and all(cell[key] == value for key, value in wanted.items())
    ]


def summary(page: Page, cells: list[dict[str, Any]]) -> str:
    """The medians by suite and row, and over all suites."""
    heads = " | ".join(f"{metric.title}: median error" for metric in page.metrics)
    lines = [f"| suite | {page.row} | flows | {heads} |", "|---" * (3 + len(page.metrics)) + "|"]
    named = [cell | {"row": page.group(cell)} for cell in cells]
    suites = list(dict.fromkeys(cell["suite"] for cell in cells))
    for suite in suites:
        for row in page.colours:
            here = [of(named, metric, suite=suite, row=row) for metric in page.metrics]
            if here[0]:
                shown = " | ".join(map(error, here))
                lines.append(f"| {suite} | {row} | {len(here[0])} | {shown} |")
    for row in page.colours if len(suites) > 1 else ():
        here = [of(named, metric, row=row) for metric in page.metrics]
        shown = " | ".join(map(error, here))
        lines.append(f"| **all** | **{row}** | {len(here[0])} | {shown} |")
    return "\n".join(lines) + "\n"


def error(group: list[dict[str, Any]]) -> str:
    """The median error, and how many are beyond three times what is tolerated."""
    if not group:
        return "none"
    far = sum(cell["tolerance_ratio"] > FAR for cell in group)
    median = statistics.median(abs(cell["relative"] or 0) for cell in group)
    return f"{median:.2%} ({far} far)"


def worst(page: Page, cells: list[dict[str, Any]]) -> str:
    """The cells that are farthest from agreement."""
    judged = [(metric, cell) for metric in page.metrics for cell in of(cells, metric)]
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


def figure(page: Page, cells: list[dict[str, Any]]) -> str:
    """One panel a metric: the simulator over the kernel, with the band of what is tolerated."""
    width, height = len(page.metrics) * (SIDE + MARGIN + GAP), SIDE + 110
    box = f'viewBox="0 0 {width} {height}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {box} font-family="sans-serif" font-size="12">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
    ]
    for number, metric in enumerate(page.metrics):
        parts += panel(page, metric, of(cells, metric), MARGIN + number * (SIDE + MARGIN + GAP))
    for number, (row, colour) in enumerate(page.colours.items()):
        x = MARGIN + 90 * number
        parts.append(f'<circle cx="{x}" cy="{height - 14}" r="4" fill="{colour}"/>')
        parts.append(f'<text x="{x + 9}" y="{height - 10}">{row}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def panel(page: Page, metric: Metric, group: list[dict[str, Any]], left: float) -> list[str]:
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
        colour = page.colours[page.group(cell)]
        parts.append(f'<circle cx="{x(there):.1f}" cy="{y(here):.1f}" r="2.6" fill="{colour}" fill-opacity="0.6"/>')
    return parts


if __name__ == "__main__":
    main()

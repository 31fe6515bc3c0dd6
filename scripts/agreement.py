"""Writes the tables and the figure of a page on agreement from what `bakeoff agree --json` printed.

.venv/bin/python scripts/agreement.py schemes one.json three.json loss.json step.json
.venv/bin/python scripts/agreement.py queues queues.json
"""

from __future__ import annotations

import statistics
from typing import Any

import printed
from agreement_figure import figure
from agreement_pages import PAGES, Page, of
from bakeoff.metrics.agreement import FAR

DOCS = printed.ROOT / "docs"
WORST = 20


def main() -> None:
    """Reads the files and rewrites page and figure."""
    parser = printed.parser(__doc__)
    parser.add_argument("page", choices=PAGES)
    reads = printed.by("bakeoff agree --json", "cells")
    parser.add_argument("files", nargs="+", metavar="FILE", type=reads, help="what `bakeoff agree --json` printed")
    given = parser.parse_args()
    page = PAGES[given.page]
    every = [cell | {"suite": run["experiment"]} for run in given.files for cell in run["cells"] if cell["flow"]]
    # A later file may repeat cells with more seeds.
    cells = list(
        {(cell["suite"], *cell["cell"].values(), cell["flow"], cell["metric"]): cell for cell in every}.values()
    )
    printed.put(DOCS / f"{page.name}.md", f"{summary(page, cells)}\n{worst(page, cells)}", by="agreement")
    (DOCS / f"{page.name}.svg").write_text(figure(page, cells), encoding="utf-8")


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


if __name__ == "__main__":
    main()

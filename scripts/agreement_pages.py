"""The two pages on agreement with Linux: what each compares, and the cells that count."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Metric:
    """What is compared.

    Attributes:
        key: its name in the JSON.
        title: how it is called.
        unit: of the printed number.
        factor: the printed number over that in the JSON.
        relative: what is tolerated, the half width of the figure's band.
        least: the figure takes smaller printed numbers for this one.
    """

    key: str
    title: str
    unit: str
    factor: float
    relative: float
    least: float


@dataclass(frozen=True)
class Page:
    """A page.

    Attributes:
        name: in docs.
        row: what the rows of its table and the groups of its figure are.
        part: what splits a group of the figure: "suite", or an axis of the matrix.
        colours: of the rows.
        metrics: what is compared.
    """

    name: str
    row: str
    part: str
    colours: dict[str, str]
    metrics: tuple[Metric, ...]

    def group(self, cell: dict[str, Any]) -> str:
        """The row that a cell belongs to."""
        found: str = cell["cell"]["queue"] if self.row == "queue" else cell["scheme"]
        return found

    def part_of(self, cell: dict[str, Any]) -> str:
        """The part of its group that a cell is drawn in."""
        found: str = cell["suite"].rpartition("-")[2] if self.part == "suite" else cell["cell"][self.part]
        return found


PAGES = {
    "schemes": Page(
        "agreement",
        "scheme",
        "suite",
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
        "rate",
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

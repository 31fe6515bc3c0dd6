"""The parts that a measure is made of; each tells its value for one run."""

from __future__ import annotations

import math
import re
import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

FUNCTIONS: dict[str, Callable[[Sequence[float]], float]] = {
    "min": min,
    "max": max,
    "abs": lambda values: abs(values[0]),
}
NUMBERED = re.compile(r"(flow|probe)([1-9][0-9]{0,8})", re.ASCII)
COUNTERS = ("dropped", "marked", "duplicated")
REASONS = (
    *("overlimit", "loss", "congestion", "threshold", "blue", "sce", "police", "replay", "mangle", "duplicate"),
    "qdisc",
)
"""Why a packet is dropped, marked or duplicated, in the core's words."""
DEFAULT = "default"
_LEAST_CELLS = 3


@dataclass(frozen=True)
class Number:
    """A literal."""

    value: float

    def evaluate(self, run: Mapping[str, Any]) -> float | None:  # noqa: ARG002 - same shape as the other nodes
        """The number itself."""
        return self.value


@dataclass(frozen=True)
class Lookup:
    """A value of the run: the steps through its JSON."""

    steps: tuple[str, ...]

    def evaluate(self, run: Mapping[str, Any]) -> float | None:
        """The value, or None if the run does not have it."""
        head, *rest = self.steps
        value: Any = run
        if match := NUMBERED.fullmatch(head):
            value = _find(run[f"{match[1]}s"], match[1], int(match[2]))
        elif head == "hops":
            value = _find(run["hops"], "hop", rest.pop(0))
        else:
            value = run.get(head) if head == "published" else run[head]
        for index, step in enumerate(rest):
            if value is None:
                return None
            if index and rest[index - 1] in COUNTERS:
                value = value.get(step, 0)
            else:
                # A published table may lack a flow.
                value = value.get(step) if NUMBERED.fullmatch(step) else value[step]
        return None if value is None else float(value)


@dataclass(frozen=True)
class Call:
    """A function of several values."""

    function: str
    arguments: tuple[Any, ...]

    def evaluate(self, run: Mapping[str, Any]) -> float | None:
        """The function's value, or None if an argument does not exist."""
        values = [argument.evaluate(run) for argument in self.arguments]
        known = [value for value in values if value is not None]
        if self.function == DEFAULT:
            return known[0] if known else None
        return FUNCTIONS[self.function](known) if len(known) == len(values) else None


@dataclass(frozen=True)
class Binary:
    """Two values and an operator."""

    operator: str
    left: Any
    right: Any

    def evaluate(self, run: Mapping[str, Any]) -> float | None:
        """The result, or None if a side does not exist or a divisor is zero."""
        left, right = self.left.evaluate(run), self.right.evaluate(run)
        if left is None or right is None:
            return None
        if self.operator == "+":
            return float(left + right)
        if self.operator == "-":
            return float(left - right)
        if self.operator == "*":
            return float(left * right)
        return float(left / right) if right else None


@dataclass(frozen=True)
class Measure:
    """A parsed measure.

    Attributes:
        text: as written.
        root: the tree.
        beside: the second tree of a rank correlation; None for a measure of single runs.
        needs_telemetry: whether it looks at the inner state of a flow over time.
        over_time: the first metric in it that runs recorded at level `summary` do not have; None if there is none.
    """

    text: str
    root: Any
    beside: Any = None
    needs_telemetry: bool = False
    over_time: str | None = None

    def over_cells(self, runs: Sequence[Mapping[str, Any]]) -> float | None:
        """A rank correlation's value for all runs; None for fewer than three cells, or if a side is constant."""
        cells: dict[tuple[tuple[str, str], ...], list[tuple[float, float]]] = {}
        for run in runs:
            ours, theirs = self.root.evaluate(run), self.beside.evaluate(run)
            if ours is not None and theirs is not None:
                cells.setdefault(tuple(run["cell"].items()), []).append((ours, theirs))
        means = [[statistics.fmean(side) for side in zip(*pairs, strict=True)] for pairs in cells.values()]
        if len(means) < _LEAST_CELLS:
            return None
        left, right = (_ranks(side) for side in zip(*means, strict=True))
        try:
            return statistics.correlation(left, right)
        except statistics.StatisticsError:
            return None

    def evaluate(self, run: Mapping[str, Any]) -> float | None:
        """The measure's value for one run.

        Args:
            run: one entry of `runs` in the JSON contract, with status `complete`. For a measure that looks at
                telemetry it also has `telemetry`, a `bakeoff.claims.Telemetry`, or None where the run recorded none.

        Returns:
            A finite number, or None if a value that it needs does not exist.
        """
        value: float | None = self.root.evaluate(run)
        return value if value is not None and math.isfinite(value) else None

    def is_absent(self, run: Mapping[str, Any]) -> bool:
        """Whether what it is about does not exist for a run, and its default stands in."""
        return (
            isinstance(self.root, Call)
            and self.root.function == DEFAULT
            and self.root.arguments[0].evaluate(run) is None
        )


def _find(entries: Sequence[Mapping[str, Any]], key: str, wanted: int | str) -> Mapping[str, Any] | None:
    return next((entry for entry in entries if entry[key] == wanted), None)


def _ranks(values: Sequence[float]) -> list[float]:
    """The place of each value from 1; equal ones share the mean of theirs."""
    ordered = sorted(values)
    return [ordered.index(value) + (ordered.count(value) + 1) / 2 for value in values]

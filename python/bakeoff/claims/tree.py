"""The parts that a measure is made of; each tells its value for one run."""

from __future__ import annotations

import math
import re
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
COUNTERS = ("dropped", "marked")


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
            value = run[head]
        for index, step in enumerate(rest):
            if value is None:
                return None
            value = value.get(step, 0) if index and rest[index - 1] in COUNTERS else value[step]
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
        needs_telemetry: whether it looks at the inner state of a flow over time.
    """

    text: str
    root: Any
    needs_telemetry: bool = False

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


def _find(entries: Sequence[Mapping[str, Any]], key: str, wanted: int | str) -> Mapping[str, Any] | None:
    return next((entry for entry in entries if entry[key] == wanted), None)

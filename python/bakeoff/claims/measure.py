"""The measure language: arithmetic over the numbers of one run.

    sum     = term { ("+" | "-") term }
    term    = factor { ("*" | "/") factor }
    factor  = "-" factor | number | value | call | "(" sum ")"
    call    = ("min" | "max" | "abs" | "default") "(" sum { "," sum } ")"
    value   = ( "flow" | "probe" ) N "." metric | "total" "." metric | "hops" "[" string "]" "." metric | "duration_s"
             | "published" "." ( "throughput_mbps" | "owd_p95_ms" | "loss" )
    metric  = name | "pantheon" "." name | ("dropped" | "marked" | "duplicated") "[" string "]"

Metrics are those of `bakeoff list metrics`. A value that a run does not have makes the whole measure not
exist for that run; so does a division by zero. `default(a, b)` is a, or b where a does not exist. Packets dropped or
marked for a reason that did not occur are 0.

`published` is the row of the experiment's reference beside the run: means over its runs, all flows together.

A measure may also be about all runs together, one number for the claim:

    measure = sum | "rank_correlation" "(" sum "," sum ")"

is Spearman's, between two measures over the cells of the matrix, each the mean over its runs; equal numbers share a
rank. Cells that lack one of the two are left out.

Examples: `flow2.throughput_mbps / flow1.throughput_mbps`, `1 - total.pantheon.loss`,
`hops["forward.0"].queue_p95_ms`, `hops["forward.0"].dropped["overlimit"]`,
`rank_correlation(total.pantheon.owd_p95_ms, published.owd_p95_ms)`.
"""

from __future__ import annotations

import difflib
import functools
import math
import re
import statistics
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from bakeoff.claims.tokens import Reader

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

MAX_DEPTH = 50
_LEAST_CELLS = 3

_FUNCTIONS: dict[str, Callable[[Sequence[float]], float]] = {
    "min": min,
    "max": max,
    "abs": lambda values: abs(values[0]),
}
_DEFAULT = "default"
_NUMBERED = re.compile(r"(flow|probe)([1-9][0-9]{0,8})", re.ASCII)
_COUNTERS = ("dropped", "marked", "duplicated")
_RANKS = "rank_correlation"


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
        if match := _NUMBERED.fullmatch(head):
            value = _find(run[f"{match[1]}s"], match[1], int(match[2]))
        elif head == "hops":
            value = _find(run["hops"], "hop", rest.pop(0))
        else:
            value = run.get(head) if head == "published" else run[head]
        for index, step in enumerate(rest):
            if value is None:
                return None
            value = value.get(step, 0) if index and rest[index - 1] in _COUNTERS else value[step]
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
        if self.function == _DEFAULT:
            return known[0] if known else None
        return _FUNCTIONS[self.function](known) if len(known) == len(values) else None


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
    """

    text: str
    root: Any
    beside: Any = None

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
            run: one entry of `runs` in the JSON contract, with status `complete`.

        Returns:
            A finite number, or None if a value that it needs does not exist.
        """
        value: float | None = self.root.evaluate(run)
        return value if value is not None and math.isfinite(value) else None


def _ranks(values: Sequence[float]) -> list[float]:
    """The place of each value from 1; equal ones share the mean of theirs."""
    ordered = sorted(values)
    return [ordered.index(value) + (ordered.count(value) + 1) / 2 for value in values]


def _find(entries: Sequence[Mapping[str, Any]], key: str, wanted: int | str) -> Mapping[str, Any] | None:
    return next((entry for entry in entries if entry[key] == wanted), None)


def parse_measure(text: str) -> Measure:
    """Reads a measure.

    Raises:
        ClaimSyntaxError: it does not follow the grammar or names a metric that does not exist.
    """
    reader = Reader(text, "measure")
    if reader.next.kind == "name" and reader.next.text == _RANKS:
        reader.take()
        reader.expect("(")
        root = _sum(reader, 0)
        reader.expect(",")
        beside = _sum(reader, 0)
        reader.expect(")")
    else:
        root, beside = _sum(reader, 0), None
    reader.finish()
    return Measure(text, root, beside)


def _sum(reader: Reader, depth: int) -> Any:
    if depth > MAX_DEPTH:
        raise reader.error(f"nested more than {MAX_DEPTH} deep")
    node = _term(reader, depth)
    while operator := reader.accept("+", "-"):
        node = Binary(operator, node, _term(reader, depth))
    return node


def _term(reader: Reader, depth: int) -> Any:
    node = _factor(reader, depth)
    while operator := reader.accept("*", "/"):
        node = Binary(operator, node, _factor(reader, depth))
    return node


def _factor(reader: Reader, depth: int) -> Any:
    negative = False
    while reader.accept("-"):
        negative = not negative
    node = _primary(reader, depth)
    return Binary("-", Number(0.0), node) if negative else node


def _primary(reader: Reader, depth: int) -> Any:
    if reader.accept("("):
        node = _sum(reader, depth + 1)
        reader.expect(")")
        return node
    token = reader.take()
    if token.kind == "number":
        return Number(float(token.text))
    if token.kind == "name":
        is_call = token.text in _FUNCTIONS or token.text == _DEFAULT
        return _call(reader, token.text, depth) if is_call else _lookup(reader, token.text)
    raise reader.error(f"expected a number or a value such as total.loss and found {token}")


def _call(reader: Reader, function: str, depth: int) -> Call:
    reader.expect("(")
    arguments = [_sum(reader, depth + 1)]
    while reader.accept(","):
        arguments.append(_sum(reader, depth + 1))
    reader.expect(")")
    if function == "abs" and len(arguments) != 1:
        raise reader.error("abs takes one value")
    if function == _DEFAULT and len(arguments) != 2:
        raise reader.error(f"{function} takes two values")
    return Call(function, tuple(arguments))


def _lookup(reader: Reader, head: str) -> Lookup:
    if head == "duration_s":
        return Lookup((head,))
    steps = [head]
    if head == "hops":
        reader.expect("[")
        steps.append(_string(reader, 'a hop such as "forward.0"'))
        reader.expect("]")
        known = _names()["hop"]
    elif head in {"total", "published"}:
        known = _names()[head]
    elif head == _RANKS:
        raise reader.error(f"{_RANKS} stands alone: it is one number for all runs")
    elif match := _NUMBERED.fullmatch(head):
        known = _names()[match[1]]
    else:
        forms = 'flow1.METRIC, total.METRIC, published.METRIC, hops["forward.0"].METRIC or probe1.METRIC'
        raise reader.error(f'"{head}" is not a value; write {forms}')
    reader.expect(".")
    steps.append(_metric(reader, known))
    if steps[-1] == "pantheon":
        reader.expect(".")
        steps.append(_metric(reader, _names()["pantheon"]))
    elif steps[-1] in _COUNTERS:
        reader.expect("[")
        steps.append(_string(reader, 'a reason such as "overlimit"'))
        reader.expect("]")
    return Lookup(tuple(steps))


def _string(reader: Reader, what: str) -> str:
    token = reader.take()
    if token.kind != "string":
        raise reader.error(f"expected {what} in quotes and found {token}")
    return token.text


def _metric(reader: Reader, known: Sequence[str]) -> str:
    token = reader.take()
    if token.kind != "name" or token.text not in known:
        near = difflib.get_close_matches(token.text, known, 1)
        hint = f'did you mean "{near[0]}"?' if near else f"known are {', '.join(known)}"
        raise reader.error(f"{token} is not a metric; {hint}")
    return token.text


@functools.cache
def _names() -> dict[str, tuple[str, ...]]:
    """The metrics of each kind of object: its numeric fields."""
    # Imported late: it brings numpy, which `bakeoff --help` must not wait for.
    from bakeoff.metrics.pantheon import PantheonMetrics  # noqa: PLC0415
    from bakeoff.metrics.probes import ProbeSummary  # noqa: PLC0415
    from bakeoff.metrics.summary import FlowSummary, HopSummary, TotalSummary  # noqa: PLC0415
    from bakeoff.references import Published  # noqa: PLC0415

    texts = {"scheme", "hop", "bottleneck", "pantheon_discarded", "flow", "probe"}
    kinds = {
        "flow": FlowSummary,
        "probe": ProbeSummary,
        "total": TotalSummary,
        "published": Published,
        "hop": HopSummary,
        "pantheon": PantheonMetrics,
    }
    return {
        kind: tuple(entry.name for entry in fields(summary) if entry.name not in texts)
        for kind, summary in kinds.items()
    }

"""The measure language: arithmetic over the numbers of one run.

    sum        = term { ("+" | "-") term }
    term       = factor { ("*" | "/") factor }
    factor     = "-" factor | number | value | call | fold | "(" sum ")"
    call       = ("min" | "max" | "abs" | "default") "(" sum { "," sum } ")"
    value      = ( "flow" | "probe" ) N "." metric | "total" "." metric | "hops" "[" string "]" "." metric
               | "duration_s" | "published" "." [ "flow" N "." ] ( "throughput_mbps" | "owd_p95_ms" | "loss" )
    metric     = name | "pantheon" "." name | ("dropped" | "marked" | "duplicated") "[" string "]"
    fold       = ("first" | "last" | "least" | "most" | "mean") "(" sum [ "while" condition ] ")"
               | ("spells" | "seconds" | "longest") "(" condition ")"
    condition  = comparison { "and" comparison }
    comparison = sum ("<" | "<=" | ">" | ">=" | "==" | "!=") sum

Metrics are those of `bakeoff list metrics`. A value that a run does not have makes the whole measure not
exist for that run; so does a division by zero. `default(a, b)` is a, or b where a does not exist. Packets dropped or
marked for a reason that did not occur are 0.

`published` is the row of the experiment's reference beside the run: means over its runs, all flows together or one.

A fold makes one number out of the telemetry of the run, which is sampled every `record.interval`. Within it
`flow1.NAME` is a quantity of `bakeoff show SCHEME` or of every sender, or the flow's `throughput_mbps` or
`goodput_mbps` over the interval that ends then, and `time_s` the time. `spells` counts how often a condition begins
to hold, `seconds` is for how long it holds altogether, `longest` the longest spell.

A measure may also be about all runs together, one number for the claim:

    measure = sum | "rank_correlation" "(" sum "," sum ")"

is Spearman's, between two measures over the cells of the matrix, each the mean over its runs; equal numbers share a
rank. Cells that lack one of the two are left out.

Examples: `flow2.throughput_mbps / flow1.throughput_mbps`, `1 - total.pantheon.loss`,
`hops["forward.0"].queue_p95_ms`, `hops["forward.0"].dropped["overlimit"]`, `most(flow1.cwnd while time_s > 5)`,
`mean(flow1.goodput_mbps while time_s > 10)`, the goodput without the first ten seconds,
`rank_correlation(total.pantheon.owd_p95_ms, published.owd_p95_ms)`.
"""

from __future__ import annotations

import difflib
import functools
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from bakeoff.claims import telemetry
from bakeoff.claims.tokens import Reader
from bakeoff.claims.tree import COUNTERS, DEFAULT, FUNCTIONS, NUMBERED, REASONS, Binary, Call, Lookup, Measure, Number

if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_DEPTH = 50
MAX_LISTED = 40
_RANKS = "rank_correlation"


def parse_measure(text: str) -> Measure:
    """Reads a measure.

    Raises:
        ClaimSyntaxError: it does not follow the grammar or names a metric that does not exist.
    """
    reader = Reader(text, "measure")
    parser = _Parser(reader)
    root, beside = parser.measure()
    reader.finish()
    return Measure(text, root, beside, parser.has_folds, parser.over_time)


class _Parser:
    """A parser by descent; within a fold the parts are arrays over time."""

    def __init__(self, reader: Reader) -> None:
        self.has_folds = False
        self.over_time: str | None = None
        self._reader = reader
        self._depth = 0
        self._is_in_fold = False

    def measure(self) -> tuple[Any, Any]:
        """A measure of single runs, or the two of a rank correlation."""
        if not self._reader.accept_word(_RANKS):
            return self.sum(), None
        self._reader.expect("(")
        root = self.sum()
        self._reader.expect(",")
        beside = self.sum()
        self._reader.expect(")")
        return root, beside

    def sum(self) -> Any:
        node = self._term()
        while operator := self._reader.accept("+", "-"):
            node = self._binary(operator, node, self._term())
        return node

    def _term(self) -> Any:
        node = self._factor()
        while operator := self._reader.accept("*", "/"):
            node = self._binary(operator, node, self._factor())
        return node

    def _binary(self, operator: str, left: Any, right: Any) -> Any:
        return (telemetry.Arithmetic if self._is_in_fold else Binary)(operator, left, right)

    def _number(self, node: Any) -> Any:
        """A part that is one number, where an array may be wanted."""
        return telemetry.Constant(node) if self._is_in_fold else node

    def _factor(self) -> Any:
        negative = False
        while self._reader.accept("-"):
            negative = not negative
        node = self._primary()
        return self._binary("-", self._number(Number(0.0)), node) if negative else node

    def _primary(self) -> Any:
        if self._reader.accept("("):
            return self._nested(self.sum)
        token = self._reader.take()
        if token.kind == "number":
            return self._number(Number(float(token.text)))
        if token.kind != "name":
            raise self._reader.error(f"expected a number or a value such as total.loss and found {token}")
        if token.text in (*telemetry.FOLDS, *telemetry.SPELLS):
            return self._number(self._fold(token.text))
        if self._is_in_fold:
            return self._quantity(token.text)
        return self._call(token.text) if token.text in (*FUNCTIONS, DEFAULT) else self._lookup(token.text)

    def _nested(self, part: Any) -> Any:
        """What is between an opening bracket, which was read, and its closing one."""
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise self._reader.error(f"nested more than {MAX_DEPTH} deep")
        node = part()
        self._depth -= 1
        self._reader.expect(")")
        return node

    def _call(self, function: str) -> Call:
        self._reader.expect("(")
        arguments = self._nested(self._arguments)
        if function == "abs" and len(arguments) != 1:
            raise self._reader.error("abs takes one value")
        if function == DEFAULT and len(arguments) != 2:
            raise self._reader.error(f"{function} takes two values")
        return Call(function, arguments)

    def _arguments(self) -> tuple[Any, ...]:
        arguments = [self.sum()]
        while self._reader.accept(","):
            arguments.append(self.sum())
        return tuple(arguments)

    def _fold(self, kind: str) -> Any:
        self.has_folds = True
        was_in_fold, self._is_in_fold = self._is_in_fold, True
        self._reader.expect("(")
        node = self._nested(functools.partial(self._spells if kind in telemetry.SPELLS else self._folded, kind))
        self._is_in_fold = was_in_fold
        return node

    def _folded(self, kind: str) -> telemetry.Fold:
        array = self.sum()
        return telemetry.Fold(kind, array, self._condition() if self._reader.accept_word("while") else None)

    def _spells(self, kind: str) -> telemetry.Spells:
        return telemetry.Spells(kind, self._condition())

    def _condition(self) -> telemetry.Condition:
        comparisons = [self._comparison()]
        while self._reader.accept_word("and"):
            comparisons.append(self._comparison())
        return telemetry.Condition(tuple(comparisons))

    def _comparison(self) -> tuple[str, Any, Any]:
        left = self.sum()
        sign = self._reader.accept(*telemetry.COMPARISONS)
        if sign is None:
            raise self._reader.error(f"expected a comparison such as < or == and found {self._reader.next}")
        return sign, left, self.sum()

    def _quantity(self, head: str) -> Any:
        if head == "time_s":
            return telemetry.Time()
        match = NUMBERED.fullmatch(head)
        if match is None or match[1] != "flow":
            raise self._reader.error(f'"{head}" does not change with time; write flow1.QUANTITY or time_s')
        self._reader.expect(".")
        return telemetry.Quantity(int(match[2]), self._known(_quantities(), "a quantity over time"))

    def _lookup(self, head: str) -> Lookup:
        if head == "duration_s":
            return Lookup((head,))
        steps = [head]
        if head == "hops":
            steps.append(self._string('a hop such as "forward.0"'))
            known = _metrics()["hop"]
        elif head in {"total", "published"}:
            known = _metrics()[head]
        elif head == _RANKS:
            raise self._reader.error(f"{_RANKS} stands alone: it is one number for all runs")
        elif match := NUMBERED.fullmatch(head):
            known = _metrics()[match[1]]
        else:
            forms = 'flow1.METRIC, total.METRIC, published.METRIC, hops["forward.0"].METRIC or probe1.METRIC'
            raise self._reader.error(f'"{head}" is not a value; write {forms}')
        self._reader.expect(".")
        if head == "published" and (match := NUMBERED.fullmatch(self._reader.next.text)) and match[1] == "flow":
            steps.append(self._reader.take().text)
            self._reader.expect(".")
        steps.append(self._known(known, "a metric"))
        if steps[-1] in _over_time():
            self.over_time = self.over_time or steps[-1]
        if steps[-1] == "pantheon":
            self._reader.expect(".")
            steps.append(self._known(_metrics()["pantheon"], "a metric"))
        elif steps[-1] in COUNTERS:
            steps.append(self._reason())
        return Lookup(tuple(steps))

    def _reason(self) -> str:
        reason = self._string('a reason such as "overlimit"')
        if reason not in REASONS:
            raise self._reader.error(f'"{reason}" is not a reason; {_hint(reason, REASONS)}')
        return reason

    def _string(self, what: str) -> str:
        self._reader.expect("[")
        token = self._reader.take()
        if token.kind != "string":
            raise self._reader.error(f"expected {what} in quotes and found {token}")
        self._reader.expect("]")
        return token.text

    def _known(self, known: Sequence[str], what: str) -> str:
        token = self._reader.take()
        if token.kind != "name" or token.text not in known:
            raise self._reader.error(f"{token} is not {what}; {_hint(token.text, known)}")
        return token.text


def _hint(word: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(word, known, 1)
    names = ", ".join(known) if len(known) <= MAX_LISTED else "what `bakeoff show SCHEME` lists"
    return f'did you mean "{near[0]}"?' if near else f"known are {names}"


@functools.cache
def _metrics() -> dict[str, tuple[str, ...]]:
    """The metrics of each kind of object: its numeric fields."""
    # Imported late: it brings numpy, which `bakeoff --help` must not wait for.
    from bakeoff.metrics.hops import HopSummary  # noqa: PLC0415
    from bakeoff.metrics.pantheon import PantheonMetrics  # noqa: PLC0415
    from bakeoff.metrics.probes import ProbeSummary  # noqa: PLC0415
    from bakeoff.metrics.summary import FlowSummary, TotalSummary  # noqa: PLC0415
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


@functools.cache
def _over_time() -> frozenset[str]:
    """The metrics that runs recorded at level `summary` do not have."""
    from bakeoff.metrics.definitions import DEFINITIONS  # noqa: PLC0415 - its package brings numpy

    return frozenset(name for entry in DEFINITIONS if entry.is_over_time for name in entry.name.split(", "))


@functools.cache
def _quantities() -> tuple[str, ...]:
    """What changes with time: the rates of flows, the telemetry of the transport and of all schemes."""
    found = (*telemetry.of_transport(), *telemetry.of_schemes())
    return tuple(dict.fromkeys((*telemetry.RATES, *(entry["name"] for entry in found))))

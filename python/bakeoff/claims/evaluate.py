"""Verdicts: each claim over all runs that it is about.

A claim that compares cells is about the ratio of the measure in them, each repeat against its own: repeats with the
same number meet the same chance. With several runs, a claim holds if the whole 95 % interval of the mean, or of the
median where it asks for that, lies in the expected range, fails if none of it does, and is undecided otherwise. A
single run has no interval: then its value alone decides.

Few runs that scatter have an interval that reaches beyond what can be. It ends there: a loss and a share as in
`flow1.goodput_mbps / (flow1.goodput_mbps + flow2.goodput_mbps)` lie from 0 to 1, a rate, a time and a ratio of them are
no less than 0. The interval is as sure as before, for the mean lies within these bounds in any case. Where a run lies
beyond one, as the utilisation of a token bucket may, it bounds nothing.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from bakeoff.claims.bounds import bounds_of
from bakeoff.claims.expect import Expectation, parse_expectation
from bakeoff.claims.measure import parse_measure
from bakeoff.claims.tokens import ClaimSyntaxError
from bakeoff.claims.unit import is_count, unit_of
from bakeoff.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from bakeoff.claims.telemetry import Telemetry
    from bakeoff.claims.tree import Measure
    from bakeoff.metrics.statistics import Estimate

Verdict = Literal["holds", "fails", "undecided"]

_NO_RUN = "no run matches"
_ROUNDING = 1e-9


@dataclass(frozen=True, kw_only=True)
class ClaimResult:
    """A claim and its verdict.

    Attributes:
        id: short name.
        says: the claim in words.
        source: who says so; None if the experiment does.
        where: the cells it is about.
        against: where the cells that they are compared with differ from them; empty if they are not.
        measure: what was measured, as written.
        statistic: what of it was expected, "mean" or "median".
        expect: the expectation, as written.
        verdict: what came out.
        mean: mean of the measure over the runs, or their median; None if it never exists.
        low: lower end of the 95 % interval; None for fewer than two runs, or six for a median.
        high: upper end.
        runs: number of runs that had the measure.
        absent: number of those for which its default stood in.
        reason: why it is undecided; None otherwise.
        note: what a reader of the verdict should know; None if there is nothing.
        unit: of what was measured; "" for a ratio or a count.
        is_count: whether what was measured is a whole number in each run.
    """

    id: str
    says: str
    source: str | None
    where: Mapping[str, str] = field(default_factory=dict)
    against: Mapping[str, str] = field(default_factory=dict)
    measure: str
    statistic: str = "mean"
    expect: str
    verdict: Verdict
    mean: float | None
    low: float | None
    high: float | None
    runs: int
    reason: str | None
    note: str | None = None
    unit: str = ""
    is_count: bool = False
    absent: int = 0


def check(measure: str, expect: str) -> Measure:
    """Checks that a claim can be understood, before anything runs; the measure as it was understood.

    Raises:
        ClaimSyntaxError: the measure or the expectation cannot.
    """
    parse_expectation(expect)
    return parse_measure(measure)


def evaluate(
    claims: Sequence[Mapping[str, Any]],
    runs: Sequence[Mapping[str, Any]],
    telemetry_of: Callable[[str], Telemetry | None] = lambda _: None,
    unmet: Sequence[Mapping[str, Any]] = (),
) -> list[ClaimResult]:
    """The verdict on each claim.

    Args:
        claims: with `id`, `says`, `measure`, `expect`, and optionally `source`, `where`, `against`, `statistic` and
            `note`.
        runs: the runs of the experiment, as in the JSON contract; `published` may hold published numbers beside one.
        telemetry_of: the telemetry of a run by its id; None where it recorded none.
        unmet: cells that were not run, each with its `cell` and the `reason`.

    Raises:
        UserError: a claim cannot be understood.
    """
    telemetry_of = functools.lru_cache(maxsize=64)(telemetry_of)
    found = [_evaluate(claim, runs, telemetry_of) for claim in claims]
    return [replace(one, reason=_waits(one, unmet)) if one.reason == _NO_RUN else one for one in found]


def _waits(claim: ClaimResult, unmet: Sequence[Mapping[str, Any]]) -> str:
    """What a claim without runs waits for, if its cells are among those that were not run."""
    return next((waiting["reason"] for waiting in unmet if _lies_in(waiting["cell"], claim.where)), _NO_RUN)


def _lies_in(cell: Mapping[str, str], where: Mapping[str, str]) -> bool:
    return all(cell.get(axis) == value for axis, value in where.items())


def _evaluate(
    claim: Mapping[str, Any], runs: Sequence[Mapping[str, Any]], telemetry_of: Callable[[str], Telemetry | None]
) -> ClaimResult:
    from bakeoff.metrics.statistics import estimate, median  # noqa: PLC0415 - brings what checking a claim does not need

    try:
        measure, expected = parse_measure(claim["measure"]), parse_expectation(claim["expect"])
    except ClaimSyntaxError as error:
        raise UserError(f"claim {claim['id']}: {error}") from error
    where, against = dict(claim.get("where") or {}), dict(claim.get("against") or {})
    matching = [run for run in runs if _lies_in(run["cell"], where)]
    complete = [run for run in matching if run["status"] == "complete"]
    value_of = functools.partial(_value, measure, telemetry_of)
    absent = 0
    if measure.beside is not None:
        values, missing = (
            [measure.over_cells([_seen(measure, telemetry_of, run) for run in complete])],
            len(matching) - len(complete),
        )
    else:
        values = [value_of(run) for run in matching]
        if against:
            others = {_place(run["cell"], run): value_of(run) for run in runs}
            values = [
                _ratio(value, others.get(_place({**run["cell"], **against}, run)))
                for value, run in zip(values, matching, strict=True)
            ]
        else:
            absent = sum(measure.is_absent(_seen(measure, telemetry_of, run)) for run in complete)
        missing = sum(value is None for value in values)
    known = [value for value in values if value is not None]
    statistic = claim.get("statistic", "mean")
    found = median(known) if statistic == "median" else estimate(known)
    if found is not None:
        found = found.between(*_reached(bounds_of(measure, compares=bool(against)), known))
    verdict, reason = _judge(expected, found, missing)
    if found is None and complete and not missing:
        reason = "too few cells have both values, or one of them is the same everywhere"
    return ClaimResult(
        id=claim["id"],
        says=claim["says"],
        source=claim.get("source"),
        where=where,
        against=against,
        measure=claim["measure"],
        statistic=statistic,
        expect=claim["expect"],
        verdict=verdict,
        mean=found.mean if found else None,
        low=found.low if found else None,
        high=found.high if found else None,
        runs=len(complete) if measure.beside is not None else len(known),
        reason=reason,
        note=claim.get("note"),
        unit="" if against else unit_of(measure),
        is_count=not against and is_count(measure),
        absent=absent,
    )


def _reached(bounds: tuple[float, float], known: Sequence[float]) -> tuple[float, float]:
    """The bounds, without one that a run has shown to be none, by more than what rounding does."""
    (least, most), (low, high) = bounds, (min(known), max(known))
    return (
        min(least, low) if low >= least - _ROUNDING else -math.inf,
        max(most, high) if high <= most + _ROUNDING else math.inf,
    )


def _value(measure: Measure, telemetry_of: Callable[[str], Telemetry | None], run: Mapping[str, Any]) -> float | None:
    if run["status"] != "complete":
        return None
    return measure.evaluate(_seen(measure, telemetry_of, run))


def _seen(
    measure: Measure, telemetry_of: Callable[[str], Telemetry | None], run: Mapping[str, Any]
) -> Mapping[str, Any]:
    """A run as the measure wants to see it."""
    return {**run, "telemetry": telemetry_of(run["id"])} if measure.needs_telemetry else run


def _place(cell: Mapping[str, str], run: Mapping[str, Any]) -> tuple[Any, ...]:
    return (run["repeat"], *sorted(cell.items()))


def _ratio(value: float | None, other: float | None) -> float | None:
    return value / other if value is not None and other else None


def _judge(expected: Expectation, found: Estimate | None, missing: int) -> tuple[Verdict, str | None]:
    """Verdict and, if undecided, the reason; `missing` is the number of runs that have no value."""
    if missing or found is None:
        return (
            "undecided",
            f"runs that failed, are still to come or lack the value: {missing}" if missing else _NO_RUN,
        )
    if found.count == 1:
        return ("holds" if expected.contains(found.mean) else "fails"), None
    if found.low is None or found.high is None:
        return "undecided", "a median has an interval from six runs on"
    if expected.contains(found.low) and expected.contains(found.high):
        return "holds", None
    if expected.misses(found.low, found.high):
        return "fails", None
    return "undecided", "the 95 % interval reaches across the bound"

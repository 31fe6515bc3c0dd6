"""Numbers as people read them, with their units, and what claims measured and expect."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from bakeoff.claims.expect import parse_expectation

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from bakeoff.claims import ClaimResult
    from bakeoff.metrics.queueing import Queueing
    from bakeoff.metrics.statistics import Estimate

MISSING = "\N{EN DASH}"
# Of a number that stands beside a bound.
_MOST_DIGITS = 8
_TIMES = {1: "once", 2: "twice"}
_SINGULAR = {"packets": "packet", "bytes": "byte"}
_SIGNS = {
    "+-": "\N{PLUS-MINUS SIGN}",
    ">=": "\N{GREATER-THAN OR EQUAL TO}",
    "<=": "\N{LESS-THAN OR EQUAL TO}",
}


def number(value: float | None, digits: int = 2) -> str:
    """A number with a fixed number of decimals, or a dash for what does not exist."""
    if value is None or not math.isfinite(value):
        return MISSING
    text = f"{value:.{digits}f}"
    return text if float(text) else text.removeprefix("-")


def significant(value: float | None, digits: int = 3) -> str:
    """A number with so many significant digits and no exponent, or a dash."""
    if value is None or not math.isfinite(value):
        return MISSING
    if value == 0:
        return "0"
    places = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    return f"{value:.{places}f}"


def with_minus(text: str) -> str:
    """A text with the minus sign before negative numbers, as printed: hyphens are for data and terminals."""
    return re.sub(r"(?<![\w.-])-(?=[0-9])", "\N{MINUS SIGN}", text)


def unbroken(text: str) -> str:
    """A text in which no line ends between a number and its percent sign or unit."""
    return re.sub(r"(?<=[0-9]) (?=(?:%|[num]?s|[kMG]?bit/s)(?![\w/]))", "\N{NO-BREAK SPACE}", text)


def plus_minus(
    found: Estimate | None, text: Callable[[float | None], str], bounds: tuple[float, float] = (0.0, math.inf)
) -> tuple[str, str]:
    """A mean and half the width of its 95 % interval, as text; empty if there is none.

    An interval that reaches beyond what the number can be, as one of few runs does, is told by its ends within that.

    Args:
        found: the mean and its interval.
        text: how a number is printed.
        bounds: the least and the most that the number can be.
    """
    if found is None:
        return MISSING, ""
    if found.low is None or found.high is None:
        return text(found.mean), ""
    inside = found.between(min(bounds[0], found.mean), max(bounds[1], found.mean))
    if inside != found:
        return text(found.mean), f"({text(inside.low)} to {text(inside.high)})"
    return text(found.mean), f"\N{PLUS-MINUS SIGN} {text(found.high - found.mean)}"


def measured(claim: ClaimResult) -> str:
    """What a claim measured: "median 5.30 ms"."""
    never = absent(claim)
    if claim.absent == claim.runs and never:
        return never
    found = _measured(claim)
    return f"{found}, {never}" if never else found


def absent(claim: ClaimResult) -> str:
    """In how many runs what a claim measures did not exist: "never in 5 runs", "never in 2 of 5 runs", or ""."""
    if not claim.absent:
        return ""
    # A time that does not exist is that of something that did not happen.
    word = "never" if claim.unit == "s" else "none"
    if claim.absent < claim.runs:
        return f"{word} in {claim.absent} of {claim.runs} runs"
    return f"{word} in {claim.runs} runs" if claim.runs > 1 else word


def _measured(claim: ClaimResult) -> str:
    before = "median " if claim.statistic == "median" else ""
    text = _beside_the_bounds(claim.mean, claim)
    if _is_in_percent(claim) and claim.mean is not None:
        return f"{before}{text} %"
    return f"{before}{_with_unit(text, claim)}"


def interval(claim: ClaimResult) -> str:
    """The interval of what a claim measured, or "" where it has none."""
    if claim.low is None or claim.high is None or claim.absent == claim.runs:
        return ""
    return f"{_beside_the_bounds(claim.low, claim)} to {_beside_the_bounds(claim.high, claim)}"


def _beside_the_bounds(value: float | None, claim: ClaimResult) -> str:
    """A number with three digits, or as many more as leave it where it is: within what is expected, or outside.

    A whole one of what is counted has no more than its own.
    """
    if value is None or not math.isfinite(value):
        return MISSING
    if claim.is_count and value.is_integer() and not _is_in_percent(claim):
        return f"{value:.0f}"
    scale = 100 if _is_in_percent(claim) else 1
    expected = parse_expectation(claim.expect)
    texts = [significant(scale * value, digits) for digits in range(3, _MOST_DIGITS + 1)]
    true = (text for text in texts if expected.contains(float(text) / scale) == expected.contains(value))
    return next(true, texts[0])


def expected(claim: ClaimResult) -> str:
    """What a claim expects: "\N{GREATER-THAN OR EQUAL TO} 38 Mbit/s", "1 \N{PLUS-MINUS SIGN} 25 %"."""
    text = claim.expect
    for sign, shown in _SIGNS.items():
        text = text.replace(sign, shown)
    return _with_unit(re.sub(r"(?<=[0-9.])%", " %", re.sub(r"\s+", " ", text)), claim)


def _is_in_percent(claim: ClaimResult) -> bool:
    """Whether the bounds of what it expects are percentages; those of "1 +- 25%" are not."""
    return not claim.unit and re.match(r"[^0-9]*[0-9.]+\s*%", claim.expect) is not None


def _with_unit(text: str, claim: ClaimResult) -> str:
    unit = _SINGULAR.get(claim.unit, claim.unit) if re.search(r"(?<![0-9.])1$", text) else claim.unit
    return f"{text} {unit}" if unit and text != MISSING else text


def percent(ratio: float | None, digits: int = 2) -> str:
    """A ratio in percent, without the sign; a dash for what does not exist."""
    return number(None if ratio is None else 100 * ratio, digits)


def ratio(ours: float | None, theirs: float | None) -> str:
    """Ours over theirs as a factor, or a dash."""
    if ours is None or not theirs:
        return MISSING
    return f"\N{MULTIPLICATION SIGN}{ours / theirs:.2f}"


def trimmed(value: float) -> str:
    """A number without trailing zeros."""
    return f"{value:.6f}".rstrip("0").rstrip(".")


def seconds(durations_ns: Collection[int]) -> str:
    """Durations in seconds: "30 s", or "5 to 20 s" where they differ."""
    ends = dict.fromkeys(trimmed(end / 1e9) for end in (min(durations_ns), max(durations_ns)))
    return f"{' to '.join(ends)} s"


def _scaled(value: float, units: tuple[tuple[float, str], ...]) -> str:
    for factor, unit in units:
        if value >= factor:
            return f"{trimmed(float(f'{value / factor:.5g}'))} {unit}"
    return f"{trimmed(value)} {units[-1][1]}"


def rate(rate_bps: float) -> str:
    """A rate in bit/s with a prefix that suits it."""
    return _scaled(rate_bps, ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s"), (1, "bit/s")))


def time(time_ns: float) -> str:
    """A time in ns, ms or s as suits it."""
    return _scaled(time_ns, ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1, "ns")))


def size(size_bytes: float) -> str:
    """A size in bytes with a decimal prefix that suits it."""
    return _scaled(size_bytes, ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1, "B")))


def sentence(text: str) -> str:
    """A text that stands alone: a capital letter and a full stop."""
    return f"{text[:1].upper()}{text[1:]}."


def queue(found: Queueing) -> str:
    """Where the queue of a direction built up, as a sentence."""
    if found.hop is None:
        return f"No queue built up on the {found.direction} path."
    lowest = ", which has the lowest rate of its direction" if found.hop in found.meant else ""
    wait = significant(found.queue_p95_ms)
    return f"The queue built up at {found.hop}{lowest}: {wait} ms in the 95th percentile."


def count(amount: int, noun: str) -> str:
    """An amount and its noun, in the plural where needed."""
    return f"{amount} {noun}{'' if amount == 1 else 's'}"


def mean_of(runs: int) -> str:
    """What a number is over so many runs: "one run", "mean of 3 runs"."""
    return "one run" if runs == 1 else f"mean of {runs} runs"


def times(amount: int) -> str:
    """How often: once, twice, 3 times."""
    return _TIMES.get(amount, f"{amount} times")

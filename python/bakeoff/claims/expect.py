"""The expectation language: a range of numbers.

    expectation = (">=" | ">" | "<=" | "<") number
                | "between" number "and" number
                | number ("+-" | "±") number
    number      = ["-"] digits ["%"]

`5%` is 0.05, but behind `+-` a percentage is one of the number before it: `2 +- 10%` is 1.8 to 2.2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from bakeoff.claims.tokens import Reader


@dataclass(frozen=True)
class Expectation:
    """A range of numbers.

    Attributes:
        text: as written.
        low: lower end.
        high: upper end.
        strict: whether the ends are outside.
    """

    text: str
    low: float
    high: float
    strict: bool = False

    def contains(self, value: float) -> bool:
        """Whether a number is in the range."""
        return self.low < value < self.high if self.strict else self.low <= value <= self.high

    def misses(self, low: float, high: float) -> bool:
        """Whether no number from `low` to `high` is in the range."""
        if self.strict:
            return high <= self.low or low >= self.high
        return high < self.low or low > self.high


def parse_expectation(text: str) -> Expectation:
    """Reads an expectation.

    Raises:
        ClaimSyntaxError: it does not follow the grammar, or no number can meet it.
    """
    reader = Reader(text, "expectation")
    if sign := reader.accept(">=", ">", "<=", "<"):
        bound = _number(reader)
        low, high = (bound, math.inf) if sign[0] == ">" else (-math.inf, bound)
        expectation = Expectation(text, low, high, strict=len(sign) == 1)
    elif reader.next.kind == "name" and reader.next.text == "between":
        expectation = _between(reader, text)
    else:
        expectation = _around(reader, text)
    reader.finish()
    return expectation


def _between(reader: Reader, text: str) -> Expectation:
    reader.take()
    low = _number(reader)
    word = reader.take()
    if (word.kind, word.text) != ("name", "and"):
        raise reader.error(f'expected "and" and found {word}')
    high = _number(reader)
    if low > high:
        raise reader.error("the smaller number comes first")
    return Expectation(text, low, high)


def _around(reader: Reader, text: str) -> Expectation:
    if reader.next.kind not in {"number", "symbol"} or reader.next.text in {"(", "+-", "±"}:
        raise reader.error('write for example ">= 3", "between 2 and 4" or "2 +- 10%"')
    centre = _number(reader)
    if not reader.accept("+-", "±"):
        raise reader.error(f'expected "+-" and a tolerance, and found {reader.next}')
    size, relative = _plain(reader)
    if size < 0:
        raise reader.error("a tolerance is not negative")
    tolerance = abs(centre) * size / 100 if relative else size
    return Expectation(text, centre - tolerance, centre + tolerance)


def _number(reader: Reader) -> float:
    value, percent = _plain(reader)
    return value / 100 if percent else value


def _plain(reader: Reader) -> tuple[float, bool]:
    """A number and whether a percent sign follows."""
    negative = bool(reader.accept("-"))
    token = reader.take()
    if token.kind != "number" or not math.isfinite(float(token.text)):
        raise reader.error(f"expected a number and found {token}")
    value = float(token.text)
    return (-value if negative else value), bool(reader.accept("%"))

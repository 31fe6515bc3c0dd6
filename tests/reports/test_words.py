"""Numbers as people read them."""

from __future__ import annotations

import math

import pytest

from bakeoff.claims import ClaimResult
from bakeoff.reports import words


@pytest.mark.parametrize(
    ("value", "text"),
    [(1.005, "1.00"), (-0.001, "0.00"), (-0.006, "-0.01"), (None, words.MISSING), (math.inf, words.MISSING)],
)
def test_numbers(value: float | None, text: str) -> None:
    assert words.number(value) == text


@pytest.mark.parametrize(
    ("value", "text"), [(0, "0"), (1234.5, "1234"), (1.2345, "1.23"), (0.00012345, "0.000123"), (-12.345, "-12.3")]
)
def test_significant_digits(value: float, text: str) -> None:
    assert words.significant(value) == text


@pytest.mark.parametrize(
    ("expect", "unit", "measured", "interval", "expected"),
    [
        ("between 1.3% and 4.5%", "", "3.89 %", "3.47 to 4.30", "between 1.3 % and 4.5 %"),
        ("0.77% +- 25%", "", "3.89 %", "3.47 to 4.30", "0.77 % \N{PLUS-MINUS SIGN} 25 %"),
        ("1 +- 25%", "", "0.0389", "0.0347 to 0.0430", "1 \N{PLUS-MINUS SIGN} 25 %"),
        (">= 38", "ms", "0.0389 ms", "0.0347 to 0.0430", "\N{GREATER-THAN OR EQUAL TO} 38 ms"),
        ("<= 1", "packets", "0.0389 packets", "0.0347 to 0.0430", "\N{LESS-THAN OR EQUAL TO} 1 packet"),
        ("<= 0.1", "packets", "0.0389 packets", "0.0347 to 0.0430", "\N{LESS-THAN OR EQUAL TO} 0.1 packets"),
    ],
)
def test_a_claim_is_measured_in_what_it_expects(
    expect: str, unit: str, measured: str, interval: str, expected: str
) -> None:
    claim = ClaimResult(
        id="x",
        says="so",
        source=None,
        measure="total.loss",
        expect=expect,
        verdict="holds",
        mean=0.0389,
        low=0.0347,
        high=0.0430,
        runs=10,
        reason=None,
        unit=unit,
    )
    assert (words.measured(claim), words.interval(claim), words.expected(claim)) == (measured, interval, expected)


@pytest.mark.parametrize(
    ("expect", "value", "measured"),
    [
        (">= 16.9", 16.86, "16.86"),
        (">= 16.9", 16.94, "16.9"),
        ("between 16.9 and 106", 16.8996, "16.8996"),
        ("> 2", 2.0004, "2.0004"),
        ("<= 30%", 0.30004, "30.004 %"),
        ("<= 30%", 0.29996, "30.0 %"),
        # No number of digits would do.
        ("3 +- 0", 3 + 1e-12, "3.00"),
    ],
)
def test_rounding_moves_no_number_across_a_bound(expect: str, value: float, measured: str) -> None:
    claim = ClaimResult(
        id="a", says="b", source=None, measure="total.loss", expect=expect, verdict="holds", mean=value, low=value,
        high=value, runs=1, reason=None,
    )  # fmt: skip
    assert words.measured(claim) == measured
    assert words.interval(claim).split(" to ")[0] == measured.removesuffix(" %")


@pytest.mark.parametrize(
    ("is_count", "values", "unit", "measured", "interval"),
    [
        (True, (1.0, 1.0, 1.0), "", "1", "1 to 1"),
        (True, (50.0, 42.25, 57.75), "packets", "50 packets", "42.2 to 57.8"),
        (True, (1234567.0, None, None), "", "1234567", ""),
        (True, (1 / 3, 0.0, 1.0), "", "0.333", "0 to 1"),
        (False, (1.0, 1.0, 1.0), "ms", "1.00 ms", "1.00 to 1.00"),
    ],
)
def test_what_is_counted_has_no_decimals(
    *, is_count: bool, values: tuple[float, float | None, float | None], unit: str, measured: str, interval: str
) -> None:
    mean, low, high = values
    claim = ClaimResult(
        id="a", says="b", source=None, measure="flow1.ce_marks", expect=">= 0", verdict="holds", mean=mean, low=low,
        high=high, runs=3, reason=None, unit=unit, is_count=is_count,
    )  # fmt: skip
    assert (words.measured(claim), words.interval(claim)) == (measured, interval)


@pytest.mark.parametrize(
    ("absent", "runs", "unit", "measured", "interval"),
    [
        (5, 5, "s", "never in 5 runs", ""),
        (1, 1, "s", "never", ""),
        (2, 5, "s", "412 s, never in 2 of 5 runs", "100 to 800"),
        (5, 5, "", "none in 5 runs", ""),
        (0, 5, "s", "412 s", "100 to 800"),
    ],
)
def test_what_never_came_has_no_number(absent: int, runs: int, unit: str, measured: str, interval: str) -> None:
    claim = ClaimResult(
        id="x",
        says="so",
        source=None,
        measure="default(total.convergence_s, 1000)",
        expect="<= 60",
        verdict="fails",
        mean=412,
        low=100,
        high=800,
        runs=runs,
        reason=None,
        unit=unit,
        absent=absent,
    )
    assert (words.measured(claim), words.interval(claim)) == (measured, interval)


def test_quantities() -> None:
    assert words.seconds({1_500_000_000}) == "1.5 s"
    assert words.seconds({60_000_000_000, 5_000_000_000, 20_000_000_000}) == "5 to 60 s"
    assert words.rate(2_100_000) == "2.1 Mbit/s"
    assert words.rate(12_000) == "12 kbit/s"
    assert words.rate(114_680_000_000) == "114.68 Gbit/s"
    assert words.time(65_000_000) == "65 ms"
    assert words.time(3_750_000_000) == "3.75 s"
    assert words.size(75_000) == "75 kB"
    assert words.percent(0.0477) == "4.77"
    assert words.ratio(1, 0) == words.MISSING
    assert [words.times(n) for n in (1, 2, 3)] == ["once", "twice", "3 times"]
    assert [words.count(n, "run") for n in (1, 2)] == ["1 run", "2 runs"]


def test_a_number_stays_on_the_line_of_its_unit() -> None:
    text = "within 25 %, 182 ms or 3 Mbit/s of 2 schemes in 5 s"
    assert words.unbroken(text) == "within 25~%, 182~ms or 3~Mbit/s of 2 schemes in 5~s".replace(
        "~", "\N{NO-BREAK SPACE}"
    )


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("-0.24", "\N{MINUS SIGN}0.24"),
        ("-0.24 to 0.02", "\N{MINUS SIGN}0.24 to 0.02"),
        ("cubic-2 at 1-2", "cubic-2 at 1-2"),
        ("95th-%ile", "95th-%ile"),
        ("--repeats -5", "--repeats \N{MINUS SIGN}5"),
        ("1e-7", "1e-7"),
    ],
)
def test_negative_numbers_have_a_minus_sign_in_print(text: str, printed: str) -> None:
    assert words.with_minus(text) == printed

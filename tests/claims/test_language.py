"""The measure and expectation languages: what they accept, what they say otherwise, and that nothing else happens."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bakeoff.claims import ClaimSyntaxError, parse_expectation, parse_measure
from bakeoff.claims.tree import REASONS

RUN: dict[str, Any] = {
    "duration_s": 30.0,
    "flows": [
        {"flow": 1, "throughput_mbps": 2.0, "owd_p95_ms": 50.0, "pantheon": {"loss": 0.25}},
        {"flow": 2, "throughput_mbps": 6.0, "owd_p95_ms": None, "pantheon": None},
    ],
    "total": {"throughput_mbps": 8.0, "loss": 0.0, "jain": None, "pantheon": {"throughput_mbps": 9.0}},
    "hops": [{"hop": "forward.0", "queue_p95_ms": 12.5, "dropped": {"overlimit": 7}, "marked": {}, "in_packets": 10}],
    "probes": [{"probe": 1, "rtt_p95_ms": 80.0, "lost_packets": 3}],
    "published": {"throughput_mbps": 4.0, "owd_p95_ms": None, "loss": 0.1, "flow2": {"throughput_mbps": 5.0}},
}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("flow2.throughput_mbps / flow1.throughput_mbps", 3.0),
        ("total.pantheon.throughput_mbps - total.throughput_mbps", 1.0),
        ('hops["forward.0"].queue_p95_ms', 12.5),
        ('hops["forward.0"].dropped["overlimit"] / hops["forward.0"].in_packets', 0.7),
        ('hops["forward.0"].dropped["police"]', 0.0),
        ('hops["forward.9"].queue_p95_ms', None),
        ("flow1.pantheon.loss", 0.25),
        ("flow2.pantheon.loss", None),
        ("flow2.owd_p95_ms", None),
        ("flow3.throughput_mbps", None),
        ("probe1.rtt_p95_ms / 40", 2.0),
        ("probe2.rtt_p95_ms", None),
        ("total.throughput_mbps / published.throughput_mbps", 2.0),
        ("published.owd_p95_ms", None),
        ("flow2.throughput_mbps / published.flow2.throughput_mbps", 1.2),
        ("published.flow3.throughput_mbps", None),
        ("1 / total.loss", None),
        ("total.jain + 1", None),
        ("max(flow1.throughput_mbps, flow2.throughput_mbps, 1)", 6.0),
        ("min(1, total.jain)", None),
        ("abs(1 - 3)", 2.0),
        ("default(3, 4)", 3.0),
        ("default(1 / 0, 4)", 4.0),
        ("2 + 3 * 4 - 10 / 4 / 5", 13.5),
        ("-(1 + 2) * --3", -9.0),
        ("duration_s", 30.0),
        (".5e1", 5.0),
        ("1e308 * 10", None),
    ],
)
def test_measures(text: str, value: float | None) -> None:
    assert parse_measure(text).evaluate(RUN) == value


def test_a_run_without_a_published_row_has_no_published_value() -> None:
    run = {name: value for name, value in RUN.items() if name != "published"}
    assert parse_measure("published.loss").evaluate(run) is None
    assert parse_measure("published.loss").evaluate({**run, "published": None}) is None


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("", "found the end"),
        ("1 +", "found the end"),
        ("flow1", 'expected "."'),
        ("flow1.througput_mbps", 'did you mean "throughput_mbps"'),
        ("flow0.loss", "not a value"),
        ("probe1.loss", "not a metric"),
        ("flow01.loss", "not a value"),
        ("total.bottleneck", "not a metric"),
        ("total.pantheon", 'expected "."'),
        ("hops[0].loss", "in quotes"),
        ('hops["forward.0"].dropped', r"expected \"\["),
        ('hops["forward.0"].dropped["overlimits"]', 'is not a reason; did you mean "overlimit"'),
        ("published.jain", "not a metric"),
        ("published.flow1.jain", "not a metric"),
        ("published.probe1.loss", "not a metric"),
        ("1 + rank_correlation(total.loss, total.jain)", "stands alone"),
        ("rank_correlation(total.loss)", 'expected ","'),
        ("rank_correlation(total.loss, total.jain) + 1", "one word too many"),
        ("__import__('os')", "no meaning"),
        ("total.__class__", "not a metric"),
        ("total.loss; 1", "no meaning"),
        ("1 2", "one word too many"),
        ("abs(1, 2)", "one value"),
        ("default(1)", "two values"),
        ("(" * 60 + "1" + ")" * 60, "deep"),
        ("1" + "+1" * 400, "longer than"),
    ],
)
def test_bad_measures(text: str, hint: str) -> None:
    with pytest.raises(ClaimSyntaxError, match=hint):
        parse_measure(text)


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        (">= 3", 3, math.inf),
        ("> -3", -3, math.inf),
        ("<= 5%", -math.inf, 0.05),
        ("< 1e3", -math.inf, 1000),
        ("between 2 and 4", 2, 4),
        ("between -1% and 1%", -0.01, 0.01),
        ("between 2 and 2", 2, 2),
        ("2 +- 0", 2, 2),
        ("2 +- 10%", 1.8, 2.2),
        ("-2 ± 0.5", -2.5, -1.5),
        ("-2+-10%", -2.2, -1.8),
    ],
)
def test_expectations(text: str, low: float, high: float) -> None:
    expectation = parse_expectation(text)
    assert (expectation.low, expectation.high) == pytest.approx((low, high))
    assert expectation.strict == text.startswith(("> ", "< "))


def test_a_measure_has_up_to_500_characters() -> None:
    assert parse_measure("1" + " " * 499).evaluate({}) == 1
    with pytest.raises(ClaimSyntaxError, match="longer than 500 characters"):
        parse_measure("1" + " " * 500)


def test_only_what_is_open_at_a_time_is_deep() -> None:
    assert parse_measure("+".join(["(1)"] * 60)).evaluate({}) == 60
    assert parse_measure("(" * 50 + "1" + ")" * 50).evaluate({}) == 1
    with pytest.raises(ClaimSyntaxError, match="nested more than 50 deep"):
        parse_measure("(" * 51 + "1" + ")" * 51)


@pytest.mark.parametrize(
    ("text", "misses"),
    [(">= 2", False), ("> 2", True), ("<= 1", False), ("< 1", True), ("> 1.9", False), (">= 2.1", True)],
)
def test_an_interval_that_ends_at_a_bound_misses_only_what_is_beyond_it(text: str, *, misses: bool) -> None:
    assert parse_expectation(text).misses(1.0, 2.0) == misses


@pytest.mark.parametrize(
    "text",
    ["", "3", ">=", ">= three", "= 3", "between 4 and 2", "between 1 2", "2 +-", "2 +- -1", "1e999 +- 1", ">= 3 4"],
)
def test_bad_expectations(text: str) -> None:
    with pytest.raises(ClaimSyntaxError, match="expectation"):
        parse_expectation(text)


ALPHABET = 'flow1.total.loss hops["forward.0"]dropped+-*/()<>=,%±e0123456789 \n\t_абв\0'


@given(st.one_of(st.text(max_size=80), st.text(alphabet=ALPHABET, max_size=80)))
def test_any_text_is_understood_or_refused_with_a_sentence(text: str) -> None:
    for parse in (parse_measure, parse_expectation):
        try:
            parse(text)
        except ClaimSyntaxError as error:
            assert len(str(error)) < 1000  # noqa: PT017 - the message itself is under test


def test_reasons_are_those_of_the_core() -> None:
    source = Path(__file__).parents[2] / "crates" / "core" / "src" / "reason.rs"
    assert re.findall(r'Self::\w+ => "(\w+)"', source.read_text(encoding="utf-8")) == list(REASONS)


NUMBERS = st.integers(0, 50).map(str)


def combine(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.tuples(inner, st.sampled_from("+-*/"), inner).map(" ".join),
        inner.map(lambda text: f"({text})"),
        inner.map(lambda text: f"-({text})"),
        st.tuples(inner, inner).map(lambda pair: f"max({pair[0]}, {pair[1]})"),
    )


@given(st.recursive(NUMBERS, combine, max_leaves=12))
def test_arithmetic_is_that_of_python(text: str) -> None:
    try:
        expected = eval(text, {"__builtins__": {}, "max": max})  # noqa: S307 - our own arithmetic
    except ZeroDivisionError:
        expected = None
    assert parse_measure(text).evaluate(RUN) == (None if expected is None else pytest.approx(expected))

"""Quantities with units: what is read, and what is refused in which words."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bakeoff.experiment import units
from bakeoff.experiment.schema import json_schema
from bakeoff.experiment.units import Limit, UnitError

if TYPE_CHECKING:
    from collections.abc import Callable

PARSERS: list[Callable[[object], Any]] = [
    units.parse_time,
    units.parse_rate,
    units.parse_rate_or_zero,
    units.parse_size,
    units.parse_packets,
    units.parse_ratio,
    units.parse_limit,
]


@pytest.mark.parametrize(
    ("parse", "text", "value"),
    [
        (units.parse_time, "80ms", 80_000_000),
        (units.parse_time, "0s", 0),
        (units.parse_time, "-0s", 0),
        (units.parse_time, "1.5s", 1_500_000_000),
        (units.parse_time, "100us", 100_000),
        (units.parse_time, "100µs", 100_000),
        (units.parse_time, "100\N{GREEK SMALL LETTER MU}s", 100_000),
        (units.parse_limit, "100 \N{GREEK SMALL LETTER MU}s", Limit(time_ns=100_000)),
        (units.parse_time, "7ns", 7),
        (units.parse_time, "5min", 300 * 10**9),
        (units.parse_time, "24h", 86_400 * 10**9),
        (units.parse_time, "80 ms", 80_000_000),
        (units.parse_rate, "12Mbit/s", 12_000_000),
        (units.parse_rate, "2.1Mbit/s", 2_100_000),
        (units.parse_rate, "1kbit/s", 1000),
        (units.parse_rate, "0.57Mbit/s", 570_000),
        (units.parse_rate_or_zero, "0bit/s", 0),
        (units.parse_size, "64kB", 64_000),
        (units.parse_size, "64KiB", 65_536),
        (units.parse_size, "1MiB", 1_048_576),
        (units.parse_size, "1448B", 1448),
        (units.parse_packets, "50pkt", 50),
        (units.parse_ratio, 0, 0.0),
        (units.parse_ratio, 0.25, 0.25),
        (units.parse_ratio, "1%", 0.01),
        (units.parse_ratio, "4.77%", 0.0477),
        (units.parse_limit, "50pkt", Limit(packets=50)),
        (units.parse_limit, "64kB", Limit(size_bytes=64_000)),
        (units.parse_limit, "100ms", Limit(time_ns=100_000_000)),
        (units.parse_limit, "0.5bdp", Limit(bdp=0.5)),
        (units.parse_limit, "infinite", Limit()),
        (units.parse_limit, ["50pkt", "100ms"], Limit(packets=50, time_ns=100_000_000)),
    ],
)
def test_reads(parse: Callable[[object], Any], text: object, value: object) -> None:
    assert parse(text) == value


@pytest.mark.parametrize(
    ("parse", "value", "sentence"),
    [
        (units.parse_rate, "12Mb", '"12Mb": unknown unit "Mb" for a rate; write "12Mbit/s"'),
        (units.parse_rate, "12Mbps", '"12Mbps": unknown unit "Mbps" for a rate; write "12Mbit/s"'),
        (units.parse_rate, "2MB/s", '"2MB/s": unknown unit "MB/s" for a rate; rates are in bits; write "16Mbit/s"'),
        (units.parse_rate, "12", '"12": a rate needs a unit; write for example "12Mbit/s"'),
        (units.parse_rate, 12, '12: a rate is a text with a unit; write for example "12Mbit/s"'),
        (units.parse_rate, True, 'true: a rate is a text with a unit; write for example "12Mbit/s"'),
        (units.parse_rate, "-2Mbit/s", '"-2Mbit/s": a rate cannot be negative; write for example "12Mbit/s"'),
        (units.parse_rate, "0Mbit/s", '"0Mbit/s": the rate must be above zero; write for example "12Mbit/s"'),
        (units.parse_rate, "nan", '"nan": not a rate; write for example "12Mbit/s"'),
        (units.parse_rate, math.nan, 'nan: a rate is a text with a unit; write for example "12Mbit/s"'),
        (
            units.parse_rate,
            "1e9bit/s",
            '"1e9bit/s": unknown unit "e9bit/s" for a rate; write the number without an exponent, as in 12Mbit/s',
        ),
        (units.parse_rate, "1bit/s", '"1bit/s": less than the smallest rate there is, 1kbit/s'),
        (units.parse_rate, "99999Tbit/s", '"99999Tbit/s": more than the largest rate there is, 10Tbit/s'),
        (units.parse_rate, "fast", '"fast": not a rate; write for example "12Mbit/s"'),
        (units.parse_time, "5m", '"5m": unknown unit "m" for a time; write "5min" or "5ms"'),
        (units.parse_time, "5sec", '"5sec": unknown unit "sec" for a time; write "5s"'),
        (units.parse_time, "5 MS", '"5 MS": unknown unit "MS" for a time; write "5ms"'),
        (units.parse_time, "1y", '"1y": unknown unit "y" for a time; write for example "80ms"'),
        (units.parse_time, "8760h", '"8760h": more than the largest time there is, 86400s'),
        (units.parse_time, "0.1ns", '"0.1ns": less than the smallest time there is, 1ns'),
        (units.parse_time, "-1ms", '"-1ms": a time cannot be negative; write for example "80ms"'),
        (units.parse_time, {}, 'a table: a time is a text with a unit; write for example "80ms"'),
        (units.parse_time, "٣ms", '"٣ms": not a time; write for example "80ms"'),
        (units.parse_size, "64k", '"64k": unknown unit "k" for a size; write "64kB"'),
        (units.parse_size, "64KB", '"64KB": unknown unit "KB" for a size; write "64kB"'),
        (units.parse_size, "0B", '"0B": the size must be above zero; write for example "64kB"'),
        (units.parse_packets, "1.5pkt", '"1.5pkt": packets come whole; write for example "50pkt"'),
        (units.parse_packets, "5 packets", '"5 packets": unknown unit "packets" for a number of packets; write "5pkt"'),
        (units.parse_ratio, 1, '1: a ratio is at least 0 and below 1 (100%); write for example 0.01 or "1%"'),
        (units.parse_ratio, -0.1, '-0.1: a ratio is at least 0 and below 1 (100%); write for example 0.01 or "1%"'),
        (units.parse_ratio, "100%", '"100%": a ratio is at least 0 and below 1 (100%); write for example 0.01 or "1%"'),
        (units.parse_ratio, math.nan, 'nan: a ratio is at least 0 and below 1 (100%); write for example 0.01 or "1%"'),
        (units.parse_ratio, "1", '"1": not a ratio; write for example 0.01 or "1%"'),
        (units.parse_limit, "0pkt", '"0pkt": nothing would pass an empty queue; write at least "1pkt"'),
        (units.parse_limit, "0bdp", '"0bdp": must lie above 0 and at most at 10000bdp; write for example "1bdp"'),
        (units.parse_limit, [], 'an empty list: write a limit such as "50pkt", or "infinite"'),
        (units.parse_limit, ["5pkt", "6pkt"], '"6pkt": the second limit of its kind; keep one of them'),
        (units.parse_limit, ["5pkt", "infinite"], '"infinite" stands alone; remove it or the other limits'),
        (units.parse_limit, ["1bdp", "6kB"], "a bdp limit is a limit in bytes: keep it or the one in bytes"),
    ],
)
def test_refuses(parse: Callable[[object], Any], value: object, sentence: str) -> None:
    with pytest.raises(UnitError) as caught:
        parse(value)
    assert str(caught.value) == sentence


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)
NUMBERS = st.from_regex(r"[+-]?[0-9.]{0,40}[eE]?[0-9]{0,3} ?", fullmatch=True)
SUFFIXES = st.sampled_from(["", "ms", "s", "h", "Mbit/s", "bit/s", "kB", "GiB", "pkt", "bdp", "%", "x", "µs"])


@pytest.mark.parametrize("parse", PARSERS)
@given(value=JUNK | st.builds(str.__add__, NUMBERS, SUFFIXES))
def test_anything_is_a_quantity_or_a_unit_error(parse: Callable[[object], Any], value: object) -> None:
    try:
        result = parse(value)
    except UnitError as error:
        result = None
        message = str(error)
    else:
        message = "a quantity"
    assert result is None or isinstance(result, Limit) or 0 <= result <= units.MAX_SIZE_BYTES
    assert 5 < len(message) < 300
    assert "\n" not in message


@given(st.integers(0, units.MAX_TIME_NS))
def test_times_survive_a_round_trip(value: int) -> None:
    assert units.parse_time(units.format_time(value)) == value


@given(st.integers(units.MIN_RATE_BPS, units.MAX_RATE_BPS))
def test_rates_survive_a_round_trip(value: int) -> None:
    assert units.parse_rate(units.format_rate(value)) == value


@given(st.integers(1, units.MAX_SIZE_BYTES))
def test_sizes_survive_a_round_trip(value: int) -> None:
    assert units.parse_size(units.format_size(value)) == value


def test_the_schema_allows_every_unit_of_a_limit() -> None:
    limit, _ = json_schema()["$defs"]["Queue"]["properties"]["limit"]["anyOf"]
    pattern = limit["anyOf"][0]["pattern"]
    for unit in (*units.TIME_UNITS, *units.SIZE_UNITS, "pkt", "bdp"):
        assert units.parse_limit(f"1{unit}") != units.Limit()
        assert re.search(pattern, f"1{unit}"), unit
    assert re.search(pattern, "1m") is None

"""The trace format: reading, writing, making, and refusing by line."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bakeoff.errors import UserError
from bakeoff.formats import mahimahi
from bakeoff.formats.mahimahi import TraceError

if TYPE_CHECKING:
    from pathlib import Path


def test_a_single_1_is_12_mbit(tmp_path: Path) -> None:
    file = tmp_path / "12mbps.trace"
    file.write_bytes(b"1\n")
    trace = mahimahi.read(file)
    assert trace.opportunities_ms == (1,)
    assert trace.rate_bps == 12_000_000
    assert trace.period_ms == 1
    assert str(trace) == "12mbps.trace"


def test_a_long_trace_is_cut_behind_the_run() -> None:
    trace = mahimahi.Trace((0, 5, 5, 7, 9, 30), "t")
    assert trace.beginning(5).opportunities_ms == (0, 5, 5, 7)
    assert trace.beginning(6).opportunities_ms == (0, 5, 5, 7)
    assert trace.beginning(9) is trace
    assert trace.beginning(100) is trace


def test_the_last_line_may_lack_its_end() -> None:
    assert mahimahi.parse(b"0\n0\n7") == [0, 0, 7]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "the trace is empty; write one time in milliseconds per line, for example 1 for 12 Mbit/s"),
        (b"\n", "line 1: it is empty; every line is a time in milliseconds"),
        (b"1\n\n2\n", "line 2: it is empty; every line is a time in milliseconds"),
        (b"1\n5\n3\n", "line 3: 3 comes after 5; times must not decrease"),
        (b"0\n0\n", "line 2: the last time is 0; it is the period and must be above zero"),
        (b"1\r\n2\r\n", "line 1: it ends with a carriage return; save the file with Unix line ends"),
        (b"\xef\xbb\xbf1\n", "line 1: it begins with a byte order mark; save the file as plain ASCII text"),
        ("1\n".encode("utf-16"), "line 1: it begins with a byte order mark; save the file as plain ASCII text"),
        (
            b"time,rate\n0,5\n",
            (
                'line 1: "time,rate" is not a whole number of milliseconds; rates over time are a schedule: '
                '{ schedule = [{ at = "0s", rate = "5Mbit/s" }] }'
            ),
        ),
        (b"1\n-2\n", 'line 2: "-2" is not a whole number of milliseconds'),
        (b"1.5\n", 'line 1: "1.5" is not a whole number of milliseconds'),
        (b" 1\n", 'line 1: " 1" is not a whole number of milliseconds'),
        (b"1_000\n", 'line 1: "1_000" is not a whole number of milliseconds'),
        (b"# a comment\n", 'line 1: "# a comment" is not a whole number of milliseconds'),
        (b"\xff\n", 'line 1: "\N{REPLACEMENT CHARACTER}" is not a whole number of milliseconds'),
        (b"999999999999\n", "line 1: 999999999999 ms is longer than a week"),
        (b"9" * 5000, f'line 1: "{"9" * 24}" is not a whole number of milliseconds'),
    ],
)
def test_refuses_by_line(content: bytes, sentence: str) -> None:
    with pytest.raises(TraceError) as caught:
        mahimahi.parse(content)
    assert str(caught.value) == sentence


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"none\.trace: no such trace file; give the path of a mahimahi trace"):
        mahimahi.read(tmp_path / "none.trace")


def test_a_folder_is_no_trace(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is not a file"):
        mahimahi.read(tmp_path)


def test_a_bad_file_is_named_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "bad.trace"
    file.write_bytes(b"3\n2\n")
    with pytest.raises(UserError, match=r"bad\.trace: not a mahimahi trace: line 2: 2 comes after 3"):
        mahimahi.read(file)


@given(st.binary(max_size=200) | st.from_regex(rb"([0-9]{0,14}\r?\n){0,20}", fullmatch=True))
def test_any_bytes_are_a_trace_or_a_trace_error(content: bytes) -> None:
    try:
        times = mahimahi.parse(content)
    except TraceError as error:
        message = str(error)
    else:
        message = ""
        assert times == sorted(times)
        assert times[-1] > 0
    assert "\n" not in message


@given(st.lists(st.integers(0, 10**6), min_size=1).map(sorted).filter(lambda times: times[-1] > 0))
def test_writing_and_reading_agree(tmp_path_factory: pytest.TempPathFactory, times: list[int]) -> None:
    file = tmp_path_factory.mktemp("trace") / "t"
    mahimahi.write(file, times)
    assert list(mahimahi.read(file).opportunities_ms) == times


def test_what_mahimahi_cannot_replay_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(TraceError):
        mahimahi.write(tmp_path / "t", [2, 1])
    assert not (tmp_path / "t").exists()


def test_a_constant_trace_has_its_rate_and_even_gaps() -> None:
    times = mahimahi.constant(100_420_000, 60_000)
    assert len(times) == 502_100
    assert times[-1] == 60_000
    per_ms = [times.count(ms) for ms in range(1, 50)]
    assert set(per_ms) == {8, 9}


@given(st.integers(1000, 10**9), st.integers(1, 10_000))
def test_a_constant_trace_has_its_rate_or_tells_which_would_fit(rate_bps: int, length_ms: int) -> None:
    try:
        found = [(rate_bps, mahimahi.constant(rate_bps, length_ms))]
    except TraceError as error:
        length = re.search(r'length = "(\d+)ms"', str(error))
        assert length is not None
        found = [(rate_bps, mahimahi.constant(rate_bps, int(length[1])))]
        if rate := re.search(r'constant = "(\d+)bit/s"', str(error)):
            found.append((int(rate[1]), mahimahi.constant(int(rate[1]), length_ms)))
    for wanted_bps, times in found:
        assert 0.99 * wanted_bps <= len(times) * 12_000_000 / times[-1] <= wanted_bps


def test_a_poisson_trace_begins_slowly_and_then_has_its_rate() -> None:
    times = mahimahi.poisson(2_640_000, 60_000, seed=1, slow_prefix_ms=5000)
    assert times[:50] == list(range(100, 5001, 100))
    behind = len(times) - 50
    assert behind * 12_000 / 55 == pytest.approx(2_640_000, rel=0.03)
    gaps = [after - before for before, after in itertools.pairwise(times[50:])]
    mean = sum(gaps) / len(gaps)
    deviation = (sum((gap - mean) ** 2 for gap in gaps) / len(gaps)) ** 0.5
    assert deviation == pytest.approx(mean, rel=0.05)


def test_a_poisson_trace_follows_its_seed() -> None:
    one, same, other = (mahimahi.poisson(570_000, 10_000, seed=seed) for seed in (1, 1, 2))
    assert one == same
    assert one != other


@pytest.mark.parametrize("make", [mahimahi.constant, lambda rate, length: mahimahi.poisson(rate, length, seed=1)])
def test_absurd_traces_are_not_made(make: object) -> None:
    with pytest.raises(TraceError, match="more than the 20000000 allowed"):
        make(10**13, 10**9)  # type: ignore[operator]


def test_constant_opportunities_are_at_the_last_whole_millisecond() -> None:
    assert mahimahi.constant(10_000_000, 12) == [1, 2, 3, 4, 6, 7, 8, 9, 10, 12]


def test_a_constant_trace_may_miss_its_rate_by_exactly_one_percent() -> None:
    # 33 opportunities in a second are 396 kbit/s.
    assert len(mahimahi.constant(400_000, 1000)) == 33


def test_a_poisson_trace_goes_on_to_the_end_of_its_length() -> None:
    assert mahimahi.poisson(1_000_000_000, 100, seed=1)[-1] == 99


def test_as_many_opportunities_as_there_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mahimahi, "MAX_OPPORTUNITIES", 3)
    assert mahimahi.parse(b"1\n2\n3\n") == [1, 2, 3]
    with pytest.raises(TraceError, match=r"^4 opportunities are more than the 3 allowed$"):
        mahimahi.parse(b"1\n2\n3\n4\n")

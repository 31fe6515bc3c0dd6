"""Traces of the mahimahi emulator: when a link may deliver a packet.

What it is: a text file with one whole number of milliseconds per line, never decreasing, the last above zero. Every
line is an opportunity to deliver 1500 bytes of IP packets; several lines with one number are several opportunities.
The trace repeats for ever with the last number as its period, so its mean rate is 12 kbit times lines over that period.

Source: mahimahi's mm-link(1), src/frontend/link_queue.cc at commit ae477d4.
Deviations: a carriage return, a sign or a blank is refused, where mahimahi may read over it.
"""

from __future__ import annotations

import bisect
import codecs
import itertools
import math
import random
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bakeoff.errors import UserError, reason

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

BITS_PER_OPPORTUNITY = 1500 * 8
MAX_OPPORTUNITIES = 20_000_000
MAX_PERIOD_MS = 7 * 24 * 3600 * 1000
_MAX_FILE_BYTES = 256 * 2**20
_BITS_MS = BITS_PER_OPPORTUNITY * 1000
"""Bit/s times milliseconds of an opportunity."""
_MOST_OFF = 0.01
_NUMBER = re.compile(rb"[0-9]{1,12}")


class TraceError(ValueError):
    """A trace that mahimahi could not replay; the message is a sentence without its end."""


@dataclass(frozen=True)
class Trace:
    """Delivery opportunities of a link, repeated for ever.

    Attributes:
        opportunities_ms: times since the start, never decreasing, the last above zero.
        name: name of the file, or what the trace was made from.
    """

    opportunities_ms: tuple[int, ...]
    name: str

    @property
    def period_ms(self) -> int:
        """Length of one repetition."""
        return self.opportunities_ms[-1]

    @property
    def rate_bps(self) -> int:
        """Mean rate of one repetition, in IP bits per second."""
        return len(self.opportunities_ms) * BITS_PER_OPPORTUNITY * 1000 // self.period_ms

    def beginning(self, length_ms: int) -> Trace:
        """The trace without what comes after `length_ms`: the same to a link that runs no longer than that."""
        count = bisect.bisect_right(self.opportunities_ms, length_ms) + 1
        return self if count >= len(self.opportunities_ms) else Trace(self.opportunities_ms[:count], self.name)

    def __str__(self) -> str:
        """Its name, as tables and run ids show it."""
        return self.name


def check(opportunities_ms: Sequence[int]) -> None:
    """Checks the rules of the format on numbers that are whole and not negative.

    Raises:
        TraceError: it is empty, decreases, ends at zero, or is absurdly long.
    """
    if not opportunities_ms:
        raise TraceError("the trace is empty; write one time in milliseconds per line, for example 1 for 12 Mbit/s")
    if len(opportunities_ms) > MAX_OPPORTUNITIES:
        raise TraceError(f"{len(opportunities_ms)} opportunities are more than the {MAX_OPPORTUNITIES} allowed")
    previous = 0
    for line, time in enumerate(opportunities_ms, 1):
        if time < previous:
            raise TraceError(f"line {line}: {time} comes after {previous}; times must not decrease")
        previous = time
    if previous == 0:
        raise TraceError(f"line {len(opportunities_ms)}: the last time is 0; it is the period and must be above zero")
    if previous > MAX_PERIOD_MS:
        raise TraceError(f"line {len(opportunities_ms)}: {previous} ms is longer than a week")


def parse(content: bytes) -> list[int]:
    """Times in milliseconds of a trace file's content.

    Raises:
        TraceError: the content is not a trace; the sentence names the line.
    """
    lines = content.split(b"\n")
    if lines[-1] == b"":
        lines.pop()
    for number, line in enumerate(lines, 1):
        if _NUMBER.fullmatch(line) is None:
            raise TraceError(f"line {number}: {_problem(line)}")
    times = [int(line) for line in lines]
    check(times)
    return times


def _problem(line: bytes) -> str:
    if not line:
        return "it is empty; every line is a time in milliseconds"
    if line.endswith(b"\r"):
        return "it ends with a carriage return; save the file with Unix line ends"
    if line.startswith((codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "it begins with a byte order mark; save the file as plain ASCII text"
    text = line[:24].decode("ascii", "replace")
    text = "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in text)
    # A table of somebody's measurements, which is no trace.
    table = '; rates over time are a schedule: { schedule = [{ at = "0s", rate = "5Mbit/s" }] }' if b"," in line else ""
    return f'"{text}" is not a whole number of milliseconds{table}'


def read(path: Path) -> Trace:
    """Reads a trace file.

    Raises:
        UserError: there is no such file, or it is not a trace.
    """
    try:
        if not path.is_file():
            what = "is not a file" if path.exists() else "no such trace file"
            raise UserError(f"{path}: {what}; give the path of a mahimahi trace, one time in milliseconds per line")
        if path.stat().st_size > _MAX_FILE_BYTES:
            raise UserError(f"{path}: larger than {_MAX_FILE_BYTES // 2**20} MiB, the most that a trace may have")
        content = path.read_bytes()
    except (OSError, ValueError) as error:
        raise UserError(
            f"{path}: the trace cannot be read ({reason(error)}); give the path of a mahimahi trace"
        ) from error
    try:
        return Trace(tuple(parse(content)), path.name)
    except TraceError as error:
        raise UserError(f"{path}: not a mahimahi trace: {error}") from error


def write(path: Path, opportunities_ms: Iterable[int]) -> None:
    """Writes a trace file that mahimahi can replay.

    Raises:
        TraceError: mahimahi could not replay it.
        OSError: the file cannot be written.
    """
    times = list(opportunities_ms)
    check(times)
    path.write_bytes(b"".join(b"%d\n" % time for time in times))


def constant(rate_bps: int, length_ms: int) -> list[int]:
    """Evenly spread opportunities at a rate, on mahimahi's grid of milliseconds.

    Args:
        rate_bps: rate in IP bits per second.
        length_ms: period of the trace; what it holds is rounded down to whole opportunities.

    Raises:
        TraceError: so many whole opportunities miss the rate by more than 1 %, or they are too many.
    """
    count = _count(rate_bps, length_ms)
    if _is_off(rate_bps, length_ms):
        held = f"{count} whole opportunit{'y' if count == 1 else 'ies'} of 1500 bytes"
        right = f'write length = "{_fitting_length_ms(rate_bps, length_ms)}ms"'
        if count:
            right += f' or constant = "{-(-count * _BITS_MS // length_ms)}bit/s"'
        raise TraceError(f"{length_ms} ms at {rate_bps} bit/s hold {held}; {right}")
    return [number * length_ms // count for number in range(1, count + 1)]


def poisson(rate_bps: int, length_ms: int, *, seed: int, slow_prefix_ms: int = 0) -> list[int]:
    """Opportunities with exponential gaps, after an optional slow beginning as in Pantheon's published cellular traces.

    Args:
        rate_bps: mean rate after the prefix, in IP bits per second.
        length_ms: length of the trace; its period is its last opportunity, at most one mean gap shorter on average.
        seed: chooses the gaps.
        slow_prefix_ms: how long the trace begins with one opportunity every 100 ms.

    Raises:
        TraceError: no opportunity is drawn within the length, or too many fit.
    """
    _count(rate_bps, length_ms)
    times = list(range(100, slow_prefix_ms + 1, 100))
    generator = random.Random(seed)  # noqa: S311 - a simulation wants a repeatable stream, not a secret one
    gap_ms = BITS_PER_OPPORTUNITY * 1000 / rate_bps
    now = float(slow_prefix_ms)
    while True:
        now -= math.log(1 - generator.random()) * gap_ms
        if now > length_ms:
            break
        times.append(int(now))
    if not times or times[-1] == 0:
        sentence = f"at {rate_bps} bit/s no opportunity is drawn between 1 and {length_ms} ms"
        raise TraceError(f"{sentence}; make the trace longer, or raise its rate")
    check(times)
    return times


def _is_off(rate_bps: int, length_ms: int) -> bool:
    """Whether the whole opportunities of a length miss the rate by more than is allowed."""
    exact = rate_bps * length_ms
    return exact % _BITS_MS > _MOST_OFF * exact


def _fitting_length_ms(rate_bps: int, length_ms: int) -> int:
    """The shortest longer length of which the whole opportunities have the rate: 100 opportunities are enough."""
    count = rate_bps * length_ms // _BITS_MS
    lengths = (-(-number * _BITS_MS // rate_bps) for number in itertools.count(count + 1))
    return next(length for length in lengths if not _is_off(rate_bps, length))


def _count(rate_bps: int, length_ms: int) -> int:
    count = rate_bps * length_ms // _BITS_MS
    if count > MAX_OPPORTUNITIES:
        raise TraceError(f"{count} opportunities are more than the {MAX_OPPORTUNITIES} allowed; make the trace shorter")
    return count

"""Quantities as people write them ("80ms", "12Mbit/s", "50pkt") and as the core counts them (ns, bit/s, bytes).

Every parser takes whatever stood in the file and returns an integer or raises `UnitError`, whose sentence names the
value, what is wrong with it and what would be right.

Times are in `ns`, `us`, `ms`, `s`, `min`, `h`; rates in `bit/s`, `kbit/s` ... `Tbit/s`; sizes in `B`, `kB`, `MB`, `GB`,
`KiB`, `MiB`, `GiB`; packets in `pkt`. Decimal prefixes are powers of 1000, `KiB` and its kin of 1024. A queue limit may
also be a time or a multiple of the `bdp`: the hop's mean rate times the base RTT, with the extra delay of the farthest
flow.
"""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from decimal import Decimal

TIME_UNITS = {
    "ns": 1,
    "us": 10**3,
    "µs": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "min": 60 * 10**9,
    "h": 3600 * 10**9,
}
RATE_UNITS = {"bit/s": 1, "kbit/s": 10**3, "Mbit/s": 10**6, "Gbit/s": 10**9, "Tbit/s": 10**12}
SIZE_UNITS = {
    "B": 1,
    "kB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "KiB": 2**10,
    "MiB": 2**20,
    "GiB": 2**30,
}

# Bounds beyond which a value is a slip of the pen. Mars is at most 22 light minutes away.
MAX_TIME_NS = 24 * TIME_UNITS["h"]
MIN_RATE_BPS = RATE_UNITS["kbit/s"]
MAX_RATE_BPS = 10 * RATE_UNITS["Tbit/s"]
MAX_SIZE_BYTES = 2**50
MAX_PACKETS = 10**9
MAX_BDP = 10**4

# Characters of a value that a message quotes.
_MOST_SHOWN = 40
_INFINITE = "infinite"
_RATIO_EXAMPLE = 'write for example 0.01 or "1%"'
_QUANTITY = re.compile(r"([+-]?)([0-9]{1,30}(?:\.[0-9]{1,30})?) ?([^\s0-9][^\s]{0,15})?")


class UnitError(ValueError):
    """A value that is not the quantity it should be; the message is a sentence without its end."""


@dataclass(frozen=True)
class Kind:
    """One kind of quantity.

    Attributes:
        name: what a message calls it.
        units: factor of each unit, in the kind's base unit.
        example: a value in the right form.
        least: smallest value but zero, in the base unit.
        most: largest value, in the base unit.
    """

    name: str
    units: dict[str, int]
    example: str
    least: int
    most: int


TIME = Kind("time", TIME_UNITS, "80ms", 1, MAX_TIME_NS)
RATE = Kind("rate", RATE_UNITS, "12Mbit/s", MIN_RATE_BPS, MAX_RATE_BPS)
SIZE = Kind("size", SIZE_UNITS, "64kB", 1, MAX_SIZE_BYTES)
COUNT = Kind("number of packets", {"pkt": 1}, "50pkt", 1, MAX_PACKETS)


@dataclass(frozen=True)
class Limit:
    """What a queue may hold; a limit that is None does not exist.

    Attributes:
        packets: number of packets.
        size_bytes: sum of packet sizes.
        time_ns: time that the head may have waited.
        bdp: multiple of the bandwidth-delay product, not yet resolved.
    """

    packets: int | None = None
    size_bytes: int | None = None
    time_ns: int | None = None
    bdp: float | None = None


def shown(value: object) -> str:
    """The value as a message quotes it: text in quotes, long things cut."""
    text = f'"{value}"' if isinstance(value, str) else _described(value)
    text = "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in text)
    return text if len(text) <= _MOST_SHOWN else f"{text[: _MOST_SHOWN - 4]}...{text[-1]}"


def _described(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return "a table"
    if isinstance(value, list):
        return "a list"
    if isinstance(value, int) and abs(value) >= 10**18:
        return "a number of more than 18 digits"
    return str(value)


def parse_time(value: object) -> int:
    """Nanoseconds of a time such as "80ms"; zero is allowed.

    Raises:
        UnitError: it is not a time, negative, or longer than a day.
    """
    return _parse(value, TIME)


def parse_rate(value: object) -> int:
    """Bits per second of a rate such as "12Mbit/s", from 1 kbit/s to 10 Tbit/s.

    Raises:
        UnitError: it is not a rate, zero, negative or absurd.
    """
    return _positive(value, RATE)


def parse_rate_or_zero(value: object) -> int:
    """As `parse_rate`, but "0bit/s" stands for an outage."""
    return _parse(value, RATE)


def parse_size(value: object) -> int:
    """Bytes of a size such as "64kB", at least one.

    Raises:
        UnitError: it is not a size, zero, negative or absurd.
    """
    return _positive(value, SIZE)


def parse_packets(value: object) -> int:
    """A number of packets such as "50pkt", at least one.

    Raises:
        UnitError: it is not a whole positive number of packets.
    """
    return _positive(value, COUNT)


def parse_ratio(value: object) -> float:
    """A ratio below 1, written 0.01 or "1%".

    Raises:
        UnitError: it is not a ratio, or not in 0 <= ratio < 1.
    """
    ratio = _ratio(value)
    if not 0 <= ratio < 1:
        raise UnitError(f"{shown(value)}: a ratio is at least 0 and below 1 (100%); {_RATIO_EXAMPLE}")
    return ratio


def _ratio(value: object) -> float:
    """Any number, or percentage."""
    if isinstance(value, str):
        match = re.fullmatch(r"([+-]?[0-9]{1,15}(?:\.[0-9]{1,15})?) ?%", value)
        if match is None:
            raise UnitError(f"{shown(value)}: not a ratio; {_RATIO_EXAMPLE}")
        return float(Decimal(match[1]) / 100)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise UnitError(f"{shown(value)}: not a ratio; {_RATIO_EXAMPLE}")
    return value if isinstance(value, float) else float(min(max(value, -2), 2))


def parse_probability(value: object) -> float:
    """A ratio that may be 1: 1.0 or "100%" is always.

    Raises:
        UnitError: it is not a ratio, or not in 0 <= ratio <= 1.
    """
    ratio = _ratio(value)
    if not 0 <= ratio <= 1:
        raise UnitError(f"{shown(value)}: a probability is at least 0 and at most 1 (100%); {_RATIO_EXAMPLE}")
    return ratio


def parse_limit(value: object) -> Limit:
    """What a queue may hold: one limit ("50pkt", "64kB", "100ms", "1bdp", "infinite") or a list of different ones.

    Raises:
        UnitError: a limit is malformed, zero, or given twice.
    """
    if not isinstance(value, list):
        return _single_limit(value)
    if not value:
        raise UnitError('an empty list: write a limit such as "50pkt", or "infinite"')
    found: dict[str, int | float] = {}
    for item in value:
        fields = {key: number for key, number in vars(_single_limit(item)).items() if number is not None}
        if not fields:
            raise UnitError('"infinite" stands alone; remove it or the other limits')
        if fields.keys() & found.keys():
            raise UnitError(f"{shown(item)}: the second limit of its kind; keep one of them")
        found |= fields
    if "bdp" in found and "size_bytes" in found:
        raise UnitError("a bdp limit is a limit in bytes: keep it or the one in bytes")
    return Limit(**found)  # type: ignore[arg-type] # keys and types come from Limit itself


def is_queue_kind(value: object) -> bool:
    """Whether this is the name of a kind of queue, known or not, and no limit, which has a number."""
    return isinstance(value, str) and value != _INFINITE and re.fullmatch("[a-z][a-z0-9_]*", value) is not None


def _single_limit(value: object) -> Limit:
    examples = 'write for example "50pkt", "64kB", "100ms", "1bdp" or "infinite"'
    if not isinstance(value, str):
        raise UnitError(f"{shown(value)}: a queue limit is a text with a unit; {examples}")
    if value == _INFINITE:
        return Limit()
    match = _QUANTITY.fullmatch(value)
    if match is None:
        raise UnitError(f"{shown(value)}: not a queue limit; {examples}")
    unit = _parts(match)[2]
    if unit == "bdp":
        return Limit(bdp=_bdp(value, match))
    for kind in (COUNT, SIZE, TIME):
        if unit in kind.units:
            if Decimal(match[2]) == 0:
                raise UnitError(f'{shown(value)}: nothing would pass an empty queue; write at least "1pkt"')
            number = _positive(value, kind)
            return Limit(
                packets=number if kind is COUNT else None,
                size_bytes=number if kind is SIZE else None,
                time_ns=number if kind is TIME else None,
            )
    problem = "needs a unit" if unit is None else f"unknown unit {shown(unit)}"
    raise UnitError(f"{shown(value)}: {problem}; {_meant_limit(match[2], unit or '') or examples}")


def _meant_limit(digits: str, unit: str) -> str | None:
    """What was probably meant by a unit of a limit that does not exist."""
    if unit.lower() in {"p", "packet", "packets", "pkts"}:
        return f'write "{digits}pkt"'
    if unit.lower() in {"k", "kb", "m", "mb", "g", "gb"}:
        return _hint(digits, unit, SIZE)
    return _with_point(digits, unit)


def _with_point(digits: str, unit: str) -> str | None:
    """What was meant by decimals behind a comma, if there are any."""
    if not re.match(r",[0-9]", unit):
        return None
    with_point = f'"{digits}.{unit[1:]}"'
    if re.match(r",[0-9]{3}(?![0-9])", unit):
        return f'write "{digits}{unit[1:]}" if the comma is between thousands, or {with_point}'
    return f"decimals stand behind a point; write {with_point}"


def _bdp(value: str, match: re.Match[str]) -> float:
    number = Decimal(match[1] + match[2])
    if not 0 < number <= MAX_BDP:
        raise UnitError(f'{shown(value)}: must lie above 0 and at most at {MAX_BDP}bdp; write for example "1bdp"')
    return float(number)


def _positive(value: object, kind: Kind) -> int:
    number = _parse(value, kind)
    if number == 0:
        raise UnitError(f"{shown(value)}: the {kind.name} must be above zero; {_example(kind)}")
    return number


def _parse(value: object, kind: Kind) -> int:
    if not isinstance(value, str):
        raise UnitError(f"{shown(value)}: a {kind.name} is a text with a unit; {_example(kind)}")
    match = _QUANTITY.fullmatch(value)
    if match is None:
        raise UnitError(f"{shown(value)}: not a {kind.name}; {_example(kind)}")
    sign, digits, unit = _parts(match)
    if unit is None:
        raise UnitError(f"{shown(value)}: a {kind.name} needs a unit; {_example(kind)}")
    factor = kind.units.get(unit)
    if factor is None:
        raise UnitError(f"{shown(value)}: unknown unit {shown(unit)} for a {kind.name}; {_hint(digits, unit, kind)}")
    exact = Decimal(digits) * factor
    if sign == "-" and exact:
        raise UnitError(f"{shown(value)}: a {kind.name} cannot be negative; {_example(kind)}")
    if exact > kind.most:
        raise UnitError(f"{shown(value)}: more than the largest {kind.name} there is, {_bound(kind.most, kind)}")
    if 0 < exact < kind.least:
        raise UnitError(f"{shown(value)}: less than the smallest {kind.name} there is, {_bound(kind.least, kind)}")
    if kind is COUNT and exact != int(exact):
        raise UnitError(f"{shown(value)}: packets come whole; {_example(kind)}")
    return round(exact)


def _parts(match: re.Match[str]) -> tuple[str, str, str | None]:
    """Sign, number and unit; the Greek letter, which some keyboards have, is the micro sign."""
    sign, digits, unit = match.groups()
    return sign, digits, unit and unit.replace("\N{GREEK SMALL LETTER MU}", "\N{MICRO SIGN}")


def _example(kind: Kind) -> str:
    return f'write for example "{kind.example}"'


def _hint(digits: str, unit: str, kind: Kind) -> str:
    """What was probably meant by a unit that does not exist."""
    if re.match(r"[eE][+-]?[0-9]", unit):
        return f"write the number without an exponent, as in {kind.example}"
    if (decimals := _with_point(digits, unit)) is not None:
        return decimals
    if kind is TIME:
        words = {"sec": "s", "secs": "s", "second": "s", "seconds": "s", "msec": "ms", "usec": "us", "mins": "min"}
        if unit == "m":
            return f'write "{digits}min" or "{digits}ms"'
        guess = words.get(unit.lower()) or (unit.lower() if unit.lower() in kind.units else None)
    elif kind is RATE:
        # "MB/s" may mean bytes and "Mb" bits: the answer is bits in any case, so that nobody is off by eight unseen.
        prefix = {"k": "k", "K": "k", "m": "M", "M": "M", "g": "G", "G": "G", "t": "T", "T": "T"}.get(unit[0], "")
        if unit.endswith("B/s"):
            return f'rates are in bits; write "{_plain(Decimal(digits) * 8)}{prefix}bit/s"'
        guess = f"{prefix}bit/s"
    elif kind is SIZE:
        prefix = unit[0].lower()
        guess = {"k": "kB", "m": "MB", "g": "GB"}.get(prefix)
    else:
        guess = "pkt"
    if guess is None:
        near = difflib.get_close_matches(unit, kind.units, 1)
        return f'write "{digits}{near[0]}"' if near else _example(kind)
    return f'write "{digits}{guess}"'


def _bound(value: int, kind: Kind) -> str:
    return {"time": format_time, "rate": format_rate, "size": format_size}.get(kind.name, "{}pkt".format)(value)


def _plain(number: Decimal) -> str:
    text = f"{number:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _format(value: int, units: tuple[tuple[str, int], ...]) -> str:
    unit, factor = next(((unit, factor) for unit, factor in units if value >= factor), units[-1])
    return f"{_plain(Decimal(value) / factor)}{unit}"


def format_time(value_ns: int) -> str:
    """The time in its largest fitting unit up to seconds: 80000000 is "80ms"; exact."""
    return _format(value_ns, (("s", 10**9), ("ms", 10**6), ("us", 10**3), ("ns", 1)))


def format_rate(value_bps: int) -> str:
    """The rate in its largest fitting unit: 12000000 is "12Mbit/s"; exact."""
    return _format(value_bps, tuple(reversed(RATE_UNITS.items())))


def format_size(value_bytes: int) -> str:
    """The size in its largest fitting decimal unit: 64000 is "64kB"; exact."""
    return _format(value_bytes, (("GB", 10**9), ("MB", 10**6), ("kB", 10**3), ("B", 1)))

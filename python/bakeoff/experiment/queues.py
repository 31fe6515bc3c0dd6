"""From the queue of an experiment file to that of a scenario: base units, which stand in the names of parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bakeoff.errors import UserError
from bakeoff.experiment.problems import KeyProblem
from bakeoff.experiment.units import Limit, format_rate, format_time

if TYPE_CHECKING:
    from bakeoff.experiment.catalogue import Catalogue
    from bakeoff.experiment.path import Queue

_SUFFIXES = {"time": "_ns", "size": "_bytes", "packets": "_packets", "Hz": "_hz"}


# What has no effect without another key, by kind of queue: the kernel takes it and says nothing.
_PARTNERS = {
    "fq_codel": {"ce_threshold_mask": "ce_threshold", "ce_threshold_selector": "ce_threshold_mask"},
    "fq_pie": {"ecn_prob": "ecn"},
    "red": {"harddrop": "ecn"},
}


@dataclass(frozen=True)
class Place:
    """Where a queue is.

    Attributes:
        key: its key in the file.
        rate_bps: mean rate of the link; None if unlimited.
        rtt_ns: base RTT of the flow that is farthest away.
        packet_bytes: largest packet of any flow or probe.
    """

    key: str
    rate_bps: int | None
    rtt_ns: int
    packet_bytes: int


def resolve(queue: Queue, place: Place, catalogue: Catalogue) -> dict[str, Any]:
    """The queue of a scenario: its kind, and what the file states.

    Args:
        queue: as the file has it.
        place: where it is.
        catalogue: queues that exist, with their parameters.

    Raises:
        KeyProblem: there is no such queue, it has not such a parameter, or the parameter has no effect here.
    """
    try:
        catalogue.check_queue(queue.kind)
    except UserError as error:
        raise KeyProblem(f"{place.key}.kind", str(error)) from error
    named = queue.model_fields_set
    stated = {
        name: value for name, value in vars(queue).items() if name in named and name != "kind" and value is not None
    }
    resolved: dict[str, Any] = {"kind": queue.kind}
    for name, value in stated.items():
        try:
            unit = catalogue.unit_of(queue.kind, name, None if isinstance(value, Limit) else value)
        except UserError as error:
            raise KeyProblem(f"{place.key}.{name}", str(error)) from error
        partner = _PARTNERS.get(queue.kind, {}).get(name)
        if partner is not None and value and not stated.get(partner):
            raise KeyProblem(f"{place.key}.{name}", f"has no effect without {partner}; set that too, or leave it out")
        if queue.kind != "fifo":
            resolved |= _parameter(name, value, unit, place)
    if queue.kind == "fifo":
        limit = queue.limit or Limit()
        size = _bytes(limit, "limit", place)
        _check_time(limit.time_ns, place)
        limits = {"limit_packets": limit.packets, "limit_bytes": size, "limit_time_ns": limit.time_ns}
        room = {} if queue.room is None else {"room_bytes": queue.room}
        resolved |= limits | {"drop": queue.drop} | room
    return resolved


def _parameter(name: str, value: Any, unit: str, place: Place) -> dict[str, int | float | bool | str]:
    """A stated parameter, with its unit in the name."""
    if not isinstance(value, Limit):
        return {name + _SUFFIXES.get(unit, ""): value}
    kinds = {
        "packets": ({"_packets": value.packets}, 'in packets, as in "1000pkt"'),
        "size": ({"_bytes": _bytes(value, name, place)}, 'in bytes, as in "64kB" or "1bdp"'),
        "time or packets": ({"_ns": value.time_ns, "_packets": value.packets}, 'a time or packets: "1ms" or "5pkt"'),
    }
    forms, sentence = kinds[unit]
    known = {suffix: number for suffix, number in forms.items() if number is not None}
    given = sum(number is not None for number in vars(value).values())
    if given != 1 or len(known) != 1:
        raise KeyProblem(f"{place.key}.{name}", f"must be one limit {sentence}")
    return {name + suffix: number for suffix, number in known.items()}


def _bytes(limit: Limit, name: str, place: Place) -> int | None:
    key = f"{place.key}.{name}"
    if limit.bdp is None:
        size = limit.size_bytes
        what = f"{size} bytes"
    else:
        if place.rate_bps is None:
            raise KeyProblem(key, "a bdp needs a rate; give the hop one, or a limit in packets")
        size = round(limit.bdp * place.rate_bps * place.rtt_ns / 8e9)
        pace = f"{format_rate(place.rate_bps)} and {format_time(place.rtt_ns)}"
        what = f"{limit.bdp:g}bdp is {size} bytes at {pace}, which"
    if size is not None:
        _check_room(size, what, key, place)
    return size


def _check_time(time_ns: int | None, place: Place) -> None:
    """A time is so many bytes at the mean rate; without a rate it is no limit."""
    if time_ns is not None and place.rate_bps is not None:
        size = place.rate_bps * time_ns // 8_000_000_000
        what = f"{format_time(time_ns)} is {size} bytes at {format_rate(place.rate_bps)}, which"
        _check_room(size, what, f"{place.key}.limit", place)


def _check_room(size: int, what: str, key: str, place: Place) -> None:
    if size < place.packet_bytes:
        raise KeyProblem(key, f"{what} holds no packet of {place.packet_bytes} bytes; make it larger")

"""From the queue of an experiment file to that of a scenario: parameters with the unit in their names, in base units."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bakeoff.errors import UserError
from bakeoff.experiment.units import Limit, format_rate, format_time

if TYPE_CHECKING:
    from bakeoff.experiment.catalogue import Catalogue
    from bakeoff.experiment.path import Queue

_SUFFIXES = {"time": "_ns", "size": "_bytes", "packets": "_packets", "Hz": "_hz"}


class KeyProblem(Exception):  # noqa: N818 - becomes a UserError where the file is known
    """A sentence about a key of the experiment."""

    def __init__(self, key: str, sentence: str) -> None:
        super().__init__(f"{key}: {sentence}")
        self.key = key
        self.sentence = sentence


@dataclass(frozen=True)
class Scale:
    """What hops are measured by.

    Attributes:
        rtt_ns: base RTT of the flow that is farthest away.
        packet_bytes: largest packet of any flow or probe.
        duration_ns: length of the run.
    """

    rtt_ns: int
    packet_bytes: int
    duration_ns: int


def resolve(queue: Queue, key: str, catalogue: Catalogue, rate_bps: int | None, scale: Scale) -> dict[str, Any]:
    """The queue of a scenario: its kind, and what the file states.

    Args:
        queue: as the file has it.
        key: where that is.
        catalogue: queues that exist, with their parameters.
        rate_bps: mean rate of the link; None if unlimited.
        scale: what a bandwidth-delay product is, and what a packet.

    Raises:
        KeyProblem: there is no such queue, or it has not such a parameter.
    """
    try:
        catalogue.check_queue(queue.kind)
    except UserError as error:
        raise KeyProblem(f"{key}.kind", str(error)) from error
    stated = {name: value for name, value in queue if name in queue.model_fields_set - {"kind"} and value is not None}
    resolved: dict[str, Any] = {"kind": queue.kind}
    for name, value in stated.items():
        try:
            unit = catalogue.unit_of(queue.kind, name, None if isinstance(value, Limit) else value)
        except UserError as error:
            raise KeyProblem(f"{key}.{name}", str(error)) from error
        if queue.kind != "fifo":
            resolved |= _parameter(name, value, unit, f"{key}.{name}", rate_bps, scale)
    if queue.kind == "fifo":
        size = _bytes(queue.limit, f"{key}.limit", rate_bps, scale)
        limit = {"limit_packets": queue.limit.packets, "limit_bytes": size, "limit_time_ns": queue.limit.time_ns}
        resolved |= limit | {"drop": queue.drop}
    return resolved


def _parameter(
    name: str, value: Any, unit: str, key: str, rate_bps: int | None, scale: Scale
) -> dict[str, int | float | bool | str]:
    """A stated parameter, with its unit in the name."""
    if not isinstance(value, Limit):
        return {name + _SUFFIXES.get(unit, ""): value}
    kinds = {
        "packets": ({"_packets": value.packets}, 'in packets, as in "1000pkt"'),
        "size": ({"_bytes": _bytes(value, key, rate_bps, scale)}, 'in bytes, as in "64kB" or "1bdp"'),
        "time or packets": ({"_ns": value.time_ns, "_packets": value.packets}, 'a time or packets: "1ms" or "5pkt"'),
    }
    forms, sentence = kinds[unit]
    known = {suffix: number for suffix, number in forms.items() if number is not None}
    given = sum(number is not None for number in vars(value).values())
    if given != 1 or len(known) != 1:
        raise KeyProblem(key, f"must be one limit {sentence}")
    return {name + suffix: number for suffix, number in known.items()}


def _bytes(limit: Limit, key: str, rate_bps: int | None, scale: Scale) -> int | None:
    if limit.bdp is None:
        size = limit.size_bytes
        what = f"{size} bytes"
    else:
        if rate_bps is None:
            raise KeyProblem(key, "a bdp needs a rate; give the hop one, or a limit in packets")
        size = round(limit.bdp * rate_bps * scale.rtt_ns / 8e9)
        what = f"{limit.bdp:g}bdp is {size} bytes at {format_rate(rate_bps)} and {format_time(scale.rtt_ns)}, which"
    if size is not None and size < scale.packet_bytes:
        sentence = f"{what} holds no packet of {scale.packet_bytes} bytes; make it larger"
        raise KeyProblem(key, sentence)
    return size

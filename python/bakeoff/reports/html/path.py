"""The path of a scenario in words, hop by hop."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bakeoff.reports import words

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class HopWords:
    """One hop.

    Attributes:
        name: such as `forward.0`.
        facts: its properties, each a short phrase.
    """

    name: str
    facts: tuple[str, ...]


def describe(scenario: Mapping[str, Any]) -> dict[str, list[HopWords]]:
    """The hops of each direction, `forward` and `reverse`."""
    return {
        direction: [HopWords(f"{direction}.{index}", _facts(hop)) for index, hop in enumerate(scenario[direction])]
        for direction in ("forward", "reverse")
    }


def _facts(hop: Mapping[str, Any]) -> tuple[str, ...]:
    facts = [_link(hop["link"])]
    if hop["link"]["kind"] != "unlimited":
        facts.append(_queue(hop["queue"]))
    if hop["delay_ns"]:
        facts.append(f"delay {words.time(hop['delay_ns'])}")
    if hop["loss"]:
        facts.append(f"loss {words.trimmed(100 * hop['loss'])} %")
    if hop["jitter_ns"]:
        facts.append(f"jitter {words.time(hop['jitter_ns'])}")
    if slots := hop.get("slots"):
        facts.append(f"slots of {words.count(slots['packets'], 'packet')} every {_span(slots)}")
    if window := hop.get("replay_window"):
        facts.append(f"replay window {words.count(window, 'packet')}")
    return tuple(facts)


def _span(slots: Mapping[str, Any]) -> str:
    return f"{words.time(slots['min_ns'])} to {words.time(slots['max_ns'])}"


def _link(link: Mapping[str, Any]) -> str:
    kind = link["kind"]
    if kind in {"constant", "poisson"}:
        return words.rate(link["rate_bps"]) + (", Poisson" if kind == "poisson" else "")
    if kind == "schedule":
        rates = [step["rate_bps"] for step in link["steps"]]
        return f"{words.rate(min(rates))} to {words.rate(max(rates))}, scheduled"
    if kind == "trace":
        times = link["opportunities_ms"]
        mean = len(times) * 1500 * 8 * 1000 / times[-1]
        return f"trace, mean {words.rate(mean)}"
    return "unlimited rate"


def _queue(queue: Mapping[str, Any]) -> str:
    limits = []
    if queue.get("limit_packets") is not None:
        limits.append(words.count(queue["limit_packets"], "packet"))
    if queue.get("limit_bytes") is not None:
        limits.append(words.size(queue["limit_bytes"]))
    if queue.get("limit_time_ns") is not None:
        limits.append(words.time(queue["limit_time_ns"]))
    # Only a fifo has no limit unless it is given one; what the others have by themselves is on their page.
    if not limits and queue["kind"] == "fifo":
        limits.append("no limit")
    drop = " drop-head" if queue.get("drop") == "head" else ""
    room = f", open while {words.size(queue['room_bytes'])} are free" if queue.get("room_bytes") else ""
    return f"{queue['kind']}{drop} queue" + (f", {' or '.join(limits)}" if limits else "") + room

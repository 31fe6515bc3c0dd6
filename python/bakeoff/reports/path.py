"""The path of a scenario in words, hop by hop."""

from __future__ import annotations

import bisect
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bakeoff.formats.mahimahi import BITS_PER_OPPORTUNITY
from bakeoff.reports import words
from bakeoff.scenario import TRACES, goes_both_ways

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
        direction: [_hop(f"{direction}.{place}", hop, scenario) for place, hop in enumerate(scenario[direction])]
        for direction in ("forward", "reverse")
    }


@dataclass(frozen=True)
class Way:
    """One direction of the path: its first end, what goes there, and its last end."""

    begin: str
    carried: str
    end: str


def ways(scenario: Mapping[str, Any]) -> dict[str, Way]:
    """What goes in each direction, `forward` and `reverse`: flows may send their data in either, or in both."""
    if goes_both_ways(scenario):
        both = "data and acknowledgements"
        return {"forward": Way("One end", both, "Other end"), "reverse": Way("Other end", both, "One end")}
    data, acks = Way("Sender", "data", "Receiver"), Way("Receiver", "acknowledgements", "Sender")
    is_forward = scenario["flows"][0]["direction"] == "forward"
    return {"forward": data, "reverse": acks} if is_forward else {"forward": acks, "reverse": data}


def _hop(name: str, hop: Mapping[str, Any], scenario: Mapping[str, Any]) -> HopWords:
    if hop["link"]["kind"] != "trace":
        return HopWords(name, _facts(link(hop["link"]), hop))
    # Recordings of earlier versions have no names of traces.
    file = scenario.get(TRACES, {}).get(name, "")
    return HopWords(name, _facts(_trace(hop["link"], file, scenario["duration_ns"]), hop))


def _facts(of_link: str, hop: Mapping[str, Any]) -> tuple[str, ...]:
    facts = [*_before_the_queue(hop), of_link]
    if hop["link"]["kind"] != "unlimited":
        facts.append(_queue(hop["queue"]))
    if hop["delay_ns"]:
        facts.append(f"delay {words.time(hop['delay_ns'])}")
    if hop["jitter_ns"]:
        facts.append(f"jitter {words.time(hop['jitter_ns'])}")
    if slots := hop.get("slots"):
        facts.append(f"slots of {words.count(slots['packets'], 'packet')} every {_span(slots)}")
    return (*facts, *_on_the_wire(hop))


def _span(slots: Mapping[str, Any]) -> str:
    return f"{words.time(slots['min_ns'])} to {words.time(slots['max_ns'])}"


def link(found: Mapping[str, Any]) -> str:
    """How fast a link sends."""
    kind = found["kind"]
    if kind in {"constant", "poisson"}:
        return words.rate(found["rate_bps"]) + (", Poisson" if kind == "poisson" else "")
    if kind == "schedule":
        rates = [step["rate_bps"] for step in found["steps"]]
        return f"{words.rate(min(rates))} to {words.rate(max(rates))}, scheduled"
    if kind == "token-bucket":
        peak = f", at most {words.rate(found['peak_bps'])}" if found.get("peak_bps") else ""
        return f"token bucket of {words.rate(found['rate_bps'])}, burst {words.size(found['burst_bytes'])}{peak}"
    return "unlimited rate"


def _trace(found: Mapping[str, Any], file: str, duration_ns: int) -> str:
    """The trace of a link, and its mean rate over the run, which sees a part of it or repeats it."""
    times, duration_ms = found["opportunities_ms"], duration_ns / 1e6
    # A trace that goes on after the run is kept as far as the run needs it.
    whole, rest = (0, duration_ms) if "mean_rate_bps" in found else divmod(duration_ms, times[-1])
    opportunities = whole * len(times) + bisect.bisect_right(times, rest)
    mean = words.rate(round(opportunities * BITS_PER_OPPORTUNITY * 1000 / duration_ms))
    name = f"trace {file}" if file else "trace"
    return f"{name}, mean {mean} over the run"


def mishaps(hop: Mapping[str, Any]) -> list[str]:
    """What befalls packets at a hop besides waiting and travelling, a short phrase each."""
    return [*_before_the_queue(hop), *_on_the_wire(hop)]


def _before_the_queue(hop: Mapping[str, Any]) -> list[str]:
    found = []
    if rules := hop.get("mangle"):
        found.append(f"{words.count(len(rules), 'rule')} for the DS field")
    if policer := hop.get("policer"):
        found.append(f"policer of {words.rate(policer['rate_bps'])}, burst {words.size(policer['burst_bytes'])}")
    return found


def _on_the_wire(hop: Mapping[str, Any]) -> list[str]:
    found = []
    if loss := hop["loss"]:
        found.append(f"loss {_bursts(loss) if isinstance(loss, dict) else _percent(loss)}")
    if duplicate := hop.get("duplicate"):
        found.append(f"{_percent(duplicate)} of packets twice")
    if reorder := hop.get("reorder"):
        found.append(f"{_percent(reorder['probability'])} of packets {_moved(reorder['change'])}")
    if window := hop.get("replay_window"):
        found.append(f"replay window {words.count(window, 'packet')}")
    return found


def _percent(share: float) -> str:
    return f"{words.trimmed(100 * share)} %"


def _bursts(loss: Mapping[str, float]) -> str:
    """By the names of the experiment file."""
    return "in bursts: " + ", ".join(f"{name} {_percent(share)}" for name, share in loss.items())


def _moved(change: Mapping[str, Any]) -> str:
    match change["kind"]:
        case "late":
            return f"{words.time(change['late_ns'])} late"
        case "behind":
            return f"behind {words.count(change['packets'], 'later packet')}"
        case _:
            return "ahead of the delay"


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

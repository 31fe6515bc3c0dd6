"""From a hop of an experiment file to that of a scenario: its link, queue and wire, and traces read or made."""

from __future__ import annotations

import functools
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bakeoff.errors import UserError
from bakeoff.experiment import queues
from bakeoff.experiment.path import (
    BurstLoss,
    ConstantTrace,
    PoissonRate,
    PoissonTrace,
    ScheduledRate,
    TokenBucketRate,
    TraceRate,
)
from bakeoff.experiment.problems import KeyProblem
from bakeoff.formats import mahimahi

if TYPE_CHECKING:
    from pathlib import Path

    from bakeoff.experiment.catalogue import Catalogue
    from bakeoff.experiment.path import Hop, LinkRate, Policer, Reorder, Slots, TraceSource

_HELD_NS = 100_000_000
"""A packet that is held back for others goes on after this time, if the file does not say otherwise."""


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


@dataclass(frozen=True)
class _Link:
    """A resolved rate.

    Attributes:
        scenario: the link of the scenario.
        rate_bps: its mean rate; None if unlimited.
    """

    scenario: dict[str, Any]
    rate_bps: int | None


def resolve(hop: Hop, key: str, folder: Path, catalogue: Catalogue, scale: Scale) -> dict[str, Any]:
    """The hop of a scenario.

    Args:
        hop: as the file has it.
        key: its place in the file.
        folder: what names of trace files are relative to.
        catalogue: queues that exist.
        scale: what it is measured by.

    Raises:
        KeyProblem: its queue or its trace cannot be.
    """
    link = _link(hop.rate, f"{key}.rate", folder, scale.duration_ns)
    place = queues.Place(f"{key}.queue", link.rate_bps, scale.rtt_ns, scale.packet_bytes)
    resolved = {
        "link": link.scenario,
        "queue": queues.resolve(hop.queue, place, catalogue),
        "delay_ns": hop.delay,
        "loss": hop.loss.model_dump() if isinstance(hop.loss, BurstLoss) else hop.loss,
        "jitter_ns": hop.jitter,
    }
    optional = {
        "duplicate": hop.duplicate,
        "reorder": None if hop.reorder is None else _reorder(hop.reorder),
        "slots": None if hop.slots is None else _slots(hop.slots),
        "replay_window": hop.replay_window,
        "policer": None if hop.policer is None else _policer(hop.policer),
        "mangle": [rule.model_dump() for rule in hop.mangle],
    }
    return resolved | {name: value for name, value in optional.items() if value}


def _reorder(reorder: Reorder) -> dict[str, Any]:
    change: dict[str, Any] = {"kind": "ahead", "gap": reorder.gap or 1}
    if reorder.late is not None:
        change = {"kind": "late", "late_ns": reorder.late}
    elif reorder.behind is not None:
        within_ns = _HELD_NS if reorder.within is None else reorder.within
        change = {"kind": "behind", "packets": reorder.behind, "within_ns": within_ns}
    return {"probability": reorder.probability, "change": change}


def _slots(slots: Slots) -> dict[str, int]:
    return {"min_ns": slots.min, "max_ns": slots.max, "packets": slots.packets}


def _policer(policer: Policer) -> dict[str, int]:
    return {"rate_bps": policer.rate, "burst_bytes": policer.burst}


def _link(rate: LinkRate, key: str, folder: Path, duration_ns: int) -> _Link:
    if isinstance(rate, int):
        return _Link({"kind": "constant", "rate_bps": rate}, rate)
    if isinstance(rate, TokenBucketRate):
        link = {"kind": "token-bucket", "rate_bps": rate.token_bucket, "burst_bytes": rate.burst}
        return _Link(link | ({} if rate.peak is None else {"peak_bps": rate.peak}), rate.token_bucket)
    if isinstance(rate, PoissonRate):
        return _Link({"kind": "poisson", "rate_bps": rate.poisson}, rate.poisson)
    if isinstance(rate, ScheduledRate):
        steps = [{"at_ns": step.at, "rate_bps": step.rate} for step in rate.schedule]
        return _Link({"kind": "schedule", "steps": steps, "period_ns": rate.period}, _mean_rate(rate))
    if isinstance(rate, TraceRate):
        trace = _trace(rate.trace, f"{key}.trace", folder)
        beginning = trace.beginning(duration_ns // 10**6)
        mean = {} if beginning is trace else {"mean_rate_bps": trace.rate_bps}
        return _Link({"kind": "trace", "opportunities_ms": beginning.opportunities_ms} | mean, trace.rate_bps)
    return _Link({"kind": "unlimited"}, None)


def _mean_rate(rate: ScheduledRate) -> int:
    """Mean over the period; without a period the rate of the last step, which stays, unless that is an outage."""
    if rate.period is None:
        return rate.schedule[-1].rate or max(step.rate for step in rate.schedule)
    ends = [step.at for step in rate.schedule[1:]] + [rate.period]
    bits = sum(step.rate * (end - step.at) for step, end in zip(rate.schedule, ends, strict=True))
    return max(bits // rate.period, 1)


def _trace(source: TraceSource, key: str, folder: Path) -> mahimahi.Trace:
    if source == "":
        raise KeyProblem(key, "no trace is named; give a mahimahi trace file with --set path.trace=FILE")
    try:
        if not isinstance(source, str):
            return _make_trace(source)
        return _read_trace(folder / os.path.expanduser(source))  # noqa: PTH111 - never raises
    except (mahimahi.TraceError, UserError) as error:
        raise KeyProblem(key, str(error)) from error


@functools.lru_cache(maxsize=64)
def _read_trace(file: Path) -> mahimahi.Trace:
    return mahimahi.read(file)


def _make_trace(source: list[int] | ConstantTrace | PoissonTrace) -> mahimahi.Trace:
    if isinstance(source, list):
        mahimahi.check(source)
        return mahimahi.Trace(tuple(source), "list")
    if source.length % 10**6 or source.length == 0:
        raise mahimahi.TraceError("the length must be in whole milliseconds, at least 1ms")
    length_ms = source.length // 10**6
    if isinstance(source, ConstantTrace):
        return mahimahi.Trace(tuple(mahimahi.constant(source.constant, length_ms)), "constant")
    if source.slow_prefix % 10**6:
        raise mahimahi.TraceError("slow_prefix must be in whole milliseconds")
    prefix_ms = source.slow_prefix // 10**6
    if prefix_ms >= length_ms:
        raise mahimahi.TraceError("the slow prefix must be shorter than the trace")
    times = mahimahi.poisson(source.poisson, length_ms, seed=source.seed, slow_prefix_ms=prefix_ms)
    return mahimahi.Trace(tuple(times), "poisson")

"""What an experiment asked of its hops that found no packet to act on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bakeoff.scenario import hops as scenario_hops

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from bakeoff.metrics.hops import HopSummary

# Why a queue drops what it would have marked; one that is full drops in any case.
_LAWS = ("congestion", "threshold")


def check(hops: Sequence[HopSummary], scenario: Mapping[str, Any]) -> tuple[str, ...]:
    """A sentence for each queue that was to mark and could only drop, and for rules that changed nothing.

    Args:
        hops: what the run counted.
        scenario: the scenario of the run, for what it asked of them.
    """
    counted = {hop.hop: hop for hop in hops}
    return tuple(
        sentence
        for name, config in scenario_hops(scenario).items()
        if name in counted and counted[name].in_packets
        for sentence in _check(counted[name], config)
    )


def _check(hop: HopSummary, config: Mapping[str, Any]) -> Iterator[str]:
    dropped = sum(hop.dropped.get(law, 0) for law in _LAWS)
    if config["queue"].get("ecn") is True and dropped and not hop.marked.keys() & set(_LAWS):
        yield (
            f"the queue of {hop.hop} was to mark (ecn = true) and dropped all {dropped} packets that it chose: it "
            "marks what is ECN-capable, and PIE only while it chooses up to a tenth; "
            'give a flow ecn = "classic", or a scheme that uses ECN'
        )
    if config.get("mangle") and "mangle" not in hop.marked:
        yield (
            f"the rules of {hop.hop} (mangle) changed none of its {hop.in_packets} packets: none had what they match, "
            "or all had what they set"
        )

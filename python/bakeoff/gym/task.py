"""What is observed, decided and rewarded; by default as in Aurora.

**Source.** N. Jay et al., A Deep Reinforcement Learning Perspective on Internet Congestion Control, ICML 2019, sec. 4,
and PCCproject/PCC-RL: three statistics of each monitor interval of one round trip, of the last ten intervals; the rate
is multiplied by 1 + scale * action, or divided by 1 - scale * action below zero; 10 * throughput (packets/s) - 1000 *
round trip (s) - 2000 * loss is the reward.

**Deviations.** Actions are within -1 and 1, as most learners want them, so the scale is 0.5 where Aurora's unbounded
actions have 0.025. The gradient of the round trip is a regression, as in PCC's papers. The first rate is that of the
initial window (RFC 6928).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bakeoff.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Callable

    from bakeoff.gym.intervals import Intervals, Numbers

_PACKET_BITS = 8 * 1500


@dataclass(frozen=True)
class Feature:
    """A number of each interval.

    Attributes:
        name: what it is, with its unit.
        low: smallest value; what is less counts as this.
        high: largest value; what is more counts as this.
        of: computes it for an interval of each run.
    """

    name: str
    low: float
    high: float
    of: Callable[[Intervals], Numbers]


def _send_ratio(intervals: Intervals) -> Numbers:
    acked = intervals.acked_bytes
    return np.divide(intervals.sent_bytes, acked, out=np.ones_like(acked), where=acked > 0)


AURORA = (
    Feature("round-trip gradient (s/s)", -1, 10, lambda interval: interval.rtt_gradient),
    Feature("round trip over its minimum (ratio)", 1, 10_000, lambda interval: interval.rtt_s / interval.min_rtt_s),
    Feature("sent over acknowledged (ratio)", 0, 1_000, _send_ratio),
)
"""The statistics of Aurora, in the ranges of PCC-RL."""


def aurora_reward(interval: Intervals) -> Numbers:
    """10 * throughput (packets of 1500 bytes a second) - 1000 * mean round trip (s) - 2000 * loss (ratio)."""
    packets = interval.throughput_bps / _PACKET_BITS
    return 10 * packets - 1000 * interval.rtt_s - 2000 * interval.loss


def multiply(scale: float) -> Callable[[Numbers, Numbers], Numbers]:
    """Rates from rates and actions: times 1 + scale * action, or over 1 - scale * action below zero."""

    def decide(rate_bps: Numbers, action: Numbers) -> Numbers:
        return np.where(action >= 0, rate_bps * (1 + scale * action), rate_bps / (1 - scale * np.minimum(action, 0)))

    return decide


_HALF = multiply(0.5)


@dataclass(frozen=True)
class Task:
    """What an agent sees, does and wants. Functions take and return arrays with a number a run.

    Attributes:
        features: what is observed of an interval.
        history: how many intervals are observed, the newest last.
        reward: what an interval is worth.
        decide: pacing rates (bit/s, IP headers included) from the rates before and actions within -1 and 1.
        slowest_bps: no rate is lower.
        fastest_bps: no rate is higher.
        interval_s: time between decisions; None: one smoothed round trip.
        shortest_s: no interval is shorter.
    """

    features: tuple[Feature, ...] = AURORA
    history: int = 10
    reward: Callable[[Intervals], Numbers] = aurora_reward
    decide: Callable[[Numbers, Numbers], Numbers] = _HALF
    slowest_bps: float = 1.2e5
    fastest_bps: float = 1e10
    interval_s: float | None = None
    shortest_s: float = 0.001

    def __post_init__(self) -> None:
        """Refuses what cannot be.

        Raises:
            UserError: there is nothing to observe, or a bound is on the wrong side.
        """
        if not self.features or self.history < 1:
            raise UserError("a task needs at least one feature, and a history of at least 1 interval")
        if not 0 < self.slowest_bps <= self.fastest_bps:
            raise UserError(
                f"rates from {self.slowest_bps:g} to {self.fastest_bps:g} bit/s: give 0 < slowest <= fastest"
            )
        if self.shortest_s <= 0 or (self.interval_s is not None and self.interval_s <= 0):
            raise UserError("intervals must be longer than 0 s")

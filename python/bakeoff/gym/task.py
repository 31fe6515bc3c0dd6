"""What is observed, decided and rewarded; by default as in Aurora.

**Source.** N. Jay et al., A Deep Reinforcement Learning Perspective on Internet Congestion Control, ICML 2019, sec. 4,
and PCCproject/PCC-RL at 64bea6e, whose files and names stand beside the parts: three statistics of each of the last ten
monitor intervals (`SimulatedNetworkEnv`, `history_len`), none of them scaled (`sender_obs.py`, `scale`); an interval is
half of the mean round trip of the one before (`step`, `run_dur`); the rate is multiplied by 1 + 0.025 * action, or
divided by 1 - 0.025 * action below zero (`apply_rate_delta`, `config.py` `DELTA_SCALE`).

**Deviations.** Actions are within -1 and 1, as most learners want them; PCC-RL's have no bounds, and its policy may
take larger steps. PCC-RL takes one packet off what was acknowledged before it computes throughput and sending ratio;
nothing is taken off here, as in the paper. Without an ack an interval has the round trip of the one before, not zero.
The history begins with the first interval, not with zeros; on paths of experiment files the first rate is that of the
initial window (RFC 6928); rates are 10 packets/s to 10 Gbit/s, not 40 to 1000 packets/s; an episode is a run of the
scenario, not 400 intervals.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from bakeoff.errors import UserError
from bakeoff.gym.arguments import is_count, is_number, quoted

if TYPE_CHECKING:
    from collections.abc import Callable

    from bakeoff.gym.intervals import Intervals, Numbers

# Of a packet of 1500 bytes; intervals count payload.
_PAYLOAD_BITS = 8 * 1448
# `network_sim.py`, REWARD_SCALE.
_REWARD_SCALE = 0.001
# Those of `pacing_rate` of a class in Python. The core counts whole bits: less than one is a flow without pacing.
_LEAST_BPS = 1
_MOST_BPS = 1e15
# An interval shorter than a nanosecond would leave the run where it is.
_LEAST_S = 1e-9


@dataclass(frozen=True)
class Feature:
    """A number of each interval.

    Attributes:
        name: what it is, with its unit.
        low: smallest value; what is less counts as this.
        high: largest value; what is more counts as this.
        of: computes it for an interval of each run; a ratio has to be a number where nothing was sent or acknowledged,
            too: 0/0 is none, and is refused.
    """

    name: str
    low: float
    high: float
    of: Callable[[Intervals], Numbers]

    def __post_init__(self) -> None:
        """Refuses what cannot be.

        Raises:
            UserError: the bounds are not two numbers in their order, or there is no function.
        """
        if not isinstance(self.name, str):
            raise UserError(f"name of a feature: {quoted(self.name)}; give a text")
        if not (is_number(self.low) and is_number(self.high) and self.low <= self.high):
            bounds = f"from {quoted(self.low)} to {quoted(self.high)}"
            raise UserError(f'feature "{self.name}": {bounds}; give two numbers, low <= high')
        if not callable(self.of):
            raise UserError(f'feature "{self.name}": of is {quoted(self.of)}; give a function of intervals')


def _rtt_inflation(intervals: Intervals) -> Numbers:
    return intervals.rtt_increase_s / intervals.length_s


def _rtt_ratio(intervals: Intervals) -> Numbers:
    return intervals.rtt_s / intervals.least_rtt_s


def _send_ratio(intervals: Intervals) -> Numbers:
    acked = intervals.acked_bytes
    return np.divide(intervals.sent_bytes, acked, out=np.ones_like(acked), where=acked > 0)


AURORA = (
    Feature("round-trip inflation (s/s)", -1, 10, _rtt_inflation),
    Feature("round trip over its minimum (ratio)", 1, 10_000, _rtt_ratio),
    Feature("sent over acknowledged (ratio)", 0, 1_000, _send_ratio),
)
"""The statistics of Aurora, in the ranges of PCC-RL (`sender_obs.py`: sent latency inflation, latency ratio, send
ratio).

The inflation is the round trip of the later half of the acks above that of the earlier half, over the interval: half of
the slope. The minimum is that of the intervals' means.
"""


def aurora_reward(interval: Intervals) -> Numbers:
    """A thousandth of 10 * throughput (packets/s) - 1000 * mean round trip (s) - 2000 * loss (`network_sim.py`)."""
    packets = interval.throughput_bps / _PAYLOAD_BITS
    return _REWARD_SCALE * (10 * packets - 1000 * interval.rtt_s - 2000 * interval.loss)


def _multiplied(rate_bps: Numbers, action: Numbers, *, scale: float) -> Numbers:
    return np.where(action >= 0, rate_bps * (1 + scale * action), rate_bps / (1 - scale * np.minimum(action, 0)))


def multiply(scale: float) -> Callable[[Numbers, Numbers], Numbers]:
    """Rates from rates and actions: times 1 + scale * action, or over 1 - scale * action below zero.

    Raises:
        UserError: the scale is no finite number above 0.
    """
    if not is_number(scale) or not 0 < scale < math.inf:
        raise UserError(f"scale: {quoted(scale)}; give a finite number above 0")
    return partial(_multiplied, scale=scale)


_AURORA_STEP = multiply(0.025)


@dataclass(frozen=True)
class Task:
    """What an agent sees, does and wants. Functions take and return arrays with a number a run.

    Attributes:
        features: what is observed of an interval.
        history: how many intervals are observed, the newest last.
        reward: what an interval is worth; finite.
        decide: pacing rates (bit/s, IP headers included) from the rates before and actions within -1 and 1.
        slowest_bps: no rate is lower; at least 1.
        fastest_bps: no rate is higher; at most 1e15.
        interval_s: time between decisions, at least 1e-9; None: half of the mean round trip of the interval before.
        shortest_s: no interval that follows from a round trip is shorter; `interval_s` is taken as it is.
    """

    features: tuple[Feature, ...] = AURORA
    history: int = 10
    reward: Callable[[Intervals], Numbers] = aurora_reward
    decide: Callable[[Numbers, Numbers], Numbers] = _AURORA_STEP
    slowest_bps: float = 1.2e5
    fastest_bps: float = 1e10
    interval_s: float | None = None
    shortest_s: float = 0.001

    def __post_init__(self) -> None:
        """Refuses what cannot be.

        Raises:
            UserError: there is nothing to observe, an attribute is of another kind, or a bound is on the wrong side.
        """
        self._check_kinds()
        if not _LEAST_BPS <= self.slowest_bps <= self.fastest_bps <= _MOST_BPS:
            raise UserError(
                f"rates from {quoted(self.slowest_bps)} to {quoted(self.fastest_bps)} bit/s: "
                "give 1 <= slowest_bps <= fastest_bps <= 1e15"
            )
        for name, value in (("shortest_s", self.shortest_s), ("interval_s", self.interval_s)):
            if value is not None and not value >= _LEAST_S:
                raise UserError(f"{name}: {quoted(value)}; give at least 1e-9, the step of the simulator's clock")

    def _check_kinds(self) -> None:
        features: Any = self.features
        if not isinstance(features, tuple | list) or not features or not all(isinstance(f, Feature) for f in features):
            raise UserError(f"features: {quoted(features)}; give a tuple of at least one feature")
        if not is_count(self.history):
            raise UserError(f"history: {quoted(self.history)}; give a whole number of intervals, at least 1")
        for name, given in (("reward", "intervals"), ("decide", "rates and actions")):
            if not callable(getattr(self, name)):
                raise UserError(f"{name}: {quoted(getattr(self, name))}; give a function of {given}")
        for name, unit in (("slowest_bps", "bit/s"), ("fastest_bps", "bit/s"), ("shortest_s", "s")):
            if not is_number(getattr(self, name)):
                raise UserError(f"{name}: {quoted(getattr(self, name))}; give a number of {unit}")
        if self.interval_s is not None and not is_number(self.interval_s):
            raise UserError(f"interval_s: {quoted(self.interval_s)}; give a number of s, or None")

"""What happened between two decisions, of one flow in each of several runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bakeoff import _core

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]

_COLUMNS = {name: index for index, name in enumerate(_core.INTERVAL_FIELDS)}


@dataclass(frozen=True)
class Intervals:
    """One monitor interval of each run; every property is an array with a number a run. Bytes are payload.

    Attributes:
        rows: as the core counts them.
        rtt_s: mean round-trip time; that of the last interval that had one, where nothing was acknowledged.
        least_rtt_s: the smallest that `rtt_s` has been so far.
        rate_bps: pacing rate that was decided for the interval.
    """

    rows: Numbers
    rtt_s: Numbers
    least_rtt_s: Numbers
    rate_bps: Numbers

    def _column(self, name: str) -> Numbers:
        return self.rows[:, _COLUMNS[name]]

    @property
    def end_s(self) -> Numbers:
        """When it ended, in the time of the run."""
        return self._column("start_s") + self._column("length_s")

    @property
    def length_s(self) -> Numbers:
        """How long it was; never 0."""
        return np.maximum(self._column("length_s"), 1e-9)

    @property
    def sent_bytes(self) -> Numbers:
        """Sent, retransmissions included."""
        return self._column("sent_bytes")

    @property
    def acked_bytes(self) -> Numbers:
        """Newly acknowledged."""
        return self._column("acked_bytes")

    @property
    def lost_bytes(self) -> Numbers:
        """Declared lost."""
        return self._column("lost_bytes")

    @property
    def in_flight_bytes(self) -> Numbers:
        """In flight at the end."""
        return self._column("in_flight_bytes")

    @property
    def throughput_bps(self) -> Numbers:
        """Acknowledged payload over time."""
        return 8 * self.acked_bytes / self.length_s

    @property
    def loss(self) -> Numbers:
        """What was declared lost, of all whose fate became known; 0 if nothing did."""
        return self.lost_bytes / np.maximum(self.lost_bytes + self.acked_bytes, 1)

    @property
    def rtt_gradient(self) -> Numbers:
        """Slope of the round-trip time over time, by least squares; 0 with fewer than two acks."""
        return self._column("rtt_gradient")

    @property
    def rtt_increase_s(self) -> Numbers:
        """Mean round-trip time of the later half of its acks above that of the earlier half; 0 with fewer than two."""
        return self._column("rtt_increase_s")

    @property
    def min_rtt_s(self) -> Numbers:
        """Shortest round-trip time of the connection."""
        return self._column("min_rtt_s")

    @property
    def srtt_s(self) -> Numbers:
        """Smoothed round-trip time (RFC 6298)."""
        return self._column("srtt_s")

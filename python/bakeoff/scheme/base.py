"""The class that schemes extend."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bakeoff.scheme.events import Ack, Loss, PacketLost, Restart, Sent, Setup, Timeout

INITIAL_WINDOW = 10
"""The initial window (RFC 6928), packets."""


class Scheme:
    """A congestion-control scheme. `on_ack` and `on_loss` have to be there; the rest where it is of use.

    A class need not extend this one: any with `on_ack` and `on_loss` is a scheme. It may be made with the setup or
    without, and with the `parameters` of the experiment as named arguments.

    Attributes:
        mss: payload of a full packet, bytes.
        random: random numbers of this flow; the same for the same seed.
        cwnd: congestion window, bytes: one to 2^22 `mss`, and counted in whole packets. Ten packets at first.
        pacing_rate: rate at which packets leave, IP headers included, bit/s; None if acks alone set the pace.
        ssthresh: slow-start threshold, bytes, if there is one: it is recorded.
        next_timer_s: when `on_timer` is to be called; None for never.
    """

    cwnd: float
    pacing_rate: float | None = None
    ssthresh: float | None = None
    next_timer_s: float | None = None

    def __init__(self, setup: Setup) -> None:
        self.mss = setup.mss_bytes
        self.random = setup.random
        # A class may say its window itself, as a number or a property.
        if not isinstance(getattr(type(self), "cwnd", None), (int, float, property)):
            self.cwnd = INITIAL_WINDOW * setup.mss_bytes

    def on_ack(self, ack: Ack) -> None:
        """An acknowledgement: the place where windows grow. It comes after `on_loss` of the same ack."""
        raise NotImplementedError

    def on_loss(self, loss: Loss) -> None:
        """Congestion, at most once per window of data: a loss, or the echo of an ECN mark."""
        raise NotImplementedError

    def on_timeout(self, timeout: Timeout) -> None:
        """The retransmission timer expired. Without this, the first of a window goes to `on_loss`."""

    def on_packet_lost(self, packet: PacketLost) -> None:
        """One packet is declared lost; several may be before and after one `on_loss`."""

    def on_sent(self, sent: Sent) -> None:
        """A packet leaves."""

    def on_recovered(self, now_s: float) -> None:
        """Recovery is over: all that was outstanding when it began is acknowledged."""

    def on_undo(self, now_s: float) -> None:
        """The last loss or timeout was none: what was reduced may be restored."""

    def on_restart(self, restart: Restart) -> None:
        """Data goes out while nothing is outstanding: at the beginning, and after everything had been acknowledged."""

    def on_timer(self, now_s: float) -> None:
        """The time of `next_timer_s` has come. A new one must lie ahead."""


REQUIRED = ("on_ack", "on_loss")
OPTIONAL = ("on_timeout", "on_packet_lost", "on_sent", "on_recovered", "on_undo", "on_restart", "on_timer")


def misspelt(kind: type) -> dict[str, str]:
    """Methods of a class that nothing would call, and the callback for which the name of each is nearly right."""
    known = (*REQUIRED, *OPTIONAL)
    found = {
        name: difflib.get_close_matches(name, known, 1, 0.8)
        for name in dir(kind)
        if name.startswith("on_") and name not in known and callable(getattr(kind, name))
    }
    return {name: near[0] for name, near in found.items() if near}


def has(kind: type, callback: str) -> bool:
    """Whether a class has a callback of its own."""
    found = getattr(kind, callback, None)
    return callable(found) and found is not getattr(Scheme, callback)

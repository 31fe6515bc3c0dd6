"""Linux TCP's window, Reno's law and DCTCP's, written for the callbacks of a class in Python; windows in packets.

Source: net/ipv4/tcp_cong.c, tcp_input.c (`tcp_cwnd_reduction`, `tcp_enter_loss`) and tcp_dctcp.c.
"""

from bakeoff.scheme import Ack, Loss, Scheme, Sent, Setup, Timeout

_INFINITE = 2**31 - 1


class Reno(Scheme):
    """Slow start, one packet per window, half after a loss; Proportional Rate Reduction (RFC 6937)."""

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self.window, self.threshold, self.credit, self.una = 10, _INFINITE, 0, 0
        self.prior = self.delivered = self.sent = self.most_in_flight = 0
        self.is_reducing = False
        self.before: tuple[int, int] | None = None

    def threshold_after(self, cause: str) -> int:
        """The window that remains after congestion."""
        return max(self.window // 2, 2)

    def on_sent(self, sent: Sent) -> None:
        """Counts for the reduction."""
        self.sent += 1
        self.most_in_flight = max(self.most_in_flight, sent.in_flight_bytes // self.mss)

    def on_ack(self, ack: Ack) -> None:
        """Reduces, or grows by what arrived in order."""
        acked, in_flight = ack.acked_bytes // self.mss, ack.in_flight_bytes // self.mss
        is_advance = ack.snd_una_bytes > self.una
        self.una = ack.snd_una_bytes
        if self.is_reducing and ack.state in {"cwr", "recovery"}:
            if acked:
                self._reduce(acked, in_flight, is_safe=is_advance and not ack.lost_bytes)
        elif is_advance:
            self._grow(acked, is_limited=ack.is_cwnd_limited)
        self._tell()

    def _reduce(self, acked: int, in_flight: int, *, is_safe: bool) -> None:
        self.delivered += acked
        if in_flight > self.threshold:
            packets = max(-(-self.threshold * self.delivered // self.prior) - self.sent, 0)
        else:
            packets = max(self.delivered - self.sent, acked) + is_safe
            packets = min(packets, self.threshold - in_flight)
        self.window = in_flight + max(packets, self.sent == 0)

    def _grow(self, acked: int, *, is_limited: bool) -> None:
        is_slow_start = self.window < self.threshold
        if not (is_limited or (is_slow_start and self.window < 2 * self.most_in_flight)):
            return
        if is_slow_start:
            grown = min(self.window + acked, self.threshold)
            acked -= grown - self.window
            self.window = grown
        if not acked:
            return
        if self.credit >= self.window:
            self.window, self.credit = self.window + 1, 0
        self.credit += acked
        more, self.credit = divmod(self.credit, self.window)
        self.window += more

    def on_loss(self, loss: Loss) -> None:
        """Begins a reduction; a loss that a timer found counts as a delivery (`tcp_rack_reo_timeout`)."""
        self.before = None if loss.cause == "ecn" else (self.window, self._current_threshold())
        self.prior, self.delivered, self.sent, self.credit = self.window, int(loss.is_timer), 0, 0
        self.threshold = self.threshold_after(loss.cause)
        self.is_reducing = True
        if loss.cause == "loss":
            self.window = loss.in_flight_bytes // self.mss + 1
        self._tell()

    def on_timeout(self, timeout: Timeout) -> None:
        """One packet beside what is not taken for lost."""
        if timeout.is_first:
            self.before = (self.window, self._current_threshold())
            self.threshold = self.threshold_after("timeout")
        self.is_reducing, self.credit = False, 0
        self.window = timeout.in_flight_bytes // self.mss + 1
        self._tell()

    def on_recovered(self, now_s: float) -> None:
        """The reduction has run its course."""
        if self.is_reducing:
            self.window = self.threshold
        self.is_reducing = False
        self._tell()

    def on_undo(self, now_s: float) -> None:
        """As before."""
        self.is_reducing = False
        if self.before:
            self.window, self.threshold = max(self.window, self.before[0]), max(self.threshold, self.before[1])
            self.before = None
        self._tell()

    def _current_threshold(self) -> int:
        return self.threshold if self.is_reducing else max(self.threshold, self.window // 2 + self.window // 4)

    def _tell(self) -> None:
        self.cwnd = self.window * self.mss
        self.ssthresh = None if self.threshold == _INFINITE else self.threshold * self.mss


class Dctcp(Reno):
    """An echo costs half of the share of packets that were marked, of which the ack that follows may tell more."""

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self.alpha, self.marked, self.delivered_then, self.round_end = 1024, 0, 0, 0
        self.waiting: Loss | None = None

    def on_loss(self, loss: Loss) -> None:
        """Waits for the marks of the same ack, which Linux counts first (`in_ack_event`)."""
        if loss.cause == "ecn":
            self.waiting = loss
        else:
            super().on_loss(loss)

    def on_ack(self, ack: Ack) -> None:
        """Counts marks (`dctcp_update_alpha`)."""
        self.marked += ack.marked_bytes // self.mss
        if ack.snd_una_bytes >= self.round_end:
            self.alpha -= min(self.alpha, self.alpha >> 4 or self.alpha)
            delivered = (ack.delivered_bytes - self.delivered_then) // self.mss
            self.alpha = min(self.alpha + (self.marked << 6) // max(delivered, 1), 1024)
            self.round_end, self.delivered_then, self.marked = ack.snd_nxt_bytes, ack.delivered_bytes, 0
        if self.waiting:
            super().on_loss(self.waiting)
            self.waiting = None
        super().on_ack(ack)

    def threshold_after(self, cause: str) -> int:
        """Half after a loss."""
        if cause == "ecn":
            return max(self.window - (self.window * self.alpha >> 11), 2)
        return super().threshold_after(cause)

"""Additive increase, multiplicative decrease: a scheme of one's own, in ten lines.

bakeoff run pantheon/india-ppp0-one-flow --scheme cubic,./examples/my_scheme.py:MyScheme
"""

from bakeoff.scheme import Ack, Loss, Scheme


class MyScheme(Scheme):
    """One packet more per round trip, half of the window less after a loss."""

    def on_ack(self, ack: Ack) -> None:
        """Grows by one packet per window of data."""
        self.cwnd += self.mss * ack.acked_bytes / self.cwnd

    def on_loss(self, loss: Loss) -> None:
        """Halves, at most once per window."""
        self.cwnd = max(self.cwnd / 2, 2 * self.mss)

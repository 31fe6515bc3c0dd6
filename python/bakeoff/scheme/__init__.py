"""A scheme of your own, in Python: a class with a few callbacks.

    from bakeoff.scheme import Ack, Loss, Scheme

    class Aimd(Scheme):
        def on_ack(self, ack: Ack) -> None:
            self.cwnd += self.mss * ack.acked_bytes / self.cwnd

        def on_loss(self, loss: Loss) -> None:
            self.cwnd = max(self.cwnd / 2, 2 * self.mss)

`bakeoff run EXPERIMENT --scheme ./aimd.py:Aimd` runs it. Read first: `Scheme`, then the events.
"""

from bakeoff.scheme.base import Scheme
from bakeoff.scheme.events import Ack, Loss, PacketLost, Restart, Sent, Setup, Timeout

__all__ = ["Ack", "Loss", "PacketLost", "Restart", "Scheme", "Sent", "Setup", "Timeout"]

"""What a scheme is told. Times are in seconds of the run, sizes in bytes of payload, rates in bit/s.

What is in flight, what an ack finds lost or marked, what counts from the beginning, and the delivery rate are counted
in packets and told as if each were a full one; where the application writes smaller ones they are less.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import random


class Setup(NamedTuple):
    """What a scheme is told when its flow starts.

    Attributes:
        mss_bytes: payload of a full packet.
        packet_bytes: IP size of a full packet, which pacing counts.
        random: random numbers of this flow alone; the same for the same seed.
    """

    mss_bytes: int
    packet_bytes: int
    random: random.Random


class Ack(NamedTuple):
    """An acknowledgement, after the transport has drawn its conclusions from it.

    Attributes:
        now_s: the time.
        acked_bytes: what this ack newly reports as delivered, cumulatively or selectively.
        lost_bytes: what is declared lost because of it. What timers find lost is only in `on_packet_lost`.
        in_flight_bytes: in flight now.
        rtt_s: round-trip time of the most recently sent packet that is newly acknowledged; None if none can be told.
        srtt_s: smoothed round-trip time (RFC 6298).
        min_rtt_s: shortest round-trip time of the connection.
        one_way_delay_s: of the packet that caused this ack; clocks may differ by a constant. None if not known.
        delivery_rate_bps: rate sample of payload, as BBR takes it (draft-ietf-ccwg-bbr); None if there is no valid one.
        delivered_bytes: delivered so far.
        prior_delivered_bytes: delivered when the sampled packet was sent: a round trip has passed when this reaches a
            remembered `delivered_bytes`.
        snd_una_bytes: acknowledged in order so far (SND.UNA of RFC 9293, from 0); with a duplicate ack it stays.
        snd_nxt_bytes: sent so far, repetitions left out (SND.NXT, from 0): a window of data has been acknowledged when
            `snd_una_bytes` passes a remembered one.
        marked_bytes: newly reported as marked with CE: with accurate ECN what arrived marked, which may be more than
            `acked_bytes`; with classic ECN all of an ack with an echo.
        is_app_limited: the application, not the network, limited the sender when the sampled packet was sent.
        is_cwnd_limited: the window, not the application, limited the sender in this window of data (Linux
            `is_cwnd_limited`).
        is_ecn_echo: the receiver echoes an ECN mark.
        state: congestion state: "open", "disorder", "cwr", "recovery" or "loss" (Linux `enum tcp_ca_state`).
    """

    now_s: float
    acked_bytes: int
    lost_bytes: int
    in_flight_bytes: int
    rtt_s: float | None
    srtt_s: float
    min_rtt_s: float
    one_way_delay_s: float | None
    delivery_rate_bps: float | None
    delivered_bytes: int
    prior_delivered_bytes: int
    snd_una_bytes: int
    snd_nxt_bytes: int
    marked_bytes: int
    is_app_limited: bool
    is_cwnd_limited: bool
    is_ecn_echo: bool
    state: str


class Loss(NamedTuple):
    """Congestion, at most once per window of data.

    Attributes:
        now_s: the time.
        in_flight_bytes: in flight.
        cause: "loss", "ecn" (an echo of a mark), "tail-loss" (found by a probe), or "timeout" if the scheme has no
            `on_timeout`.
        is_timer: a timer found it, so that no `on_ack` of the same ack follows.
    """

    now_s: float
    in_flight_bytes: int
    cause: str
    is_timer: bool


class PacketLost(NamedTuple):
    """One packet is declared lost.

    Attributes:
        now_s: the time.
        size_bytes: its payload.
    """

    now_s: float
    size_bytes: int


class Timeout(NamedTuple):
    """The retransmission timer expired.

    Attributes:
        now_s: the time.
        prior_in_flight_bytes: in flight before.
        in_flight_bytes: in flight that is not taken for lost.
        is_first: the first timeout of this window (RFC 5681, section 3.1), which no loss had reduced before.
    """

    now_s: float
    prior_in_flight_bytes: int
    in_flight_bytes: int
    is_first: bool


class Sent(NamedTuple):
    """A packet leaves.

    Attributes:
        now_s: the time.
        size_bytes: its payload.
        in_flight_bytes: in flight, this packet included.
        is_retransmission: the data was sent before.
    """

    now_s: float
    size_bytes: int
    in_flight_bytes: int
    is_retransmission: bool


class Restart(NamedTuple):
    """Data goes out while nothing is outstanding: at the beginning, and after everything had been acknowledged.

    Attributes:
        now_s: the time.
        idle_s: since the last packet left.
        rto_s: the current retransmission timeout.
    """

    now_s: float
    idle_s: float
    rto_s: float

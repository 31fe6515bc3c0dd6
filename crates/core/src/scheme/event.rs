//! What the transport tells a scheme.

use crate::units::{Bytes, Duration, Instant, Rate};

/// The sender's congestion state (Linux `enum tcp_ca_state`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// Nothing is wrong.
    #[default]
    Open,
    /// Acks arrive out of order, but nothing is known to be lost.
    Disorder,
    /// The window is being reduced after an ECN echo or a tail loss.
    Cwr,
    /// Lost packets are being retransmitted.
    Recovery,
    /// A retransmission timeout is being repaired.
    Loss,
}

/// What a protocol lets its sender know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Feedback {
    /// Acks are delayed and compressed, and what was sent twice is timed by a time stamp of a millisecond.
    #[default]
    Tcp,
    /// As with TCP, but every transmission is timed exactly, as QUIC's packet numbers allow.
    Numbered,
    /// Every packet is acknowledged as it arrives, with the exact time at which it was sent: datagrams over UDP.
    EveryPacket,
}

/// A connection is there; no data has been sent.
#[derive(Clone, Copy, Debug)]
pub struct Connected {
    /// Packets that may leave at once: [`super::INITIAL_WINDOW`], or one where more than one repeated request to
    /// connect was needed (RFC 5681, section 3.1; Linux `tcp_init_transfer`).
    pub initial_window: u32,
    /// The round trip of the handshake; `None` if there was none.
    pub srtt: Option<Duration>,
}

/// A packet that leaves.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// Now.
    pub now: Instant,
    /// Payload bytes.
    pub size: Bytes,
    /// True if the data was sent before.
    pub is_retransmission: bool,
    /// Packets in flight, this one included.
    pub in_flight: u32,
    /// Packets delivered so far.
    pub delivered: u64,
}

/// How fast packets were delivered while one packet was in flight (Linux `struct rate_sample`; draft-ietf-ccwg-bbr,
/// delivery rate samples).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RateSample {
    /// Packets delivered over `interval`.
    pub delivered: u64,
    /// The longer of the send interval and the ack interval; `None` if there is no valid sample.
    pub interval: Option<Duration>,
    /// Packets delivered when the sampled packet was sent: a round trip has passed when this reaches a remembered
    /// count.
    pub prior_delivered: u64,
    /// True if the application, not the network, limited the sender then.
    pub is_app_limited: bool,
    /// True if the sampled packet was a retransmission.
    pub is_retransmission: bool,
}

impl RateSample {
    /// The delivery rate in payload bits, with packets of `mss`.
    pub fn rate(&self, mss: Bytes) -> Option<Rate> {
        Rate::of(mss * self.delivered, self.interval?)
    }
}

/// What an acknowledgement reports as delivered, before the transport draws its conclusions from it (Linux `struct
/// ack_sample`).
#[derive(Clone, Copy, Debug)]
pub struct Acked {
    /// Now.
    pub now: Instant,
    /// Packets that this ack newly reports as delivered, cumulatively or selectively.
    pub newly_delivered: u32,
    /// Payload bytes of those.
    pub newly_delivered_bytes: Bytes,
    /// True if it is not one that was foreseen: it has SACK blocks, an ECN echo, or another receive window than the
    /// last (Linux `CA_ACK_SLOWPATH`).
    pub is_unforeseen: bool,
    /// Round-trip time of the most recently sent packet that was newly acknowledged and never retransmitted; where
    /// there is none, what the ack echoes: of what it acknowledges in order, or with [`Feedback::EveryPacket`] of what
    /// has just arrived.
    pub rtt: Option<Duration>,
    /// Smoothed round-trip time (RFC 6298).
    pub srtt: Duration,
    /// Sequence number of the first packet not acknowledged, in packets.
    pub first_unacked: u64,
    /// Sequence number of the next new packet, in packets.
    pub next_sequence: u64,
}

/// An acknowledgement, after the transport has drawn its conclusions from it.
#[derive(Clone, Copy, Debug)]
pub struct Ack<'a> {
    /// Now.
    pub now: Instant,
    /// Packets that this ack newly reports as delivered, cumulatively or selectively.
    pub newly_delivered: u32,
    /// Payload bytes of those.
    pub newly_delivered_bytes: Bytes,
    /// Packets declared lost because of this ack.
    pub newly_lost: u32,
    /// True if the cumulative acknowledgement moved.
    pub is_advance: bool,
    /// True if the window may grow: data was delivered in order, or reordering is known to be common (Linux
    /// `tcp_may_raise_cwnd`).
    pub may_raise_cwnd: bool,
    /// True if the window, not the application, limited the sender (Linux `tcp_is_cwnd_limited`, without its slow-start
    /// rule).
    pub is_cwnd_limited: bool,
    /// The most packets outstanding, sent and not cumulatively acknowledged, during the last window (Linux
    /// `max_packets_out`).
    pub max_packets_out: u32,
    /// Packets in flight before this ack.
    pub prior_in_flight: u32,
    /// Packets in flight now.
    pub in_flight: u32,
    /// Congestion state now.
    pub state: State,
    /// Round-trip time of the most recently sent packet that was newly acknowledged and never retransmitted; where
    /// there is none, what the ack echoes: of what it acknowledges in order, or with [`Feedback::EveryPacket`] of what
    /// has just arrived.
    pub rtt: Option<Duration>,
    /// Smoothed round-trip time (RFC 6298).
    pub srtt: Duration,
    /// Minimum round-trip time of the connection.
    pub min_rtt: Duration,
    /// True if the receiver may have held this ack back: that of a runt packet with which nothing else was delivered
    /// over its round trip (Linux `FLAG_ACK_MAYBE_DELAYED`).
    pub is_delayed: bool,
    /// One-way delay of the packet that caused this ack, as the receiver saw it. Clocks may differ by a constant.
    pub one_way_delay: Option<Duration>,
    /// Delivery rate.
    pub rate: RateSample,
    /// Packets delivered so far.
    pub delivered: u64,
    /// Sequence number of the first packet not acknowledged, in packets.
    pub first_unacked: u64,
    /// Sequence number of the next new packet, in packets.
    pub next_sequence: u64,
    /// When the pacer lets the next packet go; not after now if it may go at once (Linux `tcp_wstamp_ns`).
    pub next_departure: Instant,
    /// True if the receiver echoes an ECN mark.
    pub is_ecn_echo: bool,
    /// What [`super::Scheme::on_sent`] returned for each newly delivered packet: for its last transmission or, with
    /// [`Feedback::EveryPacket`], for the one that arrived, and also for one that arrives when another had already.
    pub packets: &'a [u64],
}

/// What an acknowledgement tells of marks, to a stream that uses ECN.
#[derive(Clone, Copy, Debug)]
pub struct EcnFeedback {
    /// Now.
    pub now: Instant,
    /// Packets that this ack newly reports as delivered.
    pub newly_delivered: u32,
    /// Packets newly reported as marked with CE; with classic ECN all that an ack with an echo delivers. An ack may
    /// report more of them than it delivers.
    pub newly_marked: u32,
    /// Packets delivered so far.
    pub delivered: u64,
    /// Packets reported as marked so far.
    pub marked: u64,
    /// True if the ack echoes that some congestion was experienced (ESCE).
    pub is_sce_echo: bool,
    /// Congestion state before this ack.
    pub state: State,
    /// Sequence number of the first packet not acknowledged, in packets.
    pub first_unacked: u64,
    /// Sequence number of the next new packet, in packets.
    pub next_sequence: u64,
}

/// Why the window is to be reduced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// A packet was lost.
    Loss,
    /// The receiver echoed an ECN mark.
    Ecn,
    /// The last packets of a flight were lost and a probe recovered them.
    TailLoss,
}

/// The transport begins to reduce the window.
#[derive(Clone, Copy, Debug)]
pub struct Congestion {
    /// Now.
    pub now: Instant,
    /// What happened.
    pub cause: Cause,
    /// Packets in flight.
    pub in_flight: u32,
    /// A timer found the loss, so no ack follows.
    pub is_timer: bool,
}

/// A packet declared lost.
#[derive(Clone, Copy, Debug)]
pub struct Lost {
    /// Now.
    pub now: Instant,
    /// Payload bytes.
    pub size: Bytes,
    /// What [`super::Scheme::on_sent`] returned for it.
    pub packet: u64,
    /// The timer that waits for reordering found it, so no ack follows.
    pub is_timer: bool,
}

/// Data goes out again after everything had been acknowledged.
#[derive(Clone, Copy, Debug)]
pub struct Restart {
    /// Now.
    pub now: Instant,
    /// Since the last packet left.
    pub idle: Duration,
    /// The current retransmission timeout.
    pub rto: Duration,
    /// The application had nothing to send; else so little may leave that every packet is alone.
    pub is_app_limited: bool,
}

/// Data goes out while nothing is in flight: after a pause, or because all of it is lost or selectively acknowledged.
#[derive(Clone, Copy, Debug)]
pub struct TxStart {
    /// Now.
    pub now: Instant,
    /// Since the last packet left.
    pub idle: Duration,
    /// Packets delivered so far.
    pub delivered: u64,
    /// The next segment that has never been sent.
    pub next_sequence: u64,
    /// The application had nothing to send; else so little may leave that every packet is alone.
    pub is_app_limited: bool,
}

/// The retransmission timer expired.
#[derive(Clone, Copy, Debug)]
pub struct Timeout {
    /// Now.
    pub now: Instant,
    /// Packets in flight before, all but the selectively acknowledged.
    pub prior_in_flight: u32,
    /// Packets in flight that are not taken for lost.
    pub in_flight: u32,
    /// The next segment that has never been sent.
    pub next_sequence: u64,
    /// True if this is the first timeout of this window, so that ssthresh is to be reduced (RFC 5681, section 3.1).
    pub is_first: bool,
}

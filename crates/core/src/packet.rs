//! What travels along a path: a header that hops and queues look at, around a payload that only endpoints understand.

use serde::Deserialize;

use crate::reason::Reason;
use crate::units::{Bytes, Duration, Instant};

/// The number of a flow, counted from zero; probes are numbered behind the flows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowId(pub u32);

/// The ECN codepoint of the IP header (RFC 3168, section 5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ecn {
    /// Not ECN-capable.
    #[default]
    NotEct,
    /// ECN-capable transport, ECT(0).
    Ect0,
    /// ECN-capable transport, ECT(1).
    Ect1,
    /// Congestion experienced.
    Ce,
}

impl Ecn {
    /// The codepoint of the last two bits of the type-of-service byte.
    pub const fn from_bits(tos: u8) -> Self {
        match tos & 3 {
            0 => Self::NotEct,
            1 => Self::Ect1,
            2 => Self::Ect0,
            _ => Self::Ce,
        }
    }

    /// The codepoint as the last two bits of the type-of-service byte.
    pub const fn bits(self) -> u8 {
        match self {
            Self::NotEct => 0,
            Self::Ect1 => 1,
            Self::Ect0 => 2,
            Self::Ce => 3,
        }
    }

    /// True if a queue may mark the packet in place of dropping it.
    pub const fn is_capable(self) -> bool {
        !matches!(self, Self::NotEct)
    }
}

/// What an endpoint sees of a packet beside its payload.
#[derive(Clone, Copy, Debug)]
pub struct Envelope {
    /// Number of the packet.
    pub number: u64,
    /// ECN codepoint, as the last hop left it.
    pub ecn: Ecn,
    /// When the other endpoint sent it.
    pub sent: Instant,
}

/// A packet on its way. `P` is the payload: a transport segment in the simulator, a buffer in the emulator.
#[derive(Clone, Copy, Debug)]
pub struct Packet<P> {
    /// The flow the packet belongs to.
    pub flow: FlowId,
    /// True if it travels from the data sender to the data receiver, or asks for an answer; false for acknowledgements
    /// and answers.
    pub is_data_direction: bool,
    /// True if it repeats data that was sent before.
    pub is_retransmission: bool,
    /// ECN codepoint, as the last hop left it.
    pub ecn: Ecn,
    /// Differentiated services codepoint, as the last hop left it (RFC 2474).
    pub dscp: u8,
    /// Size of the IP packet.
    pub size: Bytes,
    /// Counts the packets of this flow and direction from zero, retransmissions included; the answer to a probe has the
    /// number of its request.
    pub number: u64,
    /// When the endpoint sent it.
    pub sent: Instant,
    /// When it arrived at the queue it waits in.
    pub enqueued: Instant,
    /// Time spent waiting in the last queue that it left.
    pub sojourn: Duration,
    /// Why the hop that it is in, or came out of last, marked it.
    pub marked: Option<Reason>,
    /// Time spent waiting in queues so far, over all hops.
    pub queued_for: Duration,
    /// True for a copy, in the hop whose wire made it.
    pub is_copy: bool,
    /// Hops of its route that it has passed.
    pub hops_passed: u8,
    /// Where the [`PacketPool`](crate::packet_pool::PacketPool) that boxed it keeps its box; otherwise of no meaning.
    pub pool_slot: u32,
    /// What it carries.
    pub payload: P,
}

impl<P> Packet<P> {
    /// The DS field of the IP header: six bits of DSCP (RFC 2474) and two of ECN (RFC 3168).
    pub fn ds_field(&self) -> u8 {
        self.dscp << 2 | self.ecn.bits()
    }

    /// A packet that leaves its endpoint at `now`, not ECN-capable and sent for the first time.
    pub fn new(flow: FlowId, is_data_direction: bool, number: u64, size: Bytes, now: Instant, payload: P) -> Self {
        Self {
            flow,
            is_data_direction,
            is_retransmission: false,
            ecn: Ecn::NotEct,
            dscp: 0,
            size,
            number,
            sent: now,
            enqueued: now,
            sojourn: Duration::ZERO,
            marked: None,
            queued_for: Duration::ZERO,
            is_copy: false,
            hops_passed: 0,
            pool_slot: 0,
            payload,
        }
    }

    /// What the endpoint sees that the packet arrives at.
    pub fn envelope(&self) -> Envelope {
        Envelope { number: self.number, ecn: self.ecn, sent: self.sent }
    }

    /// Arrives at the queue of a hop at `now`.
    pub fn enter_hop(&mut self, now: Instant) {
        self.enqueued = now;
        self.sojourn = Duration::ZERO;
        self.marked = None;
        self.is_copy = false;
    }

    /// Leaves a queue at `now`.
    pub fn leave_queue(&mut self, now: Instant) {
        self.sojourn = now.since(self.enqueued);
        self.queued_for += self.sojourn;
    }
}

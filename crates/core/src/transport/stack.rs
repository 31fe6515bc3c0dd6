//! Transports that are not ours: a real, sans-IO protocol stack between the world and its own congestion controller.
//!
//! A stack knows datagrams and time and nothing else; a [`StackEnd`] makes an [`Endpoint`] of it, so that every world
//! can drive it as it drives our own streams. To add one, implement [`Stack`] for its two ends and list it as a
//! [`StackEntry`]; worlds are given the list by whoever starts them, because this crate and the simulator must not
//! depend on any stack.

use crate::endpoint::Endpoint;
use crate::info::{Info, Quantity};
use crate::packet::{Ecn, Envelope, FlowId, Packet};
use crate::packet_pool::PacketPool;
use crate::problem::Problem;
use crate::random::RandomStream;
use crate::units::{Bytes, Instant};

/// What an IPv4 and a UDP header add to a datagram.
pub const IP_UDP_BYTES: Bytes = Bytes::new(28);

/// A UDP payload.
pub type Datagram = Vec<u8>;

/// What the sender of a stack shows of its inner state; it leaves out what its stack does not tell.
pub const STACK_TELEMETRY: &[Quantity] = &[
    Quantity {
        name: "congestion_events",
        unit: "",
        doc: "reports of lost or marked packets to the controller, whether it reduces its window or not",
    },
    Quantity { name: "lost_packets", unit: "packets", doc: "packets that the stack took for lost" },
    Quantity { name: "mtu", unit: "bytes", doc: "largest UDP payload that the stack believes in" },
];

/// A datagram that a stack sends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outgoing {
    /// The UDP payload.
    pub datagram: Datagram,
    /// The codepoint that the stack asks for.
    pub ecn: Ecn,
}

/// What an end of a stack has done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StackStats {
    /// Payload handed to the application, in order and without repetition; of receivers.
    pub goodput: Bytes,
    /// Packets taken for lost, whose data is sent again; of senders.
    pub lost: u64,
    /// When the last byte of a finite transfer was acknowledged; of senders.
    pub completed: Option<Instant>,
}

/// An end of a stack has given its connection up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StackFailure {
    /// Since when.
    pub at: Instant,
    /// Why, in the stack's words.
    pub why: String,
}

/// The connection of a flow is gone.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("flow {flow}: its {end} lost the connection {} s into the run: {}", failure.at.as_millis() as f64 / 1e3, failure.why)]
pub struct ConnectionLost {
    /// Number of the flow from 1.
    pub flow: usize,
    /// Which end: sender or receiver.
    pub end: &'static str,
    /// Since when and why.
    pub failure: StackFailure,
}

/// One end of a connection between two applications, of which the sender's writes and the receiver's reads.
pub trait Stack: Send {
    /// A datagram arrives at `now`.
    fn accept(&mut self, datagram: &[u8], ecn: Ecn, now: Instant);

    /// A datagram to send at `now`; called until there is none, at every wake-up and after [`Stack::accept`], be it of
    /// one datagram or of all that came together. What a stack sends in one piece for the machine to cut comes as the
    /// pieces.
    fn poll(&mut self, now: Instant) -> Option<Outgoing>;

    /// When the stack's next timer is due, or it wants to send; `None` while only a datagram can change anything.
    fn next_wakeup(&self) -> Option<Instant>;

    /// Reports inner state under the names of [`crate::record::TELEMETRY`] and [`STACK_TELEMETRY`].
    fn telemetry(&self, report: &mut dyn FnMut(&'static str, f64));

    /// What it has done so far.
    fn stats(&self) -> StackStats;

    /// Why the connection is gone, once it is.
    fn failure(&self) -> Option<&StackFailure>;
}

/// What a stack is told when a flow starts.
#[derive(Debug)]
pub struct StackSetup {
    /// When the sender connects.
    pub start: Instant,
    /// The largest datagram that the path takes in one packet.
    pub largest_datagram: Bytes,
    /// What is to be transferred; `None` for as much as the connection takes, for ever.
    pub transfer: Option<Bytes>,
    /// The most that the receiver lets be outstanding; `None` for so much that it never limits.
    pub receive_window: Option<Bytes>,
    /// The connection's own random numbers.
    pub random: RandomStream,
}

/// The two ends of a connection.
pub struct StackPair {
    /// The one whose application writes.
    pub sender: Box<dyn Stack>,
    /// The one whose application reads.
    pub receiver: Box<dyn Stack>,
}

/// A stack with one of its controllers: what it says of itself, and how to open a connection.
#[derive(Clone, Copy)]
pub struct StackEntry {
    /// Name, source, telemetry; the name has the form `STACK:CONTROLLER`.
    pub info: Info,
    /// Opens a connection, or says why that cannot be.
    pub open: fn(StackSetup) -> Result<StackPair, Problem>,
}

/// An end of a stack as an endpoint of a flow.
pub struct StackEnd {
    flow: FlowId,
    is_sender: bool,
    /// Whether the host lets ECN codepoints through, both ways.
    has_ecn: bool,
    stack: Box<dyn Stack>,
    next_packet: u64,
}

impl StackEnd {
    /// The sending or receiving end of a flow. A host without ECN sends and reports no codepoint, whatever the stack
    /// asks for.
    pub fn new(flow: FlowId, is_sender: bool, has_ecn: bool, stack: Box<dyn Stack>) -> Self {
        Self { flow, is_sender, has_ecn, stack, next_packet: 0 }
    }

    /// Reports inner state; see [`Stack::telemetry`].
    pub fn telemetry(&self, report: &mut dyn FnMut(&'static str, f64)) {
        self.stack.telemetry(report);
    }

    /// What it has done so far.
    pub fn stats(&self) -> StackStats {
        self.stack.stats()
    }

    /// How the connection was lost, if this end gave it up before `stop`.
    pub fn loss_before(&self, stop: Instant) -> Option<ConnectionLost> {
        let failure = self.stack.failure().filter(|failure| failure.at < stop)?;
        let end = if self.is_sender { "sender" } else { "receiver" };
        Some(ConnectionLost { flow: self.flow.0 as usize + 1, end, failure: failure.clone() })
    }
}

impl Endpoint<Datagram> for StackEnd {
    #[inline(never)]
    fn accept(&mut self, datagram: &Datagram, envelope: Envelope, now: Instant) {
        let ecn = if self.has_ecn { envelope.ecn } else { Ecn::NotEct };
        self.stack.accept(datagram, ecn, now);
    }

    #[inline(never)]
    fn poll<Q: From<Datagram> + Default>(&mut self, now: Instant, pool: &mut PacketPool<Q>) -> Option<Box<Packet<Q>>> {
        let Outgoing { datagram, ecn } = self.stack.poll(now)?;
        let size = Bytes::new(datagram.len() as u64) + IP_UDP_BYTES;
        let packet = Packet::new(self.flow, self.is_sender, self.next_packet, size, now, datagram.into());
        let mut packet = pool.put(packet);
        self.next_packet += 1;
        packet.ecn = if self.has_ecn { ecn } else { Ecn::NotEct };
        Some(packet)
    }

    fn next_wakeup(&self) -> Option<Instant> {
        self.stack.next_wakeup()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Answers every datagram with the same, and asks for ECT(0).
    #[derive(Default)]
    struct Echo {
        waiting: Option<Outgoing>,
        heard: Option<Ecn>,
        failure: Option<StackFailure>,
    }

    impl Stack for Echo {
        fn accept(&mut self, datagram: &[u8], ecn: Ecn, _now: Instant) {
            self.heard = Some(ecn);
            self.waiting = Some(Outgoing { datagram: datagram.to_vec(), ecn: Ecn::Ect0 });
        }

        fn poll(&mut self, _now: Instant) -> Option<Outgoing> {
            self.waiting.take()
        }

        fn next_wakeup(&self) -> Option<Instant> {
            None
        }

        fn telemetry(&self, report: &mut dyn FnMut(&'static str, f64)) {
            report("mtu", self.heard.map_or(0.0, |ecn| f64::from(ecn.bits())));
        }

        fn stats(&self) -> StackStats {
            StackStats::default()
        }

        fn failure(&self) -> Option<&StackFailure> {
            self.failure.as_ref()
        }
    }

    /// The answer to a marked datagram, and the codepoint that the stack was told.
    fn answer(has_ecn: bool) -> (Box<Packet<Datagram>>, f64) {
        let mut end = StackEnd::new(FlowId(3), false, has_ecn, Box::new(Echo::default()));
        let mut packet = Packet::new(FlowId(3), true, 0, Bytes::new(1_228), Instant::ZERO, vec![7; 1_200]);
        packet.ecn = Ecn::Ce;
        end.accept(&packet.payload, packet.envelope(), Instant::ZERO);
        let answer = end.poll(Instant::ZERO, &mut PacketPool::default()).expect("it echoes");
        let mut told = 0.0;
        end.telemetry(&mut |_, value| told = value);
        (answer, told)
    }

    #[test]
    fn a_datagram_travels_with_headers_and_codepoint() {
        let (packet, told) = answer(true);
        assert_eq!((packet.size.count(), packet.number, packet.is_data_direction), (1_228, 0, false));
        assert!(packet.ecn == Ecn::Ect0 && told > 2.5, "{told}");
    }

    #[test]
    fn a_host_without_ecn_neither_marks_nor_reports() {
        let (packet, told) = answer(false);
        assert!(packet.ecn == Ecn::NotEct && told < 0.5, "{told}");
    }

    #[test]
    fn a_connection_that_ends_with_its_flow_is_not_lost() {
        let at = Instant::from_nanos(5_000_000);
        let failure = StackFailure { at, why: "timed out".to_owned() };
        let stack = Echo { failure: Some(failure.clone()), ..Echo::default() };
        let end = StackEnd::new(FlowId(3), false, true, Box::new(stack));
        assert_eq!(end.loss_before(at), None);
        let lost = end.loss_before(Instant::from_nanos(5_000_001));
        assert_eq!(lost, Some(ConnectionLost { flow: 4, end: "receiver", failure }));
    }
}

//! How the packets of a flow look as datagrams.

use bakeoff_core::packet::{FlowId, Packet};
use bakeoff_core::transport::stack::{Datagram as StackDatagram, IP_UDP_BYTES};
use bakeoff_core::transport::stream::Segment;
use bakeoff_core::units::{Bytes, Instant};

use super::codec::{Datagram, Decoder, EncodeError, MAX_HEADER_BYTES, encode};

/// Turns the packets of one end of a flow into datagrams and back.
pub trait Form {
    /// What the packets carry.
    type Payload: Default;

    /// Whether the endpoint is given all that one call took off the socket, as of one time, before it may answer. Else
    /// it may answer every packet.
    const IS_BATCHED: bool;

    /// How much of an arriving datagram it has to see.
    fn kept_bytes(&self) -> usize;

    /// Writes a packet into `datagram`, whatever that held before; the ECN codepoint is not part of it.
    fn write(&mut self, packet: &Packet<Self::Payload>, datagram: &mut Vec<u8>) -> Result<(), EncodeError>;

    /// The packet in a datagram that arrives at `now`; `None` if it is none of the flow's.
    fn read(&mut self, datagram: &Datagram<'_>, now: Instant) -> Option<Packet<Self::Payload>>;
}

/// The form of our own streams.
#[derive(Debug)]
pub struct Segments(Decoder);

impl Segments {
    pub(super) fn new(flow: FlowId) -> Self {
        Self(Decoder::new(flow))
    }
}

impl Form for Segments {
    type Payload = Segment;

    const IS_BATCHED: bool = false;

    fn kept_bytes(&self) -> usize {
        MAX_HEADER_BYTES
    }

    fn write(&mut self, packet: &Packet<Segment>, datagram: &mut Vec<u8>) -> Result<(), EncodeError> {
        encode(packet, datagram)
    }

    fn read(&mut self, datagram: &Datagram<'_>, now: Instant) -> Option<Packet<Segment>> {
        self.0.decode(datagram, now).ok()
    }
}

/// The form of a stack that is not ours: its datagrams, as they are.
#[derive(Debug)]
pub struct Datagrams {
    flow: FlowId,
    largest: usize,
}

impl Datagrams {
    /// Of a flow whose packets are at most so large.
    pub(super) fn new(flow: FlowId, largest_packet: Bytes) -> Self {
        Self { flow, largest: largest_packet.count() as usize }
    }
}

impl Form for Datagrams {
    type Payload = StackDatagram;

    /// As the drivers of stacks do (quinn's `drive_recv`): what waits on a socket came at times that nobody knows, and
    /// an answer in between would make acks that came together look as if they had come one by one.
    const IS_BATCHED: bool = true;

    fn kept_bytes(&self) -> usize {
        self.largest
    }

    fn write(&mut self, packet: &Packet<StackDatagram>, datagram: &mut Vec<u8>) -> Result<(), EncodeError> {
        datagram.clear();
        datagram.extend_from_slice(&packet.payload);
        Ok(())
    }

    /// What does not travel with a datagram, such as its number, is not read by the end of a stack either.
    fn read(&mut self, datagram: &Datagram<'_>, now: Instant) -> Option<Packet<StackDatagram>> {
        let Datagram { bytes, length, ecn } = *datagram;
        let size = Bytes::new(length as u64) + IP_UDP_BYTES;
        let packet = Packet::new(self.flow, true, 0, size, now, bytes.to_vec());
        (bytes.len() == length).then_some(Packet { ecn, ..packet })
    }
}

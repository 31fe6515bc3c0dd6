//! What the transport headers of a flow say: which data a packet carries, what an ack covers.

use std::collections::BTreeMap;

use bakeoff_core::record::Header;
use bakeoff_core::transport::stream::{Positions, answer_flags, data_flags, echo_flags, request_flags};
use bakeoff_core::units::Bytes;

use crate::log::{Protocol, TransportHeader};
use crate::udp::{Kind, Prefix, ecn_mode};

const SYN: u8 = 2;
const RST: u8 = 4;

/// The part of the data that a packet carries, in bytes from the start of the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Data {
    pub(super) start: u64,
    pub(super) end: u64,
}

/// Turns 32-bit sequence numbers into positions in the stream.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Unwrapper {
    first: Option<u32>,
    latest: u64,
}

impl Unwrapper {
    /// The position of a sequence number that is near the latest one. The first one seen is a SYN's, whose successor is
    /// position 0.
    fn position(&mut self, sequence: u32) -> u64 {
        let first = *self.first.get_or_insert(sequence);
        let distance = sequence.wrapping_sub(first).wrapping_sub(1).wrapping_sub(self.latest as u32) as i32;
        let position = self.latest.saturating_add_signed(i64::from(distance));
        self.latest = self.latest.max(position);
        position
    }
}

/// Reads the headers of one flow's packets.
#[derive(Clone, Debug, Default)]
pub(super) struct Headers {
    /// Of the segments of our own transport, which counts them and not their bytes.
    segments: Positions,
    data: Unwrapper,
    acks: Unwrapper,
}

impl Headers {
    /// The data in a packet of the sender; empty for a SYN. `None` if there is none that counts, as in a reset.
    pub(super) fn data(&mut self, header: &TransportHeader) -> Option<Data> {
        match header.protocol {
            Protocol::Tcp => self.tcp_data(header),
            Protocol::Udp => {
                let prefix = own_prefix(header)?;
                if prefix.kind != Kind::Data {
                    return Some(Data { start: 0, end: 0 });
                }
                let start = self.segments.start_of(prefix.sequence.into(), Bytes::new(prefix.detail));
                Some(Data { start, end: start + prefix.detail })
            }
            Protocol::Other => None,
        }
    }

    fn tcp_data(&mut self, header: &TransportHeader) -> Option<Data> {
        let flags = header.bytes[9];
        if flags & RST != 0 {
            return None;
        }
        if flags & SYN != 0 {
            self.data.first = Some(word(header, 0));
            self.acks.first = self.data.first;
            return Some(Data { start: 0, end: 0 });
        }
        let offset = 4 * u64::from(header.bytes[8] >> 4);
        let start = self.data.position(word(header, 0));
        Some(Data { start, end: start + u64::from(header.length).saturating_sub(offset) })
    }

    /// The position up to which a packet of the receiver acknowledges.
    pub(super) fn acknowledged(&mut self, header: &TransportHeader) -> u64 {
        match header.protocol {
            Protocol::Tcp => self.acks.position(word(header, 4)),
            Protocol::Udp => own_prefix(header)
                .filter(|prefix| prefix.kind == Kind::Ack)
                .map_or(0, |prefix| self.segments.at(prefix.sequence.into())),
            Protocol::Other => 0,
        }
    }
}

impl Headers {
    /// The header of a packet as captures show it; call for every packet, in order, after the others above.
    pub(super) fn header(&mut self, header: &TransportHeader, is_of_sender: bool) -> Option<Header> {
        match header.protocol {
            Protocol::Tcp => Some(self.tcp_header(header, is_of_sender)),
            Protocol::Udp => Some(self.own_header(own_prefix(header)?)),
            Protocol::Other => None,
        }
    }

    fn tcp_header(&mut self, header: &TransportHeader, is_of_sender: bool) -> Header {
        let flags = u16::from(header.bytes[9]) | u16::from(header.bytes[8] & 1) << 8;
        let length = u64::from(header.length).saturating_sub(4 * u64::from(header.bytes[8] >> 4));
        let is_first = flags & Header::SYN != 0;
        // What the other side sends has no positions here: it carries nothing.
        let sequence = (!is_first).then(|| if is_of_sender { self.data.position(word(header, 0)) } else { 0 });
        let acknowledged = (flags & Header::ACK != 0).then(|| match (is_of_sender, is_first) {
            (false, false) => self.acks.position(word(header, 4)),
            _ => 0,
        });
        Header { flags, sequence, payload: Bytes::new(length), acknowledged, ..Header::default() }
    }

    fn own_header(&self, prefix: Prefix) -> Header {
        let position = self.segments.at(prefix.sequence.into());
        let echoes = echo_flags(prefix.is_ecn_echo, prefix.is_sce_echo, prefix.ace);
        let ecn = ecn_mode(prefix.detail).unwrap_or_default();
        let ack = Header { flags: Header::ACK, sequence: Some(0), acknowledged: Some(0), ..Header::default() };
        match prefix.kind {
            Kind::Syn => Header { flags: Header::SYN | request_flags(ecn), ..Header::default() },
            Kind::SynAck => Header { flags: Header::SYN | Header::ACK | answer_flags(ecn), sequence: None, ..ack },
            Kind::HandshakeAck => ack,
            Kind::Data => Header {
                flags: ack.flags | data_flags(prefix.is_window_reduced, prefix.is_pushed),
                sequence: Some(position),
                payload: Bytes::new(prefix.detail),
                ..ack
            },
            Kind::Ack => Header { flags: ack.flags | echoes, acknowledged: Some(position), ..ack },
        }
    }
}

fn word(header: &TransportHeader, offset: usize) -> u32 {
    u32::from_be_bytes(std::array::from_fn(|index| header.bytes[offset + index]))
}

/// What our own transport says behind the UDP header, whose length and checksum come first in the record.
fn own_prefix(header: &TransportHeader) -> Option<Prefix> {
    Prefix::read(&header.bytes[4..]).ok()
}

/// Puts pieces together and says how far they reach without a gap.
#[derive(Clone, Debug, Default)]
pub(super) struct InOrder {
    pub(super) next: u64,
    waiting: BTreeMap<u64, u64>,
}

impl InOrder {
    pub(super) fn add(&mut self, data: Data) {
        if data.start > self.next {
            let end = self.waiting.entry(data.start).or_default();
            *end = data.end.max(*end);
            return;
        }
        self.next = self.next.max(data.end);
        while let Some(piece) = self.waiting.first_entry().filter(|piece| *piece.key() <= self.next) {
            self.next = self.next.max(piece.remove());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequence_numbers_wrap() {
        let mut unwrapper = Unwrapper { first: Some(u32::MAX - 10), latest: 0 };
        assert_eq!(unwrapper.position(u32::MAX - 9), 0);
        assert_eq!(unwrapper.position(5), 15);
        assert_eq!(unwrapper.position(u32::MAX - 9), 0);
        // Two billion bytes on from the highest, though an old one has just been there.
        let far = 5_u32.wrapping_add(i32::MAX as u32);
        assert_eq!(unwrapper.position(far), 15 + i32::MAX as u64);
    }

    /// A TCP header of 32 bytes with this sequence number, acknowledgement, ninth flag and flags, before 100 bytes of
    /// payload.
    fn tcp(sequence: u32, acknowledged: u32, has_ae: bool, flags: u8) -> TransportHeader {
        let mut bytes = [0; crate::log::TRANSPORT_BYTES];
        bytes[..4].copy_from_slice(&sequence.to_be_bytes());
        bytes[4..8].copy_from_slice(&acknowledged.to_be_bytes());
        (bytes[8], bytes[9]) = (8 << 4 | u8::from(has_ae), flags);
        TransportHeader { protocol: Protocol::Tcp, length: 132, source_port: 1, destination_port: 2, bytes }
    }

    #[test]
    fn a_tcp_header_tells_payload_and_all_nine_flags() {
        let mut headers = Headers::default();
        assert_eq!(headers.data(&tcp(1_000, 0, false, SYN)), Some(Data { start: 0, end: 0 }));
        assert_eq!(headers.data(&tcp(1_001, 0, false, 16)), Some(Data { start: 0, end: 100 }));
        assert_eq!(headers.data(&tcp(1_001, 0, false, RST)), None);
        assert_eq!(headers.acknowledged(&tcp(0, 1_101, false, 16)), 100);
        let header = headers
            .header(&tcp(1_101, 7, true, 0xd0), true)
            .map(|header| (header.flags, header.sequence, header.payload.count(), header.acknowledged));
        assert_eq!(header, Some((0x1d0, Some(100), 100, Some(0))));
        let answer =
            headers.header(&tcp(7, 1_201, false, 0x10), false).map(|header| (header.sequence, header.acknowledged));
        assert_eq!(answer, Some((Some(0), Some(200))));
    }

    #[test]
    fn what_overlaps_counts_once() {
        let mut stream = InOrder::default();
        for (start, end) in [(5, 30), (5, 10), (20, 40), (0, 7)] {
            stream.add(Data { start, end });
        }
        assert_eq!(stream.next, 40);
    }

    #[test]
    fn a_gap_holds_up_what_is_behind_it() {
        let mut stream = InOrder::default();
        stream.add(Data { start: 0, end: 10 });
        stream.add(Data { start: 20, end: 30 });
        assert_eq!(stream.next, 10);
        stream.add(Data { start: 10, end: 20 });
        assert_eq!(stream.next, 30);
    }
}

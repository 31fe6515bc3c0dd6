//! What the transport headers of a flow say: which data a packet carries, what an ack covers.

use std::collections::BTreeMap;

use crate::log::{PacketRecord, Protocol};

const SYN: u8 = 2;
const RST: u8 = 4;
const IP_HEADER: u64 = 20;

/// The part of the data that a packet carries, in bytes (TCP) or segments (UDP) from the start of the stream.
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

/// The data in a packet of a TCP sender; empty for a SYN. `None` for a reset.
pub(super) fn tcp_data(record: &PacketRecord, unwrapper: &mut Unwrapper) -> Option<Data> {
    debug_assert_eq!(record.protocol, Protocol::Tcp);
    let transport = &record.transport;
    let flags = transport[9];
    if flags & RST != 0 {
        return None;
    }
    let sequence = u32::from_be_bytes([transport[0], transport[1], transport[2], transport[3]]);
    let header = IP_HEADER + 4 * u64::from(transport[8] >> 4);
    let length = u64::from(record.size).saturating_sub(header);
    if flags & SYN != 0 {
        unwrapper.first = Some(sequence);
        return Some(Data { start: 0, end: 0 });
    }
    let start = unwrapper.position(sequence);
    Some(Data { start, end: start + length })
}

/// The position up to which a packet of a TCP receiver acknowledges, given the sender's first sequence number.
pub(super) fn tcp_ack(record: &PacketRecord, unwrapper: &mut Unwrapper) -> u64 {
    let transport = &record.transport;
    unwrapper.position(u32::from_be_bytes([transport[4], transport[5], transport[6], transport[7]]))
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

//! Segment numbers as positions in the stream, for those who look at packets.

use super::EcnMode;
use super::segment::{AckSegment, Range, Segment};
use crate::record::Header;
use crate::units::Bytes;

/// How a SYN asks for ECN (RFC 3168, section 6.1.1; RFC 9768, section 3.1.1).
pub const fn request_flags(ecn: EcnMode) -> u16 {
    match ecn {
        EcnMode::Off => 0,
        EcnMode::Classic | EcnMode::Sce => Header::CWR | Header::ECE,
        EcnMode::Accurate => Header::AE | Header::CWR | Header::ECE,
    }
}

/// How a SYN-ACK agrees to it. With accurate ECN the flags would tell the codepoint of the SYN (RFC 9768, table 2),
/// which is not known here.
pub const fn answer_flags(ecn: EcnMode) -> u16 {
    match ecn {
        EcnMode::Off | EcnMode::Accurate => 0,
        EcnMode::Classic | EcnMode::Sce => Header::ECE,
    }
}

/// What an ack echoes: marks, some congestion, and with accurate ECN the count of marks (ACE).
pub const fn echo_flags(is_ecn_echo: bool, is_sce_echo: bool, ace: u8) -> u16 {
    let count = (ace as u16) << Header::ECE.trailing_zeros();
    count | if is_ecn_echo { Header::ECE } else { 0 } | if is_sce_echo { Header::ESCE } else { 0 }
}

/// Where the segments of one flow begin.
#[derive(Clone, Debug)]
pub struct Positions {
    /// By number of the segment; the last entry is where the next new one begins.
    starts: Vec<u64>,
}

impl Default for Positions {
    fn default() -> Self {
        Self { starts: vec![0] }
    }
}

/// The flags of data beside that it acknowledges.
pub const fn data_flags(is_window_reduced: bool, is_pushed: bool) -> u16 {
    let cwr = if is_window_reduced { Header::CWR } else { 0 };
    if is_pushed { cwr | Header::PSH } else { cwr }
}

impl Positions {
    /// The header of a packet that leaves its endpoint; call for every one, in order.
    pub fn header(&mut self, segment: &Segment) -> Header {
        match *segment {
            Segment::Syn { ecn } => Header { flags: Header::SYN | request_flags(ecn), ..Header::default() },
            Segment::SynAck { ecn, .. } => {
                let flags = Header::SYN | Header::ACK | answer_flags(ecn);
                Header { flags, acknowledged: Some(0), ..Header::default() }
            }
            Segment::HandshakeAck => {
                let next = self.at(u64::MAX);
                Header { flags: Header::ACK, sequence: Some(next), acknowledged: Some(0), ..Header::default() }
            }
            Segment::Data { sequence, length, is_window_reduced, is_pushed, .. } => Header {
                flags: Header::ACK | data_flags(is_window_reduced, is_pushed),
                sequence: Some(self.start_of(sequence, length)),
                payload: length,
                acknowledged: Some(0),
                ..Header::default()
            },
            Segment::Ack(ref ack) => self.of_ack(ack),
        }
    }

    /// Where a segment of this length begins; call in the order of sending. One that is new follows the others; those
    /// between, which nobody has seen, are taken to be as long.
    pub fn start_of(&mut self, sequence: u64, length: Bytes) -> u64 {
        while self.starts.len() as u64 <= sequence + 1 {
            self.starts.push(self.at(u64::MAX) + length.count());
        }
        self.at(sequence)
    }

    /// Where a segment that has been sent begins; the end of all for one that has not.
    pub fn at(&self, sequence: u64) -> u64 {
        let known = self.starts.get(sequence as usize).or(self.starts.last());
        known.copied().unwrap_or_default()
    }

    fn of_ack(&self, ack: &AckSegment) -> Header {
        let echo = echo_flags(ack.is_ecn_echo, ack.is_sce_echo, ack.ace());
        let mut sack = [None; Header::SACK_BLOCKS];
        let told = ack.duplicate().into_iter().chain(ack.blocks());
        for (block, Range { start, end }) in sack.iter_mut().zip(told) {
            *block = Some([self.at(start), self.at(end)]);
        }
        Header {
            flags: Header::ACK | echo,
            sequence: Some(0),
            acknowledged: Some(self.at(ack.cumulative)),
            sack,
            ..Header::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::{Duration, Instant};

    fn data(sequence: u64, length: u64) -> Segment {
        let length = Bytes::new(length);
        Segment::Data { sequence, length, timestamp_echo: Instant::ZERO, is_window_reduced: false, is_pushed: false }
    }

    #[test]
    fn flags_tell_of_ecn() {
        let flags = |segment| Positions::default().header(&segment).flags;
        assert_eq!([data_flags(false, true), data_flags(true, false), data_flags(true, true)], [0x08, 0x80, 0x88]);
        let syn = |ecn| flags(Segment::Syn { ecn });
        assert_eq!([syn(EcnMode::Off), syn(EcnMode::Sce), syn(EcnMode::Accurate)], [0x002, 0x0c2, 0x1c2]);
        assert_eq!(flags(Segment::SynAck { ecn: EcnMode::Classic, timestamp_echo: Instant::ZERO }), 0x052);
        let mut ack = AckSegment::new(1, Instant::ZERO, Duration::ZERO);
        ack.set_marks(0b101, None);
        assert_eq!(flags(Segment::Ack(ack.clone())), 0x150, "five marks, as every connection begins, are AE and ECE");
        ack.set_marks(0, None);
        ack.is_sce_echo = true;
        assert_eq!(flags(Segment::Ack(ack.clone())), 0x110);
    }

    #[test]
    fn short_segments_leave_no_holes() {
        let mut positions = Positions::default();
        let starts: Vec<_> = [data(0, 1_448), data(1, 100), data(2, 1_448), data(1, 100)]
            .iter()
            .map(|segment| positions.header(segment).sequence)
            .collect();
        assert_eq!(starts, [Some(0), Some(1_448), Some(1_548), Some(1_448)], "the last is a retransmission");
        assert_eq!(positions.header(&Segment::HandshakeAck).sequence, Some(2_996), "a bare ack stands behind all");
        let mut ack = AckSegment::new(2, Instant::ZERO, Duration::ZERO);
        ack.is_ecn_echo = true;
        ack.set_blocks([Range { start: 2, end: 3 }]);
        let header = positions.header(&Segment::Ack(ack.clone()));
        assert_eq!(header.acknowledged, Some(1_548));
        assert_eq!(header.sack, [Some([1_548, 2_996]), None, None]);
        assert_eq!(header.flags, Header::ACK | Header::ECE);
    }

    #[test]
    fn segments_that_nobody_saw_are_as_long_as_the_next() {
        let mut positions = Positions::default();
        assert_eq!(positions.start_of(0, Bytes::new(1_000)), 0);
        assert_eq!(positions.start_of(3, Bytes::new(500)), 2_000);
        assert_eq!([positions.at(1), positions.at(2), positions.at(9)], [1_000, 1_500, 2_500]);
    }
}

//! What the two ends of a stream say to each other.

use super::EcnMode;
use crate::units::{Bytes, Duration, Instant};

/// SYN or SYN-ACK with its options: MSS, SACK permitted, timestamps, window scale.
pub(super) const HANDSHAKE_SIZE: Bytes = Bytes::new(60);
/// With timestamps there is room for three SACK blocks (RFC 2018, section 3).
const MAX_SACK_BLOCKS: usize = 3;
/// Kind, length and padding of the SACK option; each block adds [`SACK_BLOCK`].
const SACK_OPTION: u64 = 4;
const SACK_BLOCK: u64 = 8;
/// What is left for options beside the time stamp, and beside the counters of marks too.
const OPTION_SPACE: u64 = 28;
const OPTION_SPACE_WITH_COUNTS: u64 = OPTION_SPACE - COUNTS_OPTION.count();
/// Kind, length, three counters of bytes and padding: every packet of a stream with accurate ECN has them (RFC 9768,
/// section 3.2.3; Linux `tcp_ecn_option` = 2).
pub(super) const COUNTS_OPTION: Bytes = Bytes::new(12);

/// The round trip as a time stamp tells it, which counts whole milliseconds (`tcp_rtt_tsopt_us`): it may be less than
/// the path takes.
pub(super) fn stamped(sent: Instant, now: Instant) -> Duration {
    Duration::from_millis(now.as_millis().saturating_sub(sent.as_millis()).max(1))
}

/// Segments from `start` up to, but not including, `end`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Range {
    /// The first segment.
    pub start: u64,
    /// One past the last segment.
    pub end: u64,
}

impl Range {
    /// True if `sequence` lies inside.
    pub const fn contains(self, sequence: u64) -> bool {
        self.start <= sequence && sequence < self.end
    }

    /// True if nothing is missing between the two.
    pub(super) fn touches(self, other: Self) -> bool {
        self.start <= other.end && other.start <= self.end
    }

    /// From the first to the last of two that touch.
    pub(super) fn union(self, other: Self) -> Self {
        Self { start: self.start.min(other.start), end: self.end.max(other.end) }
    }
}

/// What a packet of a stream carries.
#[derive(Clone, Debug, Default)]
pub enum Segment {
    /// The sender asks for a connection.
    Syn {
        /// The ECN that it asks for.
        ecn: EcnMode,
    },
    /// The receiver agrees.
    SynAck {
        /// The ECN that it agrees to.
        ecn: EcnMode,
    },
    /// The sender has heard that; data follows at once.
    #[default]
    HandshakeAck,
    /// One segment of data.
    Data {
        /// Its number.
        sequence: u64,
        /// Payload.
        length: Bytes,
        /// True if the sender has reduced its window after an ECN echo (CWR).
        is_window_reduced: bool,
    },
    /// An acknowledgement.
    Ack(AckSegment),
}

/// The SACK option of an acknowledgement.
#[derive(Clone, Copy, Debug, Default)]
struct Sack {
    /// Blocks that arrived out of order, most recent first.
    blocks: [Range; MAX_SACK_BLOCKS],
    count: u8,
    /// A segment that arrived a second time (RFC 2883); it takes the place of one block.
    duplicate: Option<Range>,
}

/// An acknowledgement.
#[derive(Clone, Debug)]
pub struct AckSegment {
    /// The next segment that the receiver expects: all before it have arrived.
    pub cumulative: u64,
    /// Kept elsewhere: packets are moved often, and few of them have it.
    sack: Option<Box<Sack>>,
    /// When the segment was sent that the timestamp option echoes (RFC 7323, section 4.3).
    pub timestamp_echo: Instant,
    /// One-way delay of the segment that caused this ack.
    pub one_way_delay: Duration,
    /// True if a CE mark has arrived and the sender has not yet answered with CWR.
    pub is_ecn_echo: bool,
    /// True if the last segment carried ECT(1) that says that some congestion was experienced (ESCE).
    pub is_sce_echo: bool,
    /// Packets that arrived with CE, the low three bits (the field ACE of RFC 9768).
    pub marked_packets: u8,
    /// Payload that arrived with CE, the low 24 bits; means nothing where there is no room for it.
    pub marked_bytes: u32,
}

impl AckSegment {
    /// An ack without SACK blocks.
    pub fn new(cumulative: u64, timestamp_echo: Instant, one_way_delay: Duration) -> Self {
        Self {
            cumulative,
            sack: None,
            timestamp_echo,
            one_way_delay,
            is_ecn_echo: false,
            is_sce_echo: false,
            marked_packets: 0,
            marked_bytes: 0,
        }
    }

    /// Adds a block if there is room.
    pub fn add_block(&mut self, block: Range) {
        if self.option_blocks() < MAX_SACK_BLOCKS {
            let sack = self.sack.get_or_insert_default();
            sack.blocks[usize::from(sack.count)] = block;
            sack.count += 1;
        }
    }

    /// Tells of a segment that arrived a second time (RFC 2883), which takes the place of one block; call before adding blocks.
    pub fn set_duplicate(&mut self, duplicate: Range) {
        self.sack.get_or_insert_default().duplicate = Some(duplicate);
    }

    /// The blocks that arrived out of order, most recent first.
    pub fn blocks(&self) -> &[Range] {
        self.sack.as_ref().map_or(&[], |sack| &sack.blocks[..usize::from(sack.count)])
    }

    /// A segment that arrived a second time.
    pub fn duplicate(&self) -> Option<Range> {
        self.sack.as_ref()?.duplicate
    }

    /// True if it has blocks or tells of a duplicate.
    pub fn has_sack(&self) -> bool {
        self.sack.is_some()
    }

    fn option_blocks(&self) -> usize {
        self.blocks().len() + usize::from(self.duplicate().is_some())
    }

    /// True if the options have room for [`AckSegment::marked_bytes`].
    pub fn has_room_for_counts(&self) -> bool {
        self.option_blocks() < MAX_SACK_BLOCKS
    }

    /// IP size with `header` bytes of IP and TCP header, in which there are counters of marks or not.
    pub fn size(&self, header: Bytes, has_counts: bool) -> Bytes {
        let space = if has_counts { OPTION_SPACE_WITH_COUNTS } else { OPTION_SPACE };
        match self.option_blocks() as u64 {
            0 => header,
            blocks => header + Bytes::new((SACK_OPTION + SACK_BLOCK * blocks).min(space)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_of_marks_take_what_blocks_leave() {
        let (header, mut ack) = (Bytes::new(52), AckSegment::new(0, Instant::ZERO, Duration::ZERO));
        let mut sizes = Vec::new();
        for start in [10, 20, 30, 40] {
            let with_counts = ack.size(header + COUNTS_OPTION, true);
            sizes.push((ack.size(header, false).count(), with_counts.count(), ack.has_room_for_counts()));
            ack.add_block(Range { start, end: start + 1 });
        }
        assert_eq!(sizes, [(52, 64, true), (64, 76, true), (72, 80, true), (80, 80, false)]);
    }

    #[test]
    fn a_time_stamp_tells_whole_milliseconds() {
        let at = |micros| Instant::ZERO + Duration::from_micros(micros);
        let told = |sent, now| stamped(at(sent), at(now)).as_micros();
        assert_eq!(told(300, 10_540), 10_000, "10.24 ms");
        assert_eq!(told(800, 11_040), 11_000, "10.24 ms too");
        assert_eq!(told(100, 900), 1_000, "never none");
    }
}

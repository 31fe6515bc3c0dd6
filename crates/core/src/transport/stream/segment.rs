//! What the two ends of a stream say to each other.

use super::EcnMode;
use super::receive_window::UNBOUNDED;
use crate::units::{Bytes, Duration, Instant};

/// SYN or SYN-ACK with its options: MSS, SACK permitted, timestamps, window scale.
pub(super) const HANDSHAKE_SIZE: Bytes = Bytes::new(60);
/// With timestamps there is room for three SACK blocks (RFC 2018, section 3).
pub(super) const MAX_SACK_BLOCKS: usize = 3;
/// Kind, length and padding of the SACK option; each block adds [`SACK_BLOCK`].
const SACK_OPTION: u64 = 4;
const SACK_BLOCK: u64 = 8;
/// Counters of bytes: of ECT(1), CE and ECT(0), in this order.
pub(super) const ALL_COUNTERS: u8 = 3;
/// Kind, length, these counters and padding: every packet of a stream with accurate ECN has them that has room (RFC
/// 9768, section 3.2.3; Linux `tcp_ecn_option` = 2).
pub(super) const ACCECN_OPTION: Bytes = Bytes::new(12);
/// The same with the first two.
const ACCECN_OPTION_OF_TWO: u64 = 8;

/// A time stamp may be older by so many ticks than one that arrived before it (Linux `TCP_PAWS_WINDOW`).
const PAWS_WINDOW: u64 = 1;

/// True if a packet with this time stamp is not to be taken once the `newest` has arrived (RFC 7323, section 5;
/// `tcp_paws_check`).
pub(super) fn is_outdated(sent: Instant, newest: Instant) -> bool {
    sent.as_millis() + PAWS_WINDOW < newest.as_millis()
}

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
        /// When the first request that arrived was sent.
        timestamp_echo: Instant,
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
        /// When the newest ack was sent that the sender has had, as the timestamp option echoes it.
        timestamp_echo: Instant,
        /// True if the sender has reduced its window after an ECN echo (CWR).
        is_window_reduced: bool,
        /// True for the end of what the application writes at once (PSH).
        is_pushed: bool,
    },
    /// An acknowledgement.
    Ack(AckSegment),
}

/// A SACK block, by its distance from the cumulative number: an ack fits into a line of the cache.
#[derive(Clone, Copy, Debug, Default)]
struct Block {
    distance: i32,
    /// Zero for none.
    length: u32,
}

impl Block {
    /// That of `range` in an ack of everything before `cumulative`.
    fn of(range: Range, cumulative: u64) -> Self {
        Self { distance: range.start.wrapping_sub(cumulative) as i32, length: (range.end - range.start) as u32 }
    }

    fn range(self, cumulative: u64) -> Range {
        let start = cumulative.saturating_add_signed(self.distance.into());
        Range { start, end: start.saturating_add(self.length.into()) }
    }
}

/// An acknowledgement.
#[derive(Clone, Debug)]
pub struct AckSegment {
    /// The next segment that the receiver expects: all before it have arrived.
    pub cumulative: u64,
    /// Blocks that arrived out of order, most recent first; the empty ones last.
    blocks: [Block; MAX_SACK_BLOCKS],
    /// A segment that arrived a second time (RFC 2883); it takes the place of one block.
    duplicate: Block,
    /// When the segment was sent that the timestamp option echoes (RFC 7323, section 4.3).
    pub timestamp_echo: Instant,
    /// One-way delay of the segment that caused this ack.
    pub one_way_delay: Duration,
    /// True if a CE mark has arrived and the sender has not yet answered with CWR.
    pub is_ecn_echo: bool,
    /// True if the last segment carried ECT(1) that says that some congestion was experienced (ESCE).
    pub is_sce_echo: bool,
    /// The receive window as the header has it, scaled.
    pub window: u16,
    /// The field ACE of RFC 9768, and whether `eceb` is there.
    ace: u8,
    eceb: [u8; 3],
}

/// Bits of [`AckSegment::ace`].
const ACE: u8 = 0b111;
const HAS_ECEB: u8 = 1 << 7;

impl AckSegment {
    /// An ack without SACK blocks, and with a window that bounds nothing.
    pub fn new(cumulative: u64, timestamp_echo: Instant, one_way_delay: Duration) -> Self {
        Self {
            cumulative,
            blocks: [Block::default(); MAX_SACK_BLOCKS],
            duplicate: Block::default(),
            timestamp_echo,
            one_way_delay,
            is_ecn_echo: false,
            is_sce_echo: false,
            window: UNBOUNDED,
            ace: 0,
            eceb: [0; 3],
        }
    }

    /// Reports these blocks, as many as there is room for.
    pub fn set_blocks(&mut self, blocks: impl IntoIterator<Item = Range>) {
        let room = MAX_SACK_BLOCKS - usize::from(self.duplicate.length > 0);
        for (place, block) in self.blocks[..room].iter_mut().zip(blocks) {
            *place = Block::of(block, self.cumulative);
        }
    }

    /// Tells of a segment that arrived a second time (RFC 2883), which takes the place of one block; call before
    /// setting blocks.
    pub fn set_duplicate(&mut self, duplicate: Range) {
        self.duplicate = Block::of(duplicate, self.cumulative);
    }

    /// The blocks that arrived out of order, most recent first.
    pub fn blocks(&self) -> impl ExactSizeIterator<Item = Range> + '_ {
        self.blocks[..self.block_count()].iter().map(|block| block.range(self.cumulative))
    }

    /// The same, empty ones behind them.
    pub(super) fn all_blocks(&self) -> [Range; MAX_SACK_BLOCKS] {
        self.blocks.map(|block| block.range(self.cumulative))
    }

    /// A segment that arrived a second time.
    pub fn duplicate(&self) -> Option<Range> {
        (self.duplicate.length > 0).then(|| self.duplicate.range(self.cumulative))
    }

    /// True if it has blocks or tells of a duplicate.
    pub fn has_sack(&self) -> bool {
        self.blocks[0].length > 0 || self.duplicate.length > 0
    }

    fn block_count(&self) -> usize {
        self.blocks.iter().filter(|block| block.length > 0).count()
    }

    fn option_blocks(&self) -> usize {
        self.block_count() + usize::from(self.duplicate.length > 0)
    }

    /// Packets that arrived with CE, the low three bits (the field ACE of RFC 9768).
    pub fn ace(&self) -> u8 {
        self.ace & ACE
    }

    /// Payload that arrived with CE, the low 24 bits (the field ECEB of RFC 9768); `None` without the option of counters
    /// of bytes.
    pub fn eceb(&self) -> Option<u32> {
        let [high, middle, low] = self.eceb;
        (self.ace & HAS_ECEB > 0).then(|| u32::from_be_bytes([0, high, middle, low]))
    }

    /// Tells how many packets arrived with CE, of which the low three bits count, and how much payload, the low 24 bits.
    pub fn set_marks(&mut self, packets: u8, payload: Option<u32>) {
        let [_, high, middle, low] = payload.unwrap_or_default().to_be_bytes();
        self.ace = packets & ACE | if payload.is_some() { HAS_ECEB } else { 0 };
        self.eceb = [high, middle, low];
    }

    /// Whether the options have room for so many counters of bytes; call when all blocks are set. The last of three
    /// blocks gives way to one or two counters (`tcp_options_fit_accecn`).
    pub(super) fn makes_room_for_counters(&mut self, counters: u8) -> bool {
        match self.option_blocks() {
            0 | 1 => true,
            2 => counters < ALL_COUNTERS,
            _ if counters == 0 || counters == ALL_COUNTERS => false,
            _ => {
                let last = self.block_count() - 1;
                self.blocks[last] = Block::default();
                true
            }
        }
    }

    /// IP size with `header` bytes of IP and TCP header and the option of time stamps.
    pub fn size(&self, header: Bytes) -> Bytes {
        let blocks = self.option_blocks() as u64;
        let sack = if blocks > 0 { SACK_OPTION + SACK_BLOCK * blocks } else { 0 };
        let counters = match (self.eceb(), blocks) {
            (None, _) => 0,
            (Some(_), 0 | 1) => ACCECN_OPTION.count(),
            (Some(_), _) => ACCECN_OPTION_OF_TWO,
        };
        header + Bytes::new(sack + counters)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_of_marks_take_what_blocks_leave() {
        let (header, mut ack) = (Bytes::new(52), AckSegment::new(0, Instant::ZERO, Duration::ZERO));
        let mut sizes = Vec::new();
        for count in 1..=4 {
            let with = |counters| {
                let mut ack = ack.clone();
                let eceb = ack.makes_room_for_counters(counters).then_some(0);
                ack.set_marks(0, eceb);
                (ack.size(header).count(), ack.blocks().len(), eceb.is_some())
            };
            sizes.push((ack.size(header).count(), with(3), with(2), with(1)));
            ack.set_blocks((1..=count).map(|start| Range { start: 10 * start, end: 10 * start + 1 }));
        }
        let (none, one) = ((64, 0, true), (76, 1, true));
        assert_eq!(sizes[..2], [(52, none, none, none), (64, one, one, one)]);
        let two = (80, 2, true);
        assert_eq!(sizes[2..], [(72, (72, 2, false), two, two), (80, (80, 3, false), two, two)]);
        let mut nothing_new = ack;
        assert!(!nothing_new.makes_room_for_counters(0));
        assert_eq!(nothing_new.blocks().len(), 3);
    }

    #[test]
    fn blocks_and_duplicates_come_out_as_they_went_in_and_never_turn_around() {
        let mut ack = AckSegment::new(1 << 40, Instant::ZERO, Duration::ZERO);
        assert!(!ack.has_sack());
        let near = Range { start: (1 << 40) - 3, end: (1 << 40) - 2 };
        ack.set_duplicate(near);
        assert!(ack.has_sack());
        let block = Range { start: (1 << 40) + 7, end: (1 << 40) + 1_000_000 };
        ack.set_blocks([block]);
        assert_eq!((ack.blocks().collect::<Vec<_>>(), ack.duplicate()), (vec![block], Some(near)));
        // What no receiver says, but a damaged datagram may.
        let mut first = AckSegment::new(0, Instant::ZERO, Duration::ZERO);
        first.set_blocks([Range { start: u64::from(u32::MAX), end: u64::from(u32::MAX) + 5 }]);
        assert!(first.blocks().all(|block| block.start < block.end));
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

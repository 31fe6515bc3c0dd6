//! Explicit congestion notification: what a receiver echoes, and what a sender learns from it.
//!
//! **Source.** RFC 3168; RFC 9768 (accurate ECN) and Linux 7.3 `include/net/tcp_ecn.h` and `net/ipv4/tcp_input.c`
//! (`tcp_data_ecn_check`, `tcp_ecn_received_counters`, `__tcp_accecn_process`); draft-morton-tsvwg-sce and
//! draft-grimes-tcpm-tcpsce, with the SCE project's `net/ipv4/tcp_input.c`.
//!
//! **Deviations.** Where the handshake ends without ECN, segments keep the room for the counters of accurate ECN, and a
//! scheme that needs ECN goes on without marks (the kernel puts Reno in the place of DCTCP). A receiver repeats its
//! SYN-ACK only when it is asked again, and with the same answer.

use super::segment::{ALL_COUNTERS, AckSegment};
use crate::packet::Ecn;
use crate::units::Bytes;

/// How a stream marks its packets for ECN, and how its receiver tells of marks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EcnMode {
    /// Not ECN-capable.
    #[default]
    Off,
    /// Data is ECN-capable; one echo per window (RFC 3168).
    Classic,
    /// Every packet is ECN-capable; acks count what has arrived with CE (RFC 9768).
    Accurate,
    /// As classic; and acks tell whether the last segment carried ECT(1), which a queue made of ECT(0): some congestion
    /// was experienced.
    Sce,
}

impl EcnMode {
    /// The word in experiment files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Classic => "classic",
            Self::Accurate => "accurate",
            Self::Sce => "sce",
        }
    }

    /// What a SYN asks for after so many others: something on the path may drop those that ask for ECN (RFC 3168,
    /// section 6.1.1.1; RFC 9768, section 3.1.4.1; Linux `tcp_ecn_fallback` and `__tcp_retransmit_skb`).
    pub(super) fn asked_after(self, syns: u32) -> Self {
        let tries = if self == Self::Accurate { 2 } else { 1 };
        if syns < tries { self } else { Self::Off }
    }

    /// The codepoint of pure acks and retransmissions, which only accurate ECN makes capable (RFC 3168, section 6.1.5;
    /// RFC 9768, section 3.3.2; Linux `tcp_ecn_send`).
    pub(super) fn control(self, ect: Ect) -> Ecn {
        if self == Self::Accurate { ect.into() } else { Ecn::NotEct }
    }
}

/// The codepoint of a packet that may be marked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ect {
    /// ECT(0).
    #[default]
    Ect0,
    /// ECT(1), the L4S identifier: the congestion control is scalable (RFC 9331).
    Ect1,
}

impl From<Ect> for Ecn {
    fn from(ect: Ect) -> Self {
        match ect {
            Ect::Ect0 => Self::Ect0,
            Ect::Ect1 => Self::Ect1,
        }
    }
}

/// The counter of packets begins with this, so that zeroed bits are found out (RFC 9768, section 3.2.1).
const INITIAL_CEP: u64 = 5;
/// Three bits of the header count packets.
const ACE_MASK: u32 = 7;
/// Bits of a word that the three bytes of the option, which count bytes, do not have.
const SPARE_BITS: u32 = 8;
/// As many new CE marks as force an ack out: at most 6, or the counter might wrap (RFC 9768, section 3.2.2.5.1; Linux
/// `TCP_ACCECN_ACE_MAX_DELTA`).
const ACE_MAX_DELTA: u32 = 6;
/// Above this many packets per ack on average, it is acks that are missing (Linux `ACK_COMP_THRESH`).
const THINNED_ACKS: u32 = 4;
/// That average is in 64ths of a packet (Linux `PKTS_ACKED_PREC`), its gain is 1/64 (`PKTS_ACKED_WEIGHT`), and this its
/// limit.
const AVERAGE_SHIFT: u32 = 6;
const GAIN_SHIFT: u32 = 6;
const MOST_AVERAGE: u32 = 0xffff;

/// What the codepoint of a segment calls for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum News {
    /// Nothing.
    None,
    /// Some segments are to be acknowledged one by one.
    Quick(u32),
    /// An ack is due at once.
    Now,
}

/// The receiver's side.
#[derive(Clone, Debug)]
pub(super) struct Echo {
    mode: EcnMode,
    /// CE marks are being echoed until the sender answers (`TCP_ECN_DEMAND_CWR`).
    is_echoing: bool,
    /// Something was ECN-capable (`TCP_ECN_SEEN`).
    has_seen_ect: bool,
    /// The last segment carried ECT(1), which says that some congestion was experienced.
    is_sce: bool,
    /// Codepoint of the last segment (`prev_ecnfield`).
    last: Ecn,
    /// Packets and payload that arrived with CE (r.cep and r.ceb of RFC 9768), and packets since the last ack.
    cep: u64,
    ceb: u64,
    pending: u32,
    /// As many counters of bytes are needed to tell what has come since the last ack with any (`accecn_minlen`).
    untold: u8,
}

impl Echo {
    pub(super) fn new(mode: EcnMode) -> Self {
        Self {
            mode,
            is_echoing: false,
            has_seen_ect: false,
            is_sce: false,
            last: Ecn::NotEct,
            cep: 0,
            ceb: 0,
            pending: 0,
            untold: 0,
        }
    }

    /// True if a segment with this codepoint changes what acks tell, so that those held back are to leave before it
    /// counts.
    pub(super) fn is_turning(&self, ecn: Ecn) -> bool {
        self.mode == EcnMode::Sce && ecn != Ecn::Ce && (ecn == Ecn::Ect1) != self.is_sce
    }

    /// A segment arrived.
    pub(super) fn read(&mut self, ecn: Ecn, payload: Bytes, is_duplicate: bool) -> News {
        if self.mode == EcnMode::Off { News::None } else { self.read_codepoint(ecn, payload, is_duplicate) }
    }

    #[inline(never)]
    fn read_codepoint(&mut self, ecn: Ecn, payload: Bytes, is_duplicate: bool) -> News {
        match self.mode {
            EcnMode::Off => News::None,
            EcnMode::Accurate => self.count(ecn, payload),
            EcnMode::Classic | EcnMode::Sce if is_duplicate => News::None,
            EcnMode::Classic => self.read_classic(ecn),
            EcnMode::Sce => {
                let news = self.read_classic(ecn);
                if !self.is_turning(ecn) {
                    return news;
                }
                self.is_sce = ecn == Ecn::Ect1;
                if news == News::None { News::Quick(1) } else { news }
            }
        }
    }

    /// Starts the echo of a mark (`tcp_data_ecn_check`).
    fn read_classic(&mut self, ecn: Ecn) -> News {
        let is_news = match ecn {
            // After packets that were ECN-capable this is probably a retransmission.
            Ecn::NotEct => self.has_seen_ect,
            Ecn::Ce => {
                self.has_seen_ect = true;
                !std::mem::replace(&mut self.is_echoing, true)
            }
            Ecn::Ect0 | Ecn::Ect1 => {
                self.has_seen_ect = true;
                false
            }
        };
        // Better not delay acks, the sender's window may be very small.
        if is_news { News::Quick(2) } else { News::None }
    }

    /// Counts marks; a change of the codepoint is news, and so are many marks (`tcp_ecn_received_counters`).
    fn count(&mut self, ecn: Ecn, payload: Bytes) -> News {
        if ecn == Ecn::Ce {
            self.cep += 1;
            self.ceb += payload.count();
            self.pending += 1;
        }
        if payload > Bytes::ZERO {
            self.untold = self.untold.max(counters_up_to(ecn));
        }
        let is_edge = std::mem::replace(&mut self.last, ecn) != ecn;
        if is_edge || self.pending >= ACE_MAX_DELTA { News::Now } else { News::None }
    }

    /// The sender has reduced its window (`tcp_ecn_accept_cwr`).
    pub(super) fn on_window_reduced(&mut self) {
        self.is_echoing = false;
    }

    /// Writes what there is to tell into an ack, whose blocks are set.
    pub(super) fn write(&mut self, ack: &mut AckSegment) {
        if self.mode != EcnMode::Off {
            self.write_marks(ack);
        }
    }

    #[inline(never)]
    fn write_marks(&mut self, ack: &mut AckSegment) {
        match self.mode {
            EcnMode::Off => {}
            EcnMode::Classic => ack.is_ecn_echo = self.is_echoing,
            EcnMode::Sce => (ack.is_ecn_echo, ack.is_sce_echo) = (self.is_echoing, self.is_sce),
            EcnMode::Accurate => {
                let eceb = ack.makes_room_for_counters(self.untold).then_some(self.ceb as u32);
                if eceb.is_some() {
                    self.untold = 0;
                }
                ack.set_marks((self.cep + INITIAL_CEP) as u8, eceb);
            }
        }
    }

    pub(super) fn on_ack_sent(&mut self) {
        self.pending = 0;
    }
}

/// How many counters an option has that tells of payload with this codepoint (`tcp_ecnfield_to_accecn_optfield`).
fn counters_up_to(ecn: Ecn) -> u8 {
    match ecn {
        Ecn::NotEct => 0,
        Ecn::Ect1 => 1,
        Ecn::Ce => 2,
        Ecn::Ect0 => ALL_COUNTERS,
    }
}

/// What an ack delivers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Delivered {
    pub(super) packets: u32,
    pub(super) bytes: Bytes,
}

/// What an ack tells of marks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Marks {
    /// There is a mark to answer.
    pub(super) is_echo: bool,
    /// Packets newly reported with CE.
    pub(super) packets: u32,
}

/// A counter of payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Counter {
    Unmarked,
    Ce,
}

/// The sender's side.
#[derive(Clone, Debug, Default)]
pub(super) struct Marked {
    /// Packets and payload reported with CE (s.cep and s.ceb of RFC 9768).
    cep: u64,
    ceb: u64,
    /// Payload reported without CE, and all that was delivered.
    unmarked: u64,
    delivered: u64,
    /// The counter that grew last, if one alone did: what an ack without counters delivers is taken for its
    /// (`est_ecnfield`).
    growing: Option<Counter>,
    /// Packets per ack, in 64ths; zero before the first (`pkts_acked_ewma`).
    packets_per_ack: u32,
}

impl Marked {
    /// Packets reported with CE so far.
    pub(super) fn packets(&self) -> u64 {
        self.cep
    }

    /// Reads an ack that delivers something, or nothing.
    pub(super) fn read(&mut self, mode: EcnMode, ack: &AckSegment, delivered: Delivered, mss: Bytes) -> Marks {
        let packets = match mode {
            EcnMode::Off => return Marks::default(),
            // All that an ack with an echo delivers counts as marked (`tcp_count_delivered`).
            EcnMode::Classic | EcnMode::Sce if ack.is_ecn_echo => delivered.packets,
            EcnMode::Classic | EcnMode::Sce => 0,
            // An ack that delivers nothing may be an old one; counters lose nothing by waiting for the next.
            EcnMode::Accurate if delivered.packets == 0 => 0,
            EcnMode::Accurate => self.new_marks(ack, delivered, mss),
        };
        self.cep += u64::from(packets);
        let is_echo = if mode == EcnMode::Accurate { packets > 0 } else { ack.is_ecn_echo };
        Marks { is_echo, packets }
    }

    /// How far the counter has gone, which shows only modulo eight: the bytes decide where more is possible
    /// (`__tcp_accecn_process`; RFC 9768, section 3.2.2.5.2 and appendix A.2).
    fn new_marks(&mut self, ack: &AckSegment, delivered: Delivered, mss: Bytes) -> u32 {
        let Delivered { packets, bytes } = delivered;
        let marked_bytes = self.marked_bytes(ack, bytes.count());
        let average = self.average_with(packets);
        let known = (self.cep + INITIAL_CEP) as u32;
        let least = u32::from(ack.ace()).wrapping_sub(known) & ACE_MASK;
        if packets <= ACE_MASK {
            return least;
        }
        let most = packets - ((packets - least) & ACE_MASK);
        match marked_bytes {
            None if average > THINNED_ACKS << AVERAGE_SHIFT => least,
            None => most,
            Some(0) => least,
            Some(marked) if packets > 2 * ACE_MASK + 1 => {
                if bytes.count() <= marked {
                    return most;
                }
                let share = (marked * u64::from(packets)).div_ceil(bytes.count()) as u32;
                most.min(least + (share & !ACE_MASK))
            }
            Some(marked) if marked > mss.count() * u64::from(least) => most,
            Some(_) => least,
        }
    }

    /// By how much the counter of CE has grown, if the counters can be used (`tcp_accecn_process_option`).
    fn marked_bytes(&mut self, ack: &AckSegment, delivered: u64) -> Option<u64> {
        self.delivered += delivered;
        let Some(eceb) = ack.eceb() else {
            return self.growing.map(|counter| match counter {
                Counter::Unmarked => {
                    self.unmarked += delivered;
                    0
                }
                Counter::Ce => {
                    self.ceb += delivered;
                    delivered
                }
            });
        };
        let grown = eceb.wrapping_sub(self.ceb as u32) << SPARE_BITS;
        let marked = i64::from(grown.cast_signed() >> SPARE_BITS);
        self.ceb = self.ceb.saturating_add_signed(marked);
        let unmarked = self.delivered.saturating_sub(self.ceb);
        let others = unmarked.cast_signed() - self.unmarked.cast_signed();
        self.unmarked = unmarked;
        let before = self.growing;
        let changed = [(Counter::Unmarked, others), (Counter::Ce, marked)];
        let mut surprising = changed.iter().filter(|(counter, by)| *by != 0 && Some(*counter) != before);
        self.growing = surprising.next().map(|(counter, _)| *counter).or(before);
        let is_ambiguous = surprising.next().is_some() || marked < 0 || others < 0;
        if is_ambiguous {
            self.growing = None;
        }
        (before.is_some() && !is_ambiguous).then_some(marked.unsigned_abs())
    }

    /// The average of packets per ack with those of one more. The kernel rounds down with each, so that it grows more
    /// slowly than it falls.
    fn average_with(&mut self, packets: u32) -> u32 {
        let new = packets << AVERAGE_SHIFT;
        let average = match self.packets_per_ack {
            0 => new,
            old => ((old << GAIN_SHIFT) - old + new) >> GAIN_SHIFT,
        };
        self.packets_per_ack = average.min(MOST_AVERAGE);
        self.packets_per_ack
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::stream::Range;
    use crate::units::{Duration, Instant};

    const MSS: Bytes = Bytes::new(1_448);

    fn ack() -> AckSegment {
        AckSegment::new(0, Instant::ZERO, Duration::ZERO)
    }

    /// Both sides, with acks of so many packets each, the last of which carry CE.
    struct Pair {
        echo: Echo,
        marked: Marked,
        has_option: bool,
    }

    impl Pair {
        fn new(has_option: bool) -> Self {
            let mut pair = Self { echo: Echo::new(EcnMode::Accurate), marked: Marked::default(), has_option };
            // One without a mark: after that the counters are trusted.
            pair.exchange(1, 0);
            pair
        }

        fn exchange(&mut self, packets: u32, with_ce: u32) -> u32 {
            for number in 0..packets {
                let ecn = if number + with_ce >= packets { Ecn::Ce } else { Ecn::Ect1 };
                self.echo.read(ecn, MSS, false);
            }
            let mut ack = ack();
            self.echo.write(&mut ack);
            self.echo.on_ack_sent();
            if !self.has_option {
                ack.set_marks(ack.ace(), None);
            }
            let delivered = Delivered { packets, bytes: MSS * u64::from(packets) };
            self.marked.read(EcnMode::Accurate, &ack, delivered, MSS).packets
        }
    }

    #[test]
    fn among_blocks_there_is_room_for_the_first_two_counters_only() {
        let mut echo = Echo::new(EcnMode::Accurate);
        let mut tells = |arrived: &[Ecn], blocks: u64| {
            for ecn in arrived {
                echo.read(*ecn, MSS, false);
            }
            let mut ack = ack();
            ack.set_blocks((1..=blocks).map(|block| Range { start: 100 * block, end: 100 * block + 1 }));
            echo.write(&mut ack);
            (ack.eceb().map(|bytes| u64::from(bytes) / MSS.count()), ack.blocks().len())
        };
        assert_eq!(tells(&[Ecn::Ect0], 1), (Some(0), 1));
        assert_eq!(tells(&[Ecn::Ce], 2), (Some(1), 2));
        assert_eq!(tells(&[Ecn::Ce, Ecn::Ect0], 2), (None, 2), "the third counter has no room");
        assert_eq!(tells(&[Ecn::Ce], 2), (None, 2), "and is still to be told");
        assert_eq!(tells(&[], 1), (Some(3), 1));
        assert_eq!(tells(&[Ecn::Ect1], 3), (Some(3), 2), "a block gives way");
        assert_eq!(tells(&[Ecn::NotEct], 3), (None, 3));
    }

    #[test]
    fn the_counter_of_packets_begins_with_five_and_wraps() {
        let mut echo = Echo::new(EcnMode::Accurate);
        let counts: Vec<_> = (0..10)
            .map(|_| {
                let mut ack = ack();
                echo.write(&mut ack);
                echo.read(Ecn::Ce, MSS, false);
                ack.ace()
            })
            .collect();
        assert_eq!(counts, [5, 6, 7, 0, 1, 2, 3, 4, 5, 6]);
    }

    #[test]
    fn every_mark_is_told_once_while_acks_are_for_few_packets() {
        for has_option in [false, true] {
            let mut pair = Pair::new(has_option);
            let total: u32 = (0..1_000).map(|n| pair.exchange(1 + n % 7, n % (2 + n % 7))).sum();
            assert_eq!(u64::from(total), pair.echo.cep, "option: {has_option}");
        }
    }

    #[test]
    fn an_ack_of_many_packets_is_read_with_its_bytes() {
        for (packets, with_ce) in [(8, 8), (8, 0), (16, 9), (20, 20), (44, 12), (44, 43), (100, 64), (100, 1)] {
            assert_eq!(Pair::new(true).exchange(packets, with_ce), with_ce, "{with_ce} of {packets}");
        }
    }

    #[test]
    fn without_bytes_the_safe_side_is_that_all_were_marked() {
        // Appendix A.2.1 of RFC 9768: 9 packets, and the counter goes on by one: perhaps by nine.
        let mut pair = Pair::new(false);
        (0..100).for_each(|_| assert_eq!(pair.exchange(2, 0), 0));
        assert_eq!(pair.exchange(9, 1), 9);
        let mut thinned = Pair::new(false);
        for _ in 0..100 {
            thinned.exchange(9, 0);
        }
        assert_eq!(thinned.exchange(9, 1), 1, "unless acks are always for so many");
    }

    #[test]
    fn an_ack_without_counters_is_taken_for_what_the_last_one_with_counters_told() {
        let mut pair = Pair::new(true);
        assert_eq!(pair.exchange(2, 0), 0);
        pair.has_option = false;
        assert_eq!((0..20).map(|_| pair.exchange(9, 0)).sum::<u32>(), 0, "no wrap is suspected");
        assert_eq!(pair.exchange(9, 9), 1, "of nine marks the counter shows one");
        pair.has_option = true;
        // What is unmarked has been counted too high: that is noticed, and trusted no more.
        pair.exchange(2, 2);
        pair.has_option = false;
        assert_eq!(pair.exchange(9, 0), 8);
    }

    #[test]
    fn bytes_wrap_too() {
        let mut pair = Pair::new(true);
        (0..3_000).for_each(|_| assert_eq!(pair.exchange(20, 11), 11));
        assert!(pair.echo.ceb >= 1 << 24);
    }

    #[test]
    fn a_change_of_the_codepoint_is_acknowledged_at_once_and_so_are_many_marks() {
        let mut echo = Echo::new(EcnMode::Accurate);
        let mut read = |ecn| echo.read(ecn, MSS, false);
        assert_eq!(read(Ecn::Ect0), News::Now, "the first one");
        assert_eq!((read(Ecn::Ect0), read(Ecn::Ce), read(Ecn::Ce)), (News::None, News::Now, News::None));
        assert_eq!([(); 4].map(|()| read(Ecn::Ce)), [News::None, News::None, News::None, News::Now]);
        echo.on_ack_sent();
        assert_eq!(echo.read(Ecn::Ce, MSS, false), News::None);
        assert_eq!(echo.read(Ecn::Ect0, MSS, false), News::Now);
    }

    #[test]
    fn some_congestion_is_mirrored_segment_by_segment_beside_the_classic_echo() {
        let mut echo = Echo::new(EcnMode::Sce);
        let mut arrive = |ecn| {
            let (is_turning, news) = (echo.is_turning(ecn), echo.read(ecn, MSS, false));
            let mut ack = ack();
            echo.write(&mut ack);
            (is_turning, news, ack.is_sce_echo, ack.is_ecn_echo)
        };
        assert_eq!(arrive(Ecn::Ect0), (false, News::None, false, false));
        assert_eq!(arrive(Ecn::Ect1), (true, News::Quick(1), true, false));
        assert_eq!(arrive(Ecn::Ect1), (false, News::None, true, false));
        assert_eq!(arrive(Ecn::Ce), (false, News::Quick(2), true, true), "CE says nothing of SCE");
        assert_eq!(arrive(Ecn::Ect0), (true, News::Quick(1), false, true), "and is echoed until CWR");
    }

    #[test]
    fn a_classic_echo_counts_all_that_it_delivers() {
        let mut marked = Marked::default();
        let mut echo = ack();
        echo.is_ecn_echo = true;
        let delivered = Delivered { packets: 3, bytes: MSS * 3 };
        assert_eq!(marked.read(EcnMode::Classic, &echo, delivered, MSS), Marks { is_echo: true, packets: 3 });
        assert_eq!(marked.read(EcnMode::Classic, &ack(), delivered, MSS), Marks::default());
        assert_eq!(marked.read(EcnMode::Off, &echo, delivered, MSS), Marks::default());
        assert_eq!(marked.packets(), 3);
    }

    /// What an ack of so many packets says, after one of two, whose counter has gone on by `least`, and whose option,
    /// if it has one, tells of so many marked bytes.
    fn marks_of(packets: u32, least: u64, bytes: Option<u32>) -> u32 {
        let mut ack = ack();
        ack.set_marks((INITIAL_CEP + least) as u8, bytes);
        let delivered = Delivered { packets, bytes: MSS * u64::from(packets) };
        let mut marked = Marked { growing: bytes.map(|_| Counter::Unmarked), ..Marked::default() };
        marked.average_with(2);
        marked.read(EcnMode::Accurate, &ack, delivered, MSS).packets
    }

    #[test]
    fn marks_are_counted_as_the_kernel_counts_them() {
        // `__tcp_accecn_process`: 8 and more packets may have made the counter wrap, which only more bytes than the
        // packets have that it shows for sure tell; from 16 on their share of all bytes does.
        let cases = [
            (7, 3, None, 3),
            (9, 0, None, 8),
            (9, 1, Some(1_448), 1),
            (9, 1, Some(1_449), 9),
            (15, 0, Some(1_000), 8),
            (16, 0, Some(1_000), 0),
            (20, 0, Some(10_136), 0),
            (20, 0, Some(10_137), 8),
            (20, 1, Some(14_480), 9),
            (20, 5, Some(27_512), 13),
        ];
        for (packets, least, bytes, expected) in cases {
            assert_eq!(
                marks_of(packets, least, bytes),
                expected,
                "{packets} packets, {least} for sure, {bytes:?} bytes"
            );
        }
    }

    #[test]
    fn that_acks_are_missing_is_known_after_as_many_as_in_the_kernel() {
        // Of 9 packets each after one of 2, or of 5 after one of 1; exact arithmetic would know after 22 and 89.
        let acks_until_known = |first, then| {
            let mut marked = Marked::default();
            marked.average_with(first);
            (1..1_000).find(|_| marked.average_with(then) > THINNED_ACKS << AVERAGE_SHIFT)
        };
        assert_eq!([acks_until_known(2, 9), acks_until_known(1, 5)], [Some(24), Some(117)]);
        assert_eq!(Marked::default().average_with(2_000), MOST_AVERAGE);
    }
}

//! The receiving end of a stream.
//!
//! **Deviation.** A segment that arrives again behind many holes never makes an ack that is held back leave early
//! (`tcp_sack_new_ofo_skb`): it is reported up to a millisecond later.

use std::cmp::Ordering;
use std::hint::cold_path;

use super::ack_policy::{AckPolicy, Arrival};
use super::ecn::{Echo, News};
use super::range_set::RangeSet;
use super::receive_window::ReceiveWindow;
use super::recent_blocks::RecentBlocks;
use super::request::{Answer, Request};
use super::segment::{ACCECN_OPTION, AckSegment, HANDSHAKE_SIZE, Range, Segment, is_outdated};
use super::{AckMode, EcnMode, StreamConfig};
use crate::endpoint::Endpoint;
use crate::packet::{Ecn, Envelope, FlowId, Packet};
use crate::packet_pool::PacketPool;
use crate::scheme::Feedback;
use crate::units::{Bytes, Duration, Instant, earlier};

/// Blocks that a compressed ack can be trusted to carry even if some acks are lost (Linux `TCP_SACK_BLOCKS_EXPECTED`).
const EXPECTED_BLOCKS: usize = 2;

/// What a receiver has handed to its application.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReceiverStats {
    /// Payload in order and without repetition.
    pub goodput: Bytes,
    /// Segments that arrived a second time.
    pub duplicates: u64,
    /// Data packets that arrived with a CE mark.
    pub ce_marks: u64,
}

/// The receiving end of a stream: an [`Endpoint`] for [`Segment`]s.
#[derive(Debug)]
pub struct Receiver {
    flow: FlowId,
    config: StreamConfig,
    policy: AckPolicy,
    /// None of a program that sends datagrams, whose acks tell of packets and of no window.
    window: Option<ReceiveWindow>,
    /// More arrives at this instant, before the application has its turn.
    is_reader_held: bool,
    /// The next expected segment (`rcv_nxt`).
    next: u64,
    out_of_order: RangeSet,
    /// Segments in `out_of_order`.
    waiting: u64,
    recent: RecentBlocks,
    /// Out-of-order segments shorter than the MSS, and by how much.
    short: Vec<(u64, Bytes)>,
    duplicate: Option<Range>,
    /// Send time of the segment that the next ack echoes (`ts_recent`).
    timestamp_echo: Instant,
    one_way_delay: Duration,
    last_acked: u64,
    /// An ack that tells of less than has arrived by now.
    early: Option<AckSegment>,
    echo: Echo,
    request: Request,
    next_packet: u64,
    /// What the application has.
    pub stats: ReceiverStats,
}

impl Receiver {
    /// A receiver that waits for a connection.
    pub fn new(flow: FlowId, config: StreamConfig) -> Self {
        let window = ReceiveWindow::new(config.receive_window, config.mss, config.mss_cache(), config.waits_for());
        let is_program = config.feedback == Feedback::EveryPacket;
        let mut policy = AckPolicy::new(if is_program { AckMode::Each } else { config.acks });
        policy.set_window(window.segments());
        Self {
            flow,
            config,
            policy,
            window: (!is_program).then_some(window),
            is_reader_held: false,
            waiting: 0,
            next: 0,
            out_of_order: RangeSet::default(),
            recent: RecentBlocks::default(),
            short: Vec::new(),
            duplicate: None,
            timestamp_echo: Instant::ZERO,
            one_way_delay: Duration::ZERO,
            last_acked: 0,
            early: None,
            echo: Echo::new(config.ecn),
            request: Request::default(),
            next_packet: 0,
            stats: ReceiverStats::default(),
        }
    }

    /// The first request that arrives decides on ECN, whatever later ones ask for (`tcp_ecn_create_request`).
    #[cold]
    fn on_syn(&mut self, ecn: EcnMode, sent: Instant, now: Instant) {
        if self.request.on_syn(now) {
            self.timestamp_echo = sent;
            if ecn != self.config.ecn {
                self.config.ecn = EcnMode::Off;
                self.echo = Echo::new(EcnMode::Off);
            }
        }
    }

    /// The handshake, which ends with whatever arrives first, tells the receiver the round trip.
    fn measure_round_trip(&mut self, now: Instant) {
        if self.request.is_open() {
            cold_path();
            let rtt = self.request.confirm(now);
            self.policy.set_rtt(rtt);
            if let Some(window) = &mut self.window {
                window.on_connected(now);
            }
        }
    }

    fn on_data(&mut self, sequence: u64, length: Bytes, echo: Instant, envelope: Envelope, now: Instant) {
        let Envelope { ecn, sent, .. } = envelope;
        self.measure_round_trip(now);
        if self.policy.is_delaying() && self.echo.is_turning(ecn) {
            self.send_early();
        }
        self.one_way_delay = now.since(sent);
        self.stats.ce_marks += u64::from(ecn == Ecn::Ce);
        if self.is_outdated(sent) {
            self.discard(sequence, now);
            return;
        }
        if self.is_to_be_echoed(sequence, sent) {
            self.timestamp_echo = sent;
        }
        if let Some(window) = &mut self.window
            && length == self.config.mss
            && sequence + 1 >= self.last_acked
            && window.on_echo(echo, now)
        {
            self.policy.set_stamped_rtt(window.rtt());
        }
        let waiting = self.waiting;
        let held_back = (self.policy.holds_back() && self.is_scattered(sequence)).then(|| self.ack());
        let mut arrival = self.place(sequence, length);
        let news = self.echo.read(ecn, length, matches!(arrival, Arrival::Duplicate | Arrival::Old));
        let quick = if let News::Quick(count) = news { count } else { 0 };
        let is_wider = self.take_room(&mut arrival, waiting, now);
        match held_back {
            // The ack that leaves for it is the last one for now: the kernel thinks that this segment is reported.
            Some(ack) => {
                self.early = Some(ack);
                self.policy.on_ack_sent();
            }
            None => self.policy.on_arrival(arrival, is_wider, quick, now),
        }
        if news == News::Now {
            self.policy.acknowledge_now();
        }
        if !self.is_reader_held {
            self.read(now);
        }
    }

    /// What arrived takes room of the window, beside the `waiting` that were there; true if that widens.
    #[inline(always)]
    fn take_room(&mut self, arrival: &mut Arrival, waiting: u64, now: Instant) -> bool {
        let Some(window) = &mut self.window else { return false };
        match arrival {
            Arrival::Duplicate | Arrival::Old | Arrival::Repeated => false,
            Arrival::OutOfOrder => window.on_later(waiting, self.out_of_order.end() - self.next),
            Arrival::InOrder | Arrival::ForReader | Arrival::BeforeHole | Arrival::Closes => {
                let released = waiting - self.waiting;
                let is_wider = window.on_next(waiting, self.next - released, now);
                window.on_released(released, self.waiting);
                let is_left_to_reader = window.is_left_to_reader();
                match arrival {
                    Arrival::InOrder if is_left_to_reader => *arrival = Arrival::ForReader,
                    // More than a segment at once is acknowledged as if nothing were missing.
                    Arrival::BeforeHole if self.next - self.last_acked > 1 && !is_left_to_reader => {
                        *arrival = Arrival::Closes;
                    }
                    _ => {}
                }
                is_wider
            }
        }
    }

    /// The application takes what there is, if that is as much as it waits for.
    #[inline(always)]
    fn read(&mut self, now: Instant) {
        let unacked = if self.policy.is_due() { 0 } else { self.next - self.last_acked };
        if let Some(window) = self.window.as_mut().filter(|window| window.is_readable(unacked)) {
            window.on_read(self.next, self.out_of_order.end().saturating_sub(self.next), now);
            if self.policy.on_read(self.waiting == 0) {
                window.on_emptied(self.waiting);
            } else if !self.policy.is_due() && window.must_update(self.waiting, unacked) {
                self.policy.acknowledge_now();
            }
        }
    }

    /// True for what was overtaken by a retransmission that closed a hole: protection against wrapped sequence numbers
    /// does not take it (RFC 7323, section 5; `tcp_validate_incoming`).
    fn is_outdated(&self, sent: Instant) -> bool {
        sent < self.timestamp_echo && self.config.feedback == Feedback::Tcp && is_outdated(sent, self.timestamp_echo)
    }

    /// True for the oldest segment that the next ack covers (RFC 7323, section 4.3; `tcp_sequence`,
    /// `tcp_replace_ts_recent`).
    fn is_to_be_echoed(&self, sequence: u64, sent: Instant) -> bool {
        match self.config.feedback {
            Feedback::Tcp => {
                (sequence == self.last_acked || sequence + 1 == self.last_acked) && sent >= self.timestamp_echo
            }
            Feedback::Numbered => sequence <= self.last_acked,
            Feedback::EveryPacket => true,
        }
    }

    /// An ack tells of what is not taken (`tcp_send_dupack`).
    fn discard(&mut self, sequence: u64, now: Instant) {
        if sequence < self.next {
            self.note_duplicate(sequence);
            self.policy.on_arrival(Arrival::Old, false, 0, now);
        }
        self.policy.acknowledge_now();
    }

    /// The ack that waits leaves as if what has just arrived had not.
    #[cold]
    fn send_early(&mut self) {
        self.early = Some(self.ack());
        self.last_acked = self.next;
        self.policy.on_ack_sent();
    }

    /// Puts a segment where it belongs.
    fn place(&mut self, sequence: u64, length: Bytes) -> Arrival {
        match sequence.cmp(&self.next) {
            Ordering::Less => {
                self.note_duplicate(sequence);
                if sequence + 1 < self.last_acked { Arrival::Old } else { Arrival::Duplicate }
            }
            Ordering::Equal => self.take_next(length),
            Ordering::Greater => self.keep(sequence, length),
        }
    }

    #[cold]
    fn note_duplicate(&mut self, sequence: u64) {
        self.stats.duplicates += 1;
        self.duplicate = Some(Range { start: sequence, end: sequence + 1 });
    }

    fn take_next(&mut self, length: Bytes) -> Arrival {
        self.next += 1;
        self.stats.goodput += length;
        let had_holes = !self.out_of_order.is_empty();
        self.release();
        match (had_holes, self.out_of_order.is_empty()) {
            (false, _) => Arrival::InOrder,
            (true, true) => Arrival::Closes,
            (true, false) => Arrival::BeforeHole,
        }
    }

    /// A segment behind a hole.
    fn keep(&mut self, sequence: u64, length: Bytes) -> Arrival {
        let mut is_new = false;
        let segment = Range { start: sequence, end: sequence + 1 };
        self.out_of_order.insert(segment, |_| is_new = true);
        self.recent.add(segment);
        if !is_new {
            self.note_duplicate(sequence);
            return Arrival::Repeated;
        }
        self.waiting += 1;
        if length < self.config.mss {
            cold_path();
            self.short.push((sequence, self.config.mss - length));
        }
        Arrival::OutOfOrder
    }

    /// True for a segment behind so many holes that an ack that is held back should leave before it tells of this one
    /// too (`tcp_sack_new_ofo_skb`).
    fn is_scattered(&self, sequence: u64) -> bool {
        sequence > self.next
            && self.recent.before(Range { start: sequence, end: sequence + 1 }) >= EXPECTED_BLOCKS
            && self.out_of_order.find(sequence).is_none()
    }

    /// Hands over what has waited for the segment that has just arrived.
    fn release(&mut self) {
        let Some(waiting) = self.out_of_order.find(self.next) else { return };
        self.waiting -= waiting.end - waiting.start;
        self.next = waiting.end;
        self.out_of_order.remove_below(self.next);
        self.recent.remove_below(self.next);
        self.stats.goodput += self.config.mss * (waiting.end - waiting.start);
        let next = self.next;
        let missing = self.short.iter().filter(|(sequence, _)| *sequence < next).map(|(_, missing)| *missing).sum();
        self.stats.goodput -= missing;
        self.short.retain(|(sequence, _)| *sequence >= next);
    }

    #[inline(always)]
    fn ack(&mut self) -> AckSegment {
        let mut ack = AckSegment::new(self.next, self.timestamp_echo, self.one_way_delay);
        if let Some(duplicate) = self.duplicate.take() {
            ack.set_duplicate(duplicate);
        }
        if let Some(window) = &mut self.window {
            ack.window = window.advertise(self.next);
            if self.config.receive_window.is_some() {
                self.policy.set_window(window.segments());
            }
            if window.must_update(self.waiting, 0) {
                self.policy.acknowledge_now();
            }
        }
        ack.set_blocks(self.recent.iter());
        self.echo.write(&mut ack);
        ack
    }

    fn packet<Q: From<Segment> + Default>(&mut self, now: Instant, size: Bytes, payload: Segment) -> Packet<Q> {
        let number = self.next_packet;
        self.next_packet += 1;
        Packet::new(self.flow, false, number, size, now, payload.into())
    }
}

/// What the counters of accurate ECN take of a header (`tcp_synack_options`, `tcp_established_options`).
fn counters(ecn: EcnMode) -> Bytes {
    if ecn == EcnMode::Accurate { ACCECN_OPTION } else { Bytes::ZERO }
}

impl Endpoint<Segment> for Receiver {
    // Has registers of its own: inlined into the event loop, it takes from what sends.
    #[inline(never)]
    fn accept(&mut self, segment: &Segment, envelope: Envelope, now: Instant) {
        match *segment {
            Segment::Syn { ecn } => self.on_syn(ecn, envelope.sent, now),
            Segment::Data { sequence, length, timestamp_echo, is_window_reduced, is_pushed } => {
                if is_window_reduced {
                    // The sender's window may be so small that it waits for this ack (`tcp_ecn_accept_cwr`).
                    self.echo.on_window_reduced();
                    self.policy.acknowledge_now();
                }
                if is_pushed && sequence >= self.next && self.config.feedback == Feedback::Tcp {
                    self.policy.on_pushed();
                }
                self.on_data(sequence, length, timestamp_echo, envelope, now);
            }
            Segment::HandshakeAck => self.measure_round_trip(now),
            Segment::SynAck { .. } | Segment::Ack(_) => {}
        }
    }

    fn hold_reader(&mut self) -> bool {
        !std::mem::replace(&mut self.is_reader_held, true)
    }

    fn release_reader(&mut self, now: Instant) {
        self.is_reader_held = false;
        self.read(now);
    }

    #[inline(always)]
    fn poll<Q: From<Segment> + Default>(&mut self, now: Instant, pool: &mut PacketPool<Q>) -> Option<Box<Packet<Q>>> {
        if self.request.is_open()
            && let Some(answer) = self.request.poll(now)
        {
            let ecn = if answer == Answer::Plain { EcnMode::Off } else { self.config.ecn };
            let size = HANDSHAKE_SIZE + counters(ecn);
            let answer = Segment::SynAck { ecn, timestamp_echo: self.timestamp_echo };
            return Some(pool.put(self.packet(now, size, answer)));
        }
        let ack = match self.early.take() {
            Some(ack) => ack,
            None if self.policy.poll_ack(now) => {
                self.policy.on_ack_sent();
                self.ack()
            }
            None => return None,
        };
        self.last_acked = ack.cumulative;
        self.echo.on_ack_sent();
        let size = ack.size(self.config.header.saturating_sub(counters(self.config.ecn)));
        let mut packet = self.packet(now, size, Segment::Ack(ack));
        packet.ecn = self.config.ecn.control(self.config.ect);
        Some(pool.put(packet))
    }

    fn next_wakeup(&self) -> Option<Instant> {
        earlier(self.policy.next_wakeup(), self.request.next_wakeup())
    }

    fn is_silent_before(&self, time: Instant) -> bool {
        self.policy.is_silent_before(time)
            && self.early.is_none()
            && self.request.next_wakeup().is_none_or(|next| next >= time)
    }
}

#[cfg(test)]
mod tests {
    use super::super::receive_window::UNBOUNDED;
    use super::*;
    use crate::packet::Ecn;

    /// A receiver whose window grows no more, so that acks can be held back.
    fn receiver() -> Receiver {
        receiver_that(false)
    }

    fn receiver_that(reads_at_once: bool) -> Receiver {
        let config = StreamConfig { receive_window: Some(Bytes::new(43_440)), reads_at_once, ..StreamConfig::DEFAULT };
        let mut receiver = Receiver::new(FlowId(0), config);
        (0..44).for_each(|sequence| assert!(arrive(&mut receiver, sequence, 0).len() <= 1));
        receiver
    }

    /// A segment arrives; what the acks that it causes at once say: the cumulative number and the last one reported.
    fn arrive(receiver: &mut Receiver, sequence: u64, micros: u64) -> Vec<(u64, u64)> {
        let now = Instant::ZERO + Duration::from_micros(micros);
        let length = receiver.config.mss;
        let envelope = Envelope { number: sequence, ecn: Ecn::NotEct, sent: now };
        let data = Segment::Data {
            sequence,
            length,
            timestamp_echo: Instant::ZERO,
            is_window_reduced: false,
            is_pushed: false,
        };
        receiver.accept(&data, envelope, now);
        let (mut acks, mut pool) = (Vec::new(), PacketPool::default());
        loop {
            let is_silent = receiver.is_silent_before(now + Duration::from_nanos(1));
            let polled = receiver.poll(now, &mut pool);
            assert_eq!(is_silent, polled.is_none(), "{sequence}");
            let Some(packet) = polled else { return acks };
            let Segment::Ack(ack) = packet.payload else { continue };
            acks.push((ack.cumulative, ack.blocks().next().map_or(0, |block| block.end)));
        }
    }

    #[test]
    fn behind_many_holes_an_ack_tells_of_what_came_before() {
        let mut receiver = receiver();
        assert_eq!(arrive(&mut receiver, 46, 0), [(44, 47)]);
        assert_eq!(arrive(&mut receiver, 48, 0), [(44, 49)]);
        assert_eq!(arrive(&mut receiver, 50, 0), [(44, 51)]);
        assert_eq!(arrive(&mut receiver, 51, 0), [], "the fourth is held back");
        assert_eq!(arrive(&mut receiver, 53, 0), [(44, 52)]);
        assert_eq!(arrive(&mut receiver, 54, 0), []);
        assert_eq!(arrive(&mut receiver, 56, 0), [(44, 55)]);
    }

    #[test]
    fn a_third_block_lets_the_ack_of_what_came_before_it_go() {
        let mut receiver = receiver();
        (46..49).for_each(|sequence| assert_eq!(arrive(&mut receiver, sequence, 0).len(), 1));
        assert_eq!(arrive(&mut receiver, 49, 0), []);
        assert_eq!(arrive(&mut receiver, 51, 0), [], "one block before it");
        assert_eq!(arrive(&mut receiver, 53, 0), [(44, 52)], "two");
    }

    #[test]
    fn what_arrived_twice_is_reported_whatever_arrives_before_the_ack_leaves() {
        let mut receiver = receiver();
        (46..49).for_each(|sequence| assert_eq!(arrive(&mut receiver, sequence, 0).len(), 1));
        // A second block is one too few for an ack to leave before it (`tcp_sack_new_ofo_skb`).
        assert_eq!([49, 47, 51].map(|sequence| arrive(&mut receiver, sequence, 0).len()), [0; 3]);
        assert_eq!(receiver.ack().duplicate(), Some(Range { start: 47, end: 48 }));
    }

    #[test]
    fn a_segment_before_a_hole_counts_as_a_duplicate_ack_unless_it_releases_others() {
        for (early, uncompressed) in [(46, 2), (45, 3)] {
            let mut receiver = receiver();
            for sequence in [early, 48, 50] {
                assert_eq!(arrive(&mut receiver, sequence, 0).len(), 1);
            }
            assert_eq!(arrive(&mut receiver, 52, 0).len(), 0, "the fourth");
            assert_eq!(arrive(&mut receiver, 44, 0).len(), 1, "the edge moves");
            let at_once = (0..5).take_while(|more| !arrive(&mut receiver, 60 + 2 * more, 0).is_empty()).count();
            assert_eq!(at_once, uncompressed, "{early} was there");
        }
    }

    #[test]
    fn the_answer_to_a_request_with_accurate_ecn_counts_in_its_header() {
        let size = |ecn| {
            let mut receiver = Receiver::new(FlowId(0), StreamConfig { ecn, ..StreamConfig::DEFAULT });
            let request = Envelope { number: 0, ecn: Ecn::NotEct, sent: Instant::ZERO };
            receiver.accept(&Segment::Syn { ecn }, request, Instant::ZERO);
            receiver.poll(Instant::ZERO, &mut PacketPool::<Segment>::default()).map(|answer| answer.size.count())
        };
        assert_eq!([EcnMode::Off, EcnMode::Accurate].map(size), [Some(60), Some(72)]);
    }

    /// The window of the ack that leaves last for `sequences`, which come at once and have seen an ack of 100 ms before.
    fn window_after(receiver: &mut Receiver, sequences: impl Iterator<Item = u64>, millis: u64) -> Option<u16> {
        let now = Instant::ZERO + Duration::from_millis(millis);
        let timestamp_echo = Instant::ZERO + Duration::from_millis(millis - 100);
        let (length, mut pool, mut window) = (receiver.config.mss, PacketPool::default(), None);
        for sequence in sequences {
            let data = Segment::Data { sequence, length, timestamp_echo, is_window_reduced: false, is_pushed: false };
            receiver.accept(&data, Envelope { number: sequence, ecn: Ecn::NotEct, sent: now }, now);
            while let Some(packet) = receiver.poll(now, &mut pool) {
                if let Segment::Ack(ack) = packet.payload {
                    window = Some(ack.window);
                }
            }
        }
        window
    }

    #[test]
    fn what_is_read_before_a_hole_makes_the_buffer_grow_by_what_is_behind_it_too() {
        let told = |gap: u64| {
            let mut receiver = Receiver::new(FlowId(0), StreamConfig::DEFAULT);
            // Every round trip brings three tenths more, and the last one a hole before it is read.
            let (mut count, mut millis) = (10, 100);
            while count < 1_700 {
                count = count * 13 / 10;
                millis += 100;
                let next = receiver.next;
                window_after(&mut receiver, next..next + count, millis);
            }
            let next = receiver.next;
            window_after(&mut receiver, std::iter::once(next + 1_000 + gap), millis + 50);
            window_after(&mut receiver, next..next + 1_000, millis + 100)
        };
        assert_eq!([1, 10_000].map(told), [Some(2_592), Some(2_944)]);
    }

    /// True if a segment that is pushed is acknowledged at once.
    fn is_acked(receiver: &mut Receiver, sequence: u64) -> bool {
        let (length, timestamp_echo) = (StreamConfig::DEFAULT.mss, Instant::ZERO);
        let end = Segment::Data { sequence, length, timestamp_echo, is_window_reduced: false, is_pushed: true };
        receiver.accept(&end, Envelope { number: sequence, ecn: Ecn::NotEct, sent: Instant::ZERO }, Instant::ZERO);
        receiver.poll(Instant::ZERO, &mut PacketPool::<Segment>::default()).is_some()
    }

    #[test]
    fn what_is_pushed_and_read_is_acknowledged_unless_something_is_missing() {
        let mut receiver = receiver_that(true);
        let next = (44..46).find(|next| arrive(&mut receiver, *next, 0).len() == 1).unwrap_or_default() + 1;
        assert_eq!([0, 1].map(|more| arrive(&mut receiver, next + more, 0).len()), [0, 1], "every second segment");
        assert!(is_acked(&mut receiver, next + 2));
        (4..7).for_each(|more| assert_eq!(arrive(&mut receiver, next + more, 0).len(), 1));
        assert!(!is_acked(&mut receiver, next + 7), "the fourth is held back");
    }

    #[test]
    fn what_is_pushed_waits_for_the_reader_of_a_bulk_flow() {
        let is_acked_alone = |pushed: &u64| {
            let mut receiver = receiver();
            // A duplicate calls for quick acks, after which the other segment of each pair is acknowledged.
            arrive(&mut receiver, 43, 0);
            (44..*pushed).for_each(|sequence| _ = arrive(&mut receiver, sequence, 0));
            receiver.next == receiver.last_acked && is_acked(&mut receiver, *pushed)
        };
        // The first segment is read alone, and then every eighth.
        assert_eq!((60..90).filter(is_acked_alone).collect::<Vec<_>>(), [64, 72, 80, 88]);
    }

    #[test]
    fn an_ack_of_what_is_old_takes_no_quick_ack_away() {
        let acked = |old: u64| {
            let mut receiver = receiver();
            while receiver.last_acked < receiver.next {
                let next = receiver.next;
                arrive(&mut receiver, next, 0);
            }
            let next = receiver.next;
            arrive(&mut receiver, next - old, 0);
            (0..20).take_while(|more| arrive(&mut receiver, next + more, 0).len() == 1).count()
        };
        assert_eq!([1, 2].map(acked), [14, 15], "half a window of 30 segments");
    }

    /// A receiver of 1600 segments, whose window grows no more, and whose application has read all.
    fn full_grown() -> Receiver {
        let mut receiver = Receiver::new(FlowId(0), StreamConfig::DEFAULT);
        (0..1_600).for_each(|sequence| _ = arrive(&mut receiver, sequence, sequence * 100));
        receiver
    }

    /// Acks that leave at once when so many segments arrive at one instant, and the one that leaves when the
    /// application reads.
    fn acks_of_an_instant(segments: u64) -> (Vec<u64>, Option<u64>) {
        let mut receiver = full_grown();
        assert!(receiver.hold_reader() && !receiver.hold_reader());
        let instant = 200_000;
        let acks = (1_600..1_600 + segments).flat_map(|sequence| arrive(&mut receiver, sequence, instant));
        let at_once = acks.map(|(cumulative, _)| cumulative - 1_600).collect();
        let now = Instant::ZERO + Duration::from_micros(instant);
        receiver.release_reader(now);
        let mut pool = PacketPool::<Segment>::default();
        let read = receiver.poll(now, &mut pool).and_then(|packet| match packet.payload {
            Segment::Ack(ack) => Some(ack.cumulative - 1_600),
            _ => None,
        });
        assert!(receiver.poll(now, &mut pool).is_none());
        (at_once, read)
    }

    #[test]
    fn once_there_is_enough_to_read_the_reader_acknowledges_what_came_at_one_instant() {
        // One has been waiting for company.
        assert_eq!(acks_of_an_instant(7), (vec![1, 3, 5, 7], None));
        assert_eq!(acks_of_an_instant(8), (vec![1, 3, 5, 7], None));
        assert_eq!(acks_of_an_instant(9), (vec![1, 3, 5, 7], Some(9)));
        assert_eq!(acks_of_an_instant(13), (vec![1, 3, 5, 7], Some(13)));
    }

    #[test]
    fn an_ack_of_the_reader_tells_of_the_room_that_it_has_made() {
        let mut receiver = full_grown();
        receiver.hold_reader();
        (1_600..1_650).for_each(|sequence| _ = arrive(&mut receiver, sequence, 200_000));
        let mut full = receiver.window.expect("of a stream");
        full.on_emptied(0);
        receiver.release_reader(Instant::ZERO + Duration::from_micros(200_000));
        assert_eq!(receiver.ack().window, full.advertise(1_650));
    }

    #[test]
    fn a_reader_that_has_its_turn_late_reads_all_and_the_next_time_after_eight_more() {
        let mut receiver = full_grown();
        receiver.hold_reader();
        (1_600..1_611).for_each(|sequence| _ = arrive(&mut receiver, sequence, 200_000));
        receiver.release_reader(Instant::ZERO + Duration::from_micros(200_000));
        let is_readable = |receiver: &Receiver| receiver.window.is_some_and(|window| window.is_readable(0));
        receiver.hold_reader();
        let after = (1_611..1_700).take_while(|sequence| {
            arrive(&mut receiver, *sequence, 300_000);
            !is_readable(&receiver)
        });
        assert_eq!(after.count(), 7);
    }

    #[test]
    fn a_reader_that_has_its_turn_late_tells_of_the_room_that_it_makes() {
        let mut receiver = Receiver::new(FlowId(0), StreamConfig::DEFAULT);
        let mut pool = PacketPool::<Segment>::default();
        let mut window = |receiver: &mut Receiver| match receiver.poll(Instant::ZERO, &mut pool)?.payload {
            Segment::Ack(ack) => Some(ack.window),
            _ => None,
        };
        // Nearly all of the buffer waits behind a hole that closes.
        (1..14_000).for_each(|sequence| _ = arrive(&mut receiver, sequence, 0));
        receiver.hold_reader();
        let envelope = Envelope { number: 0, ecn: Ecn::NotEct, sent: Instant::ZERO };
        receiver.on_data(0, receiver.config.mss, Instant::ZERO, envelope, Instant::ZERO);
        assert!(window(&mut receiver).is_some_and(|window| window < 300));
        assert_eq!(window(&mut receiver), None);
        receiver.release_reader(Instant::ZERO);
        assert!(window(&mut receiver).is_some_and(|window| window > 2_000));
    }

    #[test]
    fn short_segments_count_for_what_they_carry_wherever_they_wait() {
        let mut receiver = Receiver::new(FlowId(0), StreamConfig::DEFAULT);
        let mss = StreamConfig::DEFAULT.mss;
        for (sequence, length, goodput) in [
            (1, 100, 0),
            (2, 1_448, 0),
            (0, 1_448, 2_996),
            (4, 1_448, 2_996),
            (3, 200, 4_644),
            (6, 300, 4_644),
            (5, 1, 4_945),
        ] {
            let length = Bytes::new(length).min(mss);
            receiver.place(sequence, length);
            assert_eq!(receiver.stats.goodput.count(), goodput, "{sequence}");
        }
        assert!(receiver.short.is_empty() && receiver.waiting == 0);
    }

    #[test]
    fn a_closed_hole_begins_the_count_of_uncompressed_acks_anew() {
        let mut receiver = receiver();
        (46..49).for_each(|sequence| assert_eq!(arrive(&mut receiver, sequence, 0).len(), 1));
        assert_eq!(arrive(&mut receiver, 49, 0), []);
        assert_eq!(arrive(&mut receiver, 44, 0), [(45, 50)]);
        assert_eq!(arrive(&mut receiver, 45, 0), [(50, 0)]);
        (51..54).for_each(|sequence| assert_eq!(arrive(&mut receiver, sequence, 0).len(), 1));
        assert_eq!(arrive(&mut receiver, 54, 0), []);
    }

    #[test]
    fn acks_tell_of_a_window_but_not_those_of_a_program_that_sends_datagrams() {
        let told = |feedback| {
            let mut receiver = Receiver::new(FlowId(0), StreamConfig { feedback, ..StreamConfig::DEFAULT });
            let tells_of_one = |sequence| {
                arrive(&mut receiver, sequence, 0);
                receiver.ack().window < UNBOUNDED
            };
            (0..100).any(tells_of_one)
        };
        assert_eq!([Feedback::Tcp, Feedback::EveryPacket].map(told), [true, false]);
    }

    /// Full segments in order, a millisecond apart, that an endless flow has sent, and the acks that they cause at once.
    struct Arrivals {
        receiver: Receiver,
        next: u64,
    }

    impl Arrivals {
        /// After the quick acks with which a flow begins.
        fn new(ecn: EcnMode) -> Self {
            let config = StreamConfig { ecn, receive_window: Some(Bytes::new(43_440)), ..StreamConfig::DEFAULT };
            let mut arrivals = Self { receiver: Receiver::new(FlowId(0), config), next: 0 };
            while arrivals.next < 41 {
                arrivals.arrive(Ecn::Ect0, false);
            }
            arrivals
        }

        /// The echo of the ack that a segment causes.
        fn arrive(&mut self, ecn: Ecn, is_window_reduced: bool) -> Option<bool> {
            self.acks(ecn, is_window_reduced).first().map(|ack| ack.is_ecn_echo)
        }

        fn acks(&mut self, ecn: Ecn, is_window_reduced: bool) -> Vec<AckSegment> {
            let now = Instant::ZERO + Duration::from_millis(self.next);
            let (sequence, length) = (self.next, StreamConfig::DEFAULT.mss);
            let timestamp_echo = Instant::ZERO;
            let data = Segment::Data { sequence, length, timestamp_echo, is_window_reduced, is_pushed: false };
            self.receiver.accept(&data, Envelope { number: self.next, ecn, sent: now }, now);
            self.next += 1;
            let mut pool = PacketPool::default();
            let polled = std::iter::from_fn(|| self.receiver.poll(now, &mut pool));
            polled.filter_map(|ack| if let Segment::Ack(ack) = ack.payload { Some(ack) } else { None }).collect()
        }
    }

    #[test]
    fn a_mark_is_echoed_at_once_and_until_the_window_is_reduced() {
        let mut arrivals = Arrivals::new(EcnMode::Classic);
        assert_eq!([(); 2].map(|()| arrivals.arrive(Ecn::Ect0, false)), [None, Some(false)]);
        assert_eq!(arrivals.arrive(Ecn::Ce, false), Some(true), "two quick acks");
        assert_eq!(arrivals.arrive(Ecn::Ect0, false), Some(true));
        assert_eq!([(); 2].map(|()| arrivals.arrive(Ecn::Ce, false)), [None, Some(true)], "the second mark is no news");
        assert_eq!(arrivals.arrive(Ecn::Ect0, true), Some(false), "the answer is acknowledged at once");
        assert_eq!(arrivals.arrive(Ecn::Ce, true), Some(true), "and a mark on it is news");
    }

    #[test]
    fn an_ack_that_waits_leaves_before_what_changes_the_word_of_some_congestion() {
        let mut arrivals = Arrivals::new(EcnMode::Sce);
        let mut told =
            |ecn| arrivals.acks(ecn, false).iter().map(|ack| (ack.cumulative, ack.is_sce_echo)).collect::<Vec<_>>();
        assert_eq!([Ecn::Ect0, Ecn::Ect1].map(&mut told), [vec![], vec![(42, false), (43, true)]]);
        assert_eq!([Ecn::Ect1, Ecn::Ect0].map(&mut told), [vec![], vec![(44, true), (45, false)]]);
    }

    #[test]
    fn with_accurate_ecn_the_first_mark_is_told_at_once_and_the_second_with_the_next_ack() {
        let mut arrivals = Arrivals::new(EcnMode::Accurate);
        let mut told =
            |ecn| arrivals.acks(ecn, false).iter().map(|ack| (ack.cumulative, ack.ace())).collect::<Vec<_>>();
        // The counter begins with 5, and only a change of the codepoint is news (RFC 9768, section 3.2.2.5.1).
        assert_eq!([Ecn::Ce, Ecn::Ce, Ecn::Ect0].map(&mut told), [vec![(42, 6)], vec![], vec![(44, 7)]]);
    }

    #[test]
    fn what_is_not_capable_among_capable_packets_is_acknowledged_quickly() {
        let mut arrivals = Arrivals::new(EcnMode::Classic);
        assert_eq!(arrivals.arrive(Ecn::NotEct, false), Some(false));
        assert_eq!(arrivals.arrive(Ecn::Ect0, false), Some(false));
        assert_eq!([(); 2].map(|()| arrivals.arrive(Ecn::Ect0, false)), [None, Some(false)]);
    }
}

//! The receiving end of a stream.

use super::ack_policy::{AckPolicy, Arrival};
use super::range_set::RangeSet;
use super::segment::{AckSegment, HANDSHAKE_SIZE, Range, Segment};
use super::{EcnMode, StreamConfig};
use crate::endpoint::Endpoint;
use crate::packet::{Ecn, FlowId, Packet};
use crate::units::{Bytes, Duration, Instant};

/// Recently arrived out-of-order segments whose blocks are reported, most recent first (Linux keeps four).
const RECENT: usize = 4;
/// The receive window in the end, of a receiver with a buffer of 32 MiB; full packets of 1500 bytes take 2304 in it.
const DEFAULT_WINDOW: Bytes = Bytes::new(21_225_000);
/// The last part of it, which is granted step by step.
const GROWTH_PERMILLE: u64 = 212;
/// The time stamp, which counts as payload in the announced MSS.
const TIMESTAMP_OPTION: Bytes = Bytes::new(12);
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
    /// The next expected segment (`rcv_nxt`).
    next: u64,
    out_of_order: RangeSet,
    recent: [Option<u64>; RECENT],
    /// Out-of-order segments shorter than the MSS, and by how much.
    short: Vec<(u64, Bytes)>,
    duplicate: Option<Range>,
    /// Send time of the segment that the next ack echoes (`ts_recent`).
    timestamp_echo: Instant,
    one_way_delay: Duration,
    last_acked: u64,
    is_echoing_mark: bool,
    /// A SYN-ACK is to be sent, or was sent at this time.
    answer_syn: bool,
    answered_syn: Option<Instant>,
    next_packet: u64,
    /// What the application has.
    pub stats: ReceiverStats,
}

impl Receiver {
    /// A receiver that waits for a connection.
    pub fn new(flow: FlowId, config: StreamConfig) -> Self {
        Self {
            flow,
            config,
            policy: AckPolicy::new(growing_segments(&config), config.acks),
            next: 0,
            out_of_order: RangeSet::default(),
            recent: [None; RECENT],
            short: Vec::new(),
            duplicate: None,
            timestamp_echo: Instant::ZERO,
            one_way_delay: Duration::ZERO,
            last_acked: 0,
            is_echoing_mark: false,
            answer_syn: false,
            answered_syn: None,
            next_packet: 0,
            stats: ReceiverStats::default(),
        }
    }

    /// The handshake tells the receiver the round trip.
    fn measure_round_trip(&mut self, now: Instant) {
        if let (Some(answered), None) = (self.answered_syn, self.policy.rtt()) {
            self.policy.set_rtt(now.since(answered));
        }
    }

    fn on_data(&mut self, sequence: u64, length: Bytes, packet: &Packet<Segment>, now: Instant) {
        self.measure_round_trip(now);
        // RFC 7323, section 4.3: echo the oldest segment that the next ack covers.
        if sequence <= self.last_acked {
            self.timestamp_echo = packet.sent;
        }
        self.one_way_delay = now.since(packet.sent);
        let is_marked = packet.ecn == Ecn::Ce;
        self.stats.ce_marks += u64::from(is_marked);
        let starts_echo = is_marked && !self.is_echoing_mark;
        self.is_echoing_mark |= is_marked;
        let arrival = self.place(sequence, length);
        self.policy.on_arrival(arrival, starts_echo, now);
    }

    /// Puts a segment where it belongs.
    fn place(&mut self, sequence: u64, length: Bytes) -> Arrival {
        let this = Range { start: sequence, end: sequence + 1 };
        if sequence < self.next || self.out_of_order.find(sequence).is_some() {
            self.stats.duplicates += 1;
            self.duplicate = Some(this);
            return Arrival::Duplicate;
        }
        if sequence > self.next {
            self.out_of_order.insert(this, |_| {});
            let is_scattered = self.remember(sequence) >= EXPECTED_BLOCKS;
            if length < self.config.mss {
                self.short.push((sequence, self.config.mss - length));
            }
            return if is_scattered { Arrival::Scattered } else { Arrival::OutOfOrder };
        }
        self.next += 1;
        self.stats.goodput += length;
        let had_holes = !self.out_of_order.is_empty();
        self.release();
        match (had_holes, self.out_of_order.is_empty()) {
            (false, _) => Arrival::InOrder,
            (true, true) => Arrival::ClosesHole,
            (true, false) => Arrival::BeforeHole,
        }
    }

    /// Hands over what has waited for the segment that has just arrived.
    fn release(&mut self) {
        let Some(waiting) = self.out_of_order.find(self.next) else { return };
        self.next = waiting.end;
        self.out_of_order.remove_below(self.next);
        self.forget_recent();
        self.stats.goodput += self.config.mss * (waiting.end - waiting.start);
        let next = self.next;
        let missing = self.short.iter().filter(|(sequence, _)| *sequence < next).map(|(_, missing)| *missing).sum();
        self.stats.goodput -= missing;
        self.short.retain(|(sequence, _)| *sequence >= next);
    }

    /// Keeps only those recent segments that still wait.
    fn forget_recent(&mut self) {
        let mut kept = [None; RECENT];
        let waiting = self.recent.into_iter().flatten().filter(|sequence| *sequence >= self.next);
        for (slot, sequence) in kept.iter_mut().zip(waiting) {
            *slot = Some(sequence);
        }
        self.recent = kept;
    }

    /// Puts the block of `sequence` first among those reported (RFC 2018, section 4) and returns how many stood before
    /// it.
    fn remember(&mut self, sequence: u64) -> usize {
        let Some(block) = self.out_of_order.find(sequence) else { return 0 };
        let is_this = |recent: &Option<u64>| recent.is_some_and(|recent| block.contains(recent));
        let before = self.recent.iter().position(|recent| recent.is_none() || is_this(recent)).unwrap_or(RECENT);
        self.recent.copy_within(0..before.min(RECENT - 1), 1);
        self.recent[0] = Some(sequence);
        before
    }

    fn ack(&mut self) -> AckSegment {
        let mut ack = AckSegment::new(self.next, self.timestamp_echo, self.one_way_delay);
        ack.duplicate = self.duplicate.take();
        ack.is_ecn_echo = self.is_echoing_mark && self.config.ecn == EcnMode::Classic;
        if !self.out_of_order.is_empty() {
            let mut reported = [Range::default(); RECENT];
            for (slot, sequence) in self.recent.into_iter().flatten().enumerate() {
                let Some(block) = self.out_of_order.find(sequence) else { continue };
                if !reported.contains(&block) {
                    ack.add_block(block);
                    reported[slot] = block;
                }
            }
        }
        ack
    }

    fn packet(&mut self, now: Instant, size: Bytes, payload: Segment) -> Packet<Segment> {
        let number = self.next_packet;
        self.next_packet += 1;
        Packet::new(self.flow, false, number, size, now, payload)
    }
}

/// How many segments widen the receive window (`tcp_grow_window`): each by twice the MSS that the receiver announced,
/// until the window has the size that full segments allow. Half of the buffer at first, it ends at 62 % of it.
fn growing_segments(config: &StreamConfig) -> u32 {
    let window = config.receive_window.unwrap_or(DEFAULT_WINDOW).min(DEFAULT_WINDOW);
    let growth = window.count() * GROWTH_PERMILLE / 1_000;
    (growth / (2 * (config.mss + TIMESTAMP_OPTION).count())) as u32
}

impl Endpoint<Segment> for Receiver {
    fn accept(&mut self, packet: Packet<Segment>, now: Instant) {
        match packet.payload {
            Segment::Syn => self.answer_syn = true,
            Segment::Data { sequence, length, is_window_reduced } => {
                if is_window_reduced {
                    self.is_echoing_mark = false;
                }
                self.on_data(sequence, length, &packet, now);
            }
            Segment::HandshakeAck => self.measure_round_trip(now),
            Segment::SynAck | Segment::Ack(_) => {}
        }
    }

    fn poll(&mut self, now: Instant) -> Option<Packet<Segment>> {
        if std::mem::take(&mut self.answer_syn) {
            self.answered_syn.get_or_insert(now);
            return Some(self.packet(now, HANDSHAKE_SIZE, Segment::SynAck));
        }
        if !self.policy.is_ack_due(now) {
            return None;
        }
        let ack = self.ack();
        self.policy.on_ack_sent();
        self.last_acked = self.next;
        Some(self.packet(now, ack.size(self.config.header), Segment::Ack(ack)))
    }

    fn next_wakeup(&self) -> Option<Instant> {
        self.policy.next_wakeup()
    }
}

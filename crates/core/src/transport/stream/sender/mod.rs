//! The sending end of a stream.

mod application;
mod handshake;
mod sending;

use self::application::Usage;
use self::handshake::Phase;
use super::StreamConfig;
use super::ecn::Marked;
use super::pacer::{Pacer, internal_rate};
use super::pushes::Pushes;
use super::rack::Rack;
use super::range_set::RangeSet;
use super::rate_sampler::RateSampler;
use super::receive_window::UNBOUNDED;
use super::recovery::{Recovery, Retransmit};
use super::resent::Resent;
use super::rtt::RttEstimator;
use super::scoreboard::Scoreboard;
use super::segment::{MAX_SACK_BLOCKS, Range, Segment};
use super::timer::Timer;
use crate::endpoint::Endpoint;
use crate::packet::{Envelope, FlowId, Packet};
use crate::packet_pool::PacketPool;
use crate::random::RandomStream;
use crate::scheme::{PacingRatios, Scheme};
use crate::traffic::Source;
use crate::units::{Bytes, Duration, Instant, Rate, earlier};

/// What a sender has done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderStats {
    /// Segments sent again.
    pub retransmissions: u64,
    /// Retransmission timeouts, those of requests to connect included (`tcpi_total_rto`).
    pub timeouts: u64,
    /// Tail loss probes.
    pub probes: u64,
    /// Segments declared lost.
    pub lost: u64,
    /// Packets that the receiver reported as marked with CE.
    pub marked: u64,
    /// Reductions that proved spurious and were undone.
    pub undone: u64,
    /// When the last byte of a finite transfer was acknowledged.
    pub completed: Option<Instant>,
}

/// A segment that leaves whatever window and pacing say.
#[derive(Clone, Copy, Debug)]
pub(super) enum Forced {
    /// The first outstanding segment, after a timeout.
    FirstSegment,
    /// A tail loss probe.
    Probe,
}

/// The sending end of a stream: an [`Endpoint`] for [`Segment`]s.
pub struct Sender {
    flow: FlowId,
    pub(super) config: StreamConfig,
    /// The receiver's, in segments.
    pub(super) receive_window: u64,
    phase: Phase,
    source: Source,
    pub(super) pushes: Pushes,
    /// The application had nothing to send when it was last asked, or writes segment by segment and has not begun.
    is_source_silent: bool,
    /// It writes segment by segment, and what it wrote last left at once.
    finds_nothing_queued: bool,
    random: RandomStream,
    pub(super) pacer: Pacer,
    /// What the scheme's rate does not count of every packet.
    unpaced_header: Bytes,
    /// Says itself when its next packet may leave.
    scheme_paces: bool,
    scheme_has_timer: bool,
    pub(super) loses_flight_at_timeout: bool,
    /// Says itself how large its next packet is.
    scheme_sizes: bool,
    /// Pacing of a scheme that has no rate of its own, and the rate since the last ack (`sk_pacing_rate`).
    ratios: Option<PacingRatios>,
    internal_rate: Option<Rate>,
    next_packet: u64,
    last_sent: Instant,
    pub(super) usage: Usage,
    pub(super) scheme: Box<dyn Scheme>,
    pub(super) scoreboard: Scoreboard,
    pub(super) resent: Resent,
    /// Segments that the receiver says it had before (`dsack_dups`).
    pub(super) duplicates: u64,
    /// Which of the outstanding segments are selectively acknowledged, as ranges.
    pub(super) sacked: RangeSet,
    /// When the newest ack left that was taken (`ts_recent`).
    pub(super) newest_ack: Instant,
    /// When an ack that was not taken was last answered (`last_oow_ack_time`).
    pub(super) last_answer: Option<Instant>,
    /// The receive window in the last ack ([`super::segment::AckSegment::window`]).
    pub(super) window: Option<u16>,
    /// The blocks of the last ack that had any, which the next one mostly repeats.
    pub(super) known_blocks: [Range; MAX_SACK_BLOCKS],
    pub(super) rtt: RttEstimator,
    pub(super) rack: Rack,
    pub(super) sampler: RateSampler,
    pub(super) recovery: Recovery,
    /// None while nothing is outstanding.
    pub(super) timer: Option<Timer>,
    /// When it last went off.
    pub(super) timer_ran: Option<Instant>,
    pub(super) forced: Option<Forced>,
    /// The next new segment tells the receiver that the window was reduced.
    pub(super) must_announce_reduction: bool,
    /// What is known of marks.
    pub(super) marked: Marked,
    /// The scheme's words of the packets that the current ack reports.
    pub(super) newly_delivered: Vec<u64>,
    pub(super) new_ranges: Vec<Range>,
    /// What it has done so far.
    pub stats: SenderStats,
}

impl Sender {
    /// A sender that connects at `start` and then sends what `source` has.
    pub fn new(
        flow: FlowId,
        config: StreamConfig,
        scheme: Box<dyn Scheme>,
        source: Source,
        start: Instant,
        random: RandomStream,
    ) -> Self {
        let internal = config.is_paced().then_some(PacingRatios::LINUX);
        Self {
            flow,
            config,
            receive_window: config.receive_window_segments(UNBOUNDED),
            phase: Phase::Connecting { first_syn: start, next_syn: start, sent: 0 },
            // The kernel's bulk flows begin limited, too (`tcp_sendmsg`); what that changes is in docs/agreement.md.
            is_source_silent: source.writes_segments(),
            pushes: Pushes::new(&config, source.writes_segments()),
            source,
            finds_nothing_queued: false,
            random,
            pacer: Pacer::new(config.burst_packets, config.feedback),
            unpaced_header: scheme.unpaced_header().min(config.header),
            scheme_paces: scheme.next_departure().is_some(),
            scheme_has_timer: scheme.has_timer(),
            loses_flight_at_timeout: scheme.loses_flight_at_timeout(),
            scheme_sizes: scheme.next_size().is_some(),
            ratios: scheme.pacing_ratios().or(internal),
            internal_rate: None,
            next_packet: 0,
            last_sent: start,
            usage: Usage::default(),
            scheme,
            scoreboard: Scoreboard::new(),
            resent: Resent::default(),
            duplicates: 0,
            sacked: RangeSet::default(),
            newest_ack: Instant::ZERO,
            last_answer: None,
            window: None,
            known_blocks: Default::default(),
            rtt: RttEstimator::new(),
            rack: Rack::new(),
            sampler: RateSampler::new(),
            recovery: Recovery::default(),
            timer: None,
            timer_ran: None,
            forced: None,
            must_announce_reduction: false,
            marked: Marked::default(),
            newly_delivered: Vec::new(),
            new_ranges: Vec::new(),
            stats: SenderStats::default(),
        }
    }

    /// Reports the state of transport and scheme under the names that [`crate::record::TELEMETRY`] and the scheme
    /// declare.
    pub fn telemetry(&self, report: &mut dyn FnMut(&'static str, f64)) {
        report("cwnd", f64::from(self.scheme.cwnd()));
        if let Some(ssthresh) = self.scheme.ssthresh() {
            report("ssthresh", f64::from(ssthresh));
        }
        report("in_flight", f64::from(self.scoreboard.in_flight()));
        report("state", f64::from(self.recovery.state as u8));
        if self.rtt.has_sample() {
            report("srtt", self.rtt.srtt().as_secs_f64() * 1e3);
            report("min_rtt", self.rtt.min_rtt().as_secs_f64() * 1e3);
        }
        if let Some(rate) = self.pacing_rate() {
            let whole = rate.scale(self.config.packet_size().count(), self.counted());
            report("pacing_rate", whole.as_bits_per_second() as f64);
        }
        self.scheme.telemetry(report);
    }

    /// The rate of what the scheme counts of every packet; what a flow may have at most is one of whole packets.
    #[inline(always)]
    fn pacing_rate(&self) -> Option<Rate> {
        let rate = self.scheme.pacing_rate().or(self.internal_rate);
        let most =
            self.config.max_pacing_rate.map(|most| most.scale(self.counted(), self.config.packet_size().count()));
        match (rate, most) {
            (Some(rate), Some(most)) => Some(rate.min(most)),
            // Also while no round trip is known, or it is too short to be measured (`sk_setsockopt`).
            (rate, most) => rate.or(most),
        }
    }

    /// Works out the rate of a scheme that has none of its own: after each ack, from what is outstanding before any
    /// packet leaves for it (`tcp_update_pacing_rate` in `tcp_cong_control`).
    pub(super) fn update_internal_rate(&mut self) {
        let Some(ratios) = self.ratios else { return };
        let (cwnd, ssthresh, packet) = (self.scheme.cwnd(), self.scheme.ssthresh(), self.config.packet_size());
        let outstanding = self.scoreboard.outstanding();
        let rate = internal_rate(ratios, cwnd, outstanding, ssthresh, self.rtt.srtt(), packet);
        // Worked out from `mss_cache`, by which the payload is paced that leaves.
        let (mss_cache, mss) = (self.config.mss_cache().count(), self.config.mss.count());
        self.internal_rate = if mss_cache == mss { rate } else { rate.map(|rate| rate.scale(mss_cache, mss)) };
    }

    /// Bytes of a full packet that the scheme's rate counts.
    fn counted(&self) -> u64 {
        self.config.packet_size().saturating_sub(self.unpaced_header).count().max(1)
    }

    fn window_end(&self) -> u64 {
        self.scoreboard.first().saturating_add(self.receive_window)
    }

    /// What an ack lets go waits for a random time, and what others let go meanwhile leaves with it (ns-2 `send_much`,
    /// `delsnd_timer_`).
    #[cold]
    fn hold_answer(&mut self, now: Instant) {
        if self.pacer.next() <= now && self.scheme.has_room(self.scoreboard.in_flight()) {
            let nanos = self.random.below(self.config.send_jitter.as_nanos());
            self.pacer.hold(now, Duration::from_nanos(nanos));
        }
    }

    /// When the next packet may leave.
    pub(super) fn next_departure(&self) -> Instant {
        let paced = self.pacer.next();
        if !self.scheme_paces {
            return paced;
        }
        self.scheme.next_departure().map_or(paced, |own| own.max(paced))
    }

    /// When the scheme is to be woken.
    fn scheme_timer(&self) -> Option<Instant> {
        if self.scheme_has_timer { self.scheme.next_timer() } else { None }
    }

    /// True if a paced sender that has room in its window only waits for its pacer.
    fn is_waiting_for_pacer(&self) -> bool {
        let has_new = !self.source.is_finished() && self.source.next_wakeup().is_none();
        let may_send_new = has_new && self.scoreboard.next() < self.window_end();
        let may_retransmit = self.recovery.retransmit != Retransmit::Never;
        may_send_new || (may_retransmit && self.scoreboard.lost() > self.scoreboard.retransmitted())
    }
}

impl Endpoint<Segment> for Sender {
    // Has registers of its own: inlined into the event loop, it takes from what sends.
    #[inline(never)]
    fn accept(&mut self, segment: &Segment, envelope: Envelope, now: Instant) {
        match segment {
            Segment::SynAck { ecn, timestamp_echo } => {
                self.newest_ack = self.newest_ack.max(envelope.sent);
                self.on_connected(*ecn, *timestamp_echo, now);
            }
            Segment::Ack(ack) => {
                self.on_ack(ack, envelope.sent, now);
                if !self.config.send_jitter.is_zero() {
                    self.hold_answer(now);
                }
                if self.source.is_finished() && self.scoreboard.outstanding() == 0 {
                    self.stats.completed.get_or_insert(now);
                }
            }
            Segment::Syn { .. } | Segment::HandshakeAck | Segment::Data { .. } => {}
        }
    }

    #[inline(always)]
    fn poll<Q: From<Segment> + Default>(&mut self, now: Instant, pool: &mut PacketPool<Q>) -> Option<Box<Packet<Q>>> {
        if matches!(self.phase, Phase::Connecting { .. }) {
            return self.poll_handshake(now, pool);
        }
        if matches!(self.phase, Phase::Confirming) {
            self.phase = Phase::Established;
            let ecn = self.config.ecn.control(self.config.ect);
            return Some(self.packet(now, self.config.header, ecn, false, Segment::HandshakeAck, pool));
        }
        self.run_timer(now);
        while self.scheme_timer().is_some_and(|timer| timer <= now) {
            self.scheme.on_timer(now);
        }
        if self.forced.is_some()
            && let Some(packet) = self.poll_forced(now, pool)
        {
            return Some(packet);
        }
        self.poll_window(now, pool)
    }

    #[inline(always)]
    fn next_wakeup(&self) -> Option<Instant> {
        if let Phase::Connecting { next_syn, .. } = self.phase {
            return Some(next_syn);
        }
        let mut next = earlier(self.scheme_timer(), self.source.next_wakeup());
        if self.scheme.has_room(self.scoreboard.in_flight()) {
            let paced = self.next_departure();
            let pacer = (paced > self.last_sent && self.is_waiting_for_pacer()).then_some(paced);
            next = earlier(next, pacer);
        }
        self.timer.map_or(next, |timer| timer.earlier(next))
    }

    fn is_silent_before(&self, time: Instant) -> bool {
        matches!(self.phase, Phase::Established)
            && self.next_departure() >= time
            && self.timer.is_none_or(|timer| timer.is_silent_before(time))
            && self.scheme_timer().is_none_or(|timer| timer >= time)
    }
}

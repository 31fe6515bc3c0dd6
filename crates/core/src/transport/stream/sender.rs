//! The sending end of a stream.

use super::ecn::Marked;
use super::pacer::{Pacer, internal_rate};
use super::rack::Rack;
use super::range_set::RangeSet;
use super::rate_sampler::RateSampler;
use super::receive_window::UNBOUNDED;
use super::recovery::{Recovery, Retransmit};
use super::resent::Resent;
use super::rtt::RttEstimator;
use super::scoreboard::Scoreboard;
use super::segment::stamped;
use super::segment::{HANDSHAKE_SIZE, MAX_SACK_BLOCKS, Range, Segment};
use super::timer::{Purpose, Timer};
use super::{EcnMode, StreamConfig, wheel};
use crate::endpoint::Endpoint;
use crate::packet::{Ecn, Envelope, FlowId, Packet};
use crate::packet_pool::PacketPool;
use crate::random::RandomStream;
use crate::scheme::{Connected, Feedback, INITIAL_WINDOW, PacingRatios, Restart, Scheme, Sent, TxStart};
use crate::traffic::Source;
use crate::units::{Bytes, Duration, Instant, Rate, earlier};

/// SYNs that are repeated after a second each, before the wait doubles (`tcp_syn_linear_timeouts`).
const LINEAR_SYNS: u32 = 4;
/// Where it takes more of them, the first window is one packet (`tcp_init_transfer`).
const SYNS_OF_FULL_WINDOW: u32 = 2;

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

/// How far the connection has come.
#[derive(Clone, Copy, Debug)]
enum Phase {
    /// A SYN leaves at this time, after `sent` others.
    Connecting {
        first_syn: Instant,
        next_syn: Instant,
        sent: u32,
    },
    /// The connection is there, and a bare ack is to be sent: the last packet of the handshake, or one that answers
    /// what could not be taken.
    Confirming,
    Established,
}

/// How much of the window is used (`tcp_cwnd_validate`).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Usage {
    pub(super) is_cwnd_limited: bool,
    pub(super) max_packets_out: u32,
    until: u64,
    /// New data has left since this was last looked at.
    has_sent: bool,
}

/// The sending end of a stream: an [`Endpoint`] for [`Segment`]s.
pub struct Sender {
    flow: FlowId,
    pub(super) config: StreamConfig,
    /// The receiver's, in segments.
    pub(super) receive_window: u64,
    phase: Phase,
    source: Source,
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
        rate.map(|rate| most.map_or(rate, |most| rate.min(most)))
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

    // Built where it stays, see [`PacketPool::put`].
    #[inline(always)]
    fn packet<Q: From<Segment> + Default>(
        &mut self,
        now: Instant,
        size: Bytes,
        ecn: Ecn,
        is_retransmission: bool,
        payload: Segment,
        pool: &mut PacketPool<Q>,
    ) -> Box<Packet<Q>> {
        let number = self.next_packet;
        self.next_packet += 1;
        let mut packet = Packet::new(self.flow, true, number, size, now, payload.into());
        packet.is_retransmission = is_retransmission;
        packet.ecn = ecn;
        pool.put(packet)
    }

    /// The next SYN, when its time has come, or the first packet of data where there is none.
    #[cold]
    fn poll_handshake<Q: From<Segment> + Default>(
        &mut self,
        now: Instant,
        pool: &mut PacketPool<Q>,
    ) -> Option<Box<Packet<Q>>> {
        let Phase::Connecting { first_syn, next_syn, sent } = self.phase else { return None };
        if now < next_syn {
            return None;
        }
        if !self.config.has_handshake {
            self.phase = Phase::Established;
            self.scheme.on_connected(&Connected { initial_window: INITIAL_WINDOW, srtt: None });
            return self.poll(now, pool);
        }
        self.last_sent = now;
        let wait = Duration::from_secs(1 << sent.saturating_sub(LINEAR_SYNS).min(6));
        let first_syn = if sent == 0 { now } else { first_syn };
        self.stats.timeouts += u64::from(sent > 0);
        self.phase = Phase::Connecting { first_syn, next_syn: wheel::expiry(now, wait), sent: sent + 1 };
        // The codepoint stays when nothing is asked for any more (`tcp_ecn_send_syn`, `tcp_ecn_clear_syn`).
        let ecn = if self.config.has_capable_syn { self.config.ect.into() } else { Ecn::NotEct };
        let syn = Segment::Syn { ecn: self.config.ecn.asked_after(sent) };
        Some(self.packet(now, HANDSHAKE_SIZE, ecn, false, syn, pool))
    }

    #[cold]
    fn on_connected(&mut self, ecn: EcnMode, timestamp_echo: Instant, now: Instant) {
        let Phase::Connecting { first_syn, sent, .. } = self.phase else {
            // A repeated answer is confirmed again (RFC 5961, section 4.2).
            self.answer(now);
            return;
        };
        self.config.ecn = ecn;
        // Which of several SYNs is answered only its time stamp tells.
        let is_ambiguous = sent > 1;
        let rtt = if is_ambiguous { stamped(timestamp_echo, now) } else { now.since(timestamp_echo) };
        self.rtt.on_min_sample(rtt, false, now);
        self.rtt.on_sample(rtt, 0, 0);
        self.confirm();
        self.last_sent = now;
        // Where the first SYN is answered, the others were needless (`tcp_try_undo_spurious_syn`).
        let is_path_lossy = sent > SYNS_OF_FULL_WINDOW && timestamp_echo != first_syn;
        let initial_window = if is_path_lossy { 1 } else { INITIAL_WINDOW };
        self.scheme.on_connected(&Connected { initial_window, srtt: Some(self.rtt.srtt()) });
        self.update_internal_rate();
    }

    /// A bare ack is to leave at once.
    pub(super) fn confirm(&mut self) {
        self.phase = Phase::Confirming;
    }

    /// What a timeout or a probe sends at once.
    fn poll_forced<Q: From<Segment> + Default>(
        &mut self,
        now: Instant,
        pool: &mut PacketPool<Q>,
    ) -> Option<Box<Packet<Q>>> {
        match self.forced.take()? {
            Forced::FirstSegment => self.retransmit(self.scoreboard.first(), now, pool),
            Forced::Probe => {
                let new = self.send_new(now, pool);
                let is_retransmission = new.is_none();
                let probe = new.or_else(|| self.send_again(self.scoreboard.next().checked_sub(1)?, now, pool));
                if probe.is_some() {
                    self.on_probe_sent(is_retransmission);
                    self.timer = None;
                    self.rearm_retransmission_timer(now);
                }
                probe
            }
        }
    }

    /// What the window allows: first what is lost, then what is new.
    #[inline(always)]
    fn poll_window<Q: From<Segment> + Default>(
        &mut self,
        now: Instant,
        pool: &mut PacketPool<Q>,
    ) -> Option<Box<Packet<Q>>> {
        if self.is_source_silent {
            self.note_write(now);
        }
        let has_room = self.scheme.has_room(self.scoreboard.in_flight());
        if self.next_departure() > now {
            if !has_room {
                self.note_usage(true, now);
            }
            return None;
        }
        if has_room {
            if self.recovery.retransmit == Retransmit::First
                && let Some(sequence) = self.scoreboard.next_to_retransmit()
            {
                return self.retransmit_lost(sequence, now, pool);
            }
            if let Some(packet) = self.send_new(now, pool) {
                return Some(packet);
            }
            self.tell_if_application_is_silent(now);
            if self.recovery.retransmit == Retransmit::Last {
                self.give_up_frto();
                return self
                    .scoreboard
                    .next_to_retransmit()
                    .and_then(|sequence| self.retransmit_lost(sequence, now, pool));
            }
        }
        self.note_usage(!has_room, now);
        None
    }

    /// What the application has to send; whether that is nothing is remembered, so that it is asked when it writes again.
    #[inline(always)]
    fn ask_application(&mut self, now: Instant) -> Bytes {
        let available = self.source.available(now);
        self.is_source_silent = available == Bytes::ZERO;
        available
    }

    /// An application that was silent may write, into a window with room for it: what is in flight then cannot show the
    /// path's rate (`tcp_rate_check_app_limited`, of which nobody but `tcp_sendmsg` makes use).
    #[cold]
    fn note_write(&mut self, now: Instant) {
        self.ask_application(now);
        if !self.is_source_silent {
            self.note_limit(now);
        }
    }

    /// As long as what it writes leaves at once, its next segment finds nothing queued either.
    #[cold]
    fn note_limit(&mut self, now: Instant) {
        let in_flight = self.scoreboard.in_flight();
        let has_room = self.scheme.has_room(in_flight);
        if has_room && self.scoreboard.lost() <= self.scoreboard.retransmitted() {
            self.sampler.on_app_limited(in_flight);
        }
        self.finds_nothing_queued = self.source.writes_segments() && has_room && self.next_departure() <= now;
    }

    /// Remembers whether the window held the sender back, once something has left or would have (`tcp_cwnd_validate`).
    fn note_usage(&mut self, is_cwnd_limited: bool, now: Instant) {
        let is_held_back = is_cwnd_limited && self.ask_application(now) > Bytes::ZERO;
        if !std::mem::take(&mut self.usage.has_sent) && !is_held_back {
            return;
        }
        let outstanding = self.scoreboard.outstanding();
        let is_new_window = self.scoreboard.first() >= self.usage.until;
        if is_new_window || is_cwnd_limited || (!self.usage.is_cwnd_limited && outstanding > self.usage.max_packets_out)
        {
            let until = self.scoreboard.next();
            self.usage = Usage { is_cwnd_limited, max_packets_out: outstanding, until, has_sent: false };
        }
    }

    fn window_end(&self) -> u64 {
        self.scoreboard.first().saturating_add(self.receive_window)
    }

    #[inline(always)]
    fn send_new<Q: From<Segment> + Default>(
        &mut self,
        now: Instant,
        pool: &mut PacketPool<Q>,
    ) -> Option<Box<Packet<Q>>> {
        let length = self.ask_application(now).min(self.largest_payload());
        if length == Bytes::ZERO || self.scoreboard.next() >= self.window_end() {
            return None;
        }
        let is_idle = self.scoreboard.outstanding() == 0;
        if is_idle {
            let (idle, is_app_limited) = (now.since(self.last_sent), self.sampler.is_app_limited());
            self.scheme.on_restart(&Restart { now, idle, rto: self.rtt.rto(), is_app_limited });
        }
        self.tell_if_nothing_is_in_flight(now);
        let snapshot = self.sampler.on_sent(now, is_idle);
        let scheme_state = self.scheme.on_sent(&Sent {
            now,
            size: length,
            is_retransmission: false,
            in_flight: self.scoreboard.in_flight() + 1,
            delivered: self.sampler.delivered(),
        });
        let sequence = self.scoreboard.next();
        self.scoreboard.push(now, length, snapshot, scheme_state);
        self.source.take(length);
        self.is_source_silent = self.source.next_wakeup().is_some();
        self.usage.has_sent = true;
        self.after_sending(now, length);
        if self.finds_nothing_queued {
            self.note_limit(now);
        }
        self.tell_if_application_is_silent(now);
        let must_rearm = is_idle || self.timer.is_some_and(|timer| timer.purpose == Purpose::LossProbe);
        if !self.schedule_loss_probe(now, false) && must_rearm {
            self.rearm_retransmission_timer(now);
        }
        // With accurate ECN the bit belongs to a counter (`tcp_ecn_queue_cwr`).
        let is_window_reduced = matches!(self.config.ecn, EcnMode::Classic | EcnMode::Sce)
            && std::mem::take(&mut self.must_announce_reduction);
        let ecn = if self.config.ecn == EcnMode::Off { Ecn::NotEct } else { self.config.ect.into() };
        if self.next_departure() > now {
            // The pacer ends what is sent at once, and with a packet of it the window may be full or not. What waits
            // for it leaves as ever, the lost first (`tcp_tsq_write`).
            self.recovery.retransmit = Retransmit::First;
            self.note_usage(!self.scheme.has_room(self.scoreboard.in_flight()), now);
        }
        Some(self.packet(
            now,
            length + self.config.header,
            ecn,
            false,
            self.data(sequence, length, is_window_reduced),
            pool,
        ))
    }

    #[inline(always)]
    fn largest_payload(&self) -> Bytes {
        let own = if self.scheme_sizes { self.scheme.next_size() } else { None };
        own.map_or(self.config.mss, |size| size.clamp(Bytes::new(1), self.config.mss))
    }

    /// Data is about to leave (`tcp_event_data_sent`).
    fn tell_if_nothing_is_in_flight(&mut self, now: Instant) {
        if self.scoreboard.in_flight() == 0 {
            self.scheme.on_tx_start(&TxStart {
                now,
                idle: now.since(self.last_sent),
                delivered: self.sampler.delivered(),
                next_sequence: self.scoreboard.next(),
                is_app_limited: self.sampler.is_app_limited(),
            });
        }
    }

    /// That the application limits the sender shows when the last of its data has left, whatever the pacer says.
    fn tell_if_application_is_silent(&mut self, now: Instant) {
        if self.config.feedback == Feedback::Numbered
            && self.source.available(now) == Bytes::ZERO
            && self.scheme.has_room(self.scoreboard.in_flight())
        {
            self.scheme.on_app_limited();
        }
    }

    /// What the window allows of the lost (`tcp_xmit_retransmit_queue`).
    fn retransmit_lost<Q: From<Segment> + Default>(
        &mut self,
        sequence: u64,
        now: Instant,
        pool: &mut PacketPool<Q>,
    ) -> Option<Box<Packet<Q>>> {
        let packet = self.retransmit(sequence, now, pool)?;
        if sequence == self.scoreboard.first() && self.timer.is_none_or(|timer| timer.purpose != Purpose::Reordering) {
            self.rearm_retransmission_timer(now);
        }
        Some(packet)
    }

    /// A segment that counts as lost leaves again (`tcp_retransmit_skb`).
    fn retransmit<Q: From<Segment> + Default>(
        &mut self,
        sequence: u64,
        now: Instant,
        pool: &mut PacketPool<Q>,
    ) -> Option<Box<Packet<Q>>> {
        let packet = self.send_again(sequence, now, pool)?;
        self.recovery.undo.on_retransmission(now);
        Some(packet)
    }

    /// Any segment does (`__tcp_retransmit_skb`).
    fn send_again<Q: From<Segment> + Default>(
        &mut self,
        sequence: u64,
        now: Instant,
        pool: &mut PacketPool<Q>,
    ) -> Option<Box<Packet<Q>>> {
        let segment = *self.scoreboard.get(sequence)?;
        let length = segment.length;
        self.tell_if_nothing_is_in_flight(now);
        let snapshot = self.sampler.on_sent(now, false);
        self.stats.retransmissions += 1;
        let scheme_state = self.scheme.on_sent(&Sent {
            now,
            size: length,
            is_retransmission: true,
            in_flight: self.scoreboard.in_flight() + 1,
            delivered: self.sampler.delivered(),
        });
        if self.config.feedback == Feedback::EveryPacket {
            self.resent.insert(sequence, &segment, now, scheme_state, self.scoreboard.first());
        }
        self.scoreboard.mark_sent_again(sequence, now, snapshot, scheme_state);
        self.after_sending(now, length);
        let ecn = self.config.ecn.control(self.config.ect);
        let segment = self.data(sequence, length, false);
        Some(self.packet(now, length + self.config.header, ecn, true, segment, pool))
    }

    /// What leaves of a segment that was sent before, or is now; the last of a transfer is pushed (`tcp_mark_push`).
    #[inline(always)]
    fn data(&self, sequence: u64, length: Bytes, is_window_reduced: bool) -> Segment {
        let is_pushed = self.source.is_finished() && sequence + 1 == self.scoreboard.next();
        Segment::Data { sequence, length, timestamp_echo: self.newest_ack, is_window_reduced, is_pushed }
    }

    #[inline(always)]
    fn after_sending(&mut self, now: Instant, length: Bytes) {
        self.last_sent = now;
        let rate = if self.scheme_paces { self.config.max_pacing_rate } else { self.pacing_rate() };
        self.pacer.on_sent(now, (length + self.config.header).saturating_sub(self.unpaced_header), rate);
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

//! What an acknowledgement says (Linux `tcp_ack`, `tcp_sacktag_write_queue`, `tcp_clean_rtx_queue`).

use std::hint::cold_path;

use super::EcnMode;
use super::ecn::Delivered;
use super::recovery::Retransmit;
use super::scoreboard::Transmission;
use super::segment::{AckSegment, MAX_SACK_BLOCKS, Range, stamped};
use super::sender::Sender;
use crate::scheme::{Ack, Acked, EcnFeedback, Feedback, State};
use crate::units::{Bytes, Duration, Instant};

/// The findings of one ack, on their way through the state machine.
#[derive(Clone, Debug, Default)]
pub(super) struct Report {
    /// The first segment that was not acknowledged before (`prior_snd_una`).
    pub(super) prior_first: u64,
    /// The acknowledged segment number.
    pub(super) cumulative: u64,
    /// Send time of the segment whose timestamp is echoed.
    pub(super) timestamp_echo: Instant,
    /// The cumulative acknowledgement moved.
    pub(super) is_advance: bool,
    /// Segments were newly selectively acknowledged.
    pub(super) is_sacked: bool,
    /// The ack acknowledges more than the one before, or tells of more room (`FLAG_WIN_UPDATE`).
    pub(super) updates_window: bool,
    /// Never retransmitted segments from before the episode arrived.
    pub(super) is_original_delivered: bool,
    /// A segment arrived twice.
    pub(super) has_duplicate: bool,
    /// The duplicate is the one that a loss probe sent.
    pub(super) is_duplicate_of_probe: bool,
    /// The receiver saw a CE mark.
    pub(super) is_ecn_echo: bool,
    /// A retransmission was found lost.
    pub(super) has_lost_retransmission: bool,
    /// The retransmission timer is to be set again.
    pub(super) needs_timer: bool,
    delivered_bytes: Bytes,
    /// The lowest segment of which the ack shows that it arrived after a higher one.
    lowest_late: Option<u64>,
    /// A segment that was ever sent again was cumulatively acknowledged.
    is_retransmission_acked: bool,
    /// The receiver may have held the ack back.
    is_delayed: bool,
    /// Send times of never retransmitted segments that this ack covers: first and last cumulatively, first and last
    /// selectively.
    acked: Option<(Instant, Instant)>,
    sacked: Option<(Instant, Instant)>,
}

fn extend(span: &mut Option<(Instant, Instant)>, sent: Instant) {
    *span = Some((span.map_or(sent, |(first, _)| first), sent));
}

/// True if what arrived had left before the retransmission did, by its time stamp in milliseconds
/// (`tcp_skb_spurious_retrans`).
fn is_spurious_retransmission(segment: &Transmission, timestamp_echo: Instant) -> bool {
    segment.was_retransmitted && timestamp_echo.as_millis() < segment.sent.as_millis()
}

impl Sender {
    /// Processes an ack that left at `sent` from end to end.
    pub(super) fn on_ack(&mut self, ack: &AckSegment, sent: Instant, now: Instant) {
        if ack.cumulative > self.scoreboard.next() || !self.admits_ack(ack, sent, now) {
            return;
        }
        if self.scoreboard.outstanding() == 0 && self.config.feedback == Feedback::Tcp {
            self.on_ack_of_nothing(ack, now);
            return;
        }
        let prior_in_flight = self.scoreboard.in_flight();
        let prior_delivered = self.sampler.delivered();
        let prior_lost = self.stats.lost;
        let mut report = self.begin_report(ack);
        // A segment shows reordering only if a later one had been delivered before this ack (`prior_fack`).
        let prior_highest = self.sacked.end();
        if ack.has_sack() {
            self.take_selective(ack, prior_highest, &mut report, now);
        }
        let is_anything_sacked = self.scoreboard.sacked() > 0;
        self.take_cumulative(ack.cumulative, prior_highest, &mut report, now);
        if let Some(duplicate) = ack.duplicate() {
            cold_path();
            // Last: if the ack of what came before it was lost, this is the one that is known to have arrived.
            self.newly_delivered.extend(self.resent.take(duplicate.start, ack.timestamp_echo));
        }
        if self.config.ecn != EcnMode::Off {
            let packets = (self.sampler.delivered() - prior_delivered) as u32;
            self.take_marks(ack, packets, &mut report, now);
        }
        report.is_delayed = !is_anything_sacked && self.may_be_delayed(&report);
        let rtt = self.take_round_trip(ack, &report, now);
        self.tell_what_is_acked(ack, &report, prior_delivered, rtt, now);
        report.needs_timer |= self.is_answer_to_head_due_later(&report);
        self.rack.update_window(self.sampler.prior_delivered(), self.sampler.delivered());
        self.on_ack_of_probe(&report, now);
        if report.is_advance {
            self.forget_timeouts();
        }
        let is_dubious = !report.updates_window
            || report.is_sacked
            || report.is_ecn_echo
            || report.has_duplicate
            || self.recovery.state != State::Open;
        if is_dubious {
            self.on_dubious_ack(&mut report, now);
        }
        if report.needs_timer {
            self.set_timer_after_ack(now);
        }
        let newly_delivered = (self.sampler.delivered() - prior_delivered) as u32;
        let min_rtt = self.rtt.min_rtt();
        let rate = self.sampler.finish(now, newly_delivered > 0, min_rtt);
        self.scheme.on_ack(&Ack {
            now,
            newly_delivered,
            newly_delivered_bytes: report.delivered_bytes,
            newly_lost: (self.stats.lost - prior_lost) as u32,
            is_advance: report.is_advance,
            may_raise_cwnd: report.is_advance || (self.rack.is_reordering_common() && report.is_sacked),
            is_cwnd_limited: self.usage.is_cwnd_limited,
            max_packets_out: self.usage.max_packets_out,
            prior_in_flight,
            in_flight: self.scoreboard.in_flight(),
            state: self.recovery.state,
            rtt,
            srtt: self.rtt.srtt(),
            min_rtt,
            is_delayed: report.is_delayed,
            one_way_delay: Some(ack.one_way_delay),
            rate,
            delivered: self.sampler.delivered(),
            first_unacked: self.scoreboard.first(),
            next_sequence: self.scoreboard.next(),
            next_departure: self.pacer.next(),
            is_ecn_echo: report.is_ecn_echo,
            packets: &self.newly_delivered,
        });
        self.update_internal_rate();
    }

    /// Whether the receiver may have held an ack back that finds nothing selectively acknowledged: a guess on the safe
    /// side, that of a lone runt, with which nothing else was delivered over its round trip (`FLAG_ACK_MAYBE_DELAYED`).
    #[inline]
    fn may_be_delayed(&self, report: &Report) -> bool {
        report.delivered_bytes < self.config.mss_cache()
            && report.is_advance
            && !report.is_retransmission_acked
            && self.sampler.prior_delivered().is_some_and(|prior| prior + 1 == self.sampler.delivered())
    }

    /// Header prediction (`tcp_rcv_established`): whether the ack is other than was expected, which any option is but
    /// for time stamps. Takes its window over.
    fn take_window(&mut self, ack: &AckSegment, report: &Report) -> bool {
        let has_options = ack.has_sack() || self.config.ecn == EcnMode::Accurate;
        let is_unforeseen = self.window != Some(ack.window) || has_options || report.is_ecn_echo;
        if report.is_advance || self.widens_window(ack) {
            self.set_window(ack.window);
        }
        is_unforeseen
    }

    fn set_window(&mut self, window: u16) {
        if self.window.replace(window) != Some(window) {
            cold_path();
            self.receive_window = self.config.receive_window_segments(window);
            self.pushes.on_window(window, &self.config);
        }
    }

    fn tell_what_is_acked(
        &mut self,
        ack: &AckSegment,
        report: &Report,
        prior_delivered: u64,
        rtt: Option<Duration>,
        now: Instant,
    ) {
        let is_unforeseen = self.take_window(ack, report);
        self.scheme.on_acked(&Acked {
            now,
            newly_delivered: (self.sampler.delivered() - prior_delivered) as u32,
            newly_delivered_bytes: report.delivered_bytes,
            is_unforeseen,
            rtt,
            srtt: self.rtt.srtt(),
            first_unacked: self.scoreboard.first(),
            next_sequence: self.scoreboard.next(),
        });
    }

    /// Nothing has been read of an ack yet.
    pub(super) fn begin_report(&mut self, ack: &AckSegment) -> Report {
        let AckSegment { cumulative, timestamp_echo, .. } = *ack;
        self.recovery.retransmit = Retransmit::First;
        self.newly_delivered.clear();
        let prior_first = self.scoreboard.first();
        let updates_window = cumulative > prior_first || self.widens_window(ack);
        Report { prior_first, cumulative, timestamp_echo, updates_window, ..Report::default() }
    }

    /// Everything was acknowledged before: only a duplicate is news, and no scheme hears of it (`no_queue` in
    /// `tcp_ack`).
    #[cold]
    fn on_ack_of_nothing(&mut self, ack: &AckSegment, now: Instant) {
        let mut report = self.begin_report(ack);
        let prior_delivered = self.sampler.delivered();
        if let Some(duplicate) = ack.duplicate() {
            self.take_duplicate(duplicate, &mut report);
        }
        if self.config.ecn != EcnMode::Off {
            self.take_marks(ack, (self.sampler.delivered() - prior_delivered) as u32, &mut report, now);
        }
        if report.has_duplicate {
            self.on_dubious_ack(&mut report, now);
        }
        if self.widens_window(ack) {
            self.set_window(ack.window);
        }
        self.on_ack_of_probe(&report, now);
    }

    /// True if the receiver has more room than it had (`tcp_may_update_window`).
    pub(super) fn widens_window(&self, ack: &AckSegment) -> bool {
        self.window.is_none_or(|window| ack.window > window)
    }

    pub(super) fn take_selective(&mut self, ack: &AckSegment, highest: u64, report: &mut Report, now: Instant) {
        let (first, next) = (self.scoreboard.first(), self.scoreboard.next());
        if let Some(duplicate) = ack.duplicate() {
            cold_path();
            self.take_duplicate(duplicate, report);
        }
        let blocks = ack.all_blocks();
        // Mostly one is new. The round trip that RACK goes by is that of the highest segment, so that several are taken
        // in order.
        let mut places = [0; MAX_SACK_BLOCKS];
        let mut count = 0;
        for (place, block) in blocks.iter().enumerate() {
            let is_known = self.known_blocks.contains(block);
            places[count] = place;
            count += usize::from(!is_known && block.start < block.end && block.end > first && block.end <= next);
        }
        let places = &mut places[..count];
        if count > 1 {
            cold_path();
            places.sort_unstable_by_key(|place| blocks[*place].start);
        }
        for place in places {
            let block = Range { start: blocks[*place].start.max(first), end: blocks[*place].end };
            match self.sacked.extend_last(block) {
                Some(new) => self.take_sacked(new, highest, report, now),
                None => self.take_scattered(block, highest, report, now),
            }
        }
        self.known_blocks = blocks;
        let counts = self.recovery.state != State::Loss || self.recovery.undo.is_possible();
        if let Some(late) = report.lowest_late.take().filter(|_| counts) {
            self.take_reordering(late);
        }
    }

    /// A segment arrived a second time (`tcp_dsack_seen` and, of `tcp_sacktag_one`, what concerns such).
    fn take_duplicate(&mut self, duplicate: Range, report: &mut Report) {
        self.duplicates += 1;
        if self.duplicates > self.stats.retransmissions {
            // The network made it.
            return;
        }
        report.has_duplicate = true;
        report.is_duplicate_of_probe = self.recovery.is_probe(duplicate.end);
        if !report.is_duplicate_of_probe {
            self.rack.on_duplicate();
        }
        if self.config.feedback == Feedback::Tcp {
            self.sampler.on_duplicate();
        }
        let segment = self.scoreboard.get(duplicate.start);
        if segment.is_some_and(|segment| segment.is_sacked && segment.was_retransmitted) {
            report.lowest_late = Some(duplicate.start);
        }
        if segment.is_none_or(|segment| segment.was_retransmitted) {
            self.recovery.undo.on_duplicate(duplicate.end);
        }
        self.scoreboard.mark_arrived_again(duplicate.start);
    }

    /// The path has reordered packets: this segment arrived after higher ones (`tcp_check_sack_reordering`).
    #[cold]
    pub(super) fn take_reordering(&mut self, late: u64) {
        let highest = self.sacked.end().max(self.scoreboard.first());
        if late < highest {
            self.rack.on_reordering(highest - late);
        }
    }

    /// A block that is not the last one of what is selectively acknowledged, or not only.
    #[inline(never)]
    fn take_scattered(&mut self, block: Range, highest: u64, report: &mut Report, now: Instant) {
        let mut parts = std::mem::take(&mut self.new_ranges);
        self.sacked.insert(block, |part| parts.push(part));
        for part in &parts {
            self.take_sacked(*part, highest, report, now);
        }
        parts.clear();
        self.new_ranges = parts;
    }

    #[inline(always)]
    fn take_sacked(&mut self, range: Range, highest: u64, report: &mut Report, now: Instant) {
        for sequence in range.start..range.end {
            self.take_sacked_segment(sequence, highest, report, now);
        }
    }

    fn take_sacked_segment(&mut self, sequence: u64, highest: u64, report: &mut Report, now: Instant) {
        let Some(segment) = self.scoreboard.mark_sacked(sequence) else { return };
        report.is_sacked = true;
        if !segment.was_retransmitted {
            extend(&mut report.sacked, segment.sent);
        }
        self.rack.on_delivered(sequence, &segment, self.rtt.min_rtt(), now);
        self.take_delivered(sequence, &segment, highest, report);
    }

    fn take_cumulative(&mut self, cumulative: u64, highest: u64, report: &mut Report, now: Instant) {
        while self.scoreboard.first() < cumulative {
            let sequence = self.scoreboard.first();
            let Some((segment, was_sacked)) = self.scoreboard.pop() else { break };
            report.is_advance = true;
            if segment.was_retransmitted {
                report.is_retransmission_acked = true;
            } else if !was_sacked {
                extend(&mut report.acked, segment.sent);
            }
            if !was_sacked {
                if !is_spurious_retransmission(&segment, report.timestamp_echo) {
                    self.rack.on_delivered(sequence, &segment, self.rtt.min_rtt(), now);
                }
                self.take_delivered(sequence, &segment, highest, report);
            }
        }
        if report.is_advance {
            self.sacked.remove_below(cumulative);
            report.needs_timer = true;
            if let Some(late) = report.lowest_late.take() {
                self.take_reordering(late);
            }
        }
    }

    /// True if what was selectively acknowledged left before the head was sent again: the timeout counts from here on,
    /// but no longer than until the answer to that is due (`tcp_clean_rtx_queue`).
    fn is_answer_to_head_due_later(&self, report: &Report) -> bool {
        report.sacked.is_some_and(|(first_sent, _)| {
            self.scoreboard.get(self.scoreboard.first()).is_some_and(|head| first_sent < head.sent)
        })
    }

    /// What a delivery means, whichever way it was reported.
    #[inline(always)]
    fn take_delivered(&mut self, sequence: u64, segment: &Transmission, highest: u64, report: &mut Report) {
        if !segment.was_retransmitted {
            if sequence < highest {
                cold_path();
                report.lowest_late = Some(report.lowest_late.map_or(sequence, |lowest| lowest.min(sequence)));
            }
            report.is_original_delivered |= sequence < self.recovery.high;
        }
        report.delivered_bytes += segment.length;
        let arrived = segment.was_retransmitted.then(|| self.resent.take(sequence, report.timestamp_echo)).flatten();
        self.newly_delivered.push(arrived.unwrap_or(segment.scheme_state));
        self.sampler.on_delivered(sequence, segment.sent, segment.snapshot, segment.was_retransmitted);
    }

    /// Reads what the ack says of marks, and tells the scheme before any conclusion is drawn (`in_ack_event`).
    fn take_marks(&mut self, ack: &AckSegment, packets: u32, report: &mut Report, now: Instant) {
        let delivered = Delivered { packets, bytes: report.delivered_bytes };
        let marks = self.marked.read(self.config.ecn, ack, delivered, self.config.mss_cache());
        report.is_ecn_echo = marks.is_echo;
        self.stats.marked = self.marked.packets();
        self.scheme.on_ecn_feedback(&EcnFeedback {
            now,
            newly_delivered: packets,
            newly_marked: marks.packets,
            delivered: self.sampler.delivered(),
            marked: self.stats.marked,
            is_sce_echo: ack.is_sce_echo,
            state: self.recovery.state,
            first_unacked: self.scoreboard.first(),
            next_sequence: self.scoreboard.next(),
        });
    }

    /// Updates the estimators (`tcp_ack_update_rtt`) and returns the sample for the scheme.
    fn take_round_trip(&mut self, ack: &AckSegment, report: &Report, now: Instant) -> Option<Duration> {
        let since = |(first, last): (Instant, Instant)| (now.since(first), now.since(last));
        let acked = report.acked.filter(|_| !report.is_retransmission_acked).map(since);
        let sacked = report.sacked.map(since);
        let echoed = match self.config.feedback {
            Feedback::Tcp => stamped(ack.timestamp_echo, now),
            Feedback::Numbered | Feedback::EveryPacket => now.since(ack.timestamp_echo),
        };
        // An ack for every packet echoes what has just arrived, others what they acknowledge in order.
        let has_echo = report.is_advance || (report.is_sacked && self.config.feedback == Feedback::EveryPacket);
        let echoed = has_echo.then_some((echoed, echoed));
        // The estimator takes the oldest segment, the scheme the youngest; acks of retransmissions say only what their
        // timestamp says.
        let (smoothed, latest) = match (acked, sacked) {
            (Some((oldest, _)), Some((_, latest))) => (oldest, latest),
            (Some(span), None) | (None, Some(span)) => span,
            (None, None) => echoed?,
        };
        self.rtt.on_min_sample(latest, report.is_delayed, now);
        self.rtt.on_sample(smoothed, self.scoreboard.first(), self.scoreboard.next());
        Some(latest)
    }
}

//! The congestion state machine: when recovery begins, what is undone, when it ends.
//!
//! **Source.** Linux `net/ipv4/tcp_input.c` (`tcp_fastretrans_alert` and what it calls), F-RTO of RFC 5682 in its SACK
//! form.

use super::acking::Report;
use super::rack::Context;
use super::sender::{Forced, Sender};
use super::undo::Undo;
use crate::scheme::{Cause, Congestion, Lost, Scheme, State, Timeout};
use crate::units::Instant;

/// When lost segments leave, from one ack to the next (Linux `REXMIT_LOST`, `REXMIT_NEW`, `REXMIT_NONE`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Retransmit {
    /// Before new data.
    #[default]
    First,
    /// If there is no new data (F-RTO, step 2b).
    Last,
    /// Not at all.
    Never,
}

/// Where the sender stands in a recovery.
#[derive(Clone, Debug, Default)]
pub(super) struct Recovery {
    /// Linux `icsk_ca_state`.
    pub(super) state: State,
    /// The episode ends when everything below has been acknowledged (`high_seq`).
    pub(super) high: u64,
    /// Whether the episode may prove needless.
    pub(super) undo: Undo,
    /// The cause was beyond doubt (an ECN echo), so the window must not be restored (`prior_ssthresh` = 0).
    is_undo_barred: bool,
    /// F-RTO is testing whether a timeout was spurious.
    is_frto: bool,
    /// When lost segments leave, until the next ack.
    pub(super) retransmit: Retransmit,
    /// Timeouts since the last progress (`icsk_retransmits`).
    timeouts: u32,
    /// The highest segment when a loss probe was sent (`tlp_high_seq`).
    probe_high: Option<u64>,
    /// The probe repeated old data.
    is_probe_retransmission: bool,
}

impl Recovery {
    /// True while the window is being reduced (`tcp_in_cwnd_reduction`).
    fn is_reducing(&self) -> bool {
        matches!(self.state, State::Cwr | State::Recovery)
    }

    /// True if a retransmission is in flight that a loss probe sent.
    fn is_probing_with_old_data(&self) -> bool {
        self.is_probe_retransmission && self.probe_high.is_some()
    }

    /// True if a duplicate that ends here is what a loss probe sent.
    pub(super) fn is_probe(&self, end: u64) -> bool {
        self.probe_high == Some(end)
    }
}

/// The threshold of slow start; where there is none, the largest.
fn threshold(scheme: &dyn Scheme) -> u32 {
    scheme.ssthresh().unwrap_or(u32::MAX)
}

impl Sender {
    /// Draws the conclusions from an ack that is not plainly good news (`tcp_fastretrans_alert`).
    pub(super) fn on_dubious_ack(&mut self, report: &mut Report, now: Instant) {
        if report.is_ecn_echo {
            self.recovery.is_undo_barred = true;
        }
        self.end_episode_if_acknowledged(report, now);
        match self.recovery.state {
            State::Recovery => {
                if report.is_advance && self.undo_partly(report, now) {
                    return;
                }
                self.undo_if_all_duplicates(now);
                self.detect_losses(report, now);
                if self.recovery.state != State::Recovery && self.scoreboard.lost() > 0 {
                    self.enter_recovery(report.is_ecn_echo, false, now);
                }
            }
            State::Loss => {
                self.continue_after_timeout(report, now);
                self.detect_losses(report, now);
                if self.recovery.state == State::Open || report.has_lost_retransmission {
                    self.enter_recovery_if_lost(report, now);
                }
            }
            State::Open | State::Disorder | State::Cwr => {
                if self.recovery.state <= State::Disorder {
                    self.undo_if_all_duplicates(now);
                }
                self.detect_losses(report, now);
                self.enter_recovery_if_lost(report, now);
            }
        }
    }

    fn enter_recovery_if_lost(&mut self, report: &Report, now: Instant) {
        if self.scoreboard.lost() > 0 {
            self.enter_recovery(report.is_ecn_echo, false, now);
        } else {
            self.try_to_open(report.is_ecn_echo, now);
        }
    }

    /// Step D of `tcp_fastretrans_alert`: what was outstanding when the episode began has arrived.
    fn end_episode_if_acknowledged(&mut self, report: &Report, now: Instant) {
        let first = self.scoreboard.first();
        if self.recovery.state == State::Open {
            self.recovery.undo.forget_retransmissions();
        } else if first >= self.recovery.high {
            match self.recovery.state {
                // One more segment: the CWR flag has then reached the receiver.
                State::Cwr if first > self.recovery.high => self.end_reduction(now),
                State::Recovery => {
                    self.undo_or_settle(report, now);
                    self.end_reduction(now);
                }
                _ => {}
            }
        }
    }

    /// `tcp_end_cwnd_reduction`.
    fn end_reduction(&mut self, now: Instant) {
        self.scheme.on_reduced(now);
        self.return_to_open(now);
    }

    fn return_to_open(&mut self, now: Instant) {
        self.recovery.state = State::Open;
        self.scheme.on_recovered(now);
    }

    /// `tcp_try_undo_recovery`, without the change of state.
    #[cold]
    fn undo_or_settle(&mut self, report: &Report, now: Instant) {
        if self.may_undo(report) {
            self.undo(false, now);
        } else {
            self.rack.on_recovered();
        }
    }

    /// `tcp_undo_cwnd_reduction`.
    #[cold]
    fn undo(&mut self, is_nothing_lost: bool, now: Instant) {
        if is_nothing_lost {
            self.scoreboard.unmark_lost();
        }
        if self.recovery.is_undo_barred {
            // The window stays where it is: it neither returns, nor falls to the threshold in the end.
            self.scheme.on_recovered(now);
        } else {
            let reduced = threshold(&*self.scheme);
            self.scheme.on_undo(now);
            // Only where the threshold rises again (`tcp_ecn_withdraw_cwr`).
            self.must_announce_reduction &= threshold(&*self.scheme) <= reduced;
            self.stats.undone += 1;
        }
        self.recovery.undo.end();
        self.rack.rearm();
    }

    /// True if the retransmissions of this episode have all proved unnecessary, or the first of them came after the
    /// original's arrival.
    fn may_undo(&self, report: &Report) -> bool {
        let undo = &self.recovery.undo;
        undo.are_all_duplicates() || undo.is_original_delayed(report.timestamp_echo)
    }

    /// All retransmissions were reported as duplicates (`tcp_try_undo_dsack`).
    fn undo_if_all_duplicates(&mut self, now: Instant) {
        if self.recovery.undo.are_all_duplicates() {
            self.rack.on_needless_recovery();
            self.undo(false, now);
            if self.recovery.state == State::Recovery {
                self.try_to_open(false, now);
            }
        }
    }

    /// A hole was filled by the original, not by its retransmission (`tcp_try_undo_partial`); true if nothing more is
    /// to be done.
    fn undo_partly(&mut self, report: &Report, now: Instant) -> bool {
        if self.recovery.undo.is_original_delayed(report.timestamp_echo) {
            self.take_reordering(report.prior_first);
            if self.scoreboard.retransmitted() > 0 {
                self.retransmit_with_this_ack(Retransmit::Never, now);
                return true;
            }
            self.forget_retransmissions_if_none_is_left();
            self.undo(true, now);
            self.keep_open(now);
        }
        false
    }

    /// `tcp_process_loss`.
    #[cold]
    fn continue_after_timeout(&mut self, report: &Report, now: Instant) {
        let is_recovered = self.scoreboard.first() >= self.recovery.high;
        if report.is_advance && self.may_undo(report) {
            self.undo_timeout(now);
            return;
        }
        if self.recovery.is_frto {
            if report.is_original_delivered {
                self.undo_timeout(now);
                return;
            }
            if self.scoreboard.next() > self.recovery.high {
                if report.is_sacked || !(report.updates_window || report.has_duplicate) {
                    self.recovery.is_frto = false;
                }
            } else if report.is_advance && !is_recovered {
                self.retransmit_with_this_ack(Retransmit::Last, now);
                self.recovery.is_frto = self.recovery.retransmit == Retransmit::Last;
                return;
            }
        }
        if is_recovered {
            self.undo_or_settle(report, now);
            self.return_to_open(now);
        }
    }

    /// What is new leaves with this ack; what the pacer holds back leaves as ever (`tcp_xmit_recovery`,
    /// `tcp_tsq_write`).
    fn retransmit_with_this_ack(&mut self, retransmit: Retransmit, now: Instant) {
        self.recovery.retransmit = if self.next_departure() <= now { retransmit } else { Retransmit::First };
    }

    /// `tcp_try_undo_loss`.
    fn undo_timeout(&mut self, now: Instant) {
        self.undo(true, now);
        self.recovery.timeouts = 0;
        self.recovery.is_frto = false;
        self.recovery.state = State::Open;
    }

    /// F-RTO found no new data to test with.
    #[cold]
    pub(super) fn give_up_frto(&mut self) {
        self.recovery.retransmit = Retransmit::First;
        self.recovery.is_frto = false;
    }

    /// `tcp_identify_packet_loss`.
    fn detect_losses(&mut self, report: &mut Report, now: Instant) {
        let retransmitted = self.scoreboard.retransmitted();
        let context = self.rack_context();
        let (scheme, stats) = (&mut self.scheme, &mut self.stats);
        let wait = self.rack.detect_if_advanced(&mut self.scoreboard, context, now, |segment| {
            stats.lost += 1;
            scheme.on_lost(&Lost { now, size: segment.length, packet: segment.scheme_state, is_timer: false });
        });
        if let Some(wait) = wait {
            self.set_reordering_timer(wait, now);
            report.needs_timer = false;
        }
        report.has_lost_retransmission |= self.scoreboard.retransmitted() < retransmitted;
    }

    fn rack_context(&self) -> Context {
        Context { state: self.recovery.state, srtt: self.rtt.srtt(), min_rtt: self.rtt.min_rtt() }
    }

    /// `tcp_enter_recovery`.
    #[cold]
    fn enter_recovery(&mut self, is_ecn_echo: bool, is_timer: bool, now: Instant) {
        self.forget_retransmissions_if_none_is_left();
        self.begin_undo();
        if self.recovery.is_reducing() {
            self.scheme.on_loss_while_reducing(&self.congestion(Cause::Loss, is_timer, now));
        } else {
            self.recovery.is_undo_barred = is_ecn_echo;
            self.begin_reduction(Cause::Loss, is_timer, now);
        }
        self.recovery.state = State::Recovery;
    }

    /// `tcp_init_undo`.
    fn begin_undo(&mut self) {
        let probes = u32::from(self.recovery.is_probing_with_old_data());
        self.recovery.undo.begin(self.scoreboard.first(), self.scoreboard.retransmitted() + probes);
    }

    /// `tcp_retrans_stamp_cleanup`.
    fn forget_retransmissions_if_none_is_left(&mut self) {
        if !self.scoreboard.has_retransmissions() {
            self.recovery.undo.forget_retransmissions();
        }
    }

    /// `tcp_init_cwnd_reduction`.
    fn begin_reduction(&mut self, cause: Cause, is_timer: bool, now: Instant) {
        self.recovery.high = self.scoreboard.next();
        self.recovery.probe_high = None;
        self.must_announce_reduction = true;
        self.scheme.on_congestion(&self.congestion(cause, is_timer, now));
    }

    fn congestion(&self, cause: Cause, is_timer: bool, now: Instant) -> Congestion {
        Congestion { now, cause, in_flight: self.scoreboard.in_flight(), is_timer }
    }

    /// `tcp_try_to_open`.
    fn try_to_open(&mut self, is_ecn_echo: bool, now: Instant) {
        self.forget_retransmissions_if_none_is_left();
        if is_ecn_echo && self.recovery.state < State::Cwr {
            self.recovery.undo.end();
            self.begin_reduction(Cause::Ecn, false, now);
            self.recovery.state = State::Cwr;
        }
        if self.recovery.state != State::Cwr {
            self.keep_open(now);
        }
    }

    /// `tcp_try_keep_open`.
    fn keep_open(&mut self, now: Instant) {
        let is_left = self.scoreboard.sacked() + self.scoreboard.lost() > 0;
        let has_holes = is_left || self.scoreboard.has_retransmissions();
        let state = if has_holes { State::Disorder } else { State::Open };
        if state != self.recovery.state {
            if self.recovery.is_reducing() {
                self.scheme.on_recovered(now);
            }
            self.recovery.state = state;
            self.recovery.high = self.scoreboard.next();
        }
    }

    /// An ack may tell whether a loss probe repaired something (`tcp_process_tlp_ack`).
    pub(super) fn on_ack_of_probe(&mut self, report: &Report, now: Instant) {
        let Some(high) = self.recovery.probe_high.filter(|high| report.cumulative >= *high) else { return };
        if !self.recovery.is_probe_retransmission || report.is_duplicate_of_probe {
            self.recovery.probe_high = None;
        } else if report.cumulative > high {
            // Both the original and the rest of the flight were gone: a loss that no duplicate ack could show.
            self.begin_reduction(Cause::TailLoss, false, now);
            self.recovery.state = State::Cwr;
            self.scheme.on_reduced(now);
            self.keep_open(now);
        } else if !report.updates_window && !report.is_sacked {
            self.recovery.probe_high = None;
        }
    }

    /// `tcp_retransmit_timer` and `tcp_enter_loss`.
    pub(super) fn on_retransmission_timeout(&mut self, now: Instant) {
        self.stats.timeouts += 1;
        let prior_in_flight = self.scoreboard.in_flight();
        let was = self.recovery.state;
        self.take_overdue_for_lost(now);
        let is_first = was <= State::Disorder
            || self.scoreboard.first() >= self.recovery.high
            || (was == State::Loss && self.recovery.timeouts == 0);
        if is_first {
            self.recovery.is_undo_barred = false;
            self.begin_undo();
        }
        if was <= State::Disorder {
            self.rack.on_timeout_in_disorder(self.scoreboard.sacked());
        }
        let may_test = was < State::Recovery || self.recovery.timeouts > 0;
        self.recovery.is_frto = self.loses_flight_at_timeout && may_test;
        self.recovery.retransmit = Retransmit::First;
        self.recovery.state = State::Loss;
        self.recovery.high = self.scoreboard.next();
        self.recovery.probe_high = None;
        self.recovery.timeouts += 1;
        self.must_announce_reduction = true;
        let (in_flight, next_sequence) = (self.scoreboard.in_flight(), self.scoreboard.next());
        self.scheme.on_timeout(&Timeout { now, prior_in_flight, in_flight, next_sequence, is_first });
        self.rtt.back_off();
        self.forced = Some(Forced::FirstSegment);
        self.restart_retransmission_timer(now);
    }

    /// `tcp_timeout_mark_lost`.
    fn take_overdue_for_lost(&mut self, now: Instant) {
        let takes_all = self.loses_flight_at_timeout;
        for sequence in self.scoreboard.first()..self.scoreboard.next() {
            let Some(segment) = self.scoreboard.get(sequence).copied() else { break };
            let is_first = sequence == self.scoreboard.first();
            let is_news = !segment.is_lost || segment.is_retransmitted;
            if is_news && !segment.is_sacked && (is_first || (takes_all && self.rack.is_overdue(&segment, now))) {
                self.scoreboard.mark_lost(sequence);
                self.stats.lost += 1;
                self.scheme.on_lost(&Lost { now, size: segment.length, packet: segment.scheme_state, is_timer: false });
            }
        }
    }

    /// Progress was made: the next timeout is the first again.
    pub(super) fn forget_timeouts(&mut self) {
        self.recovery.timeouts = 0;
    }

    /// `tcp_send_loss_probe`: new data if there is any, else the last segment again.
    pub(super) fn on_loss_probe_timeout(&mut self, now: Instant) {
        if self.recovery.probe_high.is_none() {
            self.forced = Some(Forced::Probe);
            self.timer = None;
        }
        self.rearm_retransmission_timer(now);
    }

    /// The probe has left.
    pub(super) fn on_probe_sent(&mut self, is_retransmission: bool) {
        self.stats.probes += 1;
        self.recovery.probe_high = Some(self.scoreboard.next());
        self.recovery.is_probe_retransmission = is_retransmission;
    }

    /// `tcp_rack_reo_timeout`.
    pub(super) fn on_reordering_timeout(&mut self, now: Instant) {
        let prior_in_flight = self.scoreboard.in_flight();
        let context = self.rack_context();
        let (scheme, stats) = (&mut self.scheme, &mut self.stats);
        // What may still be lost then waits for the next ack or the timeout.
        self.rack.detect(&mut self.scoreboard, context, now, |segment| {
            stats.lost += 1;
            scheme.on_lost(&Lost { now, size: segment.length, packet: segment.scheme_state, is_timer: true });
        });
        if prior_in_flight != self.scoreboard.in_flight() && self.recovery.state != State::Recovery {
            self.enter_recovery(false, true, now);
        }
        self.rearm_retransmission_timer(now);
    }
}

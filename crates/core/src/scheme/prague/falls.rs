//! How Prague falls, for marks and for losses, and what a loss that proves spurious gives back.
//!
//! **Source.** L4S project `net/ipv4/tcp_prague.c`; names of functions stand beside the parts.

use super::growth::in_parts;
use super::{MIN_WINDOW, Prague, State};
use crate::units::{Duration, Instant};

/// A second in those of the source that turn a rate into a window, which have 2^20 microseconds (`RTT2SEC_SHIFT`).
const SHORT_SECOND: f64 = 1e6 / (1 << 20) as f64;

/// What there was before a loss.
#[derive(Clone, Copy, Debug)]
pub(super) struct Before {
    cwnd: u32,
    window: f64,
    ssthresh: u32,
    srtt: Duration,
}

impl Prague {
    /// Whether a mark is to be answered although the transport still takes the last one for answered: the target is
    /// over, which is longer than a round trip.
    pub(super) fn is_answer_due(&self, now: Instant) -> bool {
        let Some((target, reduced)) = self.target().zip(self.reduced) else { return false };
        self.law.answers_by_target && !self.is_in_loss && self.srtt < target && now.since(reduced) >= target
    }

    /// The threshold to return to if what follows proves spurious (`tcp_current_ssthresh`).
    fn current_ssthresh(&self) -> u32 {
        if matches!(self.state, State::Cwr | State::Recovery) {
            self.ssthresh
        } else {
            self.ssthresh.max(self.cwnd / 2 + self.cwnd / 4)
        }
    }

    /// A loss begins that may prove spurious.
    pub(super) fn remember(&mut self) {
        let Self { cwnd, window, srtt, .. } = *self;
        self.before_loss = Some(Before { cwnd, window, ssthresh: self.current_ssthresh(), srtt });
    }

    /// In the first revision any fall moves the window that an undo returns to (`loss_cwnd`, in `prague_ssthresh`).
    pub(super) fn note_window_before_fall(&mut self) {
        if let Some(before) = &mut self.before_loss {
            before.cwnd = self.cwnd;
        }
    }

    /// The window when a loss is undone.
    fn undone_window(&self, before: &Before) -> f64 {
        let (window, average) = (self.window.max(before.window), self.average_srtt.unwrap_or_default());
        if !self.law.undoes_by_rate || average == 0.0 || self.srtt.is_zero() || before.srtt.is_zero() {
            return window;
        }
        let rate = self.window / self.srtt.as_secs_f64();
        rate.max(before.window / before.srtt.as_secs_f64()) * average * SHORT_SECOND
    }

    /// Half of it is what marks take from the window.
    pub(super) fn share(&self) -> f64 {
        let parts = 2_f64.powi(self.law.alpha_bits);
        let alpha = (self.alpha * parts).floor() / parts;
        self.detector.as_ref().map_or(alpha, |detector| alpha.max(detector.floor()))
    }

    /// `prague_enter_cwr`. A tail loss that a probe has repaired counts as a mark.
    pub(super) fn reduce(&mut self, now: Instant) {
        let is_early = |reduced: Instant| self.target().is_some_and(|target| now.since(reduced) < target);
        if self.reduced.is_some_and(is_early) {
            return;
        }
        self.reduced = Some(now);
        // Alpha is nothing before the first mark, which `grow` answers.
        let is_first = self.law.halves_at_first_mark && !self.has_answered_mark;
        let share = if is_first { 0.0 } else { self.share() };
        if self.law.counts_whole {
            self.window -= in_parts(f64::from(self.cwnd) * share / 2.0);
        } else {
            self.window = (self.window - in_parts(self.window * share / 2.0)).max(MIN_WINDOW);
        }
    }

    /// `prague_ssthresh` of the first revision: whole packets.
    pub(super) fn threshold_of_marks(&self) -> u32 {
        let reduction = f64::from(self.cwnd) * self.share() / 2.0;
        self.cwnd.saturating_sub(reduction.round() as u32).max(MIN_WINDOW as u32)
    }

    /// The threshold at which the transport begins a reduction (`prague_ssthresh`).
    pub(super) fn begin_fall(&mut self) {
        if self.law.raises_threshold {
            self.ssthresh = self.ssthresh.max(self.cwnd);
        }
        if let Some(detector) = &mut self.detector {
            detector.on_fall(self.ssthresh);
        }
    }

    /// `prague_enter_loss`, `prague_react_to_loss`.
    pub(super) fn enter_loss(&mut self) {
        if self.law.falls_after_rounds {
            self.ssthresh = (self.cwnd / 2).max(MIN_WINDOW as u32);
        } else {
            self.window = in_parts(self.window / 2.0).max(if self.law.counts_whole { f64::MIN } else { MIN_WINDOW });
            self.is_in_loss = true;
        }
    }

    /// `tcp_undo_cwnd_reduction`, `prague_cwnd_undo`.
    pub(super) fn undo(&mut self) {
        let Some(before) = self.before_loss.take() else { return };
        // Up to version 0.5 only the transport's return ends it.
        self.is_in_loss &= self.law.counts_whole;
        let apart = |window: f64, cwnd: u32| window - f64::from(cwnd);
        let changed = apart(self.window, self.cwnd) - apart(before.window, before.cwnd);
        let fraction = apart(self.window, self.cwnd) + changed;
        self.cwnd = self.cwnd.max(before.cwnd);
        self.ssthresh = self.ssthresh.max(before.ssthresh);
        if self.law.falls_after_rounds {
            self.set_cwnd(self.cwnd);
        } else if self.law.counts_whole {
            self.window = f64::from(self.cwnd) + fraction;
        } else {
            self.window = self.undone_window(&before);
        }
    }
}

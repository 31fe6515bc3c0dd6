//! Rounds of Prague: what ends one, and what alpha and growth are then.
//!
//! **Source.** L4S project `net/ipv4/tcp_prague.c`; names of functions stand beside the parts.

use super::{EcnFeedback, Prague};
use crate::units::Duration;

/// `PRAGUE_SHIFT_G`.
const GAIN: f64 = 1.0 / 16.0;
/// Round trips after slow start before a short one is made up for (version 0.7; 500 before).
pub(super) const TRANSITION: u32 = 4;
/// `HSRTT_SHIFT`.
const ROUND_TRIP_GAIN: f64 = 1.0 / 128.0;

/// Alpha after a round of which this share was marked, in parts as small as the source's (`upscaled_alpha`).
pub(super) fn corrected(alpha: f64, share: f64, bits: i32) -> f64 {
    let parts = 2_f64.powi(bits);
    let upscaled = alpha * parts / GAIN;
    ((upscaled - (upscaled * GAIN).floor() + (share * parts).floor()) * GAIN / parts).min(1.0)
}

impl Prague {
    /// The round trip to act as if it were, if there is one and its time has come (`prague_is_rtt_indep`).
    pub(super) fn target(&self) -> Option<Duration> {
        self.law.target.filter(|_| !self.is_in_slow_start() && self.rounds >= TRANSITION)
    }

    /// By how many packets a whole unmarked window makes it grow from now on (`prague_ai_ack_increase`).
    pub(super) fn choose_increase(&mut self) {
        self.increase = match self.law.target {
            Some(target) if self.rounds >= TRANSITION && !self.srtt.is_zero() && self.srtt < target => {
                (self.srtt.as_secs_f64() / target.as_secs_f64()).powi(2)
            }
            _ => 1.0,
        };
    }

    /// What of a round's packets was marked.
    fn share_of_round(&mut self, feedback: &EcnFeedback) -> f64 {
        if self.law.falls_after_rounds {
            return self.marked_bytes.take_share();
        }
        (feedback.marked - self.marked) as f64 / (feedback.delivered - self.delivered).max(1) as f64
    }

    /// A round is over, if it is (`prague_update_alpha`, `prague_new_round`).
    pub(super) fn end_round(&mut self, feedback: &EcnFeedback) {
        let is_due = self.target().is_none_or(|target| feedback.now.since(self.alpha_updated) >= target);
        if feedback.first_unacked < self.round_end || !is_due {
            return;
        }
        // The first revision averages before there are marks, too.
        if self.has_seen_mark || self.law.falls_after_rounds {
            let share = self.share_of_round(feedback);
            self.alpha = corrected(self.alpha, share, self.law.alpha_bits);
            self.alpha_updated = feedback.now;
            if let Some(detector) = &mut self.detector {
                detector.on_round(self.min_rtt);
            }
            if self.law.falls_after_rounds && share > 0.0 {
                self.note_window_before_fall();
                self.ssthresh = self.threshold_of_marks();
                self.set_cwnd(self.ssthresh);
            }
        }
        let srtt = self.srtt.as_secs_f64();
        self.average_srtt =
            Some(self.average_srtt.map_or(srtt, |average| average + (srtt - average) * ROUND_TRIP_GAIN));
        (self.round_end, self.delivered, self.marked) = (feedback.next_sequence, feedback.delivered, feedback.marked);
        self.rounds += u32::from(!self.is_in_slow_start());
        self.choose_increase();
    }
}

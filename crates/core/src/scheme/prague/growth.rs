//! How Prague grows, and how the window that the transport has follows.
//!
//! **Source.** L4S project `net/ipv4/tcp_prague.c`; names of functions stand beside the parts.

use super::{Ack, MIN_WINDOW, Prague};
use crate::scheme::window::INFINITE_SSTHRESH;

/// In whole parts of a packet as small as the source's (`CWND_UNIT`), so that three thirds fall short of a packet there
/// and here.
pub(super) fn in_parts(packets: f64) -> f64 {
    const PARTS: f64 = (1 << 20) as f64;
    (packets * PARTS).round() / PARTS
}

impl Prague {
    /// `prague_update_cwnd`.
    pub(super) fn grow(&mut self, ack: &Ack<'_>) {
        let marked = std::mem::take(&mut self.newly_marked);
        if marked > 0 && !std::mem::replace(&mut self.has_answered_mark, true) && self.law.halves_at_first_mark {
            self.window = in_parts(self.window / 2.0).max(MIN_WINDOW);
        }
        let is_suppressed = !self.law.grows_by_unmarked && marked > 0;
        let mut acked = if is_suppressed { 0 } else { ack.newly_delivered.saturating_sub(marked) };
        let may_grow = !self.is_in_loss || (self.law.grows_in_loss && self.ssthresh != INFINITE_SSTHRESH);
        if acked > 0 && may_grow && (ack.is_cwnd_limited || !ack.rate.is_app_limited) {
            if self.is_in_slow_start() {
                acked = self.slow_start(acked);
                if acked == 0 {
                    self.choose_increase();
                    return;
                }
            }
            self.add(f64::from(acked) * self.increase);
        }
        if self.law.falls_after_rounds {
            return;
        }
        let cwnd = self.cwnd;
        if self.law.counts_whole {
            self.follow_whole();
        } else {
            self.follow();
        }
        if self.cwnd != cwnd {
            self.choose_increase();
        }
    }

    /// `tcp_slow_start`; returns the packets left over.
    fn slow_start(&mut self, acked: u32) -> u32 {
        let grown = self.cwnd.saturating_add(acked).min(self.ssthresh);
        let left = acked - (grown - self.cwnd);
        if self.law.falls_after_rounds {
            self.set_cwnd(grown);
            return left;
        }
        let keeps = if self.law.keeps_falling { self.window - f64::from(self.cwnd) } else { 0.0 };
        (self.cwnd, self.window) = (grown, f64::from(grown) + keeps);
        left
    }

    /// Grows by the part of a packet that so many acknowledged ones are of the window.
    fn add(&mut self, acked: f64) {
        if self.law.falls_after_rounds {
            self.count(acked);
            return;
        }
        let per_round = if self.law.counts_whole { f64::from(self.cwnd) } else { self.window };
        let size = self.law.grows_by.map_or(1.0, |size| size.count() as f64 / self.packet_size.count() as f64);
        self.window += in_parts(acked * size / per_round);
    }

    /// One packet towards the fraction, rounded up.
    fn follow(&mut self) {
        let target = self.window.ceil() as u32;
        if self.cwnd > target {
            self.cwnd -= 1;
            self.ssthresh = self.cwnd;
        } else if self.cwnd < target {
            self.cwnd += 1;
        }
    }

    /// One packet towards the fraction, once they are one apart, as `prague_update_cwnd` ends up to version 0.5.
    fn follow_whole(&mut self) {
        let apart = self.window - f64::from(self.cwnd);
        if apart >= 1.0 {
            self.cwnd += 1;
        } else if apart <= -1.0 {
            self.cwnd -= 1;
            if f64::from(self.cwnd) < MIN_WINDOW {
                self.set_cwnd(MIN_WINDOW as u32);
            }
            self.ssthresh = self.cwnd;
        }
    }

    /// Sets a window without a fraction, but for what the first revision has counted.
    pub(super) fn set_cwnd(&mut self, cwnd: u32) {
        (self.cwnd, self.window) = (cwnd, f64::from(cwnd) + self.counted / f64::from(cwnd));
    }
}

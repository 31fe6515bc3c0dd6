//! The window of libutp.

use super::drift::Drift;
use super::history::DelayHistory;
use super::{TARGET, report_delays};
use crate::scheme::{Ack, Cause, Congestion, Feedback, Lost, Restart, Scheme, Timeout};
use crate::units::{Bytes, Duration, Instant};

/// Most that the window grows in a round trip, bytes (`MAX_CWND_INCREASE_BYTES_PER_RTT`).
const GAIN: f64 = 3_000.0;
/// Minutes of base delay (`DELAY_BASE_HISTORY`), and samples of current delay (`CUR_DELAY_SIZE`).
const BASE_BINS: usize = 13;
const CURRENT_SAMPLES: usize = 3;
/// The window is halved at most this often (`MAX_WINDOW_DECAY`).
const DECAY_INTERVAL: Duration = Duration::from_millis(100);
/// Smallest window, bytes (`MIN_WINDOW_SIZE`).
const MIN_WINDOW: u64 = 10;
/// Largest window, bytes: the send buffer (`opt_sndbuf`).
const MAX_WINDOW: u64 = 1 << 20;
/// The window grows only if it was the limit within this time.
const LIMITED_WITHIN: Duration = Duration::from_secs(1);
/// Shortest retransmission timeout, by which an idle sender's window decays.
const MIN_TIMEOUT: Duration = Duration::from_secs(1);

/// What `current_ms` counts in.
const CLOCK_UNIT: Duration = Duration::from_millis(1);

#[derive(Debug)]
pub(super) struct Libutp {
    mss: u64,
    window: u64,
    ssthresh: u64,
    is_slow_start: bool,
    history: DelayHistory,
    drift: Drift,
    last_decay: Option<Instant>,
    last_limited: Option<Instant>,
    /// A loss waits for the end of its ack.
    must_decay: bool,
    /// Window and slow start before a timeout that may still prove spurious.
    before_timeout: Option<(u64, bool)>,
}

impl Libutp {
    pub(super) fn new(mss: Bytes) -> Self {
        Self {
            mss: mss.count(),
            window: mss.count(),
            ssthresh: MAX_WINDOW,
            is_slow_start: true,
            history: DelayHistory::new(BASE_BINS, CURRENT_SAMPLES),
            drift: Drift::default(),
            last_decay: None,
            last_limited: None,
            must_decay: false,
            before_timeout: None,
        }
    }

    /// `apply_ccontrol`, at the whole millisecond `now`.
    fn control(&mut self, ack: &Ack<'_>, now: Instant) {
        // A queue cannot hold a packet for longer than its round trip; a base that says so is too low.
        let queueing = match ack.rtt {
            Some(rtt) if self.history.queueing_of_its_time() > rtt => {
                self.history.raise_base(self.history.queueing_of_its_time().saturating_sub(rtt));
                rtt
            }
            _ => self.history.queueing_of_its_time(),
        } + self.drift.penalty();
        let acked = ack.newly_delivered_bytes.count();
        let window_factor = acked.min(self.window) as f64 / acked.max(self.window) as f64;
        let off_target = TARGET.as_micros() as f64 - queueing.as_micros() as f64;
        let mut gain = GAIN * window_factor * off_target / TARGET.as_micros() as f64;
        if gain > 0.0 && self.last_limited.is_none_or(|limited| now.since(limited) > LIMITED_WITHIN) {
            gain = 0.0;
        }
        let controlled = ((self.window as f64 + gain) as u64).max(MIN_WINDOW);
        if self.is_slow_start {
            let slow_started = (self.window as f64 + window_factor * self.mss as f64) as u64;
            if slow_started > self.ssthresh {
                self.is_slow_start = false;
            } else if queueing.as_micros() > TARGET.scale(9, 10).as_micros() {
                self.is_slow_start = false;
                self.ssthresh = self.window;
            } else {
                self.window = slow_started.max(controlled);
            }
        } else {
            self.window = controlled;
        }
        self.window = self.window.clamp(MIN_WINDOW, MAX_WINDOW);
    }

    /// `maybe_decay_win`.
    fn decay(&mut self, now: Instant) {
        self.must_decay = false;
        if self.last_decay.is_some_and(|last| now.since(last) < DECAY_INTERVAL) {
            return;
        }
        self.last_decay = Some(now);
        self.window = (self.window / 2).max(MIN_WINDOW);
        self.is_slow_start = false;
        self.ssthresh = self.window;
    }
}

impl Scheme for Libutp {
    fn cwnd(&self) -> u32 {
        ((self.window / self.mss) as u32).max(1)
    }

    fn ssthresh(&self) -> Option<u32> {
        (self.ssthresh < MAX_WINDOW).then_some((self.ssthresh / self.mss) as u32)
    }

    /// uTP acknowledges every packet (`schedule_ack`).
    fn feedback(&self) -> Feedback {
        Feedback::EveryPacket
    }

    fn on_ack(&mut self, ack: &Ack<'_>) {
        let now = ack.now.truncated(CLOCK_UNIT);
        if ack.is_cwnd_limited {
            self.last_limited = Some(now);
        }
        if let Some(delay) = ack.one_way_delay.filter(|delay| !delay.is_zero()) {
            self.history.add(delay, now);
            self.drift.add(delay, now);
            if ack.newly_delivered > 0 {
                self.control(ack, now);
            }
        }
        if self.must_decay || ack.newly_lost > 0 {
            self.decay(now);
        }
    }

    /// The ack that shows it is taken first.
    fn on_congestion(&mut self, congestion: &Congestion) {
        self.must_decay |= congestion.cause != Cause::Ecn && !congestion.is_timer;
    }

    fn on_lost(&mut self, lost: &Lost) {
        if lost.is_timer {
            self.decay(lost.now.truncated(CLOCK_UNIT));
        }
    }

    fn on_timeout(&mut self, _timeout: &Timeout) {
        self.must_decay = false;
        self.before_timeout.get_or_insert((self.window, self.is_slow_start));
        self.window = self.mss;
        self.is_slow_start = true;
    }

    fn on_recovered(&mut self, _now: Instant) {
        self.before_timeout = None;
    }

    fn on_undo(&mut self, _now: Instant) {
        if let Some((window, is_slow_start)) = self.before_timeout.take() {
            self.window = self.window.max(window);
            self.is_slow_start = is_slow_start;
        }
    }

    /// While nothing is in flight the timer goes on expiring.
    fn on_restart(&mut self, restart: &Restart) {
        let mut timeout = restart.rto.max(MIN_TIMEOUT);
        let mut left = restart.idle;
        while left >= timeout && self.window > self.mss {
            self.window = (self.window * 2 / 3).max(self.mss);
            left = left.saturating_sub(timeout);
            timeout = timeout * 2;
        }
    }

    fn telemetry(&self, report: &mut dyn FnMut(&'static str, f64)) {
        report_delays(report, self.window as f64, self.history.queueing_of_its_time(), self.history.base());
    }
}

#[cfg(test)]
mod tests;

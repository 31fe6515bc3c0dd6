//! Copa as the paper describes it.

use super::extreme::Extreme;
use super::{LEAST_WINDOW, MOST_WINDOW, Shown, pace};
use crate::scheme::{Ack, Congestion, Feedback, INITIAL_WINDOW, Lost, Scheme, Timeout};
use crate::units::{Bytes, Duration, Instant, Rate};

/// For how long the shortest round trip is believed (section 2.1).
const MIN_RTT_LENGTH: Duration = Duration::from_secs(10);
/// Rounds in one direction before the velocity doubles (section 2.1).
const PATIENCE: u32 = 3;
/// The queue is nearly empty below this share of the longest delay of [`SWING_ROUNDS`] round trips, and others fill it
/// if it was not for [`MODE_ROUNDS`] (section 2.2).
const NEARLY_EMPTY: f64 = 0.1;
const SWING_ROUNDS: u64 = 4;
const MODE_ROUNDS: u64 = 5;

#[derive(Debug)]
pub(super) struct Paper {
    packet_size: Bytes,
    /// The window before a timeout that may prove spurious.
    before_timeout: f64,
    default_delta: f64,
    switches_mode: bool,
    delta: f64,
    window: f64,
    is_slow_start: bool,
    velocity: f64,
    is_up: bool,
    /// Rounds for which the direction has been the same.
    same_rounds: u32,
    /// A round ends when this segment is acknowledged in order; the window when it began.
    round_end: u64,
    round_window: f64,
    had_loss: bool,
    min_rtt: Extreme,
    standing_rtt: Extreme,
    max_rtt: Extreme,
    standing: Option<Duration>,
    queueing: Duration,
    is_competitive: bool,
    nearly_empty: Option<Instant>,
}

impl Paper {
    pub(super) fn new(packet_size: Bytes, delta: f64, switches_mode: bool) -> Self {
        let window = f64::from(INITIAL_WINDOW);
        Self {
            packet_size,
            before_timeout: 0.0,
            default_delta: delta,
            switches_mode,
            delta,
            window,
            is_slow_start: true,
            velocity: 1.0,
            is_up: true,
            same_rounds: 0,
            round_end: 0,
            round_window: window,
            had_loss: false,
            min_rtt: Extreme::least(),
            standing_rtt: Extreme::least(),
            max_rtt: Extreme::greatest(),
            standing: None,
            queueing: Duration::ZERO,
            is_competitive: false,
            nearly_empty: None,
        }
    }

    /// Takes a round trip; returns the standing one.
    fn measure(&mut self, rtt: Duration, srtt: Duration, now: Instant) -> Duration {
        let min = self.min_rtt.update(now, rtt, MIN_RTT_LENGTH);
        let standing = self.standing_rtt.update(now, rtt, srtt.scale(1, 2));
        let max = self.max_rtt.update(now, rtt, srtt * SWING_ROUNDS);
        self.queueing = standing.saturating_sub(min);
        self.standing = Some(standing);
        let swing = max.saturating_sub(min).as_secs_f64();
        let is_nearly_empty = self.queueing.as_secs_f64() <= NEARLY_EMPTY * swing;
        let since = *self.nearly_empty.get_or_insert(now);
        if is_nearly_empty {
            self.nearly_empty = Some(now);
        }
        let is_competitive = !is_nearly_empty && now.since(since) > srtt * MODE_ROUNDS;
        self.is_competitive = self.switches_mode && is_competitive;
        if !self.is_competitive {
            self.delta = self.default_delta;
        }
        standing
    }

    /// Once per round trip: velocity from the direction, and δ from the losses.
    fn end_round(&mut self, next_sequence: u64) {
        let is_up = self.window > self.round_window;
        self.same_rounds = if is_up == self.is_up { self.same_rounds + 1 } else { 0 };
        self.velocity = match self.same_rounds {
            0 => 1.0,
            rounds if rounds >= PATIENCE => self.velocity * 2.0,
            _ => self.velocity,
        };
        self.is_up = is_up;
        (self.round_end, self.round_window) = (next_sequence, self.window);
        let had_loss = std::mem::take(&mut self.had_loss);
        if self.is_competitive && !had_loss {
            self.delta = 1.0 / (1.0 / self.delta + 1.0);
        }
    }
}

impl Scheme for Paper {
    fn cwnd(&self) -> u32 {
        self.window as u32
    }

    fn feedback(&self) -> Feedback {
        Feedback::Numbered
    }

    fn pacing_rate(&self) -> Option<Rate> {
        pace(self.packet_size, 2.0 * self.window, self.standing?)
    }

    fn on_ack(&mut self, ack: &Ack<'_>) {
        if let Some(rtt) = ack.rtt {
            self.measure(rtt, ack.srtt, ack.now);
        }
        let Some(standing) = self.standing else { return };
        let acked = f64::from(ack.newly_delivered);
        // λ <= λ_t, with both sides multiplied by what may be zero.
        let is_below = self.window * self.delta * self.queueing.as_secs_f64() <= standing.as_secs_f64();
        self.is_slow_start &= is_below;
        if self.is_slow_start {
            self.window += acked;
            (self.round_end, self.round_window) = (ack.next_sequence, self.window);
        } else {
            self.velocity = self.velocity.min(self.window * self.delta).max(1.0);
            // The window at most doubles per round trip (section 2.1).
            let step = acked * (self.velocity / (self.delta * self.window)).min(1.0);
            self.window += if is_below { step } else { -step };
            if ack.first_unacked > self.round_end {
                self.end_round(ack.next_sequence);
            }
        }
        self.window = self.window.clamp(LEAST_WINDOW, MOST_WINDOW);
    }

    fn on_congestion(&mut self, _congestion: &Congestion) {}

    /// A round counts once, however much it loses.
    fn on_lost(&mut self, _lost: &Lost) {
        if !std::mem::replace(&mut self.had_loss, true) && self.is_competitive {
            self.delta = (self.delta * 2.0).min(self.default_delta);
        }
    }

    fn on_timeout(&mut self, _timeout: &Timeout) {
        self.before_timeout = self.before_timeout.max(self.window);
        self.window = LEAST_WINDOW;
        self.velocity = 1.0;
        self.same_rounds = 0;
        self.round_window = self.window;
    }

    fn on_recovered(&mut self, _now: Instant) {
        self.before_timeout = 0.0;
    }

    fn on_undo(&mut self, _now: Instant) {
        self.window = self.window.max(std::mem::take(&mut self.before_timeout));
    }

    fn telemetry(&self, report: &mut dyn FnMut(&'static str, f64)) {
        let Self { is_slow_start, is_competitive, delta, velocity, queueing, .. } = *self;
        Shown { is_slow_start, is_competitive, delta, velocity, queueing }.report(report);
    }
}

#[cfg(test)]
mod tests;

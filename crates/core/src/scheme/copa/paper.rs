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
mod tests {
    use super::super::testing::{ack, at};
    use super::*;
    use crate::scheme::window::timeout;

    const LOST: Lost = Lost { now: Instant::ZERO, size: Bytes::new(1_448), packet: 0 };

    /// Past slow start with 40 packets on a path of 100 ms.
    fn sender() -> Paper {
        let mut paper = Paper::new(Bytes::new(1_500), 0.5, true);
        paper.on_ack(&ack(0, 100, 0));
        (paper.window, paper.is_slow_start) = (40.0, false);
        paper
    }

    #[test]
    fn the_window_moves_towards_one_over_delta_packets_in_the_queue() {
        // At 110 ms, 40 packets keep 40 x 10 / 110 = 3.6 in the queue; at 105 ms, 1.9.
        for (rtt_ms, change) in [(110, -1.0), (105, 1.0), (100, 1.0)] {
            let mut paper = sender();
            paper.on_ack(&ack(1_000, rtt_ms, 1));
            assert!((paper.window - 40.0 - change * 1.0 / (0.5 * 40.0)).abs() < 1e-9, "{rtt_ms} ms: {}", paper.window);
        }
    }

    #[test]
    fn slow_start_doubles_until_the_rate_is_above_its_target() {
        let mut paper = Paper::new(Bytes::new(1_500), 0.5, true);
        (0..10).for_each(|n| paper.on_ack(&ack(n, 100, n)));
        assert_eq!(paper.cwnd(), 20);
        paper.on_ack(&ack(1_000, 200, 10));
        assert!(!paper.is_slow_start && paper.window < 20.0);
    }

    #[test]
    fn the_velocity_doubles_from_the_third_round_in_one_direction_and_starts_again_in_the_other() {
        let mut paper = sender();
        (paper.window, paper.round_window) = (400.0, 400.0);
        let mut velocities = Vec::new();
        for (round, rtt_ms) in [100, 100, 100, 100, 100, 300, 300].into_iter().enumerate() {
            paper.on_ack(&ack(1_000 + 200 * round as u64, rtt_ms, paper.round_end));
            velocities.push(paper.velocity);
        }
        assert_eq!(velocities, [1.0, 1.0, 2.0, 4.0, 8.0, 1.0, 1.0]);
    }

    #[test]
    fn an_ack_moves_the_window_by_a_packet_at_most() {
        let mut paper = sender();
        paper.velocity = 1e6;
        paper.on_ack(&ack(1_000, 100, 1));
        assert!((paper.window - 41.0).abs() < 1e-9, "{}", paper.window);
        // Where δ is so small that even a velocity of one is more.
        (paper.window, paper.delta, paper.default_delta) = (10.0, 0.05, 0.05);
        paper.on_ack(&ack(2_000, 100, 2));
        assert!((paper.window - 11.0).abs() < 1e-9, "{}", paper.window);
    }

    #[test]
    fn a_queue_that_is_never_nearly_empty_brings_the_competitive_mode_and_an_empty_one_ends_it() {
        let mut paper = sender();
        for n in 1..=20 {
            paper.on_ack(&ack(100 * n, 150 + 10 * (n % 2), 200 * n));
        }
        assert!(paper.is_competitive);
        assert!(paper.delta < 0.5, "{}", paper.delta);
        let before = paper.delta;
        (0..2).for_each(|_| paper.on_lost(&LOST));
        assert!((paper.delta - 2.0 * before).abs() < 1e-9, "once in a round");
        paper.on_ack(&ack(2_300, 160, paper.round_end));
        assert!((paper.delta - 2.0 * before).abs() < 1e-9, "no growth after a round with a loss");
        paper.on_lost(&LOST);
        assert!((paper.delta - 4.0 * before).abs() < 1e-9, "{}", paper.delta);
        paper.on_ack(&ack(2_400, 101, 10_000));
        assert!(!paper.is_competitive && (paper.delta - 0.5).abs() < 1e-9);
        let mut constant = Paper { switches_mode: false, ..sender() };
        (1..=20).for_each(|n| constant.on_ack(&ack(100 * n, 150, 200 * n)));
        assert!(!constant.is_competitive);
    }

    #[test]
    fn after_a_timeout_the_window_has_no_direction_yet() {
        let mut paper = sender();
        (paper.same_rounds, paper.velocity, paper.round_window) = (5, 8.0, 40.0);
        paper.on_timeout(&Timeout { now: at(500), prior_in_flight: 40, ..timeout(true) });
        assert_eq!((paper.cwnd(), paper.velocity, paper.same_rounds), (2, 1.0, 0));
        // The window has grown since then, though it is below that of before.
        paper.on_ack(&ack(700, 100, paper.round_end));
        assert!(paper.is_up && paper.window < 40.0);
    }

    #[test]
    fn losses_do_not_count_in_the_default_mode() {
        let mut paper = sender();
        paper.on_lost(&LOST);
        assert_eq!((paper.cwnd(), paper.delta), (40, 0.5));
    }

    #[test]
    fn two_windows_are_paced_over_the_standing_round_trip() {
        let mut paper = sender();
        paper.on_ack(&ack(1_000, 100, 1));
        paper.window = 40.0;
        // 80 packets of 12000 bits in 100 ms.
        assert_eq!(paper.pacing_rate(), Some(Rate::from_bits_per_second(9_600_000)));
    }
}

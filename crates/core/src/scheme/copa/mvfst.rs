//! Copa as mvfst runs it (`quic/congestion_control/Copa.cpp`; its function names stand beside the parts).

use super::extreme::Extreme;
use super::{LEAST_WINDOW, Shown, pace};
use crate::scheme::{Ack, Congestion, Feedback, INITIAL_WINDOW, Scheme, Timeout};
use crate::units::{Bytes, Duration, Instant, Rate};

/// For how long the shortest round trip is believed (`kMinRTTWindowLength`).
const MIN_RTT_LENGTH: Duration = Duration::from_secs(10);
/// Rounds in one direction before the velocity doubles (`velocityDirectionThreshold`).
const PATIENCE: u32 = 3;
/// The largest window unless the application sets another, packets (`kDefaultMaxCwndInMss`).
const MOST_WINDOW: f64 = 2_000.0;
/// A limit that mvfst lacks; nothing moves faster.
const MOST_VELOCITY: f64 = 1_048_576.0;

#[derive(Debug)]
pub(super) struct Mvfst {
    packet_size: Bytes,
    /// The window before a timeout that may prove spurious.
    before_timeout: f64,
    delta: f64,
    window: f64,
    is_slow_start: bool,
    last_doubling: Option<Instant>,
    velocity: f64,
    /// `None` at first (`Direction::None`).
    is_up: Option<bool>,
    same_rounds: u32,
    /// When the direction was looked at, and the window then.
    recorded: Option<(Instant, f64)>,
    min_rtt: Extreme,
    standing_rtt: Extreme,
    srtt: Option<Duration>,
    latest_rtt: Option<Duration>,
    queueing: Duration,
}

impl Mvfst {
    pub(super) fn new(packet_size: Bytes, delta: f64) -> Self {
        Self {
            packet_size,
            before_timeout: 0.0,
            delta,
            window: f64::from(INITIAL_WINDOW),
            is_slow_start: true,
            last_doubling: None,
            velocity: 1.0,
            is_up: None,
            same_rounds: 0,
            recorded: None,
            min_rtt: Extreme::least(),
            standing_rtt: Extreme::least(),
            srtt: None,
            latest_rtt: None,
            queueing: Duration::ZERO,
        }
    }

    /// `checkAndUpdateDirection`.
    fn check_direction(&mut self, now: Instant, srtt: Duration) {
        let (since, window) = *self.recorded.get_or_insert((now, self.window));
        if since == now || now.since(since) < srtt {
            return;
        }
        let is_up = Some(self.window > window);
        if is_up == self.is_up {
            self.same_rounds += 1;
            if self.same_rounds >= PATIENCE {
                self.velocity = (self.velocity * 2.0).min(MOST_VELOCITY);
            }
        } else {
            (self.velocity, self.same_rounds) = (1.0, 0);
        }
        self.is_up = is_up;
        self.recorded = Some((now, self.window));
    }

    /// `changeDirection`, where the velocity still belongs to the other one.
    fn turn(&mut self, is_up: bool, now: Instant) {
        if self.is_up != Some(is_up) && self.velocity > 1.0 {
            (self.is_up, self.velocity, self.same_rounds) = (Some(is_up), 1.0, 0);
            self.recorded = Some((now, self.window));
        }
    }

    fn double_once_per_round(&mut self, now: Instant, srtt: Duration) {
        let last = *self.last_doubling.get_or_insert(now);
        if now.since(last) > srtt {
            self.window *= 2.0;
            self.last_doubling = Some(now);
        }
    }
}

impl Scheme for Mvfst {
    fn cwnd(&self) -> u32 {
        self.window as u32
    }

    fn feedback(&self) -> Feedback {
        Feedback::Numbered
    }

    fn pacing_rate(&self) -> Option<Rate> {
        pace(self.packet_size, 2.0 * self.window, self.srtt?)
    }

    /// `onPacketAcked`.
    fn on_ack(&mut self, ack: &Ack<'_>) {
        // An ack that times nothing is taken for as old as the last one (`lrtt`).
        let Some(rtt) = ack.rtt.or(self.latest_rtt) else { return };
        self.latest_rtt = Some(rtt);
        self.srtt = Some(ack.srtt);
        let min = self.min_rtt.update(ack.now, rtt, MIN_RTT_LENGTH);
        let standing = self.standing_rtt.update(ack.now, rtt, ack.srtt.scale(1, 2));
        self.queueing = rtt.saturating_sub(min);
        let is_below = self.window * self.delta * self.queueing.as_secs_f64() <= standing.as_secs_f64();
        if !(is_below && self.is_slow_start) {
            self.check_direction(ack.now, ack.srtt);
        }
        if is_below && self.is_slow_start {
            self.double_once_per_round(ack.now, ack.srtt);
        } else {
            self.is_slow_start = false;
            self.turn(is_below, ack.now);
            let step = f64::from(ack.newly_delivered) * self.velocity / (self.delta * self.window);
            self.window += if is_below { step } else { -step };
        }
        self.window = self.window.clamp(LEAST_WINDOW, MOST_WINDOW);
    }

    fn on_congestion(&mut self, _congestion: &Congestion) {}

    /// As after persistent congestion (`onPacketLoss`).
    fn on_timeout(&mut self, _timeout: &Timeout) {
        self.before_timeout = self.before_timeout.max(self.window);
        self.window = LEAST_WINDOW;
    }

    fn on_recovered(&mut self, _now: Instant) {
        self.before_timeout = 0.0;
    }

    fn on_undo(&mut self, _now: Instant) {
        self.window = self.window.max(std::mem::take(&mut self.before_timeout));
    }

    fn telemetry(&self, report: &mut dyn FnMut(&'static str, f64)) {
        let Self { is_slow_start, delta, velocity, queueing, .. } = *self;
        Shown { is_slow_start, is_competitive: false, delta, velocity, queueing }.report(report);
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::ack;
    use super::*;

    /// Past slow start with 40 packets on a path of 100 ms.
    fn sender() -> Mvfst {
        let mut mvfst = Mvfst::new(Bytes::new(1_500), 0.05);
        mvfst.on_ack(&ack(0, 100, 0));
        (mvfst.window, mvfst.is_slow_start) = (40.0, false);
        mvfst
    }

    #[test]
    fn an_ack_that_times_nothing_counts_as_the_last_one_did() {
        let windows = [Some(200), None].map(|rtt| {
            let mut mvfst = sender();
            mvfst.on_ack(&ack(1_000, 200, 1));
            let before = mvfst.window;
            mvfst.on_ack(&Ack { rtt: rtt.map(Duration::from_millis), ..ack(1_001, 200, 2) });
            mvfst.window - before
        });
        assert!(windows[0].abs() > 0.1 && (windows[0] - windows[1]).abs() < 1e-9, "{windows:?}");
    }

    #[test]
    fn slow_start_doubles_at_once_after_more_than_a_round_trip() {
        let mut mvfst = Mvfst::new(Bytes::new(1_500), 0.05);
        let windows: Vec<_> = [0, 50, 100, 101, 201, 202]
            .map(|millis| {
                mvfst.on_ack(&ack(millis, 100, millis));
                mvfst.cwnd()
            })
            .to_vec();
        assert_eq!(windows, [10, 10, 10, 20, 20, 40]);
    }

    #[test]
    fn slow_start_ends_its_growth_at_2000_packets() {
        let mut mvfst = Mvfst::new(Bytes::new(1_500), 0.05);
        let windows: Vec<_> = (0..10)
            .map(|round| {
                mvfst.on_ack(&ack(101 * round, 100, round));
                mvfst.cwnd()
            })
            .collect();
        assert_eq!(windows, [10, 20, 40, 80, 160, 320, 640, 1_280, 2_000, 2_000]);
    }

    #[test]
    fn twenty_packets_are_kept_in_the_queue() {
        // 40 packets at 200 ms keep 20 in the queue, at 201 ms more.
        for (rtt_ms, change) in [(200, 0.5), (201, -0.5)] {
            let mut mvfst = sender();
            mvfst.on_ack(&ack(1_000, rtt_ms, 1));
            assert!((mvfst.window - 40.0 - change).abs() < 1e-9, "{rtt_ms} ms: {}", mvfst.window);
        }
    }

    #[test]
    fn the_velocity_doubles_after_three_rounds_and_is_one_as_soon_as_the_need_turns() {
        let mut mvfst = sender();
        let mut velocities = Vec::new();
        for (round, rtt_ms) in [100, 100, 100, 100, 100, 100, 100, 900].into_iter().enumerate() {
            mvfst.on_ack(&ack(1_000 + 150 * round as u64, rtt_ms, round as u64));
            velocities.push(mvfst.velocity);
        }
        assert_eq!(velocities, [1.0, 1.0, 1.0, 1.0, 2.0, 4.0, 8.0, 1.0]);
    }
}

//! Copa as mvfst runs it (`quic/congestion_control/Copa.cpp`; its function names stand beside the parts): bytes and
//! microseconds in whole numbers.

use super::{Shown, pace};
use crate::scheme::quic::{PacketSize, WindowedMin};
use crate::scheme::{Ack, Congestion, Feedback, INITIAL_WINDOW, Scheme, Timeout};
use crate::units::{Bytes, Duration, Instant, Rate};

/// For how long the shortest round trip is believed, microseconds (`kMinRTTWindowLength`).
const MIN_RTT_LENGTH: u64 = 10_000_000;
/// The same of the shortest recent one until a round trip is known.
const FIRST_STANDING_LENGTH: u64 = 100_000;
/// Rounds in one direction before the velocity doubles (`velocityDirectionThreshold`).
const PATIENCE: u32 = 3;
/// The smallest window, packets (`kMinCwndInMss`), and the largest unless the application sets another
/// (`kDefaultMaxCwndInMss`).
const LEAST_PACKETS: u64 = 2;
const MOST_PACKETS: u64 = 2_000;
/// A limit that mvfst lacks; nothing moves faster.
const MOST_VELOCITY: u64 = 1 << 20;

#[derive(Debug)]
pub(super) struct Mvfst {
    packet_size: Bytes,
    size: PacketSize,
    /// The window before a timeout that may prove spurious.
    before_timeout: u64,
    delta: f64,
    /// Bytes (`cwndBytes_`).
    window: u64,
    is_slow_start: bool,
    last_doubling: Option<Instant>,
    velocity: u64,
    /// `None` at first (`Direction::None`).
    is_up: Option<bool>,
    same_rounds: u32,
    /// When the direction was looked at, and the window then.
    recorded: Option<(Instant, u64)>,
    min_rtt: WindowedMin,
    standing_rtt: WindowedMin,
    srtt: Option<Duration>,
    /// Microseconds (`lrtt`).
    latest_rtt: Option<u64>,
    queueing: Duration,
}

impl Mvfst {
    pub(super) fn new(packet_size: Bytes, mss: Bytes, delta: f64) -> Self {
        let size = PacketSize::of(packet_size, mss);
        Self {
            packet_size,
            size,
            before_timeout: 0,
            delta,
            window: u64::from(INITIAL_WINDOW) * size.counted,
            is_slow_start: true,
            last_doubling: None,
            velocity: 1,
            is_up: None,
            same_rounds: 0,
            recorded: None,
            min_rtt: WindowedMin::new(MIN_RTT_LENGTH),
            standing_rtt: WindowedMin::new(FIRST_STANDING_LENGTH),
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
                self.velocity = (self.velocity * 2).min(MOST_VELOCITY);
            }
        } else {
            (self.velocity, self.same_rounds) = (1, 0);
        }
        self.is_up = is_up;
        self.recorded = Some((now, self.window));
    }

    /// `changeDirection`, where the velocity still belongs to the other one.
    fn turn(&mut self, is_up: bool, now: Instant) {
        if self.is_up != Some(is_up) && self.velocity > 1 {
            (self.is_up, self.velocity, self.same_rounds) = (Some(is_up), 1, 0);
            self.recorded = Some((now, self.window));
        }
    }

    fn double_once_per_round(&mut self, now: Instant, srtt: Duration) {
        let last = *self.last_doubling.get_or_insert(now);
        if now.since(last) > srtt {
            self.window *= 2;
            self.last_doubling = Some(now);
        }
    }

    /// Towards the target by what the acks of so many packets are worth, in whole bytes.
    fn step(&mut self, is_up: bool, packets: u32) {
        let size = self.size.counted;
        let product = u64::from(packets) * size * size * self.velocity;
        let step = (product as f64 / (self.delta * self.window as f64)) as u64;
        self.window = if is_up { self.window + step } else { self.window.saturating_sub(step) };
    }

    /// The target rate is no less than the current one.
    fn is_below_target(&self, standing: u64, queueing: u64) -> bool {
        let target = self.size.counted as f64 * 1e6 / (self.delta * queueing as f64);
        queueing == 0 || target >= self.window as f64 * 1e6 / standing as f64
    }
}

impl Scheme for Mvfst {
    fn cwnd(&self) -> u32 {
        self.size.packets(self.window)
    }

    fn feedback(&self) -> Feedback {
        Feedback::Numbered
    }

    /// Two windows of whole packets in a round trip (`calculatePacingRate`).
    fn pacing_rate(&self) -> Option<Rate> {
        let packets = (2 * self.window / self.size.counted).max(LEAST_PACKETS);
        pace(self.packet_size, packets as f64, self.srtt?)
    }

    /// `onPacketAcked`.
    fn on_ack(&mut self, ack: &Ack<'_>) {
        // An ack that times nothing is taken for as old as the last one (`lrtt`).
        let timed = ack.rtt.map(|rtt| rtt.as_nanos().div_ceil(1_000));
        let Some(rtt) = timed.filter(|rtt| *rtt > 0).or(self.latest_rtt).filter(|_| ack.newly_delivered > 0) else {
            return;
        };
        let (now, srtt) = (ack.now, Duration::from_micros(ack.srtt.as_micros()));
        (self.latest_rtt, self.srtt) = (Some(rtt), Some(srtt));
        self.min_rtt.update(now.as_micros(), rtt);
        self.standing_rtt.set_window(srtt.as_micros() / 2);
        self.standing_rtt.update(now.as_micros(), rtt);
        let queueing = rtt - self.min_rtt.get().min(rtt);
        self.queueing = Duration::from_micros(queueing);
        let is_below = self.is_below_target(self.standing_rtt.get(), queueing);
        if is_below && self.is_slow_start {
            self.double_once_per_round(now, srtt);
        } else {
            self.check_direction(now, srtt);
            self.is_slow_start = false;
            self.turn(is_below, now);
            self.step(is_below, ack.newly_delivered);
        }
        let size = self.size.counted;
        self.window = self.window.clamp(LEAST_PACKETS * size, MOST_PACKETS * size);
    }

    fn on_congestion(&mut self, _congestion: &Congestion) {}

    /// As after persistent congestion (`onPacketLoss`).
    fn on_timeout(&mut self, _timeout: &Timeout) {
        self.before_timeout = self.before_timeout.max(self.window);
        self.window = LEAST_PACKETS * self.size.counted;
    }

    fn on_recovered(&mut self, _now: Instant) {
        self.before_timeout = 0;
    }

    fn on_undo(&mut self, _now: Instant) {
        self.window = self.window.max(std::mem::take(&mut self.before_timeout));
    }

    fn telemetry(&self, report: &mut dyn FnMut(&'static str, f64)) {
        let Self { is_slow_start, delta, velocity, queueing, .. } = *self;
        let velocity = velocity as f64;
        Shown { is_slow_start, is_competitive: false, delta, velocity, queueing }.report(report);
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::ack;
    use super::*;

    const SIZE: u64 = 1_472;

    fn fresh() -> Mvfst {
        Mvfst::new(Bytes::new(1_500), Bytes::new(1_448), 0.05)
    }

    /// Past slow start with 40 packets on a path of 100 ms.
    fn sender() -> Mvfst {
        let mut mvfst = fresh();
        mvfst.on_ack(&ack(0, 100, 0));
        (mvfst.window, mvfst.is_slow_start) = (40 * SIZE, false);
        mvfst
    }

    #[test]
    fn an_ack_that_times_nothing_counts_as_the_last_one_did() {
        let windows = [Some(200), None].map(|rtt| {
            let mut mvfst = sender();
            mvfst.on_ack(&ack(1_000, 200, 1));
            let before = mvfst.window;
            mvfst.on_ack(&Ack { rtt: rtt.map(Duration::from_millis), ..ack(1_001, 200, 2) });
            mvfst.window.abs_diff(before)
        });
        assert!(windows[0] > SIZE / 10 && windows[0] == windows[1], "{windows:?}");
    }

    #[test]
    fn the_shortest_round_trip_is_one_of_three_that_are_remembered() {
        let mut mvfst = fresh();
        let samples = [(0, 100), (1_000, 150), (3_000, 200), (4_000, 180), (10_000, 300), (10_500, 300)];
        let queueing = samples.map(|(millis, rtt_ms)| {
            mvfst.on_ack(&ack(millis, rtt_ms, millis));
            mvfst.queueing.as_millis()
        });
        // When that of the beginning is too old, the one at one second has long been forgotten.
        assert_eq!(queueing, [0, 50, 100, 80, 300 - 100, 300 - 180]);
    }

    #[test]
    fn a_round_trip_counts_in_microseconds_rounded_up() {
        let mut mvfst = sender();
        let rtt = Duration::from_nanos(100_000_001);
        mvfst.on_ack(&Ack { rtt: Some(rtt), ..ack(1_000, 100, 1) });
        assert_eq!(mvfst.queueing, Duration::from_micros(1));
    }

    #[test]
    fn an_ack_of_nothing_new_is_not_heard() {
        let mut mvfst = sender();
        mvfst.on_ack(&Ack { newly_delivered: 0, ..ack(1_000, 900, 1) });
        assert_eq!((mvfst.queueing, mvfst.recorded), (Duration::ZERO, None));
    }

    #[test]
    fn slow_start_doubles_at_once_after_more_than_a_round_trip() {
        let mut mvfst = fresh();
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
        let mut mvfst = fresh();
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
        for (rtt_ms, window) in [(200, 40 * SIZE + SIZE / 2), (201, 40 * SIZE - SIZE / 2)] {
            let mut mvfst = sender();
            mvfst.on_ack(&ack(1_000, rtt_ms, 1));
            assert_eq!(mvfst.window, window, "{rtt_ms} ms");
        }
    }

    #[test]
    fn a_begun_packet_leaves_and_is_not_paced() {
        let mut mvfst = sender();
        mvfst.window = 40 * SIZE + 1;
        assert_eq!(mvfst.cwnd(), 41);
        // Twice 40 packets of 1500 bytes in 100 ms.
        let rates = [1, SIZE / 2].map(|more| {
            mvfst.window = 40 * SIZE + more;
            mvfst.pacing_rate().map(Rate::as_bits_per_second)
        });
        assert_eq!(rates, [Some(9_600_000), Some(9_720_000)]);
    }

    #[test]
    fn a_step_is_of_whole_bytes() {
        let mut mvfst = sender();
        mvfst.window = 39 * SIZE;
        mvfst.on_ack(&ack(1_000, 100, 1));
        // 1472 / (0.05 x 39) = 754.9
        assert_eq!(mvfst.window, 39 * SIZE + 754);
    }

    #[test]
    fn the_velocity_doubles_after_three_rounds_and_is_one_as_soon_as_the_need_turns() {
        let mut mvfst = sender();
        let mut velocities = Vec::new();
        for (round, rtt_ms) in [100, 100, 100, 100, 100, 100, 100, 900].into_iter().enumerate() {
            mvfst.on_ack(&ack(1_000 + 150 * round as u64, rtt_ms, round as u64));
            velocities.push(mvfst.velocity);
        }
        assert_eq!(velocities, [1, 1, 1, 1, 2, 4, 8, 1]);
    }
}

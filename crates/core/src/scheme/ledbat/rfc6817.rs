//! The window of RFC 6817, section 2.4.2.

use super::history::DelayHistory;
use super::{TARGET, report_delays};
use crate::scheme::{Ack, Cause, Congestion, Scheme, Timeout};
use crate::units::{Bytes, Instant};

/// Packets that the window grows by in a round trip without a queue.
const GAIN: f64 = 1.0;
/// Minutes of base delay, and samples of current delay.
const BASE_HISTORY: usize = 10;
const CURRENT_FILTER: usize = 4;
/// Initial and smallest window, packets.
const INIT_CWND: f64 = 2.0;
const MIN_CWND: f64 = 2.0;
/// How far the window may exceed what is in flight, packets.
const ALLOWED_INCREASE: f64 = 1.0;

#[derive(Debug)]
pub(super) struct Rfc6817 {
    mss: f64,
    /// Bytes.
    window: f64,
    /// The window before a timeout that may still prove spurious.
    before_timeout: Option<f64>,
    history: DelayHistory,
}

impl Rfc6817 {
    pub(super) fn new(mss: Bytes) -> Self {
        let mss = mss.count() as f64;
        let history = DelayHistory::new(BASE_HISTORY, CURRENT_FILTER);
        Self { mss, window: INIT_CWND * mss, before_timeout: None, history }
    }
}

impl Scheme for Rfc6817 {
    fn cwnd(&self) -> u32 {
        ((self.window / self.mss) as u32).max(1)
    }

    fn on_ack(&mut self, ack: &Ack<'_>) {
        let Some(delay) = ack.one_way_delay else { return };
        self.history.add(delay, ack.now);
        let off_target = 1.0 - self.history.queueing().as_secs_f64() / TARGET.as_secs_f64();
        let acked = ack.newly_delivered_bytes.count() as f64;
        let grown = self.window + GAIN * off_target * acked * self.mss / self.window;
        let allowed = (f64::from(ack.prior_in_flight) + ALLOWED_INCREASE) * self.mss;
        self.window = grown.min(allowed).max(MIN_CWND * self.mss);
    }

    fn on_congestion(&mut self, congestion: &Congestion) {
        if congestion.cause != Cause::Ecn {
            self.window = (self.window / 2.0).max(MIN_CWND * self.mss).min(self.window);
        }
    }

    fn on_timeout(&mut self, _timeout: &Timeout) {
        self.before_timeout.get_or_insert(self.window);
        self.window = self.mss;
    }

    fn on_recovered(&mut self, _now: Instant) {
        self.before_timeout = None;
    }

    fn on_undo(&mut self, _now: Instant) {
        if let Some(window) = self.before_timeout.take() {
            self.window = self.window.max(window);
        }
    }

    fn telemetry(&self, report: &mut dyn FnMut(&'static str, f64)) {
        report_delays(report, self.window, self.history.queueing(), self.history.base());
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{MSS, ack};
    use super::*;
    use crate::scheme::window::timeout;
    use crate::units::Duration;

    const BASE: Duration = Duration::from_millis(20);

    fn sender(packets: f64) -> Rfc6817 {
        let mut sender = Rfc6817::new(Bytes::new(MSS));
        sender.history.add(BASE, Instant::ZERO);
        sender.window = packets * sender.mss;
        sender
    }

    /// Packets gained in a round trip with this much queueing delay.
    fn change_per_round(millis: u64) -> f64 {
        let mut sender = sender(100.0);
        let delay = BASE + Duration::from_millis(millis);
        for _ in 0..CURRENT_FILTER {
            sender.history.add(delay, Instant::ZERO);
        }
        for _ in 0..100 {
            sender.on_ack(&ack(Instant::ZERO, delay));
        }
        sender.window / sender.mss - 100.0
    }

    #[test]
    fn it_gains_a_packet_per_round_trip_at_zero_delay_and_in_proportion_above() {
        for (millis, packets) in [(0, 1.0), (50, 0.5), (100, 0.0), (200, -1.0)] {
            assert!((change_per_round(millis) - packets).abs() < 0.02, "{millis} ms: {}", change_per_round(millis));
        }
    }

    #[test]
    fn it_begins_with_two_packets_four_samples_of_delay_and_ten_minutes_of_base() {
        let mut sender = Rfc6817::new(Bytes::new(MSS));
        assert_eq!(sender.cwnd(), 2);
        let delay = BASE + Duration::from_millis(50);
        sender.history.add(BASE, Instant::ZERO);
        for queueing_ms in [0, 0, 0, 50] {
            sender.on_ack(&ack(Instant::ZERO, delay));
            assert_eq!(sender.history.queueing().as_millis(), queueing_ms);
        }
        let forgotten = (1..2_000_u64).find(|second| {
            sender.on_ack(&ack(Instant::ZERO + Duration::from_secs(*second), delay));
            sender.history.base() == Some(delay)
        });
        // A minute ends with the first sample after it.
        assert_eq!(forgotten, Some(10 * 61));
    }

    #[test]
    fn it_stays_within_a_packet_of_what_is_in_flight() {
        let mut sender = sender(100.0);
        let mut idle = ack(Instant::ZERO, BASE);
        idle.prior_in_flight = 30;
        sender.on_ack(&idle);
        assert_eq!(sender.cwnd(), 31);
        idle.prior_in_flight = 0;
        sender.on_ack(&idle);
        assert_eq!(sender.cwnd(), 2);
    }

    #[test]
    fn a_loss_halves_down_to_two_and_a_timeout_leaves_one() {
        let mut sender = sender(10.0);
        let mut windows = Vec::new();
        for _ in 0..4 {
            sender.on_congestion(&Congestion {
                now: Instant::ZERO,
                cause: Cause::Loss,
                in_flight: 10,
                is_timer: false,
            });
            windows.push(sender.cwnd());
        }
        assert_eq!(windows, [5, 2, 2, 2]);
        sender.on_timeout(&Timeout { prior_in_flight: 2, ..timeout(true) });
        assert_eq!(sender.cwnd(), 1);
        sender.on_congestion(&Congestion { now: Instant::ZERO, cause: Cause::Loss, in_flight: 1, is_timer: false });
        assert_eq!(sender.cwnd(), 1, "a loss never enlarges the window");
        sender.on_undo(Instant::ZERO);
        assert_eq!(sender.cwnd(), 2, "the timeout was none");
        sender.window = 10.0 * sender.mss;
        sender.on_congestion(&Congestion { now: Instant::ZERO, cause: Cause::Ecn, in_flight: 10, is_timer: false });
        assert_eq!(sender.cwnd(), 10, "it does not react to ECN");
    }
}

//! Round-trip time and retransmission timeout.
//!
//! **Source.** RFC 6298 with Linux' variance estimator (`net/ipv4/tcp_input.c`, `tcp_rtt_estimator`): the variance
//! falls slowly, rises at once, and never below the minimum timeout. The arithmetic is the kernel's, in microseconds
//! with srtt scaled by 8 and mdev by 4.

use std::hint::cold_path;

use crate::filter::WindowedMin;
use crate::units::{Duration, Instant};

/// Linux `TCP_RTO_MIN`, which a loss probe adds when a single segment is in flight.
pub(super) const RTO_MIN: Duration = Duration::from_micros(RTO_MIN_US as u64);
const RTO_MIN_US: i64 = 200_000;
/// Linux `TCP_RTO_MAX`.
pub(super) const RTO_MAX: Duration = Duration::from_secs(120);
/// Before the first sample (RFC 6298, section 2.1; Linux `TCP_TIMEOUT_INIT`).
pub(super) const RTO_INITIAL: Duration = Duration::from_secs(1);
/// Linux `tcp_min_rtt_wlen`: the minimum is taken over five minutes.
const MIN_RTT_WINDOW_MS: u64 = 300_000;

/// The sender's view of the round trip.
#[derive(Clone, Debug)]
pub(super) struct RttEstimator {
    /// Eight times the smoothed round-trip time.
    srtt_us8: i64,
    /// Four times the mean deviation.
    mdev_us4: i64,
    mdev_max_us4: i64,
    rttvar_us4: i64,
    /// The variance may fall once per round trip, when this segment has been acknowledged.
    round_end: u64,
    /// The retransmission timeout, not backed off.
    timeout: Duration,
    /// The same, backed off.
    rto: Duration,
    backoff: u32,
    min_rtt: WindowedMin,
}

impl RttEstimator {
    pub(super) fn new() -> Self {
        Self {
            srtt_us8: 0,
            mdev_us4: 0,
            mdev_max_us4: 0,
            rttvar_us4: 0,
            round_end: 0,
            timeout: RTO_INITIAL,
            rto: RTO_INITIAL,
            backoff: 0,
            min_rtt: WindowedMin::new(MIN_RTT_WINDOW_MS),
        }
    }

    /// Takes a sample; `first_unacked` and `next_sequence` tell when a round trip has passed.
    #[inline(always)]
    pub(super) fn on_sample(&mut self, rtt: Duration, first_unacked: u64, next_sequence: u64) {
        self.backoff = 0;
        self.smooth(rtt.as_micros() as i64, first_unacked, next_sequence);
        let timeout_us = ((self.srtt_us8 >> 3) + self.rttvar_us4) as u64;
        self.timeout = Duration::from_millis(timeout_us.div_ceil(1_000));
        self.rto = self.timeout.min(RTO_MAX);
    }

    fn smooth(&mut self, measured: i64, first_unacked: u64, next_sequence: u64) {
        if self.srtt_us8 == 0 {
            cold_path();
            self.srtt_us8 = (measured << 3).max(1);
            self.mdev_us4 = measured << 1;
            self.rttvar_us4 = self.mdev_us4.max(RTO_MIN_US);
            self.mdev_max_us4 = self.rttvar_us4;
            self.round_end = next_sequence;
            return;
        }
        let error = measured - (self.srtt_us8 >> 3);
        self.srtt_us8 = (self.srtt_us8 + error).max(1);
        let mut deviation = error.abs() - (self.mdev_us4 >> 2);
        if error < 0 && deviation > 0 {
            // A falling round trip is no reason to expect a wide spread.
            deviation >>= 3;
        }
        self.mdev_us4 += deviation;
        if self.mdev_us4 > self.mdev_max_us4 {
            self.mdev_max_us4 = self.mdev_us4;
            self.rttvar_us4 = self.rttvar_us4.max(self.mdev_max_us4);
        }
        if first_unacked > self.round_end {
            if self.mdev_max_us4 < self.rttvar_us4 {
                self.rttvar_us4 -= (self.rttvar_us4 - self.mdev_max_us4) >> 2;
            }
            self.round_end = next_sequence;
            self.mdev_max_us4 = RTO_MIN_US;
        }
    }

    /// Takes a sample for the minimum only. That of an ack that may have been held back would in the end be the minimum
    /// itself (`tcp_update_rtt_min`).
    #[inline(always)]
    pub(super) fn on_min_sample(&mut self, rtt: Duration, is_delayed: bool, now: Instant) {
        let micros = rtt.as_micros().max(1);
        if !is_delayed || self.min_rtt.get().is_none_or(|least| micros <= least) {
            self.min_rtt.update(now.as_millis(), micros);
        }
    }

    /// The timer expired: the next timeout is twice as long.
    pub(super) fn back_off(&mut self) {
        self.backoff += 1;
        self.rto = (self.timeout * (1 << self.backoff.min(16))).min(RTO_MAX);
    }

    /// True once there has been a sample.
    pub(super) fn has_sample(&self) -> bool {
        self.srtt_us8 != 0
    }

    /// Smoothed round-trip time; zero before the first sample.
    pub(super) fn srtt(&self) -> Duration {
        Duration::from_micros((self.srtt_us8 >> 3) as u64)
    }

    /// Twice the smoothed round-trip time, which the kernel shifts from the same number.
    pub(super) fn twice_srtt(&self) -> Duration {
        Duration::from_micros((self.srtt_us8 >> 2) as u64)
    }

    /// The smallest round-trip time of the last five minutes; zero before the first sample.
    pub(super) fn min_rtt(&self) -> Duration {
        Duration::from_micros(self.min_rtt.get().unwrap_or(0))
    }

    /// The retransmission timeout, backed off.
    pub(super) fn rto(&self) -> Duration {
        self.rto
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn the_first_timeout_is_one_second_and_then_three_round_trips() {
        let mut rtt = RttEstimator::new();
        assert_eq!(rtt.rto(), Duration::from_secs(1));
        rtt.on_sample(ms(300), 0, 10);
        assert_eq!((rtt.srtt(), rtt.rto()), (ms(300), ms(900)));
    }

    #[test]
    fn a_steady_round_trip_ends_at_srtt_plus_the_minimum() {
        let mut rtt = RttEstimator::new();
        for round in 0..100 {
            rtt.on_sample(ms(100), round * 10 + 1, (round + 1) * 10);
        }
        assert_eq!((rtt.srtt(), rtt.rto()), (ms(100), ms(300)));
    }

    #[test]
    fn two_round_trips_may_be_a_microsecond_more_than_twice_one() {
        let mut rtt = RttEstimator::new();
        rtt.on_sample(ms(100), 0, 10);
        assert_eq!((rtt.srtt(), rtt.twice_srtt()), (ms(100), ms(200)));
        rtt.on_sample(Duration::from_micros(100_004), 1, 10);
        assert_eq!((rtt.srtt(), rtt.twice_srtt().as_micros()), (ms(100), 200_001));
    }

    #[test]
    fn each_timeout_doubles_and_a_sample_resets() {
        let mut rtt = RttEstimator::new();
        rtt.on_sample(ms(100), 0, 10);
        let first = rtt.rto();
        rtt.back_off();
        rtt.back_off();
        assert_eq!(rtt.rto(), first * 4);
        for _ in 0..20 {
            rtt.back_off();
        }
        assert_eq!(rtt.rto(), Duration::from_secs(120));
        rtt.on_sample(ms(100), 0, 10);
        assert!(rtt.rto() <= first);
    }

    #[test]
    fn a_rising_round_trip_widens_the_timeout_at_once() {
        let mut rtt = RttEstimator::new();
        for round in 0..50 {
            rtt.on_sample(ms(100), round * 10 + 1, (round + 1) * 10);
        }
        let before = rtt.rto();
        // Error 400 ms: mdev grows by a quarter of it, to 100 ms, and counts four times.
        rtt.on_sample(ms(500), 600, 610);
        assert!(rtt.rto() > before + ms(100), "{}", rtt.rto());
    }

    /// Smoothed round trips in microseconds and timeouts in milliseconds after samples in microseconds, each with the
    /// first segment not acknowledged and the next one to be sent.
    fn follow(samples: &[(u64, u64, u64)]) -> Vec<(u64, u64)> {
        let mut rtt = RttEstimator::new();
        let one = |(micros, first, next): &(u64, u64, u64)| {
            rtt.on_sample(Duration::from_micros(*micros), *first, *next);
            (rtt.srtt().as_micros(), rtt.rto().as_millis())
        };
        samples.iter().map(one).collect()
    }

    #[test]
    fn timeouts_are_those_that_the_kernel_works_out() {
        // A fall counts for an eighth, and the variance falls by a quarter of the difference, once per round trip.
        let falling = [
            (400_000, 0, 10),
            (100_000, 5, 20),
            (100_000, 10, 20),
            (100_000, 11, 30),
            (100_000, 31, 40),
            (100_000, 41, 50),
        ];
        let expected = [
            (400_000, 1_200),
            (362_500, 1_175),
            (329_687, 1_150),
            (300_976, 1_124),
            (275_854, 1_098),
            (253_872, 1_068),
        ];
        assert_eq!(follow(&falling), expected);
        let a_spike = [
            (100_000, 0, 10),
            (500_000, 11, 20),
            (100_000, 15, 20),
            (100_000, 18, 20),
            (100_000, 21, 30),
            (100_100, 31, 40),
            (100_000, 41, 50),
        ];
        let expected = [
            (100_000, 300),
            (150_000, 700),
            (143_750, 694),
            (138_281, 689),
            (133_496, 662),
            (129_321, 596),
            (125_656, 536),
        ];
        assert_eq!(follow(&a_spike), expected);
        assert_eq!(follow(&[(100_001, 0, 10)]), [(100_001, 301)], "in ticks, rounded up");
    }

    #[test]
    fn timeouts_double_from_one_again_after_a_sample() {
        let mut rtt = RttEstimator::new();
        for _ in 0..3 {
            rtt.on_sample(ms(100), 0, 10);
            let first = rtt.rto();
            rtt.back_off();
            assert_eq!(rtt.rto(), first * 2);
        }
    }

    #[test]
    fn the_minimum_lasts_five_minutes_and_until_an_ack_comes_that_was_not_held_back() {
        let mut rtt = RttEstimator::new();
        let mut least = |seconds, millis, is_delayed| {
            rtt.on_min_sample(ms(millis), is_delayed, Instant::ZERO + Duration::from_secs(seconds));
            rtt.min_rtt().as_millis()
        };
        assert_eq!(least(0, 25, true), 25, "none is known");
        assert_eq!(least(1, 20, true), 20);
        assert_eq!([least(301, 60, true), least(302, 60, true)], [20; 2]);
        assert_eq!(least(303, 45, false), 45);
    }
}

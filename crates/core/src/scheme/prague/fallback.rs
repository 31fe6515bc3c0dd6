//! How Prague finds out that a queue is a classic one: by a round trip that varies and grows.
//!
//! **Source.** L4S project `net/ipv4/tcp_prague.c` of 2020-21, `prague_classic_ecn_detection` and
//! `prague_classic_ecn_fallback`; Briscoe and Ahmed, "TCP Prague Fall-back on Detection of a Classic ECN AQM" (2019).
//! Logarithms are exact here.

use crate::units::Duration;

/// Evidence counts half of a binary logarithm (`V`, `D`), of the variation above about 750 us (`V0_LG`) and of the queue above
/// about 2 ms (`D0_LG`).
const WEIGHT: f64 = 0.5;
const VARIATION_US: f64 = 750.0;
const QUEUE_US: f64 = 2_000.0;
/// Evidence that is forgotten: so much has to come before anything changes (`L_STICKY`), and to go (`C_STICKY`).
const STICKY: f64 = 8.0;
/// What lies between, over which a sender turns from one into the other.
const TRANSITION: f64 = 1.0;
/// The share of the window that a classic queue takes with each answer, twice over.
const CLASSIC_SHARE: f64 = 0.625;
/// The slowest averages (`PRAGUE_MAX_SRTT_BITS`).
const LONGEST_SHIFT: u32 = 18;

/// Weighs the evidence.
#[derive(Clone, Copy, Debug)]
pub(super) struct ClassicDetector {
    evidence: f64,
    /// Smoothed round trip, its variation and its minimum, microseconds.
    srtt: Option<f64>,
    variation: f64,
    min_rtt: f64,
}

impl ClassicDetector {
    pub(super) fn new() -> Self {
        Self { evidence: 0.0, srtt: None, variation: 0.0, min_rtt: 0.0 }
    }

    /// A round trip was measured (`prague_rtt_estimator`); the larger the window, the slower the averages.
    pub(super) fn on_round_trip(&mut self, rtt: Duration, min_rtt: Duration, ssthresh: u32) {
        let micros = |time: Duration| time.as_nanos() as f64 / 1e3;
        self.min_rtt = micros(min_rtt);
        let Some(srtt) = &mut self.srtt else {
            self.srtt = Some(micros(rtt));
            return;
        };
        let log = ssthresh.max(2).ilog2();
        let shift = (log + log / 2 + 1).min(LONGEST_SHIFT);
        let error = micros(rtt) - *srtt;
        *srtt += error * 0.5_f64.powi(shift as i32);
        self.variation += (error.abs() - self.variation) * 0.5_f64.powi(shift as i32 + 1);
    }

    /// A round is over.
    pub(super) fn on_round(&mut self) {
        let Some(srtt) = self.srtt else { return };
        self.evidence += WEIGHT * (self.variation.max(1.0) / VARIATION_US).log2();
        // A queue can only speak for a classic one.
        self.evidence += WEIGHT * ((srtt - self.min_rtt) / QUEUE_US).max(1.0).log2();
        self.evidence = self.evidence.clamp(0.0, 2.0 * STICKY + TRANSITION);
    }

    /// From 0 for a queue that marks at a low threshold to 1 for a classic one.
    pub(super) fn likelihood(&self) -> f64 {
        ((self.evidence - STICKY) / TRANSITION).clamp(0.0, 1.0)
    }

    /// Alpha is no less than this.
    pub(super) fn floor(&self) -> f64 {
        self.likelihood() * CLASSIC_SHARE
    }
}

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "clamped to whole numbers")]
mod tests {
    use super::*;

    fn after(rounds: u32, queue_ms: f64, swing_ms: f64) -> f64 {
        let mut detector = ClassicDetector::new();
        for round in 0..rounds {
            for n in 0..50 {
                let swing = if (n / 10 + round) % 2 == 0 { swing_ms } else { -swing_ms };
                let rtt = Duration::from_secs_f64((20.0 + queue_ms + swing) / 1e3);
                detector.on_round_trip(rtt, Duration::from_millis(20), 4);
            }
            detector.on_round();
        }
        detector.likelihood()
    }

    #[test]
    fn a_long_and_moving_queue_is_a_classic_one() {
        assert_eq!(after(100, 8.0, 4.0), 1.0);
        assert_eq!(after(100, 0.5, 0.2), 0.0);
    }

    #[test]
    fn the_larger_the_threshold_the_slower_the_averages() {
        // Of 16 ms a part of 2^(1.5 log2 + 1), and half of that of the variation.
        for (ssthresh, part) in [(1, 4.0), (4, 16.0), (64, 1_024.0), (u32::MAX, 262_144.0)] {
            let mut detector = ClassicDetector::new();
            for rtt_ms in [20, 36] {
                detector.on_round_trip(Duration::from_millis(rtt_ms), Duration::from_millis(20), ssthresh);
            }
            assert_eq!(detector.srtt, Some(20_000.0 + 16_000.0 / part));
            assert_eq!(detector.variation, 16_000.0 / part / 2.0);
        }
    }

    #[test]
    fn a_few_rounds_prove_nothing() {
        assert_eq!(after(3, 8.0, 4.0), 0.0);
    }
}

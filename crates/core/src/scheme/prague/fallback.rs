//! How Prague finds out that a queue is a classic one: by a round trip that varies and grows.
//!
//! **Source.** L4S project `net/ipv4/tcp_prague.c` of 2020-21, `prague_classic_ecn_detection` and
//! `prague_classic_ecn_fallback`; Briscoe and Ahmed, "TCP Prague Fall-back on Detection of a Classic ECN AQM" (2019).

use crate::units::Duration;

/// Evidence counts half of a binary logarithm (`V`, `D`), of the variation above about 750 us (`V0_LG`) and of the
/// queue above about 2 ms (`D0_LG`).
const WEIGHT: f64 = 0.5;
const VARIATION_US: f64 = 750.0;
const QUEUE_US: f64 = 2_000.0;
/// Evidence that is forgotten: so much has to come before anything changes (`L_STICKY`), and to go (`C_STICKY`).
const STICKY: f64 = 8.0;
/// What lies between, over which a sender turns from one into the other.
const TRANSITION: f64 = 1.0;
/// The share of the window that a classic queue takes with each answer, twice over.
const CLASSIC_SHARE: f64 = 0.625;
/// Halfway between two whole logarithms (`PRAGUE_INIT_MDEV_CARRY`).
const FIRST_CARRY: f64 = std::f64::consts::SQRT_2;
/// The slowest averages (`PRAGUE_MAX_SRTT_BITS`).
const LONGEST_SHIFT: u32 = 18;

/// Weighs the evidence.
#[derive(Clone, Copy, Debug)]
pub(super) struct ClassicDetector {
    evidence: f64,
    /// The averages have a gain of one in two to this power, the variation half of it.
    shift: u32,
    /// Smoothed round trip and its variation, microseconds.
    srtt: Option<f64>,
    variation: f64,
    /// What is left over of the logarithms of variation and queue.
    variation_carry: f64,
    queue_carry: f64,
}

impl ClassicDetector {
    pub(super) fn new() -> Self {
        Self {
            evidence: 0.0,
            shift: LONGEST_SHIFT,
            srtt: None,
            variation: 1.0,
            variation_carry: FIRST_CARRY,
            queue_carry: FIRST_CARRY,
        }
    }

    /// The window begins to fall: the larger the threshold, the slower the averages (`prague_update_rtt_scaling`).
    pub(super) fn on_fall(&mut self, ssthresh: u32) {
        let log = ssthresh.max(1).ilog2();
        self.shift = (log + log / 2 + 1).min(LONGEST_SHIFT);
    }

    /// A round trip was measured, the first by the handshake (`prague_rtt_estimator`).
    pub(super) fn on_round_trip(&mut self, rtt: Duration) {
        let Some(srtt) = &mut self.srtt else {
            self.srtt = Some(micros(rtt));
            return;
        };
        let error = micros(rtt) - *srtt;
        *srtt += error * 0.5_f64.powi(self.shift as i32);
        self.variation += (error.abs() - self.variation) * 0.5_f64.powi(self.shift as i32 + 1);
    }

    /// A round is over.
    pub(super) fn on_round(&mut self, min_rtt: Duration) {
        let Some(srtt) = self.srtt else { return };
        self.evidence += WEIGHT * (whole_log(self.variation, &mut self.variation_carry) - VARIATION_US.log2());
        let queue = srtt.floor() - micros(min_rtt).floor();
        if queue > 0.0 {
            // It can only speak for a classic one.
            self.evidence += WEIGHT * (whole_log(queue, &mut self.queue_carry) - QUEUE_US.log2()).max(0.0);
        }
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

/// The binary logarithm of so many whole microseconds, rounded down; what that leaves over is carried on to the next
/// one.
fn whole_log(micros: f64, carry: &mut f64) -> f64 {
    let carried = micros.floor() * *carry + 0.5;
    let log = carried.log2().floor().max(0.0);
    *carry = carried / log.exp2();
    log
}

fn micros(time: Duration) -> f64 {
    time.as_nanos() as f64 / 1e3
}

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "clamped to whole numbers")]
mod tests {
    use std::collections::BTreeMap;

    use super::super::{INFO, Law, Prague};
    use super::*;
    use crate::scheme::Parameters;
    use crate::units::Bytes;

    fn after(rounds: u32, queue_ms: f64, swing_ms: f64) -> f64 {
        let mut detector = ClassicDetector::new();
        detector.on_fall(4);
        for round in 0..rounds {
            for n in 0..50 {
                let swing = if (n / 10 + round) % 2 == 0 { swing_ms } else { -swing_ms };
                let rtt = Duration::from_secs_f64((20.0 + queue_ms + swing) / 1e3);
                detector.on_round_trip(rtt);
            }
            detector.on_round(Duration::from_millis(20));
        }
        detector.likelihood()
    }

    #[test]
    fn a_long_and_moving_queue_is_a_classic_one() {
        assert_eq!(after(100, 8.0, 4.0), 1.0);
        assert_eq!(after(100, 0.5, 0.2), 0.0);
    }

    #[test]
    fn the_evidence_turns_it_from_one_into_the_other_between_eight_and_nine() {
        for (evidence, likelihood, floor) in
            [(8.0, 0.0, 0.0), (8.5, 0.5, 0.312_5), (9.0, 1.0, 0.625), (17.0, 1.0, 0.625)]
        {
            let detector = ClassicDetector { evidence, ..ClassicDetector::new() };
            assert_eq!((detector.likelihood(), detector.floor()), (likelihood, floor), "{evidence}");
        }
    }

    #[test]
    fn marks_take_no_less_than_it_says() {
        let parameters = Parameters::resolve("prague", INFO.parameters, &BTreeMap::new()).expect("the defaults");
        let mut prague = Prague::new(Law::of(&parameters), Bytes::new(1_500));
        prague.detector = Some(ClassicDetector { evidence: 17.0, ..ClassicDetector::new() });
        for (alpha, share) in [(0.25, 0.625), (0.75, 0.75)] {
            prague.alpha = alpha;
            assert_eq!(prague.share(), share);
        }
    }

    #[test]
    fn the_larger_the_threshold_the_slower_the_averages() {
        // Of 16 ms a part of 2^(1.5 log2 + 1), and half of that of the variation.
        for (ssthresh, part) in [(1, 2.0), (4, 16.0), (64, 1_024.0), (u32::MAX, 262_144.0)] {
            let mut detector = ClassicDetector::new();
            detector.on_fall(ssthresh);
            for rtt_ms in [20, 36] {
                detector.on_round_trip(Duration::from_millis(rtt_ms));
            }
            assert_eq!(detector.srtt, Some(20_000.0 + 16_000.0 / part));
            assert_eq!(detector.variation, 1.0 + 15_999.0 / part / 2.0);
        }
    }

    #[test]
    fn the_gain_changes_when_the_window_falls_and_the_handshake_counts() {
        let mut detector = ClassicDetector::new();
        detector.on_round_trip(Duration::from_millis(20));
        detector.on_round_trip(Duration::from_millis(36));
        assert_eq!(detector.srtt, Some(20_000.0 + 16_000.0 / 262_144.0), "the slowest");
    }

    #[test]
    fn what_a_logarithm_leaves_over_counts_with_the_next() {
        let mut carry = FIRST_CARRY;
        let logs: Vec<_> = (0..8).map(|_| whole_log(1_448.2, &mut carry)).collect();
        assert!(logs.iter().all(|log| [10.0, 11.0].contains(log)), "{logs:?}");
        // Of 10.5 each time, half a step of carry aside.
        assert_eq!(logs.iter().sum::<f64>(), 84.0);
        assert_eq!(whole_log(0.0, &mut carry), 0.0);
    }

    #[test]
    fn a_round_weighs_the_variation_both_ways_and_a_queue_only_if_it_is_longer_than_two_milliseconds() {
        let (variation, reference) = (1_024.0_f64, 0.5 * (10.0 - 750_f64.log2()));
        // Microseconds of queue, what they add, and whether a logarithm was taken of them.
        for (queue, added, is_taken) in [
            (0.0, 0.0, false),
            (-1.0, 0.0, false),
            (1.0, 0.0, true),
            (1_024.0, 0.0, true),
            (4_096.0, 0.5 * (12.0 - 2_000_f64.log2()), true),
        ] {
            let mut detector = ClassicDetector {
                evidence: 10.0,
                srtt: Some(20_000.0 + queue),
                variation,
                variation_carry: 1.0,
                queue_carry: 1.0,
                ..ClassicDetector::new()
            };
            detector.on_round(Duration::from_millis(20));
            assert!((detector.evidence - 10.0 - reference - added).abs() < 1e-9, "{queue}: {}", detector.evidence);
            assert_eq!(detector.queue_carry != 1.0, is_taken, "{queue}");
        }
        let mut detector = ClassicDetector { evidence: 10.0, ..ClassicDetector::new() };
        detector.on_round(Duration::from_millis(20));
        assert_eq!(detector.evidence, 10.0, "no round trip was measured");
    }

    #[test]
    fn evidence_is_neither_less_than_none_nor_more_than_is_sticky_on_both_sides() {
        for (evidence, variation, left) in [(1.0, 2.0, 0.0), (16.9, 1_048_576.0, 17.0)] {
            let mut detector = ClassicDetector { evidence, variation, srtt: Some(20_000.0), ..ClassicDetector::new() };
            detector.on_round(Duration::from_millis(20));
            assert_eq!(detector.evidence, left);
        }
    }

    #[test]
    fn a_few_rounds_prove_nothing() {
        assert_eq!(after(3, 8.0, 4.0), 0.0);
    }
}

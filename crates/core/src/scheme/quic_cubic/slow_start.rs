//! When slow start ends: the delay half of HyStart (`hybrid_slow_start.cc`).

use crate::scheme::hystart::rise;
use crate::units::Duration;

/// Samples of a round that count (`kHybridStartMinSamples`).
const SAMPLES: u32 = 8;
/// Below this window, in packets, slow start goes on for another ack (`kHybridStartLowWindow`).
const LOW_WINDOW: u64 = 16;

/// Compares the least round trip of the first eight acks of a round with the least of all.
#[derive(Debug, Default)]
pub(super) struct DelayDetector {
    has_found: bool,
    /// The round ends with the ack of this packet; `None` between rounds.
    round_end: Option<u64>,
    least: Duration,
    samples: u32,
}

impl DelayDetector {
    /// Takes a sample while `last_sent` is the newest packet; true if slow start is over at a window of `packets`.
    pub(super) fn on_sample(&mut self, rtt: Duration, min_rtt: Duration, packets: u64, last_sent: u64) -> bool {
        if self.round_end.is_none() {
            self.round_end = Some(last_sent);
            self.least = Duration::MAX;
            self.samples = 0;
        }
        if self.has_found {
            return true;
        }
        self.samples += 1;
        if self.samples <= SAMPLES {
            self.least = self.least.min(rtt);
        }
        self.has_found = self.samples == SAMPLES && self.least > min_rtt + rise(min_rtt);
        self.has_found && packets >= LOW_WINDOW
    }

    /// A packet was acknowledged.
    pub(super) fn on_acked(&mut self, number: u64) {
        self.round_end = self.round_end.filter(|end| number < *end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn below_sixteen_packets_slow_start_goes_on_for_another_sample() {
        let least = Duration::from_millis(40);
        let is_over = |windows: [u64; 3]| {
            let mut detector = DelayDetector::default();
            let mut sample = |packets| detector.on_sample(Duration::from_millis(80), least, packets, 100);
            assert!((0..7).all(|_| !sample(100)), "eight samples tell");
            windows.map(sample)
        };
        assert_eq!(is_over([15, 15, 16]), [false, true, true]);
        assert_eq!(is_over([16, 15, 100]), [true, true, true]);
    }
}

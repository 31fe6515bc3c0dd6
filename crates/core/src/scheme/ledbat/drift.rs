//! A guard against peers whose clock runs slow, which makes delays seem to fall (libutp `clock_drift`).

use crate::units::{Duration, Instant};

/// Delays are averaged over slots of this length.
const SLOT: Duration = Duration::from_secs(5);
/// Falling by more than this from slot to slot is held against the peer, microseconds.
const TOLERANCE: i64 = 200_000;

/// How fast the mean delay changes.
#[derive(Debug, Default)]
pub(super) struct Drift {
    slot_end: Option<Instant>,
    sum: i64,
    samples: i64,
    average: i64,
    /// Microseconds per slot, smoothed.
    change: i64,
}

impl Drift {
    /// Takes the one-way delay of a packet.
    pub(super) fn add(&mut self, delay: Duration, now: Instant) {
        let micros = delay.as_micros() as i64;
        let Some(slot_end) = self.slot_end else {
            self.slot_end = Some(now + SLOT);
            (self.sum, self.samples, self.average) = (micros, 1, micros);
            return;
        };
        self.sum += micros;
        self.samples += 1;
        if now > slot_end {
            let average = self.sum / self.samples;
            self.change = (self.change * 7 + average - self.average) / 8;
            self.average = average;
            (self.sum, self.samples) = (0, 0);
            self.slot_end = Some(slot_end + SLOT);
        }
    }

    /// What is added to the delay.
    pub(super) fn penalty(&self) -> Duration {
        let excess = (-self.change - TOLERANCE).max(0);
        Duration::from_micros((excess / 7) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Twenty slots in which the clock loses `micros` each.
    fn penalty(micros: u64) -> u64 {
        let mut drift = Drift::default();
        for second in 0..100 {
            let delay = Duration::from_micros(100_000_000 - second * micros / 5);
            drift.add(delay, Instant::ZERO + Duration::from_secs(second));
        }
        drift.penalty().as_micros()
    }

    #[test]
    fn only_a_clock_that_runs_very_slow_is_punished() {
        assert_eq!(penalty(200_000), 0);
        let punished = penalty(400_000);
        assert!((20_000..=28_571).contains(&punished), "{punished}, towards (400000 - 200000) / 7");
    }
}

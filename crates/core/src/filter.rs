//! Windowed minimum and maximum, as Linux `lib/win_minmax.c` estimates them.
//!
//! Kathleen Nichols' algorithm keeps the best three samples of a window; time and memory per sample are constant. The
//! clock is any counter that never runs backwards: microseconds for a minimum RTT, round trips for a maximum bandwidth.

use std::hint::cold_path;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sample {
    time: u64,
    value: u64,
}

/// A running maximum.
pub type WindowedMax = WindowedFilter<true>;
/// A running minimum.
pub type WindowedMin = WindowedFilter<false>;

/// The best three samples of a window, best first.
#[derive(Clone, Copy, Debug)]
pub struct WindowedFilter<const IS_MAX: bool> {
    window: u64,
    best: Option<[Sample; 3]>,
}

impl<const IS_MAX: bool> WindowedFilter<IS_MAX> {
    /// A filter over `window` units of the caller's clock.
    pub const fn new(window: u64) -> Self {
        Self { window, best: None }
    }

    /// The best value in the window; `None` before the first sample.
    pub fn get(&self) -> Option<u64> {
        self.best.map(|best| best[0].value)
    }

    /// Remembers for another time from now on.
    pub const fn set_window(&mut self, window: u64) {
        self.window = window;
    }

    /// Forgets everything but this sample.
    pub fn reset(&mut self, time: u64, value: u64) -> u64 {
        self.best = Some([Sample { time, value }; 3]);
        value
    }

    /// Takes a sample and returns the best value of the window that ends now.
    #[inline(always)]
    pub fn update(&mut self, time: u64, value: u64) -> u64 {
        let sample = Sample { time, value };
        let is_no_worse = |than: Sample| if IS_MAX { value >= than.value } else { value <= than.value };
        let Some(best) = &mut self.best else { return self.reset(time, value) };
        if is_no_worse(best[0]) || time - best[2].time > self.window {
            return self.reset(time, value);
        }
        if is_no_worse(best[1]) {
            best[1] = sample;
            best[2] = sample;
        } else if is_no_worse(best[2]) {
            best[2] = sample;
        }
        age(best, sample, self.window);
        best[0].value
    }
}

/// Lets the best sample go when it leaves the window, and renews the runners-up after a quarter and a half of it.
fn age(best: &mut [Sample; 3], sample: Sample, window: u64) {
    let elapsed = sample.time - best[0].time;
    if elapsed > window {
        cold_path();
        *best = [best[1], best[2], sample];
        if sample.time - best[0].time > window {
            *best = [best[1], best[2], sample];
        }
    } else if best[1].time == best[0].time && elapsed > window / 4 {
        best[1] = sample;
        best[2] = sample;
    } else if best[2].time == best[1].time && elapsed > window / 2 {
        best[2] = sample;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_maximum_is_forgotten_after_the_window() {
        let mut filter = WindowedMax::new(10);
        assert_eq!(filter.get(), None);
        assert_eq!(filter.update(0, 100), 100);
        for time in 1..=10 {
            assert_eq!(filter.update(time, 50 + time), 100);
        }
        assert!(filter.update(11, 55) < 100);
    }

    #[test]
    fn a_minimum_follows_lower_samples_at_once() {
        let mut filter = WindowedMin::new(1_000);
        assert_eq!(filter.update(0, 30), 30);
        assert_eq!(filter.update(1, 20), 20);
        assert_eq!(filter.update(2, 25), 20);
    }

    #[test]
    fn runners_up_are_renewed_after_a_quarter_and_a_half_of_the_window() {
        // Over 12 units; the best of each row leaves before the last sample.
        let cases: [(&[(u64, u64)], u64); 5] = [
            (&[(0, 100), (3, 80), (13, 10)], 10),
            (&[(0, 100), (4, 80), (13, 10)], 80),
            (&[(0, 100), (4, 80), (6, 60), (17, 10)], 10),
            (&[(0, 100), (4, 80), (7, 60), (16, 10)], 80),
            (&[(0, 100), (4, 80), (7, 60), (17, 10)], 60),
        ];
        for (samples, expected) in cases {
            let mut filter = WindowedMax::new(12);
            let best = samples.iter().map(|(time, value)| filter.update(*time, *value)).last();
            assert_eq!(best, Some(expected), "{samples:?}");
        }
    }
}

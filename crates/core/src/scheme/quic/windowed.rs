//! The maximum or minimum of a window as Chromium estimates it: as [`crate::filter`], but a runner-up is renewed when
//! it is no better than the next best and has itself grown old, in Linux when the best has.
//!
//! **Source.** Chromium (google/quiche 790af403), `windowed_filter.h`; mvfst has the same.

#[derive(Clone, Copy, Debug, Default)]
struct Sample {
    time: u64,
    value: u64,
}

/// A running maximum.
pub(in crate::scheme) type WindowedMax = Windowed<true>;
/// A running minimum.
pub(in crate::scheme) type WindowedMin = Windowed<false>;

/// The best three samples of a window, best first; the clock is any counter that never runs backwards.
#[derive(Clone, Copy, Debug)]
pub(in crate::scheme) struct Windowed<const IS_MAX: bool> {
    window: u64,
    best: [Sample; 3],
}

impl<const IS_MAX: bool> Windowed<IS_MAX> {
    /// A filter over `window` units of the caller's clock.
    pub(in crate::scheme) fn new(window: u64) -> Self {
        Self { window, best: Default::default() }
    }

    /// The best value in the window; 0 before the first sample.
    pub(in crate::scheme) fn get(&self) -> u64 {
        self.best[0].value
    }

    /// Remembers for another time from now on.
    pub(in crate::scheme) fn set_window(&mut self, window: u64) {
        self.window = window;
    }

    /// `Update`.
    pub(in crate::scheme) fn update(&mut self, time: u64, value: u64) {
        let sample = Sample { time, value };
        let is_no_worse = |than: &Sample| if IS_MAX { value >= than.value } else { value <= than.value };
        let [first, second, third] = &mut self.best;
        if first.value == 0 || is_no_worse(first) || time - third.time > self.window {
            self.best = [sample; 3];
            return;
        }
        if is_no_worse(second) {
            (*second, *third) = (sample, sample);
        } else if is_no_worse(third) {
            *third = sample;
        }
        if time - first.time > self.window {
            (*first, *second, *third) = (*second, *third, sample);
            if time - first.time > self.window {
                (*first, *second) = (*second, *third);
            }
        } else if second.value == first.value && time - second.time > self.window / 4 {
            (*second, *third) = (sample, sample);
        } else if third.value == second.value && time - third.time > self.window / 2 {
            *third = sample;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is known after these samples, one a round from round 0.
    fn after(values: &[u64]) -> WindowedMax {
        let mut filter = WindowedMax::new(10);
        (0..).zip(values).for_each(|(round, value)| filter.update(round, *value));
        filter
    }

    #[test]
    fn a_maximum_is_forgotten_after_the_window() {
        assert_eq!(after(&[]).get(), 0);
        assert_eq!(after(&[100, 60, 60, 60, 60, 60, 60, 60, 60, 60, 60]).get(), 100);
        assert_eq!(after(&[100, 60, 60, 60, 60, 60, 60, 60, 60, 60, 60, 60]).get(), 60);
        assert_eq!(after(&[0, 7]).get(), 7, "nothing is no sample");
    }

    #[test]
    fn a_runner_up_is_renewed_when_it_has_grown_old_itself() {
        // The second best is of round 3, and so is the third until six rounds later.
        let times = |filter: WindowedMax| filter.best.map(|sample| sample.time);
        assert_eq!(times(after(&[100, 50, 50, 80, 40, 40, 40, 40, 40])), [0, 3, 3]);
        assert_eq!(times(after(&[100, 50, 50, 80, 40, 40, 40, 40, 40, 40])), [0, 3, 9]);
    }

    #[test]
    fn a_minimum_is_forgotten_after_the_window_that_is_set_unless_it_comes_again() {
        let mut filter = WindowedMin::new(100);
        filter.set_window(10);
        let least = [(1, 5), (2, 7), (5, 5), (6, 7), (15, 7), (16, 7)].map(|(time, value)| {
            filter.update(time, value);
            filter.get()
        });
        assert_eq!(least, [5, 5, 5, 5, 5, 7]);
    }

    #[test]
    fn a_first_runner_up_is_renewed_when_more_than_a_quarter_of_the_window_has_passed() {
        let times = |filter: WindowedMax| filter.best.map(|sample| sample.time);
        assert_eq!(times(after(&[100, 50, 40])), [0; 3]);
        assert_eq!(times(after(&[100, 50, 40, 30])), [0, 3, 3]);
    }
}

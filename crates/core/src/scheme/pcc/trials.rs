//! Trials of rates a little above and below the present one, in pairs of random order, and what came of each.

use crate::random::RandomStream;

#[derive(Clone, Debug)]
pub(super) struct Trials<T> {
    pub(super) rates: Vec<f64>,
    /// The interval that has the first of the rates; the next ones follow.
    first: u64,
    results: Vec<Option<T>>,
}

impl<T> Trials<T> {
    /// Pairs at a `share` of `rate` above and below it, from the interval `first` on.
    pub(super) fn new(rate: f64, share: f64, pairs: usize, first: u64, random: &mut RandomStream) -> Self {
        let mut rates = Vec::with_capacity(2 * pairs);
        for _ in 0..pairs {
            let sign = if random.chance(0.5) { 1.0 } else { -1.0 };
            rates.extend([rate * (1.0 + sign * share), rate * (1.0 - sign * share)]);
        }
        let results = rates.iter().map(|_| None).collect();
        Self { rates, first, results }
    }

    /// The rate of an interval; `None` after the last trial.
    pub(super) fn rate(&self, number: u64) -> Option<f64> {
        self.rates.get(number.saturating_sub(self.first) as usize).copied()
    }

    /// Takes the result of an interval, which may be none of the trials; with the one that was missing all are
    /// returned, in the order of the rates.
    pub(super) fn add(&mut self, number: u64, result: T) -> Option<Vec<T>> {
        let place = usize::try_from(number.checked_sub(self.first)?).ok()?;
        *self.results.get_mut(place)? = Some(result);
        let is_complete = self.results.iter().all(Option::is_some);
        is_complete.then(|| self.results.iter_mut().filter_map(Option::take).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_pair_has_a_rate_above_and_one_below_in_either_order() {
        let mut random = RandomStream::new(1, "trials");
        let firsts: Vec<_> = (0..100)
            .map(|_| {
                let trials = Trials::<()>::new(10.0, 0.05, 2, 0, &mut random);
                for pair in trials.rates.chunks_exact(2) {
                    assert!((pair[0] + pair[1] - 20.0).abs() < 1e-9 && ((pair[0] - pair[1]).abs() - 1.0).abs() < 1e-9);
                }
                assert_eq!(trials.rates.len(), 4);
                trials.rates[0] > 10.0
            })
            .collect();
        assert!(firsts.contains(&true) && firsts.contains(&false));
    }

    #[test]
    fn results_count_from_the_first_trial_on_and_come_together_in_the_order_of_the_trials() {
        let mut trials = Trials::new(10.0, 0.05, 1, 7, &mut RandomStream::new(1, "trials"));
        assert_eq!([trials.rate(7), trials.rate(8)], [Some(trials.rates[0]), Some(trials.rates[1])]);
        assert_eq!(trials.rate(9), None);
        assert_eq!(trials.add(6, "older"), None);
        assert_eq!(trials.add(8, "second"), None);
        assert_eq!(trials.add(9, "newer"), None);
        assert_eq!(trials.add(7, "first"), Some(vec!["first", "second"]));
    }
}

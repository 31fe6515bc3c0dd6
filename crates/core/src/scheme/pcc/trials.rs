//! Trials of rates a little above and below the present one, in pairs of random order, and what came of each.

use crate::random::RandomStream;

#[derive(Clone, Debug)]
pub(super) struct Trials<T> {
    pub(super) rates: Vec<f64>,
    /// The interval that has the first of the rates; the next ones follow.
    first: u64,
    results: Vec<T>,
}

impl<T> Trials<T> {
    /// Pairs at a `share` of `rate` above and below it, from the interval `first` on.
    pub(super) fn new(rate: f64, share: f64, pairs: usize, first: u64, random: &mut RandomStream) -> Self {
        let mut rates = Vec::with_capacity(2 * pairs);
        for _ in 0..pairs {
            let sign = if random.chance(0.5) { 1.0 } else { -1.0 };
            rates.extend([rate * (1.0 + sign * share), rate * (1.0 - sign * share)]);
        }
        Self { rates, first, results: Vec::new() }
    }

    /// The rate of an interval; `None` after the last trial.
    pub(super) fn rate(&self, number: u64) -> Option<f64> {
        self.rates.get(number.saturating_sub(self.first) as usize).copied()
    }

    /// True if the interval is not older than the trials.
    pub(super) fn is_of(&self, number: u64) -> bool {
        number >= self.first
    }

    /// Takes the result of an interval, which may be older than the trials; with the last one all are returned, in the
    /// order of the rates.
    pub(super) fn add(&mut self, number: u64, result: T) -> Option<Vec<T>> {
        if self.is_of(number) {
            self.results.push(result);
        }
        (self.results.len() == self.rates.len()).then(|| std::mem::take(&mut self.results))
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
    fn results_count_from_the_first_trial_on_and_come_together() {
        let mut trials = Trials::new(10.0, 0.05, 1, 7, &mut RandomStream::new(1, "trials"));
        assert_eq!([trials.rate(7), trials.rate(8)], [Some(trials.rates[0]), Some(trials.rates[1])]);
        assert_eq!(trials.rate(9), None);
        assert_eq!(trials.add(6, "older"), None);
        assert_eq!(trials.add(7, "first"), None);
        assert_eq!(trials.add(8, "second"), Some(vec!["first", "second"]));
    }
}

//! The least or the greatest sample of the time that ends now.

use std::collections::VecDeque;

use crate::units::{Duration, Instant};

/// A running extreme over a time that may change with every sample; exact, and constant time per sample on average.
#[derive(Debug)]
pub(super) struct Extreme {
    is_least: bool,
    /// Samples that are the extreme of all that followed them.
    samples: VecDeque<(Instant, Duration)>,
}

impl Extreme {
    pub(super) fn least() -> Self {
        Self { is_least: true, samples: VecDeque::new() }
    }

    pub(super) fn greatest() -> Self {
        Self { is_least: false, samples: VecDeque::new() }
    }

    /// Takes a sample, and returns the extreme of those that are no older than `length`.
    pub(super) fn update(&mut self, now: Instant, value: Duration, length: Duration) -> Duration {
        let is_worse = |other: Duration| if self.is_least { other > value } else { other < value };
        while self.samples.back().is_some_and(|(_, other)| is_worse(*other)) {
            self.samples.pop_back();
        }
        self.samples.push_back((now, value));
        while self.samples.len() > 1 && now.since(self.samples[0].0) > length {
            self.samples.pop_front();
        }
        self.samples[0].1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(mut extreme: Extreme, length: u64, values: &[u64]) -> Vec<u64> {
        let update = |(second, value): (usize, &u64)| {
            let now = Instant::ZERO + Duration::from_secs(second as u64);
            extreme.update(now, Duration::from_secs(*value), Duration::from_secs(length)).as_millis() / 1_000
        };
        values.iter().enumerate().map(update).collect()
    }

    #[test]
    fn it_is_what_a_search_through_all_samples_finds() {
        let values = [5, 3, 9, 9, 1, 7, 8, 8, 6, 2, 2, 4, 9, 1, 1, 5];
        for length in 0..8 {
            let recent = |end: usize| &values[end.saturating_sub(length as usize)..=end];
            let least: Vec<_> = (0..values.len()).filter_map(|end| recent(end).iter().min().copied()).collect();
            let greatest: Vec<_> = (0..values.len()).filter_map(|end| recent(end).iter().max().copied()).collect();
            assert_eq!(run(Extreme::least(), length, &values), least);
            assert_eq!(run(Extreme::greatest(), length, &values), greatest);
        }
    }
}

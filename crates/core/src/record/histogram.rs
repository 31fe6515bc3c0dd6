//! A histogram of durations whose resolution is relative.
//!
//! Values share a bucket when they agree in their first ten binary digits, so a percentile is off by at most 0.1 %.
//! Memory grows with the largest value seen, not with the number of values.

use std::hint::cold_path;

use crate::units::Duration;

/// Buckets per doubling, as a power of two.
const PRECISION_BITS: u32 = 9;

/// Counts durations.
#[derive(Clone, Debug, Default)]
pub struct Histogram {
    counts: Vec<u32>,
}

impl Histogram {
    /// Counts one more value.
    #[inline(never)]
    pub fn add(&mut self, value: Duration) {
        let index = index_of(value.as_nanos());
        if index >= self.counts.len() {
            cold_path();
            self.counts.resize(index + 1, 0);
        }
        self.counts[index] += 1;
    }

    /// Counts the values of another histogram.
    pub fn merge(&mut self, other: &Self) {
        if other.counts.len() > self.counts.len() {
            self.counts.resize(other.counts.len(), 0);
        }
        for (count, more) in self.counts.iter_mut().zip(&other.counts) {
            *count += more;
        }
    }

    /// The value at the nearest rank to `percent`, as numpy's method "nearest" picks it; `None` without values.
    pub fn percentile(&self, percent: f64) -> Option<Duration> {
        let total: u64 = self.counts.iter().map(|count| u64::from(*count)).sum();
        let last = total.checked_sub(1)?;
        let rank = (percent / 100.0 * last as f64).round_ties_even() as u64;
        let mut seen = 0;
        let index = self.counts.iter().position(|count| {
            seen += u64::from(*count);
            seen > rank
        })?;
        Some(Duration::from_nanos(middle_of(index)))
    }
}

fn index_of(value: u64) -> usize {
    let shift = (u64::BITS - value.leading_zeros()).saturating_sub(PRECISION_BITS + 1);
    ((shift as usize) << PRECISION_BITS) + (value >> shift) as usize
}

fn middle_of(index: usize) -> u64 {
    let octave = (index >> PRECISION_BITS).saturating_sub(1);
    let mantissa = (index - (octave << PRECISION_BITS)) as u64;
    (mantissa << octave) + ((1_u64 << octave) - 1) / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_values_are_exact() {
        let mut histogram = Histogram::default();
        for value in 0..=1_000 {
            histogram.add(Duration::from_nanos(value));
        }
        assert_eq!(histogram.percentile(50.0), Some(Duration::from_nanos(500)));
        assert_eq!(histogram.percentile(95.0), Some(Duration::from_nanos(950)));
    }

    #[test]
    fn every_value_comes_back_within_a_thousandth() {
        let mut value = 1_u64;
        while value < 1 << 58 {
            let back = middle_of(index_of(value));
            assert!(back.abs_diff(value) as f64 <= value as f64 / 1_000.0, "{value} became {back}");
            value = value * 21 / 20 + 1;
        }
    }

    #[test]
    fn nothing_has_no_percentile() {
        assert_eq!(Histogram::default().percentile(95.0), None);
    }

    #[test]
    fn merging_adds() {
        let (mut low, mut high) = (Histogram::default(), Histogram::default());
        low.add(Duration::from_nanos(10));
        high.add(Duration::from_millis(10));
        low.merge(&high);
        assert_eq!(low.percentile(0.0), Some(Duration::from_nanos(10)));
        assert!(low.percentile(100.0) > Some(Duration::from_micros(9_990)));
    }

    #[test]
    fn halfway_between_two_ranks_the_even_one_is_taken_as_numpy_does() {
        for (count, expected) in [(2, 10), (4, 30), (6, 30)] {
            let mut histogram = Histogram::default();
            (1..=count).for_each(|rank| histogram.add(Duration::from_nanos(10 * rank)));
            assert_eq!(histogram.percentile(50.0), Some(Duration::from_nanos(expected)), "of {count}");
        }
    }
}

//! Time, rate and size as types, so that bits and bytes, or seconds and milliseconds, cannot be mixed up.
//!
//! In JSON each is its plain number, and the key names the unit: `delay_ns`, `rate_bps`, `size_bytes`.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Mul, Sub, SubAssign};

use serde::Deserialize;

pub(crate) const NANOS_PER_SECOND: u64 = 1_000_000_000;

/// `a * b / c`, rounded down; the product may take more than 64 bits, which costs a slower division.
const fn mul_div(a: u64, b: u64, c: u64) -> u64 {
    match a.checked_mul(b) {
        Some(product) => product / c,
        None => (a as u128 * b as u128 / c as u128) as u64,
    }
}

/// A point in time: nanoseconds since the start of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(transparent)]
pub struct Instant(u64);

/// A span of time in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(transparent)]
pub struct Duration(u64);

/// A data rate in bit/s.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(transparent)]
pub struct Rate(u64);

/// An amount of data in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(transparent)]
pub struct Bytes(u64);

impl Instant {
    /// The start of the run.
    pub const ZERO: Self = Self(0);
    /// Later than everything: "never".
    pub const FAR_FUTURE: Self = Self(u64::MAX);

    /// The instant `nanos` nanoseconds after the start of the run.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Nanoseconds since the start of the run.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Microseconds since the start of the run, rounded down: the resolution of Linux TCP's clock.
    pub const fn as_micros(self) -> u64 {
        self.0 / 1_000
    }

    /// Milliseconds since the start of the run, rounded down: one Linux jiffy at HZ = 1000.
    pub const fn as_millis(self) -> u64 {
        self.0 / 1_000_000
    }

    /// What a clock shows that counts in this unit: rounded down.
    pub const fn truncated(self, unit: Duration) -> Self {
        Self(self.0 / unit.0 * unit.0)
    }

    /// Time elapsed since `earlier`; zero if `earlier` is in fact later.
    pub const fn since(self, earlier: Self) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }
}

/// The earlier of two times that may not be.
pub fn earlier(one: Option<Instant>, other: Option<Instant>) -> Option<Instant> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        _ => one.or(other),
    }
}

impl Duration {
    /// No time at all.
    pub const ZERO: Self = Self(0);
    /// Longer than every other duration.
    pub const MAX: Self = Self(u64::MAX);

    /// A duration of `nanos` nanoseconds.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// A duration of `micros` microseconds.
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros * 1_000)
    }

    /// A duration of `millis` milliseconds.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis * 1_000_000)
    }

    /// A duration of `seconds` seconds.
    pub const fn from_secs(seconds: u64) -> Self {
        Self(seconds * NANOS_PER_SECOND)
    }

    /// A duration from fractional seconds; negative values and NaN give zero, huge ones the maximum.
    pub fn from_secs_f64(seconds: f64) -> Self {
        Self((seconds * NANOS_PER_SECOND as f64) as u64)
    }

    /// Whole nanoseconds.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Whole microseconds, rounded down.
    pub const fn as_micros(self) -> u64 {
        self.0 / 1_000
    }

    /// Whole milliseconds, rounded down.
    pub const fn as_millis(self) -> u64 {
        self.0 / 1_000_000
    }

    /// Seconds as a fraction.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / NANOS_PER_SECOND as f64
    }

    /// True if this is no time at all.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// The difference, or zero if `other` is longer.
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// `self * numerator / denominator`, rounded down.
    ///
    /// # Panics
    /// Panics if `denominator` is zero.
    pub const fn scale(self, numerator: u64, denominator: u64) -> Self {
        Self(mul_div(self.0, numerator, denominator))
    }
}

impl Rate {
    /// A rate of `bits` bit/s.
    pub const fn from_bits_per_second(bits: u64) -> Self {
        Self(bits)
    }

    /// A rate from a fractional number of bit/s; negative values and NaN give zero.
    pub fn from_bits_per_second_f64(bits: f64) -> Self {
        Self(bits as u64)
    }

    /// The rate at which `size` passes in `time`; `None` if `time` is zero.
    pub const fn of(size: Bytes, time: Duration) -> Option<Self> {
        if time.0 == 0 {
            return None;
        }
        Some(Self(mul_div(size.0, 8 * NANOS_PER_SECOND, time.0)))
    }

    /// Whole bit/s.
    pub const fn as_bits_per_second(self) -> u64 {
        self.0
    }

    /// True if nothing can pass.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// The amount of data that passes in `time`, rounded down.
    pub const fn amount_in(self, time: Duration) -> Bytes {
        Bytes(mul_div(self.0, time.0, 8 * NANOS_PER_SECOND))
    }

    /// The time `size` takes at this rate, rounded down; the longest duration if the rate is zero.
    pub const fn time_for(self, size: Bytes) -> Duration {
        if self.0 == 0 {
            return Duration::MAX;
        }
        Duration(mul_div(size.0, 8 * NANOS_PER_SECOND, self.0))
    }

    /// `self * numerator / denominator`, rounded down.
    ///
    /// # Panics
    /// Panics if `denominator` is zero.
    pub const fn scale(self, numerator: u64, denominator: u64) -> Self {
        Self(mul_div(self.0, numerator, denominator))
    }
}

impl Bytes {
    /// No data.
    pub const ZERO: Self = Self(0);

    /// An amount of `count` bytes.
    pub const fn new(count: u64) -> Self {
        Self(count)
    }

    /// The number of bytes.
    pub const fn count(self) -> u64 {
        self.0
    }

    /// The difference, or zero if `other` is larger.
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Add<Duration> for Instant {
    type Output = Self;
    fn add(self, span: Duration) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

impl AddAssign<Duration> for Instant {
    fn add_assign(&mut self, span: Duration) {
        *self = *self + span;
    }
}

impl Sub<Duration> for Instant {
    type Output = Self;
    fn sub(self, span: Duration) -> Self {
        Self(self.0.saturating_sub(span.0))
    }
}

impl Add for Duration {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Duration {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Mul<u64> for Duration {
    type Output = Self;
    fn mul(self, factor: u64) -> Self {
        Self(self.0.saturating_mul(factor))
    }
}

impl Sum for Duration {
    fn sum<I: Iterator<Item = Self>>(spans: I) -> Self {
        spans.fold(Self::ZERO, Add::add)
    }
}

impl Add for Bytes {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl AddAssign for Bytes {
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}

impl Sub for Bytes {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

impl SubAssign for Bytes {
    fn sub_assign(&mut self, other: Self) {
        self.0 -= other.0;
    }
}

impl Mul<u64> for Bytes {
    type Output = Self;
    fn mul(self, factor: u64) -> Self {
        Self(self.0 * factor)
    }
}

impl Sum for Bytes {
    fn sum<I: Iterator<Item = Self>>(amounts: I) -> Self {
        amounts.fold(Self::ZERO, Add::add)
    }
}

impl fmt::Display for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.6}s", Duration(self.0).as_secs_f64())
    }
}

/// As an experiment states it: a whole number of the largest unit that it is a multiple of.
impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us")];
        let (nanos, unit) = units.into_iter().find(|(nanos, _)| self.0.is_multiple_of(*nanos)).unwrap_or((1, "ns"));
        write!(f, "{}{unit}", self.0 / nanos)
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}bit/s", self.0)
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}B", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_packet_takes_one_millisecond_at_twelve_megabits() {
        let rate = Rate::from_bits_per_second(12_000_000);
        assert_eq!(rate.time_for(Bytes::new(1500)), Duration::from_millis(1));
        assert_eq!(rate.amount_in(Duration::from_millis(1)), Bytes::new(1500));
        assert_eq!(Rate::of(Bytes::new(1500), Duration::from_millis(1)), Some(rate));
    }

    #[test]
    fn a_duration_reads_as_an_experiment_states_it() {
        let shown = [0, 20_000_000, 1_500_000_000, 2_000_000_000, 2_500, 1_001]
            .map(|nanos| Duration::from_nanos(nanos).to_string());
        assert_eq!(shown, ["0s", "20ms", "1500ms", "2s", "2500ns", "1001ns"]);
    }

    #[test]
    fn a_huge_size_does_not_overflow() {
        let rate = Rate::from_bits_per_second(8);
        assert_eq!(rate.time_for(Bytes::new(1 << 33)), Duration::from_secs(1 << 33));
    }

    #[test]
    fn nothing_passes_at_rate_zero() {
        assert_eq!(Rate::default().time_for(Bytes::new(1)), Duration::MAX);
        assert_eq!(Rate::of(Bytes::new(1), Duration::ZERO), None);
    }

    #[test]
    fn time_before_an_instant_is_zero() {
        assert_eq!(Instant::ZERO.since(Instant::from_nanos(5)), Duration::ZERO);
        assert_eq!(Instant::FAR_FUTURE + Duration::from_secs(1), Instant::FAR_FUTURE);
    }
}

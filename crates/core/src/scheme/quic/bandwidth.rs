//! A bandwidth in bits per second, as Chromium rounds it.
//!
//! **Source.** Chromium (google/quiche 790af403), `quic_bandwidth.h`: what is measured is whole bytes per second, and
//! what a gain makes of it has the 24 bits of a `float`.

use crate::units::{Duration, Rate};

/// Bits per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::scheme) struct Bandwidth(pub(in crate::scheme) u64);

impl Bandwidth {
    /// `bytes` in `time`, which is not zero (`FromBytesAndTimeDelta`).
    pub(in crate::scheme) fn of(bytes: u64, time: Duration) -> Self {
        Self(bytes * 1_000_000 / time.as_micros().max(1) * 8)
    }

    /// Whole bytes that pass in `time` (`ToBytesPerPeriod`).
    pub(in crate::scheme) fn bytes_in(self, time: Duration) -> u64 {
        let bytes = u128::from(self.0) * u128::from(time.as_micros()) / 8 / 1_000_000;
        u64::try_from(bytes).unwrap_or(u64::MAX)
    }

    /// `gain` times as much.
    pub(in crate::scheme) fn scaled(self, gain: f32) -> Self {
        Self((self.0 as f32 * gain).round() as u64)
    }

    /// True before anything was measured.
    pub(in crate::scheme) fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// The same, if it is a rate at which anything leaves.
    pub(in crate::scheme) fn rate(self) -> Option<Rate> {
        (self.0 > 0).then(|| Rate::from_bits_per_second(self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_measured_is_whole_bytes_per_second() {
        // 1000 bytes in 3 ms are 333333.3 bytes per second.
        let bandwidth = Bandwidth::of(1_000, Duration::from_millis(3));
        assert_eq!(bandwidth, Bandwidth(2_666_664));
        assert_eq!(bandwidth.bytes_in(Duration::from_millis(3)), 999);
        assert_eq!((Bandwidth::default().is_zero(), Bandwidth::default().rate()), (true, None));
    }

    #[test]
    fn a_gain_leaves_24_bits_and_rounds_halves_up() {
        assert_eq!(Bandwidth(100_000_001).scaled(1.0), Bandwidth(100_000_000));
        assert_eq!(Bandwidth(10_000_000).scaled(1.25), Bandwidth(12_500_000));
        assert_eq!(Bandwidth(10).scaled(0.75), Bandwidth(8));
        assert_eq!(Bandwidth(9_876_544).scaled(2.885), Bandwidth(28_493_830));
    }
}

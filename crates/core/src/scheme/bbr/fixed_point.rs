//! Numbers as the kernel keeps them: bandwidth in packets per microsecond times 2^24, gains in units of 1/256.

/// One packet per microsecond (`BW_UNIT`).
pub(super) const BANDWIDTH_UNIT: u64 = 1 << BANDWIDTH_SHIFT;
const BANDWIDTH_SHIFT: u32 = 24;

/// A gain of one (`BBR_UNIT`).
pub(super) const GAIN_UNIT: u32 = 1 << GAIN_SHIFT;
const GAIN_SHIFT: u32 = 8;

/// A bandwidth in packets per microsecond, times 2^24.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Bandwidth(pub(super) u64);

impl Bandwidth {
    /// `packets` in `micros`, which is not zero. Saturates at the kernel's 32 bits, about 3 Tbit/s.
    pub(super) fn of(packets: u64, micros: u64) -> Self {
        Self((packets * BANDWIDTH_UNIT / micros).min(u64::from(u32::MAX)))
    }

    /// `self * gain`.
    pub(super) fn scaled(self, gain: u32) -> Self {
        Self((self.0 * u64::from(gain)) >> GAIN_SHIFT)
    }

    /// Whole packets that pass in `micros`.
    pub(super) fn packets_in(self, micros: u64) -> u32 {
        saturate(self.0.saturating_mul(micros) >> BANDWIDTH_SHIFT)
    }

    /// Packets in flight over `min_rtt` microseconds, times `gain`, rounded up (`bbr_bdp`).
    pub(super) fn bdp(self, min_rtt: u64, gain: u32) -> u32 {
        let product = self.0.saturating_mul(min_rtt).saturating_mul(gain.into()) >> GAIN_SHIFT;
        saturate(product.div_ceil(BANDWIDTH_UNIT))
    }

    /// Bytes per second with packets of `mss`, times `gain`, less `margin_percent` (`bbr_rate_bytes_per_sec`).
    pub(super) fn bytes_per_second(self, mss: u64, gain: u32, margin_percent: u32) -> u64 {
        let bytes = self.0.saturating_mul(mss).saturating_mul(gain.into()) >> GAIN_SHIFT;
        ((u128::from(bytes) * u128::from(10_000 * (100 - margin_percent))) >> BANDWIDTH_SHIFT) as u64
    }

    /// Bit/s of payload.
    pub(super) fn bits_per_second(self, mss: u64) -> f64 {
        self.0 as f64 * mss as f64 * 8e6 / BANDWIDTH_UNIT as f64
    }
}

/// No window or packet count is larger; the kernel has its `snd_cwnd_clamp`.
pub(super) const MAX_PACKETS: u32 = 1 << 30;

fn saturate(packets: u64) -> u32 {
    packets.min(MAX_PACKETS.into()) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_per_millisecond_is_a_packet_per_millisecond() {
        let bandwidth = Bandwidth::of(100, 100_000);
        assert_eq!(bandwidth.0, 16_777);
        // Rounded down to 0.99998 packets per millisecond, so a second holds 999 whole ones.
        assert_eq!(bandwidth.packets_in(1_000_000), 999);
        assert_eq!(bandwidth.bytes_per_second(1_448, GAIN_UNIT, 0), 1_447_981);
        assert_eq!(bandwidth.bytes_per_second(1_448, GAIN_UNIT, 1), 1_433_501);
        assert!((bandwidth.bits_per_second(1_448) - 11_583_850.0).abs() < 100.0);
    }

    #[test]
    fn the_bdp_is_rounded_up() {
        let bandwidth = Bandwidth::of(1, 1_000);
        assert_eq!(bandwidth.bdp(40_000, GAIN_UNIT), 40);
        assert_eq!(bandwidth.bdp(40_100, GAIN_UNIT), 41);
        assert_eq!(bandwidth.bdp(40_000, GAIN_UNIT * 5 / 4), 50);
        assert_eq!(bandwidth.bdp(40_000, 2 * GAIN_UNIT), 80);
    }

    #[test]
    fn three_terabits_do_not_overflow() {
        let bandwidth = Bandwidth::of(1 << 38, 1);
        assert_eq!(bandwidth.0, u64::from(u32::MAX));
        assert!(bandwidth.bytes_per_second(8_948, 739, 1) > 6_000_000_000_000);
    }
}

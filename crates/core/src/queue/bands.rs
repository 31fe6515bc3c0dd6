//! The three bands that Linux sorts packets into by their DSCP.
//!
//! **Source.** Linux 7.3 `net/ipv4/route.c` (`ip_tos2prio`: two bits of the old type-of-service byte are the priority)
//! and `net/sched/sch_generic.c` (`sch_default_prio2band`).

/// How many there are.
pub(super) const BANDS: usize = 3;

/// The band of a packet, the most urgent being 0: without delay comes first, high throughput last, and all else
/// between.
pub(super) fn band_of(dscp: u8) -> usize {
    [1, 2, 0, 1][usize::from(dscp >> 1 & 3)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_old_bits_for_delay_and_throughput_decide() {
        // Type-of-service bytes 0x00, 0x04, 0x08, 0x10, 0x18, 0xb8 (EF), 0x20 (CS1), 0xe0 (CS7).
        let bands: Vec<_> = [0x00, 0x04, 0x08, 0x10, 0x18, 0xb8, 0x20, 0xe0].map(|tos| band_of(tos >> 2)).into();
        assert_eq!(bands, [1, 1, 2, 0, 1, 1, 1, 1]);
    }
}

//! What follows from what people state of RED: thresholds, the burst, and the weight of a sample.
//!
//! **Source.** What `tc` (iproute2 `tc/q_red.c`, `tc/tc_red.c`) computes; the formulas are Floyd and Jacobson's.

use crate::units::Bytes;

/// One more than the largest shift of a number of four bytes.
const SHIFTS: u8 = 32;

/// What an experiment states; what it does not follows from the rest.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stated {
    /// The most bytes that wait.
    pub limit: u32,
    /// The average length from which packets are dropped or marked.
    pub min: Option<u32>,
    /// The average length from which every packet is.
    pub max: Option<u32>,
    /// The size of an average packet.
    pub average_packet: Option<u32>,
    /// The burst that passes while the average is below the lower threshold.
    pub burst: Option<u32>,
}

/// A parameter that does not fit the others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misfit {
    /// Its key in an experiment file.
    pub key: &'static str,
    /// Its value, stated or following from others, as a file has it.
    pub value: String,
    /// What would be right.
    pub expected: String,
}

/// All thresholds, in bytes, and the weight of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Thresholds {
    /// The most bytes that wait.
    pub limit: u32,
    /// The average length from which packets are dropped or marked.
    pub min: u32,
    /// The average length from which every packet is.
    pub max: u32,
    /// The size of an average packet.
    pub average_packet: u32,
    /// The burst that passes while the average is below the lower threshold.
    pub burst: u32,
    /// The weight of a sample in the average.
    pub averaging: Averaging,
}

/// The weight of a sample in the average length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Averaging {
    /// The weight is 2 to the power of minus this.
    pub log: u8,
}

impl Thresholds {
    /// What is stated, and for the rest what Sally Floyd recommends; an average packet is the largest one unless
    /// stated.
    pub fn new(stated: &Stated, largest_packet: Bytes) -> Result<Self, Misfit> {
        let limit = stated.limit;
        let max = stated.max.or(stated.min.map(|min| min.saturating_mul(3))).unwrap_or(limit / 4);
        let min = stated.min.unwrap_or(max / 3);
        let average_packet = stated.average_packet.unwrap_or(largest_packet.count() as u32).max(1);
        let misfit = |key, value, expected| Misfit { key, value, expected };
        if min <= average_packet {
            let expected = format!("more than avpkt, {average_packet}B, and is a third of max by default");
            return Err(misfit("min", format!("{min}B"), expected));
        }
        if max <= min {
            let expected = format!("more than min, {min}B, and is a quarter of limit by default");
            return Err(misfit("max", format!("{max}B"), expected));
        }
        let usual = (2 * u64::from(min) + u64::from(max)) / (3 * u64::from(average_packet));
        // For thresholds close to each other `tc` takes a burst that it then refuses.
        let burst = stated.burst.unwrap_or((usual as u32).max(min.div_ceil(average_packet)));
        let averaging = Averaging::new(min, burst, average_packet).ok_or_else(|| {
            let least = min.div_ceil(average_packet);
            let expected = format!("{least}pkt (min / avpkt) or more, yet so few that an average can follow them");
            misfit("burst", format!("{burst}pkt"), expected)
        })?;
        if !averaging.holds(max) {
            let most = 1_u32 << (31 - averaging.log);
            let expected = format!("less than {most}B with a burst of {burst}pkt, and more with a smaller burst");
            return Err(misfit("max", format!("{max}B"), expected));
        }
        Ok(Self { limit, min, max, average_packet, burst, averaging })
    }
}

impl Averaging {
    /// The largest weight with which a burst of so many packets into an empty queue leaves the average below the
    /// threshold; `None` if there is none.
    pub fn new(min_bytes: u32, burst: u32, average_packet: u32) -> Option<Self> {
        let burst = f64::from(burst);
        let excess = burst + 1.0 - f64::from(min_bytes) / f64::from(average_packet);
        if excess < 1.0 {
            return None;
        }
        let fits = |averaging: &Self| excess <= (1.0 - (1.0 - averaging.weight()).powf(burst)) / averaging.weight();
        (1..SHIFTS).map(|log| Self { log }).find(fits)
    }

    /// The weight itself.
    pub fn weight(self) -> f64 {
        0.5_f64.powi(i32::from(self.log))
    }

    /// True if the kernel's fixed-point average can be as large as this.
    fn holds(self, bytes: u32) -> bool {
        u32::BITS - bytes.leading_zeros() + u32::from(self.log) < u32::BITS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_follows_from_the_limit() {
        let stated = Stated { limit: 400_000, average_packet: Some(1_000), ..Stated::default() };
        let thresholds = Thresholds::new(&stated, Bytes::new(1_500)).expect("it fits");
        let Thresholds { min, max, burst, averaging, .. } = thresholds;
        assert_eq!((min, max, burst, averaging.log), (33_333, 100_000, 55, 5));
    }

    #[test]
    fn there_is_no_weight_for_a_burst_that_does_not_reach_the_threshold() {
        assert_eq!(Averaging::new(30_000, 10, 1_000), None);
        assert_eq!(Averaging::new(1_001, 1_000_000, 1_000), None);
    }

    #[test]
    fn thresholds_lie_above_one_packet_and_apart() {
        let misfit = |min, max| {
            let stated =
                Stated { limit: 400_000, min: Some(min), max: Some(max), average_packet: Some(1_000), burst: Some(2) };
            Thresholds::new(&stated, Bytes::new(1_500)).err().map(|misfit| misfit.key)
        };
        assert_eq!((misfit(1_000, 3_000), misfit(1_001, 3_003)), (Some("min"), None));
        assert_eq!((misfit(2_000, 2_000), misfit(2_000, 2_001)), (Some("max"), None));
    }

    #[test]
    fn the_burst_reaches_the_lower_threshold_at_least() {
        let stated = Stated {
            limit: 400_000,
            min: Some(30_500),
            max: Some(30_600),
            average_packet: Some(1_000),
            ..Stated::default()
        };
        assert_eq!(Thresholds::new(&stated, Bytes::new(1_500)).map(|thresholds| thresholds.burst), Ok(31));
        assert!(Averaging::new(30_000, 30, 1_000).is_some(), "just as much is enough");
    }
}

//! A token bucket: what shapers and policers count with.
//!
//! **What it is.** Tokens come at a rate until the bucket is full, and each packet takes as many as it has bits. Over
//! any time no more passes than the rate allows and one bucket.
//!
//! **Source.** RFC 2697, section 3, with one bucket; Linux 7.3 `net/sched/sch_tbf.c` (`tbf_dequeue`) and `act_police.c`
//! (`tcf_police_act`). The bucket is full at the start, as theirs.
//!
//! **Parameters.** The rate, and what the bucket holds (`burst`, in bytes), which is at least one packet.
//!
//! **Deviations.** Exact: tokens are counted in billionths of a bit, where the kernel rounds each packet's time to
//! nanoseconds.
//!
//! **How it is validated.** Unit tests here.

use crate::units::{Bytes, Duration, Instant, Rate};

/// Parts of a bit.
const BIT: u128 = 1_000_000_000;

/// Tokens that come at a rate above zero.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bucket {
    rate_bps: u128,
    /// In billionths of a bit, as tokens are.
    depth: u128,
    tokens: u128,
    counted_until: Instant,
}

fn cost(size: Bytes) -> u128 {
    u128::from(size.count()) * 8 * BIT
}

impl Bucket {
    pub(super) fn new(rate: Rate, burst: Bytes) -> Self {
        let depth = cost(burst);
        Self { rate_bps: u128::from(rate.as_bits_per_second()), depth, tokens: depth, counted_until: Instant::ZERO }
    }

    fn tokens_at(&self, now: Instant) -> u128 {
        let fresh = self.rate_bps * u128::from(now.since(self.counted_until).as_nanos());
        (self.tokens + fresh).min(self.depth)
    }

    /// The first instant, from `now` on, at which a packet of this size may pass; never, if it is larger than the
    /// bucket.
    pub(super) fn ready(&self, size: Bytes, now: Instant) -> Instant {
        if cost(size) > self.depth {
            return Instant::FAR_FUTURE;
        }
        let missing = cost(size).saturating_sub(self.tokens_at(now));
        now + Duration::from_nanos(missing.div_ceil(self.rate_bps) as u64)
    }

    /// Takes the tokens for a packet of this size that passes at `now`; false if there are too few.
    pub(super) fn take(&mut self, size: Bytes, now: Instant) -> bool {
        let Some(left) = self.tokens_at(now).checked_sub(cost(size)) else { return false };
        (self.tokens, self.counted_until) = (left, now);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_bucket_passes_the_burst_at_once_and_then_the_rate() {
        // 12 Mbit/s: a packet of 1500 bytes a millisecond.
        let mut bucket = Bucket::new(Rate::from_bits_per_second(12_000_000), Bytes::new(4_500));
        let mut now = Instant::ZERO;
        let times: Vec<_> = (0..6)
            .map(|_| {
                now = bucket.ready(Bytes::new(1_500), now);
                assert!(bucket.take(Bytes::new(1_500), now));
                now.as_micros()
            })
            .collect();
        assert_eq!(times, [0, 0, 0, 1_000, 2_000, 3_000]);
    }

    #[test]
    fn rounding_to_nanoseconds_does_not_add_up() {
        // 52 bytes at 7 Mbit/s take 59428.57 ns; a million of them, after a burst of two, take a million times that.
        let mut bucket = Bucket::new(Rate::from_bits_per_second(7_000_000), Bytes::new(104));
        let mut now = Instant::ZERO;
        for _ in 0..1_000_002 {
            now = bucket.ready(Bytes::new(52), now);
            assert!(bucket.take(Bytes::new(52), now));
        }
        assert_eq!(now.as_micros(), 59_428_571);
    }

    #[test]
    fn what_is_larger_than_the_bucket_never_passes() {
        let mut bucket = Bucket::new(Rate::from_bits_per_second(8_000), Bytes::new(1_000));
        assert_eq!(bucket.ready(Bytes::new(1_001), Instant::ZERO), Instant::FAR_FUTURE);
        assert!(!bucket.take(Bytes::new(1_001), Instant::from_nanos(1 << 60)));
    }
}

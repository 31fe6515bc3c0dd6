//! A policer: drops what comes faster than a rate and a burst allow, and delays nothing.
//!
//! **What it is.** A token bucket at the door of the hop, before its queue. A packet that finds too few tokens is
//! dropped and takes none.
//!
//! **Source.** Linux 7.3 `net/sched/act_police.c` with the action `drop`; RFC 2697, section 3, with one bucket.
//!
//! **Parameters.** `rate`, and `burst` in bytes, which is at least the largest packet. Neither has a default, as in
//! `tc`.
//!
//! **Deviations.** No second bucket for a peak rate.
//!
//! **How it is validated.** `tests/elements.rs`: the long-term rate and the burst are exact.

use serde::Deserialize;

use super::bucket::Bucket;
use crate::problem::Problem;
use crate::units::{Bytes, Instant, Rate};

/// What passes the door of a hop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PolicerConfig {
    /// The long-term rate.
    #[serde(rename = "rate_bps")]
    pub rate: Rate,
    /// What may come at once, after a pause.
    #[serde(rename = "burst_bytes")]
    pub burst: Bytes,
}

impl PolicerConfig {
    /// Checks it for packets up to this size.
    pub(super) fn check(&self, largest: Bytes) -> Result<(), Problem> {
        check_bucket(self.rate, self.burst, largest).map_err(|problem| Problem::new(format!("policer.{problem}")))
    }
}

/// Checks rate and burst of a token bucket for packets up to this size.
pub(super) fn check_bucket(rate: Rate, burst: Bytes, largest: Bytes) -> Result<(), Problem> {
    if rate.is_zero() {
        return Err(Problem::new("rate 0 lets nothing pass; give a rate above zero"));
    }
    if burst < largest {
        return Err(Problem::new(format!("burst {burst} holds no packet of {largest}; give at least {largest}")));
    }
    Ok(())
}

/// A policer at work.
#[derive(Clone, Copy, Debug)]
pub(super) struct Policer(Bucket);

impl Policer {
    pub(super) fn new(config: &PolicerConfig) -> Self {
        Self(Bucket::new(config.rate, config.burst))
    }

    /// Whether a packet of this size may pass at `now`.
    #[inline(never)]
    pub(super) fn admits(&mut self, size: Bytes, now: Instant) -> bool {
        self.0.take(size, now)
    }
}

//! The bounds of parameters that an experiment states.

use std::fmt::Display;
use std::ops::RangeInclusive;

use crate::problem::Problem;
use crate::units::Duration;

/// Times that all queues can count, as in Linux: up to a minute.
const LONGEST_NS: u64 = 60_000_000_000;

/// Checks a number against its bounds.
pub(super) fn within<T: Copy + PartialOrd + Display>(
    name: &str,
    value: T,
    bounds: &RangeInclusive<T>,
    unit: &str,
) -> Result<(), Problem> {
    if bounds.contains(&value) {
        return Ok(());
    }
    let (least, most) = (bounds.start(), bounds.end());
    Err(Problem::new(format!("{name} {value}{unit} is not possible; give {least}{unit} to {most}{unit}")))
}

/// Checks a share that the kernel keeps in whole percents.
pub(super) fn whole_percents(name: &str, share: f64) -> Result<(), Problem> {
    within(name, share, &(0.0..=1.0), "")?;
    let percents = share * 100.0;
    if (percents - percents.round()).abs() < 1e-9 {
        return Ok(());
    }
    Err(Problem::new(format!("{name} {share} is not in whole percents; the nearest is {}", percents.round() / 100.0)))
}

/// Checks a time of at least `least_ns`.
pub(super) fn time_within(name: &str, value_ns: u64, least_ns: u64) -> Result<(), Problem> {
    let (value, least) = (Duration::from_nanos(value_ns), Duration::from_nanos(least_ns));
    if (least_ns..=LONGEST_NS).contains(&value_ns) {
        return Ok(());
    }
    Err(Problem::new(format!("{name} {value} is not possible; give {least} to {}", Duration::from_nanos(LONGEST_NS))))
}

/// Checks a limit in packets, bytes or queues, which is at least 1.
pub(super) fn limit_within(name: &str, value: u64) -> Result<(), Problem> {
    within(name, value, &(1..=u64::from(u32::MAX)), "")
}

//! Where a queue stands, and what is checked of the parameters that an experiment states.

use std::fmt::Display;
use std::ops::RangeInclusive;

use crate::problem::Problem;
use crate::random::RandomStream;
use crate::units::{Bytes, Duration, Rate};

/// The header of an Ethernet frame, which Linux adds to a device's largest packet (`psched_mtu`).
const ETHERNET_HEADER: Bytes = Bytes::new(14);
/// What Linux' socket buffer takes beside a packet: `truesize` of a packet of 1500 bytes is 2304 where devices are
/// veth.
const BUFFER_OVERHEAD: Bytes = Bytes::new(804);
/// A queue is a second older than the run, as in the linux world, where runs start a second after the machine.
pub(super) const AGE: Duration = Duration::from_secs(1);
/// Times that all queues can count, as in Linux: up to a minute.
const LONGEST_NS: u64 = 60_000_000_000;

/// What a queue has to know of the hop it is in.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// Long-term mean rate of the link; `None` if it is unlimited.
    pub mean_rate: Option<Rate>,
    /// The largest IP packet that comes by.
    pub largest_packet: Bytes,
    /// Seed of the run.
    pub seed: u64,
    /// Name of the hop.
    pub hop: &'a str,
}

impl Place<'_> {
    /// The largest packet as Linux counts it (`psched_mtu`), which is the unit of many thresholds.
    pub(super) fn mtu(&self) -> Bytes {
        self.largest_packet + ETHERNET_HEADER
    }

    /// The random numbers of the queue for one purpose.
    pub(super) fn random(&self, purpose: &str) -> RandomStream {
        RandomStream::new(self.seed, &format!("{}.queue.{purpose}", self.hop))
    }
}

/// The memory that so many packets take in Linux (`truesize`).
pub(super) fn memory_of(packets: usize, bytes: Bytes) -> u64 {
    (bytes + BUFFER_OVERHEAD * packets as u64).count()
}

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

//! What a queue is built with beside its parameters.

use crate::random::RandomStream;
use crate::units::{Bytes, Rate};

/// The header of an Ethernet frame, which Linux adds to a device's largest packet (`psched_mtu`).
const ETHERNET_HEADER: Bytes = Bytes::new(14);
/// What Linux' socket buffer takes beside a packet: `truesize` of a packet of 1500 bytes is 2304 where devices are
/// veth.
const BUFFER_OVERHEAD: Bytes = Bytes::new(804);

/// What a queue is told of the hop it is in when a run starts.
#[derive(Clone, Copy, Debug)]
pub struct QueueSetup<'a> {
    /// Long-term mean rate of the link; `None` if it is unlimited.
    pub mean_rate: Option<Rate>,
    /// The largest IP packet that comes by.
    pub largest_packet: Bytes,
    /// Seed of the run.
    pub seed: u64,
    /// Name of the hop.
    pub hop: &'a str,
}

impl QueueSetup<'_> {
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

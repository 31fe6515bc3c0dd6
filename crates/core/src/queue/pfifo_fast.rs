//! Three bands by priority: what Linux gives every device that nobody gave anything else.
//!
//! **What it is.** The DSCP decides on one of three bands; a band is served only while those before it are empty. Each
//! is a queue with its own limit, and drops what arrives when it is full.
//!
//! **Source.** Linux 7.3 `net/sched/sch_generic.c` (`pfifo_fast_*`), `include/net/pkt_sched.h`.
//!
//! **Parameters.** The limit of each band, which is the length of the device's transmit queue: 1000 packets.
//!
//! **Deviations.** None known.
//!
//! **How it is validated.** Unit tests here; next to the kernel's in `tests/worlds/test_elements_against_kernel.py`.

use serde::Deserialize;

use super::bands::{BANDS, band_of};
use super::bounds::limit_within;
use super::packet_queue::PacketQueue;
use super::{Queue, Reason, Verdicts};
use crate::info::{Info, Parameter};
use crate::packet::Packet;
use crate::problem::Problem;
use crate::units::{Bytes, Instant};

/// Name, parameters and source, for listings and documentation.
pub(super) const INFO: Info = Info {
    name: "pfifo_fast",
    title: "Three bands by priority",
    source: "Linux net/sched/sch_generic.c (pfifo_fast)",
    parameters: &[Parameter::quantity("limit", "1000pkt", "packets", "the most packets that wait in each band")],
    telemetry: &[],
};

/// What an experiment states.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PfifoFastConfig {
    #[serde(default = "default_limit")]
    limit_packets: u64,
}

/// `DEFAULT_TX_QUEUE_LEN`.
fn default_limit() -> u64 {
    1_000
}

impl PfifoFastConfig {
    pub(super) fn check(&self) -> Result<(), Problem> {
        limit_within("limit", self.limit_packets)
    }
}

/// Three bands, the first of which comes first.
#[derive(Debug)]
pub struct PfifoFast<P> {
    bands: [PacketQueue<P>; BANDS],
    limit: usize,
}

impl<P> PfifoFast<P> {
    /// An empty queue.
    pub(super) fn new(config: &PfifoFastConfig) -> Self {
        Self { bands: Default::default(), limit: config.limit_packets as usize }
    }
}

impl<P: Send> Queue<P> for PfifoFast<P> {
    fn enqueue(&mut self, packet: Box<Packet<P>>, _now: Instant, verdicts: &mut Verdicts<P>) {
        let band = &mut self.bands[band_of(packet.dscp)];
        if band.packets() < self.limit {
            band.push(packet);
        } else {
            verdicts.drop(packet, Reason::Overlimit);
        }
    }

    fn dequeue(&mut self, _now: Instant, _verdicts: &mut Verdicts<P>) -> Option<Box<Packet<P>>> {
        self.bands.iter_mut().find_map(PacketQueue::pop)
    }

    fn peek(&self) -> Option<Bytes> {
        self.bands.iter().find_map(PacketQueue::head).map(|packet| packet.size)
    }

    fn packets(&self) -> usize {
        self.bands.iter().map(PacketQueue::packets).sum()
    }

    fn bytes(&self) -> Bytes {
        self.bands.iter().fold(Bytes::ZERO, |sum, band| sum + band.bytes())
    }
}

#[cfg(test)]
mod tests {
    use crate::queue::tests::{Bench, problem};

    #[test]
    fn an_urgent_packet_overtakes_and_a_bulky_one_waits() {
        let mut bench = Bench::new(r#"{"kind": "pfifo_fast"}"#);
        for (flow, dscp) in [(0, 2), (1, 0), (2, 4), (3, 2), (4, 4)] {
            (bench.flow, bench.dscp) = (flow, dscp);
            bench.offer(1);
        }
        (0..5).for_each(|_| bench.send());
        assert_eq!(bench.sent.iter().map(|sent| sent.0).collect::<Vec<_>>(), [2, 4, 1, 0, 3]);
    }

    #[test]
    fn every_band_has_the_limit() {
        let mut bench = Bench::new(r#"{"kind": "pfifo_fast", "limit_packets": 3}"#);
        bench.offer(5);
        bench.dscp = 4;
        bench.offer(4);
        assert_eq!(bench.dropped.iter().map(|drop| drop.number).collect::<Vec<_>>(), [3, 4, 8]);
        assert_eq!(bench.queue.packets(), 6);
    }

    #[test]
    fn impossible_parameters_are_refused() {
        assert!(problem(r#"{"kind": "pfifo_fast", "limit_packets": 0}"#).contains("limit 0 is not possible"));
    }
}

//! First in, first out.
//!
//! **What it is.** One queue with a limit in packets, bytes, time or any of them together; it drops the arriving packet
//! (drop-tail) or the oldest ones (drop-head) when the limit is passed. With `room` a packet enters only where a larger
//! one would: the driver of a network card takes none unless the largest would fit.
//!
//! **Source.** Linux `net/sched/sch_fifo.c` (`pfifo`, `bfifo`, `pfifo_head_drop`); mahimahi `droptail` and `drophead`
//! queues. For `room`: ns-3 `net-device-queue-interface.cc`, which stops a device's queue that has no room for a packet
//! of the MTU.
//!
//! **Deviations.** The packet that the link is sending is not in the queue (as in mahimahi; under Linux' htb it still
//! is). A time limit is a byte limit at the link's mean rate.
//!
//! **How it is validated.** Unit tests here; conservation in every run.

use std::collections::VecDeque;

use serde::Deserialize;

use super::{Queue, QueueSetup, Reason, Verdicts};
use crate::info::{Info, Parameter};
use crate::packet::Packet;
use crate::problem::Problem;
use crate::units::{Bytes, Duration, Instant, Rate};

/// Name, parameters and source, for listings and documentation.
pub(super) const INFO: Info = Info {
    name: "fifo",
    title: "First in, first out",
    source: "Linux net/sched/sch_fifo.c; mahimahi droptail, drophead",
    parameters: &[
        Parameter::quantity(
            "limit",
            "infinite",
            "",
            "packets (50pkt), bytes (64kB), time at the mean rate (100ms), bandwidth-delay products (1bdp), a list of these, or infinite",
        ),
        Parameter::choice(
            "drop",
            &["tail", "head"],
            "which packet to drop when the limit is passed: the arriving one or the oldest",
        ),
        Parameter::quantity(
            "room",
            "the packet's size",
            "size",
            "bytes that must be free for a packet to enter (drop-tail)",
        ),
    ],
    telemetry: &[],
};

/// Which packet goes when the queue is full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DropFrom {
    /// The arriving packet.
    #[default]
    Tail,
    /// The oldest packets.
    Head,
}

/// The limits of a [`Fifo`]; without any the queue is infinite.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FifoConfig {
    limit_packets: Option<u64>,
    limit_bytes: Option<u64>,
    limit_time_ns: Option<u64>,
    #[serde(default)]
    drop: DropFrom,
    #[serde(default)]
    room_bytes: u64,
}

impl FifoConfig {
    /// The limit in bytes, of which a time limit is one at this rate.
    fn bytes(&self, mean_rate: Option<Rate>) -> Option<u64> {
        let limit_time =
            self.limit_time_ns.zip(mean_rate).map(|(nanos, rate)| rate.amount_in(Duration::from_nanos(nanos)).count());
        [self.limit_bytes, limit_time].into_iter().flatten().min()
    }

    /// Says what is wrong with it on this hop, and what would be right.
    pub(super) fn check(&self, setup: &QueueSetup<'_>) -> Result<(), Problem> {
        let (limit, largest) = (self.bytes(setup.mean_rate), setup.largest_packet.count());
        if let Some(limit) = limit.filter(|limit| *limit < largest) {
            return Err(Problem::new(format!(
                "a limit of {limit} bytes holds no packet of {largest} bytes; make it larger"
            )));
        }
        if self.room_bytes == 0 {
            return Ok(());
        }
        if self.drop == DropFrom::Head {
            return Err(Problem::new(
                "room is what a packet needs to enter, and with drop = \"head\" all enter; leave one of them out",
            ));
        }
        match limit {
            None => Err(Problem::new("room is counted in bytes; give a limit in bytes or time")),
            Some(limit) if limit < self.room_bytes => Err(Problem::new(format!(
                "room of {} bytes is more than the limit of {limit}; make it smaller",
                self.room_bytes
            ))),
            Some(_) => Ok(()),
        }
    }
}

/// A first-in, first-out queue.
#[derive(Debug)]
pub struct Fifo<P> {
    waiting: VecDeque<Box<Packet<P>>>,
    bytes: Bytes,
    limit_packets: usize,
    limit_bytes: Bytes,
    drop: DropFrom,
    room: Bytes,
}

impl<P> Fifo<P> {
    /// An empty queue with the limits of `config`; a time limit counts at `mean_rate` and is void on an unlimited link.
    pub fn new(config: &FifoConfig, mean_rate: Option<Rate>) -> Self {
        Self {
            waiting: VecDeque::new(),
            bytes: Bytes::ZERO,
            limit_packets: config.limit_packets.map_or(usize::MAX, |limit| limit as usize),
            limit_bytes: Bytes::new(config.bytes(mean_rate).unwrap_or(u64::MAX)),
            drop: config.drop,
            room: Bytes::new(config.room_bytes),
        }
    }

    fn is_over_limit(&self) -> bool {
        self.waiting.len() > self.limit_packets || self.bytes > self.limit_bytes
    }

    fn pop(&mut self) -> Option<Box<Packet<P>>> {
        let packet = self.waiting.pop_front()?;
        self.bytes -= packet.size;
        Some(packet)
    }
}

impl<P: Send> Queue<P> for Fifo<P> {
    fn enqueue(&mut self, packet: Box<Packet<P>>, _now: Instant, verdicts: &mut Verdicts<P>) {
        match self.drop {
            DropFrom::Tail => {
                let needed = packet.size.max(self.room);
                if self.waiting.len() >= self.limit_packets || self.bytes + needed > self.limit_bytes {
                    verdicts.drop(packet, Reason::Overlimit);
                } else {
                    self.bytes += packet.size;
                    self.waiting.push_back(packet);
                }
            }
            DropFrom::Head => {
                self.bytes += packet.size;
                self.waiting.push_back(packet);
                while self.is_over_limit() {
                    match self.pop() {
                        Some(oldest) => verdicts.drop(oldest, Reason::Overlimit),
                        None => break,
                    }
                }
            }
        }
    }

    fn dequeue(&mut self, _now: Instant, _verdicts: &mut Verdicts<P>) -> Option<Box<Packet<P>>> {
        self.pop()
    }

    fn peek(&self) -> Option<Bytes> {
        self.waiting.front().map(|packet| packet.size)
    }

    fn packets(&self) -> usize {
        self.waiting.len()
    }

    fn bytes(&self) -> Bytes {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may fail")]

    use super::*;
    use crate::packet::FlowId;

    fn packet(number: u64, size: u64) -> Box<Packet<()>> {
        Box::new(Packet::new(FlowId(0), true, number, Bytes::new(size), Instant::ZERO, ()))
    }

    /// Numbers that came out and numbers that were dropped, after offering `sizes` to a queue.
    fn offer(config: &FifoConfig, sizes: &[u64]) -> (Vec<u64>, Vec<u64>) {
        let mut queue = Fifo::new(config, Some(Rate::from_bits_per_second(12_000_000)));
        let mut verdicts = Verdicts::default();
        for (number, &size) in sizes.iter().enumerate() {
            queue.enqueue(packet(number as u64, size), Instant::ZERO, &mut verdicts);
        }
        let out = std::iter::from_fn(|| queue.dequeue(Instant::ZERO, &mut Verdicts::default()))
            .map(|packet| packet.number)
            .collect();
        assert_eq!((queue.packets(), queue.bytes()), (0, Bytes::ZERO));
        (out, verdicts.dropped().iter().map(|(packet, _)| packet.number).collect())
    }

    #[test]
    fn drop_tail_refuses_the_newest() {
        let config = FifoConfig { limit_packets: Some(2), ..FifoConfig::default() };
        assert_eq!(offer(&config, &[100, 100, 100]), (vec![0, 1], vec![2]));
    }

    #[test]
    fn drop_head_gives_up_the_oldest() {
        let config = FifoConfig { limit_packets: Some(2), drop: DropFrom::Head, ..FifoConfig::default() };
        assert_eq!(offer(&config, &[100, 100, 100]), (vec![1, 2], vec![0]));
    }

    #[test]
    fn a_small_packet_still_fits_where_a_large_one_does_not() {
        let config = FifoConfig { limit_bytes: Some(3_100), ..FifoConfig::default() };
        assert_eq!(offer(&config, &[1_500, 1_500, 1_500, 100]), (vec![0, 1, 3], vec![2]));
    }

    #[test]
    fn no_packet_enters_where_the_room_for_a_large_one_is_not_free() {
        let config = FifoConfig { limit_bytes: Some(3_100), room_bytes: 1_500, ..FifoConfig::default() };
        assert_eq!(offer(&config, &[1_500, 1_500, 1_500, 100]), (vec![0, 1], vec![2, 3]));
        assert_eq!(offer(&config, &[1_500, 100, 1_600, 100]), (vec![0, 1, 3], vec![2]));
    }

    #[test]
    fn room_that_means_nothing_is_refused() {
        let setup = setup_at(12_000_000);
        let with = |config| FifoConfig { room_bytes: 1_500, ..config };
        let bytes = FifoConfig { limit_bytes: Some(1_500), ..FifoConfig::default() };
        assert_eq!(with(bytes.clone()).check(&QueueSetup { mean_rate: None, ..setup }), Ok(()));
        let time = FifoConfig { limit_time_ns: Some(1_000_000), ..FifoConfig::default() };
        assert_eq!(with(time.clone()).check(&setup), Ok(()));
        for (config, problem) in [
            (FifoConfig { limit_bytes: Some(1_499), ..bytes.clone() }, "is more than the limit of 1499"),
            (FifoConfig { drop: DropFrom::Head, ..bytes }, "all enter"),
            (FifoConfig { limit_packets: Some(9), ..FifoConfig::default() }, "give a limit in bytes or time"),
            (FifoConfig { limit_time_ns: Some(999_000), ..time }, "is more than the limit of 1498"),
        ] {
            let found = with(config).check(&setup).unwrap_err().to_string();
            assert!(found.contains(problem), "{found}");
        }
    }

    fn setup_at(bits_per_second: u64) -> QueueSetup<'static> {
        QueueSetup { mean_rate: Some(Rate::from_bits_per_second(bits_per_second)), ..super::super::tests::setup() }
    }

    #[test]
    fn a_limit_that_holds_no_packet_is_refused() {
        let bytes = FifoConfig { limit_bytes: Some(999), ..FifoConfig::default() };
        let time = FifoConfig { limit_time_ns: Some(999_000), ..FifoConfig::default() };
        for config in [bytes, time] {
            let found = config.check(&setup_at(8_000_000)).unwrap_err().to_string();
            assert_eq!(found, "a limit of 999 bytes holds no packet of 1000 bytes; make it larger");
        }
    }

    #[test]
    fn a_time_limit_counts_at_the_mean_rate() {
        let config = FifoConfig { limit_time_ns: Some(2_000_000), ..FifoConfig::default() };
        assert_eq!(offer(&config, &[1_500, 1_500, 1_500]), (vec![0, 1], vec![2]));
    }

    #[test]
    fn without_a_limit_nothing_is_dropped() {
        let (out, dropped) = offer(&FifoConfig::default(), &[1_500; 1_000]);
        assert_eq!((out.len(), dropped.len()), (1_000, 0));
    }
}

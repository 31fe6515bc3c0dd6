//! First in, first out.
//!
//! **What it is.** One queue with a limit in packets, bytes, time or any of them together; it drops the arriving packet
//! (drop-tail) or the oldest ones (drop-head) when the limit is passed.
//!
//! **Source.** Linux `net/sched/sch_fifo.c` (`pfifo`, `bfifo`, `pfifo_head_drop`); mahimahi `droptail` and `drophead`
//! queues.
//!
//! **Deviations.** The packet that the link is sending is not in the queue (as in mahimahi; under Linux' htb it still
//! is). A time limit is a byte limit at the link's mean rate.
//!
//! **How it is validated.** Unit tests here; conservation in every run.

use std::collections::VecDeque;

use serde::Deserialize;

use super::{Drops, Queue, Reason};
use crate::info::{Info, Parameter};
use crate::packet::Packet;
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
}

/// A first-in, first-out queue.
#[derive(Debug)]
pub struct Fifo<P> {
    waiting: VecDeque<Box<Packet<P>>>,
    bytes: Bytes,
    limit_packets: usize,
    limit_bytes: Bytes,
    drop: DropFrom,
}

impl<P> Fifo<P> {
    /// An empty queue with the limits of `config`; a time limit counts at `mean_rate` and is void on an unlimited link.
    pub fn new(config: &FifoConfig, mean_rate: Option<Rate>) -> Self {
        let limit_time = config
            .limit_time_ns
            .zip(mean_rate)
            .map(|(nanos, rate)| rate.amount_in(Duration::from_nanos(nanos)).count());
        let limit_bytes = [config.limit_bytes, limit_time].into_iter().flatten().min();
        Self {
            waiting: VecDeque::new(),
            bytes: Bytes::ZERO,
            limit_packets: config.limit_packets.map_or(usize::MAX, |limit| limit as usize),
            limit_bytes: Bytes::new(limit_bytes.unwrap_or(u64::MAX)),
            drop: config.drop,
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
    fn enqueue(&mut self, packet: Box<Packet<P>>, _now: Instant, drops: &mut Drops<P>) {
        match self.drop {
            DropFrom::Tail => {
                if self.waiting.len() >= self.limit_packets || self.bytes + packet.size > self.limit_bytes {
                    drops.push(packet, Reason::Overlimit);
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
                        Some(oldest) => drops.push(oldest, Reason::Overlimit),
                        None => break,
                    }
                }
            }
        }
    }

    fn dequeue(&mut self, _now: Instant, _drops: &mut Drops<P>) -> Option<Box<Packet<P>>> {
        self.pop()
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
    use super::*;
    use crate::packet::FlowId;

    fn packet(number: u64, size: u64) -> Box<Packet<()>> {
        Box::new(Packet::new(FlowId(0), true, number, Bytes::new(size), Instant::ZERO, ()))
    }

    /// Numbers that came out and numbers that were dropped, after offering `sizes` to a queue.
    fn offer(config: &FifoConfig, sizes: &[u64]) -> (Vec<u64>, Vec<u64>) {
        let mut queue = Fifo::new(config, Some(Rate::from_bits_per_second(12_000_000)));
        let mut drops = Drops::default();
        for (number, &size) in sizes.iter().enumerate() {
            queue.enqueue(packet(number as u64, size), Instant::ZERO, &mut drops);
        }
        let out = std::iter::from_fn(|| queue.dequeue(Instant::ZERO, &mut Drops::default()))
            .map(|packet| packet.number)
            .collect();
        assert_eq!((queue.packets(), queue.bytes()), (0, Bytes::ZERO));
        (out, drops.dropped().iter().map(|(packet, _)| packet.number).collect())
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

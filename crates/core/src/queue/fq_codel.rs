//! CoDel in each of many queues that take turns: FQ-CoDel.
//!
//! **What it is.** Flows are hashed to queues, each under a CoDel of its own. Queues take turns by deficit round robin,
//! and a queue that has just become busy goes first once. When all queues together hold too much, the longest one loses
//! packets from its head. With one queue it is CoDel in which nothing goes first.
//!
//! **Source.** RFC 8290; Linux 7.3 `net/sched/sch_fq_codel.c`.
//!
//! **Parameters.** The defaults are the kernel's; the quantum is the largest packet and 14 bytes of Ethernet.
//!
//! **Deviations.** As under Linux' htb, the link never asks an empty queue for a packet, so that the last queue stays
//! on its list until the next packet comes. The memory of a packet is its size and 804 bytes, about what it is in
//! Linux. A control that has never dropped begins anew, whatever a full queue has counted. In Linux it begins with that
//! count, and drops until the queue is short, in the first sixteen intervals after the machine's start, and in half of
//! every 73 minutes, because times are compared in 32 bits; runs in `linux` are in the other half.
//!
//! **How it is validated.** Unit tests here; next to the kernel's in the suite `agreement/queues`; and fed with the
//! arrivals at a kernel's, it drops and marks the same packets at the same times (`tests/kernel_queues`).

use serde::Deserialize;

use super::ahead::Ahead;
use super::bounds::{limit_within, within};
use super::codel::{self, Control, Law, Supply, Threshold, ticks};
use super::flows::{self, Flow, Flows};
use super::setup::{QueueSetup, memory_of};
use super::{Queue, Reason, Verdicts};
use crate::info::{Info, Parameter};
use crate::packet::Packet;
use crate::problem::Problem;
use crate::units::{Bytes, Instant};

/// Name, parameters and source, for listings and documentation.
pub(super) const INFO: Info = Info {
    name: "fq_codel",
    title: "Fair queueing with CoDel",
    source: "RFC 8290; Linux net/sched/sch_fq_codel.c",
    parameters: &[
        flows::LIMIT,
        Parameter::quantity(
            "memory_limit",
            "32MiB",
            "size",
            "the most memory of packets that wait, as Linux counts it",
        ),
        flows::FLOWS,
        flows::QUANTUM,
        codel::TARGET,
        codel::INTERVAL,
        Parameter::flag("ecn", true, "mark packets that can be marked instead of dropping them"),
        codel::CE_THRESHOLD,
        Parameter::number(
            "ce_threshold_selector",
            [0.0, 0.0, 255.0],
            "",
            "ce_threshold is for packets whose DS field under the mask is this: 1 under mask 3 is ECT(1)",
        ),
        Parameter::number(
            "ce_threshold_mask",
            [0.0, 0.0, 255.0],
            "",
            "the bits of the DS field to look at; 0: every packet",
        ),
        Parameter::quantity(
            "drop_batch",
            "64pkt",
            "packets",
            "the most packets to drop at once from the longest queue when a limit is passed",
        ),
    ],
    telemetry: &[],
};

/// What an experiment states.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FqCodelConfig {
    #[serde(default = "flows::default_limit")]
    limit_packets: u64,
    #[serde(default = "default_memory")]
    memory_limit_bytes: u64,
    #[serde(default = "flows::default_flows")]
    flows: u64,
    quantum_bytes: Option<u64>,
    #[serde(default = "codel::default_target")]
    target_ns: u64,
    #[serde(default = "codel::default_interval")]
    interval_ns: u64,
    #[serde(default = "default_ecn")]
    ecn: bool,
    ce_threshold_ns: Option<u64>,
    #[serde(default)]
    ce_threshold_selector: u8,
    #[serde(default)]
    ce_threshold_mask: u8,
    #[serde(default = "default_batch")]
    drop_batch_packets: u64,
}

pub(super) fn default_memory() -> u64 {
    32 << 20
}

fn default_ecn() -> bool {
    true
}

fn default_batch() -> u64 {
    64
}

impl FqCodelConfig {
    pub(super) fn check(&self) -> Result<(), Problem> {
        limit_within("limit", self.limit_packets)?;
        within("memory_limit", self.memory_limit_bytes, &(1..=1 << 31), "B")?;
        limit_within("drop_batch", self.drop_batch_packets)?;
        flows::check(self.flows, self.quantum_bytes)?;
        codel::check_times(self.target_ns, self.interval_ns)
    }

    fn law(&self, setup: &QueueSetup<'_>) -> Law {
        let (selector, mask) = (self.ce_threshold_selector, self.ce_threshold_mask);
        Law {
            target: ticks(self.target_ns),
            interval: ticks(self.interval_ns),
            least_backlog: setup.mtu(),
            ecn: self.ecn,
            threshold: self.ce_threshold_ns.map(|nanos| Threshold { ticks: ticks(nanos), selector, mask }),
        }
    }
}

/// Queues under CoDel that take turns.
#[derive(Debug)]
pub struct FqCodel<P> {
    flows: Flows<P, Control>,
    ahead: Ahead,
    law: Law,
    limit: usize,
    memory_limit: u64,
    drop_batch: usize,
}

impl<P> FqCodel<P> {
    /// An empty queue.
    pub(super) fn new(config: &FqCodelConfig, setup: &QueueSetup<'_>) -> Self {
        Self {
            flows: Flows::new(config.flows, config.quantum_bytes, &Control::default(), setup),
            ahead: Ahead::default(),
            law: config.law(setup),
            limit: config.limit_packets as usize,
            memory_limit: config.memory_limit_bytes,
            drop_batch: config.drop_batch_packets as usize,
        }
    }

    /// Drops up to half of the longest queue, from its head, and makes its CoDel more severe (`fq_codel_drop`). Looks
    /// through all queues, which only happens when a limit is passed.
    fn drop_from_longest(&mut self, verdicts: &mut Verdicts<P>) {
        self.flows.draw_from_longest(|Flow { queue, control }| {
            let half = Bytes::new(queue.bytes().count() / 2);
            let mut dropped = Bytes::ZERO;
            for _ in 0..self.drop_batch {
                let Some(packet) = queue.pop() else { break };
                dropped += packet.size;
                control.count = control.count.wrapping_add(1);
                verdicts.drop(packet, Reason::Overlimit);
                if dropped >= half {
                    break;
                }
            }
        });
    }
}

impl<P: Send> Queue<P> for FqCodel<P> {
    fn enqueue(&mut self, packet: Box<Packet<P>>, _now: Instant, verdicts: &mut Verdicts<P>) {
        self.flows.push(self.flows.index_of(&packet), packet);
        let (packets, bytes) = (self.packets(), self.bytes());
        if packets + self.ahead.packets() > self.limit || memory_of(packets, bytes) > self.memory_limit {
            self.drop_from_longest(verdicts);
        }
    }

    fn dequeue(&mut self, now: Instant, verdicts: &mut Verdicts<P>) -> Option<Box<Packet<P>>> {
        let (law, now) = (&self.law, ticks(now.as_nanos()));
        self.flows.take_turns(|Flow { queue, control }, others| {
            control.dequeue(Supply { law, queue, others, now, verdicts: &mut *verdicts })
        })
    }

    fn set_ahead(&mut self, size: Option<Bytes>, _now: Instant) {
        self.ahead = Ahead::of(size);
    }

    fn packets(&self) -> usize {
        self.flows.packets()
    }

    fn bytes(&self) -> Bytes {
        self.flows.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::tests::{Bench, packet_of, problem, setup};

    #[test]
    fn two_flows_take_turns_and_one_line_does_not() {
        for (queues, expected) in [(1_024, [4, 4]), (1, [8, 0])] {
            let mut bench = Bench::new(&format!(r#"{{"kind": "fq_codel", "flows": {queues}}}"#));
            bench.offer(20);
            bench.flow = 1;
            bench.offer(20);
            (0..8).for_each(|_| bench.send());
            let of = |flow| bench.sent.iter().filter(|(sender, ..)| *sender == flow).count();
            assert_eq!([of(0), of(1)], expected, "{queues} queues");
        }
    }

    #[test]
    fn a_sparse_flow_overtakes() {
        let mut bench = Bench::new(r#"{"kind": "fq_codel"}"#);
        bench.offer(20);
        (0..4).for_each(|_| bench.send());
        bench.flow = 1;
        bench.offer(1);
        bench.send();
        assert_eq!(bench.sent.last().map(|(flow, ..)| *flow), Some(1));
    }

    #[test]
    fn a_full_queue_drops_up_to_64_from_the_head_of_the_longest_queue() {
        let mut bench = Bench::new(r#"{"kind": "fq_codel", "limit_packets": 200}"#);
        bench.offer(50);
        bench.flow = 1;
        bench.offer(150);
        assert!(bench.dropped.is_empty());
        bench.flow = 0;
        bench.offer(1);
        let dropped: Vec<_> = bench.dropped.iter().map(|drop| (drop.flow, drop.number, drop.reason)).collect();
        let expected: Vec<_> = (50..114).map(|number| (1, number, Reason::Overlimit)).collect();
        assert_eq!(dropped, expected);
        assert_eq!(bench.queue.packets(), 137);
    }

    #[test]
    fn no_more_than_half_of_the_longest_line_goes_at_once() {
        let mut bench = Bench::new(r#"{"kind": "fq_codel", "limit_packets": 20}"#);
        bench.offer(21);
        // Half of 21000 bytes is 10500, which the eleventh packet passes.
        assert_eq!(bench.dropped.len(), 11);
    }

    #[test]
    fn memory_counts_what_linux_adds_to_a_packet() {
        let mut bench = Bench::new(r#"{"kind": "fq_codel", "memory_limit_bytes": 18040}"#);
        bench.offer(10);
        assert!(bench.dropped.is_empty());
        bench.offer(1);
        assert!(!bench.dropped.is_empty());
    }

    #[test]
    fn the_control_is_of_each_line() {
        let mut bench = Bench::new(r#"{"kind": "fq_codel"}"#);
        bench.standing(100, 2_000);
        assert!(!bench.dropped.is_empty());
        bench.dropped.clear();
        bench.flow = 1;
        (0..50).for_each(|_| {
            bench.offer(1);
            bench.send();
        });
        assert!(bench.dropped.iter().all(|drop| drop.flow == 0), "a sparse flow loses nothing");
    }

    #[test]
    fn exactly_half_of_the_longest_line_is_enough() {
        let mut bench = Bench::new(r#"{"kind": "fq_codel", "limit_packets": 19}"#);
        bench.offer(20);
        assert_eq!(bench.dropped.len(), 10);
    }

    #[test]
    fn of_equally_long_lines_the_first_loses_packets_and_its_control_becomes_more_severe() {
        let config = serde_json::from_str(r#"{"limit_packets": 20}"#).expect("a queue");
        let mut queue = FqCodel::<()>::new(&config, &setup());
        let mut verdicts = Verdicts::default();
        let index_of = |queue: &FqCodel<()>, flow| queue.flows.index_of(&packet_of(flow, 0, 1_000));
        let (first, other) = if index_of(&queue, 0) < index_of(&queue, 1) { (0, 1) } else { (1, 0) };
        for flow in [other, first] {
            (0..10).for_each(|number| queue.enqueue(packet_of(flow, number, 1_000), Instant::ZERO, &mut verdicts));
        }
        queue.enqueue(packet_of(2, 0, 1_000), Instant::ZERO, &mut verdicts);
        assert!(verdicts.dropped().iter().all(|(packet, _)| packet.flow.0 == first) && verdicts.drops() == 5);
        let index = index_of(&queue, first);
        assert_eq!(queue.flows.flow(index).control.count, 5);
    }

    #[test]
    fn impossible_parameters_are_refused() {
        for (json, part) in [
            (r#"{"kind": "fq_codel", "flows": 0}"#, "flows 0 is not possible; give 1 to 65536"),
            (r#"{"kind": "fq_codel", "quantum_bytes": 100}"#, "quantum 100B is not possible"),
            (r#"{"kind": "fq_codel", "target_ns": 200000000}"#, "longer than the interval"),
            (r#"{"kind": "fq_codel", "drop_batch_packets": 0}"#, "drop_batch 0 is not possible"),
        ] {
            assert!(problem(json).contains(part), "{}", problem(json));
        }
    }
}

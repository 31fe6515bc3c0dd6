//! Cheap Nasty Queueing: a flow that has nothing waiting goes first.
//!
//! **What it is.** A packet whose flow has nothing waiting goes to a sparse queue, which has strict priority, and
//! leaves a placeholder in the bulk queue, so that its flow counts as waiting until the bulk queue has come that far.
//! All other packets go to the bulk queue, which is under COBALT.
//!
//! **Source.** draft-morton-tsvwg-cheap-nasty-queueing-01; `net/sched/sch_cnq_cobalt.c` of the SCE project
//! (chromi/sce).
//!
//! **Parameters.** Those of COBALT, with the same defaults.
//!
//! **Deviations.** As `cobalt`'s for the limit. The schedule for SCE is that of `cobalt`; the source mirrors it in time
//! when it changes direction. The link is the shaper.
//!
//! **How it is validated.** Unit tests here.

use std::collections::VecDeque;

use super::cobalt::{self, CobaltConfig, Control, Law};
use super::hash::FlowHash;
use super::packet_queue::PacketQueue;
use super::setup::QueueSetup;
use super::{Queue, Reason, Verdicts};
use crate::info::Info;
use crate::packet::Packet;
use crate::random::RandomStream;
use crate::units::{Bytes, Instant};

/// Name, parameters and source, for listings and documentation.
pub(super) const INFO: Info = Info {
    name: "cnq",
    title: "Cheap Nasty Queueing with COBALT (CNQ)",
    source: "draft-morton-tsvwg-cheap-nasty-queueing-01; SCE project (chromi/sce) net/sched/sch_cnq_cobalt.c",
    parameters: &cobalt::PARAMETERS,
    telemetry: &[],
};

/// `CNQ_QUEUES`: flows are told apart by so many values of their hash.
pub(super) const FLOWS: usize = 65_536;

/// A sparse queue before a bulk queue.
#[derive(Debug)]
pub(super) struct SparseAndBulk<P> {
    hash: FlowHash,
    sparse: PacketQueue<P>,
    /// By flow; without a packet, the place of one that went to the sparse queue.
    bulk: VecDeque<(u32, Option<Box<Packet<P>>>)>,
    /// Places in the bulk queue, by flow.
    backlogs: Vec<u32>,
    /// Flows that have a place in the bulk queue.
    active: usize,
    /// Places without a packet.
    placeholders: usize,
    packets: usize,
    bytes: Bytes,
}

/// A packet that leaves its queue.
#[derive(Debug)]
pub(super) struct Next<P> {
    pub(super) packet: Box<Packet<P>>,
    pub(super) flow: usize,
    pub(super) is_sparse: bool,
}

impl<P> SparseAndBulk<P> {
    pub(super) fn new(setup: &QueueSetup<'_>) -> Self {
        Self {
            hash: FlowHash::new(setup),
            sparse: PacketQueue::default(),
            bulk: VecDeque::new(),
            backlogs: vec![0; FLOWS],
            active: 0,
            placeholders: 0,
            packets: 0,
            bytes: Bytes::ZERO,
        }
    }

    pub(super) fn packets(&self) -> usize {
        self.packets
    }

    pub(super) fn bytes(&self) -> Bytes {
        self.bytes
    }

    /// Places of a flow in the bulk queue.
    pub(super) fn backlog(&self, flow: usize) -> u32 {
        self.backlogs[flow]
    }

    /// Flows in the bulk queue that have no placeholder there.
    pub(super) fn bulk_flows(&self) -> usize {
        self.active.saturating_sub(self.placeholders)
    }

    pub(super) fn flow(&self, packet: &Packet<P>) -> usize {
        self.hash.slot(packet, FLOWS)
    }

    pub(super) fn push(&mut self, packet: Box<Packet<P>>) {
        let flow = self.flow(&packet);
        self.packets += 1;
        self.bytes += packet.size;
        let is_sparse = self.backlogs[flow] == 0;
        self.backlogs[flow] += 1;
        if is_sparse {
            self.active += 1;
            self.placeholders += 1;
            self.bulk.push_back((flow as u32, None));
            self.sparse.push(packet);
        } else {
            self.bulk.push_back((flow as u32, Some(packet)));
        }
    }

    pub(super) fn pop(&mut self) -> Option<Next<P>> {
        let next = match self.sparse.pop() {
            Some(packet) => Next { flow: self.flow(&packet), packet, is_sparse: true },
            None => self.pop_bulk()?,
        };
        self.packets -= 1;
        self.bytes -= next.packet.size;
        Some(next)
    }

    /// The next packet of the bulk queue; places without one are given up on the way.
    fn pop_bulk(&mut self) -> Option<Next<P>> {
        loop {
            let (flow, packet) = self.bulk.pop_front()?;
            let flow = flow as usize;
            self.backlogs[flow] -= 1;
            self.active -= usize::from(self.backlogs[flow] == 0);
            if let Some(packet) = packet {
                return Some(Next { packet, flow, is_sparse: false });
            }
            self.placeholders -= 1;
        }
    }
}

/// Two queues, and COBALT on the bulk queue.
#[derive(Debug)]
pub struct Cnq<P> {
    queues: SparseAndBulk<P>,
    limit: usize,
    law: Law,
    control: Control,
    random: RandomStream,
}

impl<P> Cnq<P> {
    /// An empty queue.
    pub(super) fn new(config: &CobaltConfig, setup: &QueueSetup<'_>) -> Self {
        Self {
            queues: SparseAndBulk::new(setup),
            limit: config.limit_packets as usize,
            law: config.law(1),
            control: Control::default(),
            random: cobalt::random(setup),
        }
    }
}

impl<P: Send> Queue<P> for Cnq<P> {
    fn enqueue(&mut self, packet: Box<Packet<P>>, now: Instant, verdicts: &mut Verdicts<P>) {
        if self.queues.packets() >= self.limit {
            self.control.on_overflow(&self.law, now);
            return verdicts.drop(packet, Reason::Overlimit);
        }
        self.queues.push(packet);
    }

    fn dequeue(&mut self, now: Instant, verdicts: &mut Verdicts<P>) -> Option<Box<Packet<P>>> {
        loop {
            let Next { mut packet, is_sparse, .. } = self.queues.pop()?;
            if self.queues.packets() == 0 {
                self.control.on_empty(&self.law, now);
            } else if !is_sparse
                && let Some(reason) = self.control.judge(&self.law, &mut packet, now, &mut self.random, verdicts)
            {
                verdicts.drop(packet, reason);
                continue;
            }
            return Some(packet);
        }
    }

    fn packets(&self) -> usize {
        self.queues.packets()
    }

    fn bytes(&self) -> Bytes {
        self.queues.bytes()
    }
}

#[cfg(test)]
mod tests {
    use crate::queue::tests::Bench;

    #[test]
    fn a_flow_with_nothing_waiting_overtakes_once_per_passage_of_the_bulk_line() {
        let mut bench = Bench::new(r#"{"kind": "cnq"}"#);
        bench.offer(5);
        bench.flow = 1;
        bench.offer(2);
        (0..7).for_each(|_| bench.send());
        // The first packets of both go first; the second of flow 1 stands behind those of flow 0.
        let sent: Vec<_> = bench.sent.iter().map(|sent| (sent.0, sent.1)).collect();
        assert_eq!(sent, [(0, 0), (1, 5), (0, 1), (0, 2), (0, 3), (0, 4), (1, 6)]);
    }

    #[test]
    fn a_sparse_flow_waits_for_no_one_and_loses_nothing() {
        Bench::new(r#"{"kind": "cnq"}"#).favour_a_sparse_flow();
    }

    #[test]
    fn the_limit_drops_what_arrives() {
        let mut bench = Bench::new(r#"{"kind": "cnq", "limit_packets": 3}"#);
        bench.offer(5);
        assert_eq!(bench.dropped.iter().map(|drop| drop.number).collect::<Vec<_>>(), [3, 4]);
    }

    #[test]
    fn the_count_runs_backwards_while_one_packet_waits_at_a_time() {
        let after = Bench::new(r#"{"kind": "cnq"}"#).first_drop_after_a_rest();
        assert!((100..=140).contains(&after), "{after}");
    }

    #[test]
    fn a_queue_that_keeps_overflowing_wakes_blue() {
        assert!(Bench::new(r#"{"kind": "cnq", "limit_packets": 3}"#).wakes_blue());
    }
}

//! Cheap Nasty Queueing: a flow that has nothing waiting goes first.
//!
//! **What it is.** A packet whose flow has nothing in the queue goes to a sparse line, which has strict priority, and leaves a
//! placeholder in the bulk line, so that its flow counts as waiting until the bulk line has come that far. All other packets
//! go to the bulk line, which is under COBALT.
//!
//! **Source.** draft-morton-tsvwg-cheap-nasty-queueing-01; `net/sched/sch_cnq_cobalt.c` of the SCE project (chromi/sce).
//!
//! **Parameters.** Those of COBALT, with the same defaults.
//!
//! **Deviations.** As `cobalt`'s for the limit. The schedule for SCE is that of `cobalt`; the source mirrors it in time when it
//! changes direction. The link is the shaper.
//!
//! **How it is validated.** Unit tests here.

use std::collections::VecDeque;

use super::cobalt::{self, CobaltConfig, Control, Law};
use super::hash::FlowHash;
use super::line::Line;
use super::place::Place;
use super::{Drops, Queue, Reason};
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
const FLOWS: usize = 65_536;

/// A sparse line before a bulk line.
#[derive(Debug)]
pub struct Cnq<P> {
    hash: FlowHash,
    sparse: Line<P>,
    /// By flow; without a packet, the place of one that went to the sparse line.
    bulk: VecDeque<(u32, Option<Packet<P>>)>,
    /// Places in the bulk line, by flow.
    backlogs: Vec<u32>,
    packets: usize,
    bytes: Bytes,
    limit: usize,
    law: Law,
    control: Control,
    random: RandomStream,
}

impl<P> Cnq<P> {
    /// An empty queue.
    pub(super) fn new(config: &CobaltConfig, place: &Place<'_>) -> Self {
        Self {
            hash: FlowHash::new(place),
            sparse: Line::default(),
            bulk: VecDeque::new(),
            backlogs: vec![0; FLOWS],
            packets: 0,
            bytes: Bytes::ZERO,
            limit: config.limit_packets as usize,
            law: config.law(1),
            control: Control::default(),
            random: cobalt::random(place),
        }
    }

    /// The next packet of the bulk line; places without one are given up on the way.
    fn pop_bulk(&mut self) -> Option<Packet<P>> {
        loop {
            let (flow, packet) = self.bulk.pop_front()?;
            self.backlogs[flow as usize] -= 1;
            if packet.is_some() {
                return packet;
            }
        }
    }
}

impl<P: Send> Queue<P> for Cnq<P> {
    fn enqueue(&mut self, packet: Packet<P>, now: Instant, drops: &mut Drops<P>) {
        if self.packets >= self.limit {
            self.control.on_overflow(&self.law, now);
            return drops.push(packet, Reason::Overlimit);
        }
        let flow = self.hash.slot(&packet, FLOWS);
        self.packets += 1;
        self.bytes += packet.size;
        let is_sparse = self.backlogs[flow] == 0;
        self.backlogs[flow] += 1;
        if is_sparse {
            self.bulk.push_back((flow as u32, None));
            self.sparse.push(packet);
        } else {
            self.bulk.push_back((flow as u32, Some(packet)));
        }
    }

    fn dequeue(&mut self, now: Instant, drops: &mut Drops<P>) -> Option<Packet<P>> {
        loop {
            let sparse = self.sparse.pop();
            let is_sparse = sparse.is_some();
            let mut packet = sparse.or_else(|| self.pop_bulk())?;
            self.packets -= 1;
            self.bytes -= packet.size;
            if self.packets == 0 {
                self.control.on_empty(&self.law, now);
            } else if !is_sparse
                && let Some(reason) = self.control.judge(&self.law, &mut packet, now, &mut self.random, drops)
            {
                drops.push(packet, reason);
                continue;
            }
            return Some(packet);
        }
    }

    fn packets(&self) -> usize {
        self.packets
    }

    fn bytes(&self) -> Bytes {
        self.bytes
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
}

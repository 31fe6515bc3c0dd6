//! Lightweight Fair Queueing: two lines, and a pointer that passes over flows which have had their share.
//!
//! **What it is.** A packet whose flow has nothing waiting and is in no debt goes to a sparse line, which has strict priority.
//! All others stand in one bulk line. A scan goes through it from head to tail and sends the packets of those flows that are
//! not to be skipped; a flow is, until the next scan, once it has sent more than a largest packet. Each flow has a COBALT of its
//! own for what it sends from the bulk line.
//!
//! **Source.** draft-morton-tsvwg-lightweight-fair-queueing-00; `net/sched/sch_lfq_cobalt.c` of the SCE project (chromi/sce).
//!
//! **Parameters.** Those of COBALT, with the same defaults. Packets with DSCP 4, which asks for low delay, are under a COBALT with
//! all times a fifth, as in the source.
//!
//! **Deviations.** The limit is in packets and drops the head of the bulk line, as the source's limit in bytes of memory does,
//! which is off there. The schedule for SCE is that of `cobalt`; the source mirrors it in time when it changes direction. The link
//! is the shaper.
//!
//! **How it is validated.** Unit tests here.

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
    name: "lfq",
    title: "Lightweight Fair Queueing with COBALT (LFQ)",
    source: "draft-morton-tsvwg-lightweight-fair-queueing-00; SCE project (chromi/sce) net/sched/sch_lfq_cobalt.c",
    parameters: &cobalt::PARAMETERS,
    telemetry: &[],
};

/// `LFQ_FLOWS`: flows are told apart by so many values of their hash.
const FLOWS: usize = 65_536;
/// `DSCP_LL`, and by what it divides the default times: others do not reach it (`lfq_init`, `lfq_change`).
const LOW_LATENCY: u8 = 0b00_0100;
const LOW_LATENCY_DIVISOR: u64 = 5;

#[derive(Clone, Copy, Debug, Default)]
struct Flow {
    deficit: i64,
    backlog: u32,
    is_skipped: bool,
    /// It has changed since the last scan.
    is_dirty: bool,
    control: Control,
}

/// A sparse line before a bulk line that is scanned.
#[derive(Debug)]
pub struct Lfq<P> {
    hash: FlowHash,
    sparse: Line<P>,
    /// The bulk line before the scan, which has been passed over, and from the scan on.
    passed: Line<P>,
    ahead: Line<P>,
    flows: Vec<Flow>,
    dirty: Vec<u32>,
    /// The flow whose control is looked at next, whether it is idle.
    decaying: usize,
    quantum: i64,
    limit: usize,
    law: Law,
    low_latency: Law,
    random: RandomStream,
}

impl<P> Lfq<P> {
    /// An empty queue.
    pub(super) fn new(config: &CobaltConfig, place: &Place<'_>) -> Self {
        Self {
            hash: FlowHash::new(place),
            sparse: Line::default(),
            passed: Line::default(),
            ahead: Line::default(),
            flows: vec![Flow::default(); FLOWS],
            dirty: Vec::new(),
            decaying: 0,
            quantum: place.mtu().count() as i64,
            limit: config.limit_packets as usize,
            law: config.law(1),
            low_latency: CobaltConfig::default().law(LOW_LATENCY_DIVISOR),
            random: cobalt::random(place),
        }
    }

    fn note(&mut self, flow: usize) {
        if !self.flows[flow].is_dirty {
            self.flows[flow].is_dirty = true;
            self.dirty.push(flow as u32);
        }
    }

    /// Drops the oldest packet of the bulk line, else of the sparse one.
    fn drop_oldest(&mut self, drops: &mut Drops<P>) {
        let bulk = self.passed.pop().or_else(|| self.ahead.pop());
        if let Some(packet) = bulk.or_else(|| self.sparse.pop()) {
            let flow = self.hash.slot(&packet, FLOWS);
            self.flows[flow].backlog -= 1;
            self.note(flow);
            drops.push(packet, Reason::Overlimit);
        }
    }

    /// The scan begins again at the head: debts of flows that are gone are forgotten, and who was skipped is no longer.
    fn sweep(&mut self) {
        for flow in self.dirty.drain(..) {
            let flow = &mut self.flows[flow as usize];
            if flow.is_skipped {
                flow.is_skipped = false;
            } else if flow.backlog == 0 {
                flow.deficit = 0;
            }
            flow.is_dirty = false;
        }
        std::mem::swap(&mut self.passed, &mut self.ahead);
    }

    /// A packet of this flow leaves its line.
    fn send(&mut self, flow: usize, size: Bytes) {
        let record = &mut self.flows[flow];
        record.backlog -= 1;
        record.deficit -= size.count() as i64;
        if record.deficit < 0 {
            record.is_skipped = true;
            record.deficit += self.quantum;
        }
        self.note(flow);
    }

    /// The packet of the bulk line that is next, and its flow.
    fn scan(&mut self) -> Option<(Box<Packet<P>>, usize)> {
        loop {
            if self.ahead.is_empty() {
                if self.passed.is_empty() {
                    return None;
                }
                self.sweep();
            }
            let packet = self.ahead.pop()?;
            let flow = self.hash.slot(&packet, FLOWS);
            if !self.flows[flow].is_skipped {
                self.send(flow, packet.size);
                return Some((packet, flow));
            }
            self.passed.push(packet);
        }
    }

    /// The next packet of the bulk line that its control lets pass.
    fn draw(&mut self, now: Instant, drops: &mut Drops<P>) -> Option<Box<Packet<P>>> {
        loop {
            let (mut packet, index) = self.scan()?;
            let is_last = self.ahead.is_empty() && self.passed.is_empty();
            let flow = &mut self.flows[index];
            if is_last {
                flow.control.on_empty(&self.law, now);
                return Some(packet);
            }
            let law = if packet.dscp == LOW_LATENCY { &self.low_latency } else { &self.law };
            match flow.control.judge(law, &mut packet, now, &mut self.random, drops) {
                Some(reason) if flow.backlog > 0 => drops.push(packet, reason),
                _ => return Some(packet),
            }
        }
    }

    /// Lets the control of one flow rest, if the flow does; with every packet that leaves, the next.
    fn decay(&mut self, now: Instant) {
        let flow = &mut self.flows[self.decaying];
        if flow.backlog == 0 {
            flow.control.on_empty(&self.law, now);
        }
        self.decaying = (self.decaying + 1) % FLOWS;
    }
}

impl<P: Send> Queue<P> for Lfq<P> {
    fn enqueue(&mut self, packet: Box<Packet<P>>, _now: Instant, drops: &mut Drops<P>) {
        if self.packets() >= self.limit {
            self.drop_oldest(drops);
        }
        let index = self.hash.slot(&packet, FLOWS);
        let flow = &mut self.flows[index];
        let line = if flow.backlog == 0 && flow.deficit >= 0 && !flow.is_skipped {
            &mut self.sparse
        } else if self.ahead.is_empty() && !self.passed.is_empty() {
            // The scan is at the end, and finds the packet when it has begun again.
            &mut self.passed
        } else {
            &mut self.ahead
        };
        line.push(packet);
        flow.backlog += 1;
        self.note(index);
    }

    fn dequeue(&mut self, now: Instant, drops: &mut Drops<P>) -> Option<Box<Packet<P>>> {
        let packet = match self.sparse.pop() {
            Some(packet) => {
                self.send(self.hash.slot(&packet, FLOWS), packet.size);
                packet
            }
            None => self.draw(now, drops)?,
        };
        self.decay(now);
        Some(packet)
    }

    fn packets(&self) -> usize {
        self.sparse.packets() + self.passed.packets() + self.ahead.packets()
    }

    fn bytes(&self) -> Bytes {
        self.sparse.bytes() + self.passed.bytes() + self.ahead.bytes()
    }
}

#[cfg(test)]
mod tests {
    use crate::queue::tests::Bench;

    #[test]
    fn flows_in_one_line_take_turns() {
        let mut bench = Bench::new(r#"{"kind": "lfq"}"#);
        bench.offer(20);
        bench.flow = 1;
        bench.offer(20);
        (0..20).for_each(|_| bench.send());
        let of = |flow| bench.sent.iter().filter(|sent| sent.0 == flow).count();
        assert!(of(0).abs_diff(of(1)) <= 2, "{} and {}", of(0), of(1));
    }

    #[test]
    fn a_sparse_flow_waits_for_no_one_and_loses_nothing() {
        Bench::new(r#"{"kind": "lfq"}"#).favour_a_sparse_flow();
    }

    #[test]
    fn the_limit_drops_the_head_of_the_bulk_line() {
        let mut bench = Bench::new(r#"{"kind": "lfq", "limit_packets": 3}"#);
        bench.offer(5);
        assert_eq!(bench.dropped.iter().map(|drop| drop.number).collect::<Vec<_>>(), [1, 2]);
    }

    #[test]
    fn what_asks_for_low_delay_is_signalled_sooner() {
        let drops_of = |dscp| {
            let mut bench = Bench::new(r#"{"kind": "lfq"}"#);
            bench.dscp = dscp;
            bench.standing(4, 500);
            bench.dropped.len()
        };
        assert_eq!(drops_of(0), 0, "4 ms are below the target");
        assert!(drops_of(4) > 10, "and above a fifth of it");
    }
}

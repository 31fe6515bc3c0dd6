//! Lightweight Fair Queueing: two queues, and a pointer that passes over flows which have had their share.
//!
//! **What it is.** A packet whose flow has nothing waiting and is in no debt goes to a sparse queue, which has strict
//! priority. All others stand in one bulk queue. A scan goes through it from head to tail and sends the packets of
//! those flows that are not to be skipped; a flow is, until the next scan, once it has sent more than a largest packet.
//! Each flow has a COBALT of its own for what it sends from the bulk queue.
//!
//! **Source.** draft-morton-tsvwg-lightweight-fair-queueing-00; `net/sched/sch_lfq_cobalt.c` of the SCE project
//! (chromi/sce).
//!
//! **Parameters.** Those of COBALT, with the same defaults. Packets with DSCP 4, which asks for low delay, are under a
//! COBALT with all times a fifth, as in the source.
//!
//! **Deviations.** The limit is in packets and drops the head of the bulk queue, as the source's limit in bytes of
//! memory does, which is off there. The schedule for SCE is that of `cobalt`; the source mirrors it in time when it
//! changes direction. The link is the shaper.
//!
//! **How it is validated.** Unit tests here; beside a second implementation, written from the source alone
//! (`tests/kernel_queues`).

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

/// A sparse queue before a bulk queue that is scanned.
#[derive(Debug)]
pub struct Lfq<P> {
    hash: FlowHash,
    sparse: PacketQueue<P>,
    /// The bulk queue before the scan, which has been passed over, and from the scan on.
    passed: PacketQueue<P>,
    ahead: PacketQueue<P>,
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
    pub(super) fn new(config: &CobaltConfig, setup: &QueueSetup<'_>) -> Self {
        Self {
            hash: FlowHash::new(setup),
            sparse: PacketQueue::default(),
            passed: PacketQueue::default(),
            ahead: PacketQueue::default(),
            flows: vec![Flow::default(); FLOWS],
            dirty: Vec::new(),
            decaying: 0,
            quantum: setup.mtu().count() as i64,
            limit: config.limit_packets as usize,
            law: config.law(1),
            low_latency: CobaltConfig::default().law(LOW_LATENCY_DIVISOR),
            random: cobalt::random(setup),
        }
    }

    fn note(&mut self, flow: usize) {
        if !self.flows[flow].is_dirty {
            self.flows[flow].is_dirty = true;
            self.dirty.push(flow as u32);
        }
    }

    /// Drops the oldest packet of the bulk queue, else of the sparse one.
    fn drop_oldest(&mut self, verdicts: &mut Verdicts<P>) {
        let bulk = self.passed.pop().or_else(|| self.ahead.pop());
        if let Some(packet) = bulk.or_else(|| self.sparse.pop()) {
            let flow = self.hash.slot(&packet, FLOWS);
            self.flows[flow].backlog -= 1;
            self.note(flow);
            verdicts.drop(packet, Reason::Overlimit);
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

    /// A packet of this flow leaves its queue.
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

    /// The packet of the bulk queue that is next, and its flow.
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

    /// The next packet of the bulk queue that its control lets pass.
    fn draw(&mut self, now: Instant, verdicts: &mut Verdicts<P>) -> Option<Box<Packet<P>>> {
        loop {
            let (mut packet, index) = self.scan()?;
            let is_last = self.ahead.is_empty() && self.passed.is_empty();
            let flow = &mut self.flows[index];
            if is_last {
                flow.control.on_empty(&self.law, now);
                return Some(packet);
            }
            let law = if packet.dscp == LOW_LATENCY { &self.low_latency } else { &self.law };
            match flow.control.judge(law, &mut packet, now, &mut self.random, verdicts) {
                Some(reason) if flow.backlog > 0 => verdicts.drop(packet, reason),
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
    fn enqueue(&mut self, packet: Box<Packet<P>>, _now: Instant, verdicts: &mut Verdicts<P>) {
        if self.packets() >= self.limit {
            self.drop_oldest(verdicts);
        }
        let index = self.hash.slot(&packet, FLOWS);
        let flow = &mut self.flows[index];
        let queue = if flow.backlog == 0 && flow.deficit >= 0 && !flow.is_skipped {
            &mut self.sparse
        } else if self.ahead.is_empty() && !self.passed.is_empty() {
            // The scan is at the end, and finds the packet when it has begun again.
            &mut self.passed
        } else {
            &mut self.ahead
        };
        queue.push(packet);
        flow.backlog += 1;
        self.note(index);
    }

    fn dequeue(&mut self, now: Instant, verdicts: &mut Verdicts<P>) -> Option<Box<Packet<P>>> {
        let packet = match self.sparse.pop() {
            Some(packet) => {
                self.send(self.hash.slot(&packet, FLOWS), packet.size);
                packet
            }
            None => self.draw(now, verdicts)?,
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
    use super::*;
    use crate::queue::tests::{Bench, packet_of, setup};

    fn lfq() -> Lfq<()> {
        Lfq::new(&CobaltConfig::default(), &setup())
    }

    fn offer(queue: &mut Lfq<()>, flow: u32, numbers: std::ops::Range<u64>) {
        let mut verdicts = Verdicts::default();
        numbers.for_each(|number| queue.enqueue(packet_of(flow, number, 1_000), Instant::ZERO, &mut verdicts));
    }

    fn sent(queue: &mut Lfq<()>, packets: usize) -> Vec<(u32, u64)> {
        let mut verdicts = Verdicts::default();
        let next = || queue.dequeue(Instant::ZERO, &mut verdicts).map(|packet| (packet.flow.0, packet.number));
        std::iter::from_fn(next).take(packets).collect()
    }

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

    #[test]
    fn a_flow_in_debt_is_skipped_and_not_sparse_until_the_scan_begins_again_and_its_debt_is_forgotten_when_it_is_gone()
    {
        let mut queue = lfq();
        let flow = queue.hash.slot(&packet_of(0, 0, 1_000), FLOWS);
        offer(&mut queue, 0, 0..1);
        assert_eq!(sent(&mut queue, 1), [(0, 0)]);
        // A frame more than it had, and 1000 bytes less.
        assert_eq!((queue.flows[flow].deficit, queue.flows[flow].is_skipped), (14, true));
        offer(&mut queue, 0, 1..2);
        assert_eq!((queue.sparse.packets(), queue.ahead.packets()), (0, 1), "it is skipped");
        assert_eq!(sent(&mut queue, 1), [(0, 1)]);
        assert_eq!((queue.flows[flow].deficit, queue.flows[flow].is_skipped), (28, true));
        queue.sweep();
        assert_eq!((queue.flows[flow].deficit, queue.flows[flow].is_skipped), (28, false));
        queue.note(flow);
        queue.sweep();
        assert_eq!(queue.flows[flow].deficit, 0);
        queue.flows[flow].deficit = -1;
        offer(&mut queue, 0, 2..3);
        assert_eq!((queue.sparse.packets(), queue.ahead.packets()), (0, 1), "it is in debt");
    }

    #[test]
    fn what_the_limit_takes_from_a_flow_makes_it_one_that_is_gone() {
        let mut queue = lfq();
        let flow = queue.hash.slot(&packet_of(0, 0, 1_000), FLOWS);
        offer(&mut queue, 0, 0..2);
        sent(&mut queue, 1);
        queue.sweep();
        assert_eq!((queue.flows[flow].backlog, queue.flows[flow].deficit), (1, 14));
        queue.drop_oldest(&mut Verdicts::default());
        queue.sweep();
        assert_eq!((queue.flows[flow].backlog, queue.flows[flow].deficit), (0, 0));
    }

    #[test]
    fn the_control_of_a_flow_that_waits_does_not_rest() {
        let mut queue = lfq();
        let flow = queue.hash.slot(&packet_of(0, 0, 1_000), FLOWS);
        queue.decaying = flow;
        queue.flows[flow].control.on_overflow(&queue.law, Instant::ZERO);
        let before = format!("{:?}", queue.flows[flow].control);
        offer(&mut queue, 0, 0..2);
        queue.dequeue(Instant::ZERO + crate::units::Duration::from_secs(10), &mut Verdicts::default());
        assert_eq!((format!("{:?}", queue.flows[flow].control), queue.decaying), (before, flow + 1));
    }

    #[test]
    fn a_deficit_of_zero_is_no_debt() {
        let mut queue = lfq();
        let flow = queue.hash.slot(&packet_of(0, 0, 1_000), FLOWS);
        queue.flows[flow].deficit = 1_000;
        offer(&mut queue, 0, 0..1);
        sent(&mut queue, 1);
        assert_eq!((queue.flows[flow].deficit, queue.flows[flow].is_skipped), (0, false));
    }

    #[test]
    fn what_comes_while_the_scan_is_at_the_end_stands_behind_what_was_passed_over() {
        let mut queue = lfq();
        offer(&mut queue, 0, 0..3);
        // The first is sparse, and the two others are passed over.
        assert_eq!(sent(&mut queue, 1), [(0, 0)]);
        while let Some(packet) = queue.ahead.pop() {
            queue.passed.push(packet);
        }
        offer(&mut queue, 1, 0..2);
        assert_eq!((queue.sparse.packets(), queue.passed.packets(), queue.ahead.packets()), (1, 3, 0));
    }

    #[test]
    fn the_last_packet_of_a_flow_is_never_dropped() {
        let (mut queue, mut verdicts) = (lfq(), Verdicts::default());
        offer(&mut queue, 0, 0..2);
        offer(&mut queue, 1, 0..5);
        let flow = queue.hash.slot(&packet_of(0, 0, 1_000), FLOWS);
        let now = Instant::ZERO + crate::units::Duration::from_secs(10);
        queue.flows[flow].control.on_overflow(&queue.law, now);
        let next = || queue.dequeue(now, &mut verdicts).map(|packet| (packet.flow.0, packet.number));
        let sent: Vec<_> = std::iter::from_fn(next).take(3).collect();
        assert_eq!((sent[..2].to_vec(), sent[2]), (vec![(0, 0), (1, 0)], (0, 1)));
        assert!(verdicts.dropped().iter().all(|(packet, _)| packet.flow.0 == 1));
    }

    #[test]
    fn the_control_of_a_flow_rests_with_the_last_packet_and_in_turn_with_those_of_others() {
        let mut queue = lfq();
        let (flow, now) =
            (queue.hash.slot(&packet_of(0, 0, 1_000), FLOWS), Instant::ZERO + crate::units::Duration::from_secs(10));
        let mut control = Control::default();
        control.on_overflow(&queue.law, Instant::ZERO);
        (queue.flows[flow].control, queue.flows[0].control) = (control, control);
        offer(&mut queue, 0, 0..2);
        control.on_empty(&queue.law, now);
        queue.dequeue(now, &mut Verdicts::default());
        assert_eq!((format!("{:?}", queue.flows[0].control), queue.decaying), (format!("{control:?}"), 1));
        queue.dequeue(now, &mut Verdicts::default());
        assert_eq!((format!("{:?}", queue.flows[flow].control), queue.decaying), (format!("{control:?}"), 2));
    }

    #[test]
    fn what_asks_for_low_delay_has_a_fifth_of_the_default_times_whatever_is_stated() {
        let config = serde_json::from_str(r#"{"target_ns": 50000000}"#).expect("a queue");
        let low_latency = Lfq::<()>::new(&config, &setup()).low_latency;
        assert_eq!(format!("{low_latency:?}"), format!("{:?}", CobaltConfig::default().law(5)));
    }
}

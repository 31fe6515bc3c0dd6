//! Cheap Nasty Queueing with approximate fairness: in one queue, whoever takes more room than the others is signalled
//! sooner.
//!
//! **What it is.** The two queues of `cnq`. Each flow has a COBALT of its own, and its wait is weighed by its share of
//! the queue: a packet counts as having waited its time, multiplied by the packets that its flow has waiting and by the
//! number of flows, over all packets that wait. So flows come to have the same room in the bulk queue, and with that
//! about the same rate.
//!
//! **Source.** `net/sched/sch_cnq_codel_af.c` of the SCE project (chromi/sce); draft-morton-tsvwg-codel-approx-fair.
//!
//! **Parameters.** Those of COBALT, with the same defaults.
//!
//! **Deviations.** As `cnq`'s; of a queue that is full, COBALT of the flow that arrives is told.
//!
//! **How it is validated.** Unit tests here; in the suite `l4s-tests/s1-50mbit` against published rates of two flows;
//! beside a second implementation, written from the source alone (`tests/kernel_queues`).

use super::cnq::{FLOWS, Next, SparseAndBulk};
use super::cobalt::{self, CobaltConfig, Control, Law};
use super::setup::QueueSetup;
use super::{Queue, Reason, Verdicts};
use crate::info::Info;
use crate::packet::Packet;
use crate::random::RandomStream;
use crate::units::{Bytes, Duration, Instant};

/// Name, parameters and source, for listings and documentation.
pub(super) const INFO: Info = Info {
    name: "cnq_codel_af",
    title: "Cheap Nasty Queueing with approximate fairness (CNQ-CodelAF)",
    source: "SCE project (chromi/sce) net/sched/sch_cnq_codel_af.c; draft-morton-tsvwg-codel-approx-fair",
    parameters: &cobalt::PARAMETERS,
    telemetry: &[],
};

/// Two queues, and a COBALT a flow.
#[derive(Debug)]
pub struct CnqCodelAf<P> {
    queues: SparseAndBulk<P>,
    limit: usize,
    law: Law,
    controls: Vec<Control>,
    /// The flow whose control is looked at next, whether it is idle.
    decaying: usize,
    random: RandomStream,
}

impl<P> CnqCodelAf<P> {
    /// An empty queue.
    pub(super) fn new(config: &CobaltConfig, setup: &QueueSetup<'_>) -> Self {
        Self {
            queues: SparseAndBulk::new(setup),
            limit: config.limit_packets as usize,
            law: config.law(1),
            controls: vec![Control::default(); FLOWS],
            decaying: 0,
            random: cobalt::random(setup),
        }
    }

    /// What the wait of a packet counts that has just left the bulk queue, for flows that share it alike the wait
    /// itself (`weighted_sojourn`).
    fn weigh(&self, sojourn: Duration, flow: usize) -> Duration {
        let room = u64::from(self.queues.backlog(flow) + 1) * self.queues.bulk_flows() as u64;
        sojourn.scale(room, self.queues.packets() as u64 + 1)
    }

    /// Lets the control of one flow rest, if the flow does; with every packet that leaves, the next.
    fn decay(&mut self, now: Instant) {
        if self.queues.backlog(self.decaying) == 0 {
            self.controls[self.decaying].on_empty(&self.law, now);
        }
        self.decaying = (self.decaying + 1) % FLOWS;
    }
}

impl<P: Send> Queue<P> for CnqCodelAf<P> {
    fn enqueue(&mut self, packet: Box<Packet<P>>, now: Instant, verdicts: &mut Verdicts<P>) {
        if self.queues.packets() >= self.limit {
            let flow = self.queues.flow(&packet);
            self.controls[flow].on_overflow(&self.law, now);
            return verdicts.drop(packet, Reason::Overlimit);
        }
        self.queues.push(packet);
    }

    fn dequeue(&mut self, now: Instant, verdicts: &mut Verdicts<P>) -> Option<Box<Packet<P>>> {
        loop {
            let Next { mut packet, flow, is_sparse } = self.queues.pop()?;
            if is_sparse {
                self.controls[flow].on_empty(&self.law, now);
            } else {
                let wait = self.weigh(now.since(packet.enqueued), flow);
                let control = &mut self.controls[flow];
                let reason = control.judge_as(&self.law, &mut packet, wait, now, &mut self.random, verdicts);
                if let Some(reason) = reason.filter(|_| self.queues.backlog(flow) > 0) {
                    verdicts.drop(packet, reason);
                    continue;
                }
            }
            self.decay(now);
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
    use super::*;
    use crate::queue::tests::{Bench, packet_of, setup};

    /// Two flows that keep 40 packets waiting together, of which the second has `share`; drops of each.
    fn drops_of(share: usize) -> [usize; 2] {
        let mut bench = Bench::new(r#"{"kind": "cnq_codel_af"}"#);
        let mut offered = [0, 0];
        for _ in 0..2_000 {
            for (flow, packets) in [(0, 40 - share), (1, share)] {
                let gone = bench.sent.iter().filter(|sent| sent.0 == flow).count()
                    + bench.dropped.iter().filter(|drop| drop.flow == flow).count();
                let offered = &mut offered[flow as usize];
                let missing = packets - (*offered - gone);
                bench.flow = flow;
                bench.offer(missing);
                *offered += missing;
            }
            bench.send();
        }
        [0, 1].map(|flow| bench.dropped.iter().filter(|drop| drop.flow == flow).count())
    }

    #[test]
    fn whoever_takes_more_room_is_signalled_more() {
        // 40 ms of waiting count 76 for 38 packets of 40, and 4 for 2.
        let [heavy, light] = drops_of(2);
        assert!(heavy > 10 * light.max(1), "{heavy} and {light}");
        let [one, other] = drops_of(20);
        assert!(one.abs_diff(other) * 4 <= one + other, "{one} and {other}");
    }

    #[test]
    fn a_flow_alone_is_signalled_as_by_cobalt() {
        let times_of = |kind: &str| {
            let mut bench = Bench::new(&format!(r#"{{"kind": "{kind}"}}"#));
            bench.standing(40, 1_000);
            bench.drop_times_ms()
        };
        let (alone, cobalt) = (times_of("cnq_codel_af"), times_of("cobalt"));
        assert!(alone.len().abs_diff(cobalt.len()) <= 2, "{alone:?} and {cobalt:?}");
    }

    #[test]
    fn the_limit_drops_what_arrives() {
        let mut bench = Bench::new(r#"{"kind": "cnq_codel_af", "limit_packets": 3}"#);
        bench.offer(5);
        assert_eq!(bench.dropped.iter().map(|drop| drop.number).collect::<Vec<_>>(), [3, 4]);
    }

    fn queue_with(packets: &[(u32, u64)]) -> CnqCodelAf<()> {
        let (mut queue, mut verdicts) = (CnqCodelAf::new(&CobaltConfig::default(), &setup()), Verdicts::default());
        for (flow, count) in packets {
            (0..*count).for_each(|number| queue.enqueue(packet_of(*flow, number, 1_000), Instant::ZERO, &mut verdicts));
        }
        queue
    }

    #[test]
    fn a_wait_counts_by_the_share_of_the_flow_among_those_without_a_placeholder() {
        // Four packets and two; the first of each goes to the sparse queue and leaves a placeholder.
        let mut queue = queue_with(&[(0, 4), (1, 2)]);
        let flow = queue.queues.flow(&packet_of(0, 0, 1_000));
        (0..2).for_each(|_| drop(queue.queues.pop()));
        assert_eq!(queue.queues.bulk_flows(), 0);
        let next = queue.queues.pop().expect("the second of the first flow");
        assert_eq!(
            (next.flow, next.is_sparse, queue.queues.bulk_flows(), queue.queues.backlog(flow)),
            (flow, false, 1, 2)
        );
        // Three of the flow, itself among them, of four that wait, and one flow.
        assert_eq!(queue.weigh(Duration::from_millis(8), flow), Duration::from_millis(6));
    }

    #[test]
    fn the_last_packet_of_a_flow_is_never_dropped() {
        let mut queue = queue_with(&[(1, 1), (0, 1), (1, 1), (0, 1), (1, 3)]);
        let (flow, mut verdicts) = (queue.queues.flow(&packet_of(0, 0, 1_000)), Verdicts::default());
        let now = Instant::ZERO + Duration::from_secs(10);
        (0..3).for_each(|_| drop(queue.dequeue(now, &mut verdicts)));
        queue.controls[flow].on_overflow(&queue.law, now);
        let sent = queue.dequeue(now, &mut verdicts).map(|packet| packet.flow.0);
        assert_eq!((sent, verdicts.drops()), (Some(0), 0), "a signal was due");
    }

    #[test]
    fn the_control_of_a_flow_rests_with_its_sparse_packet_and_in_turn_with_those_of_others() {
        let mut queue = queue_with(&[(0, 1)]);
        let (flow, now) = (queue.queues.flow(&packet_of(0, 0, 1_000)), Instant::ZERO + Duration::from_secs(10));
        let mut control = Control::default();
        control.on_overflow(&queue.law, Instant::ZERO);
        (queue.controls[flow], queue.controls[0]) = (control, control);
        control.on_empty(&queue.law, now);
        queue.dequeue(now, &mut Verdicts::default());
        for found in [flow, 0] {
            assert_eq!(format!("{:?}", queue.controls[found]), format!("{control:?}"));
        }
        assert_eq!(queue.decaying, 1);
    }
}

//! PIE in each of many queues that take turns: FQ-PIE.
//!
//! **What it is.** Flows are hashed to queues, each under a PIE of its own. Queues take turns by deficit round robin,
//! and a queue that has just become busy goes first once.
//!
//! **Source.** Linux 7.3 `net/sched/sch_fq_pie.c`.
//!
//! **Parameters.** The defaults are the kernel's; the quantum is the largest packet and 14 bytes of Ethernet. There is
//! no limit of memory: the kernel counts when it is passed, and does nothing.
//!
//! **Deviations.** Those of PIE and of FQ-CoDel. The kernel computes 2048 queues a millisecond; here all are computed
//! at once.
//!
//! **How it is validated.** Unit tests here; next to the kernel's in the suite `agreement/queues`.

use serde::Deserialize;

use super::ahead::Ahead;
use super::bounds::{limit_within, whole_percents};
use super::flows::{self, Flow, Flows};
use super::pie::{self, CERTAIN, Control, Gains, Law};
use super::setup::QueueSetup;
use super::{Queue, Reason, Verdicts};
use crate::info::{Info, Parameter};
use crate::packet::Packet;
use crate::problem::Problem;
use crate::random::RandomStream;
use crate::units::{Bytes, Instant};

/// Name, parameters and source, for listings and documentation.
pub(super) const INFO: Info = Info {
    name: "fq_pie",
    title: "Fair queueing with PIE",
    source: "Linux net/sched/sch_fq_pie.c",
    parameters: &[
        flows::LIMIT,
        flows::FLOWS,
        flows::QUANTUM,
        pie::TARGET,
        pie::TUPDATE,
        pie::ALPHA,
        pie::BETA,
        pie::ECN,
        Parameter::number(
            "ecn_prob",
            [0.1, 0.0, 1.0],
            "",
            "above this probability packets are dropped that could be marked; whole percents",
        ),
        pie::BYTEMODE,
        pie::DQ_RATE_ESTIMATOR,
    ],
    telemetry: &[],
};

/// What an experiment states.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FqPieConfig {
    #[serde(default = "flows::default_limit")]
    limit_packets: u64,
    #[serde(default = "flows::default_flows")]
    flows: u64,
    quantum_bytes: Option<u64>,
    #[serde(default = "pie::default_time")]
    target_ns: u64,
    #[serde(default = "pie::default_time")]
    tupdate_ns: u64,
    #[serde(default = "pie::default_alpha")]
    alpha_hz: f64,
    #[serde(default = "pie::default_beta")]
    beta_hz: f64,
    #[serde(default)]
    ecn: bool,
    #[serde(default = "default_ecn_prob")]
    ecn_prob: f64,
    #[serde(default)]
    bytemode: bool,
    #[serde(default)]
    dq_rate_estimator: bool,
}

fn default_ecn_prob() -> f64 {
    0.1
}

impl FqPieConfig {
    pub(super) fn check(&self) -> Result<(), Problem> {
        limit_within("limit", self.limit_packets)?;
        flows::check(self.flows, self.quantum_bytes)?;
        whole_percents("ecn_prob", self.ecn_prob)?;
        self.gains().check()
    }

    fn gains(&self) -> Gains {
        let Self { target_ns, tupdate_ns, alpha_hz, beta_hz, bytemode, dq_rate_estimator, .. } = *self;
        Gains { target_ns, tupdate_ns, alpha_hz, beta_hz, bytemode, dq_rate_estimator }
    }
}

/// Queues under PIE that take turns.
#[derive(Debug)]
pub struct FqPie<P> {
    flows: Flows<P, Control>,
    ahead: Ahead,
    law: Law,
    limit: usize,
    ecn: bool,
    /// Up to this probability what can be marked is marked.
    marked_up_to: u64,
    random: RandomStream,
}

impl<P> FqPie<P> {
    /// An empty queue.
    pub(super) fn new(config: &FqPieConfig, setup: &QueueSetup<'_>) -> Self {
        let law = config.gains().law(setup);
        Self {
            flows: Flows::new(config.flows, config.quantum_bytes, &Control::new(&law), setup),
            ahead: Ahead::default(),
            law,
            limit: config.limit_packets as usize,
            ecn: config.ecn,
            marked_up_to: CERTAIN / 100 * (config.ecn_prob * 100.0).round() as u64,
            random: setup.random("pie"),
        }
    }

    /// Why the packet is not let into this queue.
    fn refusal(&mut self, index: usize, packet: &mut Packet<P>, verdicts: &mut Verdicts<P>) -> Option<Reason> {
        if self.flows.packets() + self.ahead.packets() >= self.limit {
            return Some(Reason::Overlimit);
        }
        let Flow { queue, control } = self.flows.flow(index);
        let is_in = !control.drops_early(&self.law, queue.bytes(), packet, &mut self.random)
            || (self.ecn && control.probability() <= self.marked_up_to && verdicts.mark(packet, Reason::Congestion));
        (!is_in).then_some(Reason::Congestion)
    }
}

impl<P: Send> Queue<P> for FqPie<P> {
    fn enqueue(&mut self, mut packet: Box<Packet<P>>, now: Instant, verdicts: &mut Verdicts<P>) {
        let index = self.flows.index_of(&packet);
        let Flow { queue, control } = self.flows.flow(index);
        control.catch_up(&self.law, queue.bytes(), now);
        if let Some(reason) = self.refusal(index, &mut packet, verdicts) {
            self.flows.flow(index).control.on_drop();
            verdicts.drop(packet, reason);
            return;
        }
        self.flows.push(index, packet);
    }

    fn dequeue(&mut self, now: Instant, _verdicts: &mut Verdicts<P>) -> Option<Box<Packet<P>>> {
        let law = &self.law;
        self.flows.take_turns(|Flow { queue, control }, _others| {
            control.catch_up(law, queue.bytes(), now);
            let packet = queue.pop()?;
            control.on_leaving(law, &packet, queue.bytes(), now);
            Some(packet)
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
    use crate::packet::Ecn;
    use crate::queue::tests::{Bench, packet_of, problem, setup};
    use crate::units::Duration;

    #[test]
    fn a_sparse_flow_overtakes_and_loses_nothing() {
        let mut bench = Bench::new(r#"{"kind": "fq_pie"}"#);
        bench.standing(100, 3_000);
        assert!(!bench.dropped.is_empty());
        bench.dropped.clear();
        bench.flow = 1;
        for _ in 0..50 {
            bench.offer(1);
            bench.send();
            assert_eq!(bench.sent.last().map(|(flow, ..)| *flow), Some(1));
            bench.send();
        }
        assert!(bench.dropped.is_empty());
    }

    #[test]
    fn what_can_be_marked_is_marked_up_to_the_stated_probability() {
        let mut bench = Bench::new(r#"{"kind": "fq_pie", "ecn": true, "ecn_prob": 1.0}"#);
        bench.ecn = Ecn::Ect0;
        bench.standing(100, 1_000);
        assert!(!bench.marked.is_empty() && bench.dropped.is_empty());
        let mut bench = Bench::new(r#"{"kind": "fq_pie", "ecn": true, "ecn_prob": 0.0}"#);
        bench.ecn = Ecn::Ect0;
        bench.standing(100, 1_000);
        assert!(bench.marked.is_empty() && !bench.dropped.is_empty());
    }

    #[test]
    fn the_limit_counts_all_lines() {
        let mut bench = Bench::new(r#"{"kind": "fq_pie", "limit_packets": 10}"#);
        bench.offer(8);
        bench.flow = 1;
        bench.offer(4);
        assert_eq!(bench.dropped.iter().map(|drop| drop.flow).collect::<Vec<_>>(), [1, 1]);
    }

    #[test]
    fn the_probability_of_a_line_falls_while_nothing_comes() {
        let mut bench = Bench::new(r#"{"kind": "fq_pie"}"#);
        bench.standing(200, 3_000);
        (0..200).for_each(|_| bench.send());
        bench.dropped.clear();
        bench.now += Duration::from_secs(60);
        bench.offer(100);
        assert!(bench.dropped.is_empty(), "a minute later a burst passes");
    }

    #[test]
    fn a_drop_at_the_limit_begins_the_sum_of_the_line_anew() {
        let config = serde_json::from_str(r#"{"limit_packets": 100}"#).expect("a queue");
        let (mut queue, mut verdicts) = (FqPie::<()>::new(&config, &setup()), Verdicts::default());
        let packet = |now| Box::new(Packet { enqueued: now, ..*packet_of(0, 0, 1_000) });
        let mut now = Instant::ZERO;
        for _ in 0..3_000 {
            (queue.packets()..60).for_each(|_| queue.enqueue(packet(now), now, &mut verdicts));
            now += Duration::from_millis(1);
            queue.dequeue(now, &mut verdicts);
        }
        while queue.packets() < 100 {
            queue.enqueue(packet(now), now, &mut verdicts);
        }
        let index = queue.flows.index_of(&packet(now));
        let before = queue.flows.flow(index).control;
        let mut told = before;
        told.on_drop();
        assert_ne!(before, told, "there is a sum");
        queue.enqueue(packet(now), now, &mut verdicts);
        assert_eq!(verdicts.dropped().last().map(|(_, reason)| *reason), Some(Reason::Overlimit));
        assert_eq!(queue.flows.flow(index).control, told);
    }

    #[test]
    fn impossible_parameters_are_refused() {
        assert!(problem(r#"{"kind": "fq_pie", "ecn_prob": 2.0}"#).contains("ecn_prob 2 is not possible"));
        assert!(problem(r#"{"kind": "fq_pie", "flows": 70000}"#).contains("flows 70000 is not possible"));
    }
}

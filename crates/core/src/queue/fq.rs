//! Fair queueing without any control of delay: the scheduler of FQ.
//!
//! **What it is.** Every flow has a queue of its own. Queues take turns by deficit round robin, a new one first; flows
//! stand in three bands by their DSCP, which share the link by weight. One that is seen for the first time has its
//! first turn in the most urgent band, for which it waits until the band at work has used its credit up. While nothing
//! else waits, up to eight packets go straight through.
//!
//! **Source.** Linux 7.3 `net/sched/sch_fq.c` (`fq_enqueue`, `fq_dequeue`, `fq_fastpath_check`).
//!
//! **Parameters.** The defaults are the kernel's; quantum and initial quantum are two and ten times the largest packet
//! and 14 bytes of Ethernet. Weights are 9, 3 and 1 times 64 KiB.
//!
//! **Deviations.** Only the scheduler: packets were paced by their senders. Flows are those that a router sees, one of
//! 1024 by their hash. No flow is forgotten: the kernel forgets one after 3 s of silence when another one's packet
//! comes by it in the tree of flows.
//!
//! **How it is validated.** Unit tests here; next to the kernel's in `tests/worlds/test_elements_against_kernel.py`.

use std::collections::VecDeque;

use serde::Deserialize;

use super::bands::{BANDS, band_of};
use super::bounds::{limit_within, within};
use super::flows::{LARGEST_QUANTUM, LEAST_QUANTUM};
use super::hash::FlowHash;
use super::packet_queue::PacketQueue;
use super::setup::QueueSetup;
use super::{Queue, Reason, Verdicts};
use crate::info::{Info, Parameter};
use crate::packet::Packet;
use crate::problem::Problem;
use crate::units::{Bytes, Duration, Instant};

/// Name, parameters and source, for listings and documentation.
pub(super) const INFO: Info = Info {
    name: "fq",
    title: "Fair queueing (FQ)",
    source: "Linux net/sched/sch_fq.c",
    parameters: &[
        Parameter::quantity("limit", "10000pkt", "packets", "the most packets that wait in each band"),
        Parameter::quantity("flow_limit", "100pkt", "packets", "the most packets of one flow that wait"),
        Parameter::quantity("quantum", "2 (largest packet + 14B)", "size", "what a flow may send in its turn"),
        Parameter::quantity(
            "initial_quantum",
            "10 (largest packet + 14B)",
            "size",
            "what a flow may send when it is seen for the first time",
        ),
        Parameter::quantity(
            "refill_delay",
            "40ms",
            "time",
            "after a silence longer than this a flow may send a quantum again",
        ),
        Parameter::quantity(
            "ce_threshold",
            "off",
            "time",
            "mark what waited longer than this, but for what took the fast path",
        ),
    ],
    telemetry: &[],
};

/// `orphan_mask`: forwarded packets are told apart by so many values of their hash.
const FLOWS: usize = 1_024;
/// What may wait straight through.
const FAST_PACKETS: usize = 8;
/// Of the bands, in bytes a turn.
const WEIGHTS: [i64; BANDS] = [9 << 16, 3 << 16, 1 << 16];

/// What an experiment states.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FqConfig {
    #[serde(default = "default_limit")]
    limit_packets: u64,
    #[serde(default = "default_flow_limit")]
    flow_limit_packets: u64,
    quantum_bytes: Option<u64>,
    initial_quantum_bytes: Option<u64>,
    #[serde(default = "default_refill_delay")]
    refill_delay_ns: u64,
    ce_threshold_ns: Option<u64>,
}

fn default_limit() -> u64 {
    10_000
}

fn default_flow_limit() -> u64 {
    100
}

fn default_refill_delay() -> u64 {
    40_000_000
}

impl FqConfig {
    pub(super) fn check(&self) -> Result<(), Problem> {
        limit_within("limit", self.limit_packets)?;
        limit_within("flow_limit", self.flow_limit_packets)?;
        within("quantum", self.quantum_bytes.unwrap_or(LEAST_QUANTUM), &(LEAST_QUANTUM..=LARGEST_QUANTUM), "B")?;
        within("initial_quantum", self.initial_quantum_bytes.unwrap_or(0), &(0..=LARGEST_QUANTUM), "B")
    }
}

#[derive(Debug)]
struct Flow<P> {
    queue: PacketQueue<P>,
    /// That of the packet which came last; the first one of all finds it 0 (`fq_classify`).
    band: usize,
    credit: i64,
    is_listed: bool,
    /// When it was last taken off the lists, in milliseconds, which the kernel keeps odd.
    idle_since: Option<u64>,
}

#[derive(Debug, Default)]
struct Band {
    credit: i64,
    packets: usize,
    new: VecDeque<u32>,
    old: VecDeque<u32>,
}

/// Queues that take turns.
#[derive(Debug)]
pub struct Fq<P> {
    hash: FlowHash,
    flows: Vec<Flow<P>>,
    bands: [Band; BANDS],
    band: usize,
    fast: PacketQueue<P>,
    packets: usize,
    bytes: Bytes,
    limit: usize,
    flow_limit: usize,
    quantum: i64,
    refill_delay_ms: u64,
    ce_threshold: Option<Duration>,
}

impl<P> Fq<P> {
    /// An empty queue.
    pub(super) fn new(config: &FqConfig, setup: &QueueSetup<'_>) -> Self {
        let of_packets = |packets| (setup.mtu() * packets).count().min(LARGEST_QUANTUM);
        let credit = config.initial_quantum_bytes.unwrap_or_else(|| of_packets(10)) as i64;
        let new_flow = || Flow { queue: PacketQueue::default(), band: 0, credit, is_listed: false, idle_since: None };
        Self {
            hash: FlowHash::new(setup),
            flows: std::iter::repeat_with(new_flow).take(FLOWS).collect(),
            bands: Default::default(),
            band: 0,
            fast: PacketQueue::default(),
            packets: 0,
            bytes: Bytes::ZERO,
            limit: config.limit_packets as usize,
            flow_limit: config.flow_limit_packets as usize,
            quantum: config.quantum_bytes.unwrap_or_else(|| of_packets(2).max(LEAST_QUANTUM)) as i64,
            refill_delay_ms: config.refill_delay_ns / 1_000_000,
            ce_threshold: config.ce_threshold_ns.map(Duration::from_nanos),
        }
    }

    /// Whether a packet may go straight through: no flow has anything waiting.
    fn has_fast_path(&self) -> bool {
        self.packets == self.fast.packets() && self.packets < FAST_PACKETS
    }

    /// Puts a packet into the queue of its flow, or says that it is too long.
    fn admit(&mut self, packet: Box<Packet<P>>, now: Instant) -> Result<(), Box<Packet<P>>> {
        let index = self.hash.slot(&packet, FLOWS);
        let (flow, band) = (&mut self.flows[index], band_of(packet.dscp));
        if flow.queue.packets() >= self.flow_limit {
            return Err(packet);
        }
        if !flow.is_listed {
            flow.is_listed = true;
            // `fq_flow_add_tail`, by the band that it had: a new flow stands in the most urgent one.
            self.bands[flow.band].new.push_back(index as u32);
            if flow.idle_since.is_some_and(|since| now.as_millis() > since + self.refill_delay_ms) {
                flow.credit = flow.credit.max(self.quantum);
            }
        }
        flow.band = band;
        self.bands[band].packets += 1;
        flow.queue.push(packet);
        Ok(())
    }

    /// The next packet of the flows; there is one.
    fn take_turns(&mut self, now: Instant) -> Option<Box<Packet<P>>> {
        let mut empty_bands = 0;
        while empty_bands <= BANDS {
            let band = &mut self.bands[self.band];
            let list = if band.new.is_empty() { &mut band.old } else { &mut band.new };
            let Some(index) = list.front().copied().filter(|_| band.credit > 0) else {
                empty_bands += usize::from(band.new.is_empty() && band.old.is_empty());
                self.next_band();
                continue;
            };
            let flow = &mut self.flows[index as usize];
            if flow.credit <= 0 {
                flow.credit += self.quantum;
                list.pop_front();
                self.bands[flow.band].old.push_back(index);
                continue;
            }
            if let Some(packet) = flow.queue.pop() {
                let size = packet.size.count() as i64;
                flow.credit -= size;
                band.credit -= size;
                // A flow moves to the band of its latest packet with its next turn; each packet counts for its own.
                self.bands[band_of(packet.dscp)].packets -= 1;
                return Some(packet);
            }
            // A new flow has to pass through the old ones once.
            if band.new.pop_front().is_some() {
                self.bands[flow.band].old.push_back(index);
            } else {
                band.old.pop_front();
                (flow.is_listed, flow.idle_since) = (false, Some(now.as_millis() | 1));
            }
        }
        None
    }

    fn next_band(&mut self) {
        self.band = (self.band + 1) % BANDS;
        let (band, weight) = (&mut self.bands[self.band], WEIGHTS[self.band]);
        band.credit = (band.credit + weight).min(weight);
    }
}

impl<P: Send> Queue<P> for Fq<P> {
    fn enqueue(&mut self, packet: Box<Packet<P>>, now: Instant, verdicts: &mut Verdicts<P>) {
        let size = packet.size;
        if self.bands[band_of(packet.dscp)].packets >= self.limit {
            return verdicts.drop(packet, Reason::Overlimit);
        }
        if self.has_fast_path() {
            self.fast.push(packet);
        } else if let Err(packet) = self.admit(packet, now) {
            return verdicts.drop(packet, Reason::Overlimit);
        }
        self.packets += 1;
        self.bytes += size;
    }

    fn dequeue(&mut self, now: Instant, verdicts: &mut Verdicts<P>) -> Option<Box<Packet<P>>> {
        let fast = self.fast.pop();
        let is_fast = fast.is_some();
        let mut packet = fast.or_else(|| self.take_turns(now))?;
        self.packets -= 1;
        self.bytes -= packet.size;
        if !is_fast && self.ce_threshold.is_some_and(|threshold| now.since(packet.enqueued) > threshold) {
            verdicts.mark(&mut packet, Reason::Threshold);
        }
        Some(packet)
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
    use super::*;
    use crate::packet::Ecn;
    use crate::queue::tests::{Bench, packet_of, problem, setup};

    fn flows(bench: &Bench) -> Vec<u32> {
        bench.sent.iter().map(|sent| sent.0).collect()
    }

    #[test]
    fn a_flow_sends_its_first_quantum_and_then_they_take_turns() {
        // Packets of 1000 bytes: at first ten and a bit of 1014, then two and a bit.
        let mut bench = Bench::new(r#"{"kind": "fq"}"#);
        bench.flow = 9;
        bench.offer(8);
        bench.flow = 0;
        bench.offer(30);
        bench.flow = 1;
        bench.offer(30);
        (0..8).for_each(|_| bench.send());
        assert_eq!(flows(&bench), [9; 8], "straight through");
        bench.sent.clear();
        (0..28).for_each(|_| bench.send());
        // 10140 bytes are passed by the eleventh packet, 2028 - 860 by two more.
        let expected = [vec![0; 11], vec![1; 11], vec![0; 2], vec![1; 2], vec![0; 2]].concat();
        assert_eq!(flows(&bench), expected);
    }

    #[test]
    fn while_nothing_waits_eight_packets_go_straight_through() {
        let mut bench = Bench::new(r#"{"kind": "fq", "flow_limit_packets": 2}"#);
        bench.offer(12);
        assert_eq!(bench.dropped.iter().map(|drop| drop.number).collect::<Vec<_>>(), [10, 11]);
        assert!(bench.dropped.iter().all(|drop| drop.reason == Reason::Overlimit));
    }

    #[test]
    fn an_urgent_band_has_nine_times_the_share_of_the_least() {
        let mut bench = Bench::new(r#"{"kind": "fq", "flow_limit_packets": 5000}"#);
        for (flow, dscp) in [(0, 0), (1, 4), (2, 2)] {
            (bench.flow, bench.dscp) = (flow, dscp);
            bench.offer(3_000);
        }
        (0..8 + 13 * 64).for_each(|_| bench.send());
        let of = |flow| bench.sent.iter().skip(8).filter(|sent| sent.0 == flow).count();
        let [middle, urgent, least] = [of(0), of(1), of(2)];
        assert!(
            urgent.abs_diff(9 * 64) < 80 && middle.abs_diff(3 * 64) < 80 && least.abs_diff(64) < 80,
            "{urgent} {middle} {least}"
        );
    }

    #[test]
    fn a_new_flow_stands_in_the_urgent_band_and_waits_for_the_credit_of_the_one_at_work() {
        let mut bench = Bench::new(r#"{"kind": "fq", "flow_limit_packets": 5000}"#);
        bench.offer(1_000);
        (0..8 + 22).for_each(|_| bench.send());
        bench.flow = 1;
        bench.offer(20);
        bench.sent.clear();
        (0..400).for_each(|_| bench.send());
        let sent = flows(&bench);
        // Eleven of the 22 had the other flow's first turn, in the urgent band; then 192 KiB are sent without a look
        // elsewhere.
        let first = sent.iter().position(|flow| *flow == 1);
        assert_eq!(first, Some((192 * 1_024_usize).div_ceil(1_000) - 11));
        assert_eq!(sent[186..198], [[1; 11].as_slice(), &[0]].concat());
    }

    #[test]
    fn the_threshold_marks_what_waited() {
        let mut bench = Bench::new(r#"{"kind": "fq", "ce_threshold_ns": 20000000}"#);
        bench.ecn = Ecn::Ect0;
        bench.offer(40);
        (0..40).for_each(|_| bench.send());
        // The first eight are not looked at; packet n leaves after n + 1 ms.
        assert_eq!(bench.marked.len(), 20);
    }

    fn fq_of(json: &str) -> Fq<()> {
        Fq::new(&serde_json::from_str(json).expect("a queue"), &setup())
    }

    /// The credit of a flow that comes at this time, when it had so much left and was silent since 1 s.
    fn credit_at(millis: u64, left: i64) -> i64 {
        let mut fq = fq_of("{}");
        let index = fq.hash.slot(&packet_of(0, 0, 1_000), FLOWS);
        (fq.flows[index].credit, fq.flows[index].idle_since) = (left, Some(1_001));
        fq.admit(packet_of(0, 0, 1_000), Instant::ZERO + Duration::from_millis(millis)).expect("it has room");
        fq.flows[index].credit
    }

    #[test]
    fn after_a_silence_a_flow_has_a_quantum_at_least() {
        assert_eq!(credit_at(1_041, 100), 100);
        assert_eq!(credit_at(1_042, 100), 2_028);
        assert_eq!(credit_at(1_042, 5_000), 5_000);
    }

    #[test]
    fn the_silence_of_a_flow_begins_when_it_is_found_empty_among_the_old_ones() {
        let (mut fq, mut verdicts) = (fq_of("{}"), Verdicts::default());
        let index = fq.hash.slot(&packet_of(0, 0, 1_000), FLOWS);
        let at = |ms| Instant::ZERO + Duration::from_millis(ms);
        fq.admit(packet_of(0, 0, 1_000), at(10)).expect("it has room");
        (fq.packets, fq.bytes) = (1, Bytes::new(1_000));
        assert!(fq.dequeue(at(20), &mut verdicts).is_some());
        assert!(fq.flows[index].is_listed);
        assert!(fq.take_turns(at(30)).is_none());
        assert_eq!((fq.flows[index].is_listed, fq.flows[index].idle_since), (false, Some(31)));
    }

    #[test]
    fn an_empty_new_flow_passes_through_the_old_ones() {
        let mut fq = fq_of("{}");
        for (flow, packets) in [(0, 15), (1, 1)] {
            (0..packets).for_each(|number| drop(fq.admit(packet_of(flow, number, 1_000), Instant::ZERO)));
        }
        // The first is old after eleven packets, the second is found empty then.
        let sent: Vec<_> = (0..13).filter_map(|_| fq.take_turns(Instant::ZERO)).map(|packet| packet.flow.0).collect();
        assert_eq!(sent, [vec![0; 11], vec![1], vec![0]].concat());
        let index = fq.hash.slot(&packet_of(1, 0, 1_000), FLOWS);
        assert!(fq.flows[index].is_listed);
    }

    #[test]
    fn a_flow_whose_credit_is_used_up_to_the_last_byte_has_had_its_turn() {
        let mut fq = fq_of(r#"{"initial_quantum_bytes": 2000}"#);
        for flow in [0, 1] {
            (0..4).for_each(|number| drop(fq.admit(packet_of(flow, number, 1_000), Instant::ZERO)));
        }
        let sent: Vec<_> = (0..4).filter_map(|_| fq.take_turns(Instant::ZERO)).map(|packet| packet.flow.0).collect();
        assert_eq!(sent, [0, 0, 1, 1]);
    }

    #[test]
    fn a_band_saves_up_no_more_than_its_weight() {
        let mut fq = fq_of("{}");
        (0..10).for_each(|_| fq.next_band());
        assert_eq!(fq.bands.each_ref().map(|band| band.credit), WEIGHTS);
    }

    #[test]
    fn what_took_the_fast_path_is_never_marked() {
        let mut bench = Bench::new(r#"{"kind": "fq", "ce_threshold_ns": 1000000}"#);
        bench.ecn = Ecn::Ect0;
        bench.offer(10);
        (0..10).for_each(|_| bench.send());
        assert_eq!(bench.mark_times_ms(), [9, 10]);
    }

    #[test]
    fn impossible_parameters_are_refused() {
        assert!(problem(r#"{"kind": "fq", "limit_packets": 0}"#).contains("limit 0 is not possible"));
        assert!(problem(r#"{"kind": "fq", "quantum_bytes": 100}"#).contains("quantum 100B is not possible"));
    }
}

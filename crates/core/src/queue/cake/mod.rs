//! Common applications kept enhanced: CAKE.
//!
//! **What it is.** Flows are sorted to queues by a hash with eight places for each flow to go to, each queue under a
//! COBALT of its own. Queues take turns by deficit round robin; one that sends less than its share goes first (DRR++).
//! When all queues together hold too much, the longest one loses packets from its head. With `flow_mode = "flowblind"`
//! it is one queue under COBALT.
//!
//! **Source.** Linux 7.3 `net/sched/sch_cake.c`; Høiland-Jørgensen, Täht, Morton, "Piece of CAKE" (2018). The ramp of
//! "some congestion experienced": the SCE project's `sch_cake.c`.
//!
//! **Parameters.** The defaults are the kernel's. `own_shaper` says that the link is CAKE's own shaper, which is what
//! the `bandwidth` of `tc` makes: target, interval, quantum and the limit of memory then follow from the link's mean
//! rate too.
//!
//! **Deviations.** All flows are of one pair of hosts. There is one tin, so that `diffserv3` is refused where flows
//! have DSCPs. Of several queues that are equally long the first in turn loses packets. The memory of a packet is its
//! size and 804 bytes, about what it is in Linux. No filter of acks.
//!
//! **How it is validated.** Unit tests here; next to the kernel's in the suite `agreement/queues`; and fed with the
//! arrivals at a kernel's, it drops and marks the same packets at the same times (`tests/kernel_queues`).

mod cobalt;
mod lists;
#[cfg(test)]
mod tests;

use serde::Deserialize;

use self::cobalt::{Control, Law, Ramp};
use self::lists::{List, Lists};
use super::bounds::{limit_within, time_within, within};
use super::codel::check_order;
use super::hash::FlowHash;
use super::packet_queue::PacketQueue;
use super::setup::{QueueSetup, memory_of};
use super::{Queue, Reason, Verdicts};
use crate::info::{Info, Parameter};
use crate::packet::Packet;
use crate::problem::Problem;
use crate::random::RandomStream;
use crate::units::{Bytes, Instant, NANOS_PER_SECOND};

/// Name, parameters and source, for listings and documentation.
pub(super) const INFO: Info = Info {
    name: "cake",
    title: "Common applications kept enhanced (CAKE)",
    source: "Linux net/sched/sch_cake.c; Høiland-Jørgensen, Täht, Morton 2018; SCE: chromi/sce net/sched/sch_cake.c",
    parameters: &[
        Parameter::choice(
            "flow_mode",
            &["triple-isolate", "flows", "flowblind", "hosts", "srchost", "dsthost", "dual-srchost", "dual-dsthost"],
            "between what the link is shared fairly; all flows are of one pair of hosts",
        ),
        Parameter::choice("diffserv", &["diffserv3", "besteffort"], "one tin; diffserv3 is for paths without DSCPs"),
        Parameter::quantity("rtt", "100ms", "time", "the round-trip time that the interval is meant for"),
        Parameter::quantity("target", "rtt / 20", "time", "the standing delay that is acceptable"),
        Parameter::quantity(
            "memory_limit",
            "10240 (largest packet + 14B)",
            "size",
            "the most memory of packets that wait, as Linux counts it",
        ),
        Parameter::flag("own_shaper", false, "the link is CAKE's own shaper, from whose rate parameters follow"),
        Parameter::choice(
            "sce",
            &["off", "ramp", "single"],
            "turn ECT(0) into ECT(1) with a chance that grows from half the target on, or from the target on",
        ),
        Parameter::number("sce_thresh", [1.0, 1.0, 1_024.0], "", "the ramp reaches one in so many at the target"),
    ],
    telemetry: &[],
};

/// `CAKE_QUEUES` and `CAKE_SET_WAYS`.
const FLOWS: usize = 1_024;
const WAYS: usize = 8;
/// `sch->limit`: with the largest packet, the most memory that all queues take.
const LIMIT_PACKETS: u64 = 10_240;
/// The most and the least that a queue may send in its turn.
const QUANTUM: u64 = 1_514;
const LEAST_QUANTUM: u64 = 300;
/// A shaper's turn is what its rate sends in 1/4096 s.
const TURNS_PER_SECOND: u64 = 4_096;
/// A shaper's memory holds four intervals of its rate, and at least this.
const LEAST_MEMORY: u64 = 4 << 20;
/// `tc` takes this part of the round-trip time as the target.
const TARGETS_PER_RTT: u64 = 20;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum FlowMode {
    #[default]
    TripleIsolate,
    Flows,
    Flowblind,
    Hosts,
    Srchost,
    Dsthost,
    DualSrchost,
    DualDsthost,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Diffserv {
    #[default]
    Diffserv3,
    Besteffort,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Sce {
    #[default]
    Off,
    Ramp,
    Single,
}

/// What an experiment states.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CakeConfig {
    flow_mode: FlowMode,
    diffserv: Diffserv,
    rtt_ns: u64,
    target_ns: Option<u64>,
    memory_limit_bytes: Option<u64>,
    own_shaper: bool,
    sce: Sce,
    sce_thresh: u32,
}

impl Default for CakeConfig {
    fn default() -> Self {
        Self {
            flow_mode: FlowMode::default(),
            diffserv: Diffserv::default(),
            rtt_ns: 100_000_000,
            target_ns: None,
            memory_limit_bytes: None,
            own_shaper: false,
            sce: Sce::default(),
            sce_thresh: 1,
        }
    }
}

impl CakeConfig {
    pub(super) fn check(&self, setup: &QueueSetup<'_>) -> Result<(), Problem> {
        time_within("rtt", self.rtt_ns, 1_000)?;
        time_within("target", self.target(), 1)?;
        limit_within("memory_limit", self.memory_limit_bytes.unwrap_or(1))?;
        within("sce_thresh", self.sce_thresh, &(1..=1_024), "")?;
        check_order(self.target(), "rtt", self.rtt_ns)?;
        if self.sce_thresh > 1 && self.sce != Sce::Ramp {
            return Err(Problem::new("sce_thresh is for sce = \"ramp\"; set that, or leave it out"));
        }
        if self.own_shaper && setup.mean_rate.is_none() {
            return Err(Problem::new("own_shaper needs a link with a rate; give the hop one, or leave it out"));
        }
        Ok(())
    }

    /// Whether packets with different DSCPs belong to different tins, which are not modelled.
    pub(super) fn sorts_by_dscp(&self) -> bool {
        self.diffserv == Diffserv::Diffserv3
    }

    fn target(&self) -> u64 {
        self.target_ns.unwrap_or(self.rtt_ns / TARGETS_PER_RTT)
    }

    /// The rate of CAKE's own shaper in bytes per second.
    fn shaped(&self, setup: &QueueSetup<'_>) -> Option<u64> {
        let rate = setup.mean_rate.filter(|_| self.own_shaper)?;
        Some((rate.as_bits_per_second() / 8).max(1))
    }

    /// `cake_set_rate`.
    fn law(&self, setup: &QueueSetup<'_>) -> Law {
        let packet_time = self.shaped(setup).map_or(0, |rate| setup.mtu().count() * NANOS_PER_SECOND / rate);
        let target = (packet_time * 3 / 2).max(self.target());
        Law {
            target: target as i64,
            interval: (self.rtt_ns + target - self.target()).max(target * 2) as i64,
            packet_time: packet_time as i64,
            ramp: match self.sce {
                Sce::Off => None,
                Sce::Ramp => Some(Ramp::From(self.sce_thresh)),
                Sce::Single => Some(Ramp::Single),
            },
        }
    }

    /// `cake_reconfigure`.
    fn memory(&self, setup: &QueueSetup<'_>) -> u64 {
        let most = LIMIT_PACKETS * setup.mtu().count();
        let of_rate = |rate: u64| {
            let four_intervals = u128::from(rate) * u128::from(self.rtt_ns) * 4 / u128::from(NANOS_PER_SECOND);
            (four_intervals as u64).max(LEAST_MEMORY).min(most)
        };
        self.memory_limit_bytes.unwrap_or_else(|| self.shaped(setup).map_or(most, of_rate))
    }

    fn quantum(&self, setup: &QueueSetup<'_>) -> u64 {
        self.shaped(setup).map_or(QUANTUM, |rate| (rate / TURNS_PER_SECOND).clamp(LEAST_QUANTUM, QUANTUM))
    }
}

/// How packets are sorted to queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sorting {
    /// One queue for all: they are of one host.
    Together,
    /// A queue for each flow.
    ByFlow,
    /// A queue for each flow, and turns that share what one host may send.
    ByFlowOfHost,
}

impl From<FlowMode> for Sorting {
    fn from(mode: FlowMode) -> Self {
        match mode {
            FlowMode::Flowblind | FlowMode::Hosts | FlowMode::Srchost | FlowMode::Dsthost => Self::Together,
            FlowMode::Flows => Self::ByFlow,
            FlowMode::TripleIsolate | FlowMode::DualSrchost | FlowMode::DualDsthost => Self::ByFlowOfHost,
        }
    }
}

/// What a flow counts as (`CAKE_SET_*`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Set {
    None,
    Sparse,
    /// Empty and among the old ones, because it had sent its quantum.
    SparseWait,
    Bulk,
    Decaying,
}

#[derive(Debug)]
struct Flow<P> {
    queue: PacketQueue<P>,
    control: Control,
    deficit: i64,
    set: Set,
    list: List,
    tag: u32,
}

/// Queues under COBALT that take turns.
#[derive(Debug)]
pub struct Cake<P> {
    hash: FlowHash,
    sorting: Sorting,
    law: Law,
    flows: Vec<Flow<P>>,
    lists: Lists,
    bulk_flows: u64,
    quantum: u64,
    packets: usize,
    bytes: Bytes,
    memory_limit: u64,
    random: RandomStream,
}

impl<P> Cake<P> {
    /// An empty queue.
    pub(super) fn new(config: &CakeConfig, setup: &QueueSetup<'_>) -> Self {
        let empty = || Flow {
            queue: PacketQueue::default(),
            control: Control::default(),
            deficit: 0,
            set: Set::None,
            list: List::New,
            tag: 0,
        };
        Self {
            hash: FlowHash::new(setup),
            sorting: config.flow_mode.into(),
            law: config.law(setup),
            flows: std::iter::repeat_with(empty).take(FLOWS).collect(),
            lists: Lists::new(FLOWS),
            bulk_flows: 0,
            quantum: config.quantum(setup),
            packets: 0,
            bytes: Bytes::ZERO,
            memory_limit: config.memory(setup),
            random: setup.random("cake"),
        }
    }

    /// The queue of a packet (`cake_hash`): the flow's own if it has one among its eight places, else a free one of
    /// them, else one shared with another flow.
    fn classify(&mut self, packet: &Packet<P>) -> usize {
        if self.sorting == Sorting::Together {
            return 0;
        }
        let hash = self.hash.of(packet);
        let direct = hash as usize % FLOWS;
        if self.flows[direct].tag == hash && self.flows[direct].set != Set::None {
            return direct;
        }
        let first = direct / WAYS * WAYS;
        let ways = || (0..WAYS).map(|way| first + (direct + way) % WAYS);
        let own = ways().find(|flow| self.flows[*flow].tag == hash);
        let chosen = own.or_else(|| ways().find(|flow| self.flows[*flow].set == Set::None)).unwrap_or(direct);
        self.flows[chosen].tag = hash;
        chosen
    }

    /// What a flow may send in its turn, dithered so that rounding does not add up (`cake_get_flow_quantum`).
    fn turn(&mut self) -> i64 {
        let load = if self.sorting == Sorting::ByFlowOfHost { self.bulk_flows.max(1) } else { 1 };
        ((self.quantum * (u64::from(u16::MAX) / load) + self.random.below(1 << 16)) >> 16) as i64
    }

    fn move_to(&mut self, index: usize, list: List) {
        let flow = &mut self.flows[index];
        if flow.set != Set::None {
            self.lists.remove(flow.list, index);
        }
        flow.list = list;
        self.lists.push(list, index);
    }

    fn become_set(&mut self, index: usize, set: Set) {
        let was = std::mem::replace(&mut self.flows[index].set, set);
        self.bulk_flows += u64::from(set == Set::Bulk);
        self.bulk_flows -= u64::from(was == Set::Bulk);
    }

    /// A packet has joined this queue: it is sparse if it was at rest.
    fn wake(&mut self, index: usize) {
        match self.flows[index].set {
            Set::None | Set::Decaying => {
                self.move_to(index, List::New);
                self.become_set(index, Set::Sparse);
                self.flows[index].deficit = self.turn();
            }
            Set::SparseWait => self.become_set(index, Set::Bulk),
            Set::Sparse | Set::Bulk => {}
        }
    }

    /// Drops the first packet of the longest queue (`cake_drop`). Looked for only when the limit is passed.
    fn drop_from_longest(&mut self, now: Instant, verdicts: &mut Verdicts<P>) {
        let busy = self.lists.flows(List::New).chain(self.lists.flows(List::Old));
        let longest = busy.fold(None, |longest: Option<usize>, flow| match longest {
            Some(other) if self.flows[other].queue.bytes() >= self.flows[flow].queue.bytes() => Some(other),
            _ => Some(flow),
        });
        let Some(flow) = longest.map(|index| &mut self.flows[index]) else { return };
        let Some(packet) = flow.queue.pop() else { return };
        flow.control.on_overflow(&self.law, now);
        self.packets -= 1;
        self.bytes -= packet.size;
        verdicts.drop(packet, Reason::Overlimit);
    }

    /// The flow to look at next; once per packet a decaying one comes first.
    fn next_flow(&self, is_first: bool) -> Option<usize> {
        let decaying = || self.lists.first(List::Decaying);
        let busy = || self.lists.first(List::New).or_else(|| self.lists.first(List::Old));
        decaying().filter(|_| is_first).or_else(busy).or_else(decaying)
    }

    /// A flow has sent its quantum: it waits among the old ones.
    fn end_turn(&mut self, index: usize) {
        if self.flows[index].set == Set::Sparse {
            let set = if self.flows[index].queue.is_empty() { Set::SparseWait } else { Set::Bulk };
            self.become_set(index, set);
        }
        self.flows[index].deficit += self.turn();
        self.move_to(index, List::Old);
    }

    /// A flow whose turn it is has nothing to send.
    fn rest(&mut self, index: usize, now: Instant) {
        let flow = &mut self.flows[index];
        flow.control.on_empty(&self.law, now);
        if flow.control.is_at_rest(now) {
            self.lists.remove(flow.list, index);
            self.become_set(index, Set::None);
        } else {
            self.move_to(index, List::Decaying);
            self.become_set(index, Set::Decaying);
        }
    }

    /// The next packet of a queue that its control lets pass; the last one may be marked and is never dropped.
    fn draw(&mut self, index: usize, now: Instant, verdicts: &mut Verdicts<P>) -> Option<Box<Packet<P>>> {
        let Flow { queue, control, .. } = &mut self.flows[index];
        loop {
            let mut packet = queue.pop()?;
            self.packets -= 1;
            self.bytes -= packet.size;
            match control.judge(&self.law, &mut packet, now, &mut self.random, verdicts) {
                Some(reason) if !queue.is_empty() => verdicts.drop(packet, reason),
                _ => return Some(packet),
            }
        }
    }
}

impl<P: Send> Queue<P> for Cake<P> {
    fn enqueue(&mut self, packet: Box<Packet<P>>, now: Instant, verdicts: &mut Verdicts<P>) {
        let index = self.classify(&packet);
        self.packets += 1;
        self.bytes += packet.size;
        self.flows[index].queue.push(packet);
        self.wake(index);
        while memory_of(self.packets, self.bytes) > self.memory_limit && self.packets > 0 {
            self.drop_from_longest(now, verdicts);
        }
    }

    fn dequeue(&mut self, now: Instant, verdicts: &mut Verdicts<P>) -> Option<Box<Packet<P>>> {
        let mut is_first = true;
        while self.packets > 0 {
            let index = self.next_flow(is_first)?;
            is_first = false;
            if self.flows[index].deficit <= 0 {
                self.end_turn(index);
                continue;
            }
            if let Some(packet) = self.draw(index, now, verdicts) {
                self.flows[index].deficit -= packet.size.count() as i64;
                return Some(packet);
            }
            self.rest(index, now);
        }
        None
    }

    fn packets(&self) -> usize {
        self.packets
    }

    fn bytes(&self) -> Bytes {
        self.bytes
    }
}

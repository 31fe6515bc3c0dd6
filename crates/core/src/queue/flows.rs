//! Flows that take turns, each a queue under a control of its own: what FQ-CoDel and FQ-PIE have in common.
//!
//! **Source.** RFC 8290, section 4; Linux `net/sched/sch_fq_codel.c` and `sch_fq_pie.c`.

use super::bounds::within;
use super::deficit_round_robin::DeficitRoundRobin;
use super::hash::FlowHash;
use super::packet_queue::PacketQueue;
use super::setup::QueueSetup;
use crate::info::Parameter;
use crate::packet::Packet;
use crate::problem::Problem;
use crate::units::Bytes;

pub(super) const LIMIT: Parameter =
    Parameter::quantity("limit", "10240pkt", "packets", "the most packets that wait, in all queues");
pub(super) const FLOWS: Parameter =
    Parameter::number("flows", [1_024.0, 1.0, 65_536.0], "", "the queues that flows are hashed to");
pub(super) const QUANTUM: Parameter =
    Parameter::quantity("quantum", "largest packet + 14B", "size", "what a queue may send in its turn");

/// What Linux `fq_codel_change` makes of less, and the most that it takes.
pub(super) const LEAST_QUANTUM: u64 = 256;
pub(super) const LARGEST_QUANTUM: u64 = 1 << 20;

pub(super) fn default_limit() -> u64 {
    10_240
}

pub(super) fn default_flows() -> u64 {
    1_024
}

/// Checks what all queues of such flows have.
pub(super) fn check(flows: u64, quantum_bytes: Option<u64>) -> Result<(), Problem> {
    within("flows", flows, &(1..=65_536), "")?;
    within("quantum", quantum_bytes.unwrap_or(LEAST_QUANTUM), &(LEAST_QUANTUM..=LARGEST_QUANTUM), "B")
}

/// A queue and its control.
#[derive(Debug)]
pub(super) struct Flow<P, C> {
    pub(super) queue: PacketQueue<P>,
    pub(super) control: C,
}

/// All queues, whose turn it is, and what waits in them together.
#[derive(Debug)]
pub(super) struct Flows<P, C> {
    hash: FlowHash,
    all: Vec<Flow<P, C>>,
    round_robin: DeficitRoundRobin,
    packets: usize,
    bytes: Bytes,
}

impl<P, C: Clone> Flows<P, C> {
    /// Empty queues, each under a copy of `control`; without a quantum, the largest packet is it.
    pub(super) fn new(flows: u64, quantum_bytes: Option<u64>, control: &C, setup: &QueueSetup<'_>) -> Self {
        let flows = flows as usize;
        let empty = || Flow { queue: PacketQueue::default(), control: control.clone() };
        let quantum = quantum_bytes.unwrap_or_else(|| setup.mtu().count().clamp(LEAST_QUANTUM, LARGEST_QUANTUM));
        Self {
            hash: FlowHash::new(setup),
            all: std::iter::repeat_with(empty).take(flows).collect(),
            round_robin: DeficitRoundRobin::new(flows, Bytes::new(quantum)),
            packets: 0,
            bytes: Bytes::ZERO,
        }
    }
}

impl<P, C> Flows<P, C> {
    pub(super) fn packets(&self) -> usize {
        self.packets
    }

    pub(super) fn bytes(&self) -> Bytes {
        self.bytes
    }

    /// The flow that a packet belongs to.
    pub(super) fn index_of(&self, packet: &Packet<P>) -> usize {
        self.hash.slot(packet, self.all.len())
    }

    pub(super) fn flow(&mut self, index: usize) -> &mut Flow<P, C> {
        &mut self.all[index]
    }

    /// Lets a packet wait in the queue of this flow.
    pub(super) fn push(&mut self, index: usize, packet: Box<Packet<P>>) {
        self.packets += 1;
        self.bytes += packet.size;
        self.all[index].queue.push(packet);
        self.round_robin.arrive(index);
    }

    /// What the flow whose turn it is sends: what `draw` takes from its queue, told how many bytes wait in the others.
    /// It may take more than it returns.
    pub(super) fn take_turns<D>(&mut self, mut draw: D) -> Option<Box<Packet<P>>>
    where
        D: FnMut(&mut Flow<P, C>, Bytes) -> Option<Box<Packet<P>>>,
    {
        while let Some(index) = self.round_robin.next() {
            let others = self.bytes - self.all[index].queue.bytes();
            let packet = self.draw_from(index, |flow| draw(flow, others));
            if let Some(packet) = packet {
                self.round_robin.sent(index, packet.size);
                return Some(packet);
            }
            self.round_robin.found_empty(index);
        }
        None
    }

    /// Lets `draw` take packets from the longest queue; of several, the first. Looks through all queues.
    pub(super) fn draw_from_longest(&mut self, draw: impl FnOnce(&mut Flow<P, C>)) {
        let longest = (0..self.all.len()).rev().max_by_key(|index| self.all[*index].queue.bytes());
        if let Some(index) = longest {
            self.draw_from(index, draw);
        }
    }

    fn draw_from<T>(&mut self, index: usize, draw: impl FnOnce(&mut Flow<P, C>) -> T) -> T {
        let flow = &mut self.all[index];
        let (packets, bytes) = (flow.queue.packets(), flow.queue.bytes());
        let drawn = draw(flow);
        self.packets -= packets - flow.queue.packets();
        self.bytes -= bytes - flow.queue.bytes();
        drawn
    }
}

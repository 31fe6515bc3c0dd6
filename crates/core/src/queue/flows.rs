//! Flows that take turns, each a line under a control of its own: what FQ-CoDel and FQ-PIE have in common.
//!
//! **Source.** RFC 8290, section 4; Linux `net/sched/sch_fq_codel.c` and `sch_fq_pie.c`.

use super::hash::FlowHash;
use super::line::Line;
use super::place::{Place, Problem, within};
use super::rounds::Rounds;
use crate::info::Parameter;
use crate::packet::Packet;
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

/// A line and its control.
#[derive(Debug)]
pub(super) struct Flow<P, C> {
    pub(super) line: Line<P>,
    pub(super) control: C,
}

/// All lines, whose turn it is, and what waits in them together.
#[derive(Debug)]
pub(super) struct Flows<P, C> {
    hash: FlowHash,
    all: Vec<Flow<P, C>>,
    rounds: Rounds,
    packets: usize,
    bytes: Bytes,
}

impl<P, C: Clone> Flows<P, C> {
    /// Empty lines, each under a copy of `control`; without a quantum, the largest packet is it.
    pub(super) fn new(flows: u64, quantum_bytes: Option<u64>, control: &C, place: &Place<'_>) -> Self {
        let flows = flows as usize;
        let empty = || Flow { line: Line::default(), control: control.clone() };
        let quantum = quantum_bytes.unwrap_or_else(|| place.mtu().count().clamp(LEAST_QUANTUM, LARGEST_QUANTUM));
        Self {
            hash: FlowHash::new(place),
            all: std::iter::repeat_with(empty).take(flows).collect(),
            rounds: Rounds::new(flows, Bytes::new(quantum)),
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

    /// Lets a packet wait in the line of this flow.
    pub(super) fn push(&mut self, index: usize, packet: Box<Packet<P>>) {
        self.packets += 1;
        self.bytes += packet.size;
        self.all[index].line.push(packet);
        self.rounds.arrive(index);
    }

    /// What the flow whose turn it is sends: what `draw` takes from its line, told how many bytes wait in the others. It may
    /// take more than it returns.
    pub(super) fn take_turns<D>(&mut self, mut draw: D) -> Option<Box<Packet<P>>>
    where
        D: FnMut(&mut Flow<P, C>, Bytes) -> Option<Box<Packet<P>>>,
    {
        while let Some(index) = self.rounds.next() {
            let others = self.bytes - self.all[index].line.bytes();
            let packet = self.draw_from(index, |flow| draw(flow, others));
            if let Some(packet) = packet {
                self.rounds.sent(index, packet.size);
                return Some(packet);
            }
            self.rounds.found_empty(index);
        }
        None
    }

    /// Lets `draw` take packets from the longest line; of several, the first. Looks through all lines.
    pub(super) fn draw_from_longest(&mut self, draw: impl FnOnce(&mut Flow<P, C>)) {
        let longest = (0..self.all.len()).rev().max_by_key(|index| self.all[*index].line.bytes());
        if let Some(index) = longest {
            self.draw_from(index, draw);
        }
    }

    fn draw_from<T>(&mut self, index: usize, draw: impl FnOnce(&mut Flow<P, C>) -> T) -> T {
        let flow = &mut self.all[index];
        let (packets, bytes) = (flow.line.packets(), flow.line.bytes());
        let drawn = draw(flow);
        self.packets -= packets - flow.line.packets();
        self.bytes -= bytes - flow.line.bytes();
        drawn
    }
}

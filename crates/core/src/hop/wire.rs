//! The wire: propagation delay, jitter, loss, duplication and reordering.

use std::collections::VecDeque;

use super::generator::{Generator, wire_probability, wire_seed};
use super::loss::Loss;
use super::reorder::{Move, Reorder};
use super::{Count, HopConfig};
use crate::packet::Packet;
use crate::queue::{Drops, Reason};
use crate::random::RandomStream;
use crate::units::{Duration, Instant};

/// A packet that propagates.
#[derive(Debug)]
struct Travelling<P> {
    due: Instant,
    packet: Packet<P>,
    /// So many packets are to pass it before it goes on.
    passes: u64,
}

/// What happens to packets on the wire beside time (netem's `loss`, `duplicate` and `reorder`), from one generator.
#[derive(Debug)]
struct Impairments {
    generator: Generator,
    duplicate: u32,
    loss: Loss,
    reorder: Option<Reorder>,
}

impl Impairments {
    fn of(config: &HopConfig, seed: u64, name: &str) -> Option<Box<Self>> {
        let has_any = !config.loss.is_none() || config.duplicate > 0.0 || config.reorder.is_some();
        has_any.then(|| {
            Box::new(Self {
                generator: Generator::new(wire_seed(seed, name)),
                duplicate: wire_probability(config.duplicate),
                loss: Loss::new(&config.loss),
                reorder: config.reorder.as_ref().map(Reorder::new),
            })
        })
    }

    fn loses(&mut self) -> bool {
        self.loss.next(&mut self.generator)
    }

    fn moves(&mut self) -> Option<Move> {
        let Self { generator, reorder, .. } = self;
        reorder.as_mut()?.next(generator)
    }
}

/// Packets that propagate, in the order in which they arrive.
#[derive(Debug)]
pub struct Wire<P> {
    delay: Duration,
    impairments: Option<Box<Impairments>>,
    jitter: Option<(Duration, RandomStream)>,
    propagating: VecDeque<Travelling<P>>,
    last_delivery: Instant,
    bytes: u64,
    /// Packets that wait for others to pass them.
    held: usize,
}

impl<P> Wire<P> {
    /// An empty wire of the hop called `name`.
    pub fn new(config: &HopConfig, seed: u64, name: &str) -> Self {
        let jitter = Duration::from_nanos(config.jitter_ns);
        Self {
            delay: Duration::from_nanos(config.delay_ns),
            impairments: Impairments::of(config, seed, name),
            jitter: (!jitter.is_zero()).then(|| (jitter, RandomStream::new(seed, &format!("{name}.jitter")))),
            propagating: VecDeque::new(),
            last_delivery: Instant::ZERO,
            bytes: 0,
            held: 0,
        }
    }

    /// The oldest packet, if it has arrived by `now`.
    pub fn pop(&mut self, now: Instant) -> Option<Packet<P>> {
        if self.next_delivery()? > now {
            return None;
        }
        let Travelling { packet, passes, .. } = self.propagating.pop_front()?;
        self.held -= usize::from(passes > 0);
        self.bytes -= packet.size.count();
        Some(packet)
    }

    /// When the first packet arrives.
    pub fn next_delivery(&self) -> Option<Instant> {
        self.propagating.front().map(|travelling| travelling.due)
    }

    /// Whether a packet that is still to be sent may arrive before one that propagates.
    pub fn may_overtake(&self) -> bool {
        self.impairments.as_ref().is_some_and(|impairments| impairments.reorder.is_some())
    }

    /// What propagates now.
    pub fn inside(&self) -> Count {
        Count { packets: self.propagating.len() as u64, bytes: self.bytes }
    }

    /// Puts a packet on the wire that keeps its place or changes it.
    fn place(&mut self, packet: Packet<P>, sent: Instant, change: Option<Move>) {
        self.bytes += packet.size.count();
        let mut due = sent + self.delay;
        if let Some((mean, stream)) = &mut self.jitter {
            due = (due + stream.exponential(*mean)).max(self.last_delivery);
        }
        match change {
            None => {
                self.last_delivery = due;
                self.insert(Travelling { due, packet, passes: 0 });
                self.let_pass(due);
            }
            Some(Move::Ahead) => self.insert(Travelling { due: sent, packet, passes: 0 }),
            Some(Move::Late(by)) => self.insert(Travelling { due: due + by, packet, passes: 0 }),
            Some(Move::Behind(passes, within)) => {
                self.held += 1;
                self.insert(Travelling { due: due + within, packet, passes });
            }
        }
    }

    /// Behind all that arrive no later.
    fn insert(&mut self, travelling: Travelling<P>) {
        if self.propagating.back().is_none_or(|last| last.due <= travelling.due) {
            self.propagating.push_back(travelling);
        } else {
            let place = self.propagating.partition_point(|other| other.due <= travelling.due);
            self.propagating.insert(place, travelling);
        }
    }

    /// A packet that arrives at `due` passes those that wait for it; the one that has waited long enough comes behind it.
    fn let_pass(&mut self, due: Instant) {
        let mut index = 0;
        while self.held > 0 && index < self.propagating.len() {
            let travelling = &mut self.propagating[index];
            let is_last = travelling.passes == 1 && travelling.due > due;
            travelling.passes = travelling.passes.saturating_sub(u64::from(travelling.due > due));
            if is_last && let Some(travelling) = self.propagating.remove(index) {
                self.held -= 1;
                self.insert(Travelling { due, ..travelling });
            }
            index += 1;
        }
    }
}

impl<P: Clone> Wire<P> {
    /// Puts a packet whose last bit leaves the link at `sent` on the wire, or loses it. The order of decisions is netem's,
    /// which puts a copy through all but the duplication, before the original.
    pub fn push(&mut self, packet: Packet<P>, sent: Instant, drops: &mut Drops<P>) {
        let Some(impairments) = &mut self.impairments else { return self.place(packet, sent, None) };
        let is_doubled = impairments.generator.happens(impairments.duplicate);
        let is_lost = impairments.loses();
        if is_doubled {
            drops.note_duplicate(&packet);
            let is_copy_lost = is_lost || impairments.loses();
            let copy = packet.clone();
            if is_copy_lost {
                drops.push(copy, Reason::Loss);
            } else {
                let change = impairments.moves();
                self.place(copy, sent, change);
            }
        } else if is_lost {
            drops.push(packet, Reason::Loss);
            return;
        }
        let change = self.impairments.as_mut().and_then(|impairments| impairments.moves());
        self.place(packet, sent, change);
    }
}

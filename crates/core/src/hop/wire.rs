//! The wire: propagation delay, jitter, slots, loss, duplication and reordering.

use std::collections::VecDeque;
use std::hint::cold_path;

use super::generator::{Generator, wire_probability, wire_seed};
use super::loss::Loss;
use super::reorder::{Move, Reorder};
use super::slots::Slots;
use super::{Count, HopConfig};
use crate::packet::Packet;
use crate::queue::{Reason, Verdicts};
use crate::random::RandomStream;
use crate::units::{Duration, Instant};

/// A packet that waits for others to pass it.
#[derive(Debug)]
struct Held<P> {
    /// It goes on then at the latest.
    due: Instant,
    packet: Box<Packet<P>>,
    /// So many are still to pass it.
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
    slots: Option<Box<Slots>>,
    propagating: VecDeque<(Instant, Box<Packet<P>>)>,
    held: Vec<Held<P>>,
    last_delivery: Instant,
    bytes: u64,
}

impl<P> Wire<P> {
    /// An empty wire of the hop called `name`.
    pub fn new(config: &HopConfig, seed: u64, name: &str) -> Self {
        Self {
            delay: config.delay,
            impairments: Impairments::of(config, seed, name),
            jitter: (!config.jitter.is_zero())
                .then(|| (config.jitter, RandomStream::new(seed, &format!("{name}.jitter")))),
            slots: config.slots.map(|slots| Box::new(Slots::new(slots, seed, name))),
            propagating: VecDeque::new(),
            held: Vec::new(),
            last_delivery: Instant::ZERO,
            bytes: 0,
        }
    }

    /// The first packet, if it has arrived by `now`.
    pub fn pop(&mut self, now: Instant) -> Option<Box<Packet<P>>> {
        if self.next_delivery()? > now {
            return None;
        }
        if !self.held.is_empty() {
            cold_path();
            self.release(now);
        }
        let (_, packet) = self.propagating.pop_front()?;
        self.bytes -= packet.size.count();
        Some(packet)
    }

    /// When the first packet arrives.
    pub fn next_delivery(&self) -> Option<Instant> {
        let first = self.propagating.front().map(|(due, _)| *due);
        if self.held.is_empty() { first } else { self.next_of_held(first) }
    }

    #[cold]
    fn next_of_held(&self, first: Option<Instant>) -> Option<Instant> {
        self.held.iter().map(|held| held.due).chain(first).min()
    }

    /// Whether a packet that is still to be sent may arrive before one that propagates.
    pub fn may_overtake(&self) -> bool {
        self.impairments.as_ref().is_some_and(|impairments| impairments.reorder.is_some())
    }

    /// What propagates now.
    pub fn inside(&self) -> Count {
        Count { packets: (self.propagating.len() + self.held.len()) as u64, bytes: self.bytes }
    }

    /// The packets that propagate now.
    pub fn packets(&self) -> impl Iterator<Item = &Packet<P>> {
        let held = self.held.iter().map(|held| &*held.packet);
        self.propagating.iter().map(|(_, packet)| &**packet).chain(held)
    }

    /// When a packet arrives that leaves the link at `sent`.
    #[inline]
    fn due(&mut self, sent: Instant) -> Instant {
        let due = sent + self.delay;
        if self.slots.is_none() && self.jitter.is_none() {
            return due;
        }
        self.due_irregular(sent, due)
    }

    #[inline(never)]
    fn due_irregular(&mut self, sent: Instant, due: Instant) -> Instant {
        if let Some(slots) = &mut self.slots {
            return slots.departure(sent, due);
        }
        let Some((mean, stream)) = &mut self.jitter else { return due };
        self.last_delivery = (due + stream.exponential(*mean)).max(self.last_delivery);
        self.last_delivery
    }

    /// Puts a packet on the wire that keeps its place or changes it.
    fn place(&mut self, packet: Box<Packet<P>>, sent: Instant, change: Option<Move>) {
        self.bytes += packet.size.count();
        // Netem draws no delay for what skips it.
        if matches!(change, Some(Move::Ahead)) {
            return self.insert(sent, packet);
        }
        let due = self.due(sent);
        match change {
            Some(Move::Late(by)) => self.insert(due + by, packet),
            Some(Move::Behind(passes, within)) => self.held.push(Held { due: due + within, packet, passes }),
            Some(Move::Ahead) | None => {
                self.insert(due, packet);
                self.let_pass(due);
            }
        }
    }

    /// Behind all that arrive no later.
    fn insert(&mut self, due: Instant, packet: Box<Packet<P>>) {
        if self.propagating.back().is_none_or(|(last, _)| *last <= due) {
            self.propagating.push_back((due, packet));
        } else {
            let place = self.propagating.partition_point(|(other, _)| *other <= due);
            self.propagating.insert(place, (due, packet));
        }
    }

    /// A packet that arrives at `due` passes those that wait for it; those that have waited for enough come behind it.
    fn let_pass(&mut self, due: Instant) {
        let mut index = 0;
        while let Some(held) = self.held.get_mut(index) {
            held.passes -= u64::from(held.due > due);
            if held.passes == 0 {
                let Held { packet, .. } = self.held.remove(index);
                self.insert(due, packet);
            } else {
                index += 1;
            }
        }
    }

    /// The packets go on that have waited for others until their time was over.
    fn release(&mut self, now: Instant) {
        for Held { due, packet, .. } in self.held.extract_if(.., |held| held.due <= now).collect::<Vec<_>>() {
            self.insert(due, packet);
        }
    }
}

impl<P: Clone> Wire<P> {
    /// Puts a packet whose last bit leaves the link at `sent` on the wire, or loses it.
    #[inline]
    pub fn push(&mut self, packet: Box<Packet<P>>, sent: Instant, verdicts: &mut Verdicts<P>) {
        if self.impairments.is_some() {
            return self.push_impaired(packet, sent, verdicts);
        }
        self.bytes += packet.size.count();
        let due = self.due(sent);
        self.propagating.push_back((due, packet));
    }

    /// The order of decisions is netem's, which puts a copy through all but the duplication, before the original.
    #[inline(never)]
    fn push_impaired(&mut self, packet: Box<Packet<P>>, sent: Instant, verdicts: &mut Verdicts<P>) {
        let Some(impairments) = &mut self.impairments else { return };
        let is_doubled = impairments.generator.happens(impairments.duplicate);
        let is_lost = impairments.loses();
        if is_doubled {
            verdicts.note_duplicate(&packet);
            let is_copy_lost = is_lost || impairments.loses();
            let mut copy = packet.clone();
            copy.is_copy = true;
            if is_copy_lost {
                verdicts.drop(copy, Reason::Loss);
            } else {
                let change = impairments.moves();
                self.place(copy, sent, change);
            }
        } else if is_lost {
            verdicts.drop(packet, Reason::Loss);
            return;
        }
        let change = self.impairments.as_mut().and_then(|impairments| impairments.moves());
        self.place(packet, sent, change);
    }
}

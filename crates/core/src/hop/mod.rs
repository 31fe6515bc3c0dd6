//! A hop: a door, a queue, a link that serves it, and the wire behind the link.
//!
//! At the door rules may change a packet's DS field and a policer may drop it. It waits in the queue, is sent by the
//! link, may be lost, duplicated or reordered on the wire, and comes out after the propagation delay. Behind the wire a
//! tunnel may drop what is late. Queue and wire are two things: a packet that propagates takes no room in the buffer.
//! Packets in flight sit in the hop's own ring, in order, so that a world needs one timer per hop and not one per
//! packet.

mod bucket;
mod fluid;
mod generator;
mod link;
mod loss;
mod mangle;
mod opportunities;
mod policer;
mod reorder;
mod replay;
mod service;
mod slots;
mod token_bucket;
mod wire;

use serde::Deserialize;

pub use fluid::Step;
pub use generator::{wire_probability, wire_seed};
pub use link::{Link, LinkConfig};
pub use loss::{GilbertElliott, LossConfig};
pub use mangle::{Field, MangleConfig};
pub use policer::PolicerConfig;
pub use reorder::{Change, ReorderConfig};
pub use slots::SlotsConfig;
pub use wire::Wire;

use self::loss::check_probability;
use self::mangle::mangle;
use self::policer::Policer;
use self::replay::Replay;
use crate::packet::Packet;
use crate::problem::Problem;
use crate::queue::{FifoConfig, Queue, QueueConfig, QueueSetup, Reason, Verdicts};
use crate::units::{Bytes, Duration, Instant, earlier};

/// A hop as an experiment describes it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HopConfig {
    /// How fast packets are sent.
    pub link: LinkConfig,
    /// Where packets wait for the link; without effect on an unlimited link.
    pub queue: QueueConfig,
    /// Propagation delay.
    #[serde(rename = "delay_ns")]
    pub delay: Duration,
    /// How the wire loses packets.
    #[serde(default)]
    pub loss: LossConfig,
    /// Mean of an exponentially distributed extra delay per packet; packets never overtake each other.
    #[serde(rename = "jitter_ns", default)]
    pub jitter: Duration,
    /// When packets may leave the wire together.
    #[serde(default)]
    pub slots: Option<SlotsConfig>,
    /// Probability that the wire makes two packets of one.
    #[serde(default)]
    pub duplicate: f64,
    /// Which packets overtake others or fall behind.
    #[serde(default)]
    pub reorder: Option<ReorderConfig>,
    /// Behind the wire: a packet is dropped that lies so many behind the newest that has come out.
    #[serde(default)]
    pub replay_window: Option<u32>,
    /// What may pass the door.
    #[serde(default)]
    pub policer: Option<PolicerConfig>,
    /// Rules at the door, before the policer.
    #[serde(default)]
    pub mangle: Vec<MangleConfig>,
}

impl HopConfig {
    /// A hop that only delays.
    pub fn delay(delay: Duration) -> Self {
        Self {
            link: LinkConfig::Unlimited,
            queue: QueueConfig::Fifo(FifoConfig::default()),
            delay,
            loss: LossConfig::default(),
            jitter: Duration::ZERO,
            slots: None,
            duplicate: 0.0,
            reorder: None,
            replay_window: None,
            policer: None,
            mangle: Vec::new(),
        }
    }

    /// Checks all but the queue, for packets up to this size; else says what is wrong, and what would be right.
    pub fn check(&self, largest: Bytes) -> Result<(), Problem> {
        self.link.check(largest)?;
        self.loss.check()?;
        check_probability("duplicate", self.duplicate)?;
        self.reorder.map_or(Ok(()), |reorder| reorder.check(self.delay))?;
        self.slots.map_or(Ok(()), |slots| slots.check(self.delay))?;
        if self.slots.is_some() && (!self.jitter.is_zero() || self.reorder.is_some()) {
            return Err(Problem::new(
                "slots keep the order of packets and give them their times; leave jitter and reorder out",
            ));
        }
        if self.replay_window == Some(0) {
            return Err(Problem::new("replay_window 0 lets nothing pass; give 1 packet or more, or leave it out"));
        }
        self.policer.map_or(Ok(()), |policer| policer.check(largest))?;
        self.mangle.iter().copied().try_for_each(MangleConfig::check)
    }
}

/// What a hop is told when a run starts.
#[derive(Clone, Copy, Debug)]
pub struct HopSetup<'a> {
    /// The largest IP packet that comes by.
    pub largest_packet: Bytes,
    /// Probes are numbered from here; rules leave them alone.
    pub flows: usize,
    /// Seed of the run; together with the name it fixes all random numbers.
    pub seed: u64,
    /// Name of the hop.
    pub name: &'a str,
}

/// Packets and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Number of packets.
    pub packets: u64,
    /// Their size together.
    pub bytes: u64,
}

impl Count {
    /// Counts one more packet of this size.
    pub fn add(&mut self, size: Bytes) {
        self.packets += 1;
        self.bytes += size.count();
    }
}

/// What packets pass before the queue.
struct Door {
    mangle: Vec<MangleConfig>,
    /// Packets of so many flows pass the rules; those of probes, which are numbered behind, do not.
    flows: usize,
    policer: Option<Policer>,
}

impl Door {
    fn of(config: &HopConfig, flows: usize) -> Option<Box<Self>> {
        let is_open = config.mangle.is_empty() && config.policer.is_none();
        let policer = config.policer.as_ref().map(Policer::new);
        (!is_open).then(|| Box::new(Self { mangle: config.mangle.clone(), flows, policer }))
    }

    fn admits<P>(&mut self, packet: &mut Packet<P>, now: Instant, verdicts: &mut Verdicts<P>) -> bool {
        if (packet.flow.0 as usize) < self.flows {
            mangle(&self.mangle, packet, verdicts);
        }
        self.policer.as_mut().is_none_or(|policer| policer.admits(packet.size, now))
    }
}

/// A door, a queue, its link and the wire behind it.
pub struct Hop<P> {
    door: Option<Box<Door>>,
    queue: Box<dyn Queue<P>>,
    link: Link<P>,
    wire: Wire<P>,
    replay: Option<Box<Replay>>,
    /// Packets that came in.
    pub accepted: Count,
    /// Packets that came out at the far end.
    pub delivered: Count,
}

impl<P: Clone + Send + 'static> Hop<P> {
    /// Builds a hop, or says what is wrong with its queue.
    pub fn new(config: &HopConfig, setup: &HopSetup<'_>) -> Result<Self, Problem> {
        let HopSetup { largest_packet, flows, seed, name } = *setup;
        Ok(Self {
            door: Door::of(config, flows),
            queue: config.queue.build(&QueueSetup {
                mean_rate: config.link.mean_rate(),
                largest_packet,
                seed,
                hop: name,
            })?,
            link: Link::new(&config.link, largest_packet, seed, &format!("{name}.link")),
            wire: Wire::new(config, seed, name),
            replay: config.replay_window.map(|window| Box::new(Replay::new(window))),
            accepted: Count::default(),
            delivered: Count::default(),
        })
    }

    /// Takes a packet that arrives at `now`.
    #[inline(always)]
    pub fn accept(&mut self, mut packet: Box<Packet<P>>, now: Instant, verdicts: &mut Verdicts<P>) {
        self.accepted.add(packet.size);
        packet.enter_hop(now);
        if let Some(replay) = &mut self.replay {
            replay.enter(&packet);
        }
        if self.door.as_mut().is_some_and(|door| !door.admits(&mut packet, now, verdicts)) {
            return verdicts.drop(packet, Reason::Police);
        }
        if matches!(self.link, Link::Unlimited) {
            self.wire.push(packet, now, verdicts);
            return;
        }
        self.link.serve(now, &mut *self.queue, &mut self.wire, verdicts);
        let known = verdicts.drops();
        self.queue.enqueue(packet, now, verdicts);
        verdicts.leave_queue(known, now);
        self.link.start_if_idle(now, &mut *self.queue, &mut self.wire, verdicts);
    }

    /// A packet that has come out at the far end by `now`; call until there is none.
    pub fn poll(&mut self, now: Instant, verdicts: &mut Verdicts<P>) -> Option<Box<Packet<P>>> {
        loop {
            match self.wire.next_delivery() {
                Some(due) if due <= now => {}
                Some(_) if !self.wire.may_overtake() => return None,
                _ => self.link.serve(now, &mut *self.queue, &mut self.wire, verdicts),
            }
            let packet = self.wire.pop(now)?;
            if self.replay.as_mut().is_none_or(|replay| replay.admits(&packet)) {
                self.delivered.add(packet.size);
                return Some(packet);
            }
            verdicts.drop(packet, Reason::Replay);
        }
    }

    /// When [`Hop::poll`] may next have something to say.
    #[inline(always)]
    pub fn next_wakeup(&self) -> Option<Instant> {
        // Unless the wire reorders, a packet still to be sent comes out after everything on it, so that the wire alone
        // decides while it is not empty.
        let delivery = self.wire.next_delivery();
        if delivery.is_some() && !self.wire.may_overtake() {
            return delivery;
        }
        earlier(delivery, self.link.next_service(self.queue.packets() > 0))
    }

    /// Packets and bytes waiting in the queue at `now`.
    pub fn backlog(&mut self, now: Instant, verdicts: &mut Verdicts<P>) -> Count {
        self.link.serve(now, &mut *self.queue, &mut self.wire, verdicts);
        Count { packets: self.queue.packets() as u64, bytes: self.queue.bytes().count() }
    }

    /// Packets that are neither out nor dropped: waiting, being sent or propagating.
    pub fn inside(&self) -> Count {
        let mut inside = self.wire.inside();
        inside.packets += self.queue.packets() as u64;
        inside.bytes += self.queue.bytes().count();
        if let Some(size) = self.link.in_service() {
            inside.add(size);
        }
        inside
    }

    /// Packets inside that have left the queue: being sent, or propagating.
    pub fn on_wire(&self) -> impl Iterator<Item = &Packet<P>> {
        self.link.being_sent().into_iter().chain(self.wire.packets())
    }

    /// What the link can carry from `from` to `to`; `None` if it is unlimited.
    pub fn capacity(&mut self, from: Instant, to: Instant) -> Option<Bytes> {
        self.link.capacity(from, to)
    }
}

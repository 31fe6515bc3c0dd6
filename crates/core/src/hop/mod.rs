//! A hop: a queue, a link that serves it, and the wire behind the link.
//!
//! A packet waits in the queue, is sent by the link, may be lost on the wire, and comes out after the propagation
//! delay. Queue and wire are two things: a packet that propagates takes no room in the buffer. Packets in flight sit in
//! the hop's own ring, in order, so that a world needs one timer per hop and not one per packet.

mod link;
mod loss;
mod opportunities;
mod wire;

use serde::Deserialize;

pub use link::{Link, LinkConfig, Step};
pub use loss::{loss_seed, loss_threshold};
pub use wire::Wire;

use crate::packet::Packet;
use crate::queue::{Drops, Place, Queue, QueueConfig};
use crate::units::{Bytes, Duration, Instant};

/// A hop as an experiment describes it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HopConfig {
    /// How fast packets are sent.
    pub link: LinkConfig,
    /// Where packets wait for the link; without effect on an unlimited link.
    pub queue: QueueConfig,
    /// Propagation delay.
    pub delay_ns: u64,
    /// Probability that the wire loses a packet, each on its own.
    #[serde(default)]
    pub loss: f64,
    /// Mean of an exponentially distributed extra delay per packet; packets never overtake each other.
    #[serde(default)]
    pub jitter_ns: u64,
}

/// What went through a hop. Always: in = out + dropped + inside.
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

/// A queue, its link and the wire behind it.
pub struct Hop<P> {
    queue: Box<dyn Queue<P>>,
    link: Link<P>,
    wire: Wire<P>,
    /// Packets that came in.
    pub accepted: Count,
    /// Packets that came out at the far end.
    pub delivered: Count,
}

impl<P: Send + 'static> Hop<P> {
    /// Builds the hop called `name`, which together with `seed` fixes its random numbers, for packets up to this size.
    pub fn new(config: &HopConfig, largest_packet: Bytes, seed: u64, name: &str) -> Self {
        let link = Link::new(&config.link, seed, &format!("{name}.link"));
        Self {
            queue: config.queue.build(&Place { mean_rate: link.mean_rate(), largest_packet, seed, hop: name }),
            link,
            wire: Wire::new(
                Duration::from_nanos(config.delay_ns),
                config.loss,
                Duration::from_nanos(config.jitter_ns),
                seed,
                name,
            ),
            accepted: Count::default(),
            delivered: Count::default(),
        }
    }

    /// Takes a packet that arrives at `now`.
    pub fn accept(&mut self, mut packet: Packet<P>, now: Instant, drops: &mut Drops<P>) {
        self.accepted.add(packet.size);
        packet.enqueued = now;
        if matches!(self.link, Link::Unlimited) {
            self.wire.push(packet, now, drops);
            return;
        }
        self.link.serve(now, &mut *self.queue, &mut self.wire, drops);
        self.queue.enqueue(packet, now, drops);
        self.link.start_if_idle(now, &mut *self.queue, &mut self.wire, drops);
    }

    /// A packet that has come out at the far end by `now`; call until there is none.
    pub fn poll(&mut self, now: Instant, drops: &mut Drops<P>) -> Option<Packet<P>> {
        if self.wire.next_delivery().is_none_or(|due| due > now) {
            self.link.serve(now, &mut *self.queue, &mut self.wire, drops);
        }
        let packet = self.wire.pop(now)?;
        self.delivered.add(packet.size);
        Some(packet)
    }

    /// When [`Hop::poll`] may next have something to say.
    pub fn next_wakeup(&self) -> Option<Instant> {
        // A packet still to be sent comes out after everything on the wire, so the wire alone decides while it is not
        // empty.
        self.wire.next_delivery().or_else(|| self.link.next_service(self.queue.packets() > 0))
    }

    /// Packets and bytes waiting in the queue at `now`.
    pub fn backlog(&mut self, now: Instant, drops: &mut Drops<P>) -> Count {
        self.link.serve(now, &mut *self.queue, &mut self.wire, drops);
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

    /// What the link can carry from `from` to `to`; `None` if it is unlimited.
    pub fn capacity(&mut self, from: Instant, to: Instant) -> Option<Bytes> {
        self.link.capacity(from, to)
    }
}

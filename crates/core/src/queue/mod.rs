//! Queueing disciplines: one file each, behind one small trait.

mod fifo;

use serde::Deserialize;

pub use fifo::{DropFrom, Fifo, FifoConfig};

use crate::info::Info;
use crate::packet::Packet;
use crate::units::{Bytes, Instant};

/// Why a packet was dropped or marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// The queue was full.
    Overlimit,
    /// Random loss on the wire, after the queue.
    Loss,
}

impl Reason {
    /// Every reason there is.
    pub const ALL: &[Self] = &[Self::Overlimit, Self::Loss];

    /// The word that stands in recordings.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Overlimit => "overlimit",
            Self::Loss => "loss",
        }
    }
}

/// Where a queue or a wire leaves the packets that it drops, each with the reason.
#[derive(Debug)]
pub struct Drops<P> {
    dropped: Vec<(Packet<P>, Reason)>,
}

impl<P> Default for Drops<P> {
    fn default() -> Self {
        Self { dropped: Vec::new() }
    }
}

impl<P> Drops<P> {
    /// Records that `packet` goes no further.
    pub fn push(&mut self, packet: Packet<P>, reason: Reason) {
        self.dropped.push((packet, reason));
    }

    /// True if nothing was dropped since the last [`Drops::drain`].
    pub fn is_empty(&self) -> bool {
        self.dropped.is_empty()
    }

    /// Hands over what was dropped, in order.
    pub fn drain(&mut self) -> impl Iterator<Item = (Packet<P>, Reason)> + '_ {
        self.dropped.drain(..)
    }
}

/// A queueing discipline. The link asks it for a packet whenever it is free to send one.
pub trait Queue<P>: Send {
    /// Takes a packet that arrives at `now`, or drops it or others to make room.
    fn enqueue(&mut self, packet: Packet<P>, now: Instant, drops: &mut Drops<P>);

    /// The packet to send next, if there is one; may drop others on the way.
    fn dequeue(&mut self, now: Instant, drops: &mut Drops<P>) -> Option<Packet<P>>;

    /// Packets waiting.
    fn packets(&self) -> usize;

    /// Bytes waiting.
    fn bytes(&self) -> Bytes;
}

/// A queueing discipline and its parameters, as an experiment states them.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum QueueConfig {
    /// First in, first out; see [`Fifo`].
    Fifo(FifoConfig),
}

impl QueueConfig {
    /// Builds the queue for payloads of type `P`, in front of a link with this mean rate.
    pub fn build<P: Send + 'static>(&self, mean_rate: Option<crate::units::Rate>) -> Box<dyn Queue<P>> {
        match self {
            Self::Fifo(config) => Box::new(Fifo::new(config, mean_rate)),
        }
    }
}

/// Every queueing discipline there is, for listings and documentation.
pub const QUEUES: &[Info] = &[fifo::INFO];

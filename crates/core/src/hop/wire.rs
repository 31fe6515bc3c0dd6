//! The wire: propagation delay, jitter and random loss.

use std::collections::VecDeque;

use super::Count;
use super::loss::{Loss, loss_seed};
use crate::packet::Packet;
use crate::queue::{Drops, Reason};
use crate::random::RandomStream;
use crate::units::{Duration, Instant};

/// Packets that propagate, oldest first.
#[derive(Debug)]
pub struct Wire<P> {
    delay: Duration,
    loss: Option<Loss>,
    jitter: Option<(Duration, RandomStream)>,
    propagating: VecDeque<(Instant, Packet<P>)>,
    last_delivery: Instant,
    bytes: u64,
}

impl<P> Wire<P> {
    /// An empty wire of the hop called `name`.
    pub fn new(delay: Duration, loss: f64, jitter: Duration, seed: u64, name: &str) -> Self {
        Self {
            delay,
            loss: (loss > 0.0).then(|| Loss::new(loss, loss_seed(seed, name))),
            jitter: (!jitter.is_zero()).then(|| (jitter, RandomStream::new(seed, &format!("{name}.jitter")))),
            propagating: VecDeque::new(),
            last_delivery: Instant::ZERO,
            bytes: 0,
        }
    }

    /// Puts a packet whose last bit leaves the link at `sent` on the wire, or loses it.
    pub fn push(&mut self, packet: Packet<P>, sent: Instant, drops: &mut Drops<P>) {
        if self.loss.as_mut().is_some_and(Loss::next) {
            drops.push(packet, Reason::Loss);
            return;
        }
        let mut due = sent + self.delay;
        if let Some((mean, stream)) = &mut self.jitter {
            due = (due + stream.exponential(*mean)).max(self.last_delivery);
        }
        self.last_delivery = due;
        self.bytes += packet.size.count();
        self.propagating.push_back((due, packet));
    }

    /// The oldest packet, if it has arrived by `now`.
    pub fn pop(&mut self, now: Instant) -> Option<Packet<P>> {
        if self.next_delivery()? > now {
            return None;
        }
        let (_, packet) = self.propagating.pop_front()?;
        self.bytes -= packet.size.count();
        Some(packet)
    }

    /// When the oldest packet arrives.
    pub fn next_delivery(&self) -> Option<Instant> {
        self.propagating.front().map(|(due, _)| *due)
    }

    /// What propagates now.
    pub fn inside(&self) -> Count {
        Count { packets: self.propagating.len() as u64, bytes: self.bytes }
    }
}

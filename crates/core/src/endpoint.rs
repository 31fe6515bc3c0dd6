//! The ends of a path.

use crate::packet::{Envelope, Packet};
use crate::packet_pool::PacketPool;
use crate::units::Instant;

/// A sender or a receiver: takes packets from the path and gives packets to it.
pub trait Endpoint<P> {
    /// A packet with this payload arrives at `now`.
    fn accept(&mut self, payload: &P, envelope: Envelope, now: Instant);

    /// More arrives at this instant than the next packet: the application waits until [`Endpoint::release_reader`] says
    /// that it is its turn. True if it is to be told so and was not before.
    fn hold_reader(&mut self) -> bool {
        false
    }

    /// All that arrives at `now` has; call [`Endpoint::poll`] then.
    fn release_reader(&mut self, _now: Instant) {}

    /// A packet to send at `now`, with a payload of the kind that the path carries; call until there is none, after
    /// every [`Endpoint::accept`] and at every wake-up, unless it [is silent](Endpoint::is_silent_before).
    fn poll<Q: From<P> + Default>(&mut self, now: Instant, pool: &mut PacketPool<Q>) -> Option<Box<Packet<Q>>>;

    /// When [`Endpoint::poll`] may next have something to say; `None` while only an arriving packet can change that.
    fn next_wakeup(&self) -> Option<Instant>;

    /// True if [`Endpoint::poll`] has nothing to say and nothing to do before `time` unless more arrives: whoever wakes
    /// the endpoint at `time` need not ask it until then. False is always right.
    fn is_silent_before(&self, _time: Instant) -> bool {
        false
    }
}

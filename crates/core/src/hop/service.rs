//! How links take packets out of their queue.

use crate::packet::Packet;
use crate::queue::{Queue, Verdicts};
use crate::units::Instant;

/// The packet that leaves a queue at `now` to be sent.
pub(super) fn take<P>(queue: &mut dyn Queue<P>, now: Instant, verdicts: &mut Verdicts<P>) -> Option<Box<Packet<P>>> {
    let mut packet = dequeue(queue, now, verdicts)?;
    packet.leave_queue(now);
    Some(packet)
}

/// The packet that a queue gives at `now`, whose wait may go on.
pub(super) fn dequeue<P>(queue: &mut dyn Queue<P>, now: Instant, verdicts: &mut Verdicts<P>) -> Option<Box<Packet<P>>> {
    let known = verdicts.drops();
    let taken = queue.dequeue(now, verdicts);
    verdicts.leave_queue(known, now);
    taken
}

//! Verdicts of queues and wires on packets: what they drop, mark and duplicate, each with the reason.

use std::hint::cold_path;

use crate::packet::{Ecn, FlowId, Packet};
use crate::reason::Reason;
use crate::units::{Bytes, Instant};

/// A second copy of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Duplicate {
    /// The flow of both.
    pub flow: FlowId,
    /// True for data and requests, false for acks and answers.
    pub is_data_direction: bool,
    /// Size of the copy.
    pub size: Bytes,
}

/// What was dropped, marked and duplicated since it was last cleared.
#[derive(Debug)]
pub struct Verdicts<P> {
    dropped: Vec<(Box<Packet<P>>, Reason)>,
    marked: Vec<(Bytes, Reason)>,
    duplicated: Vec<Duplicate>,
}

impl<P> Default for Verdicts<P> {
    fn default() -> Self {
        Self { dropped: Vec::new(), marked: Vec::new(), duplicated: Vec::new() }
    }
}

impl<P> Verdicts<P> {
    /// Drops `packet`: it goes no further.
    pub fn drop(&mut self, packet: Box<Packet<P>>, reason: Reason) {
        self.dropped.push((packet, reason));
    }

    /// Sets the packet's codepoint to CE; false if it is not ECN-capable (`INET_ECN_set_ce`).
    pub fn mark(&mut self, packet: &mut Packet<P>, reason: Reason) -> bool {
        match packet.ecn {
            Ecn::NotEct => return false,
            Ecn::Ce => {}
            Ecn::Ect0 | Ecn::Ect1 => {
                packet.ecn = Ecn::Ce;
                packet.marked = Some(reason);
                self.marked.push((packet.size, reason));
            }
        }
        true
    }

    /// Turns ECT(0) into ECT(1), which says "some congestion experienced"; leaves other codepoints alone, and says
    /// whether it did (`INET_ECN_set_ect1`).
    pub fn mark_sce(&mut self, packet: &mut Packet<P>) -> bool {
        let is_ect0 = packet.ecn == Ecn::Ect0;
        if is_ect0 {
            packet.ecn = Ecn::Ect1;
            packet.marked = Some(Reason::Sce);
            self.marked.push((packet.size, Reason::Sce));
        }
        is_ect0
    }

    /// Records that a packet which goes on has been changed.
    pub fn note_change(&mut self, packet: &Packet<P>, reason: Reason) {
        self.marked.push((packet.size, reason));
    }

    /// Records that there is a second copy of `packet` from now on.
    pub fn note_duplicate(&mut self, packet: &Packet<P>) {
        let Packet { flow, is_data_direction, size, .. } = *packet;
        self.duplicated.push(Duplicate { flow, is_data_direction, size });
    }

    /// Packets dropped since it was last cleared.
    pub fn drops(&self) -> usize {
        self.dropped.len()
    }

    /// Every packet behind the first `known` left its queue at `now`, to be dropped.
    pub fn leave_queue(&mut self, known: usize, now: Instant) {
        if self.dropped.len() == known {
            return;
        }
        cold_path();
        for (packet, _) in &mut self.dropped[known..] {
            packet.leave_queue(now);
        }
    }

    /// True if nothing was dropped, marked or duplicated since it was last cleared.
    pub fn is_empty(&self) -> bool {
        self.dropped.is_empty() && self.marked.is_empty() && self.duplicated.is_empty()
    }

    /// What was dropped, in order.
    pub fn dropped(&self) -> &[(Box<Packet<P>>, Reason)] {
        &self.dropped
    }

    /// The sizes of what was marked, in order.
    pub fn marked(&self) -> &[(Bytes, Reason)] {
        &self.marked
    }

    /// The copies that were made, in order.
    pub fn duplicated(&self) -> &[Duplicate] {
        &self.duplicated
    }

    /// Hands over what was dropped, in order.
    pub fn take_dropped(&mut self) -> impl Iterator<Item = (Box<Packet<P>>, Reason)> {
        self.dropped.drain(..)
    }

    /// Forgets what it has been told.
    pub fn clear(&mut self) {
        self.dropped.clear();
        self.marked.clear();
        self.duplicated.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::tests::packet_of;

    #[test]
    fn what_is_marked_says_why_and_what_has_a_mark_keeps_it() {
        let mut verdicts = Verdicts::<()>::default();
        let mut mark = |ecn, reason| {
            let mut packet = packet_of(0, 0, 1_000);
            packet.ecn = ecn;
            let is_marked =
                if reason == Reason::Sce { verdicts.mark_sce(&mut packet) } else { verdicts.mark(&mut packet, reason) };
            (is_marked, packet.ecn, packet.marked)
        };
        assert_eq!(mark(Ecn::NotEct, Reason::Congestion), (false, Ecn::NotEct, None));
        assert_eq!(mark(Ecn::Ce, Reason::Congestion), (true, Ecn::Ce, None));
        for ecn in [Ecn::Ect0, Ecn::Ect1] {
            assert_eq!(mark(ecn, Reason::Congestion), (true, Ecn::Ce, Some(Reason::Congestion)));
        }
        assert_eq!(mark(Ecn::Ect0, Reason::Sce), (true, Ecn::Ect1, Some(Reason::Sce)));
        assert_eq!(mark(Ecn::Ect1, Reason::Sce), (false, Ecn::Ect1, None));
    }
}

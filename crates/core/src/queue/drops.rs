//! Where queues and wires leave what they drop and mark, each with the reason.

use crate::packet::{Ecn, Packet};
use crate::units::{Bytes, Instant};

/// Why a packet was dropped or marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// The queue was full.
    Overlimit,
    /// Random loss on the wire, after the queue.
    Loss,
    /// The queue's law wanted less traffic.
    Congestion,
    /// A fixed threshold was passed.
    Threshold,
    /// BLUE, the part of COBALT that is for traffic without any control.
    Blue,
    /// Some congestion experienced: ECT(0) became ECT(1).
    Sce,
    /// A queueing discipline of the kernel, which does not say why.
    Qdisc,
}

impl Reason {
    /// Every reason there is, in the order of their declaration.
    pub const ALL: [Self; 1 + Self::Qdisc as usize] =
        [Self::Overlimit, Self::Loss, Self::Congestion, Self::Threshold, Self::Blue, Self::Sce, Self::Qdisc];

    /// The word that stands in recordings.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Overlimit => "overlimit",
            Self::Loss => "loss",
            Self::Congestion => "congestion",
            Self::Threshold => "threshold",
            Self::Blue => "blue",
            Self::Sce => "sce",
            Self::Qdisc => "qdisc",
        }
    }
}

/// What was dropped and marked since it was last asked for.
#[derive(Debug)]
pub struct Drops<P> {
    dropped: Vec<(Packet<P>, Reason)>,
    marked: Vec<(Bytes, Reason)>,
}

impl<P> Default for Drops<P> {
    fn default() -> Self {
        Self { dropped: Vec::new(), marked: Vec::new() }
    }
}

impl<P> Drops<P> {
    /// Records that `packet` goes no further.
    pub fn push(&mut self, packet: Packet<P>, reason: Reason) {
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

    /// Turns ECT(0) into ECT(1), which says "some congestion experienced"; leaves other codepoints alone.
    pub fn mark_sce(&mut self, packet: &mut Packet<P>) {
        if packet.ecn == Ecn::Ect0 {
            packet.ecn = Ecn::Ect1;
            packet.marked = Some(Reason::Sce);
            self.marked.push((packet.size, Reason::Sce));
        }
    }

    /// Packets dropped since it was last drained.
    pub fn len(&self) -> usize {
        self.dropped.len()
    }

    /// Every packet behind the first `known` left its queue at `now`, to be dropped.
    pub fn leave_queue(&mut self, known: usize, now: Instant) {
        for (packet, _) in &mut self.dropped[known..] {
            packet.leave_queue(now);
        }
    }

    /// True if nothing was dropped or marked since it was last drained.
    pub fn is_empty(&self) -> bool {
        self.dropped.is_empty() && self.marked.is_empty()
    }

    /// Hands over what was dropped, in order.
    pub fn drain(&mut self) -> impl Iterator<Item = (Packet<P>, Reason)> + '_ {
        self.dropped.drain(..)
    }

    /// Hands over the sizes of what was marked, in order.
    pub fn drain_marked(&mut self) -> impl Iterator<Item = (Bytes, Reason)> + '_ {
        self.marked.drain(..)
    }
}

//! The segments in flight and what is known of each.
//!
//! A ring indexed by sequence number makes every change O(1). A doubly linked list through the ring keeps the segments
//! that are neither delivered nor lost in order of their last transmission (Linux `tsorted_sent_queue`), so that RACK
//! looks only at what it may declare lost.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::hint::cold_path;

use super::rate_sampler::Snapshot;
use crate::units::{Bytes, Instant};

/// No neighbour in the list.
const NONE: u64 = u64::MAX;

/// A segment in flight.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outstanding {
    /// When it was last sent.
    pub(super) sent: Instant,
    /// The delivery counters at that time; `None` once the segment has served as a rate sample.
    pub(super) snapshot: Option<Snapshot>,
    /// The scheme's own word.
    pub(super) scheme_state: u64,
    /// Payload.
    pub(super) length: Bytes,
    /// Selectively acknowledged.
    pub(super) is_sacked: bool,
    /// Declared lost.
    pub(super) is_lost: bool,
    /// A retransmission is in flight.
    pub(super) is_retransmitted: bool,
    /// Has ever been retransmitted.
    pub(super) was_retransmitted: bool,
    is_listed: bool,
    older: u64,
    newer: u64,
}

/// What was last sent of a segment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Transmission {
    pub(super) sent: Instant,
    pub(super) snapshot: Option<Snapshot>,
    pub(super) scheme_state: u64,
    pub(super) length: Bytes,
    /// It was not the first time.
    pub(super) was_retransmitted: bool,
}

impl Outstanding {
    /// What was last sent of it.
    #[inline]
    pub(super) fn transmission(&self) -> Transmission {
        let Self { sent, snapshot, scheme_state, length, was_retransmitted, .. } = *self;
        Transmission { sent, snapshot, scheme_state, length, was_retransmitted }
    }
}

/// All segments from the first that is not acknowledged to the last that was sent.
#[derive(Debug)]
pub(super) struct Scoreboard {
    first: u64,
    ring: VecDeque<Outstanding>,
    oldest: u64,
    newest: u64,
    sacked: u32,
    lost: u32,
    retransmitted: u32,
    /// Lost segments in order of sequence; those that have since been sent again or acknowledged are skipped when met.
    to_retransmit: BinaryHeap<Reverse<u64>>,
}

impl Scoreboard {
    pub(super) fn new() -> Self {
        Self {
            first: 0,
            ring: VecDeque::new(),
            oldest: NONE,
            newest: NONE,
            sacked: 0,
            lost: 0,
            retransmitted: 0,
            to_retransmit: BinaryHeap::new(),
        }
    }

    /// The first segment not acknowledged (`snd_una`).
    pub(super) fn first(&self) -> u64 {
        self.first
    }

    /// The next segment to send (`snd_nxt`).
    pub(super) fn next(&self) -> u64 {
        self.first + self.ring.len() as u64
    }

    /// Segments sent and not cumulatively acknowledged (`packets_out`).
    pub(super) fn outstanding(&self) -> u32 {
        self.ring.len() as u32
    }

    /// Segments selectively acknowledged (`sacked_out`).
    pub(super) fn sacked(&self) -> u32 {
        self.sacked
    }

    /// Segments declared lost and not yet acknowledged (`lost_out`).
    pub(super) fn lost(&self) -> u32 {
        self.lost
    }

    /// Retransmissions in flight (`retrans_out`).
    pub(super) fn retransmitted(&self) -> u32 {
        self.retransmitted
    }

    /// True if a retransmission is in flight, or the first segment was ever sent again (`tcp_any_retrans_done`).
    pub(super) fn has_retransmissions(&self) -> bool {
        self.retransmitted > 0 || self.ring.front().is_some_and(|first| first.was_retransmitted)
    }

    /// Packets believed to be in the network (`tcp_packets_in_flight`).
    pub(super) fn in_flight(&self) -> u32 {
        self.outstanding() + self.retransmitted - self.sacked - self.lost
    }

    /// A segment in flight; `None` if it is not.
    pub(super) fn get(&self, sequence: u64) -> Option<&Outstanding> {
        self.ring.get(sequence.checked_sub(self.first)? as usize)
    }

    pub(super) fn get_mut(&mut self, sequence: u64) -> Option<&mut Outstanding> {
        self.ring.get_mut(sequence.checked_sub(self.first)? as usize)
    }

    /// Adds a segment that is sent for the first time.
    pub(super) fn push(&mut self, sent: Instant, length: Bytes, snapshot: Snapshot, scheme_state: u64) {
        let sequence = self.next();
        let older = std::mem::replace(&mut self.newest, sequence);
        if older == NONE {
            self.oldest = sequence;
        }
        self.ring.push_back(Outstanding {
            sent,
            snapshot: Some(snapshot),
            scheme_state,
            length,
            is_sacked: false,
            is_lost: false,
            is_retransmitted: false,
            was_retransmitted: false,
            is_listed: true,
            older,
            newer: sequence + 1,
        });
    }

    /// Removes the first segment, which has been acknowledged, and tells what was last sent of it and whether it had
    /// been selectively acknowledged.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<(Transmission, bool)> {
        let front = self.ring.front()?;
        if front.is_listed {
            let newer = front.newer;
            if self.oldest == self.first && self.newest != self.first {
                // Nobody follows the link back from the oldest.
                self.oldest = newer;
            } else {
                self.unlink(self.first);
            }
        }
        let segment = self.ring.pop_front()?;
        self.first += 1;
        self.sacked -= u32::from(segment.is_sacked);
        self.lost -= u32::from(segment.is_lost);
        self.retransmitted -= u32::from(segment.is_retransmitted);
        Some((segment.transmission(), segment.is_sacked))
    }

    /// A segment was selectively acknowledged; it is neither lost nor in flight any more. Tells what was last sent of
    /// it.
    #[inline]
    pub(super) fn mark_sacked(&mut self, sequence: u64) -> Option<Transmission> {
        let segment = self.get_mut(sequence)?;
        let transmission = segment.transmission();
        let (was_lost, was_listed) = (segment.is_lost, segment.is_listed);
        let (older, newer) = (segment.older, segment.newer);
        segment.is_sacked = true;
        segment.is_listed = false;
        self.sacked += 1;
        if was_lost {
            cold_path();
            self.repair(sequence);
        }
        // One that was sent again, and is not lost after all, has its retransmission still in flight
        // (`tcp_sacktag_one`).
        if was_listed {
            self.close_gap(sequence, older, newer);
        }
        Some(transmission)
    }

    /// A lost segment, or its retransmission, was delivered.
    fn repair(&mut self, sequence: u64) {
        let Some(segment) = self.get_mut(sequence) else { return };
        segment.is_lost = false;
        let was_retransmitted = std::mem::take(&mut segment.is_retransmitted);
        self.lost -= 1;
        self.retransmitted -= u32::from(was_retransmitted);
    }

    /// A segment, or its retransmission, was declared lost (`tcp_mark_skb_lost`). One that is acknowledged, and was
    /// sent once more as a probe, is not. It stays in the list: should nothing be lost after all, it can be found
    /// again.
    pub(super) fn mark_lost(&mut self, sequence: u64) {
        let Some(segment) = self.get_mut(sequence) else { return };
        if segment.is_sacked {
            return;
        }
        let (was_lost, was_retransmitted) = (segment.is_lost, segment.is_retransmitted);
        segment.is_lost = true;
        segment.is_retransmitted = false;
        self.lost += u32::from(!was_lost);
        self.retransmitted -= u32::from(was_retransmitted);
        if !was_lost || was_retransmitted {
            self.to_retransmit.push(Reverse(sequence));
        }
    }

    /// Nothing is lost after all (`tcp_undo_cwnd_reduction` with its loss marks).
    pub(super) fn unmark_lost(&mut self) {
        for segment in &mut self.ring {
            segment.is_lost = false;
        }
        self.lost = 0;
        self.to_retransmit.clear();
    }

    /// A segment is sent again at `now`.
    pub(super) fn mark_sent_again(&mut self, sequence: u64, now: Instant, snapshot: Snapshot, scheme_state: u64) {
        let Some(segment) = self.get_mut(sequence) else { return };
        let (is_listed, counts) = (segment.is_listed, segment.is_lost && !segment.is_retransmitted);
        segment.sent = now;
        segment.snapshot = Some(snapshot);
        segment.scheme_state = scheme_state;
        segment.was_retransmitted = true;
        segment.is_retransmitted |= counts;
        self.retransmitted += u32::from(counts);
        if is_listed {
            self.unlink(sequence);
        }
        self.link(sequence);
    }

    /// The receiver has a segment twice: its retransmission is not in flight any more. (That of one that counts as lost
    /// is until the segment is acknowledged.)
    pub(super) fn mark_arrived_again(&mut self, sequence: u64) {
        if let Some(segment) = self.get_mut(sequence).filter(|segment| !segment.is_lost) {
            let was_retransmitted = std::mem::take(&mut segment.is_retransmitted);
            self.retransmitted -= u32::from(was_retransmitted);
        }
    }

    /// The lowest segment that is lost and has no retransmission in flight; none while as many are in flight as are
    /// lost, be they of others (`tcp_xmit_retransmit_queue`).
    pub(super) fn next_to_retransmit(&mut self) -> Option<u64> {
        if self.retransmitted >= self.lost {
            return None;
        }
        while let Some(Reverse(sequence)) = self.to_retransmit.peek().copied() {
            if self.get(sequence).is_some_and(|segment| segment.is_lost && !segment.is_retransmitted) {
                return Some(sequence);
            }
            self.to_retransmit.pop();
        }
        None
    }

    /// The listed segment that was sent longest ago.
    pub(super) fn oldest_sent(&self) -> Option<u64> {
        (self.oldest != NONE).then_some(self.oldest)
    }

    /// The listed segment that was sent next after this one.
    pub(super) fn sent_after(&self, segment: &Outstanding) -> Option<u64> {
        Some(segment.newer).filter(|newer| *newer < self.next())
    }

    fn link(&mut self, sequence: u64) {
        let older = std::mem::replace(&mut self.newest, sequence);
        match self.get_mut(older) {
            Some(neighbour) => neighbour.newer = sequence,
            None => self.oldest = sequence,
        }
        let newer = self.next();
        if let Some(segment) = self.get_mut(sequence) {
            segment.is_listed = true;
            segment.older = older;
            segment.newer = newer;
        }
    }

    /// Takes a segment from the list, until it is sent again.
    pub(super) fn unlink(&mut self, sequence: u64) {
        if let Some(segment) = self.get_mut(sequence) {
            segment.is_listed = false;
            let (older, newer) = (segment.older, segment.newer);
            self.close_gap(sequence, older, newer);
        }
    }

    /// Links the neighbours of a segment that is not in the list any more.
    fn close_gap(&mut self, sequence: u64, older: u64, newer: u64) {
        let is_oldest = sequence == self.oldest;
        let is_newest = sequence == self.newest;
        if is_oldest {
            self.oldest = if is_newest { NONE } else { newer };
        } else if let Some(neighbour) = self.get_mut(older) {
            neighbour.newer = newer;
        }
        if is_newest {
            self.newest = if is_oldest { NONE } else { older };
        } else if !is_oldest && let Some(neighbour) = self.get_mut(newer) {
            // Nobody follows the link back from the oldest.
            neighbour.older = older;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::rate_sampler::RateSampler;
    use super::*;

    fn after(scoreboard: &Scoreboard, sequence: u64) -> Option<u64> {
        scoreboard.get(sequence).and_then(|segment| scoreboard.sent_after(segment))
    }

    /// Three segments in flight, and what was delivered when they left.
    fn with_three_segments() -> (Scoreboard, Snapshot) {
        let (mut scoreboard, snapshot) = (Scoreboard::new(), RateSampler::new().on_sent(Instant::ZERO, false));
        (0..3).for_each(|_| scoreboard.push(Instant::ZERO, Bytes::new(1_448), snapshot, 0));
        (scoreboard, snapshot)
    }

    #[test]
    fn segments_stay_in_order_of_their_last_transmission() {
        let (mut scoreboard, snapshot) = with_three_segments();
        scoreboard.mark_lost(1);
        scoreboard.mark_sent_again(1, Instant::ZERO, snapshot, 0);
        scoreboard.push(Instant::ZERO, Bytes::new(1_448), snapshot, 0);
        let order = |scoreboard: &Scoreboard| {
            std::iter::successors(scoreboard.oldest_sent(), |sequence| after(scoreboard, *sequence)).collect()
        };
        let all: Vec<_> = order(&scoreboard);
        assert_eq!(all, [0, 2, 1, 3]);
        (0..2).for_each(|_| assert!(scoreboard.pop().is_some()));
        let rest: Vec<_> = order(&scoreboard);
        assert_eq!(rest, [2, 3]);
        scoreboard.mark_sacked(3);
        scoreboard.push(Instant::ZERO, Bytes::new(1_448), snapshot, 0);
        let last: Vec<_> = order(&scoreboard);
        assert_eq!(last, [2, 4]);
    }

    #[test]
    fn what_is_acknowledged_is_never_lost() {
        let (mut scoreboard, snapshot) = with_three_segments();
        scoreboard.mark_sacked(2);
        scoreboard.mark_sent_again(2, Instant::ZERO, snapshot, 0);
        assert_eq!(after(&scoreboard, 1), Some(2));
        (0..3).for_each(|sequence| scoreboard.mark_lost(sequence));
        assert_eq!((scoreboard.sacked(), scoreboard.lost(), scoreboard.in_flight()), (1, 2, 0));
    }

    #[test]
    fn the_retransmission_of_what_was_not_lost_stays_in_flight_until_it_is_acknowledged() {
        let (mut scoreboard, snapshot) = with_three_segments();
        (0..2).for_each(|sequence| scoreboard.mark_lost(sequence));
        (0..2).for_each(|sequence| scoreboard.mark_sent_again(sequence, Instant::ZERO, snapshot, 0));
        scoreboard.mark_sacked(1);
        assert_eq!((scoreboard.lost(), scoreboard.retransmitted(), scoreboard.in_flight()), (1, 1, 2), "it was lost");
        scoreboard.unmark_lost();
        scoreboard.mark_sacked(0);
        assert_eq!((scoreboard.sacked(), scoreboard.retransmitted(), scoreboard.in_flight()), (2, 1, 2));
        assert!(scoreboard.pop().is_some());
        assert_eq!((scoreboard.retransmitted(), scoreboard.in_flight()), (0, 1));
    }

    #[test]
    fn a_needless_retransmission_is_in_flight_until_it_arrives() {
        let (mut scoreboard, snapshot) = with_three_segments();
        (1..3).for_each(|sequence| scoreboard.mark_lost(sequence));
        scoreboard.mark_sent_again(1, Instant::ZERO, snapshot, 0);
        scoreboard.mark_arrived_again(1);
        assert_eq!((scoreboard.retransmitted(), scoreboard.has_retransmissions()), (1, true), "it counts as lost");
        scoreboard.unmark_lost();
        scoreboard.mark_sacked(1);
        scoreboard.mark_lost(2);
        assert_eq!(scoreboard.next_to_retransmit(), None, "as many are in flight as are lost");
        scoreboard.mark_arrived_again(1);
        assert_eq!((scoreboard.retransmitted(), scoreboard.next_to_retransmit()), (0, Some(2)));
        assert!(!scoreboard.has_retransmissions());
        assert!(scoreboard.pop().is_some());
        assert!(scoreboard.has_retransmissions(), "the first was sent again");
    }

    #[test]
    fn what_is_not_lost_after_all_can_be_found_again() {
        let (mut scoreboard, snapshot) = with_three_segments();
        (0..3).for_each(|sequence| scoreboard.mark_lost(sequence));
        scoreboard.mark_sent_again(0, Instant::ZERO, snapshot, 0);
        scoreboard.unmark_lost();
        assert_eq!(
            (scoreboard.oldest_sent(), after(&scoreboard, 1), after(&scoreboard, 2)),
            (Some(1), Some(2), Some(0))
        );
    }

    #[test]
    fn a_retransmission_that_is_lost_leaves_again_in_its_turn() {
        let (mut scoreboard, snapshot) = with_three_segments();
        (0..2).for_each(|sequence| scoreboard.mark_lost(sequence));
        scoreboard.mark_sent_again(0, Instant::ZERO, snapshot, 0);
        assert_eq!(scoreboard.next_to_retransmit(), Some(1));
        scoreboard.mark_lost(0);
        assert_eq!((scoreboard.lost(), scoreboard.retransmitted()), (2, 0));
        assert_eq!(scoreboard.next_to_retransmit(), Some(0));
    }
}

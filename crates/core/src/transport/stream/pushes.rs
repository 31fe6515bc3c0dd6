//! Which segments are pushed, whose acks a receiver does not hold back once its application has read all.
//!
//! **Source.** Linux `net/ipv4/tcp.c` (`tcp_sendmsg_locked`, `tcp_push`, `forced_push`): whatever the application says, a
//! segment is pushed that ends more than half of the largest window after the one before. That shows when it is written,
//! well before it is sent.

use std::collections::VecDeque;

use super::{StreamConfig, receive_window};
use crate::scheme::Feedback;
use crate::units::Bytes;

/// What a bulk application writes at once, as soon as less than that is still to be sent.
pub const PIECE: Bytes = Bytes::new(1 << 19);
/// The window of the handshake has no scale.
const MOST_AT_FIRST: u64 = u16::MAX as u64;

/// What an application has written, and pushed of that; positions are bytes from the start.
#[derive(Debug)]
pub(super) struct Pushes {
    mss: u64,
    /// What it writes at once.
    piece: u64,
    /// The largest that the receiver has told (`max_window`).
    window: u64,
    written: u64,
    /// Where what was pushed last ends (`pushed_seq`).
    pushed: u64,
    /// Before this segment leaves, it writes again.
    next_write: u64,
    /// Pushed segments, but for those acknowledged long ago.
    segments: VecDeque<u64>,
}

impl Pushes {
    /// Nothing is written yet. An application that writes segment by segment writes what is about to leave.
    pub(super) fn new(config: &StreamConfig, writes_segments: bool) -> Self {
        Self {
            mss: config.mss.count(),
            piece: if writes_segments { config.mss.count() } else { PIECE.count() },
            window: config.receive_window.map_or(MOST_AT_FIRST, |limit| limit.count().min(MOST_AT_FIRST)),
            written: 0,
            pushed: 0,
            next_write: if config.feedback == Feedback::Tcp { 0 } else { u64::MAX },
            segments: VecDeque::new(),
        }
    }

    /// The receiver tells of a `window`, as a header has it.
    pub(super) fn on_window(&mut self, window: u16, config: &StreamConfig) {
        self.window = self.window.max(receive_window::bytes(window, config.receive_window));
    }

    /// A new segment is about to leave; all before `first` are acknowledged.
    #[inline(always)]
    pub(super) fn before(&mut self, sequence: u64, first: u64) {
        if sequence >= self.next_write {
            self.write(sequence, first);
        }
    }

    #[cold]
    fn write(&mut self, sequence: u64, first: u64) {
        let acknowledged = self.segments.partition_point(|pushed| *pushed < first);
        self.segments.drain(..acknowledged);
        while self.written < sequence * self.mss + self.piece {
            self.write_piece();
        }
        self.next_write = (self.written - self.piece) / self.mss + 1;
    }

    fn write_piece(&mut self) {
        self.written += self.piece;
        let half = self.window / 2;
        loop {
            let segment = (self.pushed + half) / self.mss;
            let end = (segment + 1) * self.mss;
            if end > self.written {
                break;
            }
            self.segments.push_back(segment);
            self.pushed = end;
        }
        // The beginning of a segment counts as pushed, but the next piece, which ends it, takes the mark away.
        if self.written > self.pushed + half {
            self.pushed = self.written;
        }
    }

    /// True for a segment that is pushed.
    #[inline(always)]
    pub(super) fn contains(&self, sequence: u64) -> bool {
        self.segments.front().is_some_and(|first| *first <= sequence) && self.segments.binary_search(&sequence).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first `count` pushed segments of a sender with such windows, the first of which the handshake tells.
    fn pushed(limit: Option<u64>, windows: &[(u64, u16)], count: usize) -> Vec<u64> {
        let config = StreamConfig { receive_window: limit.map(Bytes::new), ..StreamConfig::DEFAULT };
        let mut pushes = Pushes::new(&config, false);
        let mut found = Vec::new();
        for sequence in 0..20_000 {
            windows.iter().filter(|(from, _)| *from == sequence).for_each(|(_, told)| pushes.on_window(*told, &config));
            pushes.before(sequence, sequence.saturating_sub(30));
            found.extend(pushes.contains(sequence).then_some(sequence));
        }
        found.truncate(count);
        found
    }

    #[test]
    fn a_segment_is_pushed_that_ends_more_than_half_a_window_after_the_one_before() {
        assert_eq!(pushed(Some(47_589), &[], 4), [16, 33, 50, 67]);
        assert_eq!(pushed(Some(4_344), &[], 4), [1, 3, 5, 7]);
        assert_eq!(pushed(Some(1_000), &[], 4), [0, 1, 2, 3]);
    }

    #[test]
    fn a_larger_window_counts_for_what_is_written_later() {
        // Linux 7.3: 23794 bytes are 17 segments, and 25242 are 18. The third piece begins in segment 724, and is written
        // before segment 363 leaves.
        assert_eq!(pushed(Some(47_589), &[(10, 50_485)], 44)[40..], [696, 713, 731, 749]);
        assert_eq!(pushed(None, &[(10, 4_000)], 40)[29..], [689, 712, 12_027], "4000 steps of 8192 bytes");
    }
}

//! Which blocks of out-of-order segments a receiver reports.
//!
//! **Source.** RFC 2018, section 4; Linux `net/ipv4/tcp_input.c` (`tcp_sack_new_ofo_skb`, `tcp_sack_extend`,
//! `tcp_sack_maybe_coalesce`, `tcp_sack_remove`).

use super::segment::Range;

/// Blocks that are remembered (`TCP_NUM_SACKS`).
const BLOCKS: usize = 4;

/// The blocks that segments have joined last, the latest first. What they hold is what has arrived since they are
/// known: a block that was forgotten begins anew with the next segment.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RecentBlocks {
    blocks: [Range; BLOCKS],
    count: usize,
}

impl RecentBlocks {
    /// All of them, the latest first.
    pub(super) fn iter(&self) -> impl Iterator<Item = Range> + '_ {
        self.blocks[..self.count].iter().copied()
    }

    /// How many of them come before the one that a segment joins.
    pub(super) fn before(&self, segment: Range) -> usize {
        self.iter().position(|block| block.touches(segment)).unwrap_or(self.count)
    }

    /// A segment arrives, and the block that it joins comes first.
    pub(super) fn add(&mut self, segment: Range) {
        let [latest, others @ ..] = &mut self.blocks;
        if self.count > 0 && latest.end == segment.start && others.iter().all(|other| other.start != segment.end) {
            // Most follow the one before.
            latest.end = segment.end;
        } else {
            self.join(segment);
        }
    }

    #[inline(never)]
    fn join(&mut self, segment: Range) {
        let before = self.before(segment);
        let is_known = before < self.count;
        let place = before.min(BLOCKS - 1);
        let mut latest = if is_known { self.blocks[place].union(segment) } else { segment };
        self.count = (self.count + usize::from(!is_known)).min(BLOCKS);
        if place > 0 {
            self.blocks.copy_within(..place, 1);
        }
        let mut kept = 1;
        for index in 1..self.count {
            let other = self.blocks[index];
            if latest.touches(other) {
                latest = latest.union(other);
            } else {
                self.blocks[kept] = other;
                kept += 1;
            }
        }
        self.blocks[0] = latest;
        self.count = kept;
    }

    /// The segments below `next` wait no more.
    pub(super) fn remove_below(&mut self, next: u64) {
        let mut kept = 0;
        for index in 0..self.count {
            if self.blocks[index].start >= next {
                self.blocks[kept] = self.blocks[index];
                kept += 1;
            }
        }
        self.count = kept;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Blocks after these segments, and how many stood before the one that each joined.
    fn after(segments: &[u64]) -> (RecentBlocks, Vec<usize>) {
        let mut recent = RecentBlocks::default();
        let mut add = |start: &u64| {
            let segment = Range { start: *start, end: start + 1 };
            let before = recent.before(segment);
            recent.add(segment);
            before
        };
        let before = segments.iter().map(&mut add).collect();
        (recent, before)
    }

    fn blocks(recent: &RecentBlocks) -> Vec<(u64, u64)> {
        recent.iter().map(|block| (block.start, block.end)).collect()
    }

    #[test]
    fn the_block_that_grew_last_comes_first() {
        let (recent, before) = after(&[2, 4, 6, 3]);
        assert_eq!(blocks(&recent), [(2, 5), (6, 7)], "3 joins 4, and both join 2");
        assert_eq!(before, [0, 1, 2, 1]);
    }

    #[test]
    fn the_latest_grows_at_its_end_until_it_meets_another() {
        let (recent, before) = after(&[5, 2, 3]);
        assert_eq!((blocks(&recent), before), (vec![(2, 4), (5, 6)], vec![0, 1, 0]));
        let (recent, before) = after(&[5, 2, 3, 4]);
        assert_eq!((blocks(&recent), before), (vec![(2, 6)], vec![0, 1, 0, 0]));
    }

    #[test]
    fn a_forgotten_block_begins_anew() {
        let (recent, before) = after(&[2, 4, 6, 8, 10, 3]);
        assert_eq!(blocks(&recent), [(3, 5), (10, 11), (8, 9), (6, 7)], "2 is not known any more");
        assert_eq!(before, [0, 1, 2, 3, 4, 3]);
        let (recent, _) = after(&[2, 4, 6, 8, 10, 1]);
        assert_eq!(blocks(&recent), [(1, 2), (10, 11), (8, 9), (6, 7)]);
    }

    #[test]
    fn a_segment_that_arrives_again_brings_its_block_to_the_front() {
        let (recent, _) = after(&[2, 4, 2]);
        assert_eq!(blocks(&recent), [(2, 3), (4, 5)]);
    }

    #[test]
    fn what_waits_no_more_goes() {
        let (mut recent, _) = after(&[2, 4, 6]);
        recent.remove_below(5);
        assert_eq!(blocks(&recent), [(6, 7)]);
    }
}

//! A set of segment numbers, kept as ranges.

use std::collections::VecDeque;

use super::segment::Range;

/// Ranges at the back that are tried one by one: an ack repeats as many.
const NEAR_BACK: usize = 3;

/// Disjoint, non-touching ranges in order. Changes near either end are cheap, which is where a stream's holes open and
/// close.
#[derive(Clone, Debug, Default)]
pub(super) struct RangeSet {
    ranges: VecDeque<Range>,
}

impl RangeSet {
    /// True if nothing is in the set.
    pub(super) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// One past the largest member; zero if empty.
    pub(super) fn end(&self) -> u64 {
        self.ranges.back().map_or(0, |range| range.end)
    }

    /// Index of the first range that ends at `end` or later, looked for first where holes close and open.
    #[inline(always)]
    fn first_reaching(&self, end: u64) -> usize {
        let count = self.ranges.len();
        if let Some(last) = self.ranges.back().filter(|last| last.start <= end) {
            return count - usize::from(last.end >= end);
        }
        if self.ranges.front().is_none_or(|first| first.end >= end) {
            return 0;
        }
        for index in (count.saturating_sub(NEAR_BACK)..count).rev() {
            if self.ranges[index].end < end {
                return index + 1;
            }
        }
        self.ranges.partition_point(|range| range.end < end)
    }

    /// The range that holds `sequence`.
    pub(super) fn find(&self, sequence: u64) -> Option<Range> {
        self.ranges.get(self.first_reaching(sequence + 1)).copied().filter(|range| range.contains(sequence))
    }

    /// Adds what begins within the last range or right behind it, and returns the part that was not in the set yet,
    /// which may be empty; `None`, and nothing is added, if it begins elsewhere.
    pub(super) fn extend_last(&mut self, added: Range) -> Option<Range> {
        let last = self.ranges.back_mut().filter(|last| last.start <= added.start && added.start <= last.end)?;
        let new = Range { start: last.end, end: last.end.max(added.end) };
        last.end = new.end;
        Some(new)
    }

    /// Adds `added` and calls `is_new` with each part that was not in the set yet.
    pub(super) fn insert(&mut self, added: Range, mut is_new: impl FnMut(Range)) {
        if let Some(new) = self.extend_last(added) {
            if new.start < new.end {
                is_new(new);
            }
            return;
        }
        self.insert_elsewhere(added, is_new);
    }

    #[inline(never)]
    fn insert_elsewhere(&mut self, added: Range, mut is_new: impl FnMut(Range)) {
        let first = self.first_reaching(added.start);
        let mut merged = added;
        let mut cursor = added.start;
        let mut last = first;
        while let Some(range) = self.ranges.get(last).filter(|range| range.start <= added.end) {
            if cursor < range.start {
                is_new(Range { start: cursor, end: range.start });
            }
            cursor = cursor.max(range.end);
            merged = merged.union(*range);
            last += 1;
        }
        if cursor < added.end {
            is_new(Range { start: cursor, end: added.end });
        }
        match last - first {
            0 => self.ranges.insert(first, merged),
            1 => self.ranges[first] = merged,
            _ => {
                self.ranges[first] = merged;
                self.ranges.drain(first + 1..last);
            }
        }
    }

    /// Removes everything below `sequence`.
    pub(super) fn remove_below(&mut self, sequence: u64) {
        while let Some(first) = self.ranges.front_mut().filter(|range| range.start < sequence) {
            if first.end > sequence {
                first.start = sequence;
                break;
            }
            self.ranges.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn behaves_like_a_set_of_numbers(operations in prop::collection::vec((0_u64..60, 1_u64..12, prop::bool::weighted(0.2)), 1..60)) {
            let mut ranges = RangeSet::default();
            let mut model = BTreeSet::new();
            for (start, length, is_removal) in operations {
                if is_removal {
                    ranges.remove_below(start);
                    model.retain(|sequence| *sequence >= start);
                } else {
                    let mut new = Vec::new();
                    let added = Range { start, end: start + length };
                    ranges.insert(added, |part| new.extend(part.start..part.end));
                    let expected: Vec<_> = (start..start + length).filter(|sequence| model.insert(*sequence)).collect();
                    prop_assert_eq!(new, expected);
                }
                for sequence in 0..80 {
                    prop_assert_eq!(ranges.find(sequence).is_some(), model.contains(&sequence));
                }
                prop_assert_eq!(ranges.end(), model.last().map_or(0, |last| last + 1));
                prop_assert_eq!(ranges.is_empty(), model.is_empty());
                prop_assert!(ranges.ranges.iter().zip(ranges.ranges.iter().skip(1)).all(|(a, b)| a.end < b.start));
            }
        }
    }
}

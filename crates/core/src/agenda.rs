//! The agenda: who is to be woken next.
//!
//! One entry per participant, never one per packet. An indexed binary heap ordered by (time, participant), so that
//! equal times have a fixed order and a run is the same every time.

use crate::units::Instant;

/// Not on the agenda.
const ABSENT: u32 = u32::MAX;

/// A heap of participants, each at most once.
#[derive(Debug)]
pub struct Agenda {
    heap: Vec<(Instant, u32)>,
    place: Vec<u32>,
}

impl Agenda {
    /// An empty agenda for `participants` participants.
    pub fn new(participants: usize) -> Self {
        Self { heap: Vec::with_capacity(participants), place: vec![ABSENT; participants] }
    }

    /// The next participant and its time.
    pub fn next(&self) -> Option<(Instant, usize)> {
        self.heap.first().map(|(time, participant)| (*time, *participant as usize))
    }

    /// Wakes `participant` at `time`; `None` takes it off the agenda.
    pub fn set(&mut self, participant: usize, time: Option<Instant>) {
        let place = self.place[participant];
        match (place, time) {
            (ABSENT, None) => {}
            (ABSENT, Some(time)) => {
                self.heap.push((time, participant as u32));
                self.sift_up(self.heap.len() - 1);
            }
            (place, None) => self.remove(place as usize),
            (place, Some(time)) => {
                let was = std::mem::replace(&mut self.heap[place as usize].0, time);
                if time < was {
                    self.sift_up(place as usize);
                } else {
                    self.sift_down(place as usize);
                }
            }
        }
    }

    /// Wakes `participant` at `time` unless it is woken earlier anyway. A wake-up that has become needless costs less
    /// than moving it.
    pub fn set_by(&mut self, participant: usize, time: Option<Instant>) {
        let Some(time) = time else { return };
        let place = self.place[participant];
        if place == ABSENT || time < self.heap[place as usize].0 {
            self.set(participant, Some(time));
        }
    }

    fn remove(&mut self, index: usize) {
        let (_, participant) = self.heap.swap_remove(index);
        self.place[participant as usize] = ABSENT;
        if index < self.heap.len() {
            let moved = self.sift_up(index);
            self.sift_down(moved);
        }
    }

    fn sift_up(&mut self, mut index: usize) -> usize {
        let entry = self.heap[index];
        while index > 0 {
            let parent = (index - 1) / 2;
            if self.heap[parent] <= entry {
                break;
            }
            self.put(index, self.heap[parent]);
            index = parent;
        }
        self.put(index, entry);
        index
    }

    fn sift_down(&mut self, mut index: usize) {
        let entry = self.heap[index];
        loop {
            let left = 2 * index + 1;
            let Some(mut child) = (left < self.heap.len()).then_some(left) else { break };
            if left + 1 < self.heap.len() && self.heap[left + 1] < self.heap[left] {
                child = left + 1;
            }
            if entry <= self.heap[child] {
                break;
            }
            self.put(index, self.heap[child]);
            index = child;
        }
        self.put(index, entry);
    }

    fn put(&mut self, index: usize, entry: (Instant, u32)) {
        self.heap[index] = entry;
        self.place[entry.1 as usize] = index as u32;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_earliest_is_always_first(operations in prop::collection::vec((0_usize..8, prop::option::of(0_u64..50)), 1..200)) {
            let mut agenda = Agenda::new(8);
            let mut model = BTreeMap::new();
            for (participant, time) in operations {
                let time = time.map(Instant::from_nanos);
                agenda.set(participant, time);
                match time {
                    Some(time) => model.insert(participant, time),
                    None => model.remove(&participant),
                };
                let earliest = model.iter().map(|(participant, time)| (*time, *participant)).min();
                prop_assert_eq!(agenda.next(), earliest);
            }
        }
    }

    #[test]
    fn an_earlier_wakeup_stands() {
        let mut agenda = Agenda::new(1);
        agenda.set_by(0, Some(Instant::from_nanos(5)));
        agenda.set_by(0, Some(Instant::from_nanos(9)));
        agenda.set_by(0, None);
        assert_eq!(agenda.next(), Some((Instant::from_nanos(5), 0)));
        agenda.set_by(0, Some(Instant::from_nanos(3)));
        assert_eq!(agenda.next(), Some((Instant::from_nanos(3), 0)));
    }
}

//! The agenda: who is to be woken next.
//!
//! One entry per participant, never one per packet. The participants play a tournament for the earliest time: every match is
//! won by the earlier of two, and by the smaller number where both are due at once, so that a run is the same every
//! time. A new time is played from its participant up.

use crate::units::Instant;

/// Not on the agenda.
const NEVER: Instant = Instant::FAR_FUTURE;

/// A wake-up for each participant, or none.
#[derive(Debug)]
pub struct Agenda {
    /// Time and number of who has come so far: the participants themselves are the second half, and place `n` belongs to the
    /// winner of the match between `2n` and `2n + 1`.
    places: Vec<(Instant, u32)>,
}

impl Agenda {
    /// An empty agenda for `participants` participants.
    pub fn new(participants: usize) -> Self {
        Self { places: vec![(NEVER, 0); 2 * participants.max(2).next_power_of_two()] }
    }

    /// The next participant and its time.
    pub fn next(&self) -> Option<(Instant, usize)> {
        let (time, participant) = self.places[1];
        (time != NEVER).then_some((time, participant as usize))
    }

    /// Wakes `participant` at `time`; `None` takes it off the agenda.
    pub fn set(&mut self, participant: usize, time: Option<Instant>) {
        let mut winner = (time.unwrap_or(NEVER), participant as u32);
        let mut place = self.place_of(participant);
        self.places[place] = winner;
        while place > 1 {
            winner = winner.min(self.places[place ^ 1]);
            place /= 2;
            self.places[place] = winner;
        }
    }

    /// Wakes `participant` at `time` unless it is woken earlier anyway. A wake-up that has become needless costs less
    /// than moving it.
    pub fn set_by(&mut self, participant: usize, time: Option<Instant>) {
        let planned = self.places[self.place_of(participant)].0;
        if time.is_some_and(|time| time < planned) {
            self.set(participant, time);
        }
    }

    fn place_of(&self, participant: usize) -> usize {
        self.places.len() / 2 + participant
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

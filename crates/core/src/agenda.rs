//! The agenda: who is to be woken next.
//!
//! One entry per participant, never one per packet. The participants play a tournament for the earliest time: every
//! match is won by the earlier of two, and by the smaller number where both are due at once, so that a run is the same
//! every time. A new time is played from its participant up.

use crate::units::Instant;

/// A time and who is due then, in one number, which orders them as one comparison.
type Entry = u64;

/// Enough for the ends and hops of all flows that a run may have; what is left for the time is three days.
const PARTICIPANT_BITS: u32 = 16;
/// The time of who is not on the agenda, and later than any run lasts.
const NEVER: Instant = Instant::from_nanos(u64::MAX >> PARTICIPANT_BITS);

fn entry(time: Option<Instant>, participant: usize) -> Entry {
    time.map_or(NEVER, |time| time.min(NEVER)).as_nanos() << PARTICIPANT_BITS | participant as Entry
}

fn time_of(entry: Entry) -> Instant {
    Instant::from_nanos(entry >> PARTICIPANT_BITS)
}

/// A wake-up for each of some participants, numbered from zero, or none.
#[derive(Debug)]
pub struct Tournament {
    /// Who has come so far: match `n` is between the winners of the matches `2n` and `2n + 1`, and those of the second
    /// half are between two participants each.
    matches: Vec<[Entry; 2]>,
    /// Who has won them all, kept because everybody asks.
    winner: Entry,
}

impl Tournament {
    fn new(participants: usize) -> Self {
        let nobody = entry(None, 0);
        Self { matches: vec![[nobody; 2]; participants.max(2).next_power_of_two()], winner: nobody }
    }

    /// Wakes `participant` at `time`; `None` takes it off the agenda.
    pub fn set(&mut self, participant: usize, time: Option<Instant>) {
        let mut winner = entry(time, participant);
        let mut node = self.matches.len() + participant;
        while node > 1 {
            let side = node % 2;
            node /= 2;
            let contest = &mut self.matches[node];
            contest[side] = winner;
            winner = winner.min(contest[1 - side]);
        }
        self.winner = winner;
    }

    /// Wakes `participant` at `time` unless it is woken earlier anyway. A wake-up that has become needless costs less
    /// than moving it.
    pub fn set_by(&mut self, participant: usize, time: Option<Instant>) {
        if time.is_some_and(|time| time < self.planned(participant)) {
            self.set(participant, time);
        }
    }

    /// When `participant` is woken; in the far future if it is not.
    pub fn planned(&self, participant: usize) -> Instant {
        let node = self.matches.len() + participant;
        time_of(self.matches[node / 2][node % 2])
    }
}

/// Whose turn it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// That of a hop.
    Hop(usize),
    /// That of one of the others.
    Other(usize),
}

/// Who is to be woken. The hops play among themselves: they are few, and woken far more often than anybody else.
#[derive(Debug)]
pub struct Agenda {
    /// The hops; where all are due at once, they come first.
    pub hops: Tournament,
    /// Everybody else.
    pub others: Tournament,
}

impl Agenda {
    /// An empty agenda for so many.
    pub fn new(hops: usize, others: usize) -> Self {
        Self { hops: Tournament::new(hops), others: Tournament::new(others) }
    }

    /// Who comes next, and when.
    pub fn next(&self) -> Option<(Instant, Turn)> {
        let (hop, other) = (self.hops.winner, self.others.winner);
        let number = |entry| (entry & ((1 << PARTICIPANT_BITS) - 1)) as usize;
        let (entry, turn) = if time_of(hop) <= time_of(other) {
            (hop, Turn::Hop(number(hop)))
        } else {
            (other, Turn::Other(number(other)))
        };
        (time_of(entry) != NEVER).then_some((time_of(entry), turn))
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
            let mut agenda = Agenda::new(3, 5);
            let mut model = BTreeMap::new();
            for (participant, time) in operations {
                let time = time.map(Instant::from_nanos);
                match participant.checked_sub(3) {
                    None => agenda.hops.set(participant, time),
                    Some(other) => agenda.others.set(other, time),
                }
                match time {
                    Some(time) => model.insert(participant, time),
                    None => model.remove(&participant),
                };
                let earliest = model.iter().map(|(participant, time)| (*time, *participant)).min();
                let next = agenda.next().map(|(time, turn)| match turn {
                    Turn::Hop(hop) => (time, hop),
                    Turn::Other(other) => (time, 3 + other),
                });
                prop_assert_eq!(next, earliest);
            }
        }
    }

    #[test]
    fn an_earlier_wakeup_stands() {
        let mut agenda = Agenda::new(1, 0);
        agenda.hops.set_by(0, Some(Instant::from_nanos(5)));
        agenda.hops.set_by(0, Some(Instant::from_nanos(9)));
        agenda.hops.set_by(0, None);
        assert_eq!(agenda.next(), Some((Instant::from_nanos(5), Turn::Hop(0))));
        agenda.hops.set_by(0, Some(Instant::from_nanos(3)));
        assert_eq!(agenda.next(), Some((Instant::from_nanos(3), Turn::Hop(0))));
    }
}

//! The agenda: who is to be woken next.
//!
//! One entry per participant, never one per packet. The participants play a tournament for the earliest time: every match is
//! won by the earlier of two, and by the smaller number where both are due at once, so that a run is the same every
//! time. A new time is played from its participant up.

use crate::units::Instant;

/// A time and who is due then, in one number, which orders them as one comparison.
type Entry = u64;

/// Enough for the ends and hops of all flows that a run may have; what is left for the time is three days.
const PARTICIPANT_BITS: u32 = 16;
/// The time of who is not on the agenda, and later than any run lasts.
const NEVER: Instant = Instant::from_nanos(u64::MAX >> PARTICIPANT_BITS);

fn entry(time: Instant, participant: usize) -> Entry {
    time.min(NEVER).as_nanos() << PARTICIPANT_BITS | participant as Entry
}

fn time_of(entry: Entry) -> Instant {
    Instant::from_nanos(entry >> PARTICIPANT_BITS)
}

/// Some participants, numbered from zero, and who of them is first.
#[derive(Debug)]
struct Tournament {
    /// Who has come so far: match `n` is between the winners of the matches `2n` and `2n + 1`, and those of the second half
    /// are between two participants each.
    matches: Vec<[Entry; 2]>,
}

impl Tournament {
    fn new(participants: usize) -> Self {
        Self { matches: vec![[entry(NEVER, 0); 2]; participants.max(2).next_power_of_two()] }
    }

    fn winner(&self) -> Entry {
        let [one, other] = self.matches[1];
        one.min(other)
    }

    fn set(&mut self, place: usize, entry: Entry) {
        let mut winner = entry;
        let mut place = self.matches.len() + place;
        while place > 1 {
            let side = place % 2;
            place /= 2;
            let contest = &mut self.matches[place];
            contest[side] = winner;
            winner = winner.min(contest[1 - side]);
        }
    }

    fn get(&self, place: usize) -> Entry {
        let place = self.matches.len() + place;
        self.matches[place / 2][place % 2]
    }
}

/// A wake-up for each participant, or none.
#[derive(Debug)]
pub struct Agenda {
    /// So many participants, the first, are woken far more often than the others and play among themselves.
    busy: usize,
    of_busy: Tournament,
    of_others: Tournament,
}

impl Agenda {
    /// An empty agenda for `participants` participants, the first `busy` of which are woken most often.
    pub fn new(participants: usize, busy: usize) -> Self {
        let others = participants.saturating_sub(busy);
        Self { busy, of_busy: Tournament::new(busy), of_others: Tournament::new(others) }
    }

    /// The next participant and its time.
    pub fn next(&self) -> Option<(Instant, usize)> {
        let first = self.of_busy.winner().min(self.of_others.winner());
        (time_of(first) != NEVER).then_some((time_of(first), (first & ((1 << PARTICIPANT_BITS) - 1)) as usize))
    }

    /// Wakes `participant` at `time`; `None` takes it off the agenda.
    pub fn set(&mut self, participant: usize, time: Option<Instant>) {
        let entry = entry(time.unwrap_or(NEVER), participant);
        match participant.checked_sub(self.busy) {
            None => self.of_busy.set(participant, entry),
            Some(place) => self.of_others.set(place, entry),
        }
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
        time_of(match participant.checked_sub(self.busy) {
            None => self.of_busy.get(participant),
            Some(place) => self.of_others.get(place),
        })
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
            let mut agenda = Agenda::new(8, 3);
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
        let mut agenda = Agenda::new(1, 0);
        agenda.set_by(0, Some(Instant::from_nanos(5)));
        agenda.set_by(0, Some(Instant::from_nanos(9)));
        agenda.set_by(0, None);
        assert_eq!(agenda.next(), Some((Instant::from_nanos(5), 0)));
        agenda.set_by(0, Some(Instant::from_nanos(3)));
        assert_eq!(agenda.next(), Some((Instant::from_nanos(3), 0)));
    }
}

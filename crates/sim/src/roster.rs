//! Who takes turns on each side of a run.

use crate::sides::Side;

/// Who can be woken beside hops: sender and receiver of each flow, and the askers of the probes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Participant {
    Sender(usize),
    Receiver(usize),
    Asker(usize),
}

/// The timer of a participant: on the agenda of which side, and under which number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TimerId {
    pub(crate) side: Side,
    pub(crate) number: usize,
}

/// Who is on each side, by their numbers on its agenda.
#[derive(Debug, Default)]
pub(crate) struct Roster([Vec<Participant>; 2]);

impl Roster {
    /// Adds somebody to a side.
    pub(crate) fn add(&mut self, side: Side, participant: Participant) -> TimerId {
        let listed = &mut self.0[side as usize];
        listed.push(participant);
        TimerId { side, number: listed.len() - 1 }
    }

    /// Whose timer this is.
    pub(crate) fn participant(&self, TimerId { side, number }: TimerId) -> Participant {
        self.0[side as usize][number]
    }

    /// How many are on a side.
    pub(crate) fn count(&self, side: Side) -> usize {
        self.0[side as usize].len()
    }
}

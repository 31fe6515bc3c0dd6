//! Drain: empty the queue that start-up left (draft, "Drain").

use super::sample::Sample;
use super::{Bbr3, CWND_GAIN, State};

/// `BBR.DrainPacingGain`.
const PACING_GAIN: f64 = 0.5;
/// Rounds after which what is left of the queue is not ours.
const MAX_ROUNDS: u64 = 3;

impl Bbr3 {
    /// `EnterDrain`.
    pub(super) fn enter_drain(&mut self) {
        self.state = State::Drain;
        self.pacing_gain = PACING_GAIN;
        self.cwnd_gain = CWND_GAIN;
        self.drain_start_round = self.rounds.count;
    }

    /// `CheckDrainDone`.
    pub(super) fn check_drain_done(&mut self, sample: &Sample) {
        if self.state != State::Drain {
            return;
        }
        let is_over = self.rounds.count > self.drain_start_round + MAX_ROUNDS;
        if is_over || sample.in_flight <= self.inflight(1.0) {
            self.enter_down(sample.now);
        }
    }
}

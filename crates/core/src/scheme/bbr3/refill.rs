//! `ProbeBW_REFILL`: forget the short-term bounds and fill the pipe for one round.

use super::sample::Sample;
use super::{AckPhase, Bbr3, CWND_GAIN, State};

impl Bbr3 {
    /// `StartProbeBW_REFILL`.
    pub(super) fn enter_refill(&mut self) {
        self.reset_short_term_model();
        self.probe_up_rounds = 0;
        self.probe_up_acked = 0.0;
        self.prev_probe_precautionary = false;
        self.ack_phase = AckPhase::Refilling;
        self.rounds.start(self.delivered);
        self.state = State::Refill;
        self.pacing_gain = 1.0;
        self.cwnd_gain = CWND_GAIN;
    }

    /// To `UP` after one round.
    pub(super) fn leave_refill(&mut self, sample: &Sample) {
        if self.rounds.is_start {
            self.is_bw_probe_sample = true;
            self.enter_up(sample);
        }
    }
}

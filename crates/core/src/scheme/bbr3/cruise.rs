//! `ProbeBW_CRUISE`: send what is delivered, until it is time to probe.

use super::sample::Sample;
use super::{Bbr3, CWND_GAIN, State};

impl Bbr3 {
    /// `StartProbeBW_CRUISE`.
    pub(super) fn enter_cruise(&mut self) {
        self.state = State::Cruise;
        self.pacing_gain = 1.0;
        self.cwnd_gain = CWND_GAIN;
    }

    /// To `REFILL`, when it is time.
    pub(super) fn leave_cruise(&mut self, sample: &Sample) {
        if self.is_time_to_probe_bw(sample) {
            self.enter_refill();
        }
    }
}

//! Startup: double the rate every round until the bandwidth stops growing or too much is lost (draft, "Startup").

use super::long_term::is_too_high;
use super::sample::Sample;
use super::{Bbr3, CWND_GAIN, Recovery, State, Undo};

/// `BBR.StartupPacingGain`.
pub(super) const PACING_GAIN: f64 = 2.77;
/// Discontiguous losses in a round that end it (`BBRStartupFullLossCnt`).
const FULL_LOSS_COUNT: u32 = 6;

impl Bbr3 {
    /// `EnterStartup`.
    pub(super) fn enter_startup(&mut self) {
        self.state = State::Startup;
        self.pacing_gain = PACING_GAIN;
        self.cwnd_gain = CWND_GAIN;
    }

    /// `CheckStartupDone`, after a look at the bandwidth.
    pub(super) fn check_startup_done(&mut self) {
        if self.state == State::Startup && self.full_bw.is_reached {
            self.enter_drain();
        }
    }

    /// `CheckStartupHighLoss`, at the end of a round: heavy loss after a whole round of fast recovery.
    pub(super) fn check_startup_high_loss(&mut self, sample: &Sample) {
        let has_recovered_for_a_round =
            matches!(self.recovery, Some(Recovery::Fast(since)) if self.rounds.count > since);
        if self.state != State::Startup
            || !has_recovered_for_a_round
            || self.losses.ranges < FULL_LOSS_COUNT
            || !is_too_high(sample.lost, sample.tx_in_flight)
        {
            return;
        }
        self.undo.state = Undo::Startup;
        (self.full_bw.is_reached, self.full_bw.is_now) = (true, true);
        self.inflight_longterm = self.bdp_multiple(1.0).max(self.latest.inflight);
    }
}

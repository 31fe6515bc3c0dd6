//! `ProbeBW_UP`: look for more.

use super::sample::Sample;
use super::{AckPhase, Bbr3, State};

/// `BBR.ProbeUpPacingGain` and the window's gain here.
const PACING_GAIN: f64 = 1.25;
const CWND_GAIN: f64 = 2.25;
/// The growth per round doubles so often at most.
const MAX_DOUBLINGS: u32 = 30;

impl Bbr3 {
    /// `StartProbeBW_UP`.
    pub(super) fn enter_up(&mut self, sample: &Sample) {
        self.ack_phase = AckPhase::ProbeStarting;
        self.rounds.start(self.delivered);
        self.full_bw.reset(sample.delivery_rate);
        self.state = State::Up;
        self.pacing_gain = PACING_GAIN;
        self.cwnd_gain = CWND_GAIN;
        self.raise_inflight_longterm_slope();
    }

    /// To `DOWN` when it is time.
    pub(super) fn leave_up(&mut self, sample: &Sample) {
        if self.is_time_to_go_down(sample) {
            self.prev_probe_too_high = false;
            self.enter_down(sample.now);
        }
    }

    /// `IsTimeToGoDown`, which here as there also notes what it finds.
    fn is_time_to_go_down(&mut self, sample: &Sample) -> bool {
        // What the ack leaves in flight is always less than the window.
        if self.prev_probe_too_high && sample.prior_in_flight >= self.inflight_longterm.floor() {
            self.prev_probe_precautionary = true;
            return true;
        }
        if sample.is_cwnd_limited && f64::from(self.cwnd) >= self.inflight_longterm.floor() {
            self.full_bw.reset(sample.delivery_rate);
            return false;
        }
        self.full_bw.is_now
    }

    /// `RaiseInflightLongtermSlope`.
    fn raise_inflight_longterm_slope(&mut self) {
        let growth = f64::from(1_u32 << self.probe_up_rounds);
        self.probe_up_rounds = (self.probe_up_rounds + 1).min(MAX_DOUBLINGS);
        self.probe_up_acked_per_inc = (f64::from(self.cwnd) / growth).max(1.0);
    }

    /// `ProbeInflightLongtermUpward`.
    pub(super) fn probe_inflight_longterm_upward(&mut self, sample: &Sample) {
        // The window is the bound rounded down to whole packets.
        if !sample.is_cwnd_limited || f64::from(self.cwnd) < self.inflight_longterm.floor() {
            return;
        }
        self.probe_up_acked += sample.newly_acked;
        if self.probe_up_acked >= self.probe_up_acked_per_inc {
            let delta = (self.probe_up_acked / self.probe_up_acked_per_inc).floor();
            self.probe_up_acked -= delta * self.probe_up_acked_per_inc;
            self.inflight_longterm += delta;
        }
        if self.rounds.is_start {
            self.raise_inflight_longterm_slope();
        }
    }
}

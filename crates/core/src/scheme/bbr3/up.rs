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

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "whole packets")]
mod tests {
    use super::super::tests::Path;
    use super::*;
    use crate::scheme::window::ack;

    #[test]
    fn the_bound_grows_by_a_packet_for_so_many_acknowledged_while_it_limits() {
        let mut bbr = Path::probing().bbr;
        (bbr.inflight_longterm, bbr.cwnd, bbr.probe_up_acked_per_inc) = (30.5, 30, 10.0);
        (bbr.rounds.is_start, bbr.probe_up_rounds) = (false, 3);
        let mut sample = Sample { is_cwnd_limited: true, ..Sample::new(&ack(1), 0, false) };
        for (newly_acked, bound, left) in [(9.0, 30.5, 9.0), (1.0, 31.5, 0.0), (25.0, 33.5, 5.0)] {
            bbr.cwnd = bbr.inflight_longterm as u32;
            sample.newly_acked = newly_acked;
            bbr.probe_inflight_longterm_upward(&sample);
            assert_eq!((bbr.inflight_longterm, bbr.probe_up_acked), (bound, left), "{newly_acked}");
        }
        assert_eq!((bbr.probe_up_rounds, bbr.probe_up_acked_per_inc), (3, 10.0));
        // One less than the bound holds, or a window that is not full: nothing is counted.
        for (is_cwnd_limited, cwnd) in [(true, 32), (false, 33)] {
            (sample.is_cwnd_limited, bbr.cwnd) = (is_cwnd_limited, cwnd);
            bbr.probe_inflight_longterm_upward(&sample);
            assert_eq!((bbr.inflight_longterm, bbr.probe_up_acked), (33.5, 5.0), "{cwnd}");
        }
        // With the fourth round an eighth of the window, and never less than a packet.
        (sample.is_cwnd_limited, bbr.cwnd, bbr.rounds.is_start, sample.newly_acked) = (true, 40, true, 0.0);
        for (rounds, packets) in [(4, 5.0), (5, 2.5), (6, 1.25), (7, 1.0)] {
            bbr.probe_inflight_longterm_upward(&sample);
            assert_eq!((bbr.probe_up_rounds, bbr.probe_up_acked_per_inc), (rounds, packets));
            bbr.probe_up_acked = 0.0;
        }
    }
}

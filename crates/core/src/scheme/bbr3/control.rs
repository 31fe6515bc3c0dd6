//! Pacing rate and window from the model (draft, "Updating Control Parameters").

use super::long_term::MIN_PIPE_CWND;
use super::sample::Sample;
use super::startup;
use super::{Bbr3, State};
use crate::units::{Duration, Rate};

/// `BBR.PacingMarginPercent`.
const PACING_MARGIN: f64 = 0.01;
/// `C.send_quantum` is what is paced in this time, seconds ...
const QUANTUM_TIME: f64 = 1e-3;
/// ... at most so many bytes, and at least so many packets.
const MAX_QUANTUM_BYTES: f64 = 65_536.0;
const MIN_QUANTUM: f64 = 2.0;
/// What is under way inside the two hosts, in quanta (TCP).
const OFFLOAD_QUANTA: f64 = 3.0;
/// What the window holds more while probing upward, packets.
const PROBE_UP_PACKETS: f64 = 2.0;
/// No window is larger, packets.
const MAX_CWND: f64 = (1_u32 << 30) as f64;

impl Bbr3 {
    /// `InitPacingRate`; over a millisecond while no round trip is known.
    pub(super) fn init_pacing_rate(&mut self, srtt: Option<Duration>) {
        let seconds = srtt.unwrap_or(Duration::from_millis(1)).max(Duration::from_micros(1)).as_secs_f64();
        self.pace_at(startup::PACING_GAIN * f64::from(self.cwnd) / seconds);
    }

    fn pace_at(&mut self, rate: f64) {
        self.pacing_rate = rate;
        self.packet_rate = Rate::from_bits_per_second_f64(rate * self.packet_size * 8.0);
    }

    /// `SetPacingRateWithGain`.
    pub(super) fn set_pacing_rate(&mut self, gain: f64) {
        let rate = gain * self.bw * (1.0 - PACING_MARGIN);
        if rate > 0.0 && (rate > self.pacing_rate || (self.full_bw.is_reached && rate < self.pacing_rate)) {
            self.pace_at(rate);
        }
    }

    /// `BDPMultiple`, packets, at the bandwidth in use.
    pub(super) fn bdp_multiple(&self, gain: f64) -> f64 {
        self.bdp_at(self.bw, gain)
    }

    fn bdp_at(&self, bw: f64, gain: f64) -> f64 {
        self.min_rtt.seconds.map_or(f64::from(self.initial_window), |min_rtt| gain * bw * min_rtt)
    }

    /// `QuantizationBudget`.
    fn with_budget(&self, inflight: f64) -> f64 {
        let most = (MAX_QUANTUM_BYTES / self.mss).max(MIN_QUANTUM);
        let quantum = (self.pacing_rate * QUANTUM_TIME).clamp(MIN_QUANTUM, most);
        let inflight = inflight.max(OFFLOAD_QUANTA * quantum).max(MIN_PIPE_CWND);
        if self.state == State::Up { inflight + PROBE_UP_PACKETS } else { inflight }
    }

    /// `Inflight`.
    pub(super) fn inflight(&self, gain: f64) -> f64 {
        self.inflight_at(self.bw, gain)
    }

    /// `Inflight` at another bandwidth.
    pub(super) fn inflight_at(&self, bw: f64, gain: f64) -> f64 {
        self.with_budget(self.bdp_at(bw, gain))
    }

    /// `SetCwnd`.
    pub(super) fn set_cwnd(&mut self, sample: &Sample) {
        let max_inflight = self.with_budget(self.bdp_multiple(self.cwnd_gain) + self.aggregation.extra_acked());
        let mut cwnd = f64::from(self.cwnd);
        if self.full_bw.is_reached {
            cwnd = (cwnd + sample.newly_acked).min(max_inflight);
        } else if cwnd < max_inflight || sample.total_delivered < u64::from(self.initial_window) {
            cwnd += sample.newly_acked;
        }
        cwnd = cwnd.max(MIN_PIPE_CWND);
        if self.state == State::ProbeRtt {
            cwnd = cwnd.min(self.probe_rtt_cwnd());
        }
        self.cwnd = cwnd.min(self.model_cap()).min(MAX_CWND) as u32;
    }

    /// The cap of `BoundCwndForModel`.
    fn model_cap(&self) -> f64 {
        let long_term = match self.state {
            State::Startup | State::Drain => f64::INFINITY,
            State::Down | State::Refill | State::Up => self.inflight_longterm,
            State::Cruise | State::ProbeRtt => self.inflight_with_headroom(),
        };
        long_term.min(self.inflight_shortterm).max(MIN_PIPE_CWND)
    }

    /// `SaveCwnd`.
    pub(super) fn save_cwnd(&mut self) {
        let is_cut_already = self.recovery.is_some() || self.state == State::ProbeRtt;
        self.prior_cwnd = if is_cut_already { self.prior_cwnd.max(self.cwnd) } else { self.cwnd };
    }

    /// `RestoreCwnd`.
    pub(super) fn restore_cwnd(&mut self) {
        self.cwnd = self.cwnd.max(self.prior_cwnd);
    }
}

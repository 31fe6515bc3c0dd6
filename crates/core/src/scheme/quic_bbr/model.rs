//! What an event changes in the model of the path, and the modes that follow from it.

use super::recovery::News;
use super::{Event, MIN_WINDOW, QuicBbr};
use crate::scheme::Ack;
use crate::scheme::bbr::model::{Mode, first_phase};
use crate::scheme::quic::{Bandwidth, INITIAL_RTT, MAX_WINDOW};
use crate::units::{Duration, Instant};

/// Window over bandwidth-delay product in the long run (`quic_bbr_cwnd_gain`).
pub(super) const CWND_GAIN: f32 = 2.0;
/// The gain cycle: look for more, drain what that left in the queue, cruise (`kPacingGain`).
pub(super) const CYCLE: [f32; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
/// The first phase that cruises.
const FIRST_CRUISE: usize = 2;
/// How long the shortest round trip is believed (`kMinRttExpiry`).
const MIN_RTT_EXPIRY: Duration = Duration::from_secs(10);
/// How long the window stays small when it is measured anew (`kProbeRttTime`).
const PROBE_RTT_TIME: Duration = Duration::from_millis(200);
/// The window is small once there is less than this in flight, bytes (the least window and `kMaxOutgoingPacketSize`).
const PROBE_RTT_FLIGHT: u64 = MIN_WINDOW + 1_452;

/// What the packets show that an ack acknowledges.
#[derive(Clone, Copy, Debug, Default)]
struct Findings {
    is_round_start: bool,
    /// The shortest round trip is too old.
    is_expired: bool,
}

impl QuicBbr {
    /// `OnCongestionEvent`; `None` if it is no ack.
    pub(super) fn on_event(&mut self, event: &Event, ack: Option<&Ack<'_>>) {
        let before = self.flight.delivered();
        let findings = ack.map_or_else(Findings::default, |ack| self.take_ack(event, ack));
        let acked = self.flight.delivered() - before;
        if self.mode == Mode::ProbeBandwidth {
            self.update_phase(event);
        }
        if findings.is_round_start && !self.is_app_limited {
            self.full_pipe.on_round(self.max_bandwidth());
        }
        self.check_start_up_and_drain(event.now);
        self.probe_rtt(event.now, findings);
        self.pace();
        self.update_window(acked, event.losses.bytes);
        self.flight.count_untold();
    }

    /// Rounds, bandwidth, round-trip time, recovery, ack aggregation.
    fn take_ack(&mut self, event: &Event, ack: &Ack<'_>) -> Findings {
        let Some(newest) = self.flight.acked().last().copied() else {
            self.flight.end_ack(ack);
            return Findings::default();
        };
        let before = self.flight.delivered();
        let is_round_start = self.round_end.is_none_or(|end| newest > end);
        if is_round_start {
            self.rounds += 1;
            self.round_end = Some(self.flight.newest());
        }
        let is_expired = self.take_samples(ack.now);
        self.flight.end_ack(ack);
        let has_losses = event.losses.newest.is_some();
        let sent = self.flight.newest();
        if self.recovery.on_ack(&News { acked: newest, sent, has_losses, is_round_start }) {
            self.round_end = Some(sent);
        }
        self.update_ack_height(event.now, self.flight.delivered() - before);
        Findings { is_round_start, is_expired }
    }

    /// `UpdateBandwidthAndMinRtt`; true if the shortest round trip is too old.
    fn take_samples(&mut self, now: Instant) -> bool {
        let mut shortest = None;
        if let Some(rtt) = self.flight.newest_round_trip(self.largest_acked, now) {
            self.trips.update(rtt);
        }
        for index in 0..self.flight.acked().len() {
            let number = self.flight.acked()[index];
            self.largest_acked = self.largest_acked.max(number);
            let Some(packet) = self.flight.on_acked(number, now) else { continue };
            let Some(sample) = self.flight.sample(&packet, now) else { continue };
            self.is_app_limited = sample.is_app_limited;
            if !sample.rtt.is_zero() {
                shortest = Some(shortest.map_or(sample.rtt, |shortest: Duration| shortest.min(sample.rtt)));
            }
            if !sample.is_app_limited || sample.bandwidth > self.max_bandwidth() {
                self.bandwidth.update(self.rounds, sample.bandwidth.0);
            }
        }
        shortest.is_some_and(|rtt| self.update_min_rtt(rtt, self.options.clock.read(now)))
    }

    fn update_min_rtt(&mut self, rtt: Duration, now: Instant) -> bool {
        let is_expired = self.min_rtt.is_some() && now > self.min_rtt_stamp + MIN_RTT_EXPIRY;
        if is_expired || self.min_rtt.is_none_or(|min_rtt| rtt < min_rtt) {
            self.min_rtt = Some(rtt);
            self.min_rtt_stamp = now;
        }
        is_expired
    }

    /// `UpdateAckAggregationBytes`.
    fn update_ack_height(&mut self, now: Instant, acked: u64) {
        let expected = self.max_bandwidth().bytes_in(now.since(self.epoch_start));
        if self.epoch_acked <= expected {
            self.epoch_acked = acked;
            self.epoch_start = now;
            return;
        }
        self.epoch_acked = self.epoch_acked.saturating_add(acked);
        self.ack_height.update(self.rounds, self.epoch_acked - expected);
    }

    /// `BandwidthEstimate`.
    pub(super) fn max_bandwidth(&self) -> Bandwidth {
        Bandwidth(self.bandwidth.get())
    }

    /// The least round trip, or what stands for it.
    fn round_trip(&self) -> Duration {
        self.min_rtt.unwrap_or(INITIAL_RTT)
    }

    /// Bandwidth-delay product times gain, bytes (`GetTargetCongestionWindow`).
    pub(super) fn target_window(&self, gain: f32) -> u64 {
        let scaled = |bytes: u64| (gain * bytes as f32) as u64;
        let target = scaled(self.max_bandwidth().bytes_in(self.round_trip()));
        let target = if target == 0 { scaled(self.options.initial_window) } else { target };
        target.max(MIN_WINDOW)
    }

    /// `UpdateGainCyclePhase`.
    fn update_phase(&mut self, event: &Event) {
        let is_drained = || self.flight.bytes() <= self.target_window(1.0);
        let mut is_over = event.now.since(self.phase_start) > self.round_trip();
        if self.pacing_gain > 1.0 && event.losses.newest.is_none() {
            // The path may not hold as much as this phase wants to send.
            is_over &= event.prior_in_flight >= self.target_window(self.pacing_gain);
        }
        is_over |= self.pacing_gain < 1.0 && is_drained();
        if !is_over {
            return;
        }
        let next = (self.phase + 1) % CYCLE.len();
        let is_cruise_next = next >= FIRST_CRUISE;
        let goes_on_draining =
            self.options.drains_to_target && self.pacing_gain < 1.0 && is_cruise_next && !is_drained();
        if !goes_on_draining {
            self.pacing_gain = CYCLE[next];
        }
        self.phase = next;
        self.phase_start = event.now;
    }

    /// `MaybeExitStartupOrDrain`.
    fn check_start_up_and_drain(&mut self, now: Instant) {
        if self.mode == Mode::StartUp && self.full_pipe.is_reached {
            self.mode = Mode::Drain;
            self.pacing_gain = 1.0 / self.options.startup_gain;
            self.cwnd_gain = self.options.startup_gain;
        }
        if self.mode == Mode::Drain && self.flight.bytes() <= self.target_window(1.0) {
            self.probe_bandwidth(now);
        }
    }

    /// `EnterProbeBandwidthMode`.
    fn probe_bandwidth(&mut self, now: Instant) {
        self.mode = Mode::ProbeBandwidth;
        self.cwnd_gain = CWND_GAIN;
        self.phase = first_phase(&mut self.random);
        self.phase_start = now;
        self.pacing_gain = CYCLE[self.phase];
    }

    /// `MaybeEnterOrExitProbeRtt`.
    fn probe_rtt(&mut self, now: Instant, findings: Findings) {
        let is_leaving_idle = std::mem::take(&mut self.is_leaving_idle);
        if findings.is_expired && !is_leaving_idle && self.mode != Mode::ProbeRtt {
            self.mode = Mode::ProbeRtt;
            self.pacing_gain = 1.0;
            self.probe_end = None;
        }
        if self.mode != Mode::ProbeRtt {
            return;
        }
        self.flight.on_app_limited();
        let Some(end) = self.probe_end else {
            if self.flight.bytes() < PROBE_RTT_FLIGHT {
                self.probe_end = Some(now + PROBE_RTT_TIME);
                self.is_probe_round_over = false;
            }
            return;
        };
        self.is_probe_round_over |= findings.is_round_start;
        if now < end || !self.is_probe_round_over {
            return;
        }
        self.min_rtt_stamp = now;
        if self.full_pipe.is_reached {
            self.probe_bandwidth(now);
        } else {
            self.mode = Mode::StartUp;
            (self.pacing_gain, self.cwnd_gain) = (self.options.startup_gain, self.options.startup_gain);
        }
    }

    /// `PacingRate` before anything was measured.
    pub(super) fn first_rate(&self) -> Bandwidth {
        Bandwidth::of(self.options.initial_window, self.round_trip()).scaled(self.options.startup_gain)
    }

    /// `CalculatePacingRate`: until the pipe is full the rate only grows.
    fn pace(&mut self) {
        let bandwidth = self.max_bandwidth();
        if bandwidth.is_zero() {
            return;
        }
        let rate = bandwidth.scaled(self.pacing_gain);
        self.pacing_rate = match self.trips.least() {
            _ if self.full_pipe.is_reached => rate,
            Some(least) if self.pacing_rate.is_zero() => Bandwidth::of(self.options.initial_window, least),
            _ => self.pacing_rate.max(rate),
        };
    }

    /// `CalculateCongestionWindow` and `CalculateRecoveryWindow`.
    fn update_window(&mut self, acked: u64, lost: u64) {
        if self.mode != Mode::ProbeRtt {
            let target = self.target_window(self.cwnd_gain);
            if self.full_pipe.is_reached {
                self.window = (target + self.ack_height.get()).min(self.window + acked);
            } else if self.window < target || self.flight.delivered() < self.options.initial_window {
                self.window += acked;
            }
            self.window = self.window.clamp(MIN_WINDOW, MAX_WINDOW);
        }
        self.recovery.adjust(acked, lost, self.flight.bytes());
    }
}

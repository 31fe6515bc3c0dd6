//! What an ack changes in the model of the path, and the modes that follow from it.

use super::recovery::Event;
use super::{MIN_WINDOW, News, QuicBbr};
use crate::scheme::Ack;
use crate::scheme::bbr::bandwidth::Sample;
use crate::scheme::bbr::fixed_point::{Bandwidth, GAIN_UNIT};
use crate::scheme::bbr::model::{CWND_GAIN, CYCLE, Mode, first_phase};
use crate::scheme::quic::{INITIAL_RTT, MAX_WINDOW};
use crate::units::{Duration, Instant};

/// How long the shortest round trip is believed (`kMinRttExpiry`).
const MIN_RTT_EXPIRY: Duration = Duration::from_secs(10);
/// How long the window stays small when it is measured anew (`kProbeRttTime`).
const PROBE_RTT_TIME: Duration = Duration::from_millis(200);
/// The window is small once there is less than this in flight, bytes (the least window and `kMaxOutgoingPacketSize`).
const PROBE_RTT_FLIGHT: u64 = MIN_WINDOW + 1_452;

impl QuicBbr {
    pub(super) fn update_model(&mut self, ack: &Ack<'_>, news: &News) {
        self.rounds.is_start = false;
        let is_expired = ack.newly_delivered > 0 && self.take_delivered(ack, news);
        if self.mode == Mode::ProbeBandwidth {
            self.update_phase(ack, news);
        }
        if self.rounds.is_start && !self.is_app_limited {
            self.full_pipe.on_round(self.max_bandwidth());
        }
        self.check_start_up_and_drain(ack);
        self.probe_rtt(ack, is_expired);
        self.is_leaving_idle = false;
    }

    /// Rounds, bandwidth, round-trip time, recovery, ack aggregation; true if the shortest round trip is too old.
    fn take_delivered(&mut self, ack: &Ack<'_>, news: &News) -> bool {
        let sample = Sample::of(ack, &self.limited);
        self.rounds.on_sample(&sample);
        self.is_app_limited = sample.is_app_limited;
        if let Some(bandwidth) = news.bandwidth
            && (!sample.is_app_limited || bandwidth > self.max_bandwidth())
        {
            self.bandwidth.update(self.rounds.count, bandwidth.0);
        }
        let is_expired = self.update_min_rtt(ack);
        let acked = news.newest.unwrap_or(0);
        let has_losses = news.lost > 0;
        let event = Event { acked, sent: self.flight.newest(), has_losses, is_round_start: self.rounds.is_start };
        if self.recovery.on_ack(&event) {
            self.rounds.restart(ack.delivered);
        }
        self.update_ack_height(ack, news);
        is_expired
    }

    /// The part of `UpdateBandwidthAndMinRtt` that is about the round-trip time.
    fn update_min_rtt(&mut self, ack: &Ack<'_>) -> bool {
        // In whole microseconds, as `QuicTime` has it: one shorter by nanoseconds does not put off the look at the empty path.
        let Some(rtt) = ack.rtt.map(|rtt| Duration::from_micros(rtt.as_micros())) else { return false };
        let is_expired = self.min_rtt.is_some() && ack.now > self.min_rtt_stamp + MIN_RTT_EXPIRY;
        if is_expired || self.min_rtt.is_none_or(|min_rtt| rtt < min_rtt) {
            self.min_rtt = Some(rtt);
            self.min_rtt_stamp = ack.now;
        }
        is_expired
    }

    /// `UpdateAckAggregationBytes`.
    fn update_ack_height(&mut self, ack: &Ack<'_>, news: &News) {
        let expected = self.max_bandwidth().bytes_in(ack.now.since(self.epoch_start).as_micros());
        if self.epoch_acked <= expected {
            self.epoch_acked = news.acked;
            self.epoch_start = ack.now;
            return;
        }
        self.epoch_acked = self.epoch_acked.saturating_add(news.acked);
        self.ack_height.update(self.rounds.count, self.epoch_acked - expected);
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
    pub(super) fn target_window(&self, gain: u32) -> u64 {
        let per_second = self.max_bandwidth().bytes_per_second(1, gain, 0);
        let bytes = u128::from(per_second) * u128::from(self.round_trip().as_micros()) / 1_000_000;
        let target = if bytes == 0 {
            u128::from(self.options.initial_window * u64::from(gain) / u64::from(GAIN_UNIT))
        } else {
            bytes
        };
        (target.min(u128::from(u64::MAX >> 1)) as u64).max(MIN_WINDOW)
    }

    /// `UpdateGainCyclePhase`.
    fn update_phase(&mut self, ack: &Ack<'_>, news: &News) {
        let is_drained = || self.flight.bytes() <= self.target_window(GAIN_UNIT);
        let mut is_over = ack.now.since(self.phase_start) > self.round_trip();
        if self.pacing_gain > GAIN_UNIT {
            // The path may not hold as much as this phase wants to send.
            is_over &= news.lost > 0 || news.prior_in_flight >= self.target_window(self.pacing_gain);
        }
        is_over |= self.pacing_gain < GAIN_UNIT && is_drained();
        if !is_over {
            return;
        }
        let next = (self.phase + 1) % CYCLE.len();
        let goes_on_draining =
            self.options.drains_to_target && self.pacing_gain < GAIN_UNIT && CYCLE[next] == GAIN_UNIT && !is_drained();
        if !goes_on_draining {
            self.pacing_gain = CYCLE[next];
        }
        self.phase = next;
        self.phase_start = ack.now;
    }

    /// `MaybeExitStartupOrDrain`.
    fn check_start_up_and_drain(&mut self, ack: &Ack<'_>) {
        if self.mode == Mode::StartUp && self.full_pipe.is_reached {
            self.mode = Mode::Drain;
            self.pacing_gain = GAIN_UNIT * GAIN_UNIT / self.options.startup_gain;
            self.cwnd_gain = self.options.startup_gain;
        }
        if self.mode == Mode::Drain && self.flight.bytes() <= self.target_window(GAIN_UNIT) {
            self.probe_bandwidth(ack.now);
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
    fn probe_rtt(&mut self, ack: &Ack<'_>, is_expired: bool) {
        if is_expired && !self.is_leaving_idle && self.mode != Mode::ProbeRtt {
            self.mode = Mode::ProbeRtt;
            self.pacing_gain = GAIN_UNIT;
            self.probe_end = None;
            self.limited.begin(ack.delivered);
        }
        if self.mode != Mode::ProbeRtt {
            return;
        }
        self.limited.extend(ack.delivered, ack.in_flight);
        let Some(end) = self.probe_end else {
            if self.flight.bytes() < PROBE_RTT_FLIGHT {
                self.probe_end = Some(ack.now + PROBE_RTT_TIME);
                self.is_probe_round_over = false;
            }
            return;
        };
        self.is_probe_round_over |= self.rounds.is_start;
        if ack.now < end || !self.is_probe_round_over {
            return;
        }
        self.min_rtt_stamp = ack.now;
        if self.full_pipe.is_reached {
            self.probe_bandwidth(ack.now);
        } else {
            self.mode = Mode::StartUp;
            (self.pacing_gain, self.cwnd_gain) = (self.options.startup_gain, self.options.startup_gain);
        }
    }

    /// `CalculatePacingRate`: until the pipe is full the rate only grows.
    pub(super) fn pace(&mut self) {
        let rate = self.max_bandwidth().bytes_per_second(1, self.pacing_gain, 0);
        if rate == 0 {
            return;
        }
        self.pacing_rate = match self.min_rtt {
            _ if self.full_pipe.is_reached => rate,
            Some(min_rtt) if self.pacing_rate == 0 => {
                self.options.initial_window * 1_000_000 / min_rtt.min(self.options.first_rtt).as_micros().max(1)
            }
            _ => self.pacing_rate.max(rate),
        };
    }

    /// `CalculateCongestionWindow` and `CalculateRecoveryWindow`.
    pub(super) fn update_window(&mut self, news: &News) {
        if self.mode != Mode::ProbeRtt {
            let target = self.target_window(self.cwnd_gain);
            if self.full_pipe.is_reached {
                self.window = (target + self.ack_height.get()).min(self.window + news.acked);
            } else if self.window < target || self.flight.delivered() < self.options.initial_window {
                self.window += news.acked;
            }
            self.window = self.window.clamp(MIN_WINDOW, MAX_WINDOW);
        }
        self.recovery.adjust(news.acked, news.lost, self.flight.bytes());
    }
}

//! What an ack changes in the model of the path, and the modes that follow from it (`bbr_update_model`).

use std::hint::cold_path;

use super::Bbr;
use super::bandwidth::{Limited, Sample};
use super::fixed_point::GAIN_UNIT;
use super::long_term::{Observation, Verdict};
use crate::info::Quantity;
use crate::random::RandomStream;
use crate::scheme::Ack;
use crate::units::{Duration, Instant};

/// Gain of start-up: the least that doubles the rate every round, 2 / ln 2 (`bbr_high_gain`).
pub(super) const HIGH_GAIN: u32 = GAIN_UNIT * 2_885 / 1_000 + 1;
/// Its inverse empties in one round the queue that start-up left (`bbr_drain_gain`).
pub(super) const DRAIN_GAIN: u32 = GAIN_UNIT * 1_000 / 2_885;
/// Window over bandwidth-delay product in the long run (`bbr_cwnd_gain`).
pub(super) const CWND_GAIN: u32 = GAIN_UNIT * 2;
/// The gain cycle: look for more, drain what that left in the queue, cruise (`bbr_pacing_gain`).
pub(super) const CYCLE: [u32; 8] =
    [GAIN_UNIT * 5 / 4, GAIN_UNIT * 3 / 4, GAIN_UNIT, GAIN_UNIT, GAIN_UNIT, GAIN_UNIT, GAIN_UNIT, GAIN_UNIT];
/// The cycle starts anywhere but in the phase that drains (`bbr_cycle_rand`).
const CYCLE_STARTS: u64 = 7;
/// How long the shortest round trip is believed, ms (`bbr_min_rtt_win_sec`).
const MIN_RTT_WINDOW_MS: u64 = 10_000;
/// The window never falls below this, and is no larger while the round trip is measured anew, packets
/// (`bbr_cwnd_min_target`).
pub(super) const MIN_WINDOW: u32 = 4;
/// How long the window stays small when it is measured anew, ms (`bbr_probe_rtt_mode_ms`).
const PROBE_RTT_MS: u64 = 200;

/// What the sender is after; in this order the numbers of the telemetry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::scheme) enum Mode {
    /// Fill the pipe.
    StartUp,
    /// Empty the queue that this left.
    Drain,
    /// Share the bandwidth and look for more.
    ProbeBandwidth,
    /// Look at the empty path.
    ProbeRtt,
}

/// The mode in telemetry.
pub(in crate::scheme) const MODE: Quantity =
    Quantity { name: "mode", unit: "", doc: "0 start-up, 1 drain, 2 probing bandwidth, 3 probing the round-trip time" };

/// The phase in which a gain cycle begins.
pub(in crate::scheme) fn first_phase(random: &mut RandomStream) -> usize {
    (CYCLE.len() - random.below(CYCLE_STARTS) as usize) % CYCLE.len()
}

/// The shortest round trip, and the probe that renews it.
#[derive(Debug, Default)]
pub(super) struct MinRtt {
    /// Microseconds; `None` before the first sample.
    pub(super) micros: Option<u64>,
    /// When it was measured, ms; `None` before the flow starts.
    stamp: Option<u64>,
    /// When the probe under way may end, ms; `None` while too much is in flight.
    probe_end: Option<u64>,
    is_probe_round_over: bool,
    pub(super) limited: Limited,
}

impl MinRtt {
    /// The flow is alive at `now`.
    pub(super) fn start(&mut self, now: Instant) {
        self.stamp.get_or_insert_with(|| now.as_millis());
    }
}

impl Bbr {
    pub(super) fn update_model(&mut self, ack: &Ack<'_>) {
        self.delivered = ack.delivered;
        if ack.newly_delivered > 0 {
            self.delivered_at = ack.now.as_micros();
        }
        let sample = Sample::of(ack, &self.min_rtt.limited);
        self.update_bandwidth(ack, &sample);
        self.update_phase(ack);
        if self.rounds.is_start && !sample.is_app_limited {
            self.full_pipe.on_round(self.bandwidth.max());
        }
        self.check_drain(ack);
        self.update_min_rtt(ack);
        (self.pacing_gain, self.cwnd_gain) = self.gains();
    }

    /// `bbr_update_gains`.
    fn gains(&self) -> (u32, u32) {
        if self.mode == Mode::ProbeBandwidth {
            let is_policed = self.long_term.bandwidth_in_use().is_some();
            return (if is_policed { GAIN_UNIT } else { CYCLE[self.phase] }, CWND_GAIN);
        }
        cold_path();
        match self.mode {
            Mode::StartUp => (HIGH_GAIN, HIGH_GAIN),
            Mode::Drain => (DRAIN_GAIN, HIGH_GAIN),
            Mode::ProbeBandwidth | Mode::ProbeRtt => (GAIN_UNIT, GAIN_UNIT),
        }
    }

    /// `bbr_update_bw` and `bbr_update_ack_aggregation`.
    fn update_bandwidth(&mut self, ack: &Ack<'_>, sample: &Sample) {
        self.rounds.is_start = false;
        let Some(bandwidth) = sample.bandwidth else { return };
        self.rounds.on_sample(sample);
        if self.rounds.is_start {
            self.is_conserving = false;
        }
        self.watch_policer(ack.newly_lost > 0, sample.is_app_limited);
        self.bandwidth.on_sample(self.rounds.count, bandwidth, sample.is_app_limited);
        if self.generation.is_current && ack.newly_delivered > 0 {
            let (now, bandwidth) = (self.delivered_at, self.bandwidth());
            self.aggregation.on_acked(now, ack.newly_delivered, bandwidth, self.cwnd, self.rounds.is_start);
        }
    }

    pub(super) fn watch_policer(&mut self, is_loss: bool, is_app_limited: bool) {
        let verdict = self.long_term.observe(&Observation {
            delivered: self.delivered,
            lost: self.lost,
            delivered_at_ms: self.delivered_at / 1_000,
            is_loss,
            is_app_limited,
            is_round_start: self.rounds.is_start,
            is_probing_bandwidth: self.mode == Mode::ProbeBandwidth,
        });
        match verdict {
            Verdict::Nothing => {}
            Verdict::Policed => self.pacing_gain = GAIN_UNIT,
            Verdict::Expired => self.probe_bandwidth(),
        }
    }

    /// Moves on in the gain cycle when it is time (`bbr_update_cycle_phase`).
    fn update_phase(&mut self, ack: &Ack<'_>) {
        if self.mode == Mode::ProbeBandwidth && self.is_phase_over(ack) {
            self.next_phase();
        }
    }

    /// `bbr_is_next_cycle_phase`.
    fn is_phase_over(&self, ack: &Ack<'_>) -> bool {
        let is_full_length =
            self.min_rtt.micros.is_some_and(|min_rtt| self.delivered_at.saturating_sub(self.phase_start) > min_rtt);
        if self.pacing_gain == GAIN_UNIT {
            return is_full_length;
        }
        let in_net = self.packets_in_net(ack.prior_in_flight, ack);
        if self.pacing_gain > GAIN_UNIT {
            // The path may not hold as much as this phase wants to send.
            return is_full_length && (ack.newly_lost > 0 || in_net >= self.inflight(self.pacing_gain));
        }
        is_full_length || in_net <= self.inflight(GAIN_UNIT)
    }

    /// `bbr_advance_cycle_phase`.
    #[cold]
    fn next_phase(&mut self) {
        self.phase = (self.phase + 1) % CYCLE.len();
        self.phase_start = self.delivered_at;
    }

    /// `bbr_reset_probe_bw_mode`.
    #[cold]
    pub(super) fn probe_bandwidth(&mut self) {
        self.mode = Mode::ProbeBandwidth;
        self.phase = first_phase(&mut self.random);
        self.phase_start = self.delivered_at;
        if !self.generation.is_current {
            (self.pacing_gain, self.cwnd_gain) = self.gains();
        }
    }

    /// `bbr_check_drain`.
    fn check_drain(&mut self, ack: &Ack<'_>) {
        if self.mode == Mode::StartUp && self.full_pipe.is_reached {
            self.mode = Mode::Drain;
            self.ssthresh = Some(self.inflight(GAIN_UNIT));
        }
        if self.mode == Mode::Drain && self.packets_in_net(ack.in_flight, ack) <= self.inflight(GAIN_UNIT) {
            self.probe_bandwidth();
        }
    }

    /// `bbr_update_min_rtt`.
    fn update_min_rtt(&mut self, ack: &Ack<'_>) {
        let now = ack.now.as_millis();
        let is_expired = now > *self.min_rtt.stamp.get_or_insert(now) + MIN_RTT_WINDOW_MS;
        if let Some(rtt) = ack.rtt.map(Duration::as_micros) {
            let is_current = self.generation.is_current;
            let is_lower = self.min_rtt.micros.is_none_or(|min_rtt| rtt < min_rtt || (!is_current && rtt == min_rtt));
            if is_lower || (is_expired && !ack.is_delayed) {
                self.min_rtt.micros = Some(rtt);
                self.min_rtt.stamp = Some(now);
            }
        }
        if is_expired && !self.is_idle_restart && self.mode != Mode::ProbeRtt {
            self.mode = Mode::ProbeRtt;
            self.save_window();
            self.min_rtt.probe_end = None;
            self.min_rtt.limited.begin(ack.delivered);
        }
        if self.mode == Mode::ProbeRtt {
            self.probe_rtt(ack);
        }
        if ack.rate.delivered > 0 {
            self.is_idle_restart = false;
        }
    }

    /// Four packets in flight for 200 ms and a round; none of them shows the bandwidth.
    #[inline(never)]
    fn probe_rtt(&mut self, ack: &Ack<'_>) {
        self.min_rtt.limited.extend(ack.delivered, ack.in_flight);
        if self.min_rtt.probe_end.is_some() {
            self.min_rtt.is_probe_round_over |= self.rounds.is_start;
            if self.min_rtt.is_probe_round_over {
                self.end_rtt_probe(ack.now);
            }
        } else if ack.in_flight <= MIN_WINDOW {
            self.min_rtt.probe_end = Some(ack.now.as_millis() + PROBE_RTT_MS);
            self.min_rtt.is_probe_round_over = false;
            self.rounds.restart(ack.delivered);
        }
    }

    /// `bbr_check_probe_rtt_done`.
    pub(super) fn end_rtt_probe(&mut self, now: Instant) {
        if self.min_rtt.probe_end.is_none_or(|end| now.as_millis() <= end) {
            return;
        }
        self.min_rtt.stamp = Some(now.as_millis());
        if self.generation.is_current {
            self.cwnd = self.cwnd.max(self.prior_cwnd);
        } else {
            self.is_restoring = true;
        }
        if self.full_pipe.is_reached {
            self.probe_bandwidth();
        } else {
            self.mode = Mode::StartUp;
        }
    }
}

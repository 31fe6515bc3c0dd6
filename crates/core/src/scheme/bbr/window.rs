//! How much may be in flight (`bbr_set_cwnd`).

use super::Bbr;
use super::fixed_point::{Bandwidth, GAIN_UNIT, MAX_PACKETS};
use super::model::{MIN_WINDOW, Mode};
use crate::scheme::{Ack, INITIAL_WINDOW, State};

/// What is added to the window while probing, so that even a tiny one grows.
const PROBE_PACKETS: u32 = 2;
/// A SYN counts as a packet delivered (`tcp_clean_rtx_queue`).
const SYN: u64 = 1;

impl Bbr {
    /// Adds what is under way inside the two hosts (`bbr_quantization_budget`).
    fn with_budget(&self, packets: u32) -> u32 {
        let even = packets.saturating_add(3 * self.segment_goal + 1) & !1;
        let is_probing = self.generation.is_current && self.mode == Mode::ProbeBandwidth && self.phase == 0;
        even.saturating_add(if is_probing { PROBE_PACKETS } else { 0 })
    }

    /// Bandwidth in use times shortest round trip times gain (`bbr_bdp`).
    fn bdp(&self, bandwidth: Bandwidth, gain: u32) -> u32 {
        self.min_rtt.micros.map_or(INITIAL_WINDOW, |min_rtt| bandwidth.bdp(min_rtt, gain))
    }

    /// What is to be in flight at the filter's bandwidth (`bbr_inflight`).
    pub(super) fn inflight(&self, gain: u32) -> u32 {
        self.with_budget(self.bdp(self.bandwidth.max(), gain))
    }

    /// What will be in the network when the pacer lets the next packet go (`bbr_packets_in_net_at_edt`).
    pub(super) fn packets_in_net(&self, in_flight: u32, ack: &Ack<'_>) -> u32 {
        if !self.generation.is_current {
            return in_flight;
        }
        let growing = if self.pacing_gain > GAIN_UNIT { self.segment_goal } else { 0 };
        let delivered_until = self.bandwidth().packets_in(ack.next_departure.since(ack.now).as_micros());
        (in_flight + growing).saturating_sub(delivered_until)
    }

    /// Remembers a window that was good (`bbr_save_cwnd`).
    pub(super) fn save_window(&mut self) {
        let is_cut_already = self.previous_state >= State::Recovery || self.mode == Mode::ProbeRtt;
        self.prior_cwnd = if is_cut_already { self.prior_cwnd.max(self.cwnd) } else { self.cwnd };
    }

    pub(super) fn update_window(&mut self, ack: &Ack<'_>) {
        if ack.newly_delivered > 0 {
            self.cwnd = self.window_after(ack);
        }
        if self.mode == Mode::ProbeRtt && (ack.newly_delivered > 0 || self.generation.is_current) {
            self.cwnd = self.cwnd.min(MIN_WINDOW);
        }
    }

    fn window_after(&mut self, ack: &Ack<'_>) -> u32 {
        let acked = ack.newly_delivered;
        let cwnd = self.recover_or_restore(ack);
        if self.is_conserving {
            return cwnd.max(ack.in_flight + acked);
        }
        let mut target = self.bdp(self.bandwidth(), self.cwnd_gain);
        if self.full_pipe.is_reached {
            target += self.aggregation.extra_window(self.bandwidth());
        }
        let target = self.with_budget(target);
        let grown = if self.full_pipe.is_reached {
            target.min(cwnd + acked)
        } else if cwnd < target || SYN + ack.delivered < u64::from(INITIAL_WINDOW) {
            cwnd + acked
        } else {
            cwnd
        };
        grown.clamp(MIN_WINDOW, MAX_PACKETS)
    }

    /// Packet conservation in the first round of recovery; the old window after it
    /// (`bbr_set_cwnd_to_recover_or_restore`).
    fn recover_or_restore(&mut self, ack: &Ack<'_>) -> u32 {
        let mut cwnd = self.cwnd.saturating_sub(ack.newly_lost).max(1);
        let previous = std::mem::replace(&mut self.previous_state, ack.state);
        if ack.state == State::Recovery && previous != State::Recovery {
            self.is_conserving = true;
            self.rounds.restart(ack.delivered);
            cwnd = ack.in_flight + ack.newly_delivered;
        } else if previous >= State::Recovery && ack.state < State::Recovery {
            self.is_restoring = true;
            self.is_conserving = false;
        }
        if std::mem::take(&mut self.is_restoring) { cwnd.max(self.prior_cwnd) } else { cwnd }
    }
}

//! The variables of the draft's pseudocode, as telemetry: what its example test cases refer to.

use super::Bbr3;
use crate::info::Quantity;
use crate::units::Duration;

const fn quantity(name: &'static str, unit: &'static str, doc: &'static str) -> Quantity {
    Quantity { name, unit, doc }
}

/// Rates are of payload. What is infinite or not known yet is absent.
pub(super) const QUANTITIES: &[Quantity] = &[
    quantity(
        "bbr_state",
        "",
        "0 Startup, 1 Drain, 2 ProbeBW_DOWN, 3 ProbeBW_CRUISE, 4 ProbeBW_REFILL, 5 ProbeBW_UP, 6 ProbeRTT",
    ),
    quantity("bw", "bit/s", "bandwidth in use, payload"),
    quantity("max_bw", "bit/s", "most that was delivered in two cycles of probing, payload"),
    quantity("bw_latest", "bit/s", "most that was delivered in this round, payload"),
    quantity("bw_shortterm", "bit/s", "bound set by losses; absent while there is none"),
    quantity("inflight_latest", "packets", "most that was delivered in a round trip of this round"),
    quantity("inflight_longterm", "packets", "what the path holds; absent while not known"),
    quantity("inflight_shortterm", "packets", "bound set by losses; absent while there is none"),
    quantity("inflight_bdp", "packets", "BBRInflight(1.0): one bandwidth-delay product, with the quantisation budget"),
    quantity("inflight_with_headroom", "packets", "inflight_longterm with room for others; absent while not known"),
    quantity("model_min_rtt", "ms", "shortest round trip of the last ten seconds"),
    quantity("probe_rtt_min_delay", "ms", "shortest round trip of the last five seconds"),
    quantity("pacing_gain", "", "pacing rate over bandwidth"),
    quantity("cwnd_gain", "", "window over bandwidth-delay product"),
    quantity("prior_cwnd", "packets", "window to be restored after a recovery or a probe of the round trip"),
    quantity("round_count", "", "round trips so far"),
    quantity("drain_start_round", "", "round in which Drain began"),
    quantity("full_bw", "bit/s", "rate that the full-pipe estimator compares with, payload"),
    quantity("full_bw_count", "", "rounds without growth"),
    quantity("full_bw_now", "", "1 while the pipe is found full, until the next probe"),
    quantity("full_bw_reached", "", "1 once the pipe was found full"),
    quantity("extra_acked", "packets", "most acknowledged beyond what the bandwidth explains"),
    quantity("loss_in_round", "", "1 if this round saw a loss"),
    quantity("loss_ranges_in_round", "", "runs of transmissions that were lost in this round"),
    quantity("rounds_since_probe", "", "round trips since the last probe for bandwidth"),
    quantity("bw_probe_wait", "s", "longest time between two probes, this time"),
    quantity("bw_probe_samples", "", "1 while acks tell of packets sent while probing"),
    quantity("prev_probe_too_high", "", "1 if the last probe lost too much"),
    quantity("prev_probe_precautionary", "", "1 if the last probe ended early because the one before it lost too much"),
    quantity("probe_up_rounds", "", "how often the growth of inflight_longterm has doubled"),
    quantity("probe_up_acked_per_inc", "packets", "what is acknowledged while inflight_longterm grows by one"),
    quantity("ack_phase", "", "0 init, 1 refilling, 2 probe starting, 3 feedback, 4 stopping"),
    quantity("app_limited", "", "1 if the application limited the newest sample, or a probe of the round trip did"),
    quantity("idle_restart", "", "1 from a restart after idleness to the next ack"),
    quantity("undo_state", "", "state that a loss made the flow leave: 0 none, 1 Startup, 2 ProbeBW_UP"),
    quantity("undo_bw_shortterm", "bit/s", "bw_shortterm before the losses"),
    quantity("undo_inflight_shortterm", "packets", "inflight_shortterm before the losses"),
    quantity("undo_inflight_longterm", "packets", "inflight_longterm before the losses"),
];

impl Bbr3 {
    /// Reports every quantity that is known and finite.
    pub(super) fn report(&self, report: &mut dyn FnMut(&'static str, f64)) {
        let mut known = |name, value: f64| {
            if value.is_finite() {
                report(name, value);
            }
        };
        self.report_model(&mut known);
        self.report_progress(&mut known);
    }

    fn report_model(&self, known: &mut impl FnMut(&'static str, f64)) {
        let bits = |rate: f64| rate * self.mss * 8.0;
        let millis = |time: Option<Duration>| time.map_or(f64::INFINITY, |time| time.as_secs_f64() * 1e3);
        known("bw", bits(self.bw));
        known("max_bw", bits(self.max_bw.get()));
        known("bw_latest", bits(self.latest.bw));
        known("bw_shortterm", bits(self.bw_shortterm));
        known("inflight_latest", self.latest.inflight);
        known("inflight_longterm", self.inflight_longterm);
        known("inflight_shortterm", self.inflight_shortterm);
        known("inflight_bdp", self.inflight(1.0));
        known("inflight_with_headroom", self.inflight_with_headroom());
        known("model_min_rtt", millis(self.min_rtt.value));
        known("probe_rtt_min_delay", millis(self.min_rtt.probe_value));
        known("pacing_gain", self.pacing_gain);
        known("cwnd_gain", self.cwnd_gain);
        known("prior_cwnd", f64::from(self.prior_cwnd));
        known("extra_acked", self.aggregation.extra_acked());
        known("undo_bw_shortterm", bits(self.undo.bw_shortterm));
        known("undo_inflight_shortterm", self.undo.inflight_shortterm);
        known("undo_inflight_longterm", self.undo.inflight_longterm);
    }

    fn report_progress(&self, known: &mut impl FnMut(&'static str, f64)) {
        let flag = |is_set: bool| f64::from(u8::from(is_set));
        known("bbr_state", f64::from(self.state as u8));
        known("round_count", self.rounds.count as f64);
        known("drain_start_round", self.drain_start_round as f64);
        known("full_bw", self.full_bw.bw * self.mss * 8.0);
        known("full_bw_count", f64::from(self.full_bw.count));
        known("full_bw_now", flag(self.full_bw.is_now));
        known("full_bw_reached", flag(self.full_bw.is_reached));
        known("loss_in_round", flag(self.latest.is_loss_in_round));
        known("loss_ranges_in_round", f64::from(self.losses.ranges));
        known("rounds_since_probe", f64::from(self.rounds_since_probe_up));
        known("bw_probe_wait", self.bw_probe_wait.as_secs_f64());
        known("bw_probe_samples", flag(self.is_bw_probe_sample));
        known("prev_probe_too_high", flag(self.prev_probe_too_high));
        known("prev_probe_precautionary", flag(self.prev_probe_precautionary));
        known("probe_up_rounds", f64::from(self.probe_up_rounds));
        known("probe_up_acked_per_inc", self.probe_up_acked_per_inc);
        known("ack_phase", f64::from(self.ack_phase as u8));
        known("app_limited", flag(self.is_app_limited));
        known("idle_restart", flag(self.is_idle_restart));
        known("undo_state", f64::from(self.undo.state as u8));
    }
}

//! The model of the path: rounds, bandwidth, delivery of the last round, aggregation (draft, "Updating Network Path
//! Model Parameters").

use super::sample::Sample;
use super::{Bbr3, State};
use crate::filter::WindowedMax;
use crate::units::Instant;

/// `BBR.Beta`: what a reaction to loss leaves at least.
pub(super) const BETA: f64 = 0.7;
/// `BBR.ExtraAckedFilterLen`, rounds.
const EXTRA_ACKED_ROUNDS: u64 = 10;
/// The same until the pipe is full.
const STARTUP_ROUNDS: u64 = 1;
/// Fixed-point scale of the aggregation filter, which holds whole numbers.
const SCALE: f64 = 256.0;

/// Packet-timed round trips.
#[derive(Debug, Default)]
pub(super) struct Rounds {
    pub(super) count: u64,
    pub(super) is_start: bool,
    next_delivered: u64,
}

impl Rounds {
    /// `StartRound`.
    pub(super) fn start(&mut self, delivered: u64) {
        self.next_delivered = delivered;
    }

    /// `UpdateRound`, without the count of rounds since the last probe.
    fn update(&mut self, sample: &Sample) {
        self.is_start = sample.prior_delivered >= self.next_delivered;
        if self.is_start {
            self.start(sample.total_delivered);
            self.count += 1;
        }
    }
}

/// What was delivered in the last round, and whether it saw a loss.
#[derive(Debug, Default)]
pub(super) struct Latest {
    pub(super) bw: f64,
    pub(super) inflight: f64,
    pub(super) is_loss_in_round: bool,
    pub(super) is_round_start: bool,
    pub(super) round_delivered: u64,
}

/// The most that was delivered in this cycle of probing and the one before (`BBR.MaxBwFilterLen` is 2).
#[derive(Debug, Default)]
pub(super) struct MaxBw([f64; 2]);

impl MaxBw {
    pub(super) fn get(&self) -> f64 {
        self.0[0].max(self.0[1])
    }

    fn update(&mut self, rate: f64) {
        self.0[1] = self.0[1].max(rate);
    }

    /// `AdvanceMaxBwFilter`. A cycle without a sample does not count: there is always a bandwidth, once there was one.
    pub(super) fn advance(&mut self) {
        if self.0[1] > 0.0 {
            self.0 = [self.0[1], 0.0];
        }
    }
}

/// The full-pipe estimator.
#[derive(Debug, Default)]
pub(super) struct FullBw {
    pub(super) bw: f64,
    pub(super) count: u32,
    pub(super) is_now: bool,
    pub(super) is_reached: bool,
}

impl FullBw {
    /// `ResetFullBW`, with the rate to compare with from now on.
    pub(super) fn reset(&mut self, bw: f64) {
        (self.bw, self.count, self.is_now) = (bw, 0, false);
    }

    /// `CheckFullBWReached`, at the start of a round that the application did not limit.
    fn check(&mut self, rate: f64) {
        if rate >= self.bw * 1.25 {
            self.reset(rate);
            return;
        }
        self.count += 1;
        self.is_now = self.count >= 3;
        self.is_reached |= self.is_now;
    }
}

/// Acks that come in lumps.
#[derive(Debug)]
pub(super) struct Aggregation {
    start: Instant,
    delivered: f64,
    filter: WindowedMax,
}

impl Aggregation {
    pub(super) fn new() -> Self {
        Self { start: Instant::ZERO, delivered: 0.0, filter: WindowedMax::new(STARTUP_ROUNDS) }
    }

    /// A new interval begins.
    pub(super) fn restart(&mut self, now: Instant) {
        self.start = now;
    }

    /// `BBR.extra_acked`, packets.
    pub(super) fn extra_acked(&self) -> f64 {
        self.filter.get().unwrap_or(0) as f64 / SCALE
    }

    fn update(&mut self, sample: &Sample, bw: f64, cwnd: f64, round: u64, is_full: bool) {
        let mut expected = bw * sample.now.since(self.start).as_secs_f64();
        if self.delivered <= expected {
            self.delivered = 0.0;
            self.start = sample.now;
            expected = 0.0;
        }
        self.delivered += sample.newly_acked;
        let extra = ((self.delivered - expected).min(cwnd) * SCALE) as u64;
        self.filter.set_window(if is_full { EXTRA_ACKED_ROUNDS } else { STARTUP_ROUNDS });
        self.filter.update(round, extra);
    }
}

impl Bbr3 {
    /// `UpdateModelAndState`.
    pub(super) fn update_model_and_state(&mut self, sample: &Sample) {
        self.update_latest_delivery_signals(sample);
        self.update_congestion_signals(sample);
        let (bw, cwnd) = (self.bw, f64::from(self.cwnd));
        self.aggregation.update(sample, bw, cwnd, self.rounds.count, self.full_bw.is_reached);
        if !self.full_bw.is_now && self.rounds.is_start && !sample.is_app_limited {
            self.full_bw.check(sample.delivery_rate);
        }
        self.check_startup_done();
        self.check_drain_done(sample);
        self.update_probe_bw(sample);
        self.update_min_rtt(sample);
        self.check_probe_rtt(sample);
        if self.latest.is_round_start {
            (self.latest.bw, self.latest.inflight) = (sample.delivery_rate, sample.delivered);
        }
        self.bw = self.max_bw.get().min(self.bw_shortterm);
    }

    /// `UpdateLatestDeliverySignals`.
    fn update_latest_delivery_signals(&mut self, sample: &Sample) {
        self.latest.bw = self.latest.bw.max(sample.delivery_rate);
        self.latest.inflight = self.latest.inflight.max(sample.delivered);
        self.latest.is_round_start = sample.prior_delivered >= self.latest.round_delivered;
        if self.latest.is_round_start {
            self.latest.round_delivered = sample.total_delivered;
        }
    }

    /// `ResetCongestionSignals`.
    pub(super) fn reset_congestion_signals(&mut self) {
        self.latest.is_loss_in_round = false;
        (self.latest.bw, self.latest.inflight) = (0.0, 0.0);
    }

    /// `UpdateCongestionSignals` and `UpdateMaxBw`.
    fn update_congestion_signals(&mut self, sample: &Sample) {
        self.rounds.update(sample);
        self.rounds_since_probe_up += u32::from(self.rounds.is_start);
        if sample.delivery_rate > 0.0 && (sample.delivery_rate >= self.max_bw.get() || !sample.is_app_limited) {
            self.max_bw.update(sample.delivery_rate);
        }
        if !self.latest.is_round_start {
            return;
        }
        if self.latest.is_loss_in_round && !self.is_probing_bw() {
            self.adapt_lower_bounds();
        }
        // Start-up looks at the round that ends now before it is forgotten.
        self.check_startup_high_loss(sample);
        self.latest.is_loss_in_round = false;
        self.losses.ranges = 0;
    }

    /// `InitLowerBounds` and `LossLowerBounds`.
    fn adapt_lower_bounds(&mut self) {
        if self.bw_shortterm.is_infinite() {
            self.bw_shortterm = self.max_bw.get();
        }
        if self.inflight_shortterm.is_infinite() {
            self.inflight_shortterm = f64::from(self.cwnd);
        }
        self.bw_shortterm = self.latest.bw.max(BETA * self.bw_shortterm);
        self.inflight_shortterm = self.latest.inflight.max(BETA * self.inflight_shortterm);
    }

    /// `ResetShortTermModel`.
    pub(super) fn reset_short_term_model(&mut self) {
        self.bw_shortterm = f64::INFINITY;
        self.inflight_shortterm = f64::INFINITY;
    }

    /// `IsProbingBW`.
    fn is_probing_bw(&self) -> bool {
        matches!(self.state, State::Startup | State::Refill | State::Up)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheme::window::ack;
    use crate::units::Duration;

    #[test]
    fn a_quarter_more_is_growth_and_less_is_none() {
        let mut full_bw = FullBw::default();
        full_bw.reset(100.0);
        full_bw.check(124.0);
        assert_eq!((full_bw.bw as u32, full_bw.count), (100, 1));
        full_bw.check(125.0);
        assert_eq!((full_bw.bw as u32, full_bw.count), (125, 0));
    }

    #[test]
    fn a_lump_of_acks_is_remembered_for_a_round_and_for_ten_once_the_pipe_is_full() {
        let lump = |rounds: u64, is_full| {
            let mut aggregation = Aggregation::new();
            let mut update = |acked, round| {
                let mut sample = Sample::new(&ack(acked), 0, false);
                sample.now = Instant::from_nanos(round * 1_000_000_000);
                aggregation.update(&sample, 100.0, 100.0, round, is_full);
            };
            update(50, 1);
            (2..=1 + rounds).for_each(|round| update(1, round));
            aggregation.extra_acked()
        };
        for (rounds, is_full, is_known) in [(1, false, true), (2, false, false), (10, true, true), (11, true, false)] {
            assert_eq!(lump(rounds, is_full) >= 50.0, is_known, "{rounds} {is_full}");
        }
    }

    #[test]
    fn what_the_bandwidth_explains_is_not_extra() {
        let mut aggregation = Aggregation::new();
        for (millis, extra) in [(1_000, 50.0), (1_200, 80.0), (1_400, 100.0)] {
            let mut sample = Sample::new(&ack(50), 0, false);
            sample.now = Instant::ZERO + Duration::from_millis(millis);
            aggregation.update(&sample, 100.0, 100.0, millis, true);
            assert!((aggregation.extra_acked() - extra).abs() < 0.01, "{millis} ms: {}", aggregation.extra_acked());
        }
    }
}

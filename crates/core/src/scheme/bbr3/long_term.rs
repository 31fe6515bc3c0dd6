//! How much the path holds: `BBR.inflight_longterm`, lowered by heavy loss while probing and raised by its absence
//! (draft, "Updating the Model Upon Packet Loss" and `AdaptLongTermModel`).

use super::model::BETA;
use super::sample::{Sample, Stamp};
use super::{AckPhase, Bbr3, State, Undo};
use crate::units::Instant;

/// `BBR.LossThresh`.
pub(super) const LOSS_THRESH: f64 = 0.02;
/// `BBR.Headroom`.
const HEADROOM: f64 = 0.15;
/// `BBR.MinPipeCwnd`, packets.
pub(super) const MIN_PIPE_CWND: f64 = 4.0;

/// Losses of the round, for the end of start-up.
#[derive(Debug, Default)]
pub(super) struct Losses {
    /// Discontiguous ranges of transmissions.
    pub(super) ranges: u32,
    last: Option<Stamp>,
    /// The ack under way has shown some.
    pub(super) are_noted: bool,
}

/// `IsInflightTooHigh`, for `lost` of `tx_in_flight`.
pub(super) fn is_too_high(lost: f64, tx_in_flight: f64) -> bool {
    lost > tx_in_flight * LOSS_THRESH
}

impl Bbr3 {
    /// `HandleLostPacket`.
    pub(super) fn handle_lost_packet(&mut self, stamp: Stamp, now: Instant) {
        self.note_loss(stamp);
        if !self.is_bw_probe_sample {
            return;
        }
        let (lost, tx_in_flight) = (stamp.lost_since(self.lost) as f64, stamp.tx_in_flight as f64);
        if is_too_high(lost, tx_in_flight) {
            self.handle_inflight_too_high(inflight_at_loss(lost, tx_in_flight), now);
        }
    }

    /// `NoteLoss`.
    fn note_loss(&mut self, stamp: Stamp) {
        if !self.latest.is_loss_in_round {
            self.latest.round_delivered = self.delivered;
        }
        self.latest.is_loss_in_round = true;
        if !self.losses.are_noted && self.recovery.is_none() {
            self.save_state_upon_loss();
        }
        self.losses.are_noted = true;
        let is_contiguous = self.losses.last.is_some_and(|last| stamp.follows(last));
        self.losses.ranges += u32::from(!is_contiguous);
        self.losses.last = Some(stamp);
    }

    /// `HandleInflightTooHigh`.
    fn handle_inflight_too_high(&mut self, tx_in_flight: f64, now: Instant) {
        self.prev_probe_too_high = true;
        self.is_bw_probe_sample = false;
        if !self.is_app_limited {
            self.inflight_longterm = tx_in_flight.max(self.target_inflight() * BETA);
        }
        if self.state == State::Up {
            self.undo.state = Undo::Up;
            self.enter_down(now);
        }
    }

    /// `TargetInflight`.
    pub(super) fn target_inflight(&self) -> f64 {
        self.bdp_multiple(1.0).min(f64::from(self.cwnd))
    }

    /// `InflightWithHeadroom`.
    pub(super) fn inflight_with_headroom(&self) -> f64 {
        if self.inflight_longterm.is_infinite() {
            return f64::INFINITY;
        }
        let headroom = (HEADROOM * self.inflight_longterm).max(1.0);
        (self.inflight_longterm - headroom).max(MIN_PIPE_CWND)
    }

    /// `AdaptLongTermModel`; true if it decided on the next state.
    pub(super) fn adapt_long_term_model(&mut self, sample: &Sample) -> bool {
        if self.ack_phase == AckPhase::ProbeStarting && self.rounds.is_start {
            self.ack_phase = AckPhase::ProbeFeedback;
        }
        if self.ack_phase == AckPhase::ProbeStopping && self.rounds.is_start {
            self.is_bw_probe_sample = false;
            self.ack_phase = AckPhase::Init;
            if self.state.is_probe_bw() {
                if !sample.is_app_limited {
                    self.max_bw.advance();
                }
                if self.prev_probe_precautionary && !self.prev_probe_too_high {
                    self.enter_refill();
                    return true;
                }
            }
        }
        if !is_too_high(sample.lost, sample.tx_in_flight) && self.inflight_longterm.is_finite() {
            self.inflight_longterm = self.inflight_longterm.max(sample.tx_in_flight);
            if self.state == State::Up {
                self.probe_inflight_longterm_upward(sample);
            }
        }
        false
    }
}

/// `InflightAtLoss`: at what flight the losses crossed the threshold, for a packet of size one.
fn inflight_at_loss(lost: f64, tx_in_flight: f64) -> f64 {
    let (inflight_prev, lost_prev) = (tx_in_flight - 1.0, lost - 1.0);
    inflight_prev + (LOSS_THRESH * inflight_prev - lost_prev) / (1.0 - LOSS_THRESH)
}

#[cfg(test)]
#[allow(clippy::expect_used, clippy::float_cmp, reason = "phases are whole numbers")]
mod tests {
    use super::super::tests::Path;
    use super::*;
    use crate::scheme::Scheme;
    use crate::units::Duration;

    fn phase(path: &Path) -> f64 {
        let mut phase = None;
        path.bbr.telemetry(&mut |name, value| phase = if name == "ack_phase" { Some(value) } else { phase });
        phase.expect("it is always known")
    }

    #[test]
    fn acks_tell_of_a_probe_from_a_round_after_its_beginning_to_a_round_after_its_end() {
        let mut path = Path::probing();
        (0..80).for_each(|_| path.ack());
        assert_eq!(phase(&path), 0.0);
        for (state, phases) in [(State::Refill, (1.0, 1.0)), (State::Up, (2.0, 3.0)), (State::Down, (4.0, 0.0))] {
            path.until(state);
            let is_sample = path.bbr.is_bw_probe_sample;
            assert_eq!((phase(&path), is_sample), (phases.0, state != State::Refill), "{state:?}");
            for _ in 0..39 {
                path.ack();
                assert_eq!((phase(&path), path.bbr.is_bw_probe_sample), (phases.0, is_sample), "{state:?}");
            }
            if state != State::Refill {
                path.ack();
                assert_eq!(phase(&path), phases.1, "a round later");
            }
        }
        assert!(!path.bbr.is_bw_probe_sample);
    }

    #[test]
    fn a_cycle_forgets_the_one_before_the_last_once_and_not_where_the_application_limits() {
        for (is_app_limited, left) in [(false, 1_000.0), (true, 2_000.0)] {
            let mut path = Path::probing();
            // A faster cycle, and one of 1000 packets per second whose probe ends.
            path.gap = Duration::from_micros(500);
            (0..80).for_each(|_| path.ack());
            path.gap = Duration::from_millis(1);
            path.bbr.max_bw.advance();
            (0..80).for_each(|_| path.ack());
            path.bbr.enter_down(path.now);
            path.is_app_limited = is_app_limited;
            (0..40).for_each(|_| path.ack());
            // Ten rounds at half the rate, in which nothing is forgotten.
            (path.is_app_limited, path.gap) = (false, Duration::from_millis(2));
            (0..400).for_each(|_| path.ack());
            let found = path.bbr.max_bw.get();
            assert!((found / left - 1.0).abs() < 0.01, "{found}");
        }
    }

    #[test]
    fn a_careful_probe_whose_packets_are_lost_is_not_followed_by_another_at_once() {
        for (losses, is_followed) in [(0, true), (1, false)] {
            let mut path = Path::probing();
            path.keep(20);
            path.until(State::Up);
            (path.bbr.prev_probe_too_high, path.bbr.inflight_longterm) = (true, 30.5);
            path.in_flight = 30;
            path.ack();
            assert_eq!((path.bbr.state, path.bbr.prev_probe_precautionary), (State::Down, true));
            // One of twenty is more than two percent.
            path.ack_after(losses);
            let refills = (0..40).filter(|_| {
                path.ack();
                path.bbr.state == State::Refill
            });
            assert_eq!(refills.count() > 0, is_followed, "{losses} losses");
        }
    }

    #[test]
    fn two_percent_of_the_flight_are_too_many() {
        assert!(!is_too_high(2.0, 100.0));
        assert!(is_too_high(3.0, 100.0));
        assert!(!is_too_high(0.0, 0.0));
    }

    #[test]
    fn the_flight_at_which_losses_crossed_the_threshold() {
        // 99 before this packet, 2 of them lost: 2 % were crossed at the 99th less two hundredths.
        let at = inflight_at_loss(3.0, 100.0);
        assert!((at - (99.0 + (1.98 - 2.0) / 0.98)).abs() < 1e-12, "{at}");
        assert!(inflight_at_loss(1.0, 10.0) > 9.0);
    }
}

//! `ProbeRTT`: half a bandwidth-delay product in flight, to see the empty path.

use super::long_term::MIN_PIPE_CWND;
use super::sample::Sample;
use super::{AckPhase, Bbr3, State};
use crate::units::{Duration, Instant};

/// `BBR.ProbeRTTInterval`.
const INTERVAL: Duration = Duration::from_secs(5);
/// `BBR.MinRTTFilterLen`.
const FILTER_LEN: Duration = Duration::from_secs(10);
/// `BBR.ProbeRTTDuration`.
const DURATION: Duration = Duration::from_millis(200);
/// `BBR.ProbeRTTCwndGain`.
const CWND_GAIN: f64 = 0.5;

/// The shortest round trips, and the probe that renews them.
#[derive(Debug, Default)]
pub(super) struct MinRtt {
    /// `BBR.min_rtt`; `None` before the first sample.
    pub(super) value: Option<Duration>,
    /// The same in seconds.
    pub(super) seconds: Option<f64>,
    /// `BBR.min_rtt_stamp`; `None` before the first ack.
    stamp: Option<Instant>,
    /// `BBR.probe_rtt_min_delay` and its stamp.
    pub(super) probe_value: Option<Duration>,
    /// `None` before the first ack.
    probe_stamp: Option<Instant>,
    is_probe_expired: bool,
    /// `BBR.probe_rtt_done_stamp`; `None` while too much is in flight.
    done: Option<Instant>,
    is_round_done: bool,
}

impl MinRtt {
    /// The part of `OnInit` about it: the round trip of the handshake counts.
    pub(super) fn begin(&mut self, srtt: Option<Duration>) {
        (self.value, self.seconds) = (srtt, srtt.map(Duration::as_secs_f64));
    }
}

impl Bbr3 {
    /// `UpdateMinRTT`.
    pub(super) fn update_min_rtt(&mut self, sample: &Sample) {
        let (now, min) = (sample.now, &mut self.min_rtt);
        min.is_probe_expired = min.probe_stamp.is_some_and(|stamp| now > stamp + INTERVAL);
        if let Some(rtt) = sample.rtt
            && (min.is_probe_expired || min.probe_value.is_none_or(|least| rtt < least))
        {
            (min.probe_value, min.probe_stamp) = (Some(rtt), Some(now));
        }
        let Some(probe_value) = min.probe_value else { return };
        let stamp = *min.stamp.get_or_insert(now);
        if now > stamp + FILTER_LEN || min.value.is_none_or(|least| probe_value < least) {
            (min.value, min.stamp) = (Some(probe_value), min.probe_stamp);
            min.seconds = Some(probe_value.as_secs_f64());
        }
    }

    /// `CheckProbeRTT`.
    pub(super) fn check_probe_rtt(&mut self, sample: &Sample) {
        if self.state != State::ProbeRtt && self.min_rtt.is_probe_expired && !self.is_idle_restart {
            self.state = State::ProbeRtt;
            self.pacing_gain = 1.0;
            self.cwnd_gain = CWND_GAIN;
            self.save_cwnd();
            self.min_rtt.done = None;
            self.ack_phase = AckPhase::ProbeStopping;
            self.rounds.start(self.delivered);
            self.limited.begin(self.delivered);
        }
        if self.state == State::ProbeRtt {
            self.handle_probe_rtt(sample);
        }
        if sample.newly_acked > 0.0 {
            self.is_idle_restart = false;
        }
    }

    /// `HandleProbeRTT`.
    fn handle_probe_rtt(&mut self, sample: &Sample) {
        self.limited.extend(self.delivered, sample.in_flight as u32);
        if self.min_rtt.done.is_some() {
            self.min_rtt.is_round_done |= self.rounds.is_start;
            if self.min_rtt.is_round_done {
                self.check_probe_rtt_done(sample.now);
            }
        } else if sample.in_flight <= self.probe_rtt_cwnd() {
            self.min_rtt.done = Some(sample.now + DURATION);
            self.min_rtt.is_round_done = false;
            self.rounds.start(self.delivered);
        }
    }

    /// `ProbeRTTCwnd`, in whole packets as the window is.
    pub(super) fn probe_rtt_cwnd(&self) -> f64 {
        self.bdp_multiple(CWND_GAIN).floor().max(MIN_PIPE_CWND)
    }

    /// `CheckProbeRTTDone` and `ExitProbeRTT`.
    pub(super) fn check_probe_rtt_done(&mut self, now: Instant) {
        if self.min_rtt.done.is_none_or(|done| now <= done) {
            return;
        }
        self.min_rtt.probe_stamp = Some(now);
        self.restore_cwnd();
        self.reset_short_term_model();
        if self.full_bw.is_reached {
            self.enter_down(now);
            self.enter_cruise();
        } else {
            self.enter_startup();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::Path;
    use super::*;
    use crate::scheme::{Scheme, TxStart};

    /// Where a probe begins, with 40 packets in flight.
    fn at_the_beginning() -> Path {
        let mut path = Path::probing();
        path.rtt = Duration::from_millis(41);
        path.until(State::ProbeRtt);
        path
    }

    #[test]
    fn what_is_sent_from_the_beginning_of_a_probe_until_all_of_it_is_delivered_is_limited() {
        let mut path = at_the_beginning();
        for _ in 0..39 {
            path.ack();
            assert!(!path.bbr.is_app_limited, "what was sent before");
        }
        path.ack();
        assert!(path.bbr.is_app_limited, "the first that was sent in it");
        path.keep(20);
        path.until(State::Cruise);
        // 19 are in flight; what leaves once they are delivered is no part of it. An ack tells of one sent 20 before.
        for _ in 0..39 {
            path.ack();
            assert!(path.bbr.is_app_limited);
        }
        path.ack();
        assert!(!path.bbr.is_app_limited);
    }

    #[test]
    fn a_flow_that_was_idle_in_a_probe_leaves_it_before_it_sends_if_the_probe_has_lasted_long_enough() {
        for (is_app_limited, waited, state) in [
            (true, DURATION, State::ProbeRtt),
            (true, DURATION + Duration::from_nanos(1), State::Cruise),
            // What leaves after a probe's own packets is limited as well.
            (false, DURATION + Duration::from_nanos(1), State::Cruise),
        ] {
            let mut path = at_the_beginning();
            let before = path.bbr.prior_cwnd;
            path.keep(20);
            path.ack();
            path.bbr.inflight_shortterm = 30.0;
            let (now, delivered) = (path.now + waited, path.delivered);
            path.bbr.on_tx_start(&TxStart { now, idle: waited, delivered, next_sequence: 0, is_app_limited });
            assert_eq!(path.bbr.state, state, "{waited} {is_app_limited}");
            let (is_left, cwnd) = (state == State::Cruise, path.bbr.cwnd());
            assert_eq!((path.bbr.inflight_shortterm.is_infinite(), cwnd == before), (is_left, is_left), "{cwnd}");
            if is_left {
                assert_eq!((path.bbr.cycle_stamp, path.bbr.min_rtt.probe_stamp), (now, Some(now)));
            }
        }
    }
}

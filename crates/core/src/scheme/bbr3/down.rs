//! `ProbeBW_DOWN`: send less than what is delivered until the queue is empty and some room is left.

use super::sample::Sample;
use super::{AckPhase, Bbr3, CWND_GAIN, State};
use crate::units::{Duration, Instant};

/// `BBR.ProbeDownPacingGain`.
const PACING_GAIN: f64 = 0.90;
/// The wait for the next probe: two seconds, and a random part of a third (`PickProbeWait`).
const WAIT: Duration = Duration::from_secs(2);
const RANDOM_WAIT: Duration = Duration::from_secs(1);
/// Reno would probe after as many rounds as packets, and no more than these (`IsRenoCoexistenceProbeTime`).
const MAX_RENO_ROUNDS: f64 = 63.0;

impl Bbr3 {
    /// `StartProbeBW_DOWN`.
    pub(super) fn enter_down(&mut self, now: Instant) {
        self.reset_congestion_signals();
        self.probe_up_acked_per_inc = f64::INFINITY;
        self.pick_probe_wait();
        self.cycle_stamp = now;
        self.ack_phase = AckPhase::ProbeStopping;
        self.rounds.start(self.delivered);
        self.state = State::Down;
        self.pacing_gain = PACING_GAIN;
        self.cwnd_gain = CWND_GAIN;
    }

    fn pick_probe_wait(&mut self) {
        self.rounds_since_probe_up = self.random.below(2) as u32;
        let part = (self.random.uniform() * RANDOM_WAIT.as_nanos() as f64) as u64;
        self.bw_probe_wait = WAIT + Duration::from_nanos(part);
    }

    /// To `REFILL` or `CRUISE`, when it is time.
    pub(super) fn leave_down(&mut self, sample: &Sample) {
        if self.is_time_to_probe_bw(sample) {
            self.enter_refill();
        } else if self.is_time_to_cruise(sample) {
            self.enter_cruise();
        }
    }

    /// `IsTimeToProbeBW`: by the clock, or by the rounds that Reno would take.
    pub(super) fn is_time_to_probe_bw(&self, sample: &Sample) -> bool {
        sample.now > self.cycle_stamp + self.bw_probe_wait
            || f64::from(self.rounds_since_probe_up) >= self.target_inflight().min(MAX_RENO_ROUNDS)
    }

    /// `IsTimeToCruise`.
    fn is_time_to_cruise(&self, sample: &Sample) -> bool {
        sample.in_flight <= self.inflight_with_headroom()
            && sample.in_flight <= self.inflight_at(self.max_bw.get(), 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::Path;
    use super::*;
    use crate::scheme::window::ack;

    #[test]
    fn it_is_time_to_probe_after_the_wait_or_as_many_rounds_as_the_target_has_packets_and_no_more_than_63() {
        let mut bbr = Path::probing().bbr;
        bbr.enter_down(Instant::ZERO);
        bbr.bw_probe_wait = WAIT;
        let mut sample = Sample::new(&ack(1), 0, false);
        // Packets per second of 40 ms, window, rounds and nanoseconds beyond the wait.
        for (bw, cwnd, rounds, late, is_time) in [
            (1_000.0, 80, 39, 0, false),
            (1_000.0, 80, 0, 1, true),
            (1_000.0, 80, 40, 0, true),
            (1_000.0, 30, 29, 0, false),
            (1_000.0, 30, 30, 0, true),
            (10_000.0, 800, 62, 0, false),
            (10_000.0, 800, 63, 0, true),
        ] {
            (bbr.bw, bbr.cwnd, bbr.rounds_since_probe_up) = (bw, cwnd, rounds);
            sample.now = Instant::ZERO + WAIT + Duration::from_nanos(late);
            assert_eq!(bbr.is_time_to_probe_bw(&sample), is_time, "{bw} {cwnd} {rounds} {late}");
        }
    }

    #[test]
    fn what_could_cruise_probes_if_it_is_time() {
        for (rounds, state) in [(0, State::Cruise), (40, State::Refill)] {
            let mut bbr = Path::probing().bbr;
            bbr.enter_down(Instant::ZERO);
            bbr.rounds_since_probe_up = rounds;
            let sample = Sample { now: Instant::ZERO, in_flight: 10.0, ..Sample::new(&ack(1), 0, false) };
            bbr.leave_down(&sample);
            assert_eq!(bbr.state, state);
        }
    }
}

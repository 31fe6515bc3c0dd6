//! Reno-SCE: Reno that yields by the square root of its window to a round trip full of SCE marks.
//!
//! **What it is.** It grows by a packet per round trip as long as acks bring no echo of "some congestion experienced";
//! a round trip in which all do costs the root of the window; both 2.7 times as much on a host that receives no data
//! ([`super::sce`]). CE or a loss leave 0.375 of the window, or 0.44 if there were echoes of late.
//!
//! **Source.** The SCE project's `net/ipv4/tcp_reno_sce.c` (revisions 63982553 and 07bbe597); draft-morton-tsvwg-sce.
//!
//! **Parameters.** `coefficient` is 1 in revision 63982553 and 0.5 in 07bbe597; which of them was tested in November
//! 2019 is not known. `ss_ratio` and `ca_ratio` are the settings of the test's hosts, with which nothing was paced
//! there: see the suites `sce-l4s`.
//!
//! **What a reduction leaves.** The comments say 0.75 or 0.875 for CE and 0.5 for a loss. But the kernel first reduces
//! to the threshold, which is half of the window, and the quarter or eighth of its end (`CA_EVENT_COMPLETE_CWR`) comes
//! on top. Only in slow start, before there is a threshold, it leaves 0.75. With this, and with the count in bytes,
//! Reno-SCE has 1.23 times the rate of CUBIC where the bake-off measured 1.5; by the law of the root 1.4. All that has
//! been counted is forgotten at that end, also what the ack that fills a hole acknowledges at once.
//!
//! **Deviations.** The first echo ends slow start, as in 07bbe597 and in the tests; in 63982553 only CE or a loss does.
//! A paced sender counts as limited by its window, without which it would not grow at all at 40 %.
//!
//! **How it is validated.** Growth and falls here; equilibrium, convergence of two flows and the queue in the
//! simulator's behaviour tests; the claims of the bake-off in the suites `sce-l4s`.

use super::sce::{self, Counter, Echoes};
use super::window::{Window, WindowAlgorithm, WindowBased};
use super::{Ack, EcnFeedback, PacingRatios, Scheme, Setup};
use crate::info::{Info, Parameter};
use crate::units::Instant;

/// Name, parameters and source.
pub(super) const INFO: Info = Info {
    name: "reno_sce",
    title: "TCP Reno-SCE",
    source: "SCE project net/ipv4/tcp_reno_sce.c; draft-morton-tsvwg-sce",
    parameters: &[
        Parameter::number(
            "coefficient",
            [1.0, 0.1, 2.0],
            "",
            "a round trip full of marks costs so many times the root of the window",
        ),
        sce::PARAMETERS[0],
        sce::PARAMETERS[1],
        sce::PARAMETERS[2],
        sce::PARAMETERS[3],
    ],
    telemetry: &[],
};

/// Makes one for a flow that starts.
#[expect(clippy::needless_pass_by_value, reason = "all schemes are made alike")]
pub(super) fn new(setup: Setup) -> Box<dyn Scheme> {
    let Setup { mss, parameters, .. } = &setup;
    let (coefficient, ratios) = (parameters.number("coefficient"), sce::ratios(parameters));
    let counter = Counter::new(Echoes::new(*mss, parameters));
    Box::new(WindowBased::new(RenoSce { coefficient, ratios, counter }))
}

#[derive(Debug)]
struct RenoSce {
    coefficient: f64,
    ratios: Option<PacingRatios>,
    counter: Counter,
}

impl WindowAlgorithm for RenoSce {
    fn ssthresh_after_loss(&mut self, window: &Window, _now: Instant) -> u32 {
        self.counter.ssthresh(window)
    }

    fn ssthresh_after_timeout(&mut self, window: &Window, _now: Instant) -> u32 {
        self.counter.ssthresh_after_timeout(window)
    }

    fn on_reduced(&mut self, window: &mut Window) {
        self.counter.on_reduced(window);
    }

    fn pacing_ratios(&self) -> Option<PacingRatios> {
        self.ratios
    }

    fn on_ecn_feedback(&mut self, window: &mut Window, feedback: &EcnFeedback) {
        let coefficient = self.coefficient;
        self.counter
            .fall(window, feedback, |marked, (_, root)| ((marked * i64::from(root)) as f64 * coefficient) as i64);
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack<'_>) {
        self.counter.take(window, ack, self.ratios);
    }

    fn grow(&mut self, window: &mut Window, ack: &Ack<'_>) {
        self.counter.grow(window, ack, self.ratios);
    }
}

#[cfg(test)]
mod tests {
    use super::super::sce::tests::{echoes, feedback};
    use super::super::window::{INFINITE_SSTHRESH, ack, window_of};
    use super::*;

    fn scheme(coefficient: f64, rcv_mss: u32) -> RenoSce {
        RenoSce { coefficient, ratios: None, counter: Counter::new(echoes(rcv_mss)) }
    }

    /// The window after a round trip in which `marked` of 100 acks carry an echo, when the root has caught up.
    fn after_a_round_trip(coefficient: f64, rcv_mss: u32, marked: u64) -> u32 {
        let mut scheme = scheme(coefficient, rcv_mss);
        let mut window = window_of(80, 2);
        let mut number = 0;
        let mut take = |window: &mut Window, is_marked| {
            number += 1;
            scheme.on_ecn_feedback(window, &feedback(number, is_marked));
            let ack = Ack { first_unacked: number, ..ack(1) };
            scheme.on_ack(window, &ack);
            scheme.grow(window, &ack);
        };
        while window.cwnd < 100 {
            take(&mut window, false);
        }
        (0..100).for_each(|ack| take(&mut window, ack < marked));
        window.cwnd
    }

    #[test]
    fn a_round_trip_full_of_marks_costs_the_root_of_the_window() {
        assert_eq!(after_a_round_trip(1.0, 1_448, 0), 101, "as Reno");
        assert_eq!(after_a_round_trip(1.0, 1_448, 100), 91, "9 from the second fall on");
        assert_eq!(after_a_round_trip(0.5, 1_448, 100), 96);
        // Equilibrium at 1 / (1 + root).
        assert_eq!((after_a_round_trip(1.0, 1_448, 9), after_a_round_trip(1.0, 1_448, 10)), (100, 99));
        assert_eq!((after_a_round_trip(1.0, 536, 0), after_a_round_trip(1.0, 536, 100)), (102, 73));
    }

    #[test]
    fn the_first_echo_ends_slow_start() {
        let mut scheme = scheme(1.0, 536);
        let mut window = window_of(100, INFINITE_SSTHRESH);
        for (number, is_marked, left) in [(2, false, (102, INFINITE_SSTHRESH)), (4, true, (102, 51))] {
            let ack = Ack { first_unacked: number, ..ack(2) };
            scheme.on_ecn_feedback(&mut window, &feedback(number, is_marked));
            scheme.on_ack(&mut window, &ack);
            scheme.grow(&mut window, &ack);
            assert_eq!((window.cwnd, window.ssthresh), left);
        }
    }
}

//! Reno-SCE: Reno that yields by the square root of its window to a round trip full of SCE marks.
//!
//! **What it is.** One packet more per round trip as long as acks bring no echo of "some congestion experienced"; a round
//! trip in which all do costs the square root of the window. CE costs a quarter, a loss half.
//!
//! **Source.** The SCE project's `net/ipv4/tcp_reno_sce.c` (revisions 63982553 and 07bbe597); draft-morton-tsvwg-sce.
//!
//! **Parameters.** `coefficient` is 1 in revision 63982553 and 0.5 in 07bbe597; which of them was tested in November 2019 is
//! not known. Only the second ends slow start at the first mark, as the tests have it and as it is here. `ss_ratio` and
//! `ca_ratio` are the settings of the test's hosts, with which nothing was paced there: see the suites `sce-l4s`.
//!
//! **Deviations.** CE makes the window fall over one round trip by proportional rate reduction, during which other echoes
//! count for nothing. That CE leaves 0.75 or 0.875 of the window and a loss 0.5 is what the code's comments say. Revision
//! 63982553 on an unchanged TCP core does otherwise: the reduction goes to the threshold first, mostly half of the window, and
//! its end takes another quarter (`CA_EVENT_COMPLETE_CWR`), or an eighth after a recent echo. So CE and a loss leave about
//! 0.375 or 0.44 of the window; in slow start before there is a threshold, the first leaves 0.75.
//!
//! The root is that of the window as it is, rounded up. The kernel's is carried along: after falls it is that less one, and
//! slow start leaves it at 1, so that the fall after an overshoot at the start is slower there by about the root of the window.
//! A paced sender counts as limited by its window, without which it would not grow at all at 40 %.
//!
//! **How it is validated.** Growth and falls here; equilibrium, convergence of two flows and the queue in the simulator's
//! behaviour tests.

use super::sce::{self, Credit};
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
    ],
    telemetry: &[],
};

/// Makes one for a flow that starts.
#[expect(clippy::needless_pass_by_value, reason = "all schemes are made alike")]
pub(super) fn new(setup: Setup) -> Box<dyn Scheme> {
    let (coefficient, ratios) = (setup.parameters.number("coefficient"), sce::ratios(&setup.parameters));
    Box::new(WindowBased::new(RenoSce { coefficient, ratios, credit: Credit::default() }))
}

#[derive(Debug)]
struct RenoSce {
    coefficient: f64,
    ratios: Option<PacingRatios>,
    credit: Credit,
}

impl WindowAlgorithm for RenoSce {
    fn ssthresh_after_loss(&mut self, window: &Window, _now: Instant) -> u32 {
        self.credit.reset();
        window.half()
    }

    fn ssthresh_after_mark(&mut self, window: &Window, _now: Instant) -> u32 {
        self.credit.ssthresh_after_mark(window)
    }

    fn pacing_ratios(&self) -> Option<PacingRatios> {
        self.ratios
    }

    fn on_ecn_feedback(&mut self, window: &mut Window, feedback: &EcnFeedback) {
        self.credit.fall(window, feedback, |marked, cwnd| marked * cwnd.sqrt().ceil() * self.coefficient);
    }

    fn grow(&mut self, window: &mut Window, ack: &Ack<'_>) {
        self.credit.grow(window, ack, self.ratios, 1.0);
    }
}

#[cfg(test)]
mod tests {
    use super::super::sce::tests::feedback;
    use super::super::window::{INFINITE_SSTHRESH, ack, window_of};
    use super::*;

    /// The window after a round trip in which `marked` of 100 acks carry an echo.
    fn after_a_round_trip(coefficient: f64, marked: u32) -> u32 {
        let mut scheme = RenoSce { coefficient, ratios: None, credit: Credit::default() };
        let mut window = window_of(100, 50);
        for number in 0..100 {
            scheme.on_ecn_feedback(&mut window, &feedback(1, number < marked));
            scheme.grow(&mut window, &ack(1));
        }
        window.cwnd
    }

    #[test]
    fn a_round_trip_full_of_marks_costs_the_root_of_the_window() {
        assert_eq!(after_a_round_trip(1.0, 0), 101, "as Reno");
        assert_eq!(after_a_round_trip(1.0, 100), 90);
        assert_eq!(after_a_round_trip(0.5, 100), 95);
        // Equilibrium at 1 / (1 + root).
        assert_eq!((after_a_round_trip(1.0, 9), after_a_round_trip(1.0, 10)), (100, 99));
    }

    #[test]
    fn the_first_echo_ends_slow_start() {
        let mut scheme = RenoSce { coefficient: 1.0, ratios: None, credit: Credit::default() };
        let mut window = window_of(100, INFINITE_SSTHRESH);
        scheme.on_ecn_feedback(&mut window, &feedback(2, false));
        scheme.grow(&mut window, &ack(2));
        assert_eq!(window.cwnd, 102);
        scheme.on_ecn_feedback(&mut window, &feedback(2, true));
        scheme.grow(&mut window, &ack(2));
        assert_eq!((window.cwnd, window.ssthresh), (102, 51));
    }

    #[test]
    fn loss_costs_more_than_congestion() {
        let mut scheme = RenoSce { coefficient: 1.0, ratios: None, credit: Credit::default() };
        let window = window_of(100, INFINITE_SSTHRESH);
        assert_eq!(scheme.ssthresh_after_mark(&window, Instant::ZERO), 75);
        assert_eq!(scheme.ssthresh_after_loss(&window, Instant::ZERO), 50);
    }
}

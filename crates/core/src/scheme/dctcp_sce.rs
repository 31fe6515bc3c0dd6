//! DCTCP-SCE: Reno that yields by half of its window to a round trip full of SCE marks.
//!
//! **What it is.** As DCTCP in steady state, but without an average: every echo of "some congestion experienced" takes half of
//! what it acknowledges off the window, at once. CE costs a quarter, a loss half.
//!
//! **Source.** The SCE project's `net/ipv4/tcp_dctcp_sce.c` (revision 09cf5620); draft-morton-tsvwg-sce.
//!
//! **Parameters.** `ss_ratio` and `ca_ratio` are the settings of the hosts of the SCE and L4S bake-off.
//!
//! **Deviations.** Those of [`super::reno_sce`], but that no root is taken: here too CE and a loss leave about 0.375 or 0.44
//! of the window with the source, and 0.75 in a first slow start. An echo of some congestion ends slow start; in revision
//! 09cf5620 the threshold stays infinite and slow start goes on.
//!
//! **How it is validated.** The fall here; the queue and utilisation in the simulator's behaviour tests.

use super::sce::{self, Credit};
use super::window::{Window, WindowAlgorithm, WindowBased};
use super::{Ack, EcnFeedback, PacingRatios, Scheme, Setup};
use crate::info::Info;
use crate::units::Instant;

/// Name, parameters and source.
pub(super) const INFO: Info = Info {
    name: "dctcp_sce",
    title: "DCTCP-SCE",
    source: "SCE project net/ipv4/tcp_dctcp_sce.c; draft-morton-tsvwg-sce",
    parameters: &sce::PARAMETERS,
    telemetry: &[],
};

/// Of what slow start leaves over, this much counts.
const SLOW_START_SHARE: f64 = 0.2;

/// Makes one for a flow that starts.
#[expect(clippy::needless_pass_by_value, reason = "all schemes are made alike")]
pub(super) fn new(setup: Setup) -> Box<dyn Scheme> {
    let ratios = sce::ratios(&setup.parameters);
    Box::new(WindowBased::new(DctcpSce { ratios, credit: Credit::default() }))
}

#[derive(Debug)]
struct DctcpSce {
    ratios: Option<PacingRatios>,
    credit: Credit,
}

impl WindowAlgorithm for DctcpSce {
    fn ssthresh_after_loss(&mut self, window: &Window, _now: Instant) -> u32 {
        self.credit.reset();
        window.half()
    }

    fn ssthresh_after_mark(&mut self, window: &Window, _now: Instant) -> u32 {
        self.credit.reset();
        self.credit.ssthresh_after_mark(window)
    }

    fn pacing_ratios(&self) -> Option<PacingRatios> {
        self.ratios
    }

    fn on_ecn_feedback(&mut self, window: &mut Window, feedback: &EcnFeedback) {
        self.credit.fall(window, feedback, |marked, cwnd| marked * cwnd / 2.0);
    }

    fn grow(&mut self, window: &mut Window, ack: &Ack<'_>) {
        self.credit.grow(window, ack, self.ratios, SLOW_START_SHARE);
    }
}

#[cfg(test)]
mod tests {
    use super::super::sce::tests::feedback;
    use super::super::window::{ack, window_of};
    use super::*;

    #[test]
    fn every_mark_takes_half_of_what_it_acknowledges() {
        let mut scheme = DctcpSce { ratios: None, credit: Credit::default() };
        let mut window = window_of(100, 50);
        for _ in 0..40 {
            scheme.on_ecn_feedback(&mut window, &feedback(1, true));
            scheme.grow(&mut window, &ack(1));
        }
        assert_eq!(window.cwnd, 80);
        for _ in 0..80 {
            scheme.on_ecn_feedback(&mut window, &feedback(1, false));
            scheme.grow(&mut window, &ack(1));
        }
        assert_eq!(window.cwnd, 81);
    }
}

//! DCTCP-SCE: Reno that yields by half of its window to a round trip full of SCE marks.
//!
//! **What it is.** As DCTCP in steady state, but without an average: every echo of "some congestion experienced" takes
//! half of what it acknowledges off the window, at once; and 1.35 times as much as it acknowledges on a host that
//! receives no data ([`super::sce`]). CE and losses as [`super::reno_sce`].
//!
//! **Source.** The SCE project's `net/ipv4/tcp_dctcp_sce.c` (revisions 9fae76b9 and 09cf5620); draft-morton-tsvwg-sce.
//!
//! **Parameters.** `ss_ratio` and `ca_ratio` are the settings of the hosts of the SCE and L4S bake-off.
//!
//! **Deviations.** Those of [`super::reno_sce`]: an echo of some congestion ends slow start, while in the source the
//! threshold stays infinite and slow start goes on. Of what slow start leaves over all counts, as in 9fae76b9; a fifth
//! in 09cf5620.
//!
//! **How it is validated.** The fall here; the queue and utilisation in the simulator's behaviour tests.

use super::sce::{self, Counter, Echoes};
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

/// Makes one for a flow that starts.
#[expect(clippy::needless_pass_by_value, reason = "all schemes are made alike")]
pub(super) fn new(setup: Setup) -> Box<dyn Scheme> {
    let ratios = sce::ratios(&setup.parameters);
    let counter = Counter::new(Echoes::new(setup.mss, &setup.parameters));
    Box::new(WindowBased::new(DctcpSce { ratios, counter }))
}

#[derive(Debug)]
struct DctcpSce {
    ratios: Option<PacingRatios>,
    counter: Counter,
}

impl WindowAlgorithm for DctcpSce {
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
        self.counter.fall(window, feedback, |marked, (cwnd, _)| marked * i64::from(cwnd) / 2);
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
    use super::super::window::{ack, window_of};
    use super::*;

    /// The window of 100 packets after 40 marked acks, and after 80 without a mark.
    fn after_marks(rcv_mss: u32) -> (u32, u32) {
        let mut scheme = DctcpSce { ratios: None, counter: Counter::new(echoes(rcv_mss)) };
        let mut window = window_of(100, 50);
        let mut take = |acks: std::ops::RangeInclusive<u64>, is_marked| {
            for number in acks {
                scheme.on_ecn_feedback(&mut window, &feedback(number, is_marked));
                let ack = Ack { first_unacked: number, ..ack(1) };
                scheme.on_ack(&mut window, &ack);
                scheme.grow(&mut window, &ack);
            }
            window.cwnd
        };
        (take(1..=40, true), take(41..=120, false))
    }

    #[test]
    fn every_mark_takes_half_of_what_it_acknowledges() {
        assert_eq!(after_marks(1_448), (80, 81));
        // 1.35 packets for each, and 1.7 windows of growth.
        assert_eq!(after_marks(536), (46, 50));
    }
}

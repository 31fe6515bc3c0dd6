//! CUBIC-SCE: CUBIC whose curve flattens with every SCE mark.
//!
//! **What it is.** CUBIC; an echo of "some congestion experienced" brings the plateau of the curve to the present, and
//! a round trip full of them takes the square root of the window off window and plateau, 2.7 times that on a host that
//! receives no data ([`crate::scheme::sce`]), less the growth that Reno would have had. CE costs 0.3 of the window, or
//! an eighth if such echoes are recent.
//!
//! **Source.** The SCE project's `net/ipv4/tcp_cubic_sce.c` (revision 0139ea04, which its README calls unfinished);
//! draft-morton-tsvwg-sce.
//!
//! **Parameters.** `ss_ratio` and `ca_ratio` are the settings of the hosts of the SCE and L4S bake-off.
//!
//! **Deviations.** The plateau moves all the way with each echo, as in the source beyond the plateau. Before it the
//! source cubes a negative number without a sign, so that the plateau leaps to some four billion packets and the window
//! grows by half per round trip until the next CE; here it moves there too. While the transport reduces the window
//! echoes count for nothing. In the source each then does what is meant to end slow start, and sets the threshold to half
//! of the window as it is by then: of a hundred packets whose acks all carry one, a reduction to 7/8 leaves nine. The
//! curve is that of Linux 7.3. A paced sender counts as limited by its window.
//!
//! **How it is validated.** The flattened curve and the falls here; the queue and utilisation in the simulator's
//! behaviour tests.

use super::linux::Linux;
use super::{AFTER_LOSS, Cubic, Law, SlowStart};
use crate::info::Info;
use crate::scheme::hystart::HyStart;
use crate::scheme::sce::{self, Echoes};
use crate::scheme::window::{Window, WindowAlgorithm, WindowBased};
use crate::scheme::{Ack, Acked, EcnFeedback, PacingRatios, Scheme, Setup, Timeout, TxStart};
use crate::units::Instant;

/// Name, parameters and source.
pub(in crate::scheme) const INFO: Info = Info {
    name: "cubic_sce",
    title: "CUBIC-SCE",
    source: "SCE project net/ipv4/tcp_cubic_sce.c; draft-morton-tsvwg-sce",
    parameters: &sce::PARAMETERS,
    telemetry: super::INFO.telemetry,
};

/// The share of the window that CE leaves if there were recent echoes.
const AFTER_BOTH: f64 = 0.875;

/// Makes one for a flow that starts.
#[expect(clippy::needless_pass_by_value, reason = "all schemes are made alike")]
pub(in crate::scheme) fn new(setup: Setup) -> Box<dyn Scheme> {
    let echoes = Echoes::new(setup.mss, &setup.parameters);
    Box::new(WindowBased::new(CubicSce::new(echoes, sce::ratios(&setup.parameters))))
}

#[derive(Debug)]
struct CubicSce {
    cubic: Cubic,
    ratios: Option<PacingRatios>,
    echoes: Echoes,
}

impl CubicSce {
    fn new(echoes: Echoes, ratios: Option<PacingRatios>) -> Self {
        let slow_start = SlowStart::HyStart(HyStart::new(ratios.is_some()));
        let law = Law::Linux(Linux::new(true, true).counting(echoes.rcv_mss));
        let cubic = Cubic { law, slow_start, min_rtt: None, has_abe: false };
        Self { cubic, ratios, echoes }
    }
}

impl WindowAlgorithm for CubicSce {
    fn ssthresh_after_loss(&mut self, window: &Window, _now: Instant) -> u32 {
        self.cubic.reduce(window, if self.echoes.is_recent() { AFTER_BOTH } else { AFTER_LOSS })
    }

    fn pacing_ratios(&self) -> Option<PacingRatios> {
        self.ratios
    }

    fn on_ecn_feedback(&mut self, window: &mut Window, feedback: &EcnFeedback) {
        let Some(marked) = self.echoes.read(feedback) else { return };
        let Law::Linux(law) = &mut self.cubic.law else { return };
        if sce::is_reducing(feedback) {
            return;
        }
        if law.epoch_start().is_some() {
            self.echoes.remember(window);
            let packets = law.take(marked * i64::from((window.cwnd - 1).isqrt()), window.cwnd);
            window.cwnd = window.cwnd.saturating_sub(packets).max(2);
            law.flatten(feedback.now, packets.into());
        }
        window.ssthresh = window.half();
    }

    fn on_acked(&mut self, window: &mut Window, acked: &Acked) {
        self.cubic.on_acked(window, acked);
    }

    fn on_ack(&mut self, _window: &mut Window, ack: &Ack<'_>) {
        self.echoes.take(ack);
    }

    fn grow(&mut self, window: &mut Window, ack: &Ack<'_>) {
        let is_cwnd_limited = sce::is_limiting(window, ack, self.ratios);
        self.cubic.grow(window, &Ack { is_cwnd_limited, ..*ack });
    }

    fn on_timeout(&mut self, timeout: &Timeout) {
        self.cubic.on_timeout(timeout);
    }

    fn on_tx_start(&mut self, start: &TxStart) {
        self.cubic.on_tx_start(start);
    }

    fn telemetry(&self, report: &mut dyn FnMut(&'static str, f64)) {
        self.cubic.telemetry(report);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheme::State;
    use crate::scheme::sce::tests::{echoes, feedback};
    use crate::scheme::window::{INFINITE_SSTHRESH, ack, window_of};
    use crate::units::Duration;

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    #[test]
    fn an_echo_flattens_the_curve_where_it_is() {
        let mut law = Linux::new(true, false);
        law.reduce(1_000, 0.7);
        law.packets_per_increase(700, 1, at(0), Duration::ZERO);
        let rising = law.packets_per_increase(760, 1, at(1_000), Duration::ZERO);
        law.flatten(at(1_000), 0);
        let flat = law.packets_per_increase(791, 1, at(1_001), Duration::ZERO);
        assert!(rising < 1_000 && flat > 10_000, "one packet per {rising} and then per {flat}");
        assert!(law.curve().1.abs() < 1e-9, "the plateau is now");
    }

    #[test]
    fn echoes_take_the_root_off_a_window_on_the_curve_and_end_slow_start_before() {
        let mut scheme = CubicSce::new(echoes(1_448), None);
        let mut window = window_of(100, INFINITE_SSTHRESH);
        scheme.on_ecn_feedback(&mut window, &feedback(1, true));
        scheme.on_ack(&mut window, &Ack { first_unacked: 1, ..ack(1) });
        assert_eq!((window.cwnd, window.ssthresh, scheme.echoes.is_recent()), (100, 50, false));
        scheme.grow(&mut window, &ack(1));
        for number in 2..=101 {
            scheme.on_ecn_feedback(&mut window, &feedback(number, true));
            scheme.on_ack(&mut window, &Ack { first_unacked: number, ..ack(1) });
        }
        assert_eq!(window.cwnd, 91, "the root is 9 for a window of no more than 100");
        assert_eq!(scheme.ssthresh_after_loss(&window, Instant::ZERO), 79, "7/8 after recent echoes");
    }

    #[test]
    fn the_curve_is_flat_at_the_window_that_an_echo_leaves() {
        let mut scheme = CubicSce::new(echoes(1_448), None);
        // Without the Reno-friendly region, which would hide the curve.
        scheme.cubic.law = Law::Linux(Linux::new(true, false).counting(1_448));
        let threshold = scheme.ssthresh_after_loss(&window_of(1_000, 1_000), Instant::ZERO);
        let mut window = window_of(threshold, threshold);
        scheme.grow(&mut window, &Ack { now: at(0), ..ack(1) });
        let before = window.cwnd;
        let told = EcnFeedback { now: at(0), ..feedback(700, true) };
        scheme.on_ecn_feedback(&mut window, &EcnFeedback { state: State::Cwr, ..told });
        assert_eq!(window.cwnd, before, "not while it is being reduced");
        scheme.on_ack(&mut window, &Ack { first_unacked: 700, ..ack(1) });
        scheme.on_ecn_feedback(&mut window, &EcnFeedback { first_unacked: 1_400, ..told });
        assert_eq!(window.cwnd, before - 25, "nearly a window of marks, and the root is 26");
        let Law::Linux(law) = &mut scheme.cubic.law else { panic!("the law of Linux") };
        let packets = law.packets_per_increase(window.cwnd, 1, at(1), Duration::ZERO);
        assert!(packets >= window.cwnd, "{packets}: the kernel's cube root is a packet off at most");
    }

    #[test]
    fn marks_take_first_what_counts_towards_growth() {
        let mut law = Linux::new(true, true).counting(536);
        law.packets_per_increase(100, 50, at(0), Duration::ZERO);
        assert_eq!(law.take(536 * 149, 100), 0, "half a window acknowledged, and almost one short");
        assert_eq!((law.take(536, 100), law.take(536 * 250, 100)), (1, 2));
    }
}

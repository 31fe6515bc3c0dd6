//! DCTCP: the window falls in proportion to the share of marked packets.
//!
//! **What it is.** Reno, but once per round trip with marks the window falls by half of alpha, a moving average of the
//! share of packets that were marked. Made for queues that mark everything above a low threshold.
//!
//! **Source.** RFC 8257; Linux `net/ipv4/tcp_dctcp.c`, whose function names stand beside the parts.
//!
//! **Parameters.** See [`INFO`].
//!
//! The L4S project's kernel (L4STeam/linux 095f0391) lacks what mainline has since 4.1: there alpha decays by a
//! sixteenth of itself in whole numbers, so that it never falls below 15 of 1024, and a rare mark still lowers the
//! window by 0.7 %.
//!
//! **Deviations.** Marks are learnt from accurate ECN, as Linux does where both ends have it, and not from the echo of
//! RFC 8257, section 3.2. Both laws count packets, the RFC bytes.
//!
//! **How it is validated.** Alpha against its closed form and the kernel's integers here; standing queue and
//! utilisation in the simulator's behaviour tests; beside the kernel by `bakeoff agree`, and beside its code, event by
//! event, in docs/event-by-event.md.

use super::window::{Window, WindowAlgorithm, WindowBased};
use super::{Ack, EcnFeedback, Scheme, Setup};
use crate::info::{Info, Parameter, Quantity};
use crate::units::Instant;

/// Name, parameters and source.
pub(super) const INFO: Info = Info {
    name: "dctcp",
    title: "DCTCP",
    source: "RFC 8257; Linux net/ipv4/tcp_dctcp.c",
    parameters: &[
        Parameter::choice(
            "law",
            &["linux", "l4s", "rfc8257"],
            "the kernel's alpha in whole 1024ths; that of the L4S project's kernel, which then stays at 15 of them; or the \
             equations of the RFC",
        ),
        Parameter::number(
            "shift_g",
            [4.0, 0.0, 10.0],
            "",
            "the gain of the average is one over two to the power of this, rounded to a whole number",
        ),
        Parameter::number("alpha_on_init", [1.0, 0.0, 1.0], "", "alpha of a flow that starts"),
    ],
    telemetry: &[Quantity { name: "alpha", unit: "1", doc: "moving average of the share of marked packets" }],
};

/// Alpha of the kernel's law is in units of 1/1024 (`DCTCP_MAX_ALPHA`).
const SCALE: u64 = 1_024;

/// Makes one for a flow that starts.
#[expect(clippy::needless_pass_by_value, reason = "all schemes are made alike")]
pub(super) fn new(setup: Setup) -> Box<dyn Scheme> {
    let parameters = &setup.parameters;
    let (shift, alpha) = (parameters.number("shift_g").round() as u32, parameters.number("alpha_on_init"));
    let alpha = match parameters.text("law") {
        "rfc8257" => Alpha::Real { alpha, gain: 0.5_f64.powi(shift as i32) },
        law => Alpha::Whole { alpha: (alpha * SCALE as f64) as u64, shift, vanishes: law == "linux" },
    };
    Box::new(WindowBased::new(Dctcp { alpha, end: 0, delivered: 0, marked: 0 }))
}

/// The moving average of the share of marked packets.
#[derive(Clone, Copy, Debug)]
enum Alpha {
    /// In whole 1024ths. Where it does not vanish, what is too little to decay by a 1024th stays.
    Whole { alpha: u64, shift: u32, vanishes: bool },
    /// As RFC 8257 has it.
    Real { alpha: f64, gain: f64 },
}

impl Alpha {
    /// A window ends (`dctcp_update_alpha`; RFC 8257, section 3.3).
    fn update(&mut self, delivered: u64, marked: u64) {
        match self {
            Self::Whole { alpha, shift, vanishes } => {
                let decay = *alpha >> *shift;
                *alpha -= if decay == 0 && *vanishes { *alpha } else { decay };
                if marked > 0 {
                    *alpha = (*alpha + (marked << (10 - *shift)) / delivered.max(1)).min(SCALE);
                }
            }
            Self::Real { alpha, gain } => {
                let share = if delivered > 0 { (marked as f64 / delivered as f64).min(1.0) } else { 0.0 };
                *alpha += (share - *alpha) * *gain;
            }
        }
    }

    /// The window after a round trip with marks, at least 2 (`dctcp_ssthresh`; RFC 8257, section 3.3).
    fn reduce(self, cwnd: u32) -> u32 {
        let reduced = match self {
            Self::Whole { alpha, .. } => u64::from(cwnd) - ((u64::from(cwnd) * alpha) >> 11),
            Self::Real { alpha, .. } => (f64::from(cwnd) * (1.0 - alpha / 2.0)) as u64,
        };
        (reduced as u32).max(2)
    }

    fn value(self) -> f64 {
        match self {
            Self::Whole { alpha, .. } => alpha as f64 / SCALE as f64,
            Self::Real { alpha, .. } => alpha,
        }
    }
}

#[derive(Debug)]
struct Dctcp {
    alpha: Alpha,
    /// The window over which marks are counted ends here (`next_seq`).
    end: u64,
    /// Packets delivered and marked when it began.
    delivered: u64,
    marked: u64,
}

impl WindowAlgorithm for Dctcp {
    fn ssthresh_after_loss(&mut self, window: &Window, _now: Instant) -> u32 {
        window.half()
    }

    fn ssthresh_after_mark(&mut self, window: &Window, _now: Instant) -> u32 {
        self.alpha.reduce(window.cwnd)
    }

    /// Only a fast retransmission and a timeout halve (`dctcp_react_to_loss`); to the RFC every loss is one (section
    /// 3.5).
    fn ssthresh_after_tail_loss(&mut self, window: &Window, _now: Instant) -> u32 {
        match self.alpha {
            Alpha::Whole { .. } => self.alpha.reduce(window.cwnd),
            Alpha::Real { .. } => window.half(),
        }
    }

    fn on_ecn_feedback(&mut self, _window: &mut Window, feedback: &EcnFeedback) {
        if feedback.first_unacked < self.end {
            return;
        }
        self.alpha.update(feedback.delivered - self.delivered, feedback.marked - self.marked);
        (self.end, self.delivered, self.marked) = (feedback.next_sequence, feedback.delivered, feedback.marked);
    }

    /// It begins no new fall, but a lower one (`dctcp_state`).
    fn on_loss_while_reducing(&mut self, window: &mut Window) {
        window.ssthresh = window.half();
    }

    fn grow(&mut self, window: &mut Window, ack: &Ack<'_>) {
        window.grow_as_reno(ack);
    }

    fn telemetry(&self, report: &mut dyn FnMut(&'static str, f64)) {
        report("alpha", self.alpha.value());
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::float_cmp, reason = "sums of powers of two are exact")]

    use super::super::window::ack;
    use super::super::{Cause, Congestion, State};
    use super::*;

    const WHOLE: Alpha = whole(SCALE);
    const REAL: Alpha = Alpha::Real { alpha: 1.0, gain: 1.0 / 16.0 };

    const fn whole(alpha: u64) -> Alpha {
        Alpha::Whole { alpha, shift: 4, vanishes: true }
    }

    /// Alpha after so many windows of 1000 packets with this share of marks.
    fn after(mut alpha: Alpha, windows: u32, marked: u64) -> f64 {
        (0..windows).for_each(|_| alpha.update(1_000, marked));
        alpha.value()
    }

    #[test]
    fn alpha_goes_to_the_share_of_marks_as_a_geometric_series() {
        for marked in [0, 1, 100, 300, 1_000] {
            let share = marked as f64 / 1_000.0;
            for windows in [1, 2, 10, 50, 200] {
                let closed_form = share + (1.0 - share) * (15.0_f64 / 16.0).powi(windows as i32);
                assert!((after(REAL, windows, marked) - closed_form).abs() < 1e-12);
                let whole = after(WHOLE, windows, marked);
                // The kernel's rounding loses up to 16 of 1024 in the limit.
                assert!((whole - closed_form).abs() < 0.017, "{marked} marks, {windows} windows: {whole}");
            }
        }
    }

    #[test]
    fn the_kernels_integers() {
        // 1024 - 1024/16 = 960, and with half of the packets marked + 500 * 64 / 1000.
        assert_eq!((after(WHOLE, 1, 0) * 1_024.0, after(WHOLE, 1, 500) * 1_024.0), (960.0, 992.0));
        assert_eq!(after(whole(15), 1, 0), 0.0, "below 16 it falls to nothing");
        assert_eq!(after(WHOLE, 200, 0), 0.0);
        let l4s = Alpha::Whole { alpha: SCALE, shift: 4, vanishes: false };
        assert_eq!((after(l4s, 200, 0), l4s.reduce(100)), (15.0 / 1_024.0, 50));
        let reduced = |alpha| whole(alpha).reduce(100);
        assert_eq!([1_024, 512, 100, 20, 0].map(reduced), [50, 75, 96, 100, 100]);
        assert_eq!(WHOLE.reduce(2), 2);
    }

    #[test]
    fn marks_are_counted_window_by_window() {
        let mut dctcp = Dctcp { alpha: REAL, end: 0, delivered: 0, marked: 0 };
        let feedback = |first_unacked, delivered, marked| EcnFeedback {
            now: Instant::ZERO,
            newly_delivered: 1,
            newly_marked: 0,
            delivered,
            marked,
            is_sce_echo: false,
            state: State::Open,
            first_unacked,
            next_sequence: first_unacked + 10,
        };
        let mut window = Window::initial();
        dctcp.on_ecn_feedback(&mut window, &feedback(1, 1, 0));
        assert_eq!(dctcp.alpha.value(), 15.0 / 16.0);
        (2..11).for_each(|n| dctcp.on_ecn_feedback(&mut window, &feedback(n, n, n)));
        assert_eq!(dctcp.alpha.value(), 15.0 / 16.0, "the window lasts until segment 11");
        dctcp.on_ecn_feedback(&mut window, &feedback(11, 11, 10));
        assert_eq!(dctcp.alpha.value(), 15.0 / 16.0 * 15.0 / 16.0 + 1.0 / 16.0);
        let before = dctcp.alpha.value();
        dctcp.on_ecn_feedback(&mut window, &feedback(21, 21, 15));
        assert_eq!(dctcp.alpha.value(), before + (0.5 - before) / 16.0, "five of ten");
        let before = dctcp.alpha.value();
        dctcp.on_ecn_feedback(&mut window, &feedback(31, 21, 15));
        assert_eq!(dctcp.alpha.value(), before * 15.0 / 16.0, "none of none");
    }

    #[test]
    fn the_loss_of_a_tail_takes_half_of_alpha_from_the_kernels_window() {
        for (alpha, left) in [(whole(100), 96), (WHOLE, 50), (Alpha::Real { alpha: 0.1, gain: 1.0 / 16.0 }, 50)] {
            let mut scheme = WindowBased::new(Dctcp { alpha, end: 0, delivered: 0, marked: 0 });
            (0..90).for_each(|_| scheme.on_ack(&ack(1)));
            let cause = Cause::TailLoss;
            scheme.on_congestion(&Congestion { now: Instant::ZERO, cause, in_flight: 100, is_timer: false });
            scheme.on_reduced(Instant::ZERO);
            assert_eq!((scheme.cwnd(), scheme.ssthresh()), (left, Some(left)), "{alpha:?}");
        }
    }

    #[test]
    fn a_loss_while_the_window_falls_for_a_mark_halves_the_threshold_at_once() {
        let mut scheme = WindowBased::new(Dctcp { alpha: whole(100), end: 0, delivered: 0, marked: 0 });
        let at = |state, in_flight| Ack { in_flight, state, ..ack(1) };
        (0..90).for_each(|_| scheme.on_ack(&at(State::Open, 100)));
        let loss = Congestion { now: Instant::ZERO, cause: Cause::Loss, in_flight: 98, is_timer: false };
        scheme.on_congestion(&Congestion { cause: Cause::Ecn, in_flight: 100, ..loss });
        scheme.on_ack(&at(State::Cwr, 99));
        assert_eq!((scheme.cwnd(), scheme.ssthresh()), (100, Some(96)));
        scheme.on_loss_while_reducing(&loss);
        assert_eq!(scheme.ssthresh(), Some(50), "what an ack finds");
        scheme.on_ack(&at(State::Recovery, 98));
        assert_eq!((scheme.cwnd(), scheme.ssthresh()), (99, Some(50)));
        // Three deliveries of a hundred, on the way from a hundred to half of 99, with nothing sent since.
        scheme.on_loss_while_reducing(&Congestion { in_flight: 90, is_timer: true, ..loss });
        assert_eq!((scheme.cwnd(), scheme.ssthresh()), (92, Some(49)), "and what a timer finds");
    }
}

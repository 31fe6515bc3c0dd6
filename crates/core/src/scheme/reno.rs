//! Reno: slow start, one packet per round trip, half after a loss.
//!
//! **What it is.** The classic AIMD of TCP, with SACK-based recovery left to the transport.
//!
//! **Source.** RFC 5681, RFC 6582; Linux `net/ipv4/tcp_cong.c` (`tcp_reno_ssthresh`, `tcp_reno_cong_avoid`); RFC 8511.
//!
//! **Parameters.** `abe`: after an ECN echo the window falls to 0.8, which Linux does not have.
//!
//! **Deviations.** As Linux: the threshold after a loss is half the window, not half the data in flight, and slow start
//! counts every packet that an ack covers (no limit of RFC 3465).
//!
//! **How it is validated.** Growth and halving here; utilisation and the √(3/2p) law in the simulator's behaviour
//! tests; beside the kernel's own code, event by event, in docs/event-by-event.md.

use super::window::{Window, WindowAlgorithm, WindowBased};
use super::{Ack, Scheme, Setup};
use crate::info::{Info, Parameter};
use crate::units::Instant;

/// Name, parameters and source.
pub(super) const INFO: Info = Info {
    name: "reno",
    title: "TCP Reno",
    source: "RFC 5681, RFC 6582; Linux net/ipv4/tcp_cong.c; RFC 8511",
    parameters: &[ABE],
    telemetry: &[],
};

/// Makes one for a flow that starts.
#[expect(clippy::needless_pass_by_value, reason = "all schemes are made alike")]
pub(super) fn new(setup: Setup) -> Box<dyn Scheme> {
    Box::new(WindowBased::new(Reno { has_abe: setup.parameters.flag(ABE.name) }))
}

/// Alternative backoff with ECN (RFC 8511).
pub(super) const ABE: Parameter =
    Parameter::flag("abe", false, "fall less after an ECN echo than after a loss: alternative backoff (RFC 8511)");

#[derive(Debug)]
struct Reno {
    has_abe: bool,
}

impl WindowAlgorithm for Reno {
    fn ssthresh_after_loss(&mut self, window: &Window, _now: Instant) -> u32 {
        window.half()
    }

    /// Section 3.1 of RFC 8511: a queue that marks is short, so that 0.8 of the window still fills the path.
    fn ssthresh_after_mark(&mut self, window: &Window, now: Instant) -> u32 {
        if self.has_abe { (window.cwnd * 4 / 5).max(2) } else { self.ssthresh_after_loss(window, now) }
    }

    fn grow(&mut self, window: &mut Window, ack: &Ack<'_>) {
        window.grow_as_reno(ack);
    }
}

#[cfg(test)]
mod tests {
    use super::super::window::{INFINITE_SSTHRESH, window_of};
    use super::*;

    #[test]
    fn a_mark_costs_less_than_a_loss_with_alternative_backoff() {
        let window = window_of(100, INFINITE_SSTHRESH);
        let after = |has_abe| {
            let mut reno = Reno { has_abe };
            let now = Instant::ZERO;
            (reno.ssthresh_after_loss(&window, now), reno.ssthresh_after_mark(&window, now))
        };
        assert_eq!((after(false), after(true)), ((50, 50), (50, 80)));
    }
}

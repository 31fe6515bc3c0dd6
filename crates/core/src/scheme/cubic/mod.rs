//! CUBIC: the window follows a cubic function of the time since the last loss.
//!
//! **What it is.** After a loss the window falls to 0.7 and returns to its old size along a cubic curve, slowly near it
//! and faster beyond; where Reno would be faster, it grows as Reno. Slow start ends by `HyStart`.
//!
//! **Source.** RFC 9438; Linux `net/ipv4/tcp_cubic.c` (kernel 5.5 and later); RFC 8511 for `abe`, which Linux does not
//! have.
//!
//! **Parameters.** See [`INFO`].
//!
//! **Deviations.** When a reduction is undone, the window returns but the curve does not (RFC 9438, section 4.9.2,
//! would restore it; Linux does not either).
//!
//! **How it is validated.** The curve against RFC 9438's formula, `HyStart` exits and growth limits in unit tests;
//! utilisation, fairness and the curve of a whole flow in the simulator's behaviour tests; beside the kernel's own
//! code, event by event, in docs/event-by-event.md.

mod linux;
mod rfc9438;
pub(super) mod sce;
#[cfg(test)]
mod tests;

use self::linux::Linux;
use self::rfc9438::Rfc9438;
use super::hystart::HyStart;
use super::hystart_plus_plus::HyStartPlusPlus;
use super::reno::ABE;
use super::window::{Window, WindowAlgorithm, WindowBased};
use super::{Ack, Acked, Scheme, Setup, Timeout, TxStart};
use crate::info::{Info, Kind, Parameter, Quantity};
use crate::units::{Duration, Instant};

/// Name, parameters and source.
pub(super) const INFO: Info = Info {
    name: "cubic",
    title: "TCP Cubic",
    source: "RFC 9438; Linux net/ipv4/tcp_cubic.c (5.5 and later)",
    parameters: &[
        Parameter {
            name: "law",
            kind: Kind::Choice { options: &["linux", "rfc9438"], default: "linux" },
            unit: "",
            doc: "the kernel's integer arithmetic, or the equations of the RFC",
        },
        Parameter {
            name: "slow_start",
            kind: Kind::Choice { options: &["hystart", "hystart++", "standard"], default: "hystart" },
            unit: "",
            doc: "how the first slow start ends: HyStart as in Linux, HyStart++ (RFC 9406), or only by a loss",
        },
        Parameter {
            name: "fast_convergence",
            kind: Kind::Flag { default: true },
            unit: "",
            doc: "release bandwidth when the window shrinks from loss to loss (RFC 9438, section 4.7)",
        },
        Parameter {
            name: "reno_friendly",
            kind: Kind::Flag { default: true },
            unit: "",
            doc: "grow at least as fast as Reno (RFC 9438, section 4.3)",
        },
        ABE,
    ],
    telemetry: &[
        Quantity { name: "w_max", unit: "packets", doc: "window before the last reduction, after fast convergence" },
        Quantity { name: "k", unit: "s", doc: "time from the start of the epoch to the plateau of the curve" },
        Quantity { name: "w_est", unit: "packets", doc: "the window that Reno would have" },
    ],
};

/// Makes one for a flow that starts.
pub(super) fn new(setup: Setup) -> Box<dyn Scheme> {
    let Setup { parameters, is_paced, .. } = setup;
    let (fast_convergence, reno_friendly) = (parameters.flag("fast_convergence"), parameters.flag("reno_friendly"));
    let law = match parameters.text("law") {
        "rfc9438" => Law::Rfc9438(Rfc9438::new(fast_convergence, reno_friendly)),
        _ => Law::Linux(Linux::new(fast_convergence, reno_friendly)),
    };
    let slow_start = match parameters.text("slow_start") {
        "hystart++" => SlowStart::HyStartPlusPlus(HyStartPlusPlus::new(is_paced)),
        "standard" => SlowStart::Standard,
        _ => SlowStart::HyStart(HyStart::new(is_paced)),
    };
    let has_abe = parameters.flag(ABE.name);
    Box::new(WindowBased::new(Cubic { law, slow_start, min_rtt: None, has_abe }))
}

/// The share of the window that a reduction leaves (RFC 9438, section 4.6), and after an ECN echo with alternative
/// backoff (RFC 8511, section 3.1).
const AFTER_LOSS: f64 = 0.7;
const AFTER_MARK: f64 = 0.85;

/// How the window grows in congestion avoidance.
#[derive(Debug)]
enum Law {
    Linux(Linux),
    Rfc9438(Rfc9438),
}

/// How slow start ends.
#[derive(Debug)]
enum SlowStart {
    HyStart(HyStart),
    HyStartPlusPlus(HyStartPlusPlus),
    Standard,
}

#[derive(Debug)]
struct Cubic {
    law: Law,
    slow_start: SlowStart,
    /// The smallest round trip since the last timeout (`delay_min`).
    min_rtt: Option<Duration>,
    has_abe: bool,
}

impl Cubic {
    fn reduce(&mut self, window: &Window, share: f64) -> u32 {
        if let SlowStart::HyStartPlusPlus(hystart) = &mut self.slow_start {
            hystart.finish();
        }
        match &mut self.law {
            Law::Linux(law) => law.reduce(window.cwnd, share),
            Law::Rfc9438(law) => law.reduce(window.cwnd, share),
        }
    }

    fn epoch_start(&self) -> Option<Instant> {
        match &self.law {
            Law::Linux(law) => law.epoch_start(),
            Law::Rfc9438(law) => law.epoch_start(),
        }
    }

    fn slow_start(&mut self, window: &mut Window, acked: u32) -> u32 {
        let SlowStart::HyStartPlusPlus(hystart) = &mut self.slow_start else { return window.slow_start(acked) };
        window.slow_start(hystart.growth(acked));
        0
    }
}

impl WindowAlgorithm for Cubic {
    fn ssthresh_after_loss(&mut self, window: &Window, _now: Instant) -> u32 {
        self.reduce(window, AFTER_LOSS)
    }

    fn ssthresh_after_mark(&mut self, window: &Window, _now: Instant) -> u32 {
        self.reduce(window, if self.has_abe { AFTER_MARK } else { AFTER_LOSS })
    }

    /// `cubictcp_acked`.
    fn on_acked(&mut self, window: &mut Window, acked: &Acked) {
        let Some(rtt) = acked.rtt else { return };
        // The kernel's clock has microseconds, and no round trip of none.
        let rtt = Duration::from_micros(rtt.as_micros().max(1));
        // Samples of the first second after a reduction still show the old queue.
        if self.epoch_start().is_some_and(|start| acked.now.since(start) < Duration::from_secs(1)) {
            return;
        }
        let min_rtt = self.min_rtt.map_or(rtt, |least| least.min(rtt));
        self.min_rtt = Some(min_rtt);
        match &mut self.slow_start {
            SlowStart::HyStart(hystart) => hystart.on_acked(window, acked, rtt, min_rtt),
            SlowStart::HyStartPlusPlus(hystart) => hystart.on_acked(window, acked, rtt),
            SlowStart::Standard => {}
        }
    }

    fn grow(&mut self, window: &mut Window, ack: &Ack<'_>) {
        if !window.is_limiting(ack) {
            return;
        }
        let mut acked = ack.newly_delivered;
        if window.is_in_slow_start() {
            acked = self.slow_start(window, acked);
        }
        if acked == 0 {
            return;
        }
        let min_rtt = self.min_rtt.unwrap_or_default();
        match &mut self.law {
            Law::Linux(law) => {
                let count = law.packets_per_increase(window.cwnd, acked, ack.now, min_rtt);
                window.grow_one_per(count, acked);
            }
            Law::Rfc9438(law) => law.grow(window, acked, ack.now, ack.srtt),
        }
    }

    fn on_timeout(&mut self, timeout: &Timeout) {
        self.min_rtt = None;
        match &mut self.law {
            Law::Linux(law) => law.reset(),
            Law::Rfc9438(law) => law.reset(),
        }
        if let SlowStart::HyStart(hystart) = &mut self.slow_start {
            hystart.restart(timeout.now, timeout.next_sequence);
        }
    }

    fn on_tx_start(&mut self, start: &TxStart) {
        match &mut self.law {
            Law::Linux(law) => law.shift_epoch(start.now, start.idle),
            Law::Rfc9438(law) => law.shift_epoch(start.now, start.idle),
        }
    }

    fn telemetry(&self, report: &mut dyn FnMut(&'static str, f64)) {
        let (w_max, k, w_est) = match &self.law {
            Law::Linux(law) => law.curve(),
            Law::Rfc9438(law) => law.curve(),
        };
        report("w_max", w_max);
        report("k", k);
        report("w_est", w_est);
    }
}

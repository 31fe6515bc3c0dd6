//! LEDBAT++: LEDBAT that yields to TCP on short paths, shares fairly with its like, and looks at the empty path.
//!
//! **What it is.** A sender for background traffic with a target of 60 ms of queue, measured in round trips. It grows
//! like Reno but slower, the more so the shorter the path; above the target it shrinks in proportion to its window.
//! From time to time it falls to two packets for two round trips, so that the queue drains and every flow sees the same
//! base.
//!
//! **Source.** draft-irtf-iccrg-ledbat-plus-plus-01, sections 4.1 to 4.5. Later versions of the draft were not read.
//! What Apple's `tcp_ledbat.c`, Qian Li's module for Linux (`tcp_ledbatpp.c` of github.com/tinalee77/LEDBAT-Plus-Plus)
//! and ns-3's model do otherwise, rule by rule, is in `docs/event-by-event.md`.
//!
//! **Parameters.** None.
//!
//! **Deviations.** As in the draft losses halve the window; they do so by the rules of TCP, with its undo, and with two
//! packets for the initial window to which it returns after a pause. A base older than ten minutes is forgotten by the
//! minute. Where the draft leaves it open: every ack has its share of what a round trip changes; only a window that
//! limits the sender grows; a rest lasts for twice the smoothed round trip of its beginning; the first ack after a
//! timeout makes two packets of one, below which the draft wants no window to fall; and CEIL of a whole number is that
//! number.
//!
//! **How it is validated.** Gain, decrease, slow start and slowdowns here; standing queue, utilisation and the fairness
//! that LEDBAT lacks in the simulator's behaviour tests. With the draft's rules in the place of their own, the code of
//! the three named above has the same window after every ack (`docs/event-by-event.md`). Beside the module in Linux
//! 7.3, in the linux world, when it began with ten packets as that does: one flow for two minutes at 5, 20 and 60
//! Mbit/s with 50 ms and buffers of 30 packets, a BDP and 500 packets had its throughput within 0.6 % and its median
//! delay within 2.4 ms; where 30 packets are a tenth of the BDP its throughput was 5 to 7 % above.

use super::history::DelayHistory;
use crate::info::{Info, Quantity};
use crate::scheme::window::{INFINITE_SSTHRESH, Window, WindowAlgorithm, WindowBased};
use crate::scheme::{Ack, Acked, Scheme, Setup};
use crate::units::{Duration, Instant};

/// Name, parameters and source.
pub(in crate::scheme) const INFO: Info = Info {
    name: "ledbat_plus_plus",
    title: "LEDBAT++",
    source: "draft-irtf-iccrg-ledbat-plus-plus",
    parameters: &[],
    telemetry: &[
        Quantity { name: "gain", unit: "", doc: "growth per round trip, packets" },
        Quantity { name: "queueing_delay", unit: "ms", doc: "round trip above the base" },
        Quantity { name: "base_delay", unit: "ms", doc: "least round trip of the last minutes" },
        Quantity { name: "is_slowdown", unit: "", doc: "1 from the fall to two packets until the old window is back" },
    ],
};

/// Queueing delay to aim at (section 4.5).
const TARGET: Duration = Duration::from_millis(60);
/// The gain is one over twice the target in base delays, and no less than one over this (section 4.2).
const MAX_GAIN_DIVISOR: u64 = 16;
/// Minutes of base delay and samples of current delay (RFC 6817, section 2.5).
const BASE_HISTORY: usize = 10;
const CURRENT_FILTER: usize = 4;
/// How far above the target the window shrinks by all of itself in a round trip (section 4.3, `Constant`).
const DECREASE: f64 = 1.0;
/// Largest initial window, packets (section 4.1).
const INIT_CWND: u32 = 2;
/// Smallest window, and that of a slowdown, packets (sections 4.3 and 4.4).
const MIN_CWND: u32 = 2;
/// Round trips from slow start to the first slowdown, and of the rest in a slowdown (section 4.4).
const FIRST_SLOWDOWN_ROUNDS: u64 = 2;
const REST_ROUNDS: u64 = 2;
/// The next slowdown begins so many durations of the last one after its end (section 4.4).
const SLOWDOWN_SPACING: u64 = 9;

/// Makes one for a flow that starts.
pub(in crate::scheme) fn new(_setup: Setup) -> Box<dyn Scheme> {
    Box::new(WindowBased::new(PlusPlus::new()))
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    /// Until the queue is three quarters of the target.
    InitialSlowStart,
    /// Until a slowdown begins; when is not known before the window is back at the threshold after the losses that end
    /// the initial slow start.
    Avoidance { slowdown: Option<Instant> },
    /// Two packets until `until`.
    Rest { began: Instant, until: Instant },
    /// Slow start back to the threshold.
    Return { began: Instant },
}

#[derive(Debug)]
struct PlusPlus {
    phase: Phase,
    history: DelayHistory,
    /// The window with its fraction.
    exact: f64,
}

/// Whole packets; three thirds of one are one.
fn whole(packets: f64) -> u32 {
    (packets + 1e-6) as u32
}

impl PlusPlus {
    fn new() -> Self {
        Self { phase: Phase::InitialSlowStart, history: DelayHistory::new(BASE_HISTORY, CURRENT_FILTER), exact: 0.0 }
    }

    /// Packets per round trip.
    fn gain(&self) -> f64 {
        let base = self.history.base().map_or(u64::MAX, |base| base.as_micros().max(1));
        let divisor = (2 * TARGET.as_micros()).div_ceil(base).clamp(1, MAX_GAIN_DIVISOR);
        1.0 / divisor as f64
    }

    /// Leaves the window with so many packets and no fraction.
    fn set(&mut self, window: &mut Window, packets: u32) {
        window.cwnd = packets;
        self.exact = f64::from(packets);
    }

    /// Changes the window by so many packets; whole ones show.
    fn change(&mut self, window: &mut Window, packets: f64) {
        if whole(self.exact) != window.cwnd {
            self.exact = f64::from(window.cwnd);
        }
        self.exact = (self.exact + packets).max(f64::from(MIN_CWND));
        window.cwnd = whole(self.exact);
    }

    /// What a round trip with the present queue changes, packets.
    fn change_per_round(&self, window: &Window) -> f64 {
        let cwnd = f64::from(window.cwnd);
        let excess = self.history.queueing().as_secs_f64() / TARGET.as_secs_f64() - 1.0;
        if excess < 0.0 { self.gain() } else { (self.gain() - DECREASE * cwnd * excess).max(-cwnd / 2.0) }
    }

    fn slow_start(&mut self, window: &mut Window, ack: &Ack<'_>) {
        if window.is_limiting(ack) {
            self.change(window, self.gain() * f64::from(ack.newly_delivered));
            if !window.is_in_slow_start() {
                self.set(window, window.ssthresh);
            }
        }
    }
}

impl WindowAlgorithm for PlusPlus {
    fn initial_window(&self, transport: u32) -> u32 {
        transport.min(INIT_CWND)
    }

    fn ssthresh_after_loss(&mut self, window: &Window, _now: Instant) -> u32 {
        if self.phase == Phase::InitialSlowStart {
            self.phase = Phase::Avoidance { slowdown: None };
        }
        (window.cwnd / 2).max(MIN_CWND)
    }

    fn on_acked(&mut self, _window: &mut Window, acked: &Acked) {
        if let Some(rtt) = acked.rtt {
            self.history.add(rtt, acked.now);
        }
    }

    fn grow(&mut self, window: &mut Window, ack: &Ack<'_>) {
        let first_slowdown = Some(ack.now + ack.srtt * FIRST_SLOWDOWN_ROUNDS);
        if window.ssthresh == INFINITE_SSTHRESH {
            // The losses that ended it may have proved spurious.
            self.phase = Phase::InitialSlowStart;
        }
        match self.phase {
            Phase::InitialSlowStart if self.history.queueing() > TARGET.scale(3, 4) => {
                window.ssthresh = window.cwnd;
                self.phase = Phase::Avoidance { slowdown: first_slowdown };
            }
            Phase::Avoidance { slowdown: None } if !window.is_in_slow_start() => {
                self.phase = Phase::Avoidance { slowdown: first_slowdown };
            }
            Phase::Rest { began, until } if ack.now >= until => self.phase = Phase::Return { began },
            _ => {}
        }
        match self.phase {
            Phase::InitialSlowStart => self.slow_start(window, ack),
            Phase::Avoidance { slowdown: Some(slowdown) } if ack.now >= slowdown => {
                window.ssthresh = window.cwnd.max(MIN_CWND);
                self.set(window, MIN_CWND);
                self.phase = Phase::Rest { began: ack.now, until: ack.now + ack.srtt * REST_ROUNDS };
            }
            // A timeout left the window below its threshold.
            Phase::Avoidance { .. } if window.is_in_slow_start() => self.slow_start(window, ack),
            Phase::Avoidance { .. } => {
                let packets = self.change_per_round(window) * f64::from(ack.newly_delivered) / f64::from(window.cwnd);
                if packets < 0.0 || window.is_limiting(ack) {
                    self.change(window, packets);
                    window.ssthresh = window.ssthresh.min(window.cwnd);
                }
            }
            // An undo may have raised it.
            Phase::Rest { .. } => self.set(window, MIN_CWND),
            Phase::Return { began } => {
                self.slow_start(window, ack);
                if !window.is_in_slow_start() {
                    let spacing = ack.now.since(began) * SLOWDOWN_SPACING;
                    self.phase = Phase::Avoidance { slowdown: Some(ack.now + spacing) };
                }
            }
        }
    }

    fn telemetry(&self, report: &mut dyn FnMut(&'static str, f64)) {
        let millis = |delay: Duration| delay.as_secs_f64() * 1e3;
        report("gain", self.gain());
        report("queueing_delay", millis(self.history.queueing()));
        if let Some(base) = self.history.base() {
            report("base_delay", millis(base));
        }
        let is_slowdown = matches!(self.phase, Phase::Rest { .. } | Phase::Return { .. });
        report("is_slowdown", f64::from(u8::from(is_slowdown)));
    }
}

#[cfg(test)]
mod tests;

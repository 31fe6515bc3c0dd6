//! Illinois: additive increase and multiplicative decrease whose amounts follow the delay.
//!
//! **What it is.** While the queue is short the window grows by up to ten packets per round trip and a loss costs an
//! eighth of it; near the longest delay ever seen it grows by 0.3 and a loss costs half.
//!
//! **Source.** Liu, Başar and Srikant, "TCP-Illinois", 2006; Linux `net/ipv4/tcp_illinois.c`, whose function names and
//! integer arithmetic are kept.
//!
//! **Parameters.** `win_thresh` and `theta`, those of the kernel module.
//!
//! **Deviations.** None from Linux, but that its 16 bits for the round trips of a round do not overflow here; as there,
//! the longest delay never ages, and the rounds of low delay that let the increase return to ten need not follow one
//! another.
//!
//! **How it is validated.** Both curves, the patience before full growth, growth and timeouts here; utilisation and
//! recovery in the simulator's behaviour tests; beside the kernel by `bakeoff agree`, and beside its code, event by
//! event, in docs/event-by-event.md.

use super::window::{Window, WindowAlgorithm, WindowBased};
use super::{Ack, Acked, Parameters, Scheme, Setup, Timeout};
use crate::info::{Info, Kind, Parameter, Quantity};
use crate::units::{Duration, Instant};

/// Name, parameters and source.
pub(super) const INFO: Info = Info {
    name: "illinois",
    title: "TCP Illinois",
    source: "Liu, Başar and Srikant 2006; Linux net/ipv4/tcp_illinois.c",
    parameters: &[
        Parameter {
            name: "win_thresh",
            kind: Kind::Number { default: 15.0, min: 0.0, max: 1_000_000.0 },
            unit: "packets",
            doc: "smaller windows grow and fall as Reno's",
        },
        Parameter {
            name: "theta",
            kind: Kind::Number { default: 5.0, min: 1.0, max: 100.0 },
            unit: "round trips",
            doc: "how many of low delay bring the full growth back",
        },
    ],
    telemetry: &[
        Quantity { name: "alpha", unit: "packets", doc: "growth per round trip" },
        Quantity { name: "beta", unit: "", doc: "share of the window that a loss costs" },
        Quantity { name: "average_delay", unit: "ms", doc: "queueing delay, mean of the last round trip" },
        Quantity { name: "max_delay", unit: "ms", doc: "longest queueing delay ever seen" },
    ],
};

/// Growth per round trip: 1, 0.3 and 10 packets in units of 1/128.
const ALPHA_SCALE: u32 = 128;
const ALPHA_MIN: u32 = 3 * ALPHA_SCALE / 10;
const ALPHA_MAX: u32 = 10 * ALPHA_SCALE;
/// What a loss costs: an eighth or half of the window, in units of 1/64.
const BETA_SCALE: u32 = 64;
const BETA_MIN: u32 = BETA_SCALE / 8;
const BETA_MAX: u32 = BETA_SCALE / 2;
/// Longest round trip that is believed, microseconds (`RTT_MAX`).
const MAX_RTT: u64 = (u32::MAX / ALPHA_MAX) as u64;

/// Makes one for a flow that starts.
pub(super) fn new(setup: Setup) -> Box<dyn Scheme> {
    let Setup { parameters, .. } = setup;
    Box::new(WindowBased::new(Illinois::new(&parameters)))
}

/// Round trips of one window, microseconds.
#[derive(Debug, Default)]
struct Round {
    sum: u64,
    samples: u64,
}

#[derive(Debug)]
struct Illinois {
    min_window: u32,
    patience: u32,
    round: Round,
    /// A round ends when this segment is acknowledged.
    round_end: u64,
    /// Round trips, microseconds.
    shortest: u64,
    longest: u64,
    average_delay: u64,
    alpha: u32,
    beta: u32,
    /// Segments that the current ack covers, and the first that it does not.
    acked: u32,
    first_unacked: u64,
    /// The delay has been more than low since alpha was last at its most (`rtt_above`).
    has_been_above: bool,
    low_rounds: u32,
}

impl Illinois {
    fn new(parameters: &Parameters) -> Self {
        // Windows and rounds are whole: fewer than two and a half are fewer than three.
        let number = |name| parameters.number(name).ceil() as u32;
        Self {
            min_window: number("win_thresh"),
            patience: number("theta"),
            round: Round::default(),
            round_end: 0,
            shortest: u64::MAX,
            longest: 0,
            average_delay: 0,
            alpha: ALPHA_MAX,
            beta: BETA_MAX,
            acked: 0,
            first_unacked: 0,
            has_been_above: false,
            low_rounds: 0,
        }
    }

    /// Growth at this average and this longest queueing delay (`alpha`).
    fn growth_at(&mut self, average: u64, longest: u64) -> u32 {
        let low = longest / 100;
        if average <= low {
            if self.has_been_above {
                self.low_rounds += 1;
                if self.low_rounds < self.patience {
                    return self.alpha;
                }
            }
            (self.low_rounds, self.has_been_above) = (0, false);
            return ALPHA_MAX;
        }
        self.has_been_above = true;
        let (longest, average) = (longest - low, average - low);
        let rise = average * u64::from(ALPHA_MAX - ALPHA_MIN) / u64::from(ALPHA_MIN);
        (longest * u64::from(ALPHA_MAX) / (longest + rise)) as u32
    }

    /// `update_params`, and a new round.
    fn end_round(&mut self, cwnd: u32, next_sequence: u64) {
        let round = std::mem::take(&mut self.round);
        self.round_end = next_sequence;
        if cwnd < self.min_window {
            (self.alpha, self.beta) = (ALPHA_SCALE, BETA_MAX);
        } else if let Some(average) = round.sum.checked_div(round.samples) {
            self.average_delay = average - self.shortest;
            let longest = self.longest - self.shortest;
            self.alpha = self.growth_at(self.average_delay, longest);
            self.beta = cost_at(self.average_delay, longest);
        }
    }
}

/// What a loss costs at this average and this longest queueing delay (`beta`).
fn cost_at(average: u64, longest: u64) -> u32 {
    let (low, high) = (longest / 10, 8 * longest / 10);
    if average <= low {
        BETA_MIN
    } else if average >= high || high <= low {
        BETA_MAX
    } else {
        let (min, max) = (u64::from(BETA_MIN), u64::from(BETA_MAX));
        ((min * high + (max - min) * average - max * low) / (high - low)) as u32
    }
}

impl WindowAlgorithm for Illinois {
    /// `tcp_illinois_ssthresh`.
    fn ssthresh_after_loss(&mut self, window: &Window, _now: Instant) -> u32 {
        let cost = u64::from(window.cwnd) * u64::from(self.beta) / u64::from(BETA_SCALE);
        (window.cwnd - cost as u32).max(2)
    }

    /// `tcp_illinois_cong_avoid`.
    fn grow(&mut self, window: &mut Window, ack: &Ack<'_>) {
        if ack.first_unacked > self.round_end {
            self.end_round(window.cwnd, ack.next_sequence);
        }
        if !window.is_limiting(ack) {
            return;
        }
        if window.is_in_slow_start() {
            window.slow_start(ack.newly_delivered);
        } else {
            window.grow_by(self.alpha, ALPHA_SCALE, self.acked);
        }
    }

    /// `tcp_illinois_acked`.
    fn on_acked(&mut self, _window: &mut Window, acked: &Acked) {
        self.acked = (acked.first_unacked - self.first_unacked) as u32;
        self.first_unacked = acked.first_unacked;
        if let Some(rtt) = acked.rtt {
            let rtt = rtt.as_micros().min(MAX_RTT);
            self.shortest = self.shortest.min(rtt);
            self.longest = self.longest.max(rtt);
            self.round.samples += 1;
            self.round.sum += rtt;
        }
    }

    /// `tcp_illinois_state`.
    fn on_timeout(&mut self, timeout: &Timeout) {
        (self.alpha, self.beta) = (ALPHA_SCALE, BETA_MAX);
        (self.low_rounds, self.has_been_above) = (0, false);
        (self.round, self.round_end) = (Round::default(), timeout.next_sequence);
    }

    fn telemetry(&self, report: &mut dyn FnMut(&'static str, f64)) {
        let millis = |micros| Duration::from_micros(micros).as_secs_f64() * 1e3;
        report("alpha", f64::from(self.alpha) / f64::from(ALPHA_SCALE));
        report("beta", f64::from(self.beta) / f64::from(BETA_SCALE));
        report("average_delay", millis(self.average_delay));
        report("max_delay", millis(self.longest.saturating_sub(self.shortest)));
    }
}

#[cfg(test)]
mod tests;

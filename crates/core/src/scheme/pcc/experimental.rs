//! PCC-Expr: Vivace's gradient ascent in the form of the PCC-Uspace project, "PCC-Expr" in the Pantheon.
//!
//! **What it is.** As [`super::vivace`], with monitor intervals of one and a half round trips, a utility that minds the
//! round trip far more, and a rate that follows the gradient interval by interval as long as its sign stays.
//!
//! **Source.** PCCproject/PCC-Uspace at cd43e34e: `src/pcc/pcc_sender.cpp`, `pcc_monitor_interval_queue.cpp`, `src/core/core.cpp`.
//! Of its tolerances of the round trip only the one of the start is in use there.
//!
//! **Parameters.** None.
//!
//! **Deviations.** See [`super`]. The original takes a packet for lost, and sends it again, two round trips and four of their
//! deviations after it was sent; here the transport may send it again before, but its interval waits as long for its result.
//! A packet that comes after it was sent again counts; there only the last transmission does (`ProcessAck`). After an interval of a
//! single packet, which has no speed, probing begins again around the same rate. An interval of which one packet or none
//! arrived has no trend here; in the original zero over zero becomes the least integer, and the utility a huge one.
//!
//! **How it is validated.** Utility, modes and changes here; what the utility leads to on a path in the simulator's
//! behaviour tests; beside the program over four links (`docs/originals.md`).

use super::monitor::Interval;
use super::sender::{Controller, Order, Sender, Span};
use super::step::{Growth, MIN_CHANGE, Step};
use super::trials::Trials;
use super::utility::{MEBIBIT, loss_weight, quantised, reward, speed};
use super::{RATE, UTILITY};
use crate::info::{Info, Quantity};
use crate::random::RandomStream;
use crate::scheme::{Ack, Scheme, Setup};
use crate::units::{Bytes, Duration, Instant};

/// Ten packets of 1400 bytes in ten milliseconds, in units of 2^20 bit/s.
const FIRST_RATE: f64 = 10.0 * 1_400.0 * 8.0 / 0.01 / MEBIBIT;
const MIN_RATE: f64 = 2.0;
/// A limit that the original lacks.
const MAX_RATE: f64 = 1e5;
const LATENCY_COEFFICIENT: f64 = 11_330.0;
/// The utility counts payload: packets without the headers of IP, UDP and UDT.
const HEADERS: Bytes = Bytes::new(20 + 8 + 16);
/// Half the distance between the two rates of a pair.
const PROBE: f64 = 0.05;
const PAIRS: usize = 2;
/// Length of an interval in round trips, and weight of a new one in their average.
const ROUND_TRIPS: f64 = 1.5;
const WEIGHT: f64 = 0.25;
/// A packet's round trip over the average at the start of the interval under way which ends the start: what
/// `OnCongestionEvent` calls `avg_rtt_us` is that of a packet.
const START_TOLERANCE: f64 = 1.3;
/// What a decision is divided by when it proves wrong.
const BACK_FROM_UP: f64 = 1.02;
const BACK_FROM_DOWN: f64 = 0.98;
/// UDT's round trip and deviation before the first sample, seconds, and the weight of a new one (`m_iRTT`, `m_iRTTVar`).
const UDT_RTT: f64 = 10.0;
const UDT_DEVIATION: f64 = 5.0;
const UDT_WEIGHT: f64 = 0.125;

/// Name, parameters and source.
pub(in crate::scheme) const INFO: Info = Info {
    name: "pcc_experimental",
    title: "PCC-Expr",
    source: "PCCproject/PCC-Uspace cd43e34e, src/pcc/pcc_sender.cpp",
    parameters: &[],
    telemetry: &[Quantity { name: "mode", unit: "", doc: "0 starting, 1 probing, 2 decision made" }, RATE, UTILITY],
};

/// Makes one for a flow that starts.
pub(in crate::scheme) fn new(setup: Setup) -> Box<dyn Scheme> {
    let Setup { packet_size, random, .. } = setup;
    Box::new(Sender::new(Experimental::new(packet_size, random), FIRST_RATE))
}

#[derive(Debug)]
enum Mode {
    /// The interval whose result is awaited, as soon as there is a round trip, and the utility to beat.
    Starting { awaited: Option<u64>, utility: f64 },
    /// Rates to try, and the rate and utility of each result.
    Probing(Trials<(f64, f64)>),
    /// Rate and utility to compare the awaited result with.
    Decided { awaited: u64, previous: (f64, f64) },
}

#[derive(Debug)]
struct Experimental {
    payload: Bytes,
    random: RandomStream,
    rate: f64,
    mode: Mode,
    step: Step,
    /// The average round trip, seconds, and what it was when the interval under way began; `None` before the first.
    rtt: Option<f64>,
    rtt_at_begin: Option<f64>,
    /// The round trip has risen in the start.
    is_inflated: bool,
    /// UDT's own average round trip and deviation, seconds.
    udt_rtt: f64,
    udt_deviation: f64,
    is_up: bool,
    utility: f64,
}

impl Experimental {
    fn new(packet: Bytes, random: RandomStream) -> Self {
        Self {
            payload: packet.saturating_sub(HEADERS),
            random,
            rate: FIRST_RATE,
            mode: Mode::Starting { awaited: None, utility: 0.0 },
            step: Step::new(Growth::Experimental),
            rtt: None,
            rtt_at_begin: None,
            is_inflated: false,
            udt_rtt: UDT_RTT,
            udt_deviation: UDT_DEVIATION,
            is_up: true,
            utility: 0.0,
        }
    }

    fn set_rate(&mut self, rate: f64) {
        self.rate = rate.min(MAX_RATE);
    }

    /// Pairs around the rate, from the interval `next` on.
    fn probe(&mut self, next: u64) {
        self.mode = Mode::Probing(Trials::new(self.rate, PROBE, PAIRS, next, &mut self.random));
    }

    /// The change of rate that two results, of rate and utility, ask for (`ComputeRateChange`).
    fn change(&mut self, one: (f64, f64), other: (f64, f64)) -> f64 {
        let difference = one.0 - other.0;
        let change =
            if difference == 0.0 { MIN_CHANGE } else { self.step.change((one.1 - other.1) / difference, self.rate) };
        change.max(MIN_RATE - self.rate)
    }

    fn make(&mut self, change: f64, previous: (f64, f64), next: u64) {
        self.step.remember(change);
        self.mode = Mode::Decided { awaited: next, previous };
        self.set_rate(self.rate + change);
    }

    /// Both pairs have to agree on the direction. The first says how far, and the better half of the second is what the
    /// next result is compared with.
    fn decide(&mut self, results: &[(f64, f64)], next: u64) {
        let is_up = |first: usize| {
            let ((rate, utility), (other_rate, other_utility)) = (results[first], results[first + 1]);
            if utility > other_utility { rate > other_rate } else { rate < other_rate }
        };
        if is_up(0) != is_up(2) {
            self.probe(next);
            return;
        }
        self.is_up = is_up(0);
        let best = if results[2].1 > results[3].1 { results[2] } else { results[3] };
        let change = self.change(results[0], results[1]);
        self.make(change, best, next);
    }

    /// One more step while its sign stays; else a little back, and probing.
    fn follow(&mut self, this: (f64, f64), previous: (f64, f64), next: u64) {
        let change = self.change(this, previous);
        if (change > 0.0) == self.step.was_up() {
            self.make(change, this, next);
        } else {
            self.set_rate(self.rate / if self.is_up { BACK_FROM_UP } else { BACK_FROM_DOWN });
            self.probe(next);
        }
    }

    /// True if the result of an interval is of interest.
    fn is_useful(&self, number: u64) -> bool {
        match &self.mode {
            Mode::Starting { awaited, .. } => awaited.is_some_and(|awaited| number >= awaited),
            Mode::Probing(trials) => trials.is_of(number),
            Mode::Decided { awaited, .. } => number >= *awaited,
        }
    }

    /// How long a packet is waited for before it is taken for lost, seconds (`checkTimers`).
    fn loss_delay(&self) -> f64 {
        2.0 * self.udt_rtt + 4.0 * self.udt_deviation
    }
}

/// The utility as coded: the latency term is per packet, and a falling round trip is rewarded.
fn utility(interval: &Interval, payload: Bytes) -> f64 {
    let (speed, loss) = (speed(interval, payload), interval.loss());
    let half = interval.rtts.len() / 2;
    let sum = |part: &[f64]| part.iter().sum::<f64>();
    let (first, second) = (sum(&interval.rtts[..half]), sum(&interval.rtts[half..2 * half]));
    let all = first + second;
    let trend = if all > 0.0 { 2.0 * (second - first) / all } else { 0.0 };
    let latency = LATENCY_COEFFICIENT * payload.count() as f64;
    reward(speed) - speed * (loss_weight(loss) * loss + latency * quantised(trend))
}

impl Controller for Experimental {
    const UNIT: f64 = MEBIBIT;
    const NEEDS_RTTS: bool = true;

    fn begin(&mut self, number: u64, now: Instant) -> (f64, Span) {
        let trial = if let Mode::Probing(trials) = &self.mode { trials.rate(number) } else { None };
        // Before the first round trip every packet is one.
        let duration = Duration::from_secs_f64(ROUND_TRIPS * self.rtt.unwrap_or(0.0));
        self.rtt_at_begin = self.rtt;
        (trial.unwrap_or(self.rate), Span::Until(now + duration))
    }

    fn is_known(&self, interval: &Interval, _newest: Option<u64>, now: Instant) -> bool {
        let is_given_up = |sent: Instant| now.since(sent).as_secs_f64() > self.loss_delay();
        !self.is_useful(interval.number)
            || interval.is_accounted_for() && interval.last_lost.is_none_or(is_given_up)
            || is_given_up(interval.last_sent)
    }

    fn on_ack(&mut self, ack: &Ack<'_>) {
        let Some(rtt) = ack.rtt.map(Duration::as_secs_f64) else { return };
        self.rtt = Some(self.rtt.map_or(rtt, |average| (1.0 - WEIGHT) * average + WEIGHT * rtt));
        self.udt_rtt += UDT_WEIGHT * (rtt - self.udt_rtt);
        self.udt_deviation += UDT_WEIGHT * ((rtt - self.udt_rtt).abs() - self.udt_deviation);
        let is_starting = matches!(self.mode, Mode::Starting { .. });
        self.is_inflated = is_starting && self.rtt_at_begin.is_some_and(|before| rtt > START_TOLERANCE * before);
    }

    fn on_result(&mut self, interval: &Interval, next: u64, _measured_rtt: Option<f64>) -> Order {
        if self.is_inflated || !self.is_useful(interval.number) {
            return Order::GoOn;
        }
        let is_single = interval.sent < 2;
        if !is_single {
            self.utility = utility(interval, self.payload);
        }
        let this = (interval.rate, self.utility);
        match &mut self.mode {
            Mode::Starting { awaited, .. } if is_single => *awaited = Some(next),
            Mode::Starting { awaited, utility } if self.utility > *utility => {
                (*awaited, *utility) = (Some(next), self.utility);
                self.set_rate(2.0 * self.rate);
            }
            Mode::Starting { .. } => {
                self.set_rate(self.rate / 2.0);
                self.probe(next);
            }
            Mode::Probing(_) if is_single => self.probe(next),
            Mode::Probing(trials) => match trials.add(interval.number, this) {
                Some(results) => self.decide(&results, next),
                None => return Order::GoOn,
            },
            Mode::Decided { awaited, .. } if is_single => *awaited = next,
            Mode::Decided { previous, .. } => {
                let previous = *previous;
                self.follow(this, previous, next);
            }
        }
        Order::Begin
    }

    fn after_ack(&mut self, next: u64) -> Order {
        let has_rtt = self.rtt.is_some();
        match &mut self.mode {
            Mode::Starting { .. } if std::mem::take(&mut self.is_inflated) => {
                self.set_rate(self.rate / 2.0);
                self.probe(next);
                Order::Begin
            }
            Mode::Starting { awaited: awaited @ None, .. } if has_rtt => {
                *awaited = Some(next);
                Order::GoOn
            }
            _ => Order::GoOn,
        }
    }

    fn telemetry(&self, report: &mut dyn FnMut(&'static str, f64)) {
        let mode = match self.mode {
            Mode::Starting { .. } => 0,
            Mode::Probing(_) => 1,
            Mode::Decided { .. } => 2,
        };
        report("mode", f64::from(mode));
        report("rate", self.rate * MEBIBIT);
        report("utility", self.utility);
    }
}

#[cfg(test)]
mod tests;

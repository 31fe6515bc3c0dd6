//! PCC-Expr: Vivace's gradient ascent in the form of the PCC-Uspace project, "PCC-Expr" in the Pantheon.
//!
//! **What it is.** As [`super::vivace`], with monitor intervals of one and a half round trips, a utility that minds the
//! round trip far more, and a rate that follows the gradient interval by interval as long as its sign stays.
//!
//! **Source.** PCCproject/PCC-Uspace at cd43e34e: `src/pcc/pcc_sender.cpp`, `pcc_monitor_interval_queue.cpp`.
//!
//! **Parameters.** None.
//!
//! **Deviations.** See [`super`].
//!
//! **How it is validated.** Utility, modes and changes here; what the utility leads to on a path in the simulator's
//! behaviour tests.

use super::monitor::Interval;
use super::sender::{Controller, Sender, Span};
use super::step::{Growth, Step};
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
const MAX_RATE: f64 = 1e5;
const LATENCY_COEFFICIENT: f64 = 11_330.0;
/// Half the distance between the two rates of a pair.
const PROBE: f64 = 0.05;
const PAIRS: usize = 2;
/// Length of an interval in round trips, and weight of a new one in their average.
const ROUND_TRIPS: f64 = 1.5;
const WEIGHT: f64 = 0.25;
const INITIAL_RTT: f64 = 0.01;
/// Rise of the round trip that ends the start, and a decision.
const START_TOLERANCE: f64 = 1.3;
const DECISION_TOLERANCE: f64 = 1.05;
/// What a decision is divided by when it proves wrong.
const BACK_FROM_UP: f64 = 1.02;
const BACK_FROM_DOWN: f64 = 0.98;

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
    Starting {
        awaited: u64,
        utility: Option<f64>,
        rtt: f64,
    },
    /// Rates to try, and the rate and utility of each result.
    Probing(Trials<(f64, f64)>),
    Decided {
        awaited: u64,
        previous: (f64, f64),
        rtt: f64,
    },
}

#[derive(Debug)]
struct Experimental {
    packet: Bytes,
    random: RandomStream,
    rate: f64,
    mode: Mode,
    step: Step,
    rtt: f64,
    is_up: bool,
    utility: f64,
}

impl Experimental {
    fn new(packet: Bytes, random: RandomStream) -> Self {
        Self {
            packet,
            random,
            rate: FIRST_RATE,
            mode: Mode::Starting { awaited: 0, utility: None, rtt: INITIAL_RTT },
            step: Step::new(Growth::Experimental),
            rtt: INITIAL_RTT,
            is_up: true,
            utility: 0.0,
        }
    }

    fn set_rate(&mut self, rate: f64) {
        self.rate = rate.clamp(MIN_RATE, MAX_RATE);
    }

    /// Pairs around the rate, from the interval `next` on.
    fn probe(&mut self, next: u64) {
        self.mode = Mode::Probing(Trials::new(self.rate, PROBE, PAIRS, next, &mut self.random));
    }

    /// Both pairs have to agree.
    fn decide(&mut self, results: &[(f64, f64)], next: u64) {
        let of_pair = |first: usize| {
            let ((rate, utility), (other_rate, other_utility)) = (results[first], results[first + 1]);
            (utility - other_utility) / (rate - other_rate)
        };
        let (first, second) = (of_pair(0), of_pair(2));
        if first * second <= 0.0 {
            self.probe(next);
            return;
        }
        let base = (self.rate, results.iter().map(|(_, utility)| utility).sum::<f64>() / results.len() as f64);
        let change = self.step.change(f64::midpoint(first, second), self.rate);
        self.is_up = change > 0.0;
        self.mode = Mode::Decided { awaited: next, previous: base, rtt: self.rtt };
        self.set_rate(self.rate + change);
    }

    /// One more step while the gradient keeps its sign; else a little back, and probing.
    fn follow(&mut self, rate: f64, utility: f64, this: (f64, f64), next: u64) {
        let gradient = if rate.abs() < 1e-9 { 0.0 } else { utility / rate };
        if gradient == 0.0 || (gradient > 0.0) != self.is_up {
            self.go_back(next);
            return;
        }
        let change = self.step.change(gradient, self.rate);
        self.mode = Mode::Decided { awaited: next, previous: this, rtt: self.rtt };
        self.set_rate(self.rate + change);
    }

    fn go_back(&mut self, next: u64) {
        self.set_rate(self.rate / if self.is_up { BACK_FROM_UP } else { BACK_FROM_DOWN });
        self.probe(next);
    }

    /// A round trip that has risen ends the start or a decision at once.
    fn watch_rtt(&mut self, next: u64) {
        match self.mode {
            Mode::Starting { rtt, utility: Some(_), .. } if self.rtt > START_TOLERANCE * rtt => {
                self.set_rate(self.rate / 2.0);
                self.probe(next);
            }
            Mode::Decided { rtt, .. } if self.is_up && self.rtt > DECISION_TOLERANCE * rtt => self.go_back(next),
            _ => {}
        }
    }
}

/// The utility as coded: the latency term is per packet, and a falling round trip is rewarded.
fn utility(interval: &Interval, packet: Bytes) -> f64 {
    let (speed, loss) = (speed(interval, packet), interval.loss());
    let (first, second) = interval.rtts.split_at(interval.rtts.len() / 2);
    let sum = |part: &[f64]| part.iter().sum::<f64>();
    let all = sum(&interval.rtts);
    let trend = if all > 0.0 { 2.0 * (sum(second) - sum(first)) / all } else { 0.0 };
    let latency = LATENCY_COEFFICIENT * packet.count() as f64;
    reward(speed) - speed * (loss_weight(loss) * loss + latency * quantised(trend))
}

impl Controller for Experimental {
    const UNIT: f64 = MEBIBIT;

    fn begin(&mut self, number: u64, now: Instant) -> (f64, Span) {
        let trial = if let Mode::Probing(trials) = &self.mode { trials.rate(number) } else { None };
        (trial.unwrap_or(self.rate), Span::Until(now + Duration::from_secs_f64(ROUND_TRIPS * self.rtt)))
    }

    fn is_known(interval: &Interval, _newest: Option<u64>) -> bool {
        interval.is_accounted_for()
    }

    fn rtt(&self) -> f64 {
        self.rtt
    }

    fn on_ack(&mut self, ack: &Ack<'_>) {
        let Some(rtt) = ack.rtt else { return };
        let is_first = self.rtt <= INITIAL_RTT && self.utility == 0.0;
        let rtt = rtt.as_secs_f64();
        self.rtt = if is_first { rtt } else { (1.0 - WEIGHT) * self.rtt + WEIGHT * rtt };
    }

    fn on_result(&mut self, interval: &Interval, next: u64, _newest_rtt: Option<f64>) {
        self.utility = utility(interval, self.packet);
        match &mut self.mode {
            Mode::Starting { awaited, .. } | Mode::Decided { awaited, .. } if interval.number < *awaited => {}
            Mode::Starting { utility, .. } => {
                if utility.is_some_and(|before| self.utility <= before) {
                    self.set_rate(self.rate / 2.0);
                    self.probe(next);
                } else {
                    self.mode = Mode::Starting { awaited: next, utility: Some(self.utility), rtt: self.rtt };
                    self.set_rate(2.0 * self.rate);
                }
            }
            Mode::Probing(trials) => {
                if let Some(results) = trials.add(interval.number, (interval.rate, self.utility)) {
                    self.decide(&results, next);
                }
            }
            Mode::Decided { previous, .. } => {
                let (rate, utility) = *previous;
                self.follow(interval.rate - rate, self.utility - utility, (interval.rate, self.utility), next);
            }
        }
    }

    fn after_ack(&mut self, next: u64) {
        self.watch_rtt(next);
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
#[allow(clippy::float_cmp, reason = "rates and steps are exact")]
mod tests {
    use super::super::monitor::tests::interval;
    use super::super::step::MIN_CHANGE;
    use super::*;
    use crate::units::Rate;

    const PACKET: Bytes = Bytes::new(1_500);

    #[test]
    fn latency_dwarfs_everything_once_it_is_seen() {
        let steady = interval(10.0, 1_000, 0, 0.1);
        let speed: f64 = 1_000.0 * 12_000.0 / MEBIBIT;
        assert!((utility(&steady, PACKET) - speed.powf(0.9)).abs() < 1e-9);
        let mut rising = steady.clone();
        for rtt in &mut rising.rtts[500..] {
            *rtt = 0.103;
        }
        let cost = speed * 11_330.0 * 1_500.0 * 0.02;
        assert!((utility(&rising, PACKET) - (speed.powf(0.9) - cost)).abs() < 1e-3);
        rising.rtts.reverse();
        assert!(utility(&rising, PACKET) > cost, "and a falling round trip is rewarded");
    }

    #[test]
    fn three_percent_of_loss_is_where_it_begins_to_cost() {
        let at = |lost| utility(&interval(10.0, 1_000, lost, 0.1), PACKET);
        assert!(at(0) - at(30) < 1.0);
        assert!(at(30) - at(31) > 3.0);
    }

    #[test]
    fn the_first_rate_is_ten_packets_in_ten_milliseconds() {
        let pcc = Sender::new(Experimental::new(PACKET, RandomStream::new(1, "pcc")), FIRST_RATE);
        assert_eq!(pcc.pacing_rate().map(Rate::as_bits_per_second), Some(11_200_000));
    }

    #[test]
    fn the_start_doubles_while_utility_grows_and_both_pairs_have_to_agree() {
        let mut pcc = Experimental::new(PACKET, RandomStream::new(1, "pcc"));
        pcc.on_result(&interval(FIRST_RATE, 900, 0, 0.1), 0, None);
        assert!((pcc.rate - 2.0 * FIRST_RATE).abs() < 1e-9);
        pcc.on_result(&interval(2.0 * FIRST_RATE, 850, 0, 0.1), 0, None);
        assert!((pcc.rate - FIRST_RATE).abs() < 1e-9);
        assert!(matches!(pcc.mode, Mode::Probing(_)));
        pcc.decide(&[(11.0, 2.0), (10.0, 1.0), (11.0, 1.0), (10.0, 2.0)], 9);
        assert!(matches!(pcc.mode, Mode::Probing(_)));
        pcc.decide(&[(11.0, 2.0), (10.0, 1.0), (10.0, 1.0), (11.0, 2.0)], 9);
        assert!(matches!(pcc.mode, Mode::Decided { .. }) && pcc.is_up);
        assert!(pcc.rate >= FIRST_RATE + MIN_CHANGE);
        let decided = pcc.rate;
        pcc.follow(1.0, -1.0, (decided, 0.0), 10);
        assert!((pcc.rate - decided / 1.02).abs() < 1e-9);
    }
}

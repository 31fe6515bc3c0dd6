//! PCC Vivace: gradient ascent on a utility of rate, loss and the slope of the round trip.
//!
//! **What it is.** After a start that doubles, pairs of monitor intervals 5 % above and below the rate give the gradient
//! of the utility; the rate moves along it, with an amplifier for gradients that keep their sign and a boundary on
//! each change.
//!
//! **Source.** M. Dong et al., PCC Vivace: Online-Learning Congestion Control, NSDI 2018; PCCproject/PCC-Uspace, branch
//! NSDI-2018 (`pcc-gradient/sender/app/pcc.h`, `gradient_descent_pcc_client.cpp`), and the constants in the data section
//! of the program that Pantheon ran, StanfordSNR/vivace 2baf862.
//!
//! **Parameters.** `profile`: "pantheon" (default; the program's latency coefficient, 900), "paper" (the same in this program, but
//! loss costs 11.35 times its ratio from the first packet on, where the programs count up to three percent once) or "loss" (no
//! latency coefficient, the default of the source: Vivace-Loss).
//!
//! **Deviations.** See [`super`]. The base rate is never below 1.3 Mbit/s after the start: that is the original's. Until the first
//! result intervals are of 100 ms, where the program has 300. The start forgives losses and slopes in every profile, as the
//! source does and the program that Pantheon ran does not; the source spends nothing of the 50 losses until one interval has more.
//! Before it tries again the program has taken the decision already, and it tries again for a difference of losses, not for
//! the larger one; of two results for the base rate the later one is its reference; an emergency halves the rate in its start, too.
//!
//! **How it is validated.** Utility and its zeroes, start, votes and moves here; climbing, fairness, random loss, queue and
//! what happens to slow links in the simulator's behaviour tests.

use super::monitor::Interval;
use super::sender::{Controller, Sender, Span};
use super::step::{Growth, Step, Turn};
use super::trials::Trials;
use super::utility::{LOSS_COEFFICIENT, loss_weight, quantised, reward, speed};
use super::{RATE, UTILITY, period};
use crate::info::{Info, Parameter, Profile, Quantity};
use crate::random::RandomStream;
use crate::scheme::{Scheme, Setup};
use crate::units::{Bytes, Instant};

/// The rates of the controller are in Mbit/s.
const MEGABIT: f64 = 1e6;
/// Latency coefficient of the Pantheon's program.
const LATENCY_COEFFICIENT: f64 = 900.0;
/// What the start phase forgives: so many losses, and slopes below this meanwhile.
const START_LOSSES: u32 = 50;
const START_SLOPE: f64 = 0.2;
/// Rates, Mbit/s.
const START_RATE: f64 = 0.8;
const MIN_START_RATE: f64 = 0.1;
const MIN_RATE: f64 = 1.3;
const MAX_RATE: f64 = 1_024.0;
/// A probe is this share of the rate, or this many Mbit/s, and at least so much.
const PROBE_SHARE: f64 = 0.05;
const PROBE_RATE: f64 = 0.5;
const MIN_PROBE: f64 = 0.1;
/// A change up to this share of the rate is made at once; a larger one is watched.
const SMALL_CHANGE: f64 = 0.1;
/// Losses that make a result suspicious: so many packets, or this share.
const NOISE_PACKETS: u32 = 2;
const NOISE_LOSS: f64 = 0.05;
/// Probes that lose no more than this share together are compared at their common loss.
const COMMON_LOSS: f64 = 0.01;
/// An interval that loses more halves the rate.
const EMERGENCY_LOSS: f64 = 0.5;
/// Packets of an interval.
const MIN_PACKETS: f64 = 10.0;
const MAX_PACKETS: f64 = 3_000.0;
/// Round trip before the first result, and instead of one beyond a second.
const INITIAL_RTT: f64 = 0.1;
const LONG_RTT: f64 = 0.3;

/// Name, parameters and source.
pub(in crate::scheme) const INFO: Info = Info {
    name: "vivace",
    title: "PCC Vivace",
    source: "Dong et al., NSDI 2018; PCCproject/PCC-Uspace NSDI-2018; StanfordSNR/vivace 2baf862",
    parameters: &[Parameter::profile(
        &[
            Profile {
                name: "pantheon",
                source: "constants of StanfordSNR/vivace 2baf862, the program that Pantheon ran",
            },
            Profile {
                name: "paper",
                source: "utility of Dong et al., NSDI 2018, in that program: loss costs 11.35 from the first packet on",
            },
            Profile {
                name: "loss",
                source: "defaults of PCCproject/PCC-Uspace NSDI-2018: Vivace-Loss, which minds no round trip",
            },
        ],
        "pantheon",
    )],
    telemetry: &[
        Quantity { name: "mode", unit: "", doc: "0 start, 1 probing, 2 moving" },
        RATE,
        UTILITY,
        Quantity { name: "gradient", unit: "", doc: "newest gradient of the utility, per Mbit/s" },
    ],
};

/// Makes one for a flow that starts.
pub(in crate::scheme) fn new(setup: Setup) -> Box<dyn Scheme> {
    let Setup { packet_size, random, parameters, .. } = setup;
    let objective = match parameters.text("profile") {
        "paper" => PAPER,
        "loss" => LOSS,
        _ => PANTHEON,
    };
    Box::new(Sender::new(Vivace::new(packet_size, objective, random), 2.0 * START_RATE))
}

/// What is to be maximised.
#[derive(Clone, Copy, Debug)]
struct Utility {
    /// Cost of a slope of the round trip, per unit of speed.
    latency: f64,
    /// Cost of a ratio of loss, per unit of speed and loss.
    loss_weight: fn(f64) -> f64,
}

const PANTHEON: Utility = Utility { latency: LATENCY_COEFFICIENT, loss_weight };
const PAPER: Utility = Utility { loss_weight: |_| LOSS_COEFFICIENT, ..PANTHEON };
const LOSS: Utility = Utility { latency: 0.0, ..PANTHEON };

impl Utility {
    /// The utility of sending at `speed` (2^20 bit/s).
    fn at(&self, speed: f64, loss: f64, slope: f64) -> f64 {
        reward(speed) - speed * (self.loss_weight)(loss) * loss - self.latency * speed * quantised(slope)
    }
}

/// What an interval came to.
#[derive(Clone, Copy, Debug)]
struct Outcome {
    rate: f64,
    utility: f64,
    sent: u32,
    lost: u32,
    speed: f64,
    slope: f64,
}

#[derive(Debug)]
enum Mode {
    /// The interval whose result is awaited, and the utility before.
    Start {
        awaited: Option<u64>,
        utility: Option<f64>,
    },
    Probe(Trials<Outcome>),
    /// The interval at the reference rate, then the one at the target.
    Move {
        reference: Option<Outcome>,
        awaited: u64,
        target: u64,
    },
}

#[derive(Debug)]
struct Vivace {
    packet: Bytes,
    objective: Utility,
    random: RandomStream,
    rate: f64,
    mode: Mode,
    step: Step,
    /// Changes in a row that kept their direction.
    trend: u32,
    forgiven: u32,
    /// Intervals older than this had their emergency.
    emergency: u64,
    has_ignored: bool,
    rtt: f64,
    utility: f64,
    gradient: f64,
}

impl Vivace {
    fn new(packet: Bytes, objective: Utility, random: RandomStream) -> Self {
        Self {
            packet,
            objective,
            random,
            rate: START_RATE,
            mode: Mode::Start { awaited: None, utility: None },
            step: Step::new(Growth::Vivace),
            trend: 0,
            forgiven: START_LOSSES,
            emergency: 0,
            has_ignored: false,
            rtt: INITIAL_RTT,
            utility: 0.0,
            gradient: 0.0,
        }
    }

    /// Pairs of probes in random order, from the interval `next` on: one if the last changes agreed, else two (`SEARCH`).
    fn search(&mut self, next: u64) {
        let share = PROBE_SHARE.max(PROBE_RATE / self.rate).max(MIN_PROBE / self.rate).min(0.5);
        let pairs = if self.trend >= 1 { 1 } else { 2 };
        self.mode = Mode::Probe(Trials::new(self.rate, share, pairs, next, &mut self.random));
    }

    fn set_rate(&mut self, rate: f64) {
        let least = if matches!(self.mode, Mode::Start { .. }) { MIN_START_RATE } else { MIN_RATE };
        self.rate = rate.clamp(least, MAX_RATE);
    }

    fn outcome(&mut self, interval: &Interval) -> Outcome {
        let (mut lost, mut slope) = (interval.lost, interval.rtt_slope());
        if matches!(self.mode, Mode::Start { .. }) && self.forgiven > 0 {
            let forgiven = lost.min(self.forgiven);
            (lost, self.forgiven) = (lost - forgiven, self.forgiven - forgiven);
            if slope.abs() < START_SLOPE {
                slope = 0.0;
            }
        }
        let speed = speed(interval, self.packet);
        let loss = f64::from(lost) / f64::from(interval.sent.max(1));
        let utility = self.objective.at(speed, loss, slope);
        Outcome { rate: interval.rate, utility, sent: interval.sent, lost, speed, slope }
    }

    /// All probes are back.
    fn decide(&mut self, mut outcomes: Vec<Outcome>, newest: u64, next: u64) {
        let (sent, lost) = outcomes.iter().fold((0, 0), |(sent, lost), one| (sent + one.sent, lost + one.lost));
        let loss = f64::from(lost) / f64::from(sent.max(1));
        if loss <= COMMON_LOSS {
            for one in &mut outcomes {
                one.utility = self.objective.at(one.speed, loss, one.slope);
            }
        }
        let up = |pair: &[Outcome]| if pair[0].rate > pair[1].rate { (pair[0], pair[1]) } else { (pair[1], pair[0]) };
        let pairs: Vec<_> = outcomes.chunks_exact(2).map(up).collect();
        let vote: i32 = pairs.iter().map(|(up, down)| if up.utility > down.utility { 1 } else { -1 }).sum();
        let (up_lost, down_lost) = pairs.iter().fold((0, 0), |(u, d), (up, down)| (u + up.lost, d + down.lost));
        let is_odd = down_lost > up_lost + NOISE_PACKETS && vote > 0 && up_lost > 0 && loss >= NOISE_LOSS;
        if is_odd && !std::mem::replace(&mut self.has_ignored, true) {
            self.search(next);
            return;
        }
        self.has_ignored = false;
        if vote == 0 {
            self.trend = 2;
            self.step.remember(0.0);
            self.search(next);
            return;
        }
        let n = pairs.len() as f64;
        let mean = |value: fn(&Outcome) -> f64, is_up: bool| {
            pairs.iter().map(|(up, down)| value(if is_up { up } else { down })).sum::<f64>() / n
        };
        let rise = mean(|one| one.utility, true) - mean(|one| one.utility, false);
        self.gradient = rise / (mean(|one| one.rate, true) - mean(|one| one.rate, false));
        let change = self.change(self.gradient);
        if change <= SMALL_CHANGE * self.rate {
            self.set_rate(self.rate + change);
            self.search(next);
            return;
        }
        self.mode = Mode::Move { reference: None, awaited: newest + 1, target: next };
        self.set_rate(self.rate + change);
    }

    fn change(&mut self, gradient: f64) -> f64 {
        self.trend = match self.step.turn(gradient) {
            Turn::First => self.trend,
            Turn::On => self.trend + 1,
            Turn::Back => 0,
        };
        let change = self.step.change(gradient, self.rate);
        self.step.remember(change);
        change
    }

    /// A move is over: on, or back to probing.
    fn compare(&mut self, reference: Outcome, target: Outcome, next: u64) {
        let loss = |one: Outcome| f64::from(one.lost) / f64::from(one.sent.max(1));
        let is_contrary = (target.rate - reference.rate) * (loss(target) - loss(reference)) < 0.0;
        let lost = target.lost.max(reference.lost);
        let is_noisy = lost > NOISE_PACKETS || loss(target).max(loss(reference)) >= NOISE_LOSS;
        let difference = target.rate - reference.rate;
        if (is_contrary && is_noisy) || difference == 0.0 {
            self.search(next);
            return;
        }
        self.gradient = (target.utility - reference.utility) / difference;
        let is_reversed = self.step.turn(self.gradient) != Turn::On;
        let change = self.change(self.gradient);
        let is_small = change.abs() <= SMALL_CHANGE * self.rate;
        self.set_rate(self.rate + change);
        if is_reversed || is_small {
            self.trend = if is_reversed { self.trend } else { 2 };
            self.search(next);
        } else {
            self.mode = Mode::Move { reference: Some(target), awaited: next, target: next };
        }
    }
}

impl Controller for Vivace {
    const UNIT: f64 = MEGABIT;

    fn begin(&mut self, number: u64, _now: Instant) -> (f64, Span) {
        let rate = match &mut self.mode {
            Mode::Start { awaited, .. } => {
                if awaited.is_none() {
                    *awaited = Some(number);
                    self.rate = (2.0 * self.rate).min(MAX_RATE);
                }
                self.rate
            }
            Mode::Probe(trials) => trials.rate(number).unwrap_or(self.rate),
            Mode::Move { .. } => self.rate,
        };
        let rtt = if self.rtt > 1.0 { LONG_RTT } else { self.rtt };
        let packets = rtt / period(self.packet, rate, MEGABIT);
        (rate, Span::Packets(packets.clamp(MIN_PACKETS, MAX_PACKETS) as u32))
    }

    fn is_known(&self, interval: &Interval, newest: Option<u64>, _now: Instant) -> bool {
        newest.is_some_and(|newest| interval.number < newest) || interval.is_accounted_for()
    }

    fn patience(&self) -> f64 {
        2.0 * self.rtt
    }

    fn on_result(&mut self, interval: &Interval, next: u64, _newest_rtt: Option<f64>) {
        if let Some(rtt) = interval.mean_rtt() {
            self.rtt = rtt;
        }
        let outcome = self.outcome(interval);
        self.utility = outcome.utility;
        if interval.loss() > EMERGENCY_LOSS && !matches!(self.mode, Mode::Start { .. }) {
            if interval.number >= self.emergency {
                self.emergency = next;
                self.set_rate(self.rate / 2.0);
                self.search(next);
            }
            return;
        }
        match &mut self.mode {
            Mode::Start { awaited, utility } => {
                if awaited.is_some_and(|awaited| interval.number >= awaited) {
                    if utility.is_some_and(|utility| outcome.utility < utility) {
                        self.set_rate(self.rate / 2.0);
                        self.search(next);
                    } else {
                        (*awaited, *utility) = (None, Some(outcome.utility));
                    }
                }
            }
            Mode::Probe(trials) => {
                if let Some(outcomes) = trials.add(interval.number, outcome) {
                    self.decide(outcomes, interval.number, next);
                }
            }
            Mode::Move { reference, awaited, target } => {
                if reference.is_none() && interval.number >= *awaited && interval.number < *target {
                    *reference = Some(outcome);
                } else if interval.number >= *target {
                    match *reference {
                        Some(reference) => self.compare(reference, outcome, next),
                        None => self.search(next),
                    }
                }
            }
        }
    }

    fn telemetry(&self, report: &mut dyn FnMut(&'static str, f64)) {
        let mode = match self.mode {
            Mode::Start { .. } => 0,
            Mode::Probe(_) => 1,
            Mode::Move { .. } => 2,
        };
        report("mode", f64::from(mode));
        report("rate", self.rate * MEGABIT);
        report("utility", self.utility);
        report("gradient", self.gradient);
    }
}

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "rates and steps are exact")]
mod tests {
    use super::*;

    #[test]
    fn the_utility_has_the_published_values() {
        for (speed, expected) in [(1.0, 1.0), (2.0, 1.866), (10.0, 7.943), (50.0, 33.81), (100.0, 63.10)] {
            let found = PANTHEON.at(speed, 0.0, 0.0);
            assert!((found - expected).abs() < 0.005, "{speed}: {found}");
        }
        for (objective, loss, expected) in
            [(PANTHEON, 0.01, 7.84), (PANTHEON, 0.05, 2.27), (PAPER, 0.01, 6.81), (PAPER, 0.05, 2.27)]
        {
            let found = objective.at(10.0, loss, 0.0);
            assert!((found - expected).abs() < 0.005, "{found}, not {expected}, at {loss}");
        }
    }

    #[test]
    fn slopes_count_from_two_percent_on() {
        assert_eq!(PANTHEON.at(10.0, 0.0, 0.019), PANTHEON.at(10.0, 0.0, 0.0));
        assert!((PANTHEON.at(10.0, 0.0, 0.025) - (7.943 - 180.0)).abs() < 0.001);
        assert!(PANTHEON.at(10.0, 0.0, -0.025) > 180.0);
        assert_eq!(LOSS.at(10.0, 0.0, 0.025), LOSS.at(10.0, 0.0, 0.0));
    }

    #[test]
    fn at_some_loss_more_rate_does_not_pay() {
        for (speed, zero) in [(1.0, 0.079), (10.0, 0.063), (100.0, 0.050), (1_000.0, 0.040)] {
            for objective in [LOSS, PAPER] {
                let slope = |loss: f64| objective.at(speed * 1.001, loss, 0.0) - objective.at(speed, loss, 0.0);
                assert!(slope(zero - 0.001) > 0.0 && slope(zero + 0.001) < 0.0, "{speed}");
            }
        }
    }

    fn vivace() -> Vivace {
        Vivace::new(Bytes::new(1_500), PANTHEON, RandomStream::new(1, "vivace"))
    }

    fn result(pcc: &mut Vivace, number: u64, next: u64, rate: f64, lost: u32) {
        let sent = (rate * 1e6 / 12_000.0) as u32;
        pcc.on_result(&super::super::monitor::tests::numbered(number, rate, sent, lost), next, None);
    }

    #[test]
    fn the_start_doubles_with_each_result_and_halves_when_it_hurts() {
        let mut pcc = vivace();
        assert_eq!(pcc.begin(0, Instant::ZERO).0, 1.6);
        assert_eq!(pcc.begin(1, Instant::ZERO).0, 1.6, "no result yet");
        result(&mut pcc, 0, 2, 1.6, 0);
        assert_eq!(pcc.begin(2, Instant::ZERO).0, 3.2);
        result(&mut pcc, 1, 3, 1.6, 0);
        result(&mut pcc, 2, 3, 3.2, 40);
        assert_eq!(pcc.begin(3, Instant::ZERO).0, 6.4, "fifty losses are forgiven");
        result(&mut pcc, 3, 4, 6.4, 200);
        assert_eq!(pcc.rate, 3.2);
        assert!(matches!(pcc.mode, Mode::Probe(_)));
    }

    #[test]
    fn probes_give_a_gradient_and_the_rate_follows_it() {
        let mut pcc = vivace();
        pcc.rate = 20.0;
        pcc.search(0);
        let Mode::Probe(trials) = &pcc.mode else { panic!("{:?}", pcc.mode) };
        let rates = trials.rates.clone();
        assert_eq!(rates.len(), 4);
        assert!(rates.iter().all(|rate| (rate - 20.0).abs() - 1.0 < 1e-9));
        for (number, rate) in rates.iter().enumerate() {
            result(&mut pcc, number as u64, 0, *rate, 0);
        }
        // 0.9 x^-0.1 at 19.07 units of 2^20 bit/s is 0.67, times a million over 2^20.
        assert!((0.5..0.7).contains(&(pcc.rate - 20.0)), "{}", pcc.rate);
        assert!((pcc.gradient - 0.64).abs() < 0.01, "{}", pcc.gradient);
    }

    #[test]
    fn half_lost_halves_the_rate_once() {
        let mut pcc = vivace();
        pcc.rate = 20.0;
        pcc.search(0);
        for number in 0..4 {
            result(&mut pcc, number, 4, 20.0, 1_000);
        }
        assert_eq!(pcc.rate, 10.0);
        result(&mut pcc, 4, 5, 2.0, 160);
        result(&mut pcc, 40, 41, 2.0, 160);
        assert!(pcc.rate >= MIN_RATE);
    }
}

//! PCC Vivace: gradient ascent on a utility of rate, loss and the slope of the round trip.
//!
//! **What it is.** After a start that doubles, pairs of monitor intervals 5 % above and below the rate give the
//! gradient of the utility; the rate moves along it, with an amplifier for gradients that keep their sign and a
//! boundary on each change.
//!
//! **Source.** M. Dong et al., PCC Vivace: Online-Learning Congestion Control, NSDI 2018; PCCproject/PCC-Uspace, branch
//! NSDI-2018 (`pcc-gradient/sender/app/pcc.h`, `gradient_descent_pcc_client.cpp`), and the constants in the data
//! section of the program that Pantheon ran, StanfordSNR/vivace 2baf862.
//!
//! **Parameters.** `profile`: "pantheon" (default; the program's latency coefficient, 900), "paper" (the same in this
//! program, but loss costs 11.35 times its ratio from the first packet on, where the programs count up to three percent
//! once) or "loss" (the defaults of the source: no latency coefficient, Vivace-Loss, and a start that forgives some
//! losses and slopes).
//!
//! **Deviations.** See [`super`]. The base rate, which is never below 1.3 Mbit/s after the start, is at most 1024
//! Mbit/s; there all rates are. A slope that cannot be known, of a single round trip, is zero; there it is not a
//! number.
//!
//! **How it is validated.** Utility and its zeroes, start, votes and moves here; climbing, fairness, random loss, queue
//! and what happens to slow links in the simulator's behaviour tests; beside the Pantheon's binary over four links
//! (`docs/originals.md`); and beside the branch's code, which has the same rates after each of the same events
//! (`docs/event-by-event.md`).

mod utility;

use self::utility::{LOSS, PANTHEON, PAPER, START_SLOPE, Utility, speed};
use super::monitor::Interval;
use super::sender::{Controller, Order, Sender};
use super::step::{Growth, Step, Turn};
use super::trials::Trials;
use super::{RATE, UTILITY};
use crate::info::{Info, Parameter, Profile, Quantity};
use crate::random::RandomStream;
use crate::scheme::{Scheme, Setup};
use crate::units::Bytes;

/// The rates of the controller are in Mbit/s.
const MEGABIT: f64 = 1e6;
/// Rates, Mbit/s.
const START_RATE: f64 = 0.8;
const MIN_RATE: f64 = 1.3;
const MAX_RATE: f64 = 1_024.0;
/// A probe is this share of the rate, or this many Mbit/s if that is more.
const PROBE_SHARE: f64 = 0.05;
const PROBE_RATE: f64 = 0.5;
/// A change up to this share of the rate is made at once; a larger one with the next interval, and watched.
const SMALL_CHANGE: f64 = 0.1;
/// Losses that make a result suspicious: a difference of so many packets, or this share of all.
const NOISE_PACKETS: u32 = 2;
const NOISE_LOSS: f64 = 0.05;
/// Probes that lose no more than this share together are compared at their common loss.
const COMMON_LOSS: f64 = 0.01;
/// An interval that loses more halves the rate.
const EMERGENCY_LOSS: f64 = 0.5;
/// Intervals are numbered round a ring of so many places; the rule for emergencies still has a smaller one
/// (`last_stop_monitor`).
const RING: u64 = 500;
const FORMER_RING: u64 = 100;
/// Packets of an interval.
const MIN_PACKETS: f64 = 10.0;
const MAX_PACKETS: f64 = 3_000.0;
/// UDT's round trip before the first result (`m_iRTT`, of ten SYN intervals of a second), one that is too long, and
/// what counts instead of such a one (`start_monitor`), microseconds.
const INITIAL_RTT: u64 = 10_000_000;
const TOO_LONG_RTT: u64 = 1_000_000;
const LONG_RTT: u64 = 300_000;
/// The utility that the first interval has to reach.
const FIRST_UTILITY: f64 = -100_000.0;

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

impl Outcome {
    fn loss(&self) -> f64 {
        f64::from(self.lost) / f64::from(self.sent.max(1))
    }
}

#[derive(Debug)]
enum Mode {
    /// The interval whose result is awaited, and the utility before.
    Start {
        awaited: Option<u64>,
        utility: f64,
    },
    Probe(Trials<Outcome>),
    Move(Move),
}

/// A change that is watched.
#[derive(Clone, Copy, Debug)]
struct Move {
    /// What came of the interval before, as soon as it is known.
    reference: Option<Outcome>,
    /// The first interval at the new rate.
    target: u64,
    rate: f64,
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
    /// Losses that the start still forgives.
    start_losses: u32,
    /// The place in the ring of the interval that was under way in the last emergency, until one is good again.
    emergency: Option<u64>,
    /// A decision that losses made doubtful was not taken; the next one is.
    has_doubted: bool,
    /// Whole microseconds.
    rtt: u64,
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
            mode: Mode::Start { awaited: None, utility: FIRST_UTILITY },
            step: Step::new(Growth::Vivace),
            trend: 0,
            start_losses: objective.start_losses,
            emergency: None,
            has_doubted: false,
            rtt: INITIAL_RTT,
            utility: 0.0,
            gradient: 0.0,
        }
    }

    /// Half the distance of two probes, as a share of the base rate.
    fn probe_share(&self) -> f64 {
        PROBE_SHARE.max(PROBE_RATE / self.rate)
    }

    /// Pairs of probes in random order, from the interval `next` on: one if the last changes agreed, else two
    /// (`SEARCH`).
    fn search(&mut self, next: u64) {
        self.rate = self.rate.clamp(MIN_RATE, MAX_RATE);
        let pairs = if self.trend >= 1 { 1 } else { 2 };
        self.mode = Mode::Probe(Trials::new(self.rate, self.probe_share(), pairs, next, &mut self.random));
    }

    /// Changes the base rate at once, and searches around it from the interval `next` on.
    fn change_rate(&mut self, change: f64, next: u64) -> Order {
        self.rate += change;
        let least = MIN_RATE * (1.0 - self.probe_share());
        let rate = self.rate.max(least);
        self.search(next);
        Order::Pace(rate)
    }

    /// Two pairs that disagree, or results that cannot be trusted.
    fn search_again(&mut self, next: u64) -> Order {
        self.trend = 2;
        self.step.remember(0.0);
        self.search(next);
        Order::GoOn
    }

    fn outcome(&mut self, interval: &Interval) -> Outcome {
        let (mut lost, mut slope) = (interval.lost, interval.rtt_slope());
        if matches!(self.mode, Mode::Start { .. }) && self.objective.start_losses > 0 {
            let is_forgiven = lost <= self.start_losses;
            if (is_forgiven || self.start_losses > 0) && slope.abs() < START_SLOPE {
                slope = 0.0;
            }
            if is_forgiven {
                lost = 0;
            } else {
                lost -= std::mem::take(&mut self.start_losses);
            }
        }
        let speed = speed(interval, self.packet);
        let mut outcome = Outcome { rate: interval.rate, utility: 0.0, sent: interval.sent, lost, speed, slope };
        outcome.utility = self.objective.at(speed, outcome.loss(), slope);
        outcome
    }

    /// True if more than half was lost: again only in the interval that was under way when that was found, one a
    /// hundred before it, or after a good one.
    fn detect_emergency(&mut self, outcome: &Outcome, number: u64, next: u64) -> bool {
        if outcome.loss() <= EMERGENCY_LOSS {
            self.emergency = None;
            return false;
        }
        // By their places in a ring, the first of which is left out.
        let [ended, under_way] = [number + 1, next].map(|number| number % RING);
        let is_new = self.emergency.is_none_or(|stop| ended == stop || ended + FORMER_RING == stop);
        if is_new {
            let is_round = under_way < ended;
            self.emergency = Some(under_way + if is_round { FORMER_RING } else { 0 });
        }
        is_new
    }

    /// All probes are back.
    fn decide(&mut self, mut outcomes: Vec<Outcome>, next: u64) -> Order {
        let (sent, lost) = outcomes.iter().fold((0, 0), |(sent, lost), one| (sent + one.sent, lost + one.lost));
        let loss = f64::from(lost) / f64::from(sent.max(1));
        if loss <= COMMON_LOSS {
            for one in &mut outcomes {
                one.utility = self.objective.at(one.speed, loss, one.slope);
            }
        }
        let up = |pair: &[Outcome]| if pair[0].rate > pair[1].rate { (pair[0], pair[1]) } else { (pair[1], pair[0]) };
        let pairs: Vec<_> = outcomes.chunks_exact(2).map(up).collect();
        let vote: i32 = pairs.iter().map(|(up, down)| up.utility.total_cmp(&down.utility) as i32).sum();
        let (up_lost, down_lost) = pairs.iter().fold((0, 0), |(u, d), (up, down)| (u + up.lost, d + down.lost));
        let is_odd = down_lost > up_lost + NOISE_PACKETS && vote > 0 && up_lost > 0 && loss >= NOISE_LOSS;
        let is_doubted = is_odd && !self.has_doubted;
        self.has_doubted = is_doubted;
        if vote == 0 || is_doubted {
            return self.search_again(next);
        }
        if is_odd {
            self.trend = 2;
        }
        let n = pairs.len() as f64;
        let mean = |value: fn(&Outcome) -> f64, is_up: bool| {
            pairs.iter().map(|(up, down)| value(if is_up { up } else { down })).sum::<f64>() / n
        };
        let rise = mean(|one| one.utility, true) - mean(|one| one.utility, false);
        self.gradient = rise / (mean(|one| one.rate, true) - mean(|one| one.rate, false));
        let change = self.change(self.gradient);
        if change <= SMALL_CHANGE * self.rate {
            return self.change_rate(change, next);
        }
        self.mode = Mode::Move(Move { reference: None, target: next, rate: self.rate + change });
        Order::GoOn
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
    fn compare(&mut self, reference: Outcome, target: Outcome, next: u64) -> Order {
        let difference = target.rate - reference.rate;
        self.gradient = (target.utility - reference.utility) / difference;
        let change = self.change(self.gradient);
        let is_contrary = difference * (target.loss() - reference.loss()) < 0.0;
        // The programs add the lost ones, not all, of the second.
        let share = f64::from(reference.lost + target.lost) / f64::from(reference.sent + target.lost);
        let is_noisy = reference.lost.abs_diff(target.lost) > NOISE_PACKETS || share >= NOISE_LOSS;
        if is_contrary && is_noisy {
            self.has_doubted = true;
            return self.search_again(next);
        }
        if change > SMALL_CHANGE * self.rate {
            self.mode = Mode::Move(Move { reference: Some(target), target: next, rate: self.rate + change });
            return Order::GoOn;
        }
        if change > 0.0 {
            self.trend = 2;
        }
        self.change_rate(change, next)
    }

    fn on_move_result(&mut self, this: Move, number: u64, outcome: Outcome, next: u64) -> Order {
        if number + 1 == this.target && this.reference.is_none() {
            self.mode = Mode::Move(Move { reference: Some(outcome), ..this });
        }
        match this.reference {
            Some(reference) if number == this.target => self.compare(reference, outcome, next),
            _ => Order::GoOn,
        }
    }
}

impl Controller for Vivace {
    const UNIT: f64 = MEGABIT;
    const MOST_WAITING: usize = RING as usize;

    fn begin(&mut self, number: u64) -> (f64, u32) {
        let rate = match &mut self.mode {
            Mode::Start { awaited, .. } => {
                if awaited.is_none() {
                    *awaited = Some(number);
                    self.rate = (2.0 * self.rate).min(MAX_RATE);
                }
                self.rate
            }
            Mode::Probe(trials) => trials.rate(number).unwrap_or(self.rate),
            Mode::Move(this) => {
                self.rate = this.rate.min(MAX_RATE);
                self.rate
            }
        };
        let rtt = if self.rtt > TOO_LONG_RTT { LONG_RTT } else { self.rtt };
        // Both in microseconds.
        let period = self.packet.count() as f64 * 8.0 / rate;
        let packets = rtt as f64 / period;
        (rate, packets.clamp(MIN_PACKETS, MAX_PACKETS) as u32)
    }

    fn is_known(interval: &Interval, newest: Option<u64>) -> bool {
        newest.is_some_and(|newest| interval.number < newest || interval.is_last_acked)
    }

    fn on_result(&mut self, interval: &Interval, next: u64, measured_rtt: Option<f64>) -> Order {
        if let Some(rtt) = measured_rtt.or_else(|| interval.mean_rtt()) {
            self.rtt = rtt as u64;
        }
        let (number, outcome) = (interval.number, self.outcome(interval));
        self.utility = outcome.utility;
        if self.detect_emergency(&outcome, number, next) {
            return self.change_rate((self.rate / 2.0).max(MIN_RATE) - self.rate, next);
        }
        match &mut self.mode {
            Mode::Start { awaited, utility } if *awaited == Some(number) => {
                if *utility > outcome.utility {
                    self.rate /= 2.0;
                    self.search(next);
                } else {
                    (*awaited, *utility) = (None, outcome.utility);
                }
                Order::GoOn
            }
            Mode::Probe(trials) => match trials.add(number, outcome) {
                Some(outcomes) => self.decide(outcomes, next),
                None => Order::GoOn,
            },
            Mode::Move(this) => {
                let this = *this;
                self.on_move_result(this, number, outcome, next)
            }
            Mode::Start { .. } => Order::GoOn,
        }
    }

    fn telemetry(&self, report: &mut dyn FnMut(&'static str, f64)) {
        let mode = match self.mode {
            Mode::Start { .. } => 0,
            Mode::Probe(_) => 1,
            Mode::Move(_) => 2,
        };
        report("mode", f64::from(mode));
        report("rate", self.rate * MEGABIT);
        report("utility", self.utility);
        report("gradient", self.gradient);
    }
}

#[cfg(test)]
mod tests;

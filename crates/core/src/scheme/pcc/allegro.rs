//! PCC Allegro: experiments with the rate, one percent up and down.
//!
//! **What it is.** The rate doubles in every monitor interval until the utility falls. Then two pairs of intervals, a
//! little above and below the rate, vote for a direction; if they agree the rate moves that way, each time by a percent
//! more, as long as the utility grows. The utility ignores loss up to about 5 %.
//!
//! **Source.** M. Dong et al., PCC: Re-architecting Congestion Control for Consistent High Performance, NSDI 2015; the
//! program of the Pantheon reports, modong/pcc at 1afc958f, `sender/app/cc.h` and `sender/src/core.cpp`, whose utility
//! it has.
//!
//! **Parameters.** None.
//!
//! **Deviations.** See [`super`]. Rates end at 100 Gbit/s. The average round trip, by which intervals last, is of what
//! the sender measures every 10 ms; in the program its receiver measures it, with messages of its own.
//!
//! **How it is validated.** Its state after every event beside that of its code (`docs/event-by-event.md`); utility,
//! doubling, votes and moves here; climbing, tolerance of random loss up to its cliff, and the loss on a slow drop-tail
//! link in the simulator's behaviour tests; beside the program over four links.

use super::monitor::Interval;
use super::sender::{Controller, Order, Sender};
use super::trials::Trials;
use super::{RATE, UTILITY, WINDOW};
use crate::info::{Info, Quantity};
use crate::random::RandomStream;
use crate::scheme::{Ack, Scheme, Setup};
use crate::units::{Bytes, Duration, Instant};

const MEGABIT: f64 = 1e6;
/// One percent, by which experiments and moves are counted.
const STEP: f64 = 0.01;
/// Experiments are at most five percent wide.
const MAX_WIDTH: u32 = 5;
/// UDT's round trip before the first sample, microseconds; one of every 10 ms counts, by an eighth.
const INITIAL_RTT: u64 = 100_000;
const RTT_INTERVAL: Duration = Duration::from_millis(10);
/// Fewest packets of an interval, and its least time at high rates, microseconds.
const MIN_PACKETS: f64 = 10.0;
const MIN_TIME: f64 = 5_000.0;
/// A host that falls so far behind its rate is the limit, Mbit/s; and only above this rate.
const HOST_GAP: f64 = 30.0;
const HOST_RATE: f64 = 200.0;
/// The guard counts packets of 1500 bytes, Mbit.
const HOST_PACKET: f64 = 0.012;
/// Rate of the first interval, Mbit/s, and the utility that it has to beat.
const FIRST_RATE: f64 = 2.0;
const FIRST_UTILITY: f64 = -10_000.0;
/// No rate is larger, Mbit/s.
const MAX_RATE: f64 = 1e5;

/// Name, parameters and source.
pub(in crate::scheme) const INFO: Info = Info {
    name: "pcc",
    title: "PCC Allegro",
    source: "Dong et al., NSDI 2015; modong/pcc 1afc958f, sender/app/cc.h",
    parameters: &[],
    telemetry: &[
        Quantity { name: "mode", unit: "", doc: "0 start, 1 experiments, 2 first move, 3 moves" },
        RATE,
        UTILITY,
    ],
};

/// Makes one for a flow that starts.
pub(in crate::scheme) fn new(setup: Setup) -> Box<dyn Scheme> {
    let Setup { packet_size, random, .. } = setup;
    Box::new(Sender::new(Allegro::new(packet_size, random), FIRST_RATE))
}

#[derive(Clone, Debug)]
enum Mode {
    /// Rate of the last interval that improved, and its utility; the number of the next one.
    Start { best: (f64, f64), expected: u64 },
    /// Rates to try, and the rate and utility of each result.
    Guess(Trials<(f64, f64)>),
    /// Waits for an interval; with the utility to beat, after the first.
    Move { direction: f64, steps: u32, awaited: u64, utility: Option<f64> },
}

#[derive(Debug)]
struct Allegro {
    packet: Bytes,
    random: RandomStream,
    /// Base rate, Mbit/s.
    rate: f64,
    mode: Mode,
    /// Half the width of the experiments, percent.
    width: u32,
    /// Microseconds.
    srtt: u64,
    next_sample: Instant,
    last_rtt: Option<f64>,
    utility: f64,
}

impl Allegro {
    fn new(packet: Bytes, random: RandomStream) -> Self {
        Self {
            packet,
            random,
            rate: FIRST_RATE / 2.0,
            mode: Mode::Start { best: (FIRST_RATE, FIRST_UTILITY), expected: 0 },
            width: 0,
            srtt: INITIAL_RTT,
            next_sample: Instant::ZERO,
            last_rtt: None,
            utility: 0.0,
        }
    }

    fn next_rate(&mut self, number: u64) -> f64 {
        match &self.mode {
            Mode::Start { .. } => {
                self.rate = (2.0 * self.rate).min(MAX_RATE);
                self.rate
            }
            // The last trial goes on until all results are there.
            Mode::Guess(trials) => trials.rate(number).or(trials.rates.last().copied()).unwrap_or(self.rate),
            Mode::Move { .. } => self.rate,
        }
    }

    /// Two pairs of rates, each in random order, from the interval `next` on.
    fn guess(&mut self, next: u64) {
        self.width = self.width % MAX_WIDTH + 1;
        let width = f64::from(self.width) * STEP;
        self.mode = Mode::Guess(Trials::new(self.rate, width, 2, next, &mut self.random));
    }

    fn on_start_result(&mut self, interval: &Interval, next: u64, best: (f64, f64), expected: u64) -> Order {
        if interval.number == expected && self.utility > best.1 {
            self.mode = Mode::Start { best: (interval.rate, self.utility), expected: expected + 1 };
            return Order::GoOn;
        }
        self.rate = best.0;
        self.guess(next);
        Order::Pace(self.rate)
    }

    /// Both pairs have to agree.
    fn vote(&mut self, results: &[(f64, f64)], next: u64) -> Order {
        let of_pair = |first: usize| {
            let ((rate, utility), (other_rate, other_utility)) = (results[first], results[first + 1]);
            // Two equal utilities vote down.
            if (rate - other_rate) * (utility - other_utility) > 0.0 { 1.0 } else { -1.0 }
        };
        let sum = of_pair(0) + of_pair(2);
        if sum == 0.0 {
            self.guess(next);
            return Order::GoOn;
        }
        let direction = f64::signum(sum);
        self.rate *= 1.0 + direction * f64::from(self.width / 2 + 1) * STEP;
        self.width = 0;
        self.mode = Mode::Move { direction, steps: 1, awaited: next, utility: None };
        Order::Pace(self.rate)
    }

    fn on_move_result(
        &mut self,
        interval: &Interval,
        next: u64,
        direction: f64,
        steps: u32,
        utility: Option<f64>,
    ) -> Order {
        let achieved = f64::from(interval.sent) * HOST_PACKET / interval.sending_time().max(1e-9);
        if self.rate > achieved + HOST_GAP && self.rate > HOST_RATE {
            self.rate = achieved;
            self.guess(next);
        } else if utility.is_some_and(|utility| self.utility <= utility) {
            self.rate *= 1.0 - direction * f64::from(steps) * STEP;
            self.guess(next);
        } else {
            let steps = steps + 1;
            self.rate = (self.rate * (1.0 + direction * f64::from(steps) * STEP)).min(MAX_RATE);
            self.mode = Mode::Move { direction, steps, awaited: next, utility: Some(self.utility) };
        }
        Order::Pace(self.rate)
    }
}

/// The utility of the program: packets per second that arrive, less what a loss of more than 5 % or a growing round
/// trip takes away, less packets lost per second; per millisecond of round trip, which is given in microseconds.
fn utility(interval: &Interval, rtt: f64, previous_rtt: f64) -> f64 {
    let seconds = interval.sending_time().max(1e-6);
    let (sent, lost) = (f64::from(interval.sent), f64::from(interval.lost));
    let rtt = rtt.max(1.0);
    // As the program computes them, since two utilities may be equal.
    let of_loss = 1.0 - 1.0 / (1.0 + (-100.0 * (lost / sent - 0.05)).exp());
    let of_rtt = 1.0 - 1.0 / (1.0 + (-10.0 * (1.0 - previous_rtt / rtt)).exp());
    ((sent - lost) / seconds * of_loss * of_rtt - lost / seconds) / rtt * 1_000.0
}

impl Controller for Allegro {
    const UNIT: f64 = MEGABIT;
    /// `receiver/src/core.cpp`, `processData`.
    const PACKETS_PER_MESSAGE: usize = 20;
    const MOST_WAITING: usize = 100;

    fn begin(&mut self, number: u64) -> (f64, u32) {
        let rate = self.next_rate(number);
        // Microseconds of a packet.
        let (period, srtt) = (self.packet.count() as f64 * 8.0 / rate, self.srtt as f64);
        let packets = if srtt * 1.1 / period > MIN_PACKETS {
            let longer = self.random.below(3) as f64 / 10.0;
            srtt * (1.5 + longer) / period
        } else {
            (MIN_TIME / period).max(MIN_PACKETS)
        };
        (rate, packets.min(f64::from(WINDOW)) as u32)
    }

    fn is_known(interval: &Interval, newest: Option<u64>) -> bool {
        newest.is_some_and(|newest| interval.number < newest)
    }

    fn on_ack(&mut self, ack: &Ack<'_>) {
        if let Some(rtt) = ack.rtt.filter(|_| ack.now >= self.next_sample) {
            self.srtt = (7 * self.srtt + rtt.as_micros()) >> 3;
            self.next_sample = ack.now + RTT_INTERVAL;
        }
    }

    fn on_result(&mut self, interval: &Interval, next: u64, measured_rtt: Option<f64>) -> Order {
        let rtt = measured_rtt.or_else(|| interval.mean_rtt()).unwrap_or(self.srtt as f64);
        let is_first = interval.number == 0;
        let previous = self.last_rtt.replace(rtt).unwrap_or(rtt);
        let halved = if is_first && matches!(self.mode, Mode::Start { .. }) { 0.5 } else { 1.0 };
        self.utility = halved * utility(interval, rtt, previous);
        match &mut self.mode {
            Mode::Start { best, expected } => {
                let (best, expected) = (*best, *expected);
                self.on_start_result(interval, next, best, expected)
            }
            Mode::Guess(trials) => match trials.add(interval.number, (interval.rate, self.utility)) {
                Some(results) => self.vote(&results, next),
                None => Order::GoOn,
            },
            Mode::Move { direction, steps, awaited, utility } if interval.number == *awaited => {
                let (direction, steps, utility) = (*direction, *steps, *utility);
                self.on_move_result(interval, next, direction, steps, utility)
            }
            Mode::Move { .. } => Order::GoOn,
        }
    }

    fn telemetry(&self, report: &mut dyn FnMut(&'static str, f64)) {
        let mode = match self.mode {
            Mode::Start { .. } => 0,
            Mode::Guess(_) => 1,
            Mode::Move { utility: None, .. } => 2,
            Mode::Move { .. } => 3,
        };
        report("mode", f64::from(mode));
        report("rate", self.rate * MEGABIT);
        report("utility", self.utility);
    }
}

#[cfg(test)]
mod tests;

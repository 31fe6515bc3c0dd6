//! PCC Allegro: experiments with the rate, one percent up and down.
//!
//! **What it is.** The rate doubles in every monitor interval until the utility falls. Then two pairs of intervals, a
//! little above and below the rate, vote for a direction; if they agree the rate moves that way, each time by a percent
//! more, as long as the utility grows. The utility ignores loss up to about 5 %.
//!
//! **Source.** M. Dong et al., PCC: Re-architecting Congestion Control for Consistent High Performance, NSDI 2015; the program of the
//! Pantheon reports, modong/pcc at 1afc958f, `sender/app/cc.h` and `sender/src/core.cpp`, whose utility it has.
//!
//! **Parameters.** None.
//!
//! **Deviations.** See [`super`]. Rates end at 100 Gbit/s. More than one result of the same ack come oldest first, there newest first.
//!
//! **How it is validated.** Utility, doubling, votes and moves here; climbing, tolerance of random loss up to its cliff,
//! and the loss on a slow drop-tail link in the simulator's behaviour tests; beside the program over four links (`docs/originals.md`).

use super::monitor::Interval;
use super::sender::{Controller, Order, Sender, Span};
use super::trials::Trials;
use super::{RATE, UTILITY, WINDOW, period};
use crate::info::{Info, Quantity};
use crate::random::RandomStream;
use crate::scheme::{Ack, Scheme, Setup};
use crate::units::{Bytes, Duration, Instant};

const MEGABIT: f64 = 1e6;
/// One percent, by which experiments and moves are counted.
const STEP: f64 = 0.01;
/// Experiments are at most five percent wide.
const MAX_WIDTH: u32 = 5;
/// UDT's round trip before the first sample, seconds; one of every 10 ms counts, by an eighth.
const INITIAL_RTT: f64 = 0.1;
const RTT_WEIGHT: f64 = 0.125;
const RTT_INTERVAL: Duration = Duration::from_millis(10);
/// Fewest packets of an interval, and its least time at high rates, seconds.
const MIN_PACKETS: f64 = 10.0;
const MIN_TIME: f64 = 0.005;
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
    srtt: f64,
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

/// The utility of the program: packets per second that arrive, less what a loss of more than 5 % or a growing round trip
/// takes away, less packets lost per second; per millisecond of round trip.
fn utility(interval: &Interval, rtt: f64, previous_rtt: f64) -> f64 {
    let seconds = interval.sending_time().max(1e-6);
    let (sent, lost) = (f64::from(interval.sent), f64::from(interval.lost));
    let of_loss = 1.0 / (1.0 + (100.0 * (interval.loss() - 0.05)).exp());
    let of_rtt = 1.0 / (1.0 + (10.0 * (1.0 - previous_rtt / rtt.max(1e-9))).exp());
    let micros = (rtt * 1e6).max(1.0);
    1_000.0 / micros * ((sent - lost) / seconds * of_loss * of_rtt - lost / seconds)
}

impl Controller for Allegro {
    const UNIT: f64 = MEGABIT;
    /// `receiver/src/core.cpp`, `processData`.
    const PACKETS_PER_MESSAGE: usize = 20;
    const MOST_WAITING: usize = 100;

    fn begin(&mut self, number: u64, _now: Instant) -> (f64, Span) {
        let rate = self.next_rate(number);
        let period = period(self.packet, rate, MEGABIT);
        let packets = if 1.1 * self.srtt / period > MIN_PACKETS {
            let longer = self.random.below(3) as f64 / 10.0;
            self.srtt * (1.5 + longer) / period
        } else {
            (MIN_TIME / period).max(MIN_PACKETS)
        };
        (rate, Span::Packets(packets.min(f64::from(WINDOW)) as u32))
    }

    fn is_known(&self, interval: &Interval, newest: Option<u64>, _now: Instant) -> bool {
        newest.is_some_and(|newest| interval.number < newest)
    }

    fn on_ack(&mut self, ack: &Ack<'_>) {
        if let Some(rtt) = ack.rtt.filter(|_| ack.now >= self.next_sample) {
            self.srtt += RTT_WEIGHT * (rtt.as_secs_f64() - self.srtt);
            self.next_sample = ack.now + RTT_INTERVAL;
        }
    }

    fn on_result(&mut self, interval: &Interval, next: u64, measured_rtt: Option<f64>) -> Order {
        let rtt = measured_rtt.or_else(|| interval.mean_rtt()).unwrap_or(self.srtt);
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
#[allow(clippy::float_cmp, reason = "rates and steps are exact")]
mod tests {
    use super::super::monitor::tests::{interval, numbered};
    use super::*;
    use crate::scheme::{Sent, window};

    #[test]
    fn loss_of_up_to_five_percent_hardly_matters() {
        // The paper's values per unit of rate, without the round trip: 0.9933 at no loss, 0.425 at 5 %, below zero from 8 % on.
        for (lost, expected) in [
            (0, 0.9933),
            (10, 0.962),
            (20, 0.914),
            (30, 0.824),
            (40, 0.662),
            (50, 0.425),
            (60, 0.193),
            (80, -0.036),
            (100, -0.094),
        ] {
            let loss = f64::from(lost) / 1_000.0;
            let paper = (1.0 - loss) / (1.0 + (100.0 * (loss - 0.05)).exp()) - loss;
            assert!((paper - expected).abs() < 0.001, "{lost}: {paper}");
            // The program halves the first term while the round trip stays: S(L) times 0.5.
            let ours = utility(&interval(10.0, 1_000, lost, 0.1), 0.1, 0.1) * 100_000.0 / 1e6;
            let program = (1.0 - loss) / (1.0 + (100.0 * (loss - 0.05)).exp()) * 0.5 - loss;
            assert!((ours - program).abs() < 1e-9, "{lost}: {ours}, not {program}");
        }
    }

    #[test]
    fn a_growing_round_trip_costs() {
        let steady = utility(&interval(10.0, 1_000, 0, 0.1), 0.1, 0.1);
        assert!(utility(&interval(10.0, 1_000, 0, 0.11), 0.11, 0.1) < 0.8 * steady);
        assert!(utility(&interval(10.0, 1_000, 0, 0.1), 0.1, 0.11) > 1.2 * steady);
    }

    fn allegro() -> Allegro {
        Allegro::new(Bytes::new(1_500), RandomStream::new(1, "pcc"))
    }

    #[test]
    fn the_start_doubles_with_every_interval_and_returns_to_the_best() {
        let mut pcc = allegro();
        let rates: Vec<_> = (0..5).map(|number| pcc.begin(number, Instant::ZERO).0).collect();
        assert_eq!(rates, [2.0, 4.0, 8.0, 16.0, 32.0]);
        for (number, (rate, lost)) in [(2.0, 0), (4.0, 0), (8.0, 0), (16.0, 800)].into_iter().enumerate() {
            let result = numbered(number as u64, rate, (rate * 100.0) as u32, lost);
            let order = pcc.on_result(&result, 5, None);
            assert_eq!(order, if lost == 0 { Order::GoOn } else { Order::Pace(8.0) });
        }
        let Mode::Guess(trials) = &pcc.mode else { panic!("{:?}", pcc.mode) };
        assert_eq!(trials.rates.len(), 4);
        for rate in &trials.rates {
            assert!(((rate - 8.0).abs() - 0.08).abs() < 1e-9, "{rate}");
        }
        assert_eq!(trials.rate(5), Some(trials.rates[0]));
        assert_eq!(pcc.begin(9, Instant::ZERO).0, pcc.begin(8, Instant::ZERO).0, "the last trial goes on");
    }

    #[test]
    fn agreeing_pairs_move_the_rate_and_disagreeing_ones_widen_the_experiment() {
        let mut pcc = allegro();
        pcc.rate = 10.0;
        pcc.guess(0);
        let order = pcc.vote(&[(10.1, 2.0), (9.9, 1.0), (9.9, 2.0), (10.1, 1.0)], 0);
        assert_eq!((pcc.width, order), (2, Order::GoOn));
        let order = pcc.vote(&[(10.2, 2.0), (9.8, 1.0), (9.8, 1.0), (10.2, 2.0)], 0);
        assert!((pcc.rate - 10.2).abs() < 1e-9, "half of two and one: two percent, {}", pcc.rate);
        assert_eq!(order, Order::Pace(pcc.rate));
        let first = numbered(0, 10.2, 1_000, 0);
        let better = numbered(0, 10.4, 1_100, 0);
        pcc.on_result(&first, 0, None);
        assert!((pcc.rate - 10.2 * 1.02).abs() < 1e-9);
        pcc.on_result(&better, 0, None);
        assert!((pcc.rate - 10.2 * 1.02 * 1.03).abs() < 1e-9);
        pcc.on_result(&first, 0, None);
        assert!((pcc.rate - 10.2 * 1.02 * 1.03 * 0.97).abs() < 1e-9, "one step back");
        assert!(matches!(pcc.mode, Mode::Guess(_)));
    }

    #[test]
    fn a_result_that_is_missing_ends_the_start() {
        let mut pcc = allegro();
        pcc.on_result(&numbered(0, 2.0, 200, 0), 3, None);
        assert_eq!(pcc.on_result(&numbered(2, 8.0, 800, 0), 3, None), Order::Pace(2.0));
    }

    #[test]
    fn results_wait_for_the_receiver_to_have_twenty_packets() {
        let mut sender = Sender::new(allegro(), FIRST_RATE);
        let at = |millis| Instant::ZERO + Duration::from_millis(millis);
        let (size, is_retransmission) = (Bytes::new(1_500), false);
        // The first interval has 25 packets at least and 28 at most.
        let send = |n: u64| Sent { now: at(5 * n), size, is_retransmission, in_flight: 1, delivered: 0 };
        let packets: Vec<_> = (0..40).map(|n| sender.on_sent(&send(n))).collect();
        let utilities = packets.iter().enumerate().map(|(n, packet)| {
            let now = at(100 + 5 * n as u64);
            sender.on_ack(&Ack { now, packets: std::slice::from_ref(packet), ..window::ack(1) });
            let mut utility = 0.0;
            sender.telemetry(&mut |name, value| {
                if name == "utility" {
                    utility = value;
                }
            });
            utility
        });
        assert_eq!(utilities.map(|utility| utility > 0.0).position(|is_known| is_known), Some(39));
    }

    #[test]
    fn equal_utilities_vote_down_whichever_rate_comes_first() {
        for pairs in
            [[(10.1, 1.0), (9.9, 1.0), (9.9, 1.0), (10.1, 1.0)], [(9.9, 1.0), (10.1, 1.0), (10.1, 1.0), (9.9, 1.0)]]
        {
            let mut pcc = allegro();
            pcc.rate = 10.0;
            pcc.guess(0);
            pcc.vote(&pairs, 0);
            assert!((pcc.rate - 9.9).abs() < 1e-9, "{}", pcc.rate);
        }
    }

    #[test]
    fn a_host_that_cannot_keep_up_is_where_the_first_move_ends_too() {
        let mut pcc = allegro();
        pcc.rate = 300.0;
        pcc.mode = Mode::Move { direction: 1.0, steps: 1, awaited: 7, utility: None };
        assert_eq!(pcc.on_result(&numbered(8, 300.0, 20_000, 0), 9, None), Order::GoOn, "not the awaited one");
        // 20,000 packets of 1500 bytes in a second.
        assert_eq!(pcc.on_result(&numbered(7, 300.0, 20_000, 0), 9, None), Order::Pace(240.0));
        assert!(matches!(pcc.mode, Mode::Guess(_)));
    }

    #[test]
    fn one_round_trip_of_every_ten_milliseconds_counts_an_eighth() {
        let mut pcc = allegro();
        let expected = [0.1 - 0.01, 0.09, 0.09, 0.09 - 0.07 / 8.0];
        for (millis, srtt) in [0, 3, 9, 10].into_iter().zip(expected) {
            let now = Instant::ZERO + Duration::from_millis(millis);
            pcc.on_ack(&Ack { now, rtt: Some(Duration::from_millis(20)), ..window::ack(1) });
            assert!((pcc.srtt - srtt).abs() < 1e-9, "{millis} ms: {}", pcc.srtt);
        }
    }
}

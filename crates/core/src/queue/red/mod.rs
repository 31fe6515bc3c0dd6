//! Random early detection: RED.
//!
//! **What it is.** One queue of packets and a moving average of its length. Between two thresholds arriving packets are
//! dropped or marked with a probability that grows with the average; above, all of them are.
//!
//! **Source.** Floyd and Jacobson, "Random early detection gateways for congestion avoidance" (1993); Linux 7.3
//! `net/sched/sch_red.c`, `include/net/red.h`, whose fixed-point arithmetic is kept; Floyd, Gummadi and Shenker,
//! "Adaptive RED" (2001), in the kernel's form.
//!
//! **Parameters.** As those of `tc`; what is not stated follows from the limit.
//!
//! **Deviations.** As under Linux' htb, which never asks an empty queue for a packet, the average does not decay while
//! the queue is empty.
//!
//! **How it is validated.** Unit tests here; next to the kernel's in the suite `agreement/queues`.

mod thresholds;

use serde::Deserialize;

pub use thresholds::{Averaging, Misfit, Stated, Thresholds};

use super::bounds::{limit_within, within};
use super::jiffies::JiffyTimer;
use super::packet_queue::PacketQueue;
use super::setup::QueueSetup;
use super::{Queue, Reason, Verdicts};
use crate::info::{Info, Parameter};
use crate::packet::Packet;
use crate::problem::Problem;
use crate::random::RandomStream;
use crate::units::{Bytes, Instant};

/// Name, parameters and source, for listings and documentation.
pub(super) const INFO: Info = Info {
    name: "red",
    title: "Random early detection (RED)",
    source: "Floyd and Jacobson 1993; Linux net/sched/sch_red.c, include/net/red.h",
    parameters: &[
        Parameter::quantity(
            "limit",
            "to be stated",
            "size",
            "the most bytes that wait: a size or bandwidth-delay products",
        ),
        Parameter::quantity("min", "max / 3", "size", "the average length from which packets are dropped or marked"),
        Parameter::quantity(
            "max",
            "3 min, or limit / 4",
            "size",
            "the average length from which every packet is dropped or marked",
        ),
        Parameter::number("probability", [DEFAULT_PROBABILITY, 1e-6, 1.0], "", "the probability just below max"),
        Parameter::quantity("avpkt", "the largest packet", "size", "the size of an average packet"),
        Parameter::quantity(
            "burst",
            "(2 min + max) / (3 avpkt)",
            "packets",
            "the burst that passes while the average is below min",
        ),
        Parameter::flag("ecn", false, "mark packets that can be marked instead of dropping them"),
        Parameter::flag("harddrop", false, "above max drop also what could be marked"),
        Parameter::flag("adaptive", false, "steer the probability to keep the average midway, from 1 to 50 %"),
    ],
    telemetry: &[],
};

const DEFAULT_PROBABILITY: f64 = 0.02;
/// Probabilities are fractions of 2^32.
const STEPS: f64 = (1_u64 << 32) as f64;
/// `RED_ONE_PERCENT`.
const ONE_PERCENT: u32 = 42_949_673;
/// `MAX_P_MIN`: a step up is at most this.
const LEAST_PROBABILITY: u32 = ONE_PERCENT;
/// `MAX_P_MAX`.
const LARGEST_PROBABILITY: u32 = 50 * ONE_PERCENT;
/// HZ / 2: how often the probability is steered.
const ADAPT_TICKS: u64 = 500;

/// What an experiment states.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RedConfig {
    limit_bytes: Option<u64>,
    min_bytes: Option<u64>,
    max_bytes: Option<u64>,
    #[serde(default = "default_probability")]
    probability: f64,
    avpkt_bytes: Option<u64>,
    burst_packets: Option<u64>,
    #[serde(default)]
    ecn: bool,
    #[serde(default)]
    harddrop: bool,
    #[serde(default)]
    adaptive: bool,
}

fn default_probability() -> f64 {
    DEFAULT_PROBABILITY
}

impl RedConfig {
    pub(super) fn check(&self, setup: &QueueSetup<'_>) -> Result<(), Problem> {
        let Some(limit) = self.limit_bytes else {
            return Err(Problem::new("limit is missing; set it to the most bytes that wait"));
        };
        limit_within("limit", limit)?;
        within("probability", self.probability, &(1e-6..=1.0), "")?;
        for (name, value) in [("min", self.min_bytes), ("max", self.max_bytes), ("burst", self.burst_packets)] {
            limit_within(name, value.unwrap_or(1))?;
        }
        within("avpkt", self.avpkt_bytes.unwrap_or(1), &(1..=65_535), "B")?;
        self.thresholds(setup).map(|_| ())
    }

    fn thresholds(&self, setup: &QueueSetup<'_>) -> Result<Thresholds, Problem> {
        Thresholds::new(&self.stated(), setup.largest_packet).map_err(|Misfit { key, value, expected }| {
            Problem::new(format!("{key} {value} is not possible; it takes {expected}"))
        })
    }

    fn stated(&self) -> Stated {
        let narrow = |value: u64| u32::try_from(value).unwrap_or(u32::MAX);
        Stated {
            limit: narrow(self.limit_bytes.unwrap_or_default()),
            min: self.min_bytes.map(narrow),
            max: self.max_bytes.map(narrow),
            average_packet: self.avpkt_bytes.map(narrow),
            burst: self.burst_packets.map(narrow),
        }
    }
}

/// What RED thinks of an arriving packet (`red_action`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    Pass,
    ByChance,
    Always,
}

/// The average and what decides by it (`struct red_parms`, `struct red_vars`).
#[derive(Debug)]
struct Control {
    /// Thresholds as fixed-point numbers with the point at `log`.
    min: u64,
    max: u64,
    log: u8,
    span: u32,
    target_min: u64,
    target_max: u64,
    /// The probability just below the upper threshold, as a fraction of 2^32.
    probability: u32,
    /// The same per byte between the thresholds.
    step: u32,
    average: u64,
    /// Packets since the last one that was dropped or marked; `None` below the lower threshold.
    count: Option<u64>,
    drawn: u64,
    random: RandomStream,
}

impl Control {
    fn new(thresholds: &Thresholds, probability: f64, setup: &QueueSetup<'_>) -> Self {
        let Thresholds { min, max, averaging: Averaging { log }, .. } = *thresholds;
        let (span, probability) = (max - min, (probability * STEPS) as u32);
        let fifth = u64::from(span / 5);
        Self {
            min: u64::from(min) << log,
            max: u64::from(max) << log,
            log,
            span,
            target_min: u64::from(min) + 2 * fifth,
            target_max: u64::from(min) + 3 * fifth,
            probability,
            step: (probability / span).max(1),
            average: 0,
            count: None,
            drawn: 0,
            random: setup.random("red"),
        }
    }

    /// A packet arrives where so much waits.
    fn arrive(&mut self, backlog: Bytes) -> Action {
        self.average = self.average - (self.average >> self.log) + backlog.count();
        if self.average < self.min {
            self.count = None;
            return Action::Pass;
        }
        if self.average >= self.max {
            self.count = None;
            return Action::Always;
        }
        let Some(count) = self.count else {
            self.count = Some(0);
            self.draw();
            return Action::Pass;
        };
        self.count = Some(count + 1);
        if ((self.average - self.min) >> self.log) * (count + 1) < self.drawn {
            return Action::Pass;
        }
        self.count = Some(0);
        self.draw();
        Action::ByChance
    }

    /// How far the average times the number of packets has to come until one is dropped (`red_random`).
    fn draw(&mut self) {
        self.drawn = self.random.below(1 << 32) / u64::from(self.step);
    }

    /// `red_adaptative_algo`.
    fn adapt(&mut self) {
        let average = self.average >> self.log;
        if average > self.target_max && self.probability <= LARGEST_PROBABILITY {
            self.probability += LEAST_PROBABILITY.min(self.probability / 4);
        } else if average < self.target_min && self.probability >= LEAST_PROBABILITY {
            self.probability = self.probability / 10 * 9;
        }
        self.step = ((self.probability + self.span / 2) / self.span).max(1);
    }
}

/// A queue under RED.
#[derive(Debug)]
pub struct Red<P> {
    queue: PacketQueue<P>,
    limit: Bytes,
    ecn: bool,
    harddrop: bool,
    adapt: Option<JiffyTimer>,
    control: Control,
}

impl<P> Red<P> {
    /// An empty queue, if the thresholds fit each other.
    pub(super) fn new(config: &RedConfig, setup: &QueueSetup<'_>) -> Result<Self, Problem> {
        let thresholds = config.thresholds(setup)?;
        Ok(Self {
            queue: PacketQueue::default(),
            limit: Bytes::new(u64::from(thresholds.limit)),
            ecn: config.ecn,
            harddrop: config.harddrop,
            adapt: config.adaptive.then(|| JiffyTimer::new(ADAPT_TICKS, ADAPT_TICKS)),
            control: Control::new(&thresholds, config.probability, setup),
        })
    }

    fn catch_up(&mut self, now: Instant) {
        while self.adapt.as_mut().is_some_and(|timer| timer.fire(now)) {
            self.control.adapt();
        }
    }
}

impl<P: Send> Queue<P> for Red<P> {
    fn enqueue(&mut self, mut packet: Box<Packet<P>>, now: Instant, verdicts: &mut Verdicts<P>) {
        self.catch_up(now);
        let (reason, may_mark) = match self.control.arrive(self.queue.bytes()) {
            Action::Pass => (None, false),
            Action::ByChance => (Some(Reason::Congestion), self.ecn),
            Action::Always => (Some(Reason::Threshold), self.ecn && !self.harddrop),
        };
        let reason = reason.filter(|reason| !(may_mark && verdicts.mark(&mut packet, *reason)));
        let is_full = self.queue.bytes() + packet.size > self.limit;
        match reason.or(is_full.then_some(Reason::Overlimit)) {
            Some(reason) => verdicts.drop(packet, reason),
            None => self.queue.push(packet),
        }
    }

    fn dequeue(&mut self, now: Instant, _verdicts: &mut Verdicts<P>) -> Option<Box<Packet<P>>> {
        self.catch_up(now);
        self.queue.pop()
    }

    fn peek(&self) -> Option<Bytes> {
        self.queue.head().map(|packet| packet.size)
    }

    fn packets(&self) -> usize {
        self.queue.packets()
    }

    fn bytes(&self) -> Bytes {
        self.queue.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Ecn;
    use crate::queue::tests::{Bench, problem, setup};
    use crate::units::Duration;

    const RED: &str =
        r#""kind": "red", "limit_bytes": 200000, "min_bytes": 10000, "max_bytes": 30000, "probability": 0.1"#;

    fn bench(more: &str) -> Bench {
        Bench::new(&format!("{{{RED}{more}}}"))
    }

    #[test]
    fn below_the_lower_threshold_nothing_is_dropped_and_above_the_upper_one_everything() {
        let mut below = bench("");
        below.standing(10, 2_000);
        assert!(below.dropped.is_empty());
        let mut above = bench("");
        above.offer(150);
        // The average follows slowly: what was let in before it passed the threshold stays.
        assert!(above.dropped.len() > 50);
        assert!(above.dropped.iter().rev().take(10).all(|drop| drop.reason == Reason::Threshold));
    }

    #[test]
    fn in_between_the_probability_is_linear() {
        // At an average of 20 kB, half way, each packet would go with 5 %; by even spread over 1..20 packets that is
        // one in ten to eleven.
        let mut bench = bench("");
        bench.standing(20, 40_000);
        let late = bench.dropped.iter().filter(|drop| drop.time.as_millis() > 1_000).count();
        let share = late as f64 / (39_000 + late) as f64;
        assert!((0.08..0.11).contains(&share), "{share}");
    }

    #[test]
    fn marks_take_the_place_of_drops_and_harddrop_takes_them_back_above_the_upper_threshold() {
        let mut marking = bench(r#", "ecn": true"#);
        marking.ecn = Ecn::Ect0;
        marking.offer(150);
        assert!(marking.dropped.is_empty() && marking.marked.len() > 50);
        let mut hard = bench(r#", "ecn": true, "harddrop": true"#);
        hard.ecn = Ecn::Ect0;
        hard.offer(150);
        assert!(hard.dropped.iter().all(|drop| drop.reason == Reason::Threshold) && hard.dropped.len() > 50);
    }

    #[test]
    fn the_probability_is_steered_to_keep_the_average_midway() {
        let thresholds = Thresholds::new(
            &Stated { limit: 200_000, min: Some(10_000), max: Some(30_000), ..Stated::default() },
            setup().largest_packet,
        );
        let mut control = Control::new(&thresholds.expect("it fits"), 0.02, &setup());
        control.average = 25_000 << control.log;
        control.adapt();
        assert_eq!(control.probability, 85_899_345 + 85_899_345 / 4);
        control.average = 11_000 << control.log;
        control.adapt();
        assert_eq!(control.probability, (85_899_345 + 85_899_345 / 4) / 10 * 9);
    }

    #[test]
    fn the_limit_holds() {
        let mut bench = Bench::new(r#"{"kind": "red", "limit_bytes": 5000, "min_bytes": 20000, "max_bytes": 60000}"#);
        bench.offer(7);
        assert_eq!(bench.dropped.iter().map(|drop| drop.reason).collect::<Vec<_>>(), [Reason::Overlimit; 2]);
    }

    /// Thresholds of 10 and 30 kB.
    fn control(probability: f64) -> Control {
        let stated = Stated { limit: 200_000, min: Some(10_000), max: Some(30_000), ..Stated::default() };
        let thresholds = Thresholds::new(&stated, setup().largest_packet).expect("it fits");
        Control::new(&thresholds, probability, &setup())
    }

    #[test]
    fn an_average_at_a_threshold_is_above_it() {
        // The average stays where it is while as much waits.
        let mut control = control(0.1);
        control.average = control.min;
        assert_eq!((control.arrive(Bytes::new(10_000)), control.count), (Action::Pass, Some(0)));
        control.average = control.max;
        assert_eq!((control.arrive(Bytes::new(30_000)), control.count), (Action::Always, None));
    }

    #[test]
    fn a_packet_goes_once_the_average_times_the_packets_has_come_as_far_as_was_drawn() {
        for (drawn, action) in [(30_000, Action::ByChance), (30_001, Action::Pass)] {
            let mut control = control(0.1);
            (control.average, control.count, control.drawn) = (20_000 << control.log, Some(2), drawn);
            assert_eq!(control.arrive(Bytes::new(20_000)), action);
        }
    }

    #[test]
    fn the_probability_is_steered_from_one_to_fifty_percent_outside_the_middle_fifth() {
        let adapted = |average: u64, probability: u32| {
            let mut control = control(0.02);
            (control.average, control.probability) = (average << control.log, probability);
            control.adapt();
            assert_eq!(control.step, ((control.probability + 10_000) / 20_000).max(1));
            i64::from(control.probability) - i64::from(probability)
        };
        let some = 2 * ONE_PERCENT;
        assert!(adapted(17_999, some) < 0 && adapted(22_001, some) > 0);
        assert_eq!((adapted(18_000, some), adapted(22_000, some)), (0, 0));
        assert!(adapted(11_000, LEAST_PROBABILITY) < 0 && adapted(25_000, LARGEST_PROBABILITY) > 0);
        assert_eq!((adapted(11_000, LEAST_PROBABILITY - 1), adapted(25_000, LARGEST_PROBABILITY + 1)), (0, 0));
    }

    #[test]
    fn the_probability_is_steered_twice_a_second() {
        let mut queue = Red::<()>::new(
            &serde_json::from_str(r#"{"limit_bytes": 200000, "probability": 0.3, "adaptive": true}"#).expect("a queue"),
            &setup(),
        )
        .expect("it fits");
        queue.catch_up(Instant::ZERO);
        queue.control.probability = (0.3 * STEPS) as u32;
        // Every 504 ms, as from the machine's start on: at 32, 536 and 1040 ms.
        queue.catch_up(Instant::ZERO + Duration::from_millis(1_519));
        let expected = (0..3).fold((0.3 * STEPS) as u32, |probability, _| probability / 10 * 9);
        assert_eq!(queue.control.probability, expected);
    }

    #[test]
    fn impossible_parameters_are_refused() {
        for (json, part) in [
            (r#"{"kind": "red"}"#, "limit is missing"),
            (
                r#"{"kind": "red", "limit_bytes": 100000, "min_bytes": 900}"#,
                "min 900B is not possible; it takes more than avpkt, 1000B",
            ),
            (r#"{"kind": "red", "limit_bytes": 100000, "min_bytes": 9000, "max_bytes": 8000}"#, "more than min, 9000B"),
            (r#"{"kind": "red", "limit_bytes": 100000, "probability": 0.0}"#, "probability 0 is not possible"),
        ] {
            assert!(problem(json).contains(part), "{}", problem(json));
        }
    }
}

//! How good a tree is: its mean utility over the networks that it is meant for.

use bakeoff_core::random::RandomStream;
use bakeoff_core::scheme::remy::Memory;
use serde::{Deserialize, Serialize};

use crate::network::{Network, Rules, Watch};
use crate::utility::NOTHING;

/// The utility of a network whose queue grew beyond all bounds.
const FLOODED: f64 = NOTHING;
/// How much longer trees are simulated for the decision between them.
const CAREFULLY: u64 = 10;

/// The networks that a tree is for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Range {
    /// The slowest link, packets per millisecond; one is 10 Mbit/s with packets of 1250 bytes.
    pub slowest: f64,
    /// The fastest.
    pub fastest: f64,
    /// Links of an evaluation.
    pub links: usize,
    /// Simulated time of the fastest.
    pub shortest_ms: f64,
    /// Round trip.
    pub rtt_ms: f64,
    /// Senders.
    pub senders: usize,
    /// Mean time for which a sender is on.
    pub on_ms: f64,
    /// Mean time for which it is off.
    pub off_ms: f64,
}

impl Range {
    /// What the published tree was trained for: 3.16 to 316 Mbit/s. Remy has one and two senders; of two, one is alone
    /// for half of the time as well.
    pub const HUNDREDFOLD: Self = Self {
        slowest: 0.316,
        fastest: 31.6,
        links: 10,
        shortest_ms: 10_000.0,
        rtt_ms: 150.0,
        senders: 2,
        on_ms: 1_000.0,
        off_ms: 1_000.0,
    };

    /// The link that lies at a place from 0 to 1 on a logarithmic scale. Simulated time goes with the square root of a
    /// packet's: with that time itself the fastest links would see too few on and off periods, and without it they
    /// would take all the work.
    pub fn at(&self, place: f64) -> Configuration {
        let Self { slowest, fastest, rtt_ms, senders, on_ms, off_ms, .. } = *self;
        let rate = slowest * (fastest / slowest).powf(place);
        let network = Network { rate, rtt_ms, senders, on_ms, off_ms };
        Configuration { network, duration_ms: self.shortest_ms * (fastest / rate).sqrt() }
    }
}

/// A network, and for how long it is simulated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Configuration {
    /// The network.
    pub network: Network,
    /// Simulated time.
    pub duration_ms: f64,
}

/// Networks with their random numbers.
#[derive(Clone, Debug)]
pub struct Evaluation {
    runs: Vec<(Configuration, u64)>,
}

impl Evaluation {
    /// The evaluation of that number: a link from each of equal parts of the range, anywhere in it. All trees that it
    /// is asked about meet the same links, and the same senders at the same times.
    pub fn new(range: &Range, seed: u64, number: u64) -> Self {
        Self::drawn(range, seed, &format!("evaluation.{number}"))
    }

    fn drawn(range: &Range, seed: u64, name: &str) -> Self {
        let mut random = RandomStream::new(seed, name);
        let run = |part: usize| {
            let place = (part as f64 + random.uniform()) / range.links as f64;
            (range.at(place), random.below(u64::MAX))
        };
        Self { runs: (0..range.links).map(run).collect() }
    }

    /// One with ten times the links, for decisions between trees.
    pub fn careful(range: &Range, seed: u64, number: u64) -> Self {
        let runs = (0..CAREFULLY).flat_map(|part| Self::drawn(range, seed, &format!("careful.{number}.{part}")).runs);
        Self { runs: runs.collect() }
    }

    /// Utility of each configuration with `share` of its time (of all: 1), and the packets that it took; configurations
    /// that `wanted` leaves out have none.
    pub fn utilities(&self, rules: &Rules, share: f64, wanted: &[bool]) -> Utilities {
        let mut packets = 0;
        let one = |((configuration, seed), is_wanted): (&(Configuration, u64), &bool)| {
            is_wanted.then(|| {
                let (utility, sent) = configuration.utility(rules, *seed, share, &mut ());
                packets += sent;
                utility
            })
        };
        Utilities { each: self.runs.iter().zip(wanted).map(one).collect(), packets }
    }

    /// The configurations, each with its seed.
    pub fn runs(&self) -> &[(Configuration, u64)] {
        &self.runs
    }

    /// All configurations.
    pub fn all(&self) -> Vec<bool> {
        vec![true; self.runs.len()]
    }

    /// How often each configuration uses each rule, as a share of its uses of all rules.
    pub fn uses(&self, rules: &Rules) -> Vec<Vec<f64>> {
        let one = |(configuration, seed): &(Configuration, u64)| {
            let mut count = Count(vec![0.0; rules.tree().actions().len()]);
            configuration.utility(rules, *seed, 1.0, &mut count);
            let all: f64 = count.0.iter().sum();
            count.0.into_iter().map(|uses| uses / all.max(1.0)).collect()
        };
        self.runs.iter().map(one).collect()
    }

    /// The memories for which a rule was used, and the weight of each: a configuration counts as much as another one.
    pub fn memories(&self, rules: &Rules, rule: usize) -> Vec<(Memory, f64)> {
        let mut memories = Vec::new();
        for (configuration, seed) in &self.runs {
            let mut log = Log { rule, all: 0.0, memories: Vec::new() };
            configuration.utility(rules, *seed, 1.0, &mut log);
            memories.extend(log.memories.into_iter().map(|memory| (memory, 1.0 / log.all)));
        }
        memories
    }
}

/// What an evaluation found.
#[derive(Clone, Debug, PartialEq)]
pub struct Utilities {
    /// For each configuration, if it was wanted.
    pub each: Vec<Option<f64>>,
    /// Packets simulated.
    pub packets: u64,
}

impl Utilities {
    /// The mean, with what `others` found for those that were not wanted.
    pub fn score(&self, others: &Self) -> f64 {
        let each = self.each.iter().zip(&others.each).map(|(own, other)| own.or(*other).unwrap_or(0.0));
        each.sum::<f64>() / self.each.len() as f64
    }
}

impl Configuration {
    /// Mean utility of the senders, and packets sent.
    fn utility(&self, rules: &Rules, seed: u64, share: f64, watch: &mut impl Watch) -> (f64, u64) {
        let network = self.network;
        let Network { rate, rtt_ms, .. } = network;
        let outcome = network.run(rules, seed, self.duration_ms * share, network.bound(), watch);
        let utility = outcome.senders.map_or(FLOODED, |senders| {
            senders.iter().map(|tally| tally.utility(rate, rtt_ms)).sum::<f64>() / senders.len() as f64
        });
        (utility, outcome.packets)
    }
}

struct Count(Vec<f64>);

impl Watch for Count {
    fn used(&mut self, rule: usize, _memory: Memory) {
        self.0[rule] += 1.0;
    }
}

struct Log {
    rule: usize,
    all: f64,
    memories: Vec<Memory>,
}

impl Watch for Log {
    fn used(&mut self, rule: usize, memory: Memory) {
        self.all += 1.0;
        if rule == self.rule {
            self.memories.push(memory);
        }
    }
}

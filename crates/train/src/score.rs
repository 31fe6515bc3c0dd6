//! Scores that compare trees: over the range, and in Remy's own regression tests.

use serde_json::Value;

use crate::beside::{self, BesideError};
use crate::evaluate::{Configuration, Evaluation, Range};
use crate::network::{Network, Rules};
use crate::utility::Tally;

/// Random numbers that no training has met.
const SEED: u64 = 1_000_003;
/// For fast links, fewer packets are as good.
const MOST_PACKETS: f64 = 4e6;
const LONGEST_MS: f64 = 1e6;
/// Packets on their way that end a test.
const MOST_WAITING: usize = 1_000_000;

/// The mean utility over 100 links of a range, with the random numbers that are the same for all trees.
pub fn over(range: &Range, rules: &Rules) -> f64 {
    let evaluation = Evaluation::careful(range, SEED, 0);
    let utilities = evaluation.utilities(rules, 1.0, &evaluation.all());
    utilities.score(&utilities)
}

/// The utility of a scheme of bakeoff in bakeoff's own simulator: the mean over ten links of a range.
pub fn beside(range: &Range, scheme: &str, parameters: &Value) -> Result<f64, BesideError> {
    let evaluation = Evaluation::new(range, SEED, 0);
    let one = |(configuration, seed): &(Configuration, u64)| {
        let network = configuration.network;
        let tallies = beside::run(&network, scheme, parameters, *seed, configuration.duration_ms)?;
        let sum: f64 = tallies.iter().map(|tally| tally.utility(network.rate, network.rtt_ms)).sum();
        Ok(sum / tallies.len() as f64)
    };
    let each: Result<Vec<f64>, _> = evaluation.runs().iter().map(one).collect();
    each.map(|each| each.iter().sum::<f64>() / each.len() as f64)
}

/// One of Remy's regression tests (`tests/verify-2014-*`), and what the published tree for links of 3 to 316 Mbit/s
/// achieves. Packets have 1250 bytes.
#[derive(Clone, Copy, Debug)]
pub struct Regression {
    /// The link.
    pub link_mbps: f64,
    /// Mean throughput of a sender while it is on.
    pub throughput_mbps: f64,
    /// Mean round trip.
    pub delay_ms: f64,
}

const fn test(link_mbps: f64, throughput_mbps: f64, delay_ms: f64) -> Regression {
    Regression { link_mbps, throughput_mbps, delay_ms }
}

/// All of them.
pub const REGRESSION: [Regression; 7] = [
    test(2.21, 1.8, 346.0),
    test(9.93, 6.0, 165.0),
    test(29.41, 18.0, 174.0),
    test(185.04, 91.1, 157.0),
    test(300.25, 133.1, 152.0),
    test(401.4, 146.0, 151.0),
    test(801.5, 156.0, 150.0),
];

/// What a tree achieves.
#[derive(Clone, Copy, Debug)]
pub struct Achieved {
    /// Mean throughput of a sender while it is on.
    pub throughput_mbps: f64,
    /// Mean round trip.
    pub delay_ms: f64,
    /// Mean utility.
    pub utility: f64,
}

impl Regression {
    /// The network of the test.
    pub fn network(&self) -> Network {
        Network { rate: self.link_mbps / 10.0, rtt_ms: 150.0, senders: 2, on_ms: 1_000.0, off_ms: 1_000.0 }
    }

    /// What the rules achieve; nothing if the queue grows beyond all bounds.
    pub fn run(&self, rules: &Rules) -> Option<Achieved> {
        let network = self.network();
        let duration_ms = (MOST_PACKETS / network.rate).min(LONGEST_MS);
        let senders = network.run(rules, SEED, duration_ms, MOST_WAITING, &mut ()).senders?;
        let mean = |of: &dyn Fn(&Tally) -> f64| senders.iter().map(of).sum::<f64>() / senders.len() as f64;
        Some(Achieved {
            // An on period finds the other sender on for half of its time: an equal share is three quarters of the
            // link.
            throughput_mbps: mean(&|tally| tally.packets / tally.share_ms) * 0.75 * 10.0,
            delay_ms: mean(&|tally| tally.delay_ms / tally.packets),
            utility: mean(&|tally| tally.utility(network.rate, network.rtt_ms)),
        })
    }
}

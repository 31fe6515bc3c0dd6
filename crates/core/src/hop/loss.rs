//! Random loss: each packet on its own, or in bursts (Gilbert-Elliott).
//!
//! **What it is.** The wire is good or bad. Before each packet it may change from one to the other; the packet is lost
//! with the probability of the state that it found. Where the wire is always good, each packet is lost on its own.
//!
//! **Source.** Linux 7.3 `net/sched/sch_netem.c` (`loss_event`, `loss_gilb_ell`), whose model of four parameters it is:
//! `loss gemodel p r 1-h 1-k`; Elliott, "Estimates of error rates for codes on burst-noise channels", BSTJ 42 (1963).
//!
//! **Parameters.** `to_bad` (p) and `to_good` (r), the probabilities of changing the state with a packet; `in_bad`
//! (1-h) and `in_good` (1-k), the probabilities of loss. As in `tc`, `in_bad` is 1 and `in_good` 0 unless stated. In
//! the long run p / (p + r) of the packets find the wire bad; with the defaults that is the loss, and losses come in
//! bursts of 1 / r on average.
//!
//! **Deviations.** None: the numbers drawn are netem's.
//!
//! **How it is validated.** Unit tests here, against the closed form; `tests/worlds/test_elements_against_kernel.py`,
//! against netem.

use serde::Deserialize;

use super::generator::{Generator, wire_probability};
use crate::problem::Problem;

/// How the wire loses packets.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum LossConfig {
    /// Each on its own, with this probability.
    Alone(f64),
    /// In bursts.
    Bursts(GilbertElliott),
}

/// The probabilities of the model by Gilbert and Elliott.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GilbertElliott {
    /// Of becoming bad.
    pub to_bad: f64,
    /// Of becoming good again.
    pub to_good: f64,
    /// Of a loss while bad.
    #[serde(default = "certain")]
    pub in_bad: f64,
    /// Of a loss while good.
    #[serde(default)]
    pub in_good: f64,
}

fn certain() -> f64 {
    1.0
}

impl Default for LossConfig {
    fn default() -> Self {
        Self::Alone(0.0)
    }
}

impl LossConfig {
    /// True if nothing is ever lost.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    pub(super) fn check(&self) -> Result<(), Problem> {
        match self {
            Self::Alone(probability) => check_probability("loss", *probability),
            Self::Bursts(GilbertElliott { to_bad, to_good, in_bad, in_good }) => {
                for (name, probability) in
                    [("to_bad", to_bad), ("to_good", to_good), ("in_bad", in_bad), ("in_good", in_good)]
                {
                    check_probability(&format!("loss.{name}"), *probability)?;
                }
                if *to_bad == 0.0 && *in_good == 0.0 {
                    return Err(Problem::new("loss loses nothing: the wire never becomes bad; give to_bad above 0"));
                }
                if *to_good == 0.0 && *in_bad >= 1.0 {
                    return Err(Problem::new(
                        "loss loses everything for ever once the wire is bad; give to_good above 0",
                    ));
                }
                Ok(())
            }
        }
    }
}

/// Checks that a number is a probability.
pub(super) fn check_probability(name: &str, value: f64) -> Result<(), Problem> {
    if (0.0..=1.0).contains(&value) {
        return Ok(());
    }
    Err(Problem::new(format!("{name} {value} is not a probability; give 0 to 1")))
}

/// Decides which packets are lost.
#[derive(Clone, Copy, Debug)]
pub(super) enum Loss {
    /// With a probability.
    Alone(u32),
    /// By the state of the wire.
    Bursts { is_bad: bool, to_bad: u32, to_good: u32, stays_in_bad: u32, in_good: u32 },
}

impl Loss {
    pub(super) fn new(config: &LossConfig) -> Self {
        match *config {
            LossConfig::Alone(probability) => Self::Alone(wire_probability(probability)),
            LossConfig::Bursts(GilbertElliott { to_bad, to_good, in_bad, in_good }) => Self::Bursts {
                is_bad: false,
                to_bad: wire_probability(to_bad),
                to_good: wire_probability(to_good),
                stays_in_bad: wire_probability(1.0 - in_bad),
                in_good: wire_probability(in_good),
            },
        }
    }

    /// Whether the next packet is lost.
    pub(super) fn next(&mut self, generator: &mut Generator) -> bool {
        match self {
            Self::Alone(threshold) => generator.happens(*threshold),
            Self::Bursts { is_bad, to_bad, to_good, stays_in_bad, in_good } => {
                let was_bad = *is_bad;
                let change = generator.next();
                *is_bad = if was_bad { change >= *to_good } else { change < *to_bad };
                let draw = generator.next();
                if was_bad { draw > *stays_in_bad } else { draw < *in_good }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DRAWS: usize = 2_000_000;

    fn losses(config: GilbertElliott, seed: u64) -> Vec<bool> {
        let (mut loss, mut generator) = (Loss::new(&LossConfig::Bursts(config)), Generator::new(seed));
        (0..DRAWS).map(|_| loss.next(&mut generator)).collect()
    }

    fn share(losses: &[bool]) -> f64 {
        losses.iter().filter(|lost| **lost).count() as f64 / losses.len() as f64
    }

    #[test]
    fn the_long_run_is_the_closed_form() {
        for (to_bad, to_good, in_bad, in_good) in
            [(0.01, 0.3, 1.0, 0.0), (0.001, 0.05, 0.6, 0.0), (0.02, 0.1, 0.8, 0.005), (0.3, 0.3, 0.5, 0.5)]
        {
            let config = GilbertElliott { to_bad, to_good, in_bad, in_good };
            let bad = to_bad / (to_bad + to_good);
            let expected = bad * in_bad + (1.0 - bad) * in_good;
            for seed in 1..4 {
                let found = share(&losses(config, seed));
                // Losses come together, so that fewer of them count: by the mean length of a bad time and its spread.
                let deviation = (expected * (2.0 / to_good) / DRAWS as f64).sqrt();
                assert!((found - expected).abs() < 4.0 * deviation, "{config:?}: {found}, expected {expected}");
            }
        }
    }

    #[test]
    fn bursts_are_as_long_as_the_wire_stays_bad() {
        let config = GilbertElliott { to_bad: 0.01, to_good: 0.25, in_bad: 1.0, in_good: 0.0 };
        let losses = losses(config, 5);
        let bursts: Vec<usize> = losses.chunk_by(|a, b| a == b).filter(|run| run[0]).map(<[bool]>::len).collect();
        let mean = bursts.iter().sum::<usize>() as f64 / bursts.len() as f64;
        assert!((mean - 4.0).abs() < 0.1, "geometric with mean 1 / r: {mean}");
        let single = bursts.iter().filter(|length| **length == 1).count() as f64 / bursts.len() as f64;
        assert!((single - 0.25).abs() < 0.02, "a quarter are of one packet: {single}");
    }

    #[test]
    fn what_is_no_model_is_refused() {
        let bursts = |to_bad, to_good, in_bad, in_good| {
            LossConfig::Bursts(GilbertElliott { to_bad, to_good, in_bad, in_good })
                .check()
                .map_or_else(|problem| problem.to_string(), |()| String::new())
        };
        assert_eq!(LossConfig::Alone(1.5).check(), Err(Problem::new("loss 1.5 is not a probability; give 0 to 1")));
        assert!(bursts(1.5, 0.1, 1.0, 0.0).contains("loss.to_bad 1.5 is not a probability"));
        assert!(bursts(0.0, 0.1, 1.0, 0.0).contains("loses nothing"));
        assert!(bursts(0.1, 0.0, 1.0, 0.0).contains("loses everything"));
        assert_eq!(bursts(0.1, 0.2, 1.0, 0.0), "");
    }

    #[test]
    fn a_packet_is_lost_by_the_state_that_it_finds() {
        // The wire changes with every packet.
        let config = GilbertElliott { to_bad: 1.0, to_good: 1.0, in_bad: 1.0, in_good: 0.0 };
        assert_eq!(losses(config, 1)[..6], [false, true, false, true, false, true]);
    }
}

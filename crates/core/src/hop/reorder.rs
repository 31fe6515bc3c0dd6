//! Reordering: packets that overtake others on the wire, or fall behind them.
//!
//! **What it is.** Three forms. *Ahead*: a packet skips the propagation delay, and arrives before those still on the
//! wire. *Late*: a packet takes longer by a fixed time, and those behind it overtake it. *Behind*: a packet arrives
//! right behind the n-th packet after it, or after a time if so many do not follow.
//!
//! **Source.** Ahead: Linux 7.3 `net/sched/sch_netem.c` (`netem_enqueue`: `reorder`, `gap`), whose numbers are drawn.
//! Late: netem's delay that differs from packet to packet, as the only difference. Behind: the displacement of RFC
//! 4737, section 4.2.2, and RFC 5236, section 4.
//!
//! **Parameters.** `probability`, of each packet that may be chosen; `gap` (ahead): after one so many less one may not
//! be, 1 as in `tc`; `late`: by how much; `behind`: how many packets, at most 1000, and `within`: after this time at
//! the latest, 100 ms unless stated.
//!
//! **Deviations.** Ahead: a packet leaves the link before it skips the delay; netem knows no link.
//!
//! **How it is validated.** `tests/elements.rs`; ahead also against netem in
//! `tests/worlds/test_elements_against_kernel.py`.

use serde::Deserialize;

use super::generator::{Generator, wire_probability};
use super::loss::check_probability;
use crate::problem::Problem;
use crate::units::Duration;

/// A limit of ours, so that a hop holds few packets back.
const MOST_BEHIND: u64 = 1_000;

/// Which packets change places, and how.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReorderConfig {
    /// Of each packet that may be chosen.
    pub probability: f64,
    /// How.
    pub change: Change,
}

/// How a chosen packet changes places.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind", deny_unknown_fields)]
pub enum Change {
    /// It skips the propagation delay.
    Ahead {
        /// One of so many packets may be chosen.
        gap: u64,
    },
    /// It takes longer.
    Late {
        /// By this time.
        #[serde(rename = "late_ns")]
        late: Duration,
    },
    /// It arrives behind later ones.
    Behind {
        /// Behind so many.
        packets: u64,
        /// After this time at the latest.
        #[serde(rename = "within_ns")]
        within: Duration,
    },
}

impl ReorderConfig {
    pub(super) fn check(&self, delay: Duration) -> Result<(), Problem> {
        check_probability("reorder.probability", self.probability)?;
        match self.change {
            Change::Ahead { gap: 0 } => Err(Problem::new("reorder.gap 0 chooses no packet; give 1 or more")),
            Change::Ahead { .. } if delay.is_zero() => Err(Problem::new(
                "reorder: packets cannot skip a delay of 0; give the hop a delay, or say how late they are",
            )),
            Change::Late { late: Duration::ZERO } => {
                Err(Problem::new("reorder.late 0 changes nothing; give a time above zero"))
            }
            Change::Behind { packets, .. } if !(1..=MOST_BEHIND).contains(&packets) => {
                Err(Problem::new(format!("reorder.behind {packets} is not possible; give 1 to {MOST_BEHIND} packets")))
            }
            Change::Behind { within: Duration::ZERO, .. } => {
                Err(Problem::new("reorder.within 0 lets nothing overtake; give a time"))
            }
            _ => Ok(()),
        }
    }
}

/// What becomes of a packet's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Move {
    /// It skips the delay.
    Ahead,
    /// It arrives so much later.
    Late(Duration),
    /// It arrives behind so many others, or so much later.
    Behind(u64, Duration),
}

/// Chooses the packets that change places.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reorder {
    threshold: u32,
    change: Change,
    /// Packets since the last that was chosen.
    counter: u64,
}

impl Reorder {
    pub(super) fn new(config: &ReorderConfig) -> Self {
        Self { threshold: wire_probability(config.probability), change: config.change, counter: 0 }
    }

    /// What becomes of the next packet; `None`: it keeps its place.
    pub(super) fn next(&mut self, generator: &mut Generator) -> Option<Move> {
        let chosen = match self.change {
            Change::Ahead { gap } => {
                let chosen = self.counter >= gap - 1 && self.threshold >= generator.next();
                self.counter = if chosen { 0 } else { self.counter + 1 };
                chosen
            }
            Change::Late { .. } | Change::Behind { .. } => generator.happens(self.threshold),
        };
        chosen.then_some(match self.change {
            Change::Ahead { .. } => Move::Ahead,
            Change::Late { late } => Move::Late(late),
            Change::Behind { packets, within } => Move::Behind(packets, within),
        })
    }
}

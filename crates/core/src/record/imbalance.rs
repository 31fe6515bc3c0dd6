//! Packets that do not add up.

use crate::hop::Count;

/// Packets appeared or vanished: a fault of the program, or of a log that it reads.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Imbalance {
    /// In a hop.
    #[error("hop {name}: in and duplicated {come:?} but out, dropped and inside make {sum:?}")]
    Hop {
        /// Its name.
        name: String,
        /// What came in and was duplicated.
        come: Count,
        /// What came out, was dropped, or is still inside.
        sum: Count,
    },
    /// On the whole.
    #[error("flows and probes miss {on_path} packets but hops hold {inside}")]
    Path {
        /// Packets that flows and probes have sent, and that neither arrived nor were dropped.
        on_path: u64,
        /// Packets that are inside hops.
        inside: u64,
    },
}

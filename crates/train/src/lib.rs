//! Trains the trees of rules that RemyCC follows, as Remy does.
//!
//! A tree begins as one rule. The rule that is used most is improved until nothing near it is better, then the next
//! one; when all have had their turn and that gains no more, the one that is used most is split at the medians of the
//! memories for which it was used. What is better is found in a simulator of its own, `network`, which costs a few tens
//! of nanoseconds a packet: one bottleneck with a queue without end, and senders that are on and off. Times are
//! fractions of milliseconds, as in Remy and in the rules: whole nanoseconds would make other trees.
//!
//! **Source.** Winstein and Balakrishnan, "TCP ex Machina", SIGCOMM 2013; `tcpexmachina/remy` (`ratbreeder.cc`,
//! `breeder.cc`, `evaluator.cc`, `network.cc`, `rat.cc`, `utility.hh`).
//!
//! **Deviations.** They make a training of an hour on one processor possible, where Remy's took weeks of many.
//! - The links of an evaluation are drawn anew for each, one from each of ten parts of the range; Remy has a fixed
//!   grid, and a tree with few rules learns that by heart. They are simulated for 10 to 100 s, not for 1000.
//! - Of the candidates in which more than one number changes, one in three is tried.
//! - The first pass leaves the best 20 and not the better half; a gain of less than 0.001 is none, rules that make up
//!   less than 0.2 % of all uses are left alone, and a round over all rules that gains less than 0.01 is the last
//!   before a split.
//! - A configuration counts as much as another one when uses are counted; in Remy a fast link counts more.
//! - Acks of an earlier on period change nothing, and a window of nothing is one packet, as for the scheme here.
//! - A queue that grows beyond ten times what the path holds ends the simulation, with a utility of -20.
//! - Utility is relative to the link's rate and round trip, so that 0 is a full link without a queue; Remy's differs by
//!   a constant for each configuration.
//!
//! **How it is validated.** With the published tree the simulator meets the throughput and the delay of Remy's
//! regression tests within 3 %, on links within that tree's range; with the shipped tree it agrees with bakeoff's own
//! simulator, sender by sender (`tests/agreement.rs`).

pub mod beside;
pub mod breeder;
pub mod candidates;
pub mod evaluate;
mod file;
pub mod network;
pub mod score;
pub mod utility;

pub use file::{FileError, in_lines};

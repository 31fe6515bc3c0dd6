//! bakeoff-sim: the virtual-time world.
//!
//! It is a clock, an agenda and a recorder around the endpoints and hops of bakeoff-core, and decides nothing itself. A
//! run is one thread; the same scenario gives the same recording, bit by bit.
//!
//! ```
//! let scenario = r#"{
//!     "seed": 1, "duration_ns": 1000000000, "record": {"level": "summary", "interval_ns": 100000000},
//!     "forward": [{"link": {"kind": "constant", "rate_bps": 12000000}, "queue": {"kind": "fifo", "limit_packets": 40}, "delay_ns": 20000000}],
//!     "reverse": [{"link": {"kind": "unlimited"}, "queue": {"kind": "fifo"}, "delay_ns": 20000000}],
//!     "flows": [{"scheme": "reno", "traffic": {"kind": "bulk"}, "start_ns": 0, "stop_ns": 1000000000}]
//! }"#;
//! let recording = bakeoff_sim::run(&bakeoff_sim::Scenario::from_json(scenario)?)?;
//! assert!(recording.tables.iter().any(|table| table.name == "flows"));
//! # Ok::<(), bakeoff_sim::Error>(())
//! ```
//!
//! Read first: [`Scenario`], [`run`] and [`Recording`].

mod flow;
mod payload;
mod topology;
mod world;

use bakeoff_core::record::Table;
use bakeoff_core::transport::stack::StackEntry;
use bakeoff_core::units::Instant;

pub use bakeoff_core::scenario::{Scenario, ScenarioError};

/// Why a run gave no recording.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Error {
    /// The scenario cannot be run.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// Packets appeared or vanished: a fault of the program.
    #[error("packets do not add up: {0}")]
    Conservation(String),
    /// A stack gave its connection up.
    #[error("flow {flow} lost its connection {} s into the run: {why}", at.as_millis() as f64 / 1e3)]
    Lost {
        /// Number of the flow from 1.
        flow: usize,
        /// When.
        at: Instant,
        /// Why, in the stack's words.
        why: String,
    },
}

/// What a run recorded.
#[derive(Clone, Debug, PartialEq)]
pub struct Recording {
    /// The tables that the level asked for.
    pub tables: Vec<Table>,
}

/// Runs a scenario, whose flows all have schemes of ours, to its end.
pub fn run(scenario: &Scenario) -> Result<Recording, Error> {
    run_with(scenario, &[])
}

/// Runs a scenario, whose flows have schemes of ours or one of these stacks, to its end.
pub fn run_with(scenario: &Scenario, stacks: &[StackEntry]) -> Result<Recording, Error> {
    let mut world = world::World::new(scenario, stacks)?;
    world.run();
    world.finish()
}

/// Checks that the flows of a scenario that have one of these stacks can be run.
pub fn check_stacks(scenario: &Scenario, stacks: &[StackEntry]) -> Result<(), ScenarioError> {
    for (index, flow) in scenario.flows.iter().enumerate() {
        if let Some(entry) = stacks.iter().find(|entry| entry.info.name == flow.scheme) {
            scenario.stack_ends(index, entry)?;
        }
    }
    Ok(())
}

//! bakeoff-sim: the virtual-time world.
//!
//! It is a clock, an agenda for each side of the path and a recorder around the endpoints and hops of bakeoff-core, and
//! decides nothing itself. A run is one thread; the same scenario gives the same recording, bit by bit.
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

pub mod agent;
mod flow;
mod network;
mod payload;
mod roster;
mod sides;
mod topology;
mod world;

use bakeoff_core::record::{Imbalance, Table};
use bakeoff_core::transport::stack::{ConnectionLost, StackEntry};
use bakeoff_core::units::Instant;

pub use bakeoff_core::scenario::{Scenario, ScenarioError};
pub use flow::{MakeScheme, Transport};

/// Why a run gave no recording.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Error {
    /// The scenario cannot be run.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// Packets appeared or vanished: a fault of the program.
    #[error("packets do not add up: {0}")]
    Conservation(Imbalance),
    /// A stack gave its connection up.
    #[error(transparent)]
    Lost(#[from] ConnectionLost),
}

/// What a run recorded.
#[derive(Clone, Debug, PartialEq)]
pub struct Recording {
    /// The tables that the level asked for.
    pub tables: Vec<Table>,
}

/// A run under way, which goes on as far as it is asked to.
pub struct Simulation(world::World);

impl Simulation {
    /// A run at its beginning, whose flows all have schemes of ours.
    pub fn new(scenario: &Scenario) -> Result<Self, Error> {
        Self::with_transports(scenario, |flow| Transport::named(scenario, flow, &[]))
    }

    /// A run at its beginning, in which somebody chooses what carries the flow with each index.
    pub fn with_transports<'a>(scenario: &Scenario, choose: impl FnMut(usize) -> Transport<'a>) -> Result<Self, Error> {
        world::World::new(scenario, sides::Sides::of(scenario), choose).map(Self)
    }

    /// Runs up to a time, what happens at it not included, or to the end. The pieces make no difference to the whole.
    pub fn run_until(&mut self, until: Instant) {
        self.0.run_until(until);
    }

    /// Why it cannot succeed any more: a stack that lost its connection.
    pub fn loss(&self) -> Option<ConnectionLost> {
        self.0.loss()
    }

    /// How far it has run.
    pub fn now(&self) -> Instant {
        self.0.times().0
    }

    /// When it ends.
    pub fn end(&self) -> Instant {
        self.0.times().1
    }

    /// Checks that every packet is accounted for and hands over the tables of a run that is at its end.
    pub fn finish(mut self) -> Result<Recording, Error> {
        self.0.run_until(Instant::FAR_FUTURE);
        self.0.finish()
    }
}

/// Runs a scenario, whose flows all have schemes of ours, to its end.
pub fn run(scenario: &Scenario) -> Result<Recording, Error> {
    Simulation::new(scenario)?.finish()
}

/// Checks that the flows of a scenario that have one of these stacks can be run.
pub fn check_stacks(scenario: &Scenario, stacks: &[StackEntry]) -> Result<(), ScenarioError> {
    for flow in 0..scenario.flows.len() {
        if let Transport::Stack(entry) = Transport::named(scenario, flow, stacks) {
            scenario.stack_ends(flow, entry)?;
        }
    }
    Ok(())
}

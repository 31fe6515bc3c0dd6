//! What the emulator is asked to run.

use bakeoff_core::scenario::{Scenario, ScenarioError};
use serde::Deserialize;
use serde_json::Value;

use crate::error::RunError;
use crate::job::JobError;
use crate::senders::OutsideScheme;

/// One end of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Side {
    Sender,
    Receiver,
}

/// The programs of a flow that is neither the kernel's nor ours. In their words `{port}` stands for a port, `{address}`
/// and `{address6}` for the other end's host, `{seconds}` for the length of the flow.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Program {
    /// Its flow, from 0.
    pub(super) flow: usize,
    /// The end that is started first, and listens.
    pub(super) first: Side,
    pub(super) sender: Vec<String>,
    pub(super) receiver: Vec<String>,
}

/// A scenario, and what only the emulator needs to know.
pub(super) struct EmulatorJob {
    pub(super) scenario: Scenario,
    /// Whether segments that are due together are handed over together.
    pub(super) merges: bool,
    pub(super) programs: Vec<Program>,
    /// The schemes that programs beside the senders compute.
    pub(super) outside: Vec<OutsideScheme>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    scenario: Value,
    merge: bool,
    programs: Vec<Program>,
    schemes: Vec<OutsideScheme>,
}

impl EmulatorJob {
    /// Reads and checks a job.
    pub(super) fn from_json(json: &str) -> Result<Self, RunError> {
        let malformed = |error: serde_json::Error| JobError::from(ScenarioError::Malformed(error.to_string()));
        let File { scenario, merge, programs, schemes } = serde_json::from_str(json).map_err(malformed)?;
        let scenario = Scenario::from_json(&scenario.to_string()).map_err(JobError::from)?;
        Ok(Self { scenario, merges: merge, programs, outside: schemes })
    }
}

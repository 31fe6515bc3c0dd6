//! What the ends of a flow need to know.

use bakeoff_core::scenario::FlowConfig;

use super::{End, Stage, ends};
use crate::error::RunError;
use crate::log::{RECEIVER_PORT, SENDER_PORT};

/// A flow that is to be opened, and where its ends are.
pub(super) struct Plan<'a> {
    pub(super) stage: Stage<'a>,
    pub(super) index: usize,
    pub(super) sender: End,
    pub(super) receiver: End,
}

impl<'a> Plan<'a> {
    pub(super) fn of(stage: Stage<'a>, index: usize) -> Self {
        let ports = [SENDER_PORT, RECEIVER_PORT].map(|port| port + index as u16);
        let direction = stage.scenario.flows[index].direction;
        let [sender, receiver] = ends(stage.hosts.pair_of_flow(index), direction, ports);
        Self { stage, index, sender, receiver }
    }

    pub(super) fn flow(&self) -> &'a FlowConfig {
        &self.stage.scenario.flows[self.index]
    }

    pub(super) fn scheme_error(&self, problem: String) -> RunError {
        RunError::Scheme { flow: self.index + 1, problem }
    }
}

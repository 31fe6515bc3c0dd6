//! The two ends of every flow.

use std::os::fd::AsFd;
use std::sync::Arc;

use bakeoff_core::units::Instant;

use super::plan::Plan;
use super::{Stage, kernel_flow, outside, own_flow, stack_flow};
use crate::error::{Context, RunError};
use crate::job::{KERNEL_PREFIX, OWN_PREFIX, PROGRAM_PREFIX, STACK_PREFIX, find_stack};
use crate::sys::{TcpOption, TcpSocket};

/// A flow under way.
pub struct RunningFlow {
    /// When it connects.
    pub start: Instant,
    /// When it falls silent.
    pub stop: Instant,
    /// The sending socket if the kernel sends; others fall silent by themselves.
    pub(super) kernel: Option<Arc<TcpSocket>>,
    /// What computes the scheme, if that is a program beside us.
    _outside: Option<outside::Program>,
}

impl RunningFlow {
    /// Lets none of the sender's packets go further than the first router, from now on.
    pub fn fall_silent(&self) -> Result<(), RunError> {
        let Some(socket) = &self.kernel else { return Ok(()) };
        TcpOption::TimeToLive(1).set(socket.as_fd()).context(|| "stopping a flow".to_owned())
    }
}

/// Opens both ends of every flow. The receivers wait for connections, the senders for their time.
pub fn open(stage: Stage<'_>) -> Result<Vec<RunningFlow>, RunError> {
    (0..stage.scenario.flows.len())
        .map(|index| {
            let plan = Plan::of(stage, index);
            let scheme = &plan.flow().scheme;
            let mut program = None;
            let kernel = if scheme.starts_with(PROGRAM_PREFIX) {
                None
            } else if let Some(outside) = stage.outside.iter().find(|outside| outside.flow == index) {
                let make = |setup| {
                    let (scheme, started) = outside::start(outside, setup, stage.news)?;
                    program = Some(started);
                    Ok(scheme)
                };
                own_flow::open(&plan, scheme, make)?;
                None
            } else if let Some(scheme) = scheme.strip_prefix(OWN_PREFIX) {
                let make = |setup| stage.scenario.scheme(index, scheme, setup).map_err(|error| error.to_string());
                own_flow::open(&plan, scheme, make)?;
                None
            } else if let Some(name) = scheme.strip_prefix(STACK_PREFIX) {
                stack_flow::open(&plan, find_stack(stage.stacks, index, name)?)?;
                None
            } else {
                let controller = scheme.strip_prefix(KERNEL_PREFIX).unwrap_or(scheme);
                Some(kernel_flow::open(&plan, controller)?)
            };
            let (start, stop) = (stage.scenario.start_of(index), stage.scenario.stop_of(index));
            Ok(RunningFlow { start, stop, kernel, _outside: program })
        })
        .collect()
}

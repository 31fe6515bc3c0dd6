//! The two ends of every flow.

use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::mpsc::Sender as Channel;

use bakeoff_core::scenario::{Direction, FlowConfig};
use bakeoff_core::units::{Duration, Instant};

use super::{Context, GuestError, kernel_flow, own_flow};
use crate::guest::network::Network;
use crate::job::{Job, KERNEL_PREFIX};
use crate::layout::{Layout, Node, left_address, right_address};
use crate::log::{RECEIVER_PORT, SENDER_PORT, SampleRecord};
use crate::sys::{TcpOption, TcpSocket};

/// What the scheme of a flow begins with if it is ours.
const OWN_PREFIX: &str = "own:";

/// News from the thread of a flow: a sample, or why the flow ended.
pub(super) type News = Result<SampleRecord, GuestError>;

/// Who sends.
pub(super) enum Sending {
    /// The kernel's TCP, over this socket.
    Kernel(Arc<TcpSocket>),
    /// A scheme of ours, which falls silent and reports by itself.
    Own,
}

/// A flow under way.
pub(super) struct RunningFlow {
    pub(super) start: Instant,
    pub(super) stop: Instant,
    pub(super) sending: Sending,
}

impl RunningFlow {
    /// Lets none of the sender's packets go further than the first router, from now on.
    pub(super) fn fall_silent(&self) -> Result<(), GuestError> {
        let Sending::Kernel(socket) = &self.sending else { return Ok(()) };
        TcpOption::TimeToLive(1).set(socket.as_fd()).context(|| "stopping a flow".to_owned())
    }
}

/// Where an end of a flow is.
#[derive(Clone, Copy, Debug)]
pub(super) struct End {
    pub(super) node: Node,
    pub(super) address: [u8; 4],
    pub(super) port: u16,
}

/// The sending and the receiving end of what goes in a direction between the hosts of a pair, with these ports.
pub(super) fn ends(layout: &Layout, number: usize, direction: Direction, ports: [u16; 2]) -> [End; 2] {
    let pair = layout.pairs[number];
    let left = (pair.left.0, left_address(number));
    let right = (pair.right.0, right_address(number));
    let (from, to) = match direction {
        Direction::Forward => (left, right),
        Direction::Reverse => (right, left),
    };
    let end = |(node, address), port| End { node, address, port };
    [end(from, ports[0]), end(to, ports[1])]
}

/// What the ends of a flow need to know.
pub(super) struct Plan<'a> {
    pub(super) job: &'a Job,
    pub(super) index: usize,
    pub(super) sender: End,
    pub(super) receiver: End,
    /// When the run starts, on the monotonic clock.
    pub(super) run_start: Duration,
}

impl<'a> Plan<'a> {
    fn of(job: &'a Job, layout: &Layout, index: usize, run_start: Duration) -> Self {
        let direction = job.scenario.flows[index].direction;
        let ports = [SENDER_PORT, RECEIVER_PORT].map(|port| port + index as u16);
        let [sender, receiver] = ends(layout, layout.flows[index].pair, direction, ports);
        Self { job, index, sender, receiver, run_start }
    }

    pub(super) fn flow(&self) -> &FlowConfig {
        &self.job.scenario.flows[self.index]
    }

    pub(super) fn scheme_error(&self, problem: String) -> GuestError {
        GuestError::Scheme { flow: self.index + 1, problem }
    }
}

/// Opens both ends of every flow. The receivers wait for connections, the senders for their time.
pub(super) fn open(
    job: &Job,
    layout: &Layout,
    network: &Network,
    run_start: Duration,
    news: &Channel<News>,
) -> Result<Vec<RunningFlow>, GuestError> {
    (0..job.scenario.flows.len())
        .map(|index| {
            let plan = Plan::of(job, layout, index, run_start);
            let scheme = &plan.flow().scheme;
            let sending = if let Some(scheme) = scheme.strip_prefix(OWN_PREFIX) {
                own_flow::open(&plan, network, scheme, news)?;
                Sending::Own
            } else {
                let controller = scheme.strip_prefix(KERNEL_PREFIX).unwrap_or(scheme);
                Sending::Kernel(kernel_flow::open(&plan, network, controller)?)
            };
            let (start, stop) = (job.scenario.start_of(index), job.scenario.stop_of(index));
            Ok(RunningFlow { start, stop, sending })
        })
        .collect()
}

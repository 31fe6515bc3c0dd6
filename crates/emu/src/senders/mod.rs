//! What sends and receives: the kernel's TCP, our schemes and stacks that are not ours over UDP, and probes, each end
//! in the namespace of its host.
//!
//! The same for every world of real Linux. Nothing here polls: threads wait for absolute times or for sockets.

mod flows;
mod kernel_flow;
mod outside;
mod own_flow;
mod plan;
mod probes;
pub mod settings;
mod stack_flow;
mod start;
mod watch;

use std::sync::mpsc::Sender as Channel;

use bakeoff_core::scenario::{Direction, Scenario};
use bakeoff_core::transport::stack::StackEntry;

use crate::error::RunError;
use crate::layout::{left_address, right_address};
use crate::log::SampleRecord;

pub use flows::{RunningFlow, open as open_flows};
pub use outside::OutsideScheme;
pub use probes::open as open_probes;
pub use start::Start;
pub use watch::Watch;

/// News from the thread of a flow: a sample, or why the flow ended.
pub type News = Result<SampleRecord, RunError>;

/// A host of a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Host {
    /// Number of the pair.
    pub pair: usize,
    /// Which of the two.
    pub is_right: bool,
}

impl Host {
    /// Its address.
    pub fn address(self) -> [u8; 4] {
        if self.is_right { right_address(self.pair) } else { left_address(self.pair) }
    }
}

/// The hosts, in pairs on both sides of the path.
pub trait Hosts {
    /// Moves the calling thread into the namespace of a host; sockets that it opens from then on are the host's.
    fn enter(&self, host: Host) -> Result<(), RunError>;

    /// The pair between whose hosts the flow with this index runs.
    fn pair_of_flow(&self, flow: usize) -> usize;

    /// The pair between whose hosts the probe with this index runs.
    fn pair_of_probe(&self, probe: usize) -> usize;
}

/// What the opening of flows and probes needs to know.
#[derive(Clone, Copy)]
pub struct Stage<'a> {
    /// The scenario.
    pub scenario: &'a Scenario,
    /// The hosts.
    pub hosts: &'a dyn Hosts,
    /// The schemes that programs beside us compute.
    pub outside: &'a [OutsideScheme],
    /// The stacks that flows may ask for.
    pub stacks: &'a [StackEntry],
    /// When the run starts.
    pub start: &'a Start,
    /// Where threads report.
    pub news: &'a Channel<News>,
    /// What threads of flows keep until they have reported all.
    pub open: &'a Channel<()>,
}

/// Where an end of a flow or probe is.
#[derive(Clone, Copy, Debug)]
struct End {
    host: Host,
    port: u16,
}

/// The sending and the receiving end of what goes in a direction between the hosts of a pair, with these ports.
fn ends(pair: usize, direction: Direction, ports: [u16; 2]) -> [End; 2] {
    let is_sender_right = direction == Direction::Reverse;
    let end = |is_right, port| End { host: Host { pair, is_right }, port };
    [end(is_sender_right, ports[0]), end(!is_sender_right, ports[1])]
}

//! Why a run ended early.

use bakeoff_core::scenario::ScenarioError;
use bakeoff_core::transport::stack::ConnectionLost;

use crate::job::JobError;
use crate::netlink::NetlinkError;

/// Why a run ended early.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The job cannot be run.
    #[error(transparent)]
    Job(#[from] JobError),
    /// The kernel refused a part of the network.
    #[error("{what}: {error}")]
    Network {
        /// Which part.
        what: String,
        /// What it said.
        error: NetlinkError,
    },
    /// A system call failed.
    #[error("{what}: {error}")]
    System {
        /// What it was for.
        what: String,
        /// What it said.
        error: std::io::Error,
    },
    /// Packets came faster than they could be logged.
    #[error("{missed} packets were not logged: too many at once")]
    Missed {
        /// How many.
        missed: u32,
    },
    /// The senders' process ended early; it has said why.
    #[error("the senders ended early")]
    Senders,
    /// A program's datagram does not fit into a packet of the path.
    #[error(
        "flow {flow}: its program sent a datagram that is larger than the path's packets of {largest} bytes, so that the \
         kernel cut it up: let it send smaller ones, or give the flow a larger `mss`"
    )]
    Fragment {
        /// Number of the flow from 1.
        flow: u32,
        /// The largest packet of the path, in bytes.
        largest: u64,
    },
    /// A queue would have to sort a program's packets into tins that it does not have.
    #[error(
        "flow {flow}: its program sends packets with DSCP {dscp}, and queue cake has no tins for them here; give it \
         diffserv = \"besteffort\""
    )]
    Tins {
        /// Number of the flow from 1.
        flow: u32,
        /// What it gave a packet.
        dscp: u8,
    },
    /// The processes of the run did not become ready in time, or heard of its start too late.
    #[error("the senders were not ready when the run began: this machine was too busy to start them in time")]
    NotReady,
    /// A sender or receiver of ours has not told what it did.
    #[error(
        "a flow had not come to its end 15 s after that of the run: its scheme hangs, or this machine was too busy"
    )]
    Unfinished,
    /// A stack gave its connection up.
    #[error(transparent)]
    Lost(#[from] ConnectionLost),
    /// The flow's scheme cannot be had.
    #[error("flow {flow}: {problem}")]
    Scheme {
        /// Number of the flow from 1.
        flow: usize,
        /// What is wrong and what would be right.
        problem: String,
    },
}

impl From<ScenarioError> for RunError {
    fn from(error: ScenarioError) -> Self {
        Self::Job(error.into())
    }
}

/// Says what a call to the system was for.
pub(crate) trait Context<T> {
    /// Adds it to the error.
    fn context(self, what: impl FnOnce() -> String) -> Result<T, RunError>;
}

impl<T> Context<T> for std::io::Result<T> {
    fn context(self, what: impl FnOnce() -> String) -> Result<T, RunError> {
        self.map_err(|error| RunError::System { what: what(), error })
    }
}

impl<T> Context<T> for Result<T, NetlinkError> {
    fn context(self, what: impl FnOnce() -> String) -> Result<T, RunError> {
        self.map_err(|error| RunError::Network { what: what(), error })
    }
}

//! The program that is the only one in a guest: it builds the network, runs the flows, and logs every packet.
//!
//! Nothing in it polls: it waits for absolute times or for sockets, so that a machine in virtual time never waits for
//! it, and the same job gives the same log, byte by byte.

mod capture;
mod flows;
mod kernel_flow;
mod network;
mod own_flow;
mod probes;
mod timeline;

use std::fs;
use std::path::Path;
use std::sync::mpsc;

use crate::job::{Job, JobError};
use crate::layout::Layout;
use crate::netlink::NetlinkError;
use crate::sys;

/// Where the host's folder of the run appears in the guest.
pub const FOLDER: &str = "/run";
/// The job, in [`FOLDER`].
pub const JOB_FILE: &str = "job.json";
/// Pages that all sockets together may use: more than there are.
const TCP_PAGES: &str = "4000000 4000000 4000000";
/// Written last, in [`FOLDER`]: the run is whole.
pub const DONE_FILE: &str = "done";

/// Why a run ended early.
#[derive(Debug, thiserror::Error)]
pub enum GuestError {
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
    /// The flow's scheme cannot be had.
    #[error("flow {flow}: {problem}")]
    Scheme {
        /// Number of the flow from 1.
        flow: usize,
        /// What is wrong and what would be right.
        problem: String,
    },
}

/// Says what a system call was for.
trait Context<T> {
    fn context(self, what: impl FnOnce() -> String) -> Result<T, GuestError>;
}

impl<T> Context<T> for std::io::Result<T> {
    fn context(self, what: impl FnOnce() -> String) -> Result<T, GuestError> {
        self.map_err(|error| GuestError::System { what: what(), error })
    }
}

impl<T> Context<T> for Result<T, NetlinkError> {
    fn context(self, what: impl FnOnce() -> String) -> Result<T, GuestError> {
        self.map_err(|error| GuestError::Network { what: what(), error })
    }
}

/// Prepares the machine of which this is the first program, runs its job, and leaves the logs in the folder of the run.
pub fn run(host_folder: &str) -> Result<(), GuestError> {
    sys::mount("proc", "/proc", "").context(|| "mounting /proc".to_owned())?;
    sys::mount("hostfs", FOLDER, host_folder).context(|| format!("mounting {host_folder}"))?;
    // TCP takes its limit from the machine's memory; the guest's is small, and must not limit a flow.
    fs::write("/proc/sys/net/ipv4/tcp_mem", TCP_PAGES).context(|| "setting tcp_mem".to_owned())?;
    sys::wake_up_on_time().context(|| "setting the timer slack".to_owned())?;
    let folder = Path::new(FOLDER);
    let json = fs::read_to_string(folder.join(JOB_FILE)).context(|| format!("reading {JOB_FILE}"))?;
    let job = Job::from_json(&json)?;
    let layout = Layout::of(&job.scenario);
    let mut network = network::Network::build(&job, &layout)?;
    let mut capture = capture::Capture::start(&network, &layout, folder)?;
    let (tell, news) = mpsc::channel();
    let flows = flows::open(&job, &layout, &network, capture.start_time(), &tell)?;
    probes::open(&job, &layout, &network, capture.start_time(), &tell)?;
    timeline::Timeline::new(&job, &layout, flows, news).play(&layout, &mut network, &mut capture)?;
    capture.finish()?;
    fs::write(folder.join(DONE_FILE), "").context(|| format!("writing {DONE_FILE}"))
}

//! The program that is the only one in a guest: it builds the network, runs the flows, and logs every packet.
//!
//! Nothing in it polls: it waits for absolute times or for sockets, so that a machine in virtual time never waits for
//! it, and the same job gives the same log, byte by byte.

mod capture;
mod network;
mod timeline;

use std::fs;
use std::path::Path;
use std::sync::mpsc;

use crate::error::{Context, RunError};
use crate::job::Job;
use crate::layout::Layout;
use crate::senders::{self, Stage, Start, Watch};
use crate::sys;

/// Where the host's folder of the run appears in the guest.
pub const FOLDER: &str = "/run";
/// The job, in [`FOLDER`].
pub const JOB_FILE: &str = "job.json";
/// Pages that all sockets together may use: more than there are.
const TCP_PAGES: &str = "4000000 4000000 4000000";
/// Written last, in [`FOLDER`]: the run is whole.
pub const DONE_FILE: &str = "done";

/// Prepares the machine of which this is the first program, runs its job, and leaves the logs in the folder of the run.
pub fn run(host_folder: &str) -> Result<(), RunError> {
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
    let hosts = network::GuestHosts { network: &network, layout: &layout };
    let (scenario, start) = (&job.scenario, Start::at(capture.start_time()));
    // Time stands still for whoever is at work here: nobody reports too late.
    let (open, _) = mpsc::channel();
    let stage = Stage { scenario, hosts: &hosts, outside: &[], stacks: &[], start: &start, news: &tell, open: &open };
    let senders = Watch::new(&job.scenario, senders::open_flows(stage)?);
    senders::open_probes(stage)?;
    timeline::Timeline::new(&job, &layout, senders, news).play(&layout, &mut network, &mut capture)?;
    capture.finish()?;
    fs::write(folder.join(DONE_FILE), "").context(|| format!("writing {DONE_FILE}"))
}

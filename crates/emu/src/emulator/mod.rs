//! The emulated world: real senders, real time, and between them the hops and queues of the simulator.
//!
//! ```text
//! host - TUN device - emulator: hop, hop, ... - TUN device - host
//! ```
//!
//! Three processes: this one has its rights from root and carries the packets; the one that started it waits for it; the
//! senders and receivers have the rights of an ordinary user. They are a family that ends together.

mod engine;
mod exchange;
mod headers;
mod hosts;
mod journal;
mod lateness;
mod ownership;
mod pairs;
mod report;
mod senders;
mod super_packet;
mod waiting;

use std::fs;
use std::path::Path;

use bakeoff_core::scenario::Scenario;
use bakeoff_core::units::{Duration, Instant};

use self::engine::Engine;
use self::exchange::Exchange;
use self::hosts::EmulatedHosts;
use self::journal::Journal;
use self::ownership::Ownership;
use self::report::{CpuTime, HopReport, Report};
use crate::error::{Context, RunError};
use crate::job::JobError;
use crate::sys::{self, Identity, ProcessId};
use crate::udp::Clock;

/// The scenario, in the folder of the run.
pub const JOB_FILE: &str = "job.json";
/// The run starts this long after everything is ready, so that all its processes are.
const LEAD: Duration = Duration::from_millis(200);
/// Above every ordinary program, below the kernel's own threads.
const PRIORITY: i32 = 50;
/// Senders that have not ended this long after the run are no use any more.
const GRACE: Duration = Duration::from_secs(5);

/// Runs the scenario in a folder, and leaves its logs there.
pub fn run(folder: &Path, identity: Identity) -> Result<(), RunError> {
    let json = fs::read_to_string(folder.join(JOB_FILE)).context(|| format!("reading {JOB_FILE}"))?;
    let scenario = Scenario::from_json(&json).map_err(JobError::from)?;
    let (hosts, devices) = EmulatedHosts::build(&scenario)?;
    let run_start = sys::monotonic().context(|| "reading the clock".to_owned())? + LEAD;
    let forking = || "starting the senders".to_owned();
    let Some(child) = sys::fork().context(forking)? else {
        drop(devices);
        sys::die_with_parent().context(forking)?;
        return senders::run(&scenario, &hosts, run_start, folder, identity);
    };
    let clock = Clock::new(run_start);
    let engine = Engine::new(&scenario, Journal::create(folder)?);
    let ownership = Ownership::new(&scenario, &hosts.pairs);
    // A machine that grants neither is only late, and the report says how late.
    let refusal = |done: std::io::Result<()>| done.err().map(|error| error.to_string());
    let locked_memory = refusal(sys::lock_memory());
    let priority = refusal(sys::run_first(PRIORITY).and_then(|()| sys::wake_up_on_time()));
    let mut exchange = Exchange::new(clock, &devices, ownership, engine, false);
    let end = Instant::from_nanos(scenario.duration_ns);
    exchange.run(end, &mut || has_not_failed(child))?;
    for (interface, counts) in exchange.interfaces.iter_mut().zip(hosts.counts()?) {
        interface.kernel = counts;
    }
    wait_for(child, clock, end)?;
    let [emulator, senders] = sys::cpu_times().context(|| "reading CPU times".to_owned())?.map(CpuTime::from);
    let report = Report {
        priority,
        locked_memory,
        lateness: exchange.lateness.report(),
        emulator_cpu: emulator,
        senders_cpu: senders,
        interfaces: exchange.interfaces,
        discarded: exchange.discarded,
        hops: exchange.engine.finish()?.iter().map(HopReport::from).collect(),
    };
    report.write(folder)
}

fn has_not_failed(child: ProcessId) -> Result<(), RunError> {
    match sys::has_ended(child).context(|| "looking after the senders".to_owned())? {
        None => Ok(()),
        Some(_) => Err(RunError::Senders),
    }
}

/// Waits for the senders to end, and reports if they did not end well.
fn wait_for(child: ProcessId, clock: Clock, end: Instant) -> Result<(), RunError> {
    let give_up = end + GRACE;
    let mut now = end;
    while now < give_up {
        match sys::has_ended(child).context(|| "looking after the senders".to_owned())? {
            Some(0) => return Ok(()),
            Some(_) => break,
            None => now += Duration::from_millis(20),
        }
        sys::sleep_until(clock.monotonic_at(now));
    }
    Err(RunError::Senders)
}

//! The emulated world: real senders, real time, and between them the hops and queues of the simulator.
//!
//! ```text
//! host - TUN device - emulator: hop, hop, ... - TUN device - host
//! ```
//!
//! Three processes: this one has its rights from root and carries the packets; the one that started it waits for it;
//! the senders and receivers have the rights of an ordinary user. They are a family that ends together.

mod engine;
mod exchange;
mod headers;
mod hosts;
mod job;
mod journal;
mod lateness;
mod ownership;
mod pairs;
mod programs;
mod readiness;
mod report;
mod senders;
mod super_packet;
mod waiting;

use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use bakeoff_core::transport::stack::StackEntry;
use bakeoff_core::units::{Duration, Instant};

use self::engine::Engine;
use self::exchange::Exchange;
use self::hosts::EmulatedHosts;
use self::job::EmulatorJob;
use self::journal::Journal;
use self::ownership::Ownership;
use self::programs::Environment;
use self::readiness::Starter;
use self::report::{CpuTime, HopReport, Report};
use crate::error::{Context, RunError};
use crate::sys::{self, Awake, Identity, ProcessId};
use crate::udp::Clock;

/// The job, in the folder of the run.
pub const JOB_FILE: &str = "job.json";
/// The run starts this long after everybody is ready, so that all have heard of it.
const LEAD: Duration = Duration::from_millis(200);
/// Above every ordinary program, below the kernel's own threads.
const PRIORITY: i32 = 50;
/// Senders that have not ended this long after the run are no use any more.
const GRACE: Duration = Duration::from_secs(20);

/// Runs the job in a folder, whose flows may ask for one of these stacks, and leaves its logs there.
pub fn run(folder: &Path, identity: Identity, stacks: &[StackEntry]) -> Result<(), RunError> {
    let json = fs::read_to_string(folder.join(JOB_FILE)).context(|| format!("reading {JOB_FILE}"))?;
    let job = EmulatorJob::from_json(&json)?;
    let (hosts, devices) = EmulatedHosts::build(&job.scenario)?;
    let hosts = Arc::new(hosts);
    let mut starter = Starter::default();
    let participant = starter.participant()?;
    let scenario = &job.scenario;
    let senders = || senders::run(scenario, &*hosts, &job.outside, stacks, participant, folder, identity);
    let mut children = vec![start(senders)?];
    let mut lead = LEAD;
    if !job.programs.is_empty() {
        let (environment, participant) = (Environment::create(folder, identity)?, starter.participant()?);
        children.push(start(|| programs::run(&job.programs, scenario, &hosts, participant, &environment, folder))?);
        lead += programs::HEAD_START;
    }
    // A machine that grants none of these is only late, and the report says how late.
    let awake = Awake::keep();
    let engine = Engine::new(&job.scenario, Journal::create(folder)?)?;
    let ownership = Ownership::new(&job.scenario, &hosts.pairs);
    let refusal = |done: io::Result<()>| done.err().map(|error| error.to_string());
    let locked_memory = refusal(sys::lock_memory());
    let priority = refusal(sys::run_first(PRIORITY).and_then(|()| sys::wake_up_on_time()));
    let clock = starter.start(lead)?;
    let mut exchange = Exchange::new(clock, &devices, ownership, engine, &job);
    let end = job.scenario.end();
    exchange.run(end, &mut || children.iter().try_for_each(|child| has_not_failed(*child).map(|_| ())))?;
    if exchange.engine.has_lost_its_log() {
        return exchange.engine.finish().map(|_| ());
    }
    for (interface, counts) in exchange.interfaces.iter_mut().zip(hosts.counts()?) {
        interface.kernel = counts;
    }
    children.iter().try_for_each(|child| wait_for(*child, clock, end))?;
    let [emulator, senders] = sys::cpu_times().context(|| "reading CPU times".to_owned())?.map(CpuTime::from);
    let report = Report {
        priority,
        locked_memory,
        awake: refusal(awake.map(drop)),
        lateness: exchange.lateness.report(),
        emulator_cpu: emulator,
        senders_cpu: senders,
        interfaces: exchange.interfaces,
        discarded: exchange.discarded,
        hops: exchange.engine.finish()?.iter().map(HopReport::from).collect(),
    };
    report.write(folder)
}

/// Starts a process that does this and ends. It says itself what went wrong.
fn start(work: impl FnOnce() -> Result<(), RunError>) -> Result<ProcessId, RunError> {
    let starting = || "starting the senders".to_owned();
    if let Some(child) = sys::fork().context(starting)? {
        return Ok(child);
    }
    let done = sys::die_with_parent().context(starting).and_then(|()| work());
    if let Err(error) = &done {
        let _ = writeln!(io::stdout(), "bakeoff-emulator: {error}");
    }
    std::process::exit(done.is_err().into())
}

/// Whether a process is still at work; an error if it did not end well.
fn has_not_failed(child: ProcessId) -> Result<bool, RunError> {
    match sys::has_ended(child).context(|| "looking after the senders".to_owned())? {
        None => Ok(true),
        Some(0) => Ok(false),
        Some(_) => Err(RunError::Senders),
    }
}

/// Waits for a process to end.
fn wait_for(child: ProcessId, clock: Clock, end: Instant) -> Result<(), RunError> {
    let mut now = end;
    while has_not_failed(child)? {
        now += Duration::from_millis(20);
        if now > end + GRACE {
            return Err(RunError::Senders);
        }
        sys::sleep_until(clock.monotonic_at(now));
    }
    sys::wait(child).context(|| "looking after the senders".to_owned()).map(|_| ())
}

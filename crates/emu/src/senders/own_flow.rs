//! Flows of our own schemes, over UDP: the simulator's endpoints, each driven by a thread.

use std::net::{Ipv4Addr, UdpSocket};
use std::sync::mpsc::Sender as Channel;
use std::thread;

use bakeoff_core::packet::FlowId;
use bakeoff_core::scenario::Level;
use bakeoff_core::scheme::{Scheme, Setup};
use bakeoff_core::transport::stream::{Receiver, Sender};
use bakeoff_core::units::Instant;

use super::plan::Plan;
use super::{End, News};
use crate::error::{Context, RunError};
use crate::log::{SampleRecord, TIMEOUTS};
use crate::udp::{FlowError, FlowSocket, SocketCounts, Timetable, drive};

/// Opens both ends, whose scheme, called `scheme`, somebody makes; they report through `news`.
pub(super) fn open(
    plan: &Plan<'_>,
    scheme: &str,
    make: impl FnOnce(Setup) -> Result<Box<dyn Scheme>, String>,
) -> Result<(), RunError> {
    let make = |setup| make(setup).map_err(|problem| plan.scheme_error(problem));
    let (sender, receiver) = plan.stage.scenario.ends_with(plan.index, scheme, make)?;
    plan.stage.hosts.enter(plan.receiver.host)?;
    let socket = connect(plan, plan.receiver, plan.sender)?;
    run_receiver(plan, receiver, socket, plan.stage.news.clone(), plan.stage.open.clone());
    plan.stage.hosts.enter(plan.sender.host)?;
    let socket = connect(plan, plan.sender, plan.receiver)?;
    run_sender(plan, sender, socket.with_dscp(plan.flow().dscp), plan.stage.news.clone(), plan.stage.open.clone());
    Ok(())
}

fn connect(plan: &Plan<'_>, from: End, to: End) -> Result<FlowSocket, RunError> {
    FlowSocket::new(socket(plan, from, to)?, FlowId(plan.index as u32))
        .context(|| format!("opening a socket of flow {}", plan.index + 1))
}

/// A socket of one end that is connected to the other.
pub(super) fn socket(plan: &Plan<'_>, from: End, to: End) -> Result<UdpSocket, RunError> {
    let opening = || format!("opening a socket of flow {}", plan.index + 1);
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, from.port)).context(opening)?;
    socket.connect((Ipv4Addr::from(to.host.address()), to.port)).context(opening)?;
    Ok(socket)
}

/// Keeps a socket open: a closed port would answer late packets with errors, which take room on the path.
pub(super) fn hold<F>(_socket: &FlowSocket<F>) -> ! {
    loop {
        thread::park();
    }
}

#[expect(clippy::disallowed_methods, reason = "each endpoint waits for its own socket and timer")]
fn run_receiver(
    plan: &Plan<'_>,
    mut receiver: Receiver,
    mut socket: FlowSocket,
    news: Channel<News>,
    open: Channel<()>,
) {
    let (start, flow) = (plan.stage.start.clone(), plan.index + 1);
    let end = plan.stage.scenario.end();
    let timetable = Timetable { start: Instant::ZERO, end, sampling: None, cancel: None };
    thread::spawn(move || {
        let done = drive(&mut receiver, &mut socket, start.wait(), &timetable, &mut |_, _| {});
        if let Some(problem) = problem(done.err(), socket.counts()) {
            let _ = news.send(Err(RunError::Scheme { flow, problem }));
        }
        drop(open);
        hold(&socket);
    });
}

/// What went wrong at an end, if anything did: what its socket loses, the path knows nothing of.
pub(super) fn problem(error: Option<FlowError>, counts: SocketCounts) -> Option<String> {
    let SocketCounts { unsent, overflows, .. } = counts;
    let unsent = (unsent > 0).then(|| format!("{unsent} packets did not leave their socket"));
    let overflows = (overflows > 0).then(|| {
        format!("{overflows} packets found no room in their socket: this machine was too busy to read them in time")
    });
    error.map(|error| error.to_string()).or(unsent).or(overflows)
}

#[expect(clippy::disallowed_methods, reason = "each endpoint waits for its own socket and timer")]
fn run_sender(plan: &Plan<'_>, mut sender: Sender, mut socket: FlowSocket, news: Channel<News>, open: Channel<()>) {
    let (start, index, scenario) = (plan.stage.start.clone(), plan.index, plan.stage.scenario);
    let interval = scenario.record.interval;
    let timetable = Timetable {
        start: scenario.start_of(index),
        end: scenario.stop_of(index),
        sampling: (scenario.record.level >= Level::Series).then_some(interval),
        cancel: None,
    };
    thread::spawn(move || {
        let mut tell = |time: Instant, sender: &Sender| {
            sender.telemetry(&mut |name, value| {
                if let Some(sample) = SampleRecord::new(time, index, name, value) {
                    let _ = news.send(Ok(sample));
                }
            });
        };
        let done = drive(&mut sender, &mut socket, start.wait(), &timetable, &mut tell);
        if let Some(problem) = problem(done.err(), socket.counts()) {
            let _ = news.send(Err(RunError::Scheme { flow: index + 1, problem }));
        }
        let timeouts = sender.stats.timeouts as f64;
        if let Some(sample) = SampleRecord::new(timetable.end, index, TIMEOUTS, timeouts) {
            let _ = news.send(Ok(sample));
        }
        drop(open);
        hold(&socket);
    });
}

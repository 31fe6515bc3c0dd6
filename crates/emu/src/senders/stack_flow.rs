//! Flows of stacks that are not ours, over UDP: the simulator's endpoints, each driven by a thread. What only the ends
//! know, because the packets are encrypted, they tell as samples.

use std::sync::mpsc::Sender as Channel;
use std::thread;

use bakeoff_core::endpoint::Endpoint;
use bakeoff_core::packet::{Envelope, FlowId, Packet};
use bakeoff_core::packet_pool::PacketPool;
use bakeoff_core::scenario::Level;
use bakeoff_core::transport::stack::{Datagram, StackEnd, StackEntry};
use bakeoff_core::units::Instant;

use super::plan::Plan;
use super::{End, News, own_flow};
use crate::error::{Context, RunError};
use crate::job::JobError;
use crate::log::{COMPLETED, GOODPUT, RETRANSMISSIONS, SampleRecord};
use crate::udp::{Datagrams, FlowSocket, Timetable, drive};

/// Opens both ends; they report through the stage's news.
pub(super) fn open(plan: &Plan<'_>, entry: &StackEntry) -> Result<(), RunError> {
    let ends = plan.stage.scenario.stack_ends(plan.index, entry);
    let [sender, receiver] = ends.map_err(JobError::from)?;
    let (index, scenario) = (plan.index, plan.stage.scenario);
    plan.stage.hosts.enter(plan.receiver.host)?;
    let socket = connect(plan, plan.receiver, plan.sender)?;
    run(plan, receiver, socket, scenario.end(), move |receiver, tell| {
        tell(GOODPUT, receiver.stats().goodput.count() as f64);
    });
    plan.stage.hosts.enter(plan.sender.host)?;
    let socket = connect(plan, plan.sender, plan.receiver)?;
    let socket = socket.with_dscp(plan.flow().dscp);
    run(plan, sender, socket, scenario.stop_of(index), |sender, tell| {
        sender.telemetry(tell);
        let stats = sender.stats();
        tell(RETRANSMISSIONS, stats.lost as f64);
        if let Some(completed) = stats.completed {
            tell(COMPLETED, completed.as_nanos() as f64);
        }
    });
    Ok(())
}

fn connect(plan: &Plan<'_>, from: End, to: End) -> Result<FlowSocket<Datagrams>, RunError> {
    let flow = plan.flow();
    FlowSocket::of_stack(own_flow::socket(plan, from, to)?, FlowId(plan.index as u32), flow.packet_size())
        .context(|| format!("opening a socket of flow {}", plan.index + 1))
}

/// Drives an end until `end`. `sample` tells what it knows, at every sampling time and at the end.
#[expect(clippy::disallowed_methods, reason = "each endpoint waits for its own socket and timer")]
fn run(
    plan: &Plan<'_>,
    endpoint: StackEnd,
    mut socket: FlowSocket<Datagrams>,
    end: Instant,
    sample: impl Fn(&StackEnd, &mut dyn FnMut(&'static str, f64)) + Send + 'static,
) {
    let (start, index, scenario) = (plan.stage.start.clone(), plan.index, plan.stage.scenario);
    let (news, open) = (plan.stage.news.clone(), plan.stage.open.clone());
    let interval = scenario.record.interval;
    let sampling = (scenario.record.level >= Level::Series).then_some(interval);
    let timetable = Timetable { start: scenario.start_of(index), end, sampling, cancel: None };
    let mut endpoint = Watched { end: endpoint, stop: scenario.stop_of(index), news: news.clone(), is_lost: false };
    thread::spawn(move || {
        let mut tell = |time: Instant, endpoint: &Watched| {
            sample(&endpoint.end, &mut |name, value| {
                if let Some(sample) = SampleRecord::new(time, index, name, value) {
                    let _ = news.send(Ok(sample));
                }
            });
        };
        let done = drive(&mut endpoint, &mut socket, start.wait(), &timetable, &mut tell);
        if let Some(problem) = own_flow::problem(done.err(), socket.counts()) {
            let _ = news.send(Err(RunError::Scheme { flow: index + 1, problem }));
        }
        let is_told = sampling.is_some_and(|interval| end.as_nanos().is_multiple_of(interval.as_nanos()));
        if !is_told {
            tell(end, &endpoint);
        }
        drop(open);
        own_flow::hold(&socket);
    });
}

/// An end that tells at once that its connection is lost: of the two, the one that gave it up first is heard first.
struct Watched {
    end: StackEnd,
    stop: Instant,
    news: Channel<News>,
    is_lost: bool,
}

impl Endpoint<Datagram> for Watched {
    fn accept(&mut self, datagram: &Datagram, envelope: Envelope, now: Instant) {
        self.end.accept(datagram, envelope, now);
    }

    fn poll<Q: From<Datagram> + Default>(&mut self, now: Instant, pool: &mut PacketPool<Q>) -> Option<Box<Packet<Q>>> {
        let polled = self.end.poll(now, pool);
        if !self.is_lost
            && let Some(loss) = self.end.loss_before(self.stop)
        {
            self.is_lost = true;
            let _ = self.news.send(Err(loss.into()));
        }
        polled
    }

    fn next_wakeup(&self) -> Option<Instant> {
        self.end.next_wakeup()
    }
}

//! Flows of the kernel's TCP, driven by threads that only block.

use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::thread;

use bakeoff_core::random::RandomStream;
use bakeoff_core::scenario::FlowConfig;
use bakeoff_core::traffic::{Source, TrafficConfig};
use bakeoff_core::transport::stream::{PIECE, Pacing, READ_SEGMENTS};
use bakeoff_core::units::Bytes;

use super::plan::Plan;
use crate::error::{Context, RunError};
use crate::job::ecn_of;
use crate::sys::{self, TcpOption, TcpSocket};
use crate::udp::Clock;

/// The most that one call of a bulk sender writes.
const WRITE_BYTES: usize = PIECE.count() as usize;
/// What it keeps queued at most. There is room when that is less than half (`tcp_stream_memory_free`), and then for a
/// whole piece: a call that has to wait would push the segment that it wrote last.
const BULK_BACKLOG: u32 = 2 * WRITE_BYTES as u32;
/// What an on-off sender keeps queued, a segment that has to be sent before the next is written. Beside it the call
/// that waits holds one, so that two are left to send when an off period begins.
const ON_OFF_BACKLOG: u32 = 1;
/// What one call takes off a receiver.
const READ_BYTES: usize = 1 << 20;
/// Larger than the kernel lets be outstanding in any case.
const MAX_WINDOW: u64 = 1 << 30;
/// TCP options in every segment: the time stamp.
const OPTION_BYTES: u32 = 12;

/// Opens both ends and returns the sending socket.
pub(super) fn open(plan: &Plan<'_>, controller: &str) -> Result<Arc<TcpSocket>, RunError> {
    plan.stage.hosts.enter(plan.receiver.host)?;
    start_receiver(plan)?;
    plan.stage.hosts.enter(plan.sender.host)?;
    start_sender(plan, controller)
}

#[expect(clippy::disallowed_methods, reason = "a thread that only blocks is the plainest application")]
fn start_receiver(plan: &Plan<'_>) -> Result<(), RunError> {
    let flow = plan.flow();
    let opening = || format!("opening the receiver of flow {}", plan.index + 1);
    let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, plan.receiver.port)).context(opening)?;
    TcpOption::MaximumSegment(flow.mss.count() as u32 + OPTION_BYTES).set(listener.as_fd()).context(opening)?;
    let clamp = flow.receive_window.map(|window| TcpOption::WindowClamp(window.count().min(MAX_WINDOW) as u32));
    if let Some(clamp) = clamp {
        clamp.set(listener.as_fd()).context(opening)?;
    }
    TcpOption::Abandoned.set(listener.as_fd()).context(opening)?;
    // To wake a bulk receiver for each segment would take half of the run's time. Others read at once, because the last
    // ack of a transfer waits for the reader.
    let low_at = TcpOption::ReceiveLowAt((flow.mss * READ_SEGMENTS).count() as u32);
    let low_at = (!flow.stream().reads_at_once).then_some(low_at);
    // The first segment is read at once: the kernel forgets its bound whenever it learns how large segments are.
    if let Some(low_at) = low_at.filter(|_| clamp.is_none()) {
        low_at.set(listener.as_fd()).context(opening)?;
    }
    thread::spawn(move || {
        let Ok((stream, _)) = listener.accept() else { return };
        while sys::discard(stream.as_fd(), READ_BYTES).is_ok_and(|length| length > 0) {
            let Some(clamp) = clamp else { continue };
            if [Some(clamp), low_at].into_iter().flatten().any(|option| option.set(stream.as_fd()).is_err()) {
                return;
            }
        }
    });
    Ok(())
}

/// What a full segment carries beside the counters of accurate ECN.
fn payload(flow: &FlowConfig) -> Bytes {
    let stream = flow.stream();
    ecn_of(flow).map_or(stream, |(ecn, ect)| stream.with_ecn(ecn, ect)).mss
}

#[expect(clippy::disallowed_methods, reason = "a thread that only blocks is the plainest application")]
fn start_sender(plan: &Plan<'_>, controller: &str) -> Result<Arc<TcpSocket>, RunError> {
    let (flow, scenario, index) = (plan.flow(), plan.stage.scenario, plan.index);
    let opening = || format!("opening the sender of flow {}", index + 1);
    let socket = Arc::new(TcpSocket::open(plan.sender.port).context(opening)?);
    TcpOption::Congestion(controller)
        .set(socket.as_fd())
        .map_err(|error| plan.scheme_error(format!("this kernel has no controller {controller} ({error})")))?;
    let segment = payload(flow).count();
    let (backlog, application) = match flow.traffic {
        TrafficConfig::OnOff { .. } => (ON_OFF_BACKLOG, Application { write: segment as usize, is_on_off: true }),
        _ => (BULK_BACKLOG, Application { write: WRITE_BYTES, is_on_off: false }),
    };
    let most = TcpOption::MaximumSegment(flow.mss.count() as u32 + OPTION_BYTES);
    let mut options = vec![most, TcpOption::NotSentLowAt(backlog), TcpOption::Abandoned];
    // The kernel counts payload.
    let most = flow.max_pacing_rate.map(|rate| rate.as_bits_per_second() / 8 * segment / flow.packet_size().count());
    if flow.pacing == Pacing::Internal || most.is_some() {
        options.push(TcpOption::Paced(most));
    }
    for option in options {
        option.set(socket.as_fd()).context(opening)?;
    }
    if flow.dscp > 0 {
        sys::set_type_of_service(socket.as_fd(), flow.dscp << 2).context(opening)?;
    }
    let start = scenario.start_of(index);
    let random = RandomStream::new(scenario.seed, &format!("flow{}.traffic", index + 1));
    let source = Source::new(&flow.traffic, start, random);
    let (sending, receiver, run_start) = (Arc::clone(&socket), plan.receiver, plan.stage.start.clone());
    thread::spawn(move || {
        let clock = run_start.wait();
        sys::sleep_until(clock.monotonic_at(start));
        // A connection that fails, because a path loses everything, is a result and no error.
        if sending.connect(receiver.host.address(), receiver.port).is_ok() {
            application.send_all(&sending, source, clock);
        }
    });
    Ok(socket)
}

/// How an application writes.
#[derive(Clone, Copy)]
struct Application {
    /// The most bytes with a call.
    write: usize,
    /// Segment by segment, none of which it takes for the last: the receiver would acknowledge each of them at once.
    is_on_off: bool,
}

impl Application {
    /// Writes what there is, whenever it is there.
    fn send_all(self, socket: &TcpSocket, mut source: Source, clock: Clock) {
        let zeros = vec![0; self.write];
        while let Ok(now) = clock.now() {
            let available = source.available(now).count();
            let written = &zeros[..available.min(self.write as u64) as usize];
            if !written.is_empty() {
                let is_last = !self.is_on_off && available == written.len() as u64;
                match self.send(socket.as_fd(), written, is_last) {
                    Ok(sent) => source.take(Bytes::new(sent as u64)),
                    Err(_) => return,
                }
            } else if let Some(wakeup) = source.next_wakeup() {
                sys::sleep_until(clock.monotonic_at(wakeup));
            } else {
                return;
            }
        }
    }

    fn send(self, socket: BorrowedFd<'_>, bytes: &[u8], is_last: bool) -> io::Result<usize> {
        if !self.is_on_off {
            sys::wait_for_room(socket)?;
        }
        if is_last { sys::send(socket, bytes) } else { sys::send_more(socket, bytes) }
    }
}

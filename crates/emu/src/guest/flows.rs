//! The two ends of every flow: the kernel's TCP, driven by threads that only block.

use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::thread;

use bakeoff_core::random::RandomStream;
use bakeoff_core::scenario::{Direction, FlowConfig};
use bakeoff_core::traffic::{Source, TrafficConfig};
use bakeoff_core::transport::stream::Pacing;
use bakeoff_core::units::{Bytes, Duration, Instant};

use super::{Context, GuestError};
use crate::guest::network::Network;
use crate::job::Job;
use crate::layout::{Layout, Node, left_address, right_address};
use crate::log::{RECEIVER_PORT, SENDER_PORT};
use crate::sys::{self, TcpOption, TcpSocket};

/// What the scheme of a flow begins with if it is the kernel's.
pub const KERNEL_PREFIX: &str = "kernel:";
/// The most that one call writes.
const WRITE_BYTES: usize = 128 << 10;
/// What a bulk sender keeps queued, so that no ack finds it without data.
const BULK_BACKLOG: u32 = 1 << 20;
/// What an on-off sender keeps queued: little, because an off period begins at once.
const ON_OFF_BACKLOG: u32 = 8 << 10;
/// A bulk receiver reads this many segments at once: waking it for each would take half of the run's time, and changes
/// one ack in six hundred. Other receivers read at once, because the last ack of a transfer waits for the reader.
const READ_SEGMENTS: u32 = 8;
/// What one call takes off a receiver.
const READ_BYTES: usize = 1 << 20;
/// Larger than the kernel lets be outstanding in any case.
const MAX_WINDOW: u64 = 1 << 30;
/// TCP options in every segment: the time stamp.
const OPTION_BYTES: u32 = 12;

/// A flow under way.
pub(super) struct RunningFlow {
    pub(super) start: Instant,
    pub(super) stop: Instant,
    /// The sending socket.
    pub(super) socket: Arc<TcpSocket>,
}

impl RunningFlow {
    /// Lets none of the sender's packets go further than the first router, from now on.
    pub(super) fn fall_silent(&self) -> Result<(), GuestError> {
        TcpOption::TimeToLive(1).set(self.socket.as_fd()).context(|| "stopping a flow".to_owned())
    }
}

/// Opens both ends of every flow. The receivers wait for connections, the senders for their time.
pub(super) fn open(
    job: &Job,
    layout: &Layout,
    network: &Network,
    run_start: Duration,
) -> Result<Vec<RunningFlow>, GuestError> {
    (0..job.scenario.flows.len())
        .map(|index| {
            let flow = &job.scenario.flows[index];
            let ends = Ends::of(flow, layout, index);
            network.enter(ends.receiver)?;
            start_receiver(flow, index)?;
            network.enter(ends.sender)?;
            start_sender(job, index, ends.receiver_address, run_start)
        })
        .collect()
}

/// Where a flow begins and ends.
struct Ends {
    sender: Node,
    receiver: Node,
    receiver_address: [u8; 4],
}

impl Ends {
    fn of(flow: &FlowConfig, layout: &Layout, index: usize) -> Self {
        let number = layout.flows[index].pair;
        let pair = layout.pairs[number];
        let (left, right) = (pair.left.0, pair.right.0);
        match flow.direction {
            Direction::Forward => Self { sender: left, receiver: right, receiver_address: right_address(number) },
            Direction::Reverse => Self { sender: right, receiver: left, receiver_address: left_address(number) },
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "a thread that only blocks is the plainest application")]
fn start_receiver(flow: &FlowConfig, index: usize) -> Result<(), GuestError> {
    let opening = || format!("opening the receiver of flow {}", index + 1);
    let port = RECEIVER_PORT + index as u16;
    let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, port)).context(opening)?;
    TcpOption::MaximumSegment(flow.mss_bytes as u32 + OPTION_BYTES).set(listener.as_fd()).context(opening)?;
    let window = flow.receive_window_bytes.unwrap_or(MAX_WINDOW).min(MAX_WINDOW) as u32;
    TcpOption::WindowClamp(window).set(listener.as_fd()).context(opening)?;
    if flow.traffic == TrafficConfig::Bulk {
        let bytes = READ_SEGMENTS * flow.mss_bytes as u32;
        TcpOption::ReceiveLowAt(bytes).set(listener.as_fd()).context(opening)?;
    }
    thread::spawn(move || {
        let Ok((stream, _)) = listener.accept() else { return };
        while sys::discard(stream.as_fd(), READ_BYTES).is_ok_and(|length| length > 0) {}
    });
    Ok(())
}

#[expect(clippy::disallowed_methods, reason = "a thread that only blocks is the plainest application")]
fn start_sender(job: &Job, index: usize, address: [u8; 4], run_start: Duration) -> Result<RunningFlow, GuestError> {
    let flow = &job.scenario.flows[index];
    let opening = || format!("opening the sender of flow {}", index + 1);
    let socket = Arc::new(TcpSocket::open(SENDER_PORT + index as u16).context(opening)?);
    let controller = flow.scheme.strip_prefix(KERNEL_PREFIX).unwrap_or(&flow.scheme);
    TcpOption::Congestion(controller).set(socket.as_fd()).map_err(|error| GuestError::Scheme {
        flow: index + 1,
        problem: format!("this kernel has no controller {controller} ({error})"),
    })?;
    let backlog = if matches!(flow.traffic, TrafficConfig::OnOff { .. }) { ON_OFF_BACKLOG } else { BULK_BACKLOG };
    let mut options =
        vec![TcpOption::MaximumSegment(flow.mss_bytes as u32 + OPTION_BYTES), TcpOption::NotSentLowAt(backlog)];
    if flow.pacing == Pacing::Internal {
        options.push(TcpOption::Paced);
    }
    for option in options {
        option.set(socket.as_fd()).context(opening)?;
    }
    let (start, stop) = (job.scenario.start_of(index), job.scenario.stop_of(index));
    let random = RandomStream::new(job.scenario.seed, &format!("flow{}.traffic", index + 1));
    let source = Source::new(&flow.traffic, start, random);
    let sending = Arc::clone(&socket);
    thread::spawn(move || {
        sys::sleep_until(run_start + start.since(Instant::ZERO));
        // A connection that fails, because a path loses everything, is a result and no error.
        if sending.connect(address, RECEIVER_PORT + index as u16).is_ok() {
            send_all(&sending, source, run_start);
        }
    });
    Ok(RunningFlow { start, stop, socket })
}

/// Writes what the application has, whenever it has it.
fn send_all(socket: &TcpSocket, mut source: Source, run_start: Duration) {
    let zeros = vec![0; WRITE_BYTES];
    while let Ok(clock) = sys::monotonic() {
        let now = Instant::ZERO + clock.saturating_sub(run_start);
        let available = source.available(now).count().min(WRITE_BYTES as u64) as usize;
        if available > 0 {
            match sys::send(socket.as_fd(), &zeros[..available]) {
                Ok(sent) => source.take(Bytes::new(sent as u64)),
                Err(_) => return,
            }
        } else if let Some(wakeup) = source.next_wakeup() {
            sys::sleep_until(run_start + wakeup.since(Instant::ZERO));
        } else {
            return;
        }
    }
}

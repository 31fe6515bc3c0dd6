//! A UDP socket of one flow.

use std::io;
use std::net::UdpSocket;
use std::os::fd::{AsFd, BorrowedFd};

use bakeoff_core::packet::{Ecn, FlowId, Packet};
use bakeoff_core::units::{Bytes, Instant};

use super::codec::Datagram;
use super::error::{Context, FlowError};
use super::form::{Datagrams, Form, Segments};
use super::sys::{self, Batch};

/// Buffers that a path never fills; the kernel doubles it.
const BUFFER_BYTES: i32 = 16 << 20;

/// What has passed a socket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SocketCounts {
    /// Packets that the kernel took.
    pub sent: u64,
    /// Packets lost before they were on their way: a buffer or the queue of the device was full, or the other end has
    /// no socket yet.
    pub unsent: u64,
    /// Packets that arrived.
    pub received: u64,
    /// Datagrams that arrived and are no packets of this flow.
    pub malformed: u64,
    /// Datagrams that did not fit into the socket's buffer, as far as known: those before the last packet that was
    /// read.
    pub overflows: u32,
}

/// A connected UDP socket that carries the packets of one end of one flow.
///
/// It is to stay open until the end of the run, longer than [`super::drive`] may need it: the kernel answers what comes
/// to a closed port, and the answers take room on the path.
#[derive(Debug)]
pub struct FlowSocket<F = Segments> {
    socket: UdpSocket,
    form: F,
    dscp: u8,
    tos: u8,
    datagram: Vec<u8>,
    batch: Batch,
    counts: SocketCounts,
}

impl FlowSocket<Segments> {
    /// A socket for a stream of ours that is connected to the other end of the flow.
    pub fn new(socket: UdpSocket, flow: FlowId) -> io::Result<Self> {
        Self::prepare(socket, Segments::new(flow))
    }
}

impl FlowSocket<Datagrams> {
    /// A socket for a stack whose packets are at most so large, connected to the other end of the flow.
    pub fn of_stack(socket: UdpSocket, flow: FlowId, largest_packet: Bytes) -> io::Result<Self> {
        Self::prepare(socket, Datagrams::new(flow, largest_packet))
    }
}

impl<F> FlowSocket<F> {
    /// The same, but the packets that it sends have this DSCP.
    pub fn with_dscp(self, dscp: u8) -> Self {
        Self { dscp, ..self }
    }

    /// What has passed so far.
    pub fn counts(&self) -> SocketCounts {
        self.counts
    }
}

impl<F: Form> FlowSocket<F> {
    /// Prepares a socket: it will not block, marks and reports ECN, and never fragments.
    fn prepare(socket: UdpSocket, form: F) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        for (level, name, value) in [
            (libc::IPPROTO_IP, libc::IP_RECVTOS, 1),
            (libc::IPPROTO_IP, libc::IP_TOS, 0),
            (libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, libc::IP_PMTUDISC_PROBE),
            (libc::SOL_SOCKET, libc::SO_RXQ_OVFL, 1),
        ] {
            sys::set_option(socket.as_fd(), level, name, value)?;
        }
        for (privileged, ordinary) in [(libc::SO_RCVBUFFORCE, libc::SO_RCVBUF), (libc::SO_SNDBUFFORCE, libc::SO_SNDBUF)]
        {
            let set = |name| sys::set_option(socket.as_fd(), libc::SOL_SOCKET, name, BUFFER_BYTES);
            set(privileged).or_else(|_| set(ordinary))?;
        }
        Ok(Self {
            socket,
            batch: Batch::new(form.kept_bytes()),
            form,
            dscp: 0,
            tos: 0,
            datagram: Vec::new(),
            counts: SocketCounts::default(),
        })
    }

    /// Sends a packet, or counts it as lost.
    pub(super) fn send(&mut self, packet: &Packet<F::Payload>) -> Result<(), FlowError> {
        self.form.write(packet, &mut self.datagram)?;
        let tos = self.dscp << 2 | packet.ecn.bits();
        if tos != self.tos {
            sys::set_option(self.socket.as_fd(), libc::IPPROTO_IP, libc::IP_TOS, i32::from(tos))
                .context("setting the DS field")?;
            self.tos = tos;
        }
        // A refusal tells of an earlier packet, and this one was not sent because of it.
        let sent = match self.socket.send(&self.datagram) {
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => self.socket.send(&self.datagram),
            sent => sent,
        };
        match sent {
            Ok(_) => self.counts.sent += 1,
            Err(error) if is_loss(&error) => self.counts.unsent += 1,
            Err(error) => return Err(FlowError::Send { size: packet.size.count(), error }),
        }
        Ok(())
    }

    /// Takes waiting datagrams off the socket and returns how many; more may wait.
    pub(super) fn receive(&mut self) -> Result<usize, FlowError> {
        let received = match sys::receive(self.socket.as_fd(), &mut self.batch) {
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => Ok(0),
            received => received,
        };
        received.context("receiving packets")
    }

    /// The packet that [`FlowSocket::receive`] put into this slot, arriving at `now`; `None` if it is none of ours.
    pub(super) fn packet(&mut self, index: usize, now: Instant) -> Option<Packet<F::Payload>> {
        let slot = &self.batch.slots[index];
        self.counts.overflows = slot.overflows.unwrap_or(self.counts.overflows);
        let datagram = Datagram { bytes: self.batch.kept(index), length: slot.length, ecn: Ecn::from_bits(slot.tos) };
        let packet = self.form.read(&datagram, now);
        if packet.is_some() {
            self.counts.received += 1;
        } else {
            self.counts.malformed += 1;
        }
        packet
    }
}

impl<F> AsFd for FlowSocket<F> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// True if the packet could have been lost on a full device in the same way.
fn is_loss(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::ConnectionRefused)
        || error.raw_os_error() == Some(libc::ENOBUFS)
}

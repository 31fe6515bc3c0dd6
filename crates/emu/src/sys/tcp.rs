//! Options and state of the kernel's TCP sockets.

use std::io;
use std::mem;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use super::{checked, get_option, set_option, socket};

/// `SO_MAX_PACING_RATE`.
const MAX_PACING_RATE: i32 = 47;
/// `TCP_CC_INFO`.
const CONTROLLER_INFO: i32 = 26;
/// Longer than any version of `struct tcp_info` so far.
const INFO_BYTES: usize = 512;

/// A TCP socket that blocks.
#[derive(Debug)]
pub struct TcpSocket {
    socket: OwnedFd,
}

impl TcpSocket {
    /// Opens a socket on this port, in the namespace of the calling thread.
    pub fn open(port: u16) -> io::Result<Self> {
        let socket = socket(libc::AF_INET, libc::SOCK_STREAM, 0)?;
        bind(&socket, port)?;
        Ok(Self { socket })
    }

    /// Waits until the connection is there.
    pub fn connect(&self, address: [u8; 4], port: u16) -> io::Result<()> {
        with_address(address, port, |address, length| {
            // SAFETY: the address and its length are those of one structure.
            #[expect(unsafe_code, reason = "connect(2)")]
            let done = unsafe { libc::connect(self.socket.as_raw_fd(), address, length) };
            checked(done).map(|_| ())
        })
    }
}

impl AsFd for TcpSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Gives a socket a port.
pub(super) fn bind(socket: &OwnedFd, port: u16) -> io::Result<()> {
    with_address([0; 4], port, |address, length| {
        // SAFETY: the address and its length are those of one structure.
        #[expect(unsafe_code, reason = "bind(2)")]
        let done = unsafe { libc::bind(socket.as_raw_fd(), address, length) };
        checked(done).map(|_| ())
    })
}

fn with_address<T>(address: [u8; 4], port: u16, call: impl FnOnce(*const libc::sockaddr, libc::socklen_t) -> T) -> T {
    let address = libc::sockaddr_in {
        sin_family: libc::AF_INET as u16,
        sin_port: port.to_be(),
        sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes(address) },
        sin_zero: [0; 8],
    };
    call((&raw const address).cast(), mem::size_of_val(&address) as libc::socklen_t)
}

/// An option of a TCP socket.
#[derive(Clone, Copy, Debug)]
pub enum TcpOption<'a> {
    /// The congestion controller by name.
    Congestion(&'a str),
    /// Largest payload with its options, in bytes.
    MaximumSegment(u32),
    /// The largest window that the receiver grants, in bytes.
    WindowClamp(u32),
    /// The writer sleeps while more than this is queued and not sent, in bytes.
    NotSentLowAt(u32),
    /// The reader sleeps until this much has arrived, in bytes.
    ReceiveLowAt(u32),
    /// Pace every controller's packets, not only those of controllers with a rate.
    Paced(Option<u64>),
    /// Closing ends the connection at once, and forgets what was not yet delivered.
    Abandoned,
    /// Time to live of every packet from now on.
    TimeToLive(u32),
}

impl TcpOption<'_> {
    /// Sets it.
    pub fn set(self, socket: BorrowedFd<'_>) -> io::Result<()> {
        let tcp = |name, value: u32| set_option(socket, libc::IPPROTO_TCP, name, &value.to_ne_bytes());
        match self {
            Self::Congestion(name) => set_option(socket, libc::IPPROTO_TCP, libc::TCP_CONGESTION, name.as_bytes()),
            Self::MaximumSegment(bytes) => tcp(libc::TCP_MAXSEG, bytes),
            Self::WindowClamp(bytes) => tcp(libc::TCP_WINDOW_CLAMP, bytes),
            Self::NotSentLowAt(bytes) => tcp(libc::TCP_NOTSENT_LOWAT, bytes),
            Self::ReceiveLowAt(bytes) => set_option(socket, libc::SOL_SOCKET, libc::SO_RCVLOWAT, &bytes.to_ne_bytes()),
            // Any rate but "unlimited" turns the pacing timer on; the highest never binds.
            Self::Paced(most) => {
                set_option(socket, libc::SOL_SOCKET, MAX_PACING_RATE, &most.unwrap_or(u64::MAX - 1).to_ne_bytes())
            }
            // `struct linger`: on, and for no time.
            Self::Abandoned => set_option(socket, libc::SOL_SOCKET, libc::SO_LINGER, &[1, 0, 0, 0, 0, 0, 0, 0]),
            Self::TimeToLive(hops) => set_option(socket, libc::IPPROTO_IP, libc::IP_TTL, &hops.to_ne_bytes()),
        }
    }
}

/// What `struct tcp_info` (Linux `include/uapi/linux/tcp.h`) and `union tcp_cc_info` say of a sender.
#[derive(Clone, Debug)]
pub struct TcpInfo {
    bytes: [u8; INFO_BYTES],
    length: usize,
    controller: [u8; 32],
    controller_length: usize,
}

impl TcpInfo {
    /// Reads it.
    pub fn of(socket: BorrowedFd<'_>) -> io::Result<Self> {
        let (mut bytes, mut controller) = ([0; INFO_BYTES], [0; 32]);
        let length = get_option(socket, libc::IPPROTO_TCP, libc::TCP_INFO, &mut bytes)?;
        let controller_length = get_option(socket, libc::IPPROTO_TCP, CONTROLLER_INFO, &mut controller)?;
        Ok(Self { bytes, length, controller, controller_length })
    }

    fn u32(&self, offset: usize) -> u32 {
        u32::from_ne_bytes(std::array::from_fn(|index| self.bytes[offset + index]))
    }

    fn u64(&self, offset: usize) -> u64 {
        u64::from_ne_bytes(std::array::from_fn(|index| self.bytes[offset + index]))
    }

    /// 0 open, 1 disorder, 2 window reduction, 3 recovery, 4 loss.
    pub fn congestion_state(&self) -> u8 {
        self.bytes[1]
    }

    /// Packets believed to be in the network (`tcp_packets_in_flight`).
    pub fn in_flight(&self) -> u32 {
        let [unacked, sacked, lost, retransmitted] = [24, 28, 32, 36].map(|offset| self.u32(offset));
        (unacked + retransmitted).saturating_sub(sacked + lost)
    }

    /// Smoothed round-trip time in microseconds.
    pub fn srtt_us(&self) -> u32 {
        self.u32(68)
    }

    /// Slow-start threshold in packets; `None` while it is infinite.
    pub fn ssthresh(&self) -> Option<u32> {
        Some(self.u32(76)).filter(|ssthresh| *ssthresh < i32::MAX as u32)
    }

    /// Congestion window in packets.
    pub fn cwnd(&self) -> u32 {
        self.u32(80)
    }

    /// Pacing rate in bit/s; `None` while it is unlimited.
    pub fn pacing_rate(&self) -> Option<f64> {
        Some(self.u64(104)).filter(|rate| *rate != u64::MAX).map(|rate| rate as f64 * 8.0)
    }

    /// Minimum round-trip time in microseconds.
    pub fn min_rtt_us(&self) -> Option<u32> {
        Some(self.u32(148)).filter(|rtt| *rtt != u32::MAX)
    }

    /// Retransmission timeouts so far; `None` before Linux 6.7, which does not tell.
    pub fn timeouts(&self) -> Option<u16> {
        (self.length >= 242).then(|| u16::from_ne_bytes([self.bytes[240], self.bytes[241]]))
    }

    /// Bandwidth estimate in bit/s, pacing gain and window gain, if the controller is BBR (`struct tcp_bbr_info`).
    pub fn bbr(&self) -> Option<(f64, f64, f64)> {
        let word = |offset: usize| u32::from_ne_bytes(std::array::from_fn(|index| self.controller[offset + index]));
        let bandwidth = (u64::from(word(4)) << 32 | u64::from(word(0))) as f64 * 8.0;
        (self.controller_length == 20).then(|| (bandwidth, f64::from(word(12)) / 256.0, f64::from(word(16)) / 256.0))
    }
}

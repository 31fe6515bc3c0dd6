//! System calls that the standard library lacks, as safe functions. Linux only.

mod awake;
mod namespace;
mod packet;
mod process;
mod tcp;
mod time;
mod tun;

use std::ffi::{CString, c_int};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use bakeoff_core::units::Duration;

pub use awake::Awake;
pub use namespace::{NetworkNamespace, mount, power_off};
pub use packet::{Batch, Captured, PacketSocket};
pub use process::{
    Identity, ProcessId, become_ordinary, cpu_times, die_with_parent, fork, found_family, has_ended, is_root,
    lock_memory, run_first, signal_group, wait,
};
pub use tcp::{TcpInfo, TcpOption, TcpSocket};
pub use time::{monotonic, realtime, sleep_until, thread_cpu_time, wake_up_on_time};
pub use tun::{Poll, TUN_DEVICE, Tun};

/// The result of a call that returns -1 and sets `errno` on failure.
fn checked(result: c_int) -> io::Result<c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// Opens a socket that is closed when it is dropped.
#[expect(unsafe_code, reason = "socket(2)")]
pub fn socket(domain: c_int, kind: c_int, protocol: c_int) -> io::Result<OwnedFd> {
    // SAFETY: no memory is passed; a descriptor that is not negative is new and ours.
    unsafe {
        let descriptor = checked(libc::socket(domain, kind | libc::SOCK_CLOEXEC, protocol))?;
        Ok(OwnedFd::from_raw_fd(descriptor))
    }
}

/// Two ends of a line that carries whole messages; the first waits for one only so long.
#[expect(unsafe_code, reason = "socketpair(2)")]
pub fn message_pair(patience: Duration) -> io::Result<[OwnedFd; 2]> {
    let mut ends: [c_int; 2] = [0; 2];
    // SAFETY: there is room for both descriptors; those that come are new and ours.
    let [first, second] = unsafe {
        let kind = libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC;
        checked(libc::socketpair(libc::AF_UNIX, kind, 0, ends.as_mut_ptr()))?;
        ends.map(|end| OwnedFd::from_raw_fd(end))
    };
    let wait = [patience.as_secs_f64() as i64, 0].map(i64::to_ne_bytes).concat();
    set_option(first.as_fd(), libc::SOL_SOCKET, libc::SO_RCVTIMEO, &wait)?;
    Ok([first, second])
}

/// The index of the network device of this name, in the namespace of the calling thread.
#[expect(unsafe_code, reason = "if_nametoindex(3)")]
pub fn device_index(name: &str) -> io::Result<u32> {
    let name = CString::new(name)?;
    // SAFETY: the string ends with a zero and lives across the call.
    let index = unsafe { libc::if_nametoindex(name.as_ptr()) };
    if index == 0 { Err(io::Error::last_os_error()) } else { Ok(index) }
}

/// A socket that sends ICMP echo requests with this identification.
pub fn ping_socket(identification: u16) -> io::Result<OwnedFd> {
    let socket = socket(libc::AF_INET, libc::SOCK_DGRAM, libc::IPPROTO_ICMP)?;
    tcp::bind(&socket, identification)?;
    Ok(socket)
}

/// Lets netlink say in words what it refuses, and not repeat what was asked.
pub fn explain_errors(socket: &OwnedFd) -> io::Result<()> {
    for option in [libc::NETLINK_CAP_ACK, libc::NETLINK_EXT_ACK] {
        set_option(socket.as_fd(), libc::SOL_NETLINK, option, &1_i32.to_ne_bytes())?;
    }
    Ok(())
}

/// Sends bytes over a socket that knows where to.
pub fn send(socket: BorrowedFd<'_>, bytes: &[u8]) -> io::Result<usize> {
    send_with(socket, bytes, 0)
}

/// The same, of whole segments that TCP is not to take for the end of what is written.
pub fn send_more(socket: BorrowedFd<'_>, bytes: &[u8]) -> io::Result<usize> {
    send_with(socket, bytes, libc::MSG_MORE)
}

/// Waits until a TCP socket has room for as much again as it has queued.
#[expect(unsafe_code, reason = "poll(2)")]
pub fn wait_for_room(socket: BorrowedFd<'_>) -> io::Result<()> {
    let mut entry = libc::pollfd { fd: socket.as_raw_fd(), events: libc::POLLOUT, revents: 0 };
    // SAFETY: the pointer is to the one entry that is told of.
    checked(unsafe { libc::poll(&raw mut entry, 1, -1) }).map(drop)
}

#[expect(unsafe_code, reason = "send(2)")]
fn send_with(socket: BorrowedFd<'_>, bytes: &[u8], flags: c_int) -> io::Result<usize> {
    let flags = flags | libc::MSG_NOSIGNAL;
    // SAFETY: the pointer and the length are those of one slice.
    let sent = unsafe { libc::send(socket.as_raw_fd(), bytes.as_ptr().cast(), bytes.len(), flags) };
    usize::try_from(sent).map_err(|_| io::Error::last_os_error())
}

/// Waits for bytes and returns how many came.
#[expect(unsafe_code, reason = "recv(2)")]
pub fn receive(socket: BorrowedFd<'_>, buffer: &mut [u8]) -> io::Result<usize> {
    // SAFETY: the pointer and the length are those of one slice, which lives across the call.
    let received = unsafe { libc::recv(socket.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len(), 0) };
    usize::try_from(received).map_err(|_| io::Error::last_os_error())
}

/// Takes up to `length` bytes off a TCP socket without copying them; 0 when the other end has closed.
#[expect(unsafe_code, reason = "recv(2)")]
pub fn discard(socket: BorrowedFd<'_>, length: usize) -> io::Result<usize> {
    // SAFETY: with MSG_TRUNC TCP throws the bytes away and never touches the pointer (tcp(7)).
    let received = unsafe { libc::recv(socket.as_raw_fd(), std::ptr::null_mut(), length, libc::MSG_TRUNC) };
    usize::try_from(received).map_err(|_| io::Error::last_os_error())
}

/// The type-of-service byte of every packet that a socket sends; its last two bits, which TCP keeps to itself, are the
/// ECN codepoint.
pub fn set_type_of_service(socket: BorrowedFd<'_>, tos: u8) -> io::Result<()> {
    set_option(socket, libc::IPPROTO_IP, libc::IP_TOS, &c_int::from(tos).to_ne_bytes())
}

/// Sets a socket option to the bytes of `value`.
#[expect(unsafe_code, reason = "setsockopt(2)")]
fn set_option(socket: BorrowedFd<'_>, level: c_int, name: c_int, value: &[u8]) -> io::Result<()> {
    // SAFETY: the pointer and the length are those of one slice.
    let done = unsafe {
        libc::setsockopt(socket.as_raw_fd(), level, name, value.as_ptr().cast(), value.len() as libc::socklen_t)
    };
    checked(done).map(|_| ())
}

/// Reads a socket option into `value` and returns how many bytes it has.
#[expect(unsafe_code, reason = "getsockopt(2)")]
fn get_option(socket: BorrowedFd<'_>, level: c_int, name: c_int, value: &mut [u8]) -> io::Result<usize> {
    let mut length = value.len() as libc::socklen_t;
    // SAFETY: the pointer and the length are those of one slice, which lives across the call.
    let done = unsafe { libc::getsockopt(socket.as_raw_fd(), level, name, value.as_mut_ptr().cast(), &raw mut length) };
    checked(done).map(|_| length as usize)
}

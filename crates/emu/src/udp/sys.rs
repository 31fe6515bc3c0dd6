//! System calls that UDP flows need and the standard library lacks, as safe functions.

#![expect(unsafe_code, reason = "recvmmsg(2), setsockopt(2), poll(2), timerfd_create(2)")]

use std::ffi::c_int;
use std::io;
use std::mem;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr;

use bakeoff_core::units::Duration;

/// Datagrams that one call takes off a socket.
const BATCH: usize = 32;
/// Room for the type-of-service byte and the count of overflows.
const CONTROL_WORDS: usize = 8;

fn checked(result: c_int) -> io::Result<c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// Sets a socket option that is a number.
pub(super) fn set_option(socket: BorrowedFd<'_>, level: c_int, name: c_int, value: c_int) -> io::Result<()> {
    let length = mem::size_of_val(&value) as libc::socklen_t;
    // SAFETY: the pointer and the length are those of one number.
    checked(unsafe { libc::setsockopt(socket.as_raw_fd(), level, name, (&raw const value).cast(), length) }).map(|_| ())
}

/// A datagram in a batch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    /// Length of the whole datagram.
    pub(super) length: usize,
    /// The type-of-service byte of the IP header.
    pub(super) tos: u8,
    /// Datagrams that did not fit into the socket's buffer since it was opened; `None` if there were none.
    pub(super) overflows: Option<u32>,
    control: [u64; CONTROL_WORDS],
}

impl Slot {
    const EMPTY: Self = Self { length: 0, tos: 0, overflows: None, control: [0; CONTROL_WORDS] };
}

/// Datagrams that were taken off a socket at once.
#[derive(Debug)]
pub(super) struct Batch {
    pub(super) slots: Box<[Slot; BATCH]>,
    /// The first bytes of each.
    bytes: Box<[u8]>,
    kept_bytes: usize,
}

impl Batch {
    /// A batch that keeps so much of every datagram.
    pub(super) fn new(kept_bytes: usize) -> Self {
        let bytes = vec![0; BATCH * kept_bytes].into();
        Self { slots: Box::new([Slot::EMPTY; BATCH]), bytes, kept_bytes }
    }

    /// The first bytes of the datagram in this slot.
    pub(super) fn kept(&self, index: usize) -> &[u8] {
        let start = index * self.kept_bytes;
        &self.bytes[start..start + self.slots[index].length.min(self.kept_bytes)]
    }
}

/// Takes waiting datagrams off a socket that does not block, and returns how many of the slots they fill; zero if there
/// are none.
pub(super) fn receive(socket: BorrowedFd<'_>, batch: &mut Batch) -> io::Result<usize> {
    let Batch { slots, bytes, kept_bytes } = batch;
    let mut vectors: [_; BATCH] = std::array::from_fn(|index| {
        let room = &mut bytes[index * *kept_bytes..][..*kept_bytes];
        libc::iovec { iov_base: room.as_mut_ptr().cast(), iov_len: room.len() }
    });
    // SAFETY: all-zero bytes are valid structures.
    let mut messages: [libc::mmsghdr; BATCH] = unsafe { mem::zeroed() };
    for ((message, vector), slot) in messages.iter_mut().zip(&mut vectors).zip(slots.iter_mut()) {
        message.msg_hdr.msg_iov = vector;
        message.msg_hdr.msg_iovlen = 1;
        message.msg_hdr.msg_control = slot.control.as_mut_ptr().cast();
        message.msg_hdr.msg_controllen = mem::size_of_val(&slot.control);
    }
    // With MSG_TRUNC the length is that of the datagram, not of what was kept of it.
    // SAFETY: every pointer of every message is to memory of ours that lives across the call.
    let count = unsafe {
        let (length, flags) = (BATCH as libc::c_uint, libc::MSG_TRUNC);
        libc::recvmmsg(socket.as_raw_fd(), messages.as_mut_ptr(), length, flags, ptr::null_mut())
    };
    let count = match checked(count) {
        Ok(count) => count as usize,
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => 0,
        Err(error) => return Err(error),
    };
    for (slot, message) in slots.iter_mut().zip(&messages[..count]) {
        slot.length = message.msg_len as usize;
        // SAFETY: the kernel has filled the control buffer to the length that it states.
        (slot.tos, slot.overflows) = unsafe { control(&message.msg_hdr) };
    }
    Ok(count)
}

/// The type-of-service byte and the count of overflows among the control messages.
unsafe fn control(message: &libc::msghdr) -> (u8, Option<u32>) {
    let (mut tos, mut overflows) = (0, None);
    // SAFETY: the caller vouches for the message; the macros stay within its control buffer.
    unsafe {
        let mut header = libc::CMSG_FIRSTHDR(message);
        while !header.is_null() {
            let data = libc::CMSG_DATA(header);
            match ((*header).cmsg_level, (*header).cmsg_type) {
                (libc::IPPROTO_IP, libc::IP_TOS) => tos = *data,
                (libc::SOL_SOCKET, libc::SO_RXQ_OVFL) => overflows = Some(data.cast::<u32>().read_unaligned()),
                _ => {}
            }
            header = libc::CMSG_NXTHDR(message, header);
        }
    }
    (tos, overflows)
}

/// Waits until one of the descriptors can be read, has failed or has hung up, and returns which of them; none if a
/// signal came first.
pub(super) fn wait<const N: usize>(descriptors: [Option<BorrowedFd<'_>>; N]) -> io::Result<[bool; N]> {
    let mut entries = descriptors.map(|descriptor| libc::pollfd {
        // The kernel passes over negative descriptors.
        fd: descriptor.map_or(-1, |descriptor| descriptor.as_raw_fd()),
        events: libc::POLLIN,
        revents: 0,
    });
    // SAFETY: the pointer and the length are those of one array.
    match checked(unsafe { libc::poll(entries.as_mut_ptr(), N as libc::nfds_t, -1) }) {
        Ok(_) => Ok(entries.map(|entry| entry.revents != 0)),
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok([false; N]),
        Err(error) => Err(error),
    }
}

/// A timer that can be waited for. Other than the timeouts of waiting calls it is absolute and has no slack.
#[derive(Debug)]
pub(super) struct Timer {
    descriptor: OwnedFd,
    set_to: Duration,
}

impl Timer {
    pub(super) fn new() -> io::Result<Self> {
        // SAFETY: no memory is passed; a descriptor that is not negative is new and ours.
        let descriptor = unsafe {
            let flags = libc::TFD_CLOEXEC | libc::TFD_NONBLOCK;
            OwnedFd::from_raw_fd(checked(libc::timerfd_create(libc::CLOCK_MONOTONIC, flags))?)
        };
        Ok(Self { descriptor, set_to: Duration::ZERO })
    }

    /// Becomes ready when the monotonic clock shows `time` at the latest. `now` is what it shows at present: a timer
    /// that is still to fire before `time` is left as it is, because firing early costs less than setting it for every
    /// ack.
    pub(super) fn set(&mut self, time: Duration, now: Duration) -> io::Result<()> {
        if now < self.set_to && self.set_to <= time {
            return Ok(());
        }
        // Zero would switch the timer off.
        let nanos = time.as_nanos().max(1);
        let value = libc::timespec {
            tv_sec: (nanos / 1_000_000_000) as libc::time_t,
            tv_nsec: (nanos % 1_000_000_000) as libc::c_long,
        };
        let setting = libc::itimerspec { it_interval: libc::timespec { tv_sec: 0, tv_nsec: 0 }, it_value: value };
        // SAFETY: the structure is ours and lives across the call; no old setting is asked for.
        checked(unsafe {
            let descriptor = self.descriptor.as_raw_fd();
            libc::timerfd_settime(descriptor, libc::TFD_TIMER_ABSTIME, &raw const setting, ptr::null_mut())
        })?;
        self.set_to = time;
        Ok(())
    }
}

impl AsFd for Timer {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

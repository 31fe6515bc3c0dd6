//! TUN devices: the kernel's end of a cable whose other end is ours.

use std::ffi::{c_int, c_short};
use std::fs::OpenOptions;
use std::io::{self, IoSlice};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;

use bakeoff_core::units::Duration;

use super::checked;

/// The device that makes devices.
pub const TUN_DEVICE: &str = "/dev/net/tun";
/// `TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6 | TUN_F_TSO_ECN` (Linux `include/uapi/linux/if_tun.h`).
const OFFLOADS: libc::c_ulong = 1 | 2 | 4 | 8;
const TUNSETIFF: libc::c_ulong = 0x4004_54ca;
const TUNSETOFFLOAD: libc::c_ulong = 0x4004_54d0;

/// A TUN device of the namespace in which it was opened, read and written from any other. It vanishes when it is
/// dropped.
#[derive(Debug)]
pub struct Tun {
    file: OwnedFd,
}

impl Tun {
    /// Makes a device of this name in the namespace of the calling thread. Reads and writes begin with a
    /// `virtio_net_hdr`; TCP may hand over several segments in one packet.
    #[expect(unsafe_code, reason = "ioctl(2)")]
    pub fn open(name: &str) -> io::Result<Self> {
        let file = OpenOptions::new().read(true).write(true).custom_flags(libc::O_NONBLOCK).open(TUN_DEVICE)?;
        // SAFETY: all-zero bytes are a valid structure.
        let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
        for (to, from) in request.ifr_name.iter_mut().zip(name.bytes().take(libc::IFNAMSIZ - 1)) {
            *to = from as libc::c_char;
        }
        request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI | libc::IFF_VNET_HDR) as c_short;
        // SAFETY: the structure is the one that the call wants, and lives across it.
        checked(unsafe { libc::ioctl(file.as_raw_fd(), TUNSETIFF, &raw mut request) })?;
        // SAFETY: the argument is a number.
        checked(unsafe { libc::ioctl(file.as_raw_fd(), TUNSETOFFLOAD, OFFLOADS) })?;
        Ok(Self { file: file.into() })
    }

    /// Takes the next packet that the kernel has sent; `None` if there is none.
    #[expect(unsafe_code, reason = "read(2)")]
    pub fn read(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        // SAFETY: the pointer and the length are those of one slice, which lives across the call.
        let length = unsafe { libc::read(self.file.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len()) };
        match usize::try_from(length) {
            Ok(length) => Ok(Some(length)),
            Err(_) if io::Error::last_os_error().kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(_) => Err(io::Error::last_os_error()),
        }
    }

    /// Hands the kernel a packet in parts.
    #[expect(unsafe_code, reason = "writev(2)")]
    pub fn write(&self, parts: &[IoSlice<'_>]) -> io::Result<()> {
        // SAFETY: an IoSlice has the layout of an iovec, and the slices live across the call.
        let written = unsafe { libc::writev(self.file.as_raw_fd(), parts.as_ptr().cast(), parts.len() as c_int) };
        if written < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }
}

impl AsFd for Tun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// Waits until one of several files can be read.
#[derive(Debug)]
pub struct Poll {
    entries: Vec<libc::pollfd>,
}

impl Poll {
    /// Over these files, which have to stay open.
    pub fn new<'a>(files: impl IntoIterator<Item = BorrowedFd<'a>>) -> Self {
        let entry = |file: BorrowedFd<'_>| libc::pollfd { fd: file.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        Self { entries: files.into_iter().map(entry).collect() }
    }

    /// Waits for at most this long, and returns whether a file can be read.
    #[expect(unsafe_code, reason = "ppoll(2)")]
    pub fn wait(&mut self, timeout: Duration) -> io::Result<bool> {
        let nanos = timeout.as_nanos();
        let timeout = libc::timespec {
            tv_sec: (nanos / 1_000_000_000) as libc::time_t,
            tv_nsec: (nanos % 1_000_000_000) as libc::c_long,
        };
        // SAFETY: the entries and the time live across the call; a null mask changes no signals.
        let ready = unsafe {
            let count = self.entries.len() as libc::nfds_t;
            libc::ppoll(self.entries.as_mut_ptr(), count, &raw const timeout, std::ptr::null())
        };
        match checked(ready) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(false),
            ready => Ok(ready? > 0),
        }
    }

    /// Whether the file with this index could be read when the last wait ended.
    pub fn can_read(&self, index: usize) -> bool {
        self.entries[index].revents != 0
    }
}

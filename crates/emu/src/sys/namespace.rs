//! Network namespaces, mounts, and the machine's switch.

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::ptr;

use super::checked;

/// A network namespace, which lives as long as this value or a socket in it.
#[derive(Debug)]
pub struct NetworkNamespace {
    file: OwnedFd,
}

impl NetworkNamespace {
    /// Makes a namespace and moves the calling thread into it.
    #[expect(unsafe_code, reason = "unshare(2)")]
    pub fn create() -> io::Result<Self> {
        // SAFETY: no memory is passed.
        checked(unsafe { libc::unshare(libc::CLONE_NEWNET) })?;
        Ok(Self { file: File::open("/proc/thread-self/ns/net")?.into() })
    }

    /// Moves the calling thread into the namespace; sockets that it opens from now on are of that namespace.
    #[expect(unsafe_code, reason = "setns(2)")]
    pub fn enter(&self) -> io::Result<()> {
        // SAFETY: no memory is passed.
        checked(unsafe { libc::setns(self.file.as_raw_fd(), libc::CLONE_NEWNET) }).map(|_| ())
    }
}

impl AsFd for NetworkNamespace {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// Mounts a file system of type `kind` on `target`.
#[expect(unsafe_code, reason = "mount(2)")]
pub fn mount(kind: &str, target: &str, data: &str) -> io::Result<()> {
    let (kind, target, data) = (CString::new(kind)?, CString::new(target)?, CString::new(data)?);
    // SAFETY: all strings end with a zero and live across the call; a null source is allowed.
    let done = unsafe { libc::mount(ptr::null(), target.as_ptr(), kind.as_ptr(), 0, data.as_ptr().cast()) };
    checked(done).map(|_| ())
}

/// Switches the machine off.
#[expect(unsafe_code, reason = "reboot(2)")]
pub fn power_off() -> io::Result<()> {
    // SAFETY: no memory is passed.
    checked(unsafe { libc::reboot(libc::RB_POWER_OFF) }).map(|_| ())
}

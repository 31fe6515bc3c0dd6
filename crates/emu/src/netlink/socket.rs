//! A conversation with the kernel of one namespace.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use super::Message;
use crate::sys;

/// `NLMSG_ERROR`, which also carries the acknowledgement.
const ERROR: u16 = 2;
/// `NLMSGERR_ATTR_MSG`.
const EXPLANATION: u16 = 1;

/// Why the kernel refused something.
#[derive(Debug, thiserror::Error)]
#[error("{error}{explanation}")]
pub struct NetlinkError {
    error: io::Error,
    /// What the kernel says itself, if it says anything.
    explanation: String,
}

impl From<io::Error> for NetlinkError {
    fn from(error: io::Error) -> Self {
        Self { error, explanation: String::new() }
    }
}

/// A netlink socket in the namespace of the thread that opened it.
#[derive(Debug)]
pub struct Socket {
    socket: OwnedFd,
    sequence: u32,
}

impl Socket {
    /// Opens it.
    pub fn open() -> io::Result<Self> {
        let socket = sys::socket(libc::AF_NETLINK, libc::SOCK_RAW, libc::NETLINK_ROUTE)?;
        sys::explain_errors(&socket)?;
        Ok(Self { socket, sequence: 0 })
    }

    /// Sends a message and waits until the kernel has done what it says.
    pub fn request(&mut self, message: Message) -> Result<(), NetlinkError> {
        self.sequence += 1;
        sys::send(self.socket.as_fd(), &message.finish(self.sequence))?;
        let mut answer = [0; 4_096];
        let length = sys::receive(self.socket.as_fd(), &mut answer)?;
        let answer = &answer[..length];
        let kind = answer.get(4..6).map(|bytes| u16::from_ne_bytes([bytes[0], bytes[1]]));
        let code = answer.get(16..20).map(|bytes| i32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]));
        match (kind, code) {
            (Some(ERROR), Some(0)) => Ok(()),
            (Some(ERROR), Some(code)) => {
                Err(NetlinkError { error: io::Error::from_raw_os_error(-code), explanation: explanation(answer) })
            }
            _ => Err(io::Error::from(io::ErrorKind::InvalidData).into()),
        }
    }
}

/// The text that an error message carries behind the header of the request.
fn explanation(answer: &[u8]) -> String {
    let mut rest = answer.get(36..).unwrap_or_default();
    while let [a, b, c, d, ..] = *rest {
        let (length, kind) = (usize::from(u16::from_ne_bytes([a, b])), u16::from_ne_bytes([c, d]));
        if kind == EXPLANATION
            && let Some(text) = rest.get(4..length.saturating_sub(1))
        {
            return format!(": {}", String::from_utf8_lossy(text));
        }
        rest = rest.get(length.next_multiple_of(4).max(4)..).unwrap_or_default();
    }
    String::new()
}

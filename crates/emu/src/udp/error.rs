//! Why a flow ends early.

use std::io;

use super::codec::EncodeError;

/// Why an endpoint cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum FlowError {
    /// It yields packets that have no form as a datagram.
    #[error(transparent)]
    Encode(#[from] EncodeError),
    /// The kernel does not take a packet, and not because a buffer is full.
    #[error("sending a packet of {size} bytes: {error}")]
    Send {
        /// Its size in bytes, with the IP header.
        size: u64,
        /// What the kernel said.
        error: io::Error,
    },
    /// Another system call failed.
    #[error("{what}: {error}")]
    System {
        /// What it was for.
        what: &'static str,
        /// What the kernel said.
        error: io::Error,
    },
}

/// Says what a system call was for.
pub(super) trait Context<T> {
    fn context(self, what: &'static str) -> Result<T, FlowError>;
}

impl<T> Context<T> for io::Result<T> {
    fn context(self, what: &'static str) -> Result<T, FlowError> {
        self.map_err(|error| FlowError::System { what, error })
    }
}

//! Streams of ours, and stacks that are not ours, over real UDP sockets.
//!
//! The endpoints are the simulator's ([`Sender`], [`Receiver`]); here they get a clock, a socket, and a form for their
//! segments in which every IP packet has the size that the simulator gives it. A flow is one [`drive`] per end, each on
//! a thread of its own:
//!
//! * [`encode`] and [`Decoder`] turn packets into datagrams and back; [`Prefix`] is what a tap can read of one.
//! * [`Form`] is what differs between our streams and the stacks, whose datagrams travel as they are.
//! * [`FlowSocket`] is a connected UDP socket that carries the ECN codepoint in both directions.
//! * [`Clock`] is the time of the run, which both ends share.
//!
//! [`Sender`]: bakeoff_core::transport::stream::Sender
//! [`Receiver`]: bakeoff_core::transport::stream::Receiver

mod codec;
mod form;
mod prefix;

#[cfg(target_os = "linux")]
mod clock;
#[cfg(target_os = "linux")]
mod endpoint;
#[cfg(target_os = "linux")]
mod error;
#[cfg(target_os = "linux")]
mod socket;
#[cfg(target_os = "linux")]
mod sys;
#[cfg(test)]
mod tests;

pub use codec::{Datagram, Decoder, EncodeError, MAX_HEADER_BYTES, SMALLEST_PACKET, ecn_mode, encode};
pub use form::{Datagrams, Form, Segments};
pub use prefix::{DecodeError, Kind, PREFIX_BYTES, Prefix};

#[cfg(target_os = "linux")]
pub use clock::Clock;
#[cfg(target_os = "linux")]
pub use endpoint::{Timetable, drive};
#[cfg(target_os = "linux")]
pub use error::FlowError;
#[cfg(target_os = "linux")]
pub use socket::{FlowSocket, SocketCounts};

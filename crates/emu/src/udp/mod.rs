//! Streams of ours over real UDP sockets.
//!
//! The endpoints are the simulator's ([`Sender`], [`Receiver`]); here they get a clock, a socket, and a form for their
//! segments in which every IP packet has the size that the simulator gives it.
//!
//! * [`encode`] and [`Decoder`] turn packets into datagrams and back; [`Prefix`] is what a tap can read of one.
//!
//! [`Sender`]: bakeoff_core::transport::stream::Sender
//! [`Receiver`]: bakeoff_core::transport::stream::Receiver

mod codec;
mod prefix;

#[cfg(test)]
mod tests;

pub use codec::{Datagram, Decoder, EncodeError, MAX_HEADER_BYTES, SMALLEST_PACKET, encode};
pub use prefix::{DecodeError, Kind, PREFIX_BYTES, Prefix};

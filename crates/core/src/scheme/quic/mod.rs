//! What the QUIC senders of Chromium have in common: windows in bytes of an MSS of their own, whatever the size of a
//! packet, and packet numbers that never repeat.
//!
//! **Source.** Chromium (google/quiche 790af403, June 2019; google/proto-quic 77961f1a, May 2017): `quic_constants.h`,
//! `tcp_cubic_sender_bytes.cc`, `bbr_sender.cc`.

mod bandwidth;
mod clock;
mod flight;
mod rtt;
mod timeout;
mod windowed;

pub(super) use self::bandwidth::Bandwidth;
pub(super) use self::clock::{CLOCK_RESOLUTION, Clock};
pub(super) use self::flight::{Flight, Losses};
pub(super) use self::rtt::{INITIAL_RTT, RoundTrips};
pub(super) use self::timeout::{Answer, PendingTimeout};
pub(super) use self::windowed::{WindowedMax, WindowedMin};
use super::Parameters;
use crate::info::{Kind, Parameter};
use crate::units::{Bytes, Duration};

/// The unit of window arithmetic, bytes (`kDefaultTCPMSS`).
pub(super) const MSS: u64 = 1_460;
/// Window of a connection that starts, in units of the MSS (`kInitialCongestionWindow`).
pub(super) const INITIAL_WINDOW: Parameter = Parameter {
    name: "initial_window",
    kind: Kind::Number { default: 32.0, min: 1.0, max: 200.0 },
    unit: "MSS",
    doc: "window of a connection that starts, in units of 1460 bytes",
};
/// A round trip that a program reports before it has sent anything (`RttStats::UpdateRtt`).
pub(super) const FIRST_RTT: Parameter = Parameter {
    name: "first_rtt",
    kind: Kind::Number { default: 0.0, min: 0.0, max: 10_000.0 },
    unit: "ms",
    doc: "a round trip that counts as measured before the first packet; 0: none",
};
/// The largest window, bytes (`kDefaultMaxCongestionWindowPackets`).
pub(super) const MAX_WINDOW: u64 = 2_000 * MSS;
/// IPv4 and UDP headers, which QUIC does not count.
pub(super) const HEADERS: Bytes = Bytes::new(28);

/// What QUIC counts of a full packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct PacketSize {
    /// Bytes that count against the window.
    pub(super) counted: u64,
    /// Those of them that are no payload.
    pub(super) overhead: u64,
}

/// The window of a connection that starts, bytes.
pub(super) fn initial_window(parameters: &Parameters) -> u64 {
    (parameters.number(INITIAL_WINDOW.name) * MSS as f64) as u64
}

/// The round trip that counts as measured before the first packet.
pub(super) fn first_rtt(parameters: &Parameters) -> Option<Duration> {
    Some(parameters.number(FIRST_RTT.name)).filter(|ms| *ms > 0.0).map(|ms| Duration::from_secs_f64(ms / 1e3))
}

impl PacketSize {
    /// From the size with IP header, and the payload.
    pub(super) fn of(wire: Bytes, payload: Bytes) -> Self {
        let counted = wire.saturating_sub(HEADERS).count().max(1);
        Self { counted, overhead: counted.saturating_sub(payload.count()) }
    }

    /// Packets that a window of `bytes` lets out: one leaves as long as less than the window is in flight.
    pub(super) fn packets(&self, bytes: u64) -> u32 {
        bytes.div_ceil(self.counted).max(1) as u32
    }
}

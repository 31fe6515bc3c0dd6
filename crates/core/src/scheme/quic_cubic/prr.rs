//! Proportional Rate Reduction as QUIC does it, packet by packet (`prr_sender.cc`).
//!
//! RFC 6937 with its slow-start bound: once less than the window is in flight, every ack lets out what it delivered and
//! one MSS more. Linux does that only for acks that show no new loss, so [`crate::scheme::prr`] sends less when much is
//! lost.

use crate::scheme::quic::MSS;

/// A reduction from what was in flight at the loss, in bytes.
#[derive(Debug)]
pub(super) struct Reduction {
    before: u64,
    sent: u64,
    delivered: u64,
    acks: u64,
}

impl Reduction {
    /// A packet was lost while `in_flight` bytes were in flight.
    pub(super) fn new(in_flight: u64) -> Self {
        Self { before: in_flight, sent: 0, delivered: 0, acks: 0 }
    }

    /// A packet left.
    pub(super) fn on_sent(&mut self, bytes: u64) {
        self.sent += bytes;
    }

    /// A packet was acknowledged.
    pub(super) fn on_acked(&mut self, bytes: u64) {
        self.delivered += bytes;
        self.acks += 1;
    }

    /// True if one more packet may leave, on the way down to `window` (`PrrSender::CanSend`).
    pub(super) fn may_send(&self, window: u64, in_flight: u64) -> bool {
        if self.sent == 0 || in_flight < MSS {
            return true;
        }
        if window > in_flight {
            return self.delivered + self.acks * MSS > self.sent;
        }
        u128::from(self.delivered) * u128::from(window) > u128::from(self.sent) * u128::from(self.before)
    }
}

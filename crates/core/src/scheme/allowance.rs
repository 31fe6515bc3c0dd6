//! A window for schemes that say how many packets may leave now, rather than how many may be in flight.

use super::{Ack, Sent, Timeout};

/// Packets in flight as the transport counts them, and how many more may leave.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Allowance {
    in_flight: u32,
    left: u32,
}

/// More than any path holds.
const MOST: u32 = 1 << 24;

impl Allowance {
    /// The window: what is in flight and what may leave; at least one packet, so that the connection lives on.
    pub(super) fn cwnd(self) -> u32 {
        self.in_flight.saturating_add(self.left).clamp(1, MOST)
    }

    /// So many packets may leave now, and no others.
    pub(super) fn set(&mut self, packets: u32) {
        self.left = packets.min(MOST);
    }

    /// Packets that may leave.
    pub(super) fn left(self) -> u32 {
        self.left
    }

    pub(super) fn on_sent(&mut self, sent: &Sent) {
        self.in_flight = sent.in_flight;
        self.left = self.left.saturating_sub(1);
    }

    pub(super) fn on_ack(&mut self, ack: &Ack<'_>) {
        self.in_flight = ack.in_flight;
    }

    pub(super) fn on_lost(&mut self) {
        self.in_flight = self.in_flight.saturating_sub(1);
    }

    pub(super) fn on_timeout(&mut self, timeout: &Timeout) {
        self.in_flight = timeout.in_flight;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheme::window::{ack, timeout};
    use crate::units::{Bytes, Instant};

    #[test]
    fn what_leaves_uses_it_up_and_what_returns_does_not_give_it_back() {
        let mut allowance = Allowance::default();
        assert_eq!(allowance.cwnd(), 1);
        allowance.set(2);
        for in_flight in 1..=3 {
            allowance.on_sent(&Sent {
                now: Instant::ZERO,
                size: Bytes::new(1_448),
                is_retransmission: false,
                in_flight,
                delivered: 0,
            });
        }
        assert_eq!((allowance.left(), allowance.cwnd()), (0, 3));
        allowance.on_lost();
        assert_eq!(allowance.cwnd(), 2);
        allowance.on_ack(&Ack { in_flight: 1, ..ack(1) });
        assert_eq!(allowance.cwnd(), 1, "room for nothing");
        allowance.set(5);
        assert_eq!(allowance.cwnd(), 6);
        allowance.on_timeout(&timeout(true));
        assert_eq!(allowance.cwnd(), 5, "nothing is in flight any more");
    }
}

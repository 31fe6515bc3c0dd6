//! What a retransmission timeout means, which the next ack tells.
//!
//! The timer sends something again and changes nothing else. Losses that come to light with the next ack are not acted upon,
//! and only if that acknowledges a packet sent since the timer expired was the timeout needed.
//!
//! **Source.** Chromium `net/quic/core/quic_sent_packet_manager.cc` (google/proto-quic 77961f1a: `OnIncomingAck`,
//! `MarkForRetransmission`, `RetransmitRtoPackets`; google/quiche of 2019: `PostProcessNewlyAckedPackets`). Since April 2022
//! google/quiche has no retransmission timeout that a sender hears of.

/// A timeout that nothing has answered yet.
#[derive(Debug, Default)]
pub(in crate::scheme) struct PendingTimeout {
    /// The newest packet sent before the timer first expired.
    newest: Option<u64>,
}

impl PendingTimeout {
    /// The timer expired; `newest` is the packet sent last.
    pub(in crate::scheme) fn begin(&mut self, newest: u64) {
        self.newest.get_or_insert(newest);
    }

    /// The timeout proved spurious.
    pub(in crate::scheme) fn cancel(&mut self) {
        self.newest = None;
    }

    /// True until an ack answers.
    pub(in crate::scheme) fn is_pending(&self) -> bool {
        self.newest.is_some()
    }

    /// An ack of these packets; true if it is the answer, and shows that the timeout was needed.
    pub(in crate::scheme) fn on_ack(&mut self, packets: &[u64]) -> bool {
        !packets.is_empty() && self.newest.take().is_some_and(|newest| packets.iter().any(|packet| *packet > newest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_ack_of_what_was_sent_since_shows_that_a_timeout_was_needed() {
        let mut timeout = PendingTimeout::default();
        assert!(!timeout.on_ack(&[1, 2]), "there was none");
        for (acked, was_needed) in [(&[6_u64, 8][..], true), (&[6, 7], false)] {
            timeout.begin(7);
            timeout.begin(9);
            assert!(!timeout.on_ack(&[]) && timeout.is_pending(), "no answer");
            assert_eq!((timeout.on_ack(acked), timeout.is_pending()), (was_needed, false));
        }
        timeout.begin(7);
        timeout.cancel();
        assert!(!timeout.is_pending() && !timeout.on_ack(&[8]));
    }
}

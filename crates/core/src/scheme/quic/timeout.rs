//! What a retransmission timeout means, which the next ack tells.
//!
//! The timer sends something again and changes nothing else. Losses that come to light with the next ack are not acted
//! upon, and only if that acknowledges a packet sent since the timer expired was the timeout needed.
//!
//! **Source.** Chromium `net/quic/core/quic_sent_packet_manager.cc` (google/proto-quic 77961f1a: `OnIncomingAck`,
//! `MarkForRetransmission`, `RetransmitRtoPackets`; google/quiche of 2019: `PostProcessNewlyAckedPackets`). Since April
//! 2022 google/quiche has no retransmission timeout that a sender hears of.

/// What an ack says of a timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::scheme) enum Answer {
    /// Something sent since the timer expired has arrived.
    Needed,
    /// Something sent before it has.
    Needless,
}

/// A timeout that nothing has answered yet.
#[derive(Debug, Default)]
pub(in crate::scheme) struct PendingTimeout {
    /// The newest packet sent before the timer first expired.
    newest: Option<u64>,
    /// The transport knows that it was spurious.
    is_cancelled: bool,
}

impl PendingTimeout {
    /// The timer expired; `newest` is the packet sent last.
    pub(in crate::scheme) fn begin(&mut self, newest: u64) {
        self.newest.get_or_insert(newest);
        self.is_cancelled = false;
    }

    /// The timeout proved spurious, whatever the next ack says.
    pub(in crate::scheme) fn cancel(&mut self) {
        self.is_cancelled = true;
    }

    /// True until an ack answers.
    pub(in crate::scheme) fn is_pending(&self) -> bool {
        self.newest.is_some()
    }

    /// An ack of these packets; `None` if it answers no timeout.
    pub(in crate::scheme) fn on_ack(&mut self, packets: &[u64]) -> Option<Answer> {
        if packets.is_empty() {
            return None;
        }
        let newest = self.newest.take()?;
        let is_needed = !self.is_cancelled && packets.iter().any(|packet| *packet > newest);
        Some(if is_needed { Answer::Needed } else { Answer::Needless })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_ack_of_what_was_sent_since_shows_that_a_timeout_was_needed() {
        let mut timeout = PendingTimeout::default();
        assert_eq!(timeout.on_ack(&[1, 2]), None, "there was none");
        for (acked, answer) in [(&[6_u64, 8][..], Answer::Needed), (&[6, 7], Answer::Needless)] {
            timeout.begin(7);
            timeout.begin(9);
            assert_eq!((timeout.on_ack(&[]), timeout.is_pending()), (None, true), "no answer");
            assert_eq!((timeout.on_ack(acked), timeout.is_pending()), (Some(answer), false));
        }
        timeout.begin(7);
        timeout.cancel();
        assert_eq!(timeout.on_ack(&[8]), Some(Answer::Needless));
        timeout.begin(7);
        assert_eq!(timeout.on_ack(&[8]), Some(Answer::Needed));
    }
}

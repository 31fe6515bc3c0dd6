//! Proportional Rate Reduction: how many packets to send while the window is being reduced.
//!
//! **Source.** RFC 6937 with the conservative-bound rule of RFC 9937; Linux `net/ipv4/tcp_input.c`,
//! `tcp_cwnd_reduction`.

use super::Ack;

/// A reduction from one window to a smaller one, spread over one round trip.
#[derive(Clone, Copy, Debug)]
pub struct Prr {
    prior_cwnd: u32,
    delivered: u32,
    sent: u32,
}

impl Prr {
    /// Begins to reduce from `prior_cwnd`.
    pub fn new(prior_cwnd: u32) -> Self {
        Self { prior_cwnd, delivered: 0, sent: 0 }
    }

    /// A packet left, new or retransmitted.
    pub fn on_sent(&mut self) {
        self.sent += 1;
    }

    /// The window after `ack`, on the way down to `ssthresh`; `None` if the ack delivered nothing.
    pub fn cwnd_after(&mut self, ack: &Ack<'_>, ssthresh: u32) -> Option<u32> {
        if ack.newly_delivered == 0 {
            return None;
        }
        self.delivered += ack.newly_delivered;
        let allowed = if ack.in_flight > ssthresh {
            let target = (u64::from(ssthresh) * u64::from(self.delivered)).div_ceil(u64::from(self.prior_cwnd.max(1)));
            (target as u32).saturating_sub(self.sent)
        } else {
            // Back to ssthresh: as fast as data is delivered, and in slow start while an advancing ack shows no new
            // loss.
            let is_growing = ack.is_advance && ack.newly_lost == 0;
            let paced = self.delivered.saturating_sub(self.sent).max(ack.newly_delivered) + u32::from(is_growing);
            paced.min(ssthresh - ack.in_flight)
        };
        // The first retransmission goes out whatever the arithmetic says.
        Some(ack.in_flight + allowed.max(u32::from(self.sent == 0)))
    }
}

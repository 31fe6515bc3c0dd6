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
        // In slow start while an advancing ack shows no new loss.
        let is_growing = ack.is_advance && ack.newly_lost == 0;
        (ack.newly_delivered > 0).then(|| self.take(ack.newly_delivered, is_growing, ack.in_flight, ssthresh))
    }

    /// The window after a timer has found a loss, which counts as one delivery (`tcp_rack_reo_timeout`).
    pub fn cwnd_after_timer(&mut self, in_flight: u32, ssthresh: u32) -> u32 {
        self.take(1, false, in_flight, ssthresh)
    }

    fn take(&mut self, newly_delivered: u32, is_growing: bool, in_flight: u32, ssthresh: u32) -> u32 {
        self.delivered += newly_delivered;
        let allowed = if in_flight > ssthresh {
            let target = (u64::from(ssthresh) * u64::from(self.delivered)).div_ceil(u64::from(self.prior_cwnd.max(1)));
            (target as u32).saturating_sub(self.sent)
        } else {
            // Back to ssthresh: as fast as data is delivered, or faster.
            let paced = self.delivered.saturating_sub(self.sent).max(newly_delivered) + u32::from(is_growing);
            paced.min(ssthresh - in_flight)
        };
        // The first retransmission goes out whatever the arithmetic says.
        in_flight + allowed.max(u32::from(self.sent == 0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheme::window::ack;

    /// An ack in recovery that leaves `in_flight` packets.
    fn repair(newly_delivered: u32, in_flight: u32) -> Ack<'static> {
        Ack { in_flight, ..ack(newly_delivered) }
    }

    /// Sends all that the window after `ack` allows; returns packets in flight then.
    fn send(reduction: &mut Prr, ack: &Ack<'_>, ssthresh: u32) -> u32 {
        let cwnd = reduction.cwnd_after(ack, ssthresh).expect("something was delivered");
        (ack.in_flight..cwnd).for_each(|_| reduction.on_sent());
        cwnd.max(ack.in_flight)
    }

    #[test]
    fn what_leaves_is_in_proportion_to_what_arrives() {
        for (ssthresh, per_ack) in [(70, 1), (70, 2), (50, 1), (50, 3), (85, 7)] {
            let mut reduction = Prr::new(100);
            // One of a hundred was lost.
            let mut in_flight = 99;
            let mut delivered = 0;
            while delivered + per_ack <= 99 {
                delivered += per_ack;
                in_flight = send(&mut reduction, &repair(per_ack, in_flight - per_ack), ssthresh);
                if in_flight > ssthresh {
                    let share = (ssthresh * delivered).div_ceil(100);
                    assert_eq!(reduction.sent, share, "threshold {ssthresh}: {delivered} delivered");
                }
            }
            assert_eq!(in_flight, ssthresh, "{per_ack} per ack");
        }
    }

    #[test]
    fn heavy_losses_are_made_up_for_in_slow_start() {
        // Sixty of a hundred are gone: 39 in flight, 50 wanted.
        let mut reduction = Prr::new(100);
        assert_eq!(
            send(&mut reduction, &repair(1, 39), 50),
            41,
            "two for one while acks advance and nothing more is lost"
        );
        let with_loss = Ack { newly_lost: 1, ..repair(1, 39) };
        assert_eq!(send(&mut reduction, &with_loss, 50), 40, "one for one after a new loss");
        let without_advance = Ack { is_advance: false, ..repair(1, 39) };
        assert_eq!(send(&mut reduction, &without_advance, 50), 40);
        assert_eq!(send(&mut reduction, &repair(30, 49), 50), 50, "never beyond the threshold");
    }

    #[test]
    fn the_first_retransmission_always_leaves() {
        let mut reduction = Prr::new(100);
        assert_eq!(reduction.cwnd_after(&repair(1, 50), 50), Some(51));
        reduction.on_sent();
        assert_eq!(reduction.cwnd_after(&repair(1, 50), 50), Some(50));
    }

    #[test]
    fn an_ack_that_delivers_nothing_changes_nothing() {
        assert_eq!(Prr::new(100).cwnd_after(&repair(0, 50), 50), None);
    }

    #[test]
    fn at_the_threshold_nothing_leaves_beyond_it() {
        let mut reduction = Prr { delivered: 59, sent: 1, ..Prr::new(100) };
        assert_eq!(reduction.cwnd_after(&repair(1, 51), 50), Some(51 + 29), "half of sixty, but for one");
        assert_eq!(reduction.cwnd_after(&repair(1, 50), 50), Some(50));
    }

    #[test]
    fn below_the_threshold_what_was_delivered_and_not_yet_sent_leaves_at_once() {
        let mut reduction = Prr { delivered: 30, sent: 1, ..Prr::new(100) };
        let one = Ack { is_advance: false, ..repair(1, 10) };
        assert_eq!(reduction.cwnd_after(&one, 50), Some(10 + 30));
    }
}

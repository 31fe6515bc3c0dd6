//! What is to be made large: throughput over delay.

/// What a sender achieved.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tally {
    /// Packets received.
    pub packets: f64,
    /// Sum of their round trips.
    pub delay_ms: f64,
    /// Time for which the sender was on.
    pub on_ms: f64,
    /// That, with each moment divided by the number of senders that were on.
    pub share_ms: f64,
}

/// The utility of receiving nothing (Remy: -2^31, beside which nothing else would count).
pub const NOTHING: f64 = -20.0;

impl Tally {
    /// A packet was received.
    pub fn receive(&mut self, rtt_ms: f64) {
        self.packets += 1.0;
        self.delay_ms += rtt_ms;
    }

    /// Time passed while it was on.
    pub fn be_on(&mut self, passed_ms: f64, share_ms: f64) {
        self.on_ms += passed_ms;
        self.share_ms += share_ms;
    }

    /// `log2` of the throughput over that of an equal share, less `log2` of the mean round trip over the shortest
    /// (Remy's `Utility`, which has 1 packet/ms for the first and 100 ms for the second: a constant for each network).
    /// 0 is a full link without a queue.
    pub fn utility(&self, rate: f64, rtt_ms: f64) -> f64 {
        if self.share_ms <= 0.0 {
            return 0.0;
        }
        if self.packets <= 0.0 {
            return NOTHING;
        }
        (self.packets / self.share_ms / rate).log2() - (self.delay_ms / self.packets / rtt_ms).log2()
    }
}

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "powers of two are exact")]
mod tests {
    use super::*;

    fn tally(packets: f64, delay_ms: f64, share_ms: f64) -> Tally {
        Tally { packets, delay_ms: packets * delay_ms, on_ms: share_ms, share_ms }
    }

    #[test]
    fn a_full_link_without_a_queue_is_nought() {
        assert_eq!(tally(200.0, 150.0, 100.0).utility(2.0, 150.0), 0.0);
    }

    #[test]
    fn half_the_throughput_costs_as_much_as_twice_the_delay() {
        assert_eq!(tally(100.0, 150.0, 100.0).utility(2.0, 150.0), -1.0);
        assert_eq!(tally(200.0, 300.0, 100.0).utility(2.0, 150.0), -1.0);
    }

    #[test]
    fn who_was_never_on_counts_nothing_and_who_received_nothing_much() {
        assert_eq!(Tally::default().utility(1.0, 150.0), 0.0);
        assert_eq!(tally(0.0, 0.0, 10.0).utility(1.0, 150.0), NOTHING);
    }

    #[test]
    fn two_senders_share_their_time() {
        let mut tally = Tally::default();
        tally.be_on(10.0, 5.0);
        tally.receive(150.0);
        tally.receive(170.0);
        assert_eq!(tally, Tally { packets: 2.0, delay_ms: 320.0, on_ms: 10.0, share_ms: 5.0 });
    }
}

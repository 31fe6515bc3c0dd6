//! What UDT knows of its packets: when each left, whether it arrived, and how long it is waited for
//! (`packet_tracker.h`, `ProcessAck`, `checkTimers`).

use std::collections::VecDeque;

use crate::units::Instant;

const NANOS: i64 = 1_000_000_000;

/// Round trip and deviation before the first sample, microseconds (`m_iRTT`, `m_iRTTVar`).
const FIRST_RTT: f64 = 1e7;
const FIRST_DEVIATION: f64 = 5e6;

/// Microseconds from one time to another, as two `timespec`s give them: seconds and nanoseconds are subtracted apart.
fn micros_between(sent: Instant, now: Instant) -> u64 {
    let (sent, now) = (sent.as_nanos() as i64, now.as_nanos() as i64);
    (1_000_000 * (now / NANOS - sent / NANOS) + (now % NANOS - sent % NANOS) / 1_000) as u64
}

#[derive(Debug)]
pub(super) struct Tracker {
    /// When each packet left, from the oldest that is waited for on; `None` once it arrived.
    sent: VecDeque<Option<Instant>>,
    /// The number of the first of them.
    first: u64,
    rtt: f64,
    deviation: f64,
}

impl Tracker {
    pub(super) fn new() -> Self {
        Self { sent: VecDeque::new(), first: 0, rtt: FIRST_RTT, deviation: FIRST_DEVIATION }
    }

    /// A packet leaves; returns its number.
    pub(super) fn on_sent(&mut self, now: Instant) -> u64 {
        self.sent.push_back(Some(now));
        self.first + self.sent.len() as u64 - 1
    }

    /// A packet arrived; returns its round trip in microseconds, unless it is no longer waited for.
    pub(super) fn on_acked(&mut self, packet: u64, now: Instant) -> Option<u64> {
        let place = usize::try_from(packet.checked_sub(self.first)?).ok()?;
        let rtt = micros_between(self.sent.get_mut(place)?.take()?, now);
        self.measure(rtt);
        Some(rtt)
    }

    /// One more round trip, microseconds.
    pub(super) fn measure(&mut self, rtt: u64) {
        let rtt = rtt as f64;
        self.rtt = (7.0 * self.rtt + rtt) / 8.0;
        self.deviation = (7.0 * self.deviation + (rtt - self.rtt).abs()) / 8.0;
    }

    /// True if packets are waited for.
    pub(super) fn is_waiting(&self) -> bool {
        !self.sent.is_empty()
    }

    /// The oldest packet, if it is waited for too long: it is taken for lost.
    pub(super) fn give_up(&mut self, now: Instant) -> Option<u64> {
        let patience = (2.0 * self.rtt + 4.0 * self.deviation) as u64;
        while let Some(&oldest) = self.sent.front() {
            if oldest.is_some_and(|sent| micros_between(sent, now) <= patience) {
                return None;
            }
            self.sent.pop_front();
            self.first += 1;
            if oldest.is_some() {
                return Some(self.first - 1);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Duration;

    fn at(micros: u64) -> Instant {
        Instant::ZERO + Duration::from_micros(micros)
    }

    /// One that has just measured a hundred round trips of 100 ms.
    fn settled() -> Tracker {
        let mut tracker = Tracker::new();
        for _ in 0..100 {
            tracker.measure(100_000);
        }
        tracker
    }

    #[test]
    fn a_packet_is_waited_for_two_round_trips_and_four_deviations() {
        // 10 s and 5 s, and one round trip of 100 ms: 8.7625 s and 5.4578 s.
        let mut tracker = Tracker::new();
        tracker.measure(100_000);
        tracker.on_sent(at(0));
        assert_eq!([at(39_356_250), at(39_356_251)].map(|now| tracker.give_up(now)), [None, Some(0)]);
        assert!(!tracker.is_waiting());
    }

    #[test]
    fn who_is_given_up_is_no_longer_heard_and_who_arrived_is_not_given_up() {
        let mut tracker = settled();
        let packets = [0, 1_000, 2_000].map(|micros| tracker.on_sent(at(micros)));
        assert_eq!(tracker.on_acked(packets[1], at(101_000)), Some(100_000));
        let found: Vec<_> = std::iter::from_fn(|| tracker.give_up(at(9_000_000))).collect();
        assert_eq!(found, [packets[0], packets[2]]);
        assert_eq!(packets.map(|packet| tracker.on_acked(packet, at(9_000_000))), [None; 3]);
    }

    #[test]
    fn a_round_trip_over_the_turn_of_a_second_is_rounded_up() {
        let between = |sent, now| micros_between(Instant::from_nanos(sent), Instant::from_nanos(now));
        assert_eq!(between(1_000, 51_999), 50);
        assert_eq!(between(999_999_500, 1_000_000_700), 2);
    }
}

//! Delivery-rate samples.
//!
//! **Source.** draft-ietf-ccwg-bbr, delivery rate samples; Linux `net/ipv4/tcp_output.c` (`tcp_rate_skb_sent`) and
//! `tcp_input.c` (`tcp_rate_skb_delivered`, `tcp_rate_gen`). Every packet remembers how much had been delivered when it
//! was sent; its ack then tells how much was delivered meanwhile, and over what time.

use crate::scheme::RateSample;
use crate::units::{Duration, Instant};

/// The delivery counters when a packet was sent (`tcp_rate_skb_sent`).
#[derive(Clone, Copy, Debug)]
pub(super) struct Snapshot {
    delivered: u64,
    delivered_at: Instant,
    first_sent: Instant,
    is_app_limited: bool,
}

/// Counts what is delivered.
#[derive(Clone, Debug)]
pub(super) struct RateSampler {
    delivered: u64,
    delivered_at: Instant,
    /// When the first packet of the flight being sampled was sent.
    first_sent: Instant,
    /// The sender is application-limited until more than this many packets are delivered.
    app_limited_until: Option<u64>,
    /// The sample that the current ack builds.
    candidate: Option<Candidate>,
}

#[derive(Clone, Copy, Debug)]
struct Candidate {
    snapshot: Snapshot,
    sent: Instant,
    sequence: u64,
    send_interval: Duration,
    is_retransmission: bool,
}

impl RateSampler {
    pub(super) fn new() -> Self {
        Self {
            delivered: 0,
            delivered_at: Instant::ZERO,
            first_sent: Instant::ZERO,
            app_limited_until: None,
            candidate: None,
        }
    }

    /// Packets delivered so far.
    pub(super) fn delivered(&self) -> u64 {
        self.delivered
    }

    /// True until more is delivered than the sender had in flight when its application wrote again after a pause; a
    /// connection begins so (`tp->app_limited`).
    pub(super) fn is_app_limited(&self) -> bool {
        self.app_limited_until.is_some() || self.delivered == 0
    }

    /// A packet leaves; `is_idle` if nothing else is outstanding.
    pub(super) fn on_sent(&mut self, now: Instant, is_idle: bool) -> Snapshot {
        if is_idle {
            self.first_sent = now;
            self.delivered_at = now;
        }
        Snapshot {
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent: self.first_sent,
            is_app_limited: self.app_limited_until.is_some(),
        }
    }

    /// The application writes after it had left room in the window: what is in flight cannot show the path's rate
    /// (`tcp_rate_check_app_limited`).
    pub(super) fn on_app_limited(&mut self, in_flight: u32) {
        self.app_limited_until = Some(self.delivered + u64::from(in_flight));
    }

    /// A packet was newly reported as delivered (`tcp_rate_skb_delivered`); the most recently sent one makes the
    /// sample.
    pub(super) fn on_delivered(
        &mut self,
        sequence: u64,
        sent: Instant,
        snapshot: Option<Snapshot>,
        is_retransmission: bool,
    ) {
        self.delivered += 1;
        let Some(snapshot) = snapshot else { return };
        let is_newer =
            self.candidate.is_none_or(|best| sent > best.sent || (sent == best.sent && sequence > best.sequence));
        if is_newer {
            self.first_sent = sent;
            let send_interval = sent.since(snapshot.first_sent);
            self.candidate = Some(Candidate { snapshot, sent, sequence, send_interval, is_retransmission });
        }
    }

    /// A needless retransmission was delivered (`tcp_dsack_seen`).
    pub(super) fn on_duplicate(&mut self) {
        self.delivered += 1;
    }

    /// What had been delivered when the sampled packet of this ack was sent.
    pub(super) fn prior_delivered(&self) -> Option<u64> {
        self.candidate.map(|candidate| candidate.snapshot.delivered)
    }

    /// Ends an ack of which no scheme is told.
    pub(super) fn drop_sample(&mut self) {
        self.candidate = None;
    }

    /// Ends the ack and returns its sample (`tcp_rate_gen`).
    pub(super) fn finish(&mut self, now: Instant, has_delivered: bool, min_rtt: Duration) -> RateSample {
        if self.app_limited_until.is_some_and(|until| self.delivered > until) {
            self.app_limited_until = None;
        }
        if has_delivered {
            self.delivered_at = now;
        }
        let Some(Candidate { snapshot, send_interval, is_retransmission, .. }) = self.candidate.take() else {
            return RateSample::default();
        };
        let interval = send_interval.max(now.since(snapshot.delivered_at));
        // Shorter than the path allows: the ack of a spurious retransmission, or ack compression.
        let is_valid = interval >= min_rtt && !interval.is_zero();
        RateSample {
            delivered: self.delivered - snapshot.delivered,
            interval: is_valid.then_some(interval),
            prior_delivered: snapshot.delivered,
            is_app_limited: snapshot.is_app_limited,
            is_retransmission,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    #[test]
    fn a_steady_flow_shows_its_rate() {
        let mut sampler = RateSampler::new();
        // One packet per millisecond, 50 ms of round trip.
        let snapshots: Vec<_> = (0..50).map(|n| sampler.on_sent(at(n), n == 0)).collect();
        let mut last = RateSample::default();
        for n in 0..50 {
            sampler.on_delivered(n, at(n), Some(snapshots[n as usize]), false);
            last = sampler.finish(at(n + 50), true, Duration::from_millis(50));
        }
        assert_eq!((last.delivered, last.interval), (50, Some(Duration::from_millis(99))));
        assert!(!last.is_app_limited);
    }

    #[test]
    fn a_sample_shorter_than_the_minimum_rtt_is_void() {
        let mut sampler = RateSampler::new();
        let snapshot = sampler.on_sent(at(0), true);
        sampler.on_delivered(0, at(0), Some(snapshot), true);
        assert_eq!(sampler.finish(at(10), true, Duration::from_millis(50)).interval, None);
    }

    #[test]
    fn what_is_in_flight_when_the_application_pauses_is_marked() {
        let mut sampler = RateSampler::new();
        sampler.on_app_limited(3);
        let snapshot = sampler.on_sent(at(0), true);
        sampler.on_delivered(0, at(0), Some(snapshot), false);
        assert!(sampler.finish(at(50), true, Duration::ZERO).is_app_limited);
    }

    /// Packets in the order of their numbers: when each leaves, and whether that is after silence.
    fn send(sampler: &mut RateSampler, times: &[(u64, bool)]) -> Vec<Snapshot> {
        times.iter().map(|(millis, is_idle)| sampler.on_sent(at(*millis), *is_idle)).collect()
    }

    /// The sample of an ack that tells of one packet, which left at `sent`.
    fn acked(sampler: &mut RateSampler, sequence: u64, sent: u64, snapshot: Snapshot, now: u64) -> RateSample {
        sampler.on_delivered(sequence, at(sent), Some(snapshot), false);
        sampler.finish(at(now), true, Duration::ZERO)
    }

    fn millis(sample: RateSample) -> Option<u64> {
        sample.interval.map(Duration::as_millis)
    }

    #[test]
    fn after_silence_neither_sending_nor_delivery_is_counted_from_before_it() {
        let mut sampler = RateSampler::new();
        let first = send(&mut sampler, &[(0, true)])[0];
        acked(&mut sampler, 0, 0, first, 50);
        let later = send(&mut sampler, &[(1_000, true), (1_060, false)]);
        assert_eq!(millis(acked(&mut sampler, 1, 1_000, later[0], 1_050)), Some(50));
        assert_eq!(millis(acked(&mut sampler, 2, 1_060, later[1], 1_051)), Some(60), "it was sent for so long");
    }

    #[test]
    fn a_sample_begins_where_the_flight_before_it_was_sent_and_delivered() {
        let mut sampler = RateSampler::new();
        let first = send(&mut sampler, &[(0, true), (40, false)]);
        acked(&mut sampler, 0, 0, first[0], 50);
        acked(&mut sampler, 1, 40, first[1], 52);
        // An ack that delivers nothing moves nothing.
        sampler.finish(at(70), false, Duration::ZERO);
        let next = send(&mut sampler, &[(75, false)])[0];
        assert_eq!(millis(acked(&mut sampler, 2, 75, next, 125)), Some(73));
        // One that delivers what had served as a sample before does.
        sampler.on_delivered(3, at(75), None, true);
        assert_eq!(millis(sampler.finish(at(130), true, Duration::ZERO)), None);
        let last = send(&mut sampler, &[(131, false)])[0];
        assert_eq!(millis(acked(&mut sampler, 4, 131, last, 190)), Some(60), "sent for 56 ms, delivered in 60");
    }

    #[test]
    fn acks_that_come_faster_than_packets_left_show_the_rate_at_which_they_left() {
        let mut sampler = RateSampler::new();
        let first = send(&mut sampler, &[(0, true)])[0];
        acked(&mut sampler, 0, 0, first, 50);
        let later = send(&mut sampler, &[(60, false), (100, false)]);
        acked(&mut sampler, 1, 60, later[0], 140);
        assert_eq!(millis(acked(&mut sampler, 2, 100, later[1], 141)), Some(100), "and not 91, for the acks");
    }

    #[test]
    fn of_packets_that_left_at_once_the_highest_is_the_sample() {
        for order in [[1, 2], [2, 1]] {
            let mut sampler = RateSampler::new();
            let first = sampler.on_sent(at(0), true);
            let snapshots = [sampler.on_sent(at(0), false), {
                acked(&mut sampler, 0, 0, first, 0);
                sampler.on_sent(at(0), false)
            }];
            for sequence in order {
                sampler.on_delivered(sequence, at(0), Some(snapshots[sequence as usize - 1]), false);
            }
            assert_eq!(sampler.finish(at(50), true, Duration::ZERO).delivered, 2, "{order:?}");
        }
    }

    #[test]
    fn of_several_packets_the_one_that_left_last_is_the_sample() {
        for order in [[5, 1], [1, 5]] {
            let mut sampler = RateSampler::new();
            let early = send(&mut sampler, &[(0, true), (0, false)]);
            acked(&mut sampler, 0, 0, early[0], 9);
            let again = send(&mut sampler, &[(10, false)])[0];
            for sequence in order {
                let (sent, snapshot) = if sequence == 1 { (10, again) } else { (0, early[1]) };
                sampler.on_delivered(sequence, at(sent), Some(snapshot), sequence == 1);
            }
            assert_eq!(sampler.prior_delivered(), Some(1), "{order:?}");
        }
    }

    #[test]
    fn a_sample_as_long_as_the_least_round_trip_is_valid() {
        let mut sampler = RateSampler::new();
        let snapshot = sampler.on_sent(at(0), true);
        sampler.on_delivered(0, at(0), Some(snapshot), false);
        assert_eq!(millis(sampler.finish(at(50), true, Duration::from_millis(50))), Some(50));
    }

    #[test]
    fn the_application_limits_until_more_is_delivered_than_was_in_flight() {
        let mut sampler = RateSampler::new();
        assert!(sampler.is_app_limited(), "a connection begins so");
        sampler.on_app_limited(0);
        assert!(sampler.on_sent(at(0), true).is_app_limited, "with nothing delivered and nothing in flight, too");
        let snapshots = send(&mut sampler, &[(1, true), (1, false), (1, false), (1, false)]);
        sampler.on_app_limited(3);
        for (sequence, snapshot) in (0..).zip(snapshots) {
            let sample = acked(&mut sampler, sequence, 1, snapshot, 50);
            assert!(sample.is_app_limited);
            assert_eq!(sampler.is_app_limited(), sequence < 3, "{sequence}");
        }
    }
}

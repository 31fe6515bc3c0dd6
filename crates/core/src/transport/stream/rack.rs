//! RACK: what was sent well before a packet that has since been delivered is lost.
//!
//! **Source.** RFC 8985; Linux `net/ipv4/tcp_recovery.c`.

use super::scoreboard::{Outstanding, Scoreboard, Transmission};
use crate::scheme::State;
use crate::units::{Duration, Instant};

/// Segments after which a hole counts as a loss while no reordering is known (Linux `tcp_reordering`).
const REORDERING: u32 = 3;
/// Linux `tcp_max_reordering`.
const MAX_REORDERING: u32 = 300;
/// A widened window is kept for so many recoveries (Linux `TCP_RACK_RECOVERY_THRESH`).
const KEEP_RECOVERIES: u32 = 16;
/// The widest reordering window, in quarters of the minimum round trip.
const MAX_STEPS: u64 = 255;

/// What the reordering window depends on besides RACK's own state.
#[derive(Clone, Copy, Debug)]
pub(super) struct Context {
    pub(super) state: State,
    pub(super) srtt: Duration,
    pub(super) min_rtt: Duration,
}

/// The most recently sent segment that was delivered, and how much reordering the path shows.
#[derive(Clone, Debug)]
pub(super) struct Rack {
    sent: Instant,
    sequence: u64,
    rtt: Duration,
    has_advanced: bool,
    /// Segments by which a segment has been overtaken.
    reordering: u32,
    has_seen_reordering: bool,
    steps: u64,
    keep: u32,
    has_seen_duplicate: bool,
    adjusted_at_delivered: u64,
}

impl Rack {
    pub(super) fn new() -> Self {
        Self {
            sent: Instant::ZERO,
            sequence: 0,
            rtt: Duration::ZERO,
            has_advanced: false,
            reordering: REORDERING,
            has_seen_reordering: false,
            steps: 1,
            keep: 0,
            has_seen_duplicate: false,
            adjusted_at_delivered: 0,
        }
    }

    /// True if the path reorders more than usual, so that windows may grow on any delivery.
    pub(super) fn is_reordering_common(&self) -> bool {
        self.reordering > REORDERING
    }

    /// A segment was delivered (`tcp_rack_advance`).
    pub(super) fn on_delivered(&mut self, sequence: u64, segment: &Transmission, min_rtt: Duration, now: Instant) {
        let rtt = now.since(segment.sent);
        if rtt < min_rtt && segment.was_retransmitted {
            // Too early for the retransmission: the original has arrived.
            return;
        }
        self.has_advanced = true;
        self.rtt = rtt;
        if (segment.sent, sequence) > (self.sent, self.sequence) {
            self.sent = segment.sent;
            self.sequence = sequence;
        }
    }

    /// A never retransmitted segment `distance` below the highest delivered one arrived late
    /// (`tcp_check_sack_reordering`).
    pub(super) fn on_reordering(&mut self, distance: u64) {
        self.reordering = self.reordering.max(distance.min(u64::from(MAX_REORDERING)) as u32);
        self.has_seen_reordering = true;
    }

    /// A retransmission proved unnecessary. Without reordering RACK's patience was not the cause (`tcp_dsack_seen`).
    pub(super) fn on_duplicate(&mut self) {
        self.has_seen_duplicate |= self.has_seen_reordering;
    }

    /// The detection is to be repeated at the next ack.
    pub(super) fn rearm(&mut self) {
        self.has_advanced = true;
    }

    /// A recovery ended without an undo: the widened window expires after some of them.
    pub(super) fn on_recovered(&mut self) {
        self.keep = self.keep.saturating_sub(1);
    }

    /// All retransmissions of a recovery proved unnecessary: the widened window stays a little longer
    /// (`tcp_try_undo_dsack`).
    pub(super) fn on_needless_recovery(&mut self) {
        self.keep = (self.keep + 1).min(KEEP_RECOVERIES);
    }

    /// A timeout came although many segments had been selectively acknowledged: less reordering than thought.
    pub(super) fn on_timeout_in_disorder(&mut self, sacked: u32) {
        if sacked >= REORDERING {
            self.reordering = self.reordering.min(REORDERING);
        }
    }

    /// Widens the reordering window by a quarter round trip per round trip with a duplicate
    /// (`tcp_rack_update_reo_wnd`).
    pub(super) fn update_window(&mut self, prior_delivered: Option<u64>, delivered: u64) {
        let Some(prior_delivered) = prior_delivered else { return };
        if prior_delivered < self.adjusted_at_delivered {
            self.has_seen_duplicate = false;
        }
        if self.has_seen_duplicate {
            self.steps = (self.steps + 1).min(MAX_STEPS);
            self.has_seen_duplicate = false;
            self.adjusted_at_delivered = delivered;
            self.keep = KEEP_RECOVERIES;
        } else if self.keep == 0 {
            self.steps = 1;
        }
    }

    fn reordering_window(&self, context: Context, sacked: u32) -> Duration {
        if !self.has_seen_reordering && (context.state >= State::Recovery || sacked >= self.reordering) {
            return Duration::ZERO;
        }
        (context.min_rtt.scale(1, 4) * self.steps).min(context.srtt)
    }

    /// How long a segment sent at `sent` has left before it counts as lost (`tcp_rack_skb_timeout`); `None` if its time
    /// is over.
    fn time_left(&self, sent: Instant, window: Duration, now: Instant) -> Option<Duration> {
        let left = (self.rtt + window).saturating_sub(now.since(sent));
        (!left.is_zero()).then_some(left)
    }

    /// True if a timeout should take `segment` for lost (`tcp_timeout_mark_lost`): it was not sent only just now.
    pub(super) fn is_overdue(&self, segment: &Outstanding, now: Instant) -> bool {
        self.time_left(segment.sent, Duration::ZERO, now).is_none()
    }

    /// Calls `on_lost` for every segment that is lost, and returns how long until the next one may be; needs news since
    /// the last call.
    pub(super) fn detect_if_advanced(
        &mut self,
        scoreboard: &mut Scoreboard,
        context: Context,
        now: Instant,
        on_lost: impl FnMut(&Outstanding),
    ) -> Option<Duration> {
        if !std::mem::take(&mut self.has_advanced) {
            return None;
        }
        self.detect(scoreboard, context, now, on_lost)
    }

    /// The same without news, when the reordering timer expires (`tcp_rack_detect_loss`).
    pub(super) fn detect(
        &mut self,
        scoreboard: &mut Scoreboard,
        context: Context,
        now: Instant,
        mut on_lost: impl FnMut(&Outstanding),
    ) -> Option<Duration> {
        let window = self.reordering_window(context, scoreboard.sacked());
        let mut longest = None;
        let mut next = scoreboard.oldest_sent();
        while let Some(sequence) = next {
            let Some(segment) = scoreboard.get(sequence) else { break };
            next = scoreboard.sent_after(segment);
            if segment.is_lost && !segment.is_retransmitted {
                // A timeout took it for lost, and it has not been sent again yet.
                continue;
            }
            if (segment.sent, sequence) >= (self.sent, self.sequence) {
                break;
            }
            if let Some(left) = self.time_left(segment.sent, window, now) {
                longest = longest.max(Some(left));
            } else {
                if !segment.is_sacked {
                    on_lost(segment);
                }
                scoreboard.mark_lost(sequence);
                scoreboard.unlink(sequence);
            }
        }
        longest
    }
}

#[cfg(test)]
mod tests {
    use super::super::rate_sampler::RateSampler;
    use super::*;
    use crate::units::Bytes;

    #[test]
    fn a_duplicate_widens_the_window_only_where_packets_change_places() {
        let mut rack = Rack::new();
        for (reordering, steps) in [(0, 1), (5, 2)] {
            if reordering > 0 {
                rack.on_reordering(reordering);
            }
            rack.on_duplicate();
            rack.update_window(Some(1), 10);
            assert_eq!(rack.steps, steps);
        }
    }

    #[test]
    fn a_widened_window_is_kept_for_sixteen_recoveries_and_for_one_more_with_each_needless_one() {
        let mut rack = Rack::new();
        rack.on_reordering(5);
        rack.on_duplicate();
        rack.update_window(Some(1), 10);
        (0..15).for_each(|_| rack.on_recovered());
        rack.on_needless_recovery();
        for steps in [2, 1] {
            rack.on_recovered();
            rack.update_window(Some(20), 30);
            assert_eq!(rack.steps, steps);
        }
    }

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    #[test]
    fn the_timer_waits_for_the_last_that_may_be_lost() {
        let mut scoreboard = Scoreboard::new();
        let mut sampler = RateSampler::new();
        for millis in [0, 2, 6] {
            scoreboard.push(at(millis), Bytes::new(1_448), sampler.on_sent(at(millis), false), 0);
        }
        let mut rack = Rack::new();
        let context =
            Context { state: State::Open, srtt: Duration::from_millis(20), min_rtt: Duration::from_millis(20) };
        let last = scoreboard.mark_sacked(2).expect("it was sent");
        rack.on_delivered(2, &last, context.min_rtt, at(26));
        let mut lost = Vec::new();
        let wait = rack.detect(&mut scoreboard, context, at(26), |segment| lost.push(segment.sent));
        // A quarter of the round trip of patience: the first is 6 ms behind, the second 4 ms.
        assert_eq!((lost, wait), (vec![at(0)], Some(Duration::from_millis(1))));
    }

    fn sent_at(millis: u64, was_retransmitted: bool) -> Transmission {
        Transmission { sent: at(millis), snapshot: None, scheme_state: 0, length: Bytes::new(1_448), was_retransmitted }
    }

    #[test]
    fn what_left_last_of_all_that_has_arrived_is_what_counts() {
        let mut rack = Rack::new();
        let min_rtt = Duration::from_millis(20);
        let mut latest = |sequence, millis, was_retransmitted, now| {
            rack.on_delivered(sequence, &sent_at(millis, was_retransmitted), min_rtt, at(now));
            (rack.sequence, rack.sent.as_millis(), rack.rtt.as_millis())
        };
        assert_eq!(latest(5, 10, false, 35), (5, 10, 25));
        assert_eq!(latest(3, 8, false, 36), (5, 10, 28), "it left before");
        assert_eq!(latest(4, 10, false, 37), (5, 10, 27), "at once, and before it");
        assert_eq!(latest(3, 30, true, 49), (5, 10, 27), "so soon only the original arrives");
        assert_eq!(latest(3, 30, true, 50), (3, 30, 20));
        assert_eq!(latest(6, 31, false, 50), (6, 31, 19), "sent once, it has arrived in any case");
    }

    #[test]
    fn reordering_is_counted_up_to_three_hundred_and_a_timeout_with_three_beyond_the_hole_forgets_it() {
        let mut rack = Rack::new();
        rack.on_reordering(1_000);
        assert_eq!(rack.reordering, 300);
        rack.on_timeout_in_disorder(2);
        assert!(rack.is_reordering_common());
        rack.on_timeout_in_disorder(3);
        assert_eq!((rack.reordering, rack.is_reordering_common()), (3, false));
    }

    #[test]
    fn a_window_widens_once_per_round_trip_and_255_times_at_most() {
        let mut rack = Rack::new();
        rack.on_reordering(5);
        let mut after = |prior_delivered, delivered| {
            rack.on_duplicate();
            rack.update_window(Some(prior_delivered), delivered);
            rack.steps
        };
        assert_eq!(after(1, 10), 2);
        assert_eq!(after(9, 12), 2, "it left before the window was widened");
        assert_eq!(after(10, 20), 3);
        assert_eq!((2..300).map(|round| after(10 * round, 10 * round + 10)).last(), Some(255));
    }

    #[test]
    fn needless_recoveries_keep_a_window_for_no_more_than_sixteen() {
        let mut rack = Rack::new();
        rack.on_reordering(5);
        rack.on_duplicate();
        rack.update_window(Some(1), 10);
        (0..40).for_each(|_| rack.on_needless_recovery());
        (0..16).for_each(|_| rack.on_recovered());
        rack.update_window(Some(20), 30);
        assert_eq!(rack.steps, 1);
    }

    #[test]
    fn patience_is_a_quarter_of_the_least_round_trip_a_step_and_the_smoothed_one_at_most() {
        let mut rack = Rack::new();
        let (min_rtt, srtt) = (Duration::from_millis(20), Duration::from_millis(50));
        let window =
            |rack: &Rack, state, sacked| rack.reordering_window(Context { state, srtt, min_rtt }, sacked).as_millis();
        assert_eq!([State::Open, State::Disorder, State::Cwr].map(|state| window(&rack, state, 2)), [5; 3]);
        assert_eq!([State::Recovery, State::Loss].map(|state| window(&rack, state, 0)), [0; 2]);
        assert_eq!(window(&rack, State::Open, 3), 0, "as many as make a loss of a hole");
        rack.on_reordering(2);
        assert_eq!([window(&rack, State::Recovery, 0), window(&rack, State::Open, 3)], [5; 2]);
        rack.steps = 8;
        assert_eq!(window(&rack, State::Open, 0), 40);
        rack.steps = 11;
        assert_eq!(window(&rack, State::Open, 0), 50);
    }

    #[test]
    fn what_a_timeout_took_for_lost_is_not_found_lost_again_before_it_is_sent_again() {
        let (mut scoreboard, mut sampler) = (Scoreboard::new(), RateSampler::new());
        for millis in [0, 1, 2, 3] {
            scoreboard.push(at(millis), Bytes::new(1_448), sampler.on_sent(at(millis), false), 0);
        }
        scoreboard.mark_lost(0);
        let last = scoreboard.mark_sacked(3).expect("it was sent");
        let mut rack = Rack::new();
        let rtt = Duration::from_millis(20);
        rack.on_delivered(3, &last, rtt, at(23));
        let mut lost = Vec::new();
        let context = Context { state: State::Loss, srtt: rtt, min_rtt: rtt };
        rack.detect(&mut scoreboard, context, at(23), |segment| lost.push(segment.sent.as_millis()));
        assert_eq!(lost, [1, 2]);
    }
}

//! When to acknowledge: delayed acks, quick acks, compressed acks.
//!
//! **Source.** Linux `net/ipv4/tcp_input.c` (`tcp_event_data_recv`, `__tcp_ack_snd_check`) and `tcp_output.c`
//! (`tcp_send_delayed_ack`), for a receiver that never sends data of its own. A segment that widens the receive window
//! is acknowledged at once ([`super::receive_window`]), which is so for every one at the beginning of a connection.

use super::rtt::RTO_MIN;
use super::{AckMode, wheel};
use crate::units::{Duration, Instant, earlier};

/// Linux `TCP_ATO_MIN` and `TCP_DELACK_MIN`.
const DELAY_MIN: Duration = Duration::from_millis(40);
/// The longest that an ack would wait (`TCP_DELACK_MAX`), and the longest that one does: less than the shortest timeout
/// (`tcp_delack_max`).
const DELAY_MAX: Duration = Duration::from_millis(200);
const WAIT_MAX: Duration = Duration::from_millis(199);
/// Segments acknowledged one by one at the start and after a duplicate are half of those that the window holds, no more
/// than this (`TCP_MAX_QUICKACKS`), and so many if half of it holds none (`tcp_incr_quickack`).
const MOST_QUICK_ACKS: u64 = 16;
const QUICK_ACKS_OF_A_TINY_WINDOW: u64 = 2;
/// Duplicate acks that leave at once before compression begins (`TCP_FASTRETRANS_THRESH`).
const UNCOMPRESSED: u32 = 3;
/// The most acks that one stands for (`tcp_comp_sack_nr`).
const MAX_COMPRESSED: u32 = 44;
/// The longest wait of a compressed ack (`tcp_comp_sack_delay_ns`), by how much its timer may be late, which on an idle
/// machine it is (`tcp_comp_sack_slack_ns`), and the share of the round trip in percent (`tcp_comp_sack_rtt_percent`).
const COMPRESSION_DELAY: Duration = Duration::from_millis(1);
const COMPRESSION_SLACK: Duration = Duration::from_micros(10);
const COMPRESSION_PERCENT: u64 = 33;

/// What a segment that has just arrived means to the receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arrival {
    /// The next expected one, with nothing missing before or after.
    InOrder,
    /// The same, but an ack is left to the application, which has yet to read.
    ForReader,
    /// The next expected one, with later ones waiting for others still missing.
    BeforeHole,
    /// The same, or it closed the last hole: an ack is due in any case.
    Closes,
    /// A later one than expected.
    OutOfOrder,
    /// One that had arrived before, and waits for others still missing.
    Repeated,
    /// One that had arrived before, as all before it.
    Duplicate,
    /// The same, before the last ack or with an old time stamp: it is acknowledged, but no ack is due (`tcp_send_dupack`).
    Old,
}

/// Rounded up to ticks (`usecs_to_jiffies`).
fn in_ticks(time: Duration) -> Duration {
    Duration::from_millis(time.as_micros().div_ceil(1_000))
}

/// Decides when an ack leaves.
#[derive(Clone, Debug)]
pub(super) struct AckPolicy {
    mode: AckMode,
    /// Segments that are acknowledged one by one where that is called for.
    most_quick: u32,
    /// Segments still to be acknowledged one by one.
    quick: u32,
    /// How long an ack may wait for company; zero before the first segment.
    delay: Duration,
    last_arrival: Instant,
    unacked: u32,
    /// One of them was pushed (`ICSK_ACK_PUSHED`).
    is_pushed: bool,
    /// Something has arrived that an ack is to tell of (`ICSK_ACK_SCHED`).
    is_scheduled: bool,
    is_due: bool,
    is_delaying: bool,
    /// When the timer of delayed acks goes off. An ack that leaves does not stop it, and if it then finds acks held
    /// back for compression, they leave (`tcp_delack_timer_handler`).
    delay_timer: Option<Instant>,
    duplicates: u32,
    compressed: u32,
    compressed_until: Option<Instant>,
    rtt: Option<Duration>,
    /// What time stamps tell of it, in whole milliseconds at first: zero if it is less (`rcv_rtt_est`).
    stamped_rtt: Option<Duration>,
}

impl AckPolicy {
    /// The policy of a receiver that has nothing yet.
    pub(super) fn new(mode: AckMode) -> Self {
        Self {
            mode,
            most_quick: MOST_QUICK_ACKS as u32,
            quick: 0,
            delay: Duration::ZERO,
            last_arrival: Instant::ZERO,
            unacked: 0,
            is_pushed: false,
            is_scheduled: false,
            is_due: false,
            is_delaying: false,
            delay_timer: None,
            duplicates: 0,
            compressed: 0,
            compressed_until: None,
            rtt: None,
            stamped_rtt: None,
        }
    }

    /// The receiver has told of a window of so many segments.
    pub(super) fn set_window(&mut self, segments: u64) {
        let most_quick = match segments / 2 {
            0 => QUICK_ACKS_OF_A_TINY_WINDOW,
            half => half.min(MOST_QUICK_ACKS),
        };
        self.most_quick = most_quick as u32;
    }

    /// The receiver has measured the round trip.
    pub(super) fn set_rtt(&mut self, rtt: Duration) {
        self.rtt = Some(rtt);
    }

    /// Time stamps tell of the round trip.
    pub(super) fn set_stamped_rtt(&mut self, rtt: Option<Duration>) {
        self.stamped_rtt = rtt;
    }

    /// A segment arrived; `is_wider` if it widened the receive window, `quick` of the next ones are to be acknowledged
    /// one by one because its ECN codepoint brings news of congestion (`tcp_enter_quickack_mode`).
    pub(super) fn on_arrival(&mut self, arrival: Arrival, is_wider: bool, quick: u32, now: Instant) {
        if self.mode == AckMode::Each {
            self.is_due = true;
            return;
        }
        if !matches!(arrival, Arrival::OutOfOrder | Arrival::Repeated | Arrival::Duplicate | Arrival::Old) {
            self.adapt_delay(now);
        }
        self.is_scheduled |= arrival != Arrival::Old;
        if quick > 0 {
            self.quick = self.quick.max(quick.min(self.most_quick));
            self.delay = DELAY_MIN;
        }
        if is_wider {
            self.quick |= 1;
        }
        match arrival {
            Arrival::InOrder => {
                self.unacked += 1;
                if self.unacked > 1 || self.quick > 0 { self.is_due = true } else { self.hold_back(now) }
            }
            Arrival::ForReader => {
                self.unacked += 1;
                if self.quick > 0 {
                    self.is_due = true;
                } else if self.unacked == 1 {
                    self.hold_back(now);
                }
            }
            Arrival::Closes => {
                self.duplicates = 0;
                self.is_due = true;
            }
            Arrival::BeforeHole => {
                self.duplicates = 0;
                self.compress(now);
            }
            Arrival::OutOfOrder | Arrival::Repeated => self.compress(now),
            Arrival::Duplicate | Arrival::Old => {
                self.quick = self.quick.max(self.most_quick);
                self.delay = DELAY_MIN;
                self.is_due = true;
            }
        }
    }

    /// A segment is pushed that has just arrived (`tcp_measure_rcv_mss`).
    #[cold]
    pub(super) fn on_pushed(&mut self) {
        self.is_pushed = true;
    }

    /// The application has read what it can, `is_all` if that is all that has arrived; true if that lets an ack go
    /// (`tcp_cleanup_rbuf`).
    pub(super) fn on_read(&mut self, is_all: bool) -> bool {
        let lets_go = (self.unacked > 1 || (self.unacked > 0 && self.is_pushed && is_all)) && !self.is_due;
        self.is_due |= lets_go;
        lets_go
    }

    /// The next ack leaves at once (`ICSK_ACK_NOW`).
    pub(super) fn acknowledge_now(&mut self) {
        self.is_due = true;
    }

    /// True if an ack leaves at once.
    pub(super) fn is_due(&self) -> bool {
        self.is_due
    }

    /// True if an ack waits for company.
    pub(super) fn is_delaying(&self) -> bool {
        self.is_delaying
    }

    /// True if acks are held back for others to come.
    pub(super) fn holds_back(&self) -> bool {
        self.compressed > 0
    }

    /// `tcp_event_data_recv`: the delay follows the spacing of segments.
    fn adapt_delay(&mut self, now: Instant) {
        if self.delay.is_zero() {
            self.quick = self.quick.max(self.most_quick);
            self.delay = DELAY_MIN;
        } else {
            // In ticks, as all here.
            let spacing = Duration::from_millis(now.as_millis() - self.last_arrival.as_millis());
            let half = Duration::from_millis(self.delay.as_millis() / 2);
            if spacing <= DELAY_MIN.scale(1, 2) {
                self.delay = half + DELAY_MIN.scale(1, 2);
            } else if spacing < self.delay {
                self.delay = (half + spacing).min(DELAY_MAX);
            } else if self.rtt.is_some_and(|rtt| spacing > in_ticks(rtt + (rtt * 2).max(RTO_MIN))) {
                self.quick = self.quick.max(self.most_quick);
            }
        }
        self.last_arrival = now;
    }

    /// `tcp_send_delayed_ack`.
    fn hold_back(&mut self, now: Instant) {
        let wait = self.rtt.map_or(self.delay, |rtt| self.delay.min(rtt.max(DELAY_MIN)));
        self.delay_timer = Some(wheel::expiry(now, wait.min(WAIT_MAX)));
        self.is_delaying = true;
    }

    /// After three duplicate acks, one ack stands for all of a millisecond (`__tcp_ack_snd_check`).
    fn compress(&mut self, now: Instant) {
        if self.quick > 0 {
            self.is_due = true;
            return;
        }
        if self.duplicates < UNCOMPRESSED {
            self.duplicates += 1;
            self.is_due = true;
            return;
        }
        if self.compressed == 0 {
            // It went off while there was nothing to do for it.
            self.delay_timer = self.delay_timer.filter(|timer| *timer > now);
        }
        self.compressed += 1;
        if self.compressed >= MAX_COMPRESSED {
            self.is_due = true;
        } else if self.compressed_until.is_none() {
            let rtt = self.rtt.map(|rtt| self.stamped_rtt.map_or(rtt, |stamped| stamped.min(rtt)));
            let share = rtt.map_or(COMPRESSION_DELAY, |rtt| rtt.scale(COMPRESSION_PERCENT, 100));
            self.compressed_until = Some(now + COMPRESSION_DELAY.min(share) + COMPRESSION_SLACK);
        }
    }

    /// True if an ack must leave at `now`, which it then does.
    pub(super) fn poll_ack(&mut self, now: Instant) -> bool {
        if self.delay_timer().is_some_and(|timer| timer <= now) {
            self.delay_timer = None;
            self.is_due = true;
            if self.compressed == 0 {
                // The companion did not come: wait longer the next time.
                self.delay = (self.delay * 2).min(DELAY_MAX);
            }
        }
        self.is_due |= self.compressed_until.is_some_and(|until| until <= now);
        self.is_due
    }

    /// An ack left.
    pub(super) fn on_ack_sent(&mut self) {
        if std::mem::take(&mut self.is_scheduled) {
            if self.quick == 1 {
                self.delay = DELAY_MIN;
            }
            self.quick = self.quick.saturating_sub(1);
        }
        self.unacked = 0;
        self.is_pushed = false;
        self.is_due = false;
        self.is_delaying = false;
        self.compressed = 0;
        self.compressed_until = None;
    }

    /// The timer of delayed acks, if there is something to do for it.
    fn delay_timer(&self) -> Option<Instant> {
        self.delay_timer.filter(|_| self.is_delaying || self.compressed > 0)
    }

    /// True if no ack is due before `time`, unless more arrives.
    pub(super) fn is_silent_before(&self, time: Instant) -> bool {
        !self.is_due && self.next_wakeup().is_none_or(|next| next >= time)
    }

    /// When an ack is due that waits.
    pub(super) fn next_wakeup(&self) -> Option<Instant> {
        earlier(self.delay_timer(), self.compressed_until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    /// For segments that arrive every `spacing` milliseconds, which of them cause an ack at once.
    fn acks(arrival: Arrival, spacing: u64, count: u64) -> Vec<bool> {
        let mut policy = AckPolicy::new(AckMode::Delayed);
        (0..count)
            .map(|n| {
                policy.on_arrival(arrival, false, 0, at(n * spacing));
                let is_due = policy.poll_ack(at(n * spacing));
                if is_due {
                    policy.on_ack_sent();
                }
                is_due
            })
            .collect()
    }

    #[test]
    fn after_sixteen_quick_acks_every_second_segment_is_acknowledged() {
        let acks = acks(Arrival::InOrder, 1, 22);
        assert!(acks[..16].iter().all(|is_acked| *is_acked));
        assert_eq!(acks[16..], [false, true, false, true, false, true]);
    }

    #[test]
    fn a_small_window_has_fewer_quick_acks() {
        for (window, quick) in [(0, 2), (1, 2), (2, 1), (13, 6), (33, 16), (1_000, 16)] {
            let mut policy = AckPolicy::new(AckMode::Delayed);
            policy.set_window(window);
            policy.on_arrival(Arrival::InOrder, false, 0, at(0));
            assert_eq!(policy.quick, quick, "{window}");
        }
    }

    #[test]
    fn every_segment_is_acknowledged_while_the_window_grows() {
        let mut policy = AckPolicy::new(AckMode::Delayed);
        for n in 0..130 {
            policy.on_arrival(Arrival::InOrder, n < 100, 0, at(n));
            let is_due = policy.poll_ack(at(n));
            assert_eq!(is_due, n < 116 || n % 2 == 1, "{n}");
            if is_due {
                policy.on_ack_sent();
            }
        }
    }

    #[test]
    fn a_protocol_may_acknowledge_every_segment_whatever_it_means() {
        let mut policy = AckPolicy::new(AckMode::Each);
        for arrival in [Arrival::InOrder, Arrival::OutOfOrder, Arrival::Duplicate, Arrival::BeforeHole].repeat(20) {
            policy.on_arrival(arrival, false, 0, at(0));
            assert!(policy.poll_ack(at(0)), "{arrival:?}");
            policy.on_ack_sent();
        }
    }

    /// A receiver that has had seventeen segments, a millisecond apart, of which the last waits for company.
    fn with_one_that_waits() -> AckPolicy {
        let mut policy = AckPolicy::new(AckMode::Delayed);
        for n in 0..17 {
            policy.on_arrival(Arrival::InOrder, false, 0, at(n));
            if policy.poll_ack(at(n)) {
                policy.on_ack_sent();
            }
        }
        policy
    }

    #[test]
    fn a_lonely_segment_is_acknowledged_after_forty_milliseconds() {
        let mut policy = with_one_that_waits();
        let due = policy.next_wakeup().expect("the seventeenth waits");
        assert_eq!(due.as_millis(), 16 + 41, "at the tick after 40 ms");
        assert!(policy.poll_ack(due));
    }

    #[test]
    fn the_fourth_duplicate_ack_is_compressed() {
        let acks = acks(Arrival::OutOfOrder, 0, 47);
        assert_eq!(acks[..4], [true, true, true, false]);
        assert_eq!(acks.iter().filter(|is_acked| **is_acked).count(), 4);
        assert!(acks[46], "the 44th compressed ack leaves");
    }

    /// A receiver whose first delayed ack has left, at the second segment, before its timer goes off at 42 ms, and
    /// which has then sent the three acks that are not compressed.
    fn with_a_timer_of_no_use() -> AckPolicy {
        let mut policy = AckPolicy::new(AckMode::Delayed);
        let in_order = [Arrival::InOrder; 18];
        for (number, arrival) in (0..).zip(in_order.into_iter().chain([Arrival::OutOfOrder; 3])) {
            let now = if number < 16 { at(0) } else { at(1) + Duration::from_micros(number) };
            policy.on_arrival(arrival, false, 0, now);
            if policy.poll_ack(now) {
                policy.on_ack_sent();
            }
        }
        assert_eq!(policy.next_wakeup(), None);
        policy
    }

    #[test]
    fn the_timer_of_an_ack_that_has_left_sends_compressed_acks_early() {
        let mut policy = with_a_timer_of_no_use();
        policy.on_arrival(Arrival::OutOfOrder, false, 0, at(41) + Duration::from_micros(400));
        assert_eq!(policy.next_wakeup(), Some(at(42)), "and not a millisecond after the segment");
        let delay = policy.delay;
        assert!(policy.poll_ack(at(42)));
        assert_eq!(policy.delay, delay, "nobody has waited for a companion in vain");
        policy.on_ack_sent();
        policy.on_arrival(Arrival::OutOfOrder, false, 0, at(43));
        assert_eq!(policy.next_wakeup(), Some(at(44) + COMPRESSION_SLACK), "once");
    }

    #[test]
    fn a_timer_that_finds_nothing_to_do_is_over() {
        let mut policy = with_a_timer_of_no_use();
        policy.on_arrival(Arrival::OutOfOrder, false, 0, at(43));
        assert!(!policy.poll_ack(at(43)));
        assert_eq!(policy.next_wakeup(), Some(at(44) + COMPRESSION_SLACK));
    }

    #[test]
    fn a_compressed_ack_waits_for_a_third_of_a_short_round_trip() {
        let mut policy = with_a_timer_of_no_use();
        policy.set_rtt(Duration::from_micros(1_500));
        policy.on_arrival(Arrival::OutOfOrder, false, 0, at(43));
        assert_eq!(policy.next_wakeup(), Some(at(43) + Duration::from_micros(495) + COMPRESSION_SLACK));
    }

    #[test]
    fn a_round_trip_of_less_than_a_tick_hardly_holds_acks_back() {
        let mut policy = with_a_timer_of_no_use();
        policy.set_rtt(Duration::from_micros(600));
        for (stamped, waits) in [(Some(0), 0), (Some(1_000), 198), (None, 198)] {
            policy.set_stamped_rtt(stamped.map(Duration::from_micros));
            policy.on_arrival(Arrival::OutOfOrder, false, 0, at(43));
            assert_eq!(policy.next_wakeup(), Some(at(43) + Duration::from_micros(waits) + COMPRESSION_SLACK));
            policy.on_ack_sent();
        }
    }

    #[test]
    fn the_last_quick_ack_brings_the_shortest_delay_back() {
        let mut policy = with_one_that_waits();
        // It waits in vain, so that the next one would wait for longer.
        assert!(policy.poll_ack(at(57)));
        policy.on_ack_sent();
        policy.on_arrival(Arrival::InOrder, true, 0, at(58));
        assert!(policy.poll_ack(at(58)), "it widens the window");
        policy.on_ack_sent();
        policy.on_arrival(Arrival::InOrder, false, 0, at(59));
        assert_eq!(policy.next_wakeup(), Some(at(59 + 41)));
    }

    #[test]
    fn a_filled_hole_is_acknowledged_at_once() {
        assert_eq!(acks(Arrival::Closes, 1, 30), [true; 30]);
    }

    /// How long an ack would wait, in milliseconds, if it has been `delay` and a segment comes so long after the one
    /// before; and how many are acknowledged one by one from then on.
    fn adapted(delay: u64, spacing: u64, rtt: Option<u64>) -> (u64, u32) {
        let mut policy = AckPolicy::new(AckMode::Delayed);
        policy.delay = Duration::from_millis(delay);
        policy.rtt = rtt.map(Duration::from_millis);
        policy.adapt_delay(at(spacing));
        (policy.delay.as_millis(), policy.quick)
    }

    #[test]
    fn the_delay_follows_the_spacing_of_segments() {
        // `tcp_event_data_recv`: half of it and 20 ms while segments are closer than that, half and their spacing while
        // they come before the ack would leave.
        let cases = [
            (80, 1, 60),
            (80, 20, 60),
            (80, 30, 70),
            (80, 79, 119),
            (80, 80, 80),
            (80, 500, 80),
            (200, 190, 200),
            (41, 21, 41),
        ];
        for (delay, spacing, expected) in cases {
            assert_eq!(adapted(delay, spacing, None), (expected, 0), "{delay} ms, {spacing} ms apart");
        }
    }

    #[test]
    fn after_a_gap_longer_than_a_timeout_segments_are_acknowledged_one_by_one() {
        // A timeout is the round trip and three times as much, or 200 ms more.
        for (rtt, timeout) in [(50, 250), (100, 300), (200, 600)] {
            assert_eq!(adapted(40, timeout, Some(rtt)), (40, 0), "{rtt} ms");
            assert_eq!(adapted(40, timeout + 1, Some(rtt)), (40, 16), "{rtt} ms");
        }
        assert_eq!(adapted(40, 10_000, None), (40, 0), "none is known");
        let gap = |spacing| {
            let mut policy = AckPolicy::new(AckMode::Delayed);
            (policy.delay, policy.rtt) = (DELAY_MIN, Some(Duration::from_micros(50_001)));
            policy.adapt_delay(at(spacing));
            policy.quick
        };
        assert_eq!([gap(251), gap(252)], [0, 16], "a timeout of 250.001 ms is one of 251 ticks");
    }

    #[test]
    fn a_longer_delay_lasts_no_longer_than_the_round_trip() {
        let waits = |delay, rtt: Option<u64>| {
            let mut policy = AckPolicy::new(AckMode::Delayed);
            (policy.delay, policy.rtt) = (Duration::from_millis(delay), rtt.map(Duration::from_millis));
            policy.hold_back(at(0));
            policy.next_wakeup()
        };
        let expected = |wait| Some(wheel::expiry(at(0), Duration::from_millis(wait)));
        for (delay, rtt, wait) in
            [(40, Some(10), 40), (40, None, 40), (100, Some(10), 40), (100, Some(60), 60), (100, None, 100)]
        {
            assert_eq!(waits(delay, rtt), expected(wait), "{delay} ms, round trip of {rtt:?}");
        }
        assert_eq!(waits(160, Some(600)), expected(160));
        assert_eq!(waits(200, Some(600)), expected(199));
        assert_eq!(waits(200, None), expected(199));
    }

    #[test]
    fn a_delay_that_was_in_vain_doubles_up_to_200_ms() {
        let mut policy = with_one_that_waits();
        let mut delays = Vec::new();
        for _ in 0..4 {
            let due = policy.next_wakeup().expect("one waits");
            assert!(policy.poll_ack(due));
            policy.on_ack_sent();
            delays.push(policy.delay.as_millis());
            policy.hold_back(due);
        }
        assert_eq!(delays, [80, 160, 200, 200]);
    }

    #[test]
    fn marks_ask_for_quick_acks_without_taking_any_away_and_for_no_more_than_a_window_has() {
        let quick = |window, before, asked| {
            let mut policy = AckPolicy::new(AckMode::Delayed);
            policy.set_window(window);
            (policy.quick, policy.delay) = (before, Duration::from_millis(80));
            policy.on_arrival(Arrival::OutOfOrder, false, asked, at(1));
            (policy.quick, policy.delay.as_millis())
        };
        assert_eq!(quick(1_000, 0, 2), (2, 40));
        assert_eq!(quick(1_000, 9, 2), (9, 40));
        assert_eq!(quick(2, 0, 2), (1, 40));
        assert_eq!(quick(1_000, 9, 0), (9, 80));
    }

    #[test]
    fn a_segment_that_widens_the_window_asks_for_one_quick_ack_however_many_do() {
        let mut policy = with_one_that_waits();
        for now in [17, 18, 19] {
            policy.on_arrival(Arrival::OutOfOrder, true, 0, at(now));
            assert_eq!(policy.quick, 1);
        }
    }

    #[test]
    fn a_segment_that_moves_the_edge_before_a_hole_begins_the_count_of_uncompressed_acks_anew() {
        let mut policy = with_a_timer_of_no_use();
        policy.on_arrival(Arrival::BeforeHole, false, 0, at(50));
        assert!(policy.poll_ack(at(50)));
    }

    #[test]
    fn a_duplicate_brings_quick_acks_and_the_shortest_delay_back() {
        let mut policy = with_one_that_waits();
        policy.delay = Duration::from_millis(160);
        policy.on_arrival(Arrival::Duplicate, false, 0, at(60));
        assert_eq!((policy.quick, policy.delay), (16, DELAY_MIN));
    }
}

//! Pacing: spreads packets over time.
//!
//! **Source.** Linux `net/ipv4/tcp_output.c`, `tcp_update_skb_after_send` and `tcp_pacing_check`.

use crate::scheme::{Feedback, PacingRatios};
use crate::transmission_time::TransmissionTime;
use crate::units::{Bytes, Duration, Instant, Rate};

/// After so many packets of a connection no gap is left: from the tenth on Linux counts one, Chromium after its first
/// ten (`kInitialUnpacedBurst`). Programs that send datagrams pace from the first.
fn unpaced_packets(feedback: Feedback) -> u64 {
    match feedback {
        Feedback::Tcp => 9,
        Feedback::Numbered => 10,
        Feedback::EveryPacket => 0,
    }
}

/// Tells when the next packet may leave.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pacer {
    next: Instant,
    burst_packets: u32,
    left_in_burst: u32,
    unpaced_packets: u64,
    feedback: Feedback,
    transmission_time: TransmissionTime,
}

impl Pacer {
    pub(super) fn new(burst_packets: u32, feedback: Feedback) -> Self {
        Self {
            next: Instant::ZERO,
            burst_packets,
            left_in_burst: burst_packets,
            unpaced_packets: unpaced_packets(feedback),
            feedback,
            transmission_time: TransmissionTime::new(),
        }
    }

    /// When the next packet may leave; never later than now without pacing.
    pub(super) fn next(&self) -> Instant {
        self.next
    }

    /// A packet left at `now`.
    pub(super) fn on_sent(&mut self, now: Instant, size: Bytes, rate: Option<Rate>) {
        if self.unpaced_packets > 0 {
            self.unpaced_packets -= 1;
            // The first gap is whole: the kernel's clock goes on (`tcp_wstamp_ns`), Chromium's does not.
            if self.feedback == Feedback::Tcp {
                self.next = self.next.max(now);
            }
            return;
        }
        let Some(rate) = rate.filter(|rate| !rate.is_zero()) else { return };
        self.left_in_burst -= 1;
        if self.left_in_burst > 0 {
            return;
        }
        self.left_in_burst = self.burst_packets;
        let gap = self.transmission_time.of(size * u64::from(self.burst_packets), rate);
        // A timer that fired late is made up for, by at most half a gap. What leaves before its time, after a timeout,
        // is paid for as well.
        let late = now.since(self.next);
        self.next = self.next.max(now) + gap.saturating_sub(late.min(gap.scale(1, 2)));
    }

    /// Holds the next packet back by `delay`.
    pub(super) fn hold(&mut self, now: Instant, delay: Duration) {
        self.next = self.next.max(now + delay);
    }
}

/// The rate for a scheme without one of its own (`tcp_update_pacing_rate`).
pub(super) fn internal_rate(
    ratios: PacingRatios,
    cwnd: u32,
    outstanding: u32,
    ssthresh: Option<u32>,
    srtt: Duration,
    packet: Bytes,
) -> Option<Rate> {
    let is_far_below = ssthresh.is_none_or(|ssthresh| cwnd < ssthresh / 2);
    let percent = if is_far_below { ratios.slow_start } else { ratios.avoidance };
    Rate::of(packet * u64::from(cwnd.max(outstanding)), srtt).map(|rate| rate.scale(percent, 100))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACKET: Bytes = Bytes::new(1_500);
    const RATE: Rate = Rate::from_bits_per_second(12_000_000);

    fn departures(burst_packets: u32, count: usize) -> Vec<u64> {
        let mut pacer = Pacer::new(burst_packets, Feedback::Tcp);
        let mut now = Instant::ZERO;
        (0..count)
            .map(|_| {
                now = now.max(pacer.next());
                pacer.on_sent(now, PACKET, Some(RATE));
                now.as_millis()
            })
            .collect()
    }

    #[test]
    fn from_the_tenth_packet_on_gaps_follow_the_rate() {
        assert_eq!(departures(1, 14)[8..], [0, 0, 1, 2, 3, 4]);
    }

    #[test]
    fn the_first_gap_is_whole_though_the_connection_is_old() {
        let mut pacer = Pacer::new(1, Feedback::Tcp);
        let now = Instant::ZERO + Duration::from_millis(80);
        (0..10).for_each(|_| pacer.on_sent(now, PACKET, Some(RATE)));
        assert_eq!(pacer.next().since(now).as_millis(), 1);
    }

    #[test]
    fn programs_that_send_datagrams_pace_from_the_first_one() {
        let mut pacer = Pacer::new(1, Feedback::EveryPacket);
        pacer.on_sent(Instant::ZERO, PACKET, Some(RATE));
        assert_eq!(pacer.next().as_millis(), 1);
    }

    #[test]
    fn a_burst_leaves_together_and_pays_for_all() {
        assert_eq!(departures(3, 16)[9..], [0, 0, 0, 3, 3, 3, 6]);
    }

    #[test]
    fn what_leaves_before_its_time_is_paid_for() {
        let mut pacer = Pacer::new(1, Feedback::Numbered);
        for _ in 0..13 {
            pacer.on_sent(Instant::ZERO, PACKET, Some(RATE));
        }
        assert_eq!(pacer.next().as_millis(), 3);
    }

    #[test]
    fn slow_start_is_paced_at_twice_the_window() {
        let srtt = Duration::from_millis(100);
        let slow_start = internal_rate(PacingRatios::LINUX, 10, 0, None, srtt, PACKET);
        assert_eq!(slow_start, Some(Rate::from_bits_per_second(2_400_000)));
        let avoidance = internal_rate(PacingRatios::LINUX, 10, 0, Some(10), srtt, PACKET);
        assert_eq!(avoidance, Some(Rate::from_bits_per_second(1_440_000)));
    }

    #[test]
    fn a_window_below_what_is_outstanding_slows_nothing() {
        let srtt = Duration::from_millis(100);
        let rate = internal_rate(PacingRatios::LINUX, 10, 20, Some(10), srtt, PACKET);
        assert_eq!(rate, Some(Rate::from_bits_per_second(2_880_000)));
    }

    #[test]
    fn what_is_held_back_waits_no_less_than_for_its_gap() {
        let mut pacer = Pacer::new(1, Feedback::EveryPacket);
        pacer.on_sent(Instant::ZERO, PACKET, Some(RATE));
        for (delay_us, next_us) in [(400, 1_000), (1_600, 1_600)] {
            pacer.hold(Instant::ZERO, Duration::from_micros(delay_us));
            assert_eq!(pacer.next().as_micros(), next_us);
        }
    }

    #[test]
    fn below_half_the_threshold_a_window_is_paced_as_in_slow_start() {
        let percent = |cwnd, ssthresh| {
            let rate = internal_rate(PacingRatios::LINUX, cwnd, 0, Some(ssthresh), Duration::from_millis(12), PACKET);
            rate.map_or(0, |rate| rate.as_bits_per_second() / u64::from(cwnd) / 10_000)
        };
        assert_eq!([percent(4, 10), percent(5, 10), percent(9, 10), percent(5, 11)], [200, 120, 120, 120]);
    }
}

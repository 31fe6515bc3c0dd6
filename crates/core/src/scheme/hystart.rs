//! HyStart: leaves slow start before the queue overflows.
//!
//! **What it is.** Two detectors per round trip: a train of closely spaced acks that is longer than half the path's
//! delay, and a rise of the round-trip time. Either sets the slow-start threshold to the window.
//!
//! **Source.** Ha and Rhee, "Taming the elephants: new TCP slow start", 2011; Linux `net/ipv4/tcp_cubic.c` since 5.5
//! (`bictcp_hystart_reset`, `hystart_update`, `hystart_ack_delay`).
//!
//! **How it is validated.** Unit tests in `cubic`; slow-start exits in the simulator's behaviour tests.

use super::Acked;
use super::window::Window;
use crate::units::{Bytes, Duration, Instant, Rate};

/// What the kernel's clock counts in (`bictcp_clock_us`).
const CLOCK_UNIT: Duration = Duration::from_micros(1);
/// Below this window the detectors sleep (`hystart_low_window`).
const LOW_WINDOW: u32 = 16;
/// Acks closer than this belong to one train (`hystart_ack_delta_us`).
const ACK_SPACING: Duration = Duration::from_millis(2);
/// Samples of a round before its delay counts (`HYSTART_MIN_SAMPLES`).
const MIN_SAMPLES: u32 = 8;
/// The rise that counts is an eighth of the minimum, within these bounds (`HYSTART_DELAY_MIN`, `HYSTART_DELAY_MAX`).
const RISE_MIN: Duration = Duration::from_millis(4);
const RISE_MAX: Duration = Duration::from_millis(16);
/// Receivers may hold back the acks of four of the sender's largest bursts, but not longer than a millisecond.
const BURSTS: Bytes = Bytes::new(4 * 65_536);
const ACK_DELAY_MAX: Duration = Duration::from_millis(1);

/// The detectors.
#[derive(Clone, Debug)]
pub struct HyStart {
    is_paced: bool,
    has_found: bool,
    round_start: Instant,
    last_ack: Instant,
    round_end: u64,
    round_rtt: Duration,
    samples: u32,
}

impl HyStart {
    /// Detectors for a flow that starts; `is_paced` if the transport spreads packets over the round trip.
    pub fn new(is_paced: bool) -> Self {
        Self {
            is_paced,
            has_found: false,
            round_start: Instant::ZERO,
            last_ack: Instant::ZERO,
            round_end: 0,
            round_rtt: Duration::MAX,
            samples: 0,
        }
    }

    /// Starts again after a timeout, with a round that lasts until all that had been sent is repaired.
    pub fn restart(&mut self, now: Instant, next_sequence: u64) {
        self.has_found = false;
        self.begin_round(now.truncated(CLOCK_UNIT), next_sequence);
    }

    /// True once slow start was left.
    pub fn has_found(&self) -> bool {
        self.has_found
    }

    /// Takes a round-trip sample; sets the threshold when it is time to leave slow start. `min_rtt` is that of the
    /// scheme.
    pub fn on_acked(&mut self, window: &mut Window, acked: &Acked, rtt: Duration, min_rtt: Duration) {
        if self.has_found || !window.is_in_slow_start() {
            return;
        }
        let now = acked.now.truncated(CLOCK_UNIT);
        if acked.first_unacked > self.round_end {
            self.begin_round(now, acked.next_sequence);
        }
        if window.cwnd < LOW_WINDOW {
            return;
        }
        if self.find_ack_train(window, acked, now, min_rtt) || self.find_delay_increase(rtt, min_rtt) {
            self.has_found = true;
            window.ssthresh = window.cwnd;
        }
    }

    fn begin_round(&mut self, now: Instant, next_sequence: u64) {
        self.round_start = now;
        self.last_ack = now;
        self.round_end = next_sequence;
        self.round_rtt = Duration::MAX;
        self.samples = 0;
    }

    /// Whether acks that come close to each other span too long a time (`HYSTART_ACK_TRAIN`).
    fn find_ack_train(&mut self, window: &Window, acked: &Acked, now: Instant, min_rtt: Duration) -> bool {
        if now.since(self.last_ack) > ACK_SPACING {
            return false;
        }
        self.last_ack = now;
        let mut threshold = min_rtt + ack_delay(window, acked);
        if !self.is_paced {
            threshold = threshold.scale(1, 2);
        }
        now.since(self.round_start) > threshold
    }

    /// Whether the round trip has risen (`HYSTART_DELAY`).
    fn find_delay_increase(&mut self, rtt: Duration, min_rtt: Duration) -> bool {
        self.round_rtt = self.round_rtt.min(rtt);
        if self.samples < MIN_SAMPLES {
            self.samples += 1;
            return false;
        }
        self.round_rtt > min_rtt + rise(min_rtt)
    }
}

/// The rise above the least round trip that ends slow start.
pub(super) fn rise(min_rtt: Duration) -> Duration {
    min_rtt.scale(1, 8).max(RISE_MIN).min(RISE_MAX)
}

/// How long the receiver may have held acks back: four bursts at twice the window per round trip.
fn ack_delay(window: &Window, acked: &Acked) -> Duration {
    let mss = Bytes::new(acked.newly_delivered_bytes.count() / u64::from(acked.newly_delivered.max(1)));
    let rate = Rate::of(mss * (2 * u64::from(window.cwnd)), acked.srtt);
    rate.filter(|rate| !rate.is_zero()).map_or(Duration::ZERO, |rate| rate.time_for(BURSTS)).min(ACK_DELAY_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheme::Ack;
    use crate::scheme::window::{INFINITE_SSTHRESH, ack, acked, window_of};

    /// Whether a train of acks a millisecond apart ends slow start, the last so many microseconds after the first.
    fn ends_slow_start(is_paced: bool, cwnd: u32, rtt: Duration, last_us: u64) -> bool {
        let (mut hystart, mut window) = (HyStart::new(is_paced), window_of(cwnd, INFINITE_SSTHRESH));
        for micros in (0..last_us).step_by(1_000).chain([last_us]) {
            let now = Instant::ZERO + Duration::from_micros(micros);
            let ack = Ack { now, srtt: rtt, first_unacked: 1, next_sequence: 1_000_000, ..ack(2) };
            hystart.on_acked(&mut window, &acked(&ack), rtt, rtt);
        }
        hystart.has_found()
    }

    #[test]
    fn a_train_counts_that_is_longer_than_half_the_delay_and_what_the_receiver_may_hold_back() {
        // A millisecond at most; four bursts of 64 KiB at twice 10000 packets in 10 ms take 90.5 microseconds.
        for (is_paced, cwnd, rtt_ms, longest_us) in
            [(false, 20, 99, 50_000), (true, 20, 99, 100_000), (true, 10_000, 10, 10_090), (false, 10_000, 10, 5_045)]
        {
            let ends = |last_us| ends_slow_start(is_paced, cwnd, Duration::from_millis(rtt_ms), last_us);
            assert_eq!([ends(longest_us), ends(longest_us + 1)], [false, true], "{cwnd} packets in {rtt_ms} ms");
        }
    }

    #[test]
    fn a_rise_counts_that_is_more_than_an_eighth_and_a_timeout_begins_anew() {
        for (rtt_us, is_found) in [(112_500, false), (112_501, true)] {
            let (mut hystart, mut window) = (HyStart::new(false), window_of(20, INFINITE_SSTHRESH));
            let ack = Ack { first_unacked: 1, next_sequence: 100, ..ack(1) };
            for _ in 0..9 {
                let rtt = Duration::from_micros(rtt_us);
                hystart.on_acked(&mut window, &acked(&ack), rtt, Duration::from_millis(100));
            }
            assert_eq!(hystart.has_found(), is_found, "{rtt_us} us");
            hystart.restart(Instant::ZERO, 200);
            assert!(!hystart.has_found());
        }
    }
}

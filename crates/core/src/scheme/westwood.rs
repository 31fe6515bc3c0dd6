//! Westwood+: grows as Reno, and falls to what the path was measured to hold.
//!
//! **What it is.** It counts the bytes that return, smooths them into a bandwidth, and after a loss sets window and
//! threshold to bandwidth x shortest round trip: a loss that was not congestion costs little, and a full queue empties.
//!
//! **Source.** Grieco and Mascolo, "Performance evaluation and comparison of Westwood+, New Reno, and Vegas TCP
//! congestion control", 2004; Linux `net/ipv4/tcp_westwood.c`, whose function names stand beside the parts.
//!
//! **Parameters.** None.
//!
//! **Deviations.** Time is in jiffies of 1 ms, as in a kernel with `HZ` = 1000. Bytes are whole packets of an MSS.
//!
//! **How it is validated.** Filter, interval, counting and the fall here; utilisation, the emptied queue and the gain
//! over Reno under random loss in the simulator's behaviour tests; beside the kernel by `bakeoff agree`, and beside its
//! code, event by event, in docs/event-by-event.md.

use super::window::{Window, WindowAlgorithm, WindowBased};
use super::{Ack, Acked, Scheme, Setup, Timeout};
use crate::info::{Info, Quantity};
use crate::units::{Bytes, Duration, Instant};

/// Name, parameters and source.
pub(super) const INFO: Info = Info {
    name: "westwood",
    title: "TCP Westwood+",
    source: "Grieco and Mascolo 2004; Linux net/ipv4/tcp_westwood.c",
    parameters: &[],
    telemetry: &[
        Quantity { name: "bandwidth", unit: "bit/s", doc: "estimate of the bandwidth, payload" },
        Quantity { name: "model_min_rtt", unit: "ms", doc: "shortest round trip since the last timeout" },
    ],
};

/// The bandwidth is measured over no less than this, milliseconds (`TCP_WESTWOOD_RTT_MIN`).
const MIN_INTERVAL: u64 = 50;
/// The round trip before there is a sample, milliseconds (`TCP_WESTWOOD_INIT_RTT`).
const INITIAL_RTT: u64 = 20_000;

/// Makes one for a flow that starts.
#[expect(clippy::needless_pass_by_value, reason = "all schemes are made alike")]
pub(super) fn new(setup: Setup) -> Box<dyn Scheme> {
    Box::new(WindowBased::new(Westwood::new(setup.mss, setup.mss_cache)))
}

#[derive(Debug)]
struct Westwood {
    mss: u64,
    mss_cache: u64,
    /// Bytes per millisecond, smoothed once and twice (`bw_ns_est`, `bw_est`).
    rough: u64,
    bandwidth: u64,
    /// Milliseconds; the latest and the shortest.
    rtt: u64,
    min_rtt: u64,
    must_renew_min_rtt: bool,
    /// Milliseconds (`rtt_win_sx`), and bytes acknowledged since (`bk`).
    interval_start: Option<u64>,
    acked: u64,
    /// The first segment that was not acknowledged at the last ack (`snd_una`).
    first_unacked: Option<u64>,
    /// Bytes that duplicate acks have counted and a cumulative ack has not (`accounted`).
    counted_ahead: u64,
}

fn jiffies(time: Duration) -> u64 {
    time.as_micros().div_ceil(1_000)
}

impl Westwood {
    fn new(mss: Bytes, mss_cache: Bytes) -> Self {
        Self {
            mss: mss.count(),
            mss_cache: mss_cache.count(),
            rough: 0,
            bandwidth: 0,
            rtt: INITIAL_RTT,
            min_rtt: INITIAL_RTT,
            must_renew_min_rtt: true,
            interval_start: None,
            acked: 0,
            first_unacked: None,
            counted_ahead: 0,
        }
    }

    /// `westwood_update_window` and `westwood_filter`.
    fn close_interval(&mut self, now: u64) {
        let elapsed = now - *self.interval_start.get_or_insert(now);
        if self.rtt == 0 || elapsed <= self.rtt.max(MIN_INTERVAL) {
            return;
        }
        let sample = self.acked / elapsed;
        if self.rough == 0 && self.bandwidth == 0 {
            (self.rough, self.bandwidth) = (sample, sample);
        } else {
            self.rough = (7 * self.rough + sample) / 8;
            self.bandwidth = (7 * self.bandwidth + self.rough) / 8;
        }
        self.acked = 0;
        self.interval_start = Some(now);
    }

    /// Bytes that an ack stands for (`westwood_acked_count`; of one that was foreseen, `westwood_fast_bw`).
    fn count(&mut self, first_unacked: u64, is_unforeseen: bool) -> u64 {
        // Nothing is known of what was acknowledged before the first ack, which looks like a duplicate (`first_ack`).
        let before = self.first_unacked.replace(first_unacked).unwrap_or(first_unacked);
        let advance = (first_unacked - before) * self.mss;
        if !is_unforeseen {
            return advance;
        }
        if advance == 0 {
            self.counted_ahead += self.mss_cache;
            return self.mss_cache;
        }
        if advance <= self.mss_cache {
            return advance;
        }
        if self.counted_ahead >= advance {
            self.counted_ahead -= advance;
            return self.mss_cache;
        }
        advance - std::mem::take(&mut self.counted_ahead)
    }

    /// Packets that the path holds without a queue (`tcp_westwood_bw_rttmin`).
    fn path_holds(&self) -> u32 {
        u32::try_from(self.bandwidth * self.min_rtt / self.mss_cache).unwrap_or(u32::MAX / 2).max(2)
    }
}

impl WindowAlgorithm for Westwood {
    /// As Reno while the reduction lasts; the measured window takes its place when it is over.
    fn ssthresh_after_loss(&mut self, window: &Window, _now: Instant) -> u32 {
        window.half()
    }

    fn ssthresh_after_timeout(&mut self, _window: &Window, _now: Instant) -> u32 {
        self.path_holds()
    }

    fn grow(&mut self, window: &mut Window, ack: &Ack<'_>) {
        window.grow_as_reno(ack);
    }

    /// `tcp_westwood_pkts_acked` and `tcp_westwood_ack`.
    fn on_acked(&mut self, _window: &mut Window, acked: &Acked) {
        if let Some(rtt) = acked.rtt {
            self.rtt = jiffies(rtt);
        }
        self.close_interval(acked.now.as_millis());
        self.acked += self.count(acked.first_unacked, acked.is_unforeseen);
        self.min_rtt = if std::mem::take(&mut self.must_renew_min_rtt) { self.rtt } else { self.min_rtt.min(self.rtt) };
    }

    /// `tcp_westwood_event`.
    fn on_reduced(&mut self, window: &mut Window) {
        window.ssthresh = self.path_holds();
        window.cwnd = window.ssthresh;
    }

    /// The first interval begins with the connection (`tcp_westwood_init`).
    fn on_restart(&mut self, now: Instant, _idle: Duration) {
        self.interval_start.get_or_insert(now.as_millis());
    }

    /// `CA_EVENT_LOSS`, of which the timeouts that follow without progress are none.
    fn on_timeout(&mut self, timeout: &Timeout) {
        self.must_renew_min_rtt |= timeout.is_first;
    }

    fn telemetry(&self, report: &mut dyn FnMut(&'static str, f64)) {
        report("bandwidth", (self.bandwidth * 8_000) as f64);
        report("model_min_rtt", self.min_rtt as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheme::window::{ack, acked, timeout};
    use crate::scheme::{Cause, Congestion, State};

    const MSS: u64 = 1_000;
    const RTT_MS: u64 = 100;

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    /// An ack at `millis` of everything before `first_unacked`.
    fn acked_at(millis: u64, first_unacked: u64) -> Acked {
        acked(&Ack { now: at(millis), first_unacked, rtt: Some(Duration::from_millis(RTT_MS)), ..ack(1) })
    }

    /// One packet per millisecond for a number of seconds: 1000 bytes per millisecond, 100 ms of round trip.
    fn informed(seconds: u64) -> Westwood {
        let (mut westwood, mut window) = (Westwood::new(Bytes::new(MSS), Bytes::new(MSS)), Window::initial());
        westwood.on_restart(at(RTT_MS), Duration::ZERO);
        for n in 0..1_000 * seconds {
            westwood.on_acked(&mut window, &acked_at(RTT_MS + n, n));
        }
        westwood
    }

    #[test]
    fn the_path_holds_packets_as_the_kernel_sizes_them() {
        let with_counters = Westwood { mss: 900, ..informed(20) };
        assert_eq!((informed(20).path_holds(), with_counters.path_holds()), (99, 99), "by `mss_cache`");
        let mut westwood = Westwood::new(Bytes::new(988), Bytes::new(MSS));
        westwood.count(0, true);
        let counts = [1, 1, 3].map(|first| westwood.count(first, true));
        assert_eq!(counts, [988, 1_000, 1_000], "one packet is not more than `mss_cache`, which a duplicate counts");
    }

    #[test]
    fn the_first_sample_fills_the_filter_and_later_ones_move_it_by_an_eighth_twice() {
        let mut westwood = informed(1);
        assert!((990..=1_000).contains(&westwood.bandwidth), "{}", westwood.bandwidth);
        (westwood.rough, westwood.bandwidth, westwood.acked) = (800, 800, 101 * 1_600);
        westwood.interval_start = Some(10_000);
        westwood.close_interval(10_100);
        assert_eq!((westwood.rough, westwood.bandwidth), (800, 800), "a round trip must have passed");
        westwood.close_interval(10_101);
        assert_eq!((westwood.rough, westwood.bandwidth, westwood.acked), (900, 812, 0));
    }

    #[test]
    fn an_interval_is_never_shorter_than_50_milliseconds() {
        let mut westwood = informed(1);
        (westwood.rtt, westwood.interval_start) = (10, Some(5_000));
        westwood.close_interval(5_050);
        assert_eq!(westwood.interval_start, Some(5_000));
        westwood.close_interval(5_051);
        assert_eq!(westwood.interval_start, Some(5_051));
    }

    #[test]
    fn what_duplicates_counted_is_not_counted_again() {
        let mut westwood = Westwood::new(Bytes::new(MSS), Bytes::new(MSS));
        let counts = [10, 12, 12, 12, 12, 13, 15, 20].map(|first| westwood.count(first, true) / MSS);
        // The first ack, one of two packets less that, three duplicates, a partial ack of one packet, a cumulative one
        // of two, and one of five less the one left.
        assert_eq!(counts, [1, 1, 1, 1, 1, 1, 1, 4]);
    }

    #[test]
    fn a_foreseen_ack_counts_whole_and_leaves_what_duplicates_counted() {
        let mut westwood = Westwood::new(Bytes::new(MSS), Bytes::new(MSS));
        let acks = [(10, true), (10, true), (10, true), (15, false), (17, true), (20, true)];
        let counts = acks.map(|(first, is_unforeseen)| westwood.count(first, is_unforeseen) / MSS);
        assert_eq!(counts, [1, 1, 1, 5, 1, 2]);
    }

    #[test]
    fn after_a_loss_the_window_is_what_the_path_holds() {
        let mut scheme = WindowBased::new(informed(1));
        let holds = scheme.algorithm().path_holds();
        assert!((99..=100).contains(&holds), "{holds}");
        scheme.on_congestion(&Congestion { now: at(2_000), cause: Cause::Loss, in_flight: 9, is_timer: false });
        assert_eq!(scheme.ssthresh(), Some(5), "half while it lasts");
        scheme.on_acked(&acked_at(2_500, 1_401));
        scheme.on_reduced(at(2_500));
        let holds_now = scheme.algorithm().path_holds();
        assert_ne!(holds_now, holds, "the ack that ends it counts");
        assert_eq!((scheme.cwnd(), scheme.ssthresh()), (holds_now, Some(holds_now)));
    }

    #[test]
    fn a_timeout_starts_again_below_what_the_path_holds_and_measures_the_round_trip_anew() {
        let mut scheme = WindowBased::new(informed(1));
        let holds = scheme.algorithm().path_holds();
        scheme.on_timeout(&timeout(true));
        assert_eq!((scheme.cwnd(), scheme.ssthresh()), (1, Some(holds)));
        let slow = Acked { rtt: Some(Duration::from_micros(299_001)), ..acked_at(2_100, 1_001) };
        scheme.on_acked(&slow);
        scheme.on_recovered(at(2_100));
        assert_eq!((scheme.cwnd(), scheme.ssthresh()), (1, Some(holds)), "from here on it slow-starts");
        assert_eq!(scheme.algorithm().min_rtt, 300, "whole jiffies, rounded up");
        scheme.on_acked(&acked_at(2_101, 1_001));
        scheme.on_acked(&slow);
        assert_eq!(scheme.algorithm().min_rtt, RTT_MS, "once");
        scheme.on_timeout(&timeout(false));
        scheme.on_acked(&slow);
        assert_eq!(scheme.algorithm().min_rtt, RTT_MS, "a timeout that follows another tells nothing new");
    }

    #[test]
    fn a_loss_that_shows_with_the_end_of_a_recovery_reduces_what_the_path_holds() {
        let mut scheme = WindowBased::new(informed(1));
        let holds = scheme.algorithm().path_holds();
        let loss = Congestion { now: at(2_000), cause: Cause::Loss, in_flight: 9, is_timer: false };
        scheme.on_congestion(&loss);
        scheme.on_reduced(at(2_100));
        scheme.on_recovered(at(2_100));
        scheme.on_congestion(&Congestion { now: at(2_100), in_flight: 90, ..loss });
        assert_eq!(scheme.ssthresh(), Some(holds / 2));
        scheme.on_ack(&Ack { state: State::Recovery, newly_delivered: 4, in_flight: 86, ..ack(1) });
        assert_eq!((scheme.cwnd(), scheme.ssthresh()), (88, Some(holds / 2)), "one packet for two that arrived");
    }
}

//! The long-term bandwidth: what a token-bucket policer lets through (`bbr_lt_bw_sampling`).
//!
//! A policer shows as heavy loss at a steady rate. Two intervals between losses, each with much loss and both with
//! about the same rate, are taken for one; then that rate is used for a while in place of the filter's maximum.

use super::fixed_point::{Bandwidth, GAIN_UNIT};

/// The least rounds in an interval (`bbr_lt_intvl_min_rtts`); four times as many are too long.
const INTERVAL_ROUNDS: u32 = 4;
/// Lost packets per delivered packet that make an interval lossy, in 1/256 (`bbr_lt_loss_thresh`).
const LOSS_THRESHOLD: u64 = 50;
/// Two rates agree within this part of the earlier one (`bbr_lt_bw_ratio`) ...
const AGREEMENT_DIVISOR: u64 = 8;
/// ... or within this many bytes per second (`bbr_lt_bw_diff`).
const AGREEMENT_BYTES_PER_SECOND: u64 = 4_000 / 8;
/// Rounds for which the long-term rate is used (`bbr_lt_bw_max_rtts`).
const USE_ROUNDS: u32 = 48;

/// What one ack, or a timeout, shows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Observation {
    /// Packets delivered so far.
    pub(super) delivered: u64,
    /// Packets lost so far.
    pub(super) lost: u64,
    /// Time of the last delivery, ms.
    pub(super) delivered_at_ms: u64,
    /// True if this ack, or a timeout, reports a loss.
    pub(super) is_loss: bool,
    pub(super) is_app_limited: bool,
    pub(super) is_round_start: bool,
    pub(super) is_probing_bandwidth: bool,
}

/// What changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Nothing,
    /// The path is policed: use [`LongTerm::bandwidth_in_use`].
    Policed,
    /// The rate has been used for long enough: probe again.
    Expired,
}

#[derive(Debug)]
pub(super) struct LongTerm {
    /// Bytes of a packet that a rate counts.
    paced_size: u64,
    margin_percent: u32,
    /// The rate of the last lossy interval; zero for none.
    pub(super) bandwidth: Bandwidth,
    is_in_use: bool,
    is_sampling: bool,
    rounds: u32,
    start_delivered: u64,
    start_lost: u64,
    start_ms: u64,
}

impl LongTerm {
    pub(super) fn new(paced_size: u64, margin_percent: u32) -> Self {
        Self {
            paced_size,
            margin_percent,
            bandwidth: Bandwidth::default(),
            is_in_use: false,
            is_sampling: false,
            rounds: 0,
            start_delivered: 0,
            start_lost: 0,
            start_ms: 0,
        }
    }

    /// The policed rate, while the path is taken to be policed.
    pub(super) fn bandwidth_in_use(&self) -> Option<Bandwidth> {
        self.is_in_use.then_some(self.bandwidth)
    }

    /// Forgets everything.
    pub(super) fn reset(&mut self) {
        *self = Self::new(self.paced_size, self.margin_percent);
    }

    pub(super) fn observe(&mut self, seen: &Observation) -> Verdict {
        if self.is_in_use {
            self.rounds += u32::from(seen.is_probing_bandwidth && seen.is_round_start);
            if self.rounds < USE_ROUNDS {
                return Verdict::Nothing;
            }
            self.reset();
            return Verdict::Expired;
        }
        // The first loss shows that the bucket is empty; what passed before is a burst.
        if !self.is_sampling {
            if !seen.is_loss {
                return Verdict::Nothing;
            }
            self.begin_interval(seen);
            self.is_sampling = true;
        }
        if seen.is_app_limited {
            self.reset();
            return Verdict::Nothing;
        }
        self.rounds += u32::from(seen.is_round_start);
        if self.rounds > 4 * INTERVAL_ROUNDS {
            self.reset();
            return Verdict::Nothing;
        }
        if self.rounds < INTERVAL_ROUNDS || !seen.is_loss {
            return Verdict::Nothing;
        }
        self.end_interval(seen)
    }

    #[cold]
    fn begin_interval(&mut self, seen: &Observation) {
        self.start_delivered = seen.delivered;
        self.start_lost = seen.lost;
        self.start_ms = seen.delivered_at_ms;
        self.rounds = 0;
    }

    /// An interval is long enough and ends with a loss: is it lossy, and like the one before
    /// (`bbr_lt_bw_interval_done`)?
    #[cold]
    fn end_interval(&mut self, seen: &Observation) -> Verdict {
        let delivered = seen.delivered - self.start_delivered;
        let lost = seen.lost - self.start_lost;
        let millis = seen.delivered_at_ms - self.start_ms;
        if delivered == 0 || lost * u64::from(GAIN_UNIT) < LOSS_THRESHOLD * delivered || millis == 0 {
            return Verdict::Nothing;
        }
        let bandwidth = Bandwidth::of(delivered, millis * 1_000);
        if self.bandwidth.0 > 0 {
            let difference = Bandwidth(bandwidth.0.abs_diff(self.bandwidth.0));
            let difference_in_bytes = difference.bytes_per_second(self.paced_size, GAIN_UNIT, self.margin_percent);
            if difference.0 * AGREEMENT_DIVISOR <= self.bandwidth.0 || difference_in_bytes <= AGREEMENT_BYTES_PER_SECOND
            {
                self.bandwidth = Bandwidth(u64::midpoint(bandwidth.0, self.bandwidth.0));
                self.is_in_use = true;
                self.rounds = 0;
                return Verdict::Policed;
            }
        }
        self.bandwidth = bandwidth;
        self.begin_interval(seen);
        Verdict::Nothing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A path with `delivered` and `lost` packets a round.
    struct Path {
        model: LongTerm,
        round_ms: u64,
        seen: Observation,
    }

    impl Path {
        fn new() -> Self {
            let seen = Observation {
                delivered: 0,
                lost: 0,
                delivered_at_ms: 0,
                is_loss: false,
                is_app_limited: false,
                is_round_start: true,
                is_probing_bandwidth: true,
            };
            Self { model: LongTerm::new(1_448, 1), round_ms: 100, seen }
        }

        fn round(&mut self, delivered: u64, lost: u64) -> Verdict {
            self.seen.delivered += delivered;
            self.seen.lost += lost;
            self.seen.delivered_at_ms += self.round_ms;
            self.seen.is_loss = lost > 0;
            self.model.observe(&self.seen)
        }

        fn rounds(&mut self, count: usize, delivered: u64, lost: u64) -> Vec<Verdict> {
            (0..count).map(|_| self.round(delivered, lost)).collect()
        }
    }

    #[test]
    fn two_lossy_intervals_of_one_rate_are_a_policer() {
        let mut path = Path::new();
        // 20 % of 100: more than 50/256. The ack that starts an interval counts as its first round at the beginning
        // only.
        let verdicts = path.rounds(8, 100, 20);
        assert_eq!(verdicts.iter().position(|verdict| *verdict == Verdict::Policed), Some(7));
        assert_eq!(path.model.bandwidth_in_use(), Some(Bandwidth::of(1, 1_000)));
    }

    #[test]
    fn less_loss_than_the_threshold_is_none() {
        let mut path = Path::new();
        // 19 of 100 is 48.6 of 256.
        assert!(!path.rounds(16, 100, 19).contains(&Verdict::Policed));
        assert_eq!(path.model.bandwidth, Bandwidth::default());
    }

    #[test]
    fn rates_that_differ_by_more_than_an_eighth_do_not_agree() {
        let run = |second| {
            let mut path = Path::new();
            path.rounds(4, 80, 20);
            path.rounds(4, second, 30).contains(&Verdict::Policed)
        };
        assert!(run(89));
        assert!(!run(91));
    }

    #[test]
    fn slow_rates_agree_within_4_kbit_per_second_and_their_mean_is_used() {
        // A packet a second, and then three or two in four seconds: 358 and 717 bytes per second less.
        for (last, is_policed) in [(1, true), (0, false)] {
            let mut path = Path::new();
            path.round_ms = 1_000;
            path.rounds(6, 1, 1);
            path.round(last, 1);
            assert_eq!(path.round(0, 1) == Verdict::Policed, is_policed);
            assert!(!is_policed || path.model.bandwidth.0.abs_diff(Bandwidth::of(7, 8_000_000).0) <= 1);
        }
        // A packet a second, and then four in six seconds or five in eight: 478 and 538 bytes per second less.
        for (round_ms, last, is_policed) in [(1_500, 1, true), (2_000, 2, false)] {
            let mut path = Path::new();
            path.round_ms = 1_000;
            path.rounds(4, 1, 1);
            path.round_ms = round_ms;
            path.rounds(3, 1, 1);
            assert_eq!(path.round(last, 1) == Verdict::Policed, is_policed, "rounds of {round_ms} ms");
        }
    }

    #[test]
    fn an_interval_in_which_the_application_limits_says_nothing() {
        let mut path = Path::new();
        path.rounds(7, 100, 20);
        path.seen.is_app_limited = true;
        path.round(100, 20);
        assert!(!path.model.is_sampling);
        path.seen.is_app_limited = false;
        assert!(!path.rounds(7, 100, 20).contains(&Verdict::Policed));
    }

    #[test]
    fn the_policed_rate_is_used_for_48_rounds() {
        let mut path = Path::new();
        path.rounds(8, 100, 20);
        path.seen.is_round_start = false;
        path.rounds(50, 100, 0);
        (path.seen.is_round_start, path.seen.is_probing_bandwidth) = (true, false);
        path.rounds(50, 100, 0);
        path.seen.is_probing_bandwidth = true;
        let verdicts = path.rounds(48, 100, 0);
        assert_eq!(verdicts.iter().position(|verdict| *verdict == Verdict::Expired), Some(47));
        assert_eq!(path.model.bandwidth_in_use(), None);
    }

    #[test]
    fn an_interval_of_more_than_16_rounds_is_too_long() {
        let mut path = Path::new();
        path.round(100, 20);
        path.rounds(15, 100, 0);
        assert!(path.model.is_sampling);
        path.round(100, 0);
        assert!(!path.model.is_sampling);
    }
}

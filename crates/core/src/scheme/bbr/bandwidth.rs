//! Rounds, the bandwidth filter over them, and the test whether start-up has filled the pipe.

use super::fixed_point::{Bandwidth, GAIN_UNIT};
use crate::filter::WindowedMax;
use crate::scheme::Ack;
use crate::units::Duration;

/// Rounds that the maximum of the bandwidth covers (`bbr_bw_rtts`).
const WINDOW_ROUNDS: u64 = 10;
/// Growth that shows that the pipe is not full yet (`bbr_full_bw_thresh`).
const FULL_THRESHOLD: u32 = GAIN_UNIT * 5 / 4;
/// Rounds without such growth after which it is (`bbr_full_bw_cnt`).
const FULL_ROUNDS: u32 = 3;

/// What the model takes from an ack.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sample {
    /// Packets delivered so far.
    pub(super) delivered: u64,
    /// Packets delivered when the sampled packet was sent.
    pub(super) prior_delivered: u64,
    /// Delivery rate; `None` if the ack gives none.
    pub(super) bandwidth: Option<Bandwidth>,
    pub(super) is_app_limited: bool,
}

impl Sample {
    /// What an ack shows; packets that were `limited` say no more than those of a limited application.
    #[inline]
    pub(super) fn of(ack: &Ack<'_>, limited: &Limited) -> Self {
        let micros = ack.rate.interval.map_or(0, Duration::as_micros);
        Self {
            delivered: ack.delivered,
            prior_delivered: ack.rate.prior_delivered,
            bandwidth: (micros > 0).then(|| Bandwidth::of(ack.rate.delivered, micros)),
            is_app_limited: ack.rate.is_app_limited || limited.covers(ack.rate.prior_delivered),
        }
    }
}

/// Counts round trips by the packets delivered in them.
#[derive(Debug, Default)]
pub(super) struct Rounds {
    pub(super) count: u64,
    /// True while the first ack of a round is being processed.
    pub(super) is_start: bool,
    /// The round ends when a packet is acknowledged that was sent after this many had been delivered.
    end: u64,
}

impl Rounds {
    /// Takes a valid sample.
    pub(super) fn on_sample(&mut self, sample: &Sample) {
        self.is_start = sample.prior_delivered >= self.end;
        if self.is_start {
            self.end = sample.delivered;
            self.count += 1;
        }
    }

    /// A round begins now, with `delivered` packets delivered.
    pub(super) fn restart(&mut self, delivered: u64) {
        self.end = delivered;
    }
}

/// The most that was delivered in any of the last ten rounds.
#[derive(Debug)]
pub(super) struct BandwidthFilter(WindowedMax);

impl BandwidthFilter {
    pub(super) fn new() -> Self {
        Self(WindowedMax::new(WINDOW_ROUNDS))
    }

    pub(super) fn max(&self) -> Bandwidth {
        Bandwidth(self.0.get().unwrap_or(0))
    }

    /// Takes a sample, unless the application held it down below what is known.
    pub(super) fn on_sample(&mut self, round: u64, bandwidth: Bandwidth, is_app_limited: bool) {
        if !is_app_limited || bandwidth >= self.max() {
            self.0.update(round, bandwidth.0);
        }
    }
}

/// Packets that leave while the round-trip time is probed show no bandwidth: those sent while between two numbers had
/// been delivered.
#[derive(Debug, Default)]
pub(in crate::scheme) struct Limited(Option<(u64, u64)>);

impl Limited {
    /// A probe begins with `delivered` packets delivered.
    pub(in crate::scheme) fn begin(&mut self, delivered: u64) {
        self.0 = Some((delivered, delivered));
    }

    /// The probe goes on with `in_flight` packets in flight.
    pub(in crate::scheme) fn extend(&mut self, delivered: u64, in_flight: u32) {
        if let Some((_, last)) = &mut self.0 {
            *last = delivered + u64::from(in_flight);
        }
    }

    /// True for a packet that was sent while `prior_delivered` had been delivered.
    pub(in crate::scheme) fn covers(&self, prior_delivered: u64) -> bool {
        self.0.is_some_and(|(first, last)| (first..=last).contains(&prior_delivered))
    }
}

/// Start-up's test for a full pipe (`bbr_check_full_bw_reached`).
#[derive(Debug)]
pub(super) struct FullPipe {
    pub(super) is_reached: bool,
    /// The bandwidth that the next rounds have to exceed by a quarter.
    pub(super) bandwidth: Bandwidth,
    rounds: u32,
}

impl FullPipe {
    /// A pipe that is full when three rounds bring no growth.
    pub(super) fn new() -> Self {
        Self { is_reached: false, bandwidth: Bandwidth::default(), rounds: 0 }
    }

    /// A round of a sender that was not limited by its application ends with this filtered bandwidth.
    pub(super) fn on_round(&mut self, bandwidth: Bandwidth) {
        if self.is_reached {
            return;
        }
        if bandwidth >= self.bandwidth.scaled(FULL_THRESHOLD) {
            self.bandwidth = bandwidth;
            self.rounds = 0;
            return;
        }
        self.rounds += 1;
        self.is_reached = self.rounds >= FULL_ROUNDS;
    }

    /// A timeout: the next round starts the comparison anew.
    pub(super) fn on_timeout(&mut self) {
        self.bandwidth = Bandwidth::default();
    }

    /// The loss that slowed the sender down was none.
    pub(super) fn on_undo(&mut self) {
        self.bandwidth = Bandwidth::default();
        self.rounds = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pipe_is_full_after_three_rounds_without_a_quarter_more() {
        let mut pipe = FullPipe::new();
        for bandwidth in [100, 200, 250] {
            pipe.on_round(Bandwidth(bandwidth));
            assert_eq!(pipe.bandwidth, Bandwidth(bandwidth));
        }
        // 312 = 250 * 320 / 256 rounded down would be growth enough.
        pipe.on_round(Bandwidth(311));
        pipe.on_round(Bandwidth(311));
        assert!(!pipe.is_reached);
        pipe.on_round(Bandwidth(311));
        assert!(pipe.is_reached);
    }

    #[test]
    fn growth_by_a_quarter_starts_the_count_again() {
        let mut pipe = FullPipe::new();
        for bandwidth in [250, 250, 250, 312, 312, 312] {
            pipe.on_round(Bandwidth(bandwidth));
        }
        assert!(!pipe.is_reached);
        pipe.on_round(Bandwidth(312));
        assert!(pipe.is_reached);
    }

    #[test]
    fn the_most_of_ten_rounds_counts() {
        let mut filter = BandwidthFilter::new();
        filter.on_sample(0, Bandwidth(9), false);
        let later = [10, 11].map(|round| {
            filter.on_sample(round, Bandwidth(1), false);
            filter.max().0
        });
        assert_eq!(later, [9, 1]);
    }

    #[test]
    fn a_round_ends_when_a_packet_of_it_is_acknowledged() {
        let mut rounds = Rounds::default();
        let mut starts = Vec::new();
        // Ten packets in flight: each was sent ten deliveries before its ack.
        for delivered in 1_u64..=40 {
            let sample = Sample { delivered, prior_delivered: delivered.saturating_sub(10), ..Sample::default() };
            rounds.on_sample(&sample);
            if rounds.is_start {
                starts.push(delivered);
            }
        }
        assert_eq!(starts, [1, 11, 21, 31]);
        assert_eq!(rounds.count, 4);
    }

    #[test]
    fn a_low_sample_of_a_limited_application_does_not_count() {
        let mut filter = BandwidthFilter::new();
        filter.on_sample(0, Bandwidth(100), false);
        for round in 1..=20 {
            filter.on_sample(round, Bandwidth(50), true);
        }
        assert_eq!(filter.max(), Bandwidth(100));
        filter.on_sample(21, Bandwidth(50), false);
        assert_eq!(filter.max(), Bandwidth(50));
    }
}

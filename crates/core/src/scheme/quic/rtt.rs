//! The round trips that a sender measures: one for every ack whose newest packet is news.
//!
//! **Source.** Chromium (google/quiche 790af403), `rtt_stats.cc`, `QuicSentPacketManager::MaybeUpdateRTT`. Whole
//! microseconds.

use crate::units::Duration;

/// Round trip that is assumed until one is measured (`kInitialRttMs`).
pub(in crate::scheme) const INITIAL_RTT: Duration = Duration::from_millis(100);

/// The least, the last and the smoothed round trip; `None` before the first sample.
#[derive(Debug, Default)]
pub(in crate::scheme) struct RoundTrips {
    least: Option<Duration>,
    latest: Duration,
    smoothed: Option<Duration>,
}

impl RoundTrips {
    /// Those of a program that reports one before it has sent anything.
    pub(in crate::scheme) fn with_first(told: Option<Duration>) -> Self {
        let mut trips = Self::default();
        if let Some(told) = told {
            trips.update(told);
        }
        trips
    }

    /// Takes a sample (`UpdateRtt`); one of no time is none.
    pub(in crate::scheme) fn update(&mut self, rtt: Duration) {
        let micros = rtt.as_micros();
        if micros == 0 {
            return;
        }
        let rtt = Duration::from_micros(micros);
        self.least = Some(self.least.map_or(rtt, |least| least.min(rtt)));
        self.latest = rtt;
        // Both parts are rounded.
        let smooth = |old: Duration| Duration::from_micros((7 * old.as_micros() + 4) / 8 + (micros + 4) / 8);
        self.smoothed = Some(self.smoothed.map_or(rtt, smooth));
    }

    /// A timeout proved needless, so that the round trips are longer than was thought (`ExpireSmoothedMetrics`).
    pub(in crate::scheme) fn expire(&mut self) {
        self.smoothed = self.smoothed.map(|smoothed| smoothed.max(self.latest));
    }

    /// The least.
    pub(in crate::scheme) fn least(&self) -> Option<Duration> {
        self.least
    }

    /// The last.
    pub(in crate::scheme) fn latest(&self) -> Duration {
        self.latest
    }

    /// The smoothed one, or what stands for it.
    pub(in crate::scheme) fn smoothed(&self) -> Duration {
        self.smoothed.unwrap_or(INITIAL_RTT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn micros(count: u64) -> Duration {
        Duration::from_micros(count)
    }

    #[test]
    fn an_eighth_of_each_sample_is_taken_in_whole_microseconds() {
        let mut trips = RoundTrips::default();
        assert_eq!((trips.least(), trips.smoothed()), (None, INITIAL_RTT));
        trips.update(Duration::ZERO);
        trips.update(Duration::from_nanos(40_003_999));
        assert_eq!((trips.least(), trips.smoothed()), (Some(micros(40_003)), micros(40_003)));
        // 35002.6 and 5250.5.
        trips.update(micros(42_004));
        assert_eq!(
            (trips.least(), trips.latest(), trips.smoothed()),
            (Some(micros(40_003)), micros(42_004), micros(40_254))
        );
    }

    #[test]
    fn what_is_told_counts_as_the_first() {
        let mut trips = RoundTrips::with_first(Some(Duration::from_millis(100)));
        trips.update(Duration::from_millis(200));
        assert_eq!((trips.least(), trips.smoothed()), (Some(micros(100_000)), micros(112_500)));
    }

    #[test]
    fn a_needless_timeout_makes_the_last_sample_the_least_that_is_expected() {
        let mut trips = RoundTrips::default();
        trips.update(micros(40_000));
        trips.update(micros(400_000));
        trips.expire();
        assert_eq!(trips.smoothed(), micros(400_000));
        trips.update(micros(40_000));
        trips.expire();
        assert_eq!(trips.smoothed(), micros(355_000));
    }
}

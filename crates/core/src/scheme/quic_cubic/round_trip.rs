//! The round-trip time, smoothed and least of all (`rtt_stats.cc`).

use crate::scheme::quic::INITIAL_RTT;
use crate::units::Duration;

/// A new sample counts for one part in so many (`kAlpha`).
const PARTS: u64 = 8;

/// What the samples so far amount to. The minimum is never forgotten.
#[derive(Debug)]
pub(super) struct RoundTrip {
    smoothed: Option<Duration>,
    least: Option<Duration>,
}

impl RoundTrip {
    /// Begins with a sample of `first`, or with none if that is zero.
    pub(super) fn new(first: Duration) -> Self {
        let mut round_trip = Self { smoothed: None, least: None };
        if !first.is_zero() {
            round_trip.on_sample(first);
        }
        round_trip
    }

    /// `UpdateRtt`.
    pub(super) fn on_sample(&mut self, rtt: Duration) {
        self.least = Some(self.least.map_or(rtt, |least| least.min(rtt)));
        self.smoothed = Some(self.smoothed.map_or(rtt, |smoothed| (smoothed * (PARTS - 1) + rtt).scale(1, PARTS)));
    }

    /// `SmoothedOrInitialRtt`.
    pub(super) fn smoothed(&self) -> Duration {
        self.smoothed.unwrap_or(INITIAL_RTT)
    }

    /// The least of all; zero before the first.
    pub(super) fn least(&self) -> Duration {
        self.least.unwrap_or(Duration::ZERO)
    }
}

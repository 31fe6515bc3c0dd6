//! The time of a run.

use std::io;

use bakeoff_core::units::{Duration, Instant};

use crate::sys;

/// The time of a run as the machine's monotonic clock tells it. Both ends of a flow share the machine, so they agree.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    start: Duration,
}

impl Clock {
    /// The clock of a run that starts when the monotonic clock (`CLOCK_MONOTONIC`) shows `start`.
    pub fn new(start: Duration) -> Self {
        Self { start }
    }

    /// What the monotonic clock shows when the run starts.
    pub fn start(self) -> Duration {
        self.start
    }

    /// Time since the start of the run; zero before it.
    pub fn now(self) -> io::Result<Instant> {
        Ok(Instant::ZERO + sys::monotonic()?.saturating_sub(self.start))
    }

    /// Waits for the start of the run.
    pub fn wait_for_start(self) {
        sys::sleep_until(self.start);
    }

    /// What the monotonic clock shows at `time`; the largest duration if that is beyond its reach.
    pub fn monotonic_at(self, time: Instant) -> Duration {
        Duration::from_nanos(self.start.as_nanos().saturating_add(time.as_nanos()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn before_the_start_it_is_zero() {
        let clock = Clock::new(Duration::MAX);
        assert_eq!(clock.now().unwrap(), Instant::ZERO);
    }

    #[test]
    fn never_is_beyond_every_start() {
        let clock = Clock::new(Duration::from_secs(5));
        assert_eq!(clock.monotonic_at(Instant::ZERO + Duration::from_secs(2)), Duration::from_secs(7));
        assert_eq!(clock.monotonic_at(Instant::FAR_FUTURE), Duration::MAX);
    }
}

//! The start of a run, which is not known before everybody is ready.

use std::sync::{Arc, OnceLock};

use bakeoff_core::units::Duration;

use crate::udp::Clock;

/// When a run starts: threads wait to be told.
#[derive(Clone, Debug, Default)]
pub struct Start(Arc<OnceLock<Clock>>);

impl Start {
    /// A start that is known: when the monotonic clock shows this.
    pub fn at(run_start: Duration) -> Self {
        let start = Self::default();
        start.tell(Clock::new(run_start));
        start
    }

    /// Tells all that wait; the first word counts.
    pub fn tell(&self, clock: Clock) {
        self.0.get_or_init(|| clock);
    }

    /// Waits to be told, and returns the clock of the run.
    pub(super) fn wait(&self) -> Clock {
        *self.0.wait()
    }
}

//! The clock that a sender reads, and so all that it knows of time.
//!
//! **Source.** Chromium `quic_time.h`: time is whole microseconds. A round trip has both its ends cut to such.

use crate::info::{Kind, Parameter};
use crate::scheme::Parameters;
use crate::units::{Duration, Instant};

/// How far apart two times are that the clock can tell apart.
pub(in crate::scheme) const CLOCK_RESOLUTION: Parameter = Parameter {
    name: "clock_resolution",
    kind: Kind::Number { default: 0.001, min: 0.001, max: 100.0 },
    unit: "ms",
    doc: "what the sender's clock counts in; times are cut to it",
};

/// A clock that stands still between two multiples of its resolution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::scheme) struct Clock {
    resolution: Duration,
}

impl Clock {
    /// The one that a flow is to have.
    pub(in crate::scheme) fn of(parameters: &Parameters) -> Self {
        Self { resolution: Duration::from_secs_f64(parameters.number(CLOCK_RESOLUTION.name) / 1e3) }
    }

    /// What it shows.
    pub(in crate::scheme) fn read(self, time: Instant) -> Instant {
        time.truncated(self.resolution)
    }
}

/// Chromium's.
impl Default for Clock {
    fn default() -> Self {
        Self { resolution: Duration::from_micros(1) }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::scheme::Value;

    #[test]
    fn time_is_cut_to_what_the_clock_counts_in() {
        let shown = |clock: Clock| clock.read(Instant::from_nanos(2_999_999)).as_nanos();
        assert_eq!(shown(Clock::default()), 2_999_000);
        assert_eq!(shown(Clock { resolution: Duration::from_millis(1) }), 2_000_000);
    }

    #[test]
    fn the_parameter_is_in_milliseconds_and_a_microsecond_unless_given() {
        let clock = |given: &[(&str, f64)]| {
            let given: BTreeMap<_, _> =
                given.iter().map(|(name, value)| ((*name).to_owned(), Value::Number(*value))).collect();
            Clock::of(&Parameters::resolve("quic_bbr", &[CLOCK_RESOLUTION], &given).expect("within bounds"))
        };
        assert_eq!(clock(&[]), Clock::default());
        assert_eq!(clock(&[("clock_resolution", 2.5)]).resolution, Duration::from_micros(2_500));
    }
}

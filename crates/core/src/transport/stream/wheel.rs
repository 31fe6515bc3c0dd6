//! When a timer of the kernel goes off: never early, and the later it is due, the coarser.
//!
//! TCP's timers for retransmissions, probes, reordering and delayed acks are on the timer wheel; pacing and compressed
//! acks are not.

use crate::machine::AGE;
use crate::timer_wheel;
use crate::units::{Duration, Instant};

/// The tick count at the start of a run: that of a machine begins 300 s before it wraps around (`INITIAL_JIFFIES`).
const TICKS_AT_START: u64 = (1 << 32) - 300_000 + AGE.as_millis();

/// When a timer goes off that is set at `now` to go off after `wait`, which is rounded up to ticks
/// (`usecs_to_jiffies`).
pub(super) fn expiry(now: Instant, wait: Duration) -> Instant {
    expiry_ahead(now, wait, 0)
}

/// The same where another that goes off sets it: the wheel's clock is then a tick ahead already (`__run_timers`).
pub(super) fn expiry_of_next(now: Instant, wait: Duration) -> Instant {
    expiry_ahead(now, wait, 1)
}

fn expiry_ahead(now: Instant, wait: Duration, clock_ahead: u64) -> Instant {
    let ticks = (wait + Duration::from_nanos(999_999)).as_millis();
    let due = TICKS_AT_START + now.as_millis() + ticks;
    Instant::ZERO + Duration::from_millis(timer_wheel::fires(due, ticks.saturating_sub(clock_ahead)) - TICKS_AT_START)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(now_us: u64, wait_us: u64) -> u64 {
        let due = expiry(Instant::ZERO + Duration::from_micros(now_us), Duration::from_micros(wait_us));
        due.as_millis()
    }

    #[test]
    fn a_near_timer_goes_off_at_a_tick_and_never_early() {
        assert_eq!(after(0, 40_000), 41);
        assert_eq!(after(999, 40_000), 41);
        assert_eq!(after(1_000, 39_001), 42);
    }

    #[test]
    fn one_that_another_sets_is_coarser_a_tick_later() {
        let next = |wait_ms| expiry_of_next(Instant::ZERO, Duration::from_millis(wait_ms)).as_millis();
        assert_eq!([next(62), next(63), next(64)], [63, 64, 72]);
        // As Linux 7.3 backs a timeout of 252 ms off.
        assert_eq!([after(0, 503_000), after(0, 504_000), next(504), next(505)], [504, 568, 512, 568]);
    }

    #[test]
    fn later_ones_are_coarser() {
        assert_eq!(after(0, 62_000), 63);
        assert_eq!(after(0, 63_000), 64, "multiples of 8 ms");
        assert_eq!(after(0, 64_000), 72);
        assert_eq!(after(0, 503_000), 504);
        // The phase of 64 ms: the count of ticks at the start is 8 more than a multiple.
        assert_eq!(after(0, 1_000_000), 1_016);
        assert_eq!(after(0, 1_016_000), 1_080);
    }
}

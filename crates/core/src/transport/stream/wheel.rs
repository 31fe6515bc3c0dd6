//! When a timer of the kernel goes off: never early, and the later it is due, the coarser.
//!
//! TCP's timers for retransmissions, probes, reordering and delayed acks are on the timer wheel; pacing and compressed
//! acks are not.

use crate::timer_wheel;
use crate::units::{Duration, Instant};

/// The tick count at the start of a run: it begins 300 s before it wraps around (`INITIAL_JIFFIES`), and a run begins
/// one second after the boot of the guest.
const TICKS_AT_START: u64 = (1 << 32) - 299_000;

/// When a timer goes off that is set at `now` to go off after `wait`, which is rounded up to ticks
/// (`usecs_to_jiffies`).
pub(super) fn expiry(now: Instant, wait: Duration) -> Instant {
    let ticks = (wait + Duration::from_nanos(999_999)).as_millis();
    let due = TICKS_AT_START + now.as_millis() + ticks;
    Instant::ZERO + Duration::from_millis(timer_wheel::fires(due, ticks) - TICKS_AT_START)
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

//! The kernel's timer wheel: never early, and the later a timer is due, the coarser.
//!
//! **Source.** Linux 7.3 `kernel/time/timer.c` (`calc_wheel_index`, `calc_index`) with a tick of 1 ms: a timer due
//! within 63 ticks goes off one tick late, one within half a second at a multiple of 8 ticks, one within four seconds
//! of 64, and so on.

/// `LVL_SIZE` - 1: a level of the wheel is for delays of less than so many of its buckets.
const LEVEL_BUCKETS: u64 = 63;
/// `LVL_CLK_SHIFT`: a bucket of each level is eight times as long as one of the level before.
const LEVEL_SHIFT: u32 = 3;
/// `LVL_DEPTH` where HZ is more than 100.
const LEVELS: u32 = 9;

/// The tick in which a timer goes off that is due at `due`, so many ticks from the wheel's own clock.
pub(crate) fn fires(due: u64, ahead: u64) -> u64 {
    let level = (0..LEVELS - 1).find(|level| ahead < LEVEL_BUCKETS << (level * LEVEL_SHIFT)).unwrap_or(LEVELS - 1);
    let shift = level * LEVEL_SHIFT;
    ((due >> shift) + 1) << shift
}

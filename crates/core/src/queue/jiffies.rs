//! A timer of the kernel that repeats: it runs in ticks of a millisecond on the timer wheel, and fires a little late.

use crate::machine::AGE;
use crate::timer_wheel;
use crate::units::Instant;

/// A timer that arms itself anew whenever it fires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct JiffyTimer {
    due: u64,
    period: u64,
}

impl JiffyTimer {
    /// Fires the first time `first` ticks after the queue was made, and from then on every `period`.
    pub(super) fn new(first: u64, period: u64) -> Self {
        Self { due: fires(0, first), period }
    }

    /// Fires if it is due by `now`, and says whether it did; call until it does not.
    pub(super) fn fire(&mut self, now: Instant) -> bool {
        if self.due > now.as_millis() + AGE.as_millis() {
            return false;
        }
        self.due = fires(self.due, self.period);
        true
    }
}

/// The tick in which a timer fires that was armed for `delay` ticks after `now` by its own handler, at which time the
/// wheel's clock is one tick on.
fn fires(now: u64, delay: u64) -> u64 {
    timer_wheel::fires(now + delay, delay.saturating_sub(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Duration;

    #[test]
    fn fifteen_ticks_are_sixteen_and_five_hundred_are_504() {
        let times = |period, until| {
            let mut timer = JiffyTimer::new(period, period);
            // Since the machine was started.
            while timer.fire(Instant::ZERO) {}
            let fires = |ms: &u64| timer.fire(Instant::ZERO + Duration::from_millis(*ms));
            (0..until).filter(fires).collect::<Vec<_>>()
        };
        assert_eq!(times(15, 70), [8, 24, 40, 56]);
        assert_eq!(times(500, 1_600), [32, 536, 1_040, 1_544]);
    }
}

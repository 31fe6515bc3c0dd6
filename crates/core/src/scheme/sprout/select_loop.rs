//! When the program wakes and sends although nothing else makes it (`sproutbt2.cc`): its clock has whole milliseconds,
//! it sleeps for 10 ms at most, and sends at the first waking at which it is due.

use crate::units::{Duration, Instant};

/// The longest sleep.
const LONGEST_SLEEP: Duration = Duration::from_millis(10);
/// What a process sleeps longer than it asked for (Linux `timerslack_ns`).
const TIMER_SLACK: Duration = Duration::from_micros(50);

/// Either end's loop.
#[derive(Clone, Copy, Debug)]
pub(super) struct SelectLoop {
    /// The longest pause between two packets (`fallback_interval`).
    pause: Duration,
    woke: Instant,
    /// `time_of_next_transmission`
    due: Instant,
}

/// The time as the program's clock has it.
pub(super) fn clock(now: Instant) -> Instant {
    now.truncated(Duration::from_millis(1))
}

impl SelectLoop {
    pub(super) fn new(start: Instant, pause: Duration) -> Self {
        Self { pause, woke: start, due: clock(start) + pause }
    }

    /// When it wakes if no packet comes.
    pub(super) fn next(&self) -> Instant {
        let left = self.due.since(clock(self.woke));
        let sleep = if left.is_zero() { LONGEST_SLEEP } else { left.min(LONGEST_SLEEP) };
        self.woke + sleep + TIMER_SLACK
    }

    /// When it wakes to send, if that is all that it could do.
    pub(super) fn next_due(&self) -> Instant {
        let mut ahead = *self;
        while clock(ahead.next()) < ahead.due {
            ahead.woke = ahead.next();
        }
        ahead.next()
    }

    /// Wakes, with a packet or without; whether it is due to send.
    pub(super) fn wake(&mut self, now: Instant) -> bool {
        self.woke = now;
        self.due <= clock(now)
    }

    /// Something is sent.
    pub(super) fn on_sent(&mut self, now: Instant) {
        self.due = self.due.max(clock(now) + self.pause);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAUSE: Duration = Duration::from_millis(20);

    fn at(micros: u64) -> Instant {
        Instant::ZERO + Duration::from_micros(micros)
    }

    #[test]
    fn it_sleeps_for_ten_milliseconds_and_the_slack_of_a_timer() {
        let mut awake = SelectLoop::new(at(5_700), PAUSE);
        assert_eq!(awake.next(), at(15_750));
        assert!(!awake.wake(at(15_750)));
        assert_eq!(awake.next(), at(25_800));
        assert_eq!(awake.next_due(), at(25_800));
        assert!(awake.wake(at(25_800)), "25 by its clock");
        assert_eq!(SelectLoop::new(at(5_700), PAUSE).next_due(), at(25_800), "as if it woke in between");
    }

    #[test]
    fn a_packet_wakes_it_and_it_sleeps_for_what_is_left() {
        let mut awake = SelectLoop::new(at(5_700), PAUSE);
        assert!(!awake.wake(at(22_300)));
        assert_eq!(awake.next(), at(25_350));
        assert!(awake.wake(at(25_350)));
        awake.on_sent(at(25_350));
        assert!(!awake.wake(at(44_999)) && awake.wake(at(45_000)));
    }
}

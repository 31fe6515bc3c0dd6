//! Waits for packets and for due times, on time and without taking a processor for itself.

use bakeoff_core::units::{Duration, Instant};

use crate::error::{Context, RunError};
use crate::sys::Poll;
use crate::udp::Clock;

/// The kernel wakes us some ten microseconds late, so the last stretch before a due time is spent awake.
const AWAKE: Duration = Duration::from_micros(50);
/// Over spans of this length ...
const SPAN: Duration = Duration::from_millis(50);
/// ... at least one part in so many is slept: a thread with priority that never sleeps is stopped by the kernel for 50 ms
/// in every second (Linux 6.12, `kernel/sched/deadline.c`, the fair server).
const SLEPT_PART: u64 = 5;

/// Waits.
pub(super) struct Waiting {
    clock: Clock,
    span_start: Instant,
    slept: Duration,
}

impl Waiting {
    pub(super) fn new(clock: Clock) -> Self {
        Self { clock, span_start: Instant::ZERO, slept: Duration::ZERO }
    }

    fn now(&self) -> Result<Instant, RunError> {
        self.clock.now().context(|| "reading the clock".to_owned())
    }

    /// Waits until a file can be read or `due` has come; does not wait if it has.
    pub(super) fn wait(&mut self, poll: &mut Poll, due: Instant) -> Result<(), RunError> {
        let look = |poll: &mut Poll, timeout| poll.wait(timeout).context(|| "waiting for packets".to_owned());
        let mut now = self.now()?;
        loop {
            let left = due.since(now);
            let may_stay_awake = self.has_slept_enough(now);
            let timeout = if left.is_zero() || (left <= AWAKE && may_stay_awake) {
                Duration::ZERO
            } else {
                left.saturating_sub(if may_stay_awake { AWAKE } else { Duration::ZERO })
            };
            let is_ready = look(poll, timeout)?;
            let before = std::mem::replace(&mut now, self.now()?);
            if !timeout.is_zero() {
                self.slept += now.since(before);
            }
            if is_ready || now >= due {
                return Ok(());
            }
        }
    }

    fn has_slept_enough(&mut self, now: Instant) -> bool {
        let span = now.since(self.span_start);
        let enough = self.slept * SLEPT_PART >= span;
        if span > SPAN {
            self.span_start = now;
            self.slept = Duration::ZERO;
        }
        enough
    }
}

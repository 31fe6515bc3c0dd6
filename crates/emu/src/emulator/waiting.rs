//! Waits for packets and for due times, on time and without taking a processor for itself.
//!
//! A thread with priority that never sleeps is stopped by the kernel for 50 ms in every second (Linux 6.12,
//! `kernel/sched/deadline.c`, the fair server), so being on time and being awake have to be weighed against each other.

use bakeoff_core::units::{Duration, Instant};

use crate::error::{Context, RunError};
use crate::sys::{self, Poll};
use crate::udp::Clock;

/// The kernel wakes us late, a processor that is fast asleep by more than 100 us, so the last stretch before a due time
/// is spent awake: as long as the kernel was late in the worst case of late, within these bounds ...
const LEAST_AWAKE: Duration = Duration::from_micros(20);
const MOST_AWAKE: Duration = Duration::from_micros(250);
/// What was the worst case counts for less with every wait, by one part in so many.
const FORGOTTEN_PART: u64 = 256;
/// ... unless there is so much to do that naps of this length are better: packets then go in small groups.
const NAP: Duration = Duration::from_micros(50);
/// How often the two are weighed.
const SPAN: Duration = Duration::from_millis(5);
/// Whoever has been busy for more than this part of a span, in percent, takes naps ...
const BUSY: u64 = 75;
/// ... until it is busy for less than this part with them.
const IDLE: u64 = 35;

/// Waits.
pub(super) struct Waiting {
    clock: Clock,
    takes_naps: bool,
    /// How long to stay awake before a due time.
    awake: Duration,
    span_start: Instant,
    cpu_at_start: Duration,
}

impl Waiting {
    pub(super) fn new(clock: Clock) -> Self {
        Self { clock, takes_naps: false, awake: MOST_AWAKE, span_start: Instant::ZERO, cpu_at_start: Duration::ZERO }
    }

    fn now(&self) -> Result<Instant, RunError> {
        self.clock.now().context(|| "reading the clock".to_owned())
    }

    /// Waits until a file can be read or `due` has come; looks at the files even if it has.
    pub(super) fn wait(&mut self, poll: &mut Poll, due: Instant) -> Result<(), RunError> {
        let mut now = self.now()?;
        self.weigh(now)?;
        if self.takes_naps && due > now {
            sys::sleep_until(self.clock.monotonic_at(now + NAP));
            now = self.now()?;
        }
        loop {
            let left = due.since(now);
            let awake = if self.takes_naps { Duration::ZERO } else { self.awake };
            let asleep = left.saturating_sub(awake);
            let is_ready = poll.wait(asleep).context(|| "waiting for packets".to_owned())?;
            let wake_up = now + asleep;
            now = self.now()?;
            if !asleep.is_zero() && !is_ready {
                self.learn(now.since(wake_up));
            }
            if is_ready || now >= due {
                return Ok(());
            }
        }
    }

    /// The kernel woke us this late.
    fn learn(&mut self, late: Duration) {
        let forgotten = Duration::from_nanos(self.awake.as_nanos() / FORGOTTEN_PART);
        self.awake = self.awake.saturating_sub(forgotten).max(late).clamp(LEAST_AWAKE, MOST_AWAKE);
    }

    /// Decides whether to stay awake for due times, by how busy the last span was.
    fn weigh(&mut self, now: Instant) -> Result<(), RunError> {
        let span = now.since(self.span_start);
        if span < SPAN {
            return Ok(());
        }
        let cpu = sys::thread_cpu_time().context(|| "reading the clock".to_owned())?;
        let busy = cpu.saturating_sub(self.cpu_at_start).as_nanos() * 100 / span.as_nanos();
        self.takes_naps = busy > if self.takes_naps { IDLE } else { BUSY };
        (self.span_start, self.cpu_at_start) = (now, cpu);
        Ok(())
    }
}

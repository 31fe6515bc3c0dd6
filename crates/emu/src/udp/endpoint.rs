//! One endpoint behind one socket, in the time of the machine.

use std::os::fd::{AsFd, BorrowedFd};

use bakeoff_core::endpoint::Endpoint;
use bakeoff_core::packet_pool::PacketPool;
use bakeoff_core::units::{Duration, Instant};

use super::clock::Clock;
use super::error::{Context, FlowError};
use super::form::Form;
use super::socket::FlowSocket;
use super::sys::{self, Timer};

/// What happens to an endpoint at which time of the run.
#[derive(Clone, Copy, Debug)]
pub struct Timetable<'a> {
    /// Samples are taken from this time on, and to the end.
    pub start: Instant,
    /// From this time on the endpoint is left alone: nothing is sent, and what arrives is not read. That is the stop of
    /// a flow for its sender; its receiver goes on until nothing can arrive any more.
    pub end: Instant,
    /// Samples are taken at the multiples of this interval; `None` or zero for no samples.
    pub sampling: Option<Duration>,
    /// Ends the endpoint early once it can be read or hangs up, such as a pipe whose writing end is dropped.
    pub cancel: Option<BorrowedFd<'a>>,
}

/// Drives an endpoint until the end of its timetable, from the start of the run on.
///
/// It sends what the endpoint yields, sleeps until the endpoint's next wake-up or the next datagram, whichever comes
/// first, and never looks for either in vain. `sample` gets the endpoint as it is at each sampling time; when the
/// machine is late, several of them may be told at once.
pub fn drive<F: Form, E: Endpoint<F::Payload>>(
    endpoint: &mut E,
    socket: &mut FlowSocket<F>,
    clock: Clock,
    timetable: &Timetable<'_>,
    sample: &mut dyn FnMut(Instant, &E),
) -> Result<(), FlowError> {
    let timer = Timer::new().context("making a timer")?;
    let mut samples = Samples::new(timetable);
    let mut driver = Driver { endpoint, socket, clock, end: timetable.end, timer, pool: PacketPool::default() };
    clock.wait_for_start();
    loop {
        let now = driver.now()?;
        while let Some(time) = samples.due(now) {
            sample(time, driver.endpoint);
        }
        if now >= timetable.end {
            return Ok(());
        }
        driver.wake(now)?;
        let [can_read, _, is_cancelled] = driver.wait(now, samples.next, timetable.cancel)?;
        if is_cancelled {
            return Ok(());
        }
        if can_read {
            driver.read()?;
        }
    }
}

struct Driver<'a, E, F: Form> {
    endpoint: &'a mut E,
    socket: &'a mut FlowSocket<F>,
    clock: Clock,
    end: Instant,
    timer: Timer,
    pool: PacketPool<F::Payload>,
}

impl<F: Form, E: Endpoint<F::Payload>> Driver<'_, E, F> {
    fn now(&self) -> Result<Instant, FlowError> {
        self.clock.now().context("reading the clock")
    }

    /// Lets the endpoint speak if it is time.
    fn wake(&mut self, now: Instant) -> Result<(), FlowError> {
        if self.endpoint.next_wakeup().is_some_and(|wakeup| wakeup <= now) { self.send(now) } else { Ok(()) }
    }

    fn send(&mut self, now: Instant) -> Result<(), FlowError> {
        while let Some(packet) = self.endpoint.poll(now, &mut self.pool) {
            self.socket.send(&packet)?;
            self.pool.take_back(packet);
        }
        Ok(())
    }

    /// Sleeps until something happens; `now` is when the endpoint was last asked.
    fn wait(
        &mut self,
        now: Instant,
        next_sample: Option<Instant>,
        cancel: Option<BorrowedFd<'_>>,
    ) -> Result<[bool; 3], FlowError> {
        // Whoever has nothing more to say now must not keep the machine from sleeping.
        let next_wakeup = self.endpoint.next_wakeup().map(|wakeup| wakeup.max(now + Duration::from_nanos(1)));
        let next = [next_wakeup, next_sample].into_iter().flatten().fold(self.end, Instant::min);
        let (next, now) = (self.clock.monotonic_at(next), self.clock.monotonic_at(now));
        self.timer.set(next, now).context("setting a timer")?;
        sys::wait([Some(self.socket.as_fd()), Some(self.timer.as_fd()), cancel]).context("waiting for packets")
    }

    /// Takes what has arrived. If that is more than fits into one call, the next wait ends at once.
    fn read(&mut self) -> Result<(), FlowError> {
        let received = self.socket.receive()?;
        let (mut now, mut is_reader_held) = (Instant::ZERO, false);
        for index in 0..received {
            if index == 0 || !F::IS_BATCHED {
                now = self.now()?;
            }
            if now >= self.end {
                break;
            }
            is_reader_held |= index + 1 < received && self.endpoint.hold_reader();
            if let Some(packet) = self.socket.packet(index, now) {
                self.endpoint.accept(&packet.payload, packet.envelope(), now);
            }
            if index + 1 == received || !F::IS_BATCHED {
                self.send(now)?;
            }
        }
        if is_reader_held {
            self.endpoint.release_reader(now);
            self.send(now)?;
        }
        Ok(())
    }
}

/// The sampling times that are still to come.
struct Samples {
    interval: Duration,
    next: Option<Instant>,
    end: Instant,
}

impl Samples {
    fn new(timetable: &Timetable<'_>) -> Self {
        let interval = timetable.sampling.unwrap_or_default();
        let first = |interval: u64| timetable.start.as_nanos().div_ceil(interval).max(1).saturating_mul(interval);
        let next = (!interval.is_zero()).then(|| Instant::from_nanos(first(interval.as_nanos())));
        Self { interval, next, end: timetable.end }
    }

    /// The next sampling time, if it is not later than `now` and the end.
    fn due(&mut self, now: Instant) -> Option<Instant> {
        let due = self.next.filter(|next| *next <= now.min(self.end))?;
        self.next = Some(due + self.interval);
        Some(due)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(start: u64, end: u64) -> Vec<u64> {
        let [start, end, late] = [start, end, 1_000].map(Instant::from_nanos);
        let timetable = Timetable { start, end, sampling: Some(Duration::from_nanos(10)), cancel: None };
        let mut samples = Samples::new(&timetable);
        std::iter::from_fn(|| samples.due(late)).map(Instant::as_nanos).collect()
    }

    #[test]
    fn samples_are_taken_at_multiples_from_start_to_end() {
        assert_eq!(samples(0, 35), [10, 20, 30]);
        assert_eq!(samples(11, 40), [20, 30, 40]);
        assert_eq!(samples(20, 40), [20, 30, 40]);
    }
}

//! A run starts when all its processes are ready: how long they need depends on what else this machine does.

use std::io::ErrorKind;
use std::os::fd::{AsFd, OwnedFd};

use bakeoff_core::units::Duration;

use crate::error::{Context, RunError};
use crate::sys;
use crate::udp::Clock;

/// Longer than a scheme's program may take for its first answer; whoever is not ready by then will not be soon.
const PATIENCE: Duration = Duration::from_secs(25);
/// What a process that is ready says; the answer is the start of the run in nanoseconds of the monotonic clock.
const READY: &[u8] = b"ready";

/// The process that waits for the others, and starts the run.
#[derive(Default)]
pub(super) struct Starter {
    lines: Vec<OwnedFd>,
}

/// Another process, which takes this with it.
pub(super) struct Participant {
    line: OwnedFd,
}

impl Starter {
    /// One more to wait for.
    pub(super) fn participant(&mut self) -> Result<Participant, RunError> {
        let [ours, theirs] = sys::message_pair(PATIENCE).context(|| "starting the senders".to_owned())?;
        self.lines.push(ours);
        Ok(Participant { line: theirs })
    }

    /// Waits until all are ready, and tells them that the run starts so long from now.
    pub(super) fn start(self, lead: Duration) -> Result<Clock, RunError> {
        for line in &self.lines {
            match sys::receive(line.as_fd(), &mut [0; READY.len()]) {
                Ok(0) => return Err(RunError::Senders),
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Err(RunError::NotReady),
                Err(error) => return Err(error).context(|| "waiting for the senders".to_owned()),
            }
        }
        let run_start = now()? + lead;
        for line in &self.lines {
            sys::send(line.as_fd(), &run_start.as_nanos().to_be_bytes()).map_err(|_| RunError::Senders)?;
        }
        Ok(Clock::new(run_start))
    }
}

impl Participant {
    /// Says that this process is ready, and waits to be told when the run starts.
    pub(super) fn wait(self) -> Result<Clock, RunError> {
        let telling = || "waiting for the emulator".to_owned();
        let mut nanos = [0; size_of::<u64>()];
        sys::send(self.line.as_fd(), READY).context(telling)?;
        sys::receive(self.line.as_fd(), &mut nanos).context(telling)?;
        let run_start = Duration::from_nanos(u64::from_be_bytes(nanos));
        if now()? > run_start { Err(RunError::NotReady) } else { Ok(Clock::new(run_start)) }
    }
}

fn now() -> Result<Duration, RunError> {
    sys::monotonic().context(|| "reading the clock".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "both ends wait for each other")]
    fn the_run_starts_for_all_at_one_time_when_the_last_is_ready() {
        let mut starter = Starter::default();
        let participants = [starter.participant().unwrap(), starter.participant().unwrap()];
        let waiting = participants.map(|participant| std::thread::spawn(|| participant.wait().unwrap().start()));
        let clock = starter.start(Duration::from_secs(3600)).unwrap();
        assert_eq!(waiting.map(|thread| thread.join().unwrap()), [clock.start(); 2]);
    }

    #[test]
    fn a_process_that_has_ended_is_not_waited_for() {
        let mut starter = Starter::default();
        drop(starter.participant().unwrap());
        assert!(matches!(starter.start(Duration::ZERO), Err(RunError::Senders)));
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "both ends wait for each other")]
    fn who_hears_of_the_start_too_late_says_so() {
        let mut starter = Starter::default();
        let participant = starter.participant().unwrap();
        let waiting = std::thread::spawn(|| participant.wait().map(|_| ()));
        starter.start(Duration::ZERO).unwrap();
        assert!(matches!(waiting.join().unwrap(), Err(RunError::NotReady)));
    }
}

//! The process of the senders and receivers, which is no emulator and has the rights of an ordinary user.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::mpsc::{self, RecvTimeoutError};

use bakeoff_core::scenario::{Level, Scenario};
use bakeoff_core::transport::stack::StackEntry;
use bakeoff_core::units::Instant;

use super::readiness::Participant;
use crate::error::{Context, RunError};
use crate::log::{SAMPLES_FILE, SampleRecord};
use crate::senders::{Hosts, OutsideScheme, Stage, Start, Watch, open_flows, open_probes};
use crate::sys::{self, Identity};

/// Senders of our own report when they stop. That may take a moment, and a scheme in Python that hangs is ended within
/// ten seconds.
const LAST_NEWS: std::time::Duration = std::time::Duration::from_secs(15);

/// Runs the senders and receivers of a scenario until its end.
pub(super) fn run(
    scenario: &Scenario,
    hosts: &dyn Hosts,
    outside: &[OutsideScheme],
    stacks: &[StackEntry],
    participant: Participant,
    folder: &Path,
    identity: Identity,
) -> Result<(), RunError> {
    sys::wake_up_on_time().context(|| "setting the timer slack".to_owned())?;
    let (tell, news) = mpsc::channel();
    let writing = || format!("writing {SAMPLES_FILE}");
    let mut log = BufWriter::new(File::create(folder.join(SAMPLES_FILE)).context(writing)?);
    let start = Start::default();
    let (open, closed) = mpsc::channel();
    let stage = Stage { scenario, hosts, outside, stacks, start: &start, news: &tell, open: &open };
    let mut senders = Watch::new(scenario, open_flows(stage)?);
    open_probes(stage)?;
    drop(open);
    sys::become_ordinary(identity).context(|| "giving up the rights of root".to_owned())?;
    let clock = participant.wait()?;
    start.tell(clock);

    let mut write = |samples: Vec<SampleRecord>| {
        samples.iter().try_for_each(|sample| log.write_all(&sample.encode()).context(writing))
    };
    let end = scenario.end();
    let interval = scenario.record.interval;
    let mut next_sample = (scenario.record.level >= Level::Series).then_some(Instant::ZERO + interval);
    loop {
        let now = [senders.next_stop(), next_sample].into_iter().flatten().fold(end, Instant::min);
        sys::sleep_until(clock.monotonic_at(now));
        write(senders.stop(now)?)?;
        if next_sample == Some(now) {
            write(senders.sample(now)?)?;
            next_sample = Some(now + interval);
        }
        write(news.try_iter().collect::<Result<_, _>>()?)?;
        if now == end {
            break;
        }
    }
    let are_late = closed.recv_timeout(LAST_NEWS) == Err(RecvTimeoutError::Timeout);
    write(news.try_iter().collect::<Result<_, _>>()?)?;
    if are_late {
        return Err(RunError::Unfinished);
    }
    log.flush().context(writing)
}

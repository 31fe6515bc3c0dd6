//! Programs of others: each end of a flow a process of its own in its host's namespace, with the rights of an ordinary
//! user, started at its time and ended at its time.

use std::collections::VecDeque;
use std::fs;
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use bakeoff_core::scenario::{Direction, Scenario};
use bakeoff_core::units::Duration;
use serde::Serialize;

use super::hosts::{EmulatedHosts, ipv6_address};
use super::job::{Program, Side};
use super::readiness::Participant;
use crate::error::{Context, RunError};
use crate::events::ENDINGS_FILE;
use crate::log::SENDER_PORT;
use crate::senders::{Host, Hosts};
use crate::sys::{self, Identity};
use crate::udp::Clock;

/// The end that listens is started this long before the other one.
pub(super) const HEAD_START: Duration = Duration::from_secs(2);
/// A program that is asked to end may take this long.
const GRACE: Duration = Duration::from_millis(500);
/// How often a program is looked after.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// What is kept of what a program prints.
const KEPT_LINES: usize = 5;
const LINE_BYTES: u64 = 300;

/// Where and as whom programs run.
#[derive(Clone, Debug)]
pub(super) struct Environment {
    /// Their folder, which they may write to.
    pub(super) folder: PathBuf,
    pub(super) identity: Identity,
}

impl Environment {
    /// A folder below that of the run, which belongs to them.
    pub(super) fn create(run: &Path, identity: Identity) -> Result<Self, RunError> {
        let folder = run.join("programs");
        let done = fs::create_dir(&folder).and_then(|()| chown(&folder, Some(identity.user), Some(identity.group)));
        // They have to pass the folder of the run, and need not read it.
        done.and_then(|()| fs::set_permissions(run, fs::Permissions::from_mode(0o711)))
            .context(|| "making a folder for programs".to_owned())?;
        Ok(Self { folder, identity })
    }
}

/// One end of a flow.
struct End {
    flow: usize,
    side: Side,
    host: Host,
    words: Vec<String>,
    start: Duration,
    stop: Duration,
}

/// How a sender has ended by itself, and well.
#[derive(Debug, Serialize)]
struct Ending {
    /// From 0.
    flow: usize,
    /// After its start.
    after_ns: u64,
    /// The last lines that it printed.
    said: Vec<String>,
}

/// Waits for the start, and runs all programs until the end of the run, or until one fails; leaves in the folder of the
/// run how senders have ended by themselves.
#[expect(clippy::disallowed_methods, reason = "each program has its own time")]
pub(super) fn run(
    programs: &[Program],
    scenario: &Scenario,
    hosts: &Arc<EmulatedHosts>,
    participant: Participant,
    environment: &Environment,
    folder: &Path,
) -> Result<(), RunError> {
    let clock = participant.wait()?;
    let (tell, ended) = channel();
    for program in programs {
        for side in [Side::Sender, Side::Receiver] {
            let end = End::of(program, side, scenario, hosts, clock);
            let (hosts, environment, tell) = (Arc::clone(hosts), environment.clone(), tell.clone());
            thread::spawn(move || tell.send(end.live(&hosts, &environment)));
        }
    }
    drop(tell);
    let ended: Vec<_> = ended.iter().collect::<Result<_, _>>()?;
    let endings: Vec<Ending> = ended.into_iter().flatten().collect();
    let writing = || format!("writing {ENDINGS_FILE}");
    let text = serde_json::to_string(&endings).map_err(io::Error::other).context(writing)?;
    fs::write(folder.join(ENDINGS_FILE), text).context(writing)
}

impl End {
    fn of(program: &Program, side: Side, scenario: &Scenario, hosts: &EmulatedHosts, clock: Clock) -> Self {
        let Program { flow, first, .. } = *program;
        let is_sender_right = scenario.flows[flow].direction == Direction::Reverse;
        let host = Host { pair: hosts.pairs.of_flow(flow), is_right: is_sender_right == (side == Side::Sender) };
        let (start, stop) = (scenario.start_of(flow), scenario.stop_of(flow));
        let words = if side == Side::Sender { &program.sender } else { &program.receiver };
        let begin = clock.monotonic_at(start);
        Self {
            flow,
            side,
            host,
            words: words.iter().map(|word| filled_in(word, flow, host, stop.since(start))).collect(),
            start: if side == first { begin.saturating_sub(HEAD_START) } else { begin },
            stop: clock.monotonic_at(stop),
        }
    }

    /// Starts the program at its time, and ends it at its time; tells of a sender that has ended before and well.
    fn live(&self, hosts: &EmulatedHosts, environment: &Environment) -> Result<Option<Ending>, RunError> {
        sys::sleep_until(self.start);
        hosts.enter(self.host)?;
        let mut child = self.start(environment).map_err(|error| self.error(&starting_problem(&error)))?;
        let last_words = collect(&mut child);
        // What it has left behind may hold its console open.
        let grace = std::time::Duration::from_nanos(GRACE.as_nanos());
        loop {
            let now = sys::monotonic().context(|| "reading the clock".to_owned())?;
            if now >= self.stop {
                return self.end(&mut child).map(|()| None);
            }
            if let Some(status) = child.try_wait().context(|| "looking after a program".to_owned())? {
                if status.success() {
                    // What it has left behind may go on until then.
                    sys::sleep_until(self.stop);
                    let _ = sys::signal_group(child.id(), libc::SIGKILL);
                    let after_ns = now.saturating_sub(self.start).as_nanos();
                    let said = last_words.recv_timeout(grace).unwrap_or_default();
                    return Ok((self.side == Side::Sender).then_some(Ending { flow: self.flow, after_ns, said }));
                }
                let last_words = last_words.recv_timeout(grace).unwrap_or_default();
                return Err(self.error(&format!("{}{}", ending(status), said(&last_words))));
            }
            pause();
        }
    }

    fn start(&self, environment: &Environment) -> io::Result<Child> {
        let Some((name, words)) = self.words.split_first() else {
            return Err(io::Error::new(io::ErrorKind::NotFound, "no program is named"));
        };
        let (folder, identity) = (&environment.folder, environment.identity);
        let mut command = Command::new(name);
        command.args(words).current_dir(folder).process_group(0);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("HOME", folder);
        #[expect(unsafe_code, reason = "a process gives up its rights before it becomes another program")]
        // SAFETY: the closure makes system calls only, which is allowed between fork and exec.
        unsafe {
            command.pre_exec(move || sys::become_ordinary(identity));
        }
        command.spawn()
    }

    /// Asks the program to end, and makes it.
    fn end(&self, child: &mut Child) -> Result<(), RunError> {
        let ending = || "ending a program".to_owned();
        let give_up = self.stop + GRACE;
        sys::signal_group(child.id(), libc::SIGTERM).context(ending)?;
        while sys::monotonic().context(ending)? < give_up {
            if child.try_wait().context(ending)?.is_some() {
                break;
            }
            pause();
        }
        // Also what it has started and left behind.
        let _ = sys::signal_group(child.id(), libc::SIGKILL);
        child.wait().context(ending).map(|_| ())
    }

    fn error(&self, problem: &str) -> RunError {
        let side = if self.side == Side::Sender { "sender" } else { "receiver" };
        let problem = format!("its {side} ({}) {problem}", self.words.join(" "));
        RunError::Scheme { flow: self.flow + 1, problem }
    }
}

fn pause() {
    if let Ok(now) = sys::monotonic() {
        sys::sleep_until(now + LOOK_EVERY);
    }
}

fn starting_problem(error: &io::Error) -> String {
    if error.kind() == io::ErrorKind::NotFound {
        "is not there: install it, or give its whole path".to_owned()
    } else {
        format!("cannot be started: {error}")
    }
}

/// A word with its place-holders filled in.
fn filled_in(word: &str, flow: usize, host: Host, length: Duration) -> String {
    let other = Host { is_right: !host.is_right, ..host };
    word.replace("{port}", &(SENDER_PORT + flow as u16).to_string())
        .replace("{address}", &std::net::Ipv4Addr::from(other.address()).to_string())
        .replace("{address6}", &ipv6_address(other).to_string())
        .replace("{seconds}", &length.as_nanos().div_ceil(1_000_000_000).to_string())
}

/// Reads all that a program prints, so that it never waits for us, and hands over the last lines when it has ended.
#[expect(clippy::disallowed_methods, reason = "a pipe that nobody reads holds up its writer")]
fn collect(child: &mut Child) -> Receiver<Vec<String>> {
    let (tell, told) = channel();
    let pipes: [Option<Box<dyn Read + Send>>; 2] =
        [child.stdout.take().map(|pipe| Box::new(pipe) as _), child.stderr.take().map(|pipe| Box::new(pipe) as _)];
    thread::spawn(move || {
        let lines: Vec<_> = pipes.into_iter().flatten().map(|pipe| thread::spawn(move || last_lines(pipe))).collect();
        let lines = lines.into_iter().flat_map(|reader| reader.join().unwrap_or_default());
        let _ = tell.send(lines.collect());
    });
    told
}

fn last_lines(pipe: Box<dyn Read + Send>) -> VecDeque<String> {
    let mut reader = BufReader::new(pipe);
    let mut lines = VecDeque::new();
    let mut line = Vec::new();
    while reader.by_ref().take(LINE_BYTES).read_until(b'\n', &mut line).is_ok_and(|length| length > 0) {
        let text = String::from_utf8_lossy(&line).trim().to_owned();
        line.clear();
        if !text.is_empty() {
            lines.push_back(text);
        }
        if lines.len() > KEPT_LINES {
            lines.pop_front();
        }
    }
    lines
}

fn ending(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("ended early with status {code}"),
        (None, Some(signal)) => format!("was ended early by signal {signal}"),
        (None, None) => "ended early".to_owned(),
    }
}

fn said(lines: &[String]) -> String {
    if lines.is_empty() { " and said nothing".to_owned() } else { format!("; it said: {}", lines.join(" / ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn place_holders_are_filled_in() {
        let left = Host { pair: 2, is_right: false };
        let fill = |word| filled_in(word, 1, left, Duration::from_millis(1_500));
        assert_eq!(fill("-c{address}:{port}"), "-c10.2.0.2:10001");
        assert_eq!(fill("{address6}"), "fd00:0:0:2::3");
        assert_eq!(fill("{seconds}"), "2");
        assert_eq!(fill("{other}"), "{other}");
    }

    #[test]
    fn only_the_last_lines_are_kept_however_long() {
        let text: String = (0..10_000).map(|number| format!("{number}\n")).chain(["x".repeat(1_000)]).collect();
        let lines = last_lines(Box::new(io::Cursor::new(text.into_bytes())));
        assert_eq!(lines.len(), KEPT_LINES);
        assert!(lines.iter().all(|line| line.len() <= LINE_BYTES as usize));
    }
}

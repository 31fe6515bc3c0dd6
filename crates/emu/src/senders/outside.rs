//! Schemes that a program beside us computes, such as those of users in Python: it answers each message over a socket.
//!
//! The program begins with our rights and gives them up by itself, before it reads anything of its user: an ordinary
//! user may not be able to reach the interpreter.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::Sender as Channel;
use std::sync::{Arc, Mutex, PoisonError};

use bakeoff_core::scheme::external::{self, Answer, ExternalScheme, hello};
use bakeoff_core::scheme::{Scheme, Setup};
use bakeoff_core::units::Duration;
use serde::Deserialize;

use super::News;
use crate::error::RunError;
use crate::sys;

/// A program that has not answered by then never will.
const PATIENCE: Duration = Duration::from_secs(20);
/// A sentence is not longer.
const ANSWER_BYTES: usize = 4096;

/// The program that computes the scheme of a flow.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OutsideScheme {
    /// Its flow, from 0.
    pub flow: usize,
    /// Its words.
    pub command: Vec<String>,
}

/// Such a program at work; it ends with this, and its CPU time is that of the senders.
pub(super) struct Program(Arc<Mutex<Child>>);

impl Drop for Program {
    fn drop(&mut self) {
        let _ = end(&self.0);
    }
}

/// Ends a program unless it has ended, and says how it did.
fn end(child: &Mutex<Child>) -> io::Result<ExitStatus> {
    let mut child = child.lock().unwrap_or_else(PoisonError::into_inner);
    child.kill()?;
    child.wait()
}

struct Line {
    socket: OwnedFd,
    child: Arc<Mutex<Child>>,
    flow: usize,
    news: Channel<News>,
    answer: Vec<u8>,
}

impl Line {
    fn ask(&mut self, message: &[u8]) -> Result<Answer, String> {
        let asked =
            sys::send(self.socket.as_fd(), message).and_then(|_| sys::receive(self.socket.as_fd(), &mut self.answer));
        match asked {
            Ok(0) => Err(self.ending()),
            Ok(length) => Answer::decode(&self.answer[..length]),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                Err(format!("its scheme has given no answer for {} s", PATIENCE.as_secs_f64()))
            }
            Err(error) if matches!(error.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset) => {
                Err(self.ending())
            }
            Err(error) => Err(format!("the process of its scheme cannot be reached: {error}")),
        }
    }

    /// How the program has ended, whose end of the line is closed.
    fn ending(&self) -> String {
        let how = match end(&self.child) {
            Ok(status) => match (status.code(), status.signal()) {
                (Some(code), _) => format!("with status {code}"),
                (None, signal) => format!("by signal {}", signal.unwrap_or_default()),
            },
            Err(error) => format!("in a way that cannot be read: {error}"),
        };
        format!("the process of its scheme has ended {how}")
    }
}

impl external::Channel for Line {
    fn exchange(&mut self, message: &[u8]) -> Option<Answer> {
        let answer = self.ask(message);
        let tell = |problem| self.news.send(Err(RunError::Scheme { flow: self.flow + 1, problem }));
        answer.map_err(tell).ok()
    }
}

/// Starts the program, and says hello. What goes wrong later is news.
pub(super) fn start(
    outside: &OutsideScheme,
    mut setup: Setup,
    news: &Channel<News>,
) -> Result<(Box<dyn Scheme>, Program), String> {
    let (socket, program) =
        spawn(&outside.command).map_err(|error| format!("the process of its scheme cannot start: {error}"))?;
    let child = Arc::clone(&program.0);
    let mut line = Line { socket, child, flow: outside.flow, news: news.clone(), answer: vec![0; ANSWER_BYTES] };
    let first = line.ask(&hello(&mut setup))?;
    Ok((Box::new(ExternalScheme::new(&setup, first, line)), program))
}

/// Starts a program, and returns our end of its line.
fn spawn(command: &[String]) -> io::Result<(OwnedFd, Program)> {
    let Some((program, words)) = command.split_first() else {
        return Err(io::Error::new(io::ErrorKind::NotFound, "no program is named"));
    };
    let [ours, theirs] = sys::message_pair(PATIENCE)?;
    let child = Command::new(program).args(words).stdin(Stdio::from(theirs)).spawn()?;
    Ok((ours, Program(Arc::new(Mutex::new(child)))))
}

//! Writes the logs of a run without ever waiting for a disk: full buffers go to a thread that does.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use bakeoff_core::units::Instant;

use crate::error::{Context, RunError};
use crate::events::{EVENTS_FILE, Event, HEADERS_FILE, encode_header};
use crate::log::TransportHeader;

const BUFFER_BYTES: usize = 1 << 20;
/// Buffers that may wait for the disk; more of them is more than memory should hold.
const WAITING_BUFFERS: usize = 512;

/// One log.
struct Log {
    name: &'static str,
    buffer: Vec<u8>,
    full: SyncSender<Vec<u8>>,
    writer: JoinHandle<io::Result<()>>,
}

impl Log {
    #[expect(clippy::disallowed_methods, reason = "a disk may make its writer wait")]
    fn create(folder: &Path, name: &'static str) -> Result<Self, RunError> {
        let mut file = File::create(folder.join(name)).context(|| format!("creating {name}"))?;
        let (full, waiting): (_, Receiver<Vec<u8>>) = sync_channel(WAITING_BUFFERS);
        let writer = thread::spawn(move || waiting.iter().try_for_each(|buffer| file.write_all(&buffer)));
        Ok(Self { name, buffer: Vec::with_capacity(BUFFER_BYTES), full, writer })
    }

    fn add(&mut self, record: &[u8]) {
        if self.buffer.len() + record.len() > BUFFER_BYTES {
            let full = std::mem::replace(&mut self.buffer, Vec::with_capacity(BUFFER_BYTES));
            // If the writer is gone, it has failed, and says why at the end.
            let _ = self.full.send(full);
        }
        self.buffer.extend_from_slice(record);
    }

    /// A writer ends early only if it cannot write.
    fn has_failed(&self) -> bool {
        self.writer.is_finished()
    }

    fn finish(self) -> Result<(), RunError> {
        let _ = self.full.send(self.buffer);
        drop(self.full);
        let written = self.writer.join().unwrap_or_else(|_| Err(io::Error::other("the writer ended early")));
        written.context(|| format!("writing {}", self.name))
    }
}

/// The logs of a run.
pub(super) struct Journal {
    events: Log,
    headers: Log,
}

impl Journal {
    /// Creates the logs in the folder of the run.
    pub(super) fn create(folder: &Path) -> Result<Self, RunError> {
        Ok(Self { events: Log::create(folder, EVENTS_FILE)?, headers: Log::create(folder, HEADERS_FILE)? })
    }

    /// Notes what happened at `time`.
    pub(super) fn note(&mut self, time: Instant, event: &Event) {
        self.events.add(&event.encode(time));
    }

    /// Notes the transport header of the packet whose sending was noted last.
    pub(super) fn note_header(&mut self, header: &TransportHeader) {
        self.headers.add(&encode_header(header));
    }

    /// Whether a log could not be written, so that it is no use to go on.
    pub(super) fn has_failed(&self) -> bool {
        self.events.has_failed() || self.headers.has_failed()
    }

    /// Makes sure that everything is in the logs.
    pub(super) fn finish(self) -> Result<(), RunError> {
        self.events.finish()?;
        self.headers.finish()
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_full_disk_is_noticed_and_named() {
        let folder = std::env::temp_dir().join(format!("bakeoff-journal-test-{}", std::process::id()));
        std::fs::create_dir(&folder).unwrap();
        symlink("/dev/full", folder.join(HEADERS_FILE)).unwrap();
        let mut journal = Journal::create(&folder).unwrap();
        assert!(!journal.has_failed());
        journal.headers.add(&vec![0; BUFFER_BYTES]);
        journal.headers.add(&[0; 1]);
        while !journal.has_failed() {
            thread::yield_now();
        }
        let problem = journal.finish().unwrap_err().to_string();
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!(problem, format!("writing {HEADERS_FILE}: No space left on device (os error 28)"));
    }
}

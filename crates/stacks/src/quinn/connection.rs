//! The two applications of a connection: one writes a stream, the other reads it.

use std::collections::BTreeMap;

use bakeoff_core::units::{Bytes, Instant};
use bytes::Bytes as Chunk;
use quinn_proto::{Connection, Dir, StreamEvent, StreamId};

/// What one write takes: views of one block of zeros.
const CHUNK_BYTES: usize = 1 << 20;

/// Writes zeros, so many or for ever.
pub(super) struct Writer {
    /// Bytes that are still to be written; `None` for ever.
    left: Option<u64>,
    stream: Option<StreamId>,
    zeros: Chunk,
    /// When all had been acknowledged.
    pub(super) completed: Option<Instant>,
}

impl Writer {
    pub(super) fn new(transfer: Option<Bytes>) -> Self {
        let zeros = Chunk::from(vec![0; CHUNK_BYTES]);
        Self { left: transfer.map(Bytes::count), stream: None, zeros, completed: None }
    }

    /// The connection is there.
    pub(super) fn on_connected(&mut self, connection: &mut Connection) {
        self.stream = connection.streams().open(Dir::Uni);
        self.write(connection);
    }

    pub(super) fn on_event(&mut self, event: &StreamEvent, connection: &mut Connection, now: Instant) {
        match event {
            StreamEvent::Writable { .. } => self.write(connection),
            StreamEvent::Finished { .. } => self.completed = Some(now),
            _ => {}
        }
    }

    /// Writes until the connection takes no more.
    fn write(&mut self, connection: &mut Connection) {
        let Some(stream) = self.stream else { return };
        loop {
            let length = self.left.map_or(CHUNK_BYTES, |left| left.min(CHUNK_BYTES as u64) as usize);
            let mut stream = connection.send_stream(stream);
            if length == 0 {
                // Nothing is to be heard of a second call but that there was a first one.
                let _ = stream.finish();
                return;
            }
            let Ok(written) = stream.write_chunks(&mut [self.zeros.slice(..length)]) else { return };
            self.left = self.left.map(|left| left - written.bytes as u64);
        }
    }
}

/// Reads whatever arrives.
pub(super) struct Reader {
    /// Reads in order, so that what waits behind a gap takes room in the flow's receive window. Without a window to
    /// fill it reads as packets come, because quinn gives up when more than 1024 pieces wait.
    is_ordered: bool,
    arrived: Arrived,
    /// It has read all there is.
    pub(super) is_finished: bool,
}

impl Reader {
    pub(super) fn new(is_ordered: bool) -> Self {
        Self { is_ordered, arrived: Arrived::default(), is_finished: false }
    }

    /// What it has without a gap.
    pub(super) fn in_order(&self) -> Bytes {
        Bytes::new(self.arrived.next)
    }

    pub(super) fn on_event(&mut self, event: &StreamEvent, connection: &mut Connection) {
        match *event {
            StreamEvent::Opened { dir } => {
                while let Some(stream) = connection.streams().accept(dir) {
                    self.read(stream, connection);
                }
            }
            StreamEvent::Readable { id } => self.read(id, connection),
            _ => {}
        }
    }

    fn read(&mut self, stream: StreamId, connection: &mut Connection) {
        let mut stream = connection.recv_stream(stream);
        let Ok(mut chunks) = stream.read(self.is_ordered) else { return };
        let end = loop {
            match chunks.next(usize::MAX) {
                Ok(Some(chunk)) => self.arrived.add(chunk.offset, chunk.bytes.len() as u64),
                end => break end,
            }
        };
        self.is_finished |= matches!(end, Ok(None));
        // The world asks for packets in any case.
        let _ = chunks.finalize();
    }
}

/// Which bytes of a stream have been read; quinn hands out each of them once.
#[derive(Default)]
struct Arrived {
    /// All bytes before this one.
    next: u64,
    /// Pieces beyond: the first byte of each, and the one after its last.
    beyond: BTreeMap<u64, u64>,
}

impl Arrived {
    fn add(&mut self, offset: u64, length: u64) {
        self.beyond.insert(offset, offset + length);
        while let Some(end) = self.beyond.remove(&self.next) {
            self.next = end;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_behind_a_gap_counts_once_the_gap_is_closed() {
        let mut arrived = Arrived::default();
        let mut next = |offset, length| {
            arrived.add(offset, length);
            arrived.next
        };
        assert_eq!([next(0, 10), next(20, 5), next(25, 5), next(40, 10)], [10; 4]);
        assert_eq!([next(10, 4), next(14, 6), next(30, 10)], [14, 30, 50]);
    }
}

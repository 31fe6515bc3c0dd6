//! The two applications of a connection: one writes a stream, the other reads it.

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
#[derive(Default)]
pub(super) struct Reader {
    /// What it has read, in order.
    pub(super) read: Bytes,
    /// It has read all there is.
    pub(super) is_finished: bool,
}

impl Reader {
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
        let Ok(mut chunks) = stream.read(true) else { return };
        let end = loop {
            match chunks.next(usize::MAX) {
                Ok(Some(chunk)) => self.read += Bytes::new(chunk.bytes.len() as u64),
                end => break end,
            }
        };
        self.is_finished |= matches!(end, Ok(None));
        // The world asks for packets in any case.
        let _ = chunks.finalize();
    }
}

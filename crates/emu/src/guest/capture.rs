//! Logs packets and samples into the folder of the run.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use bakeoff_core::machine::AGE;
use bakeoff_core::units::{Duration, Instant};

use crate::error::{Context, RunError};
use crate::guest::network::Network;
use crate::layout::{Layout, Point};
use crate::log::{PACKETS_FILE, PacketRecord, SAMPLES_FILE, SampleRecord};
use crate::sys::{self, Batch, PacketSocket};

/// Packets that one call takes off a tap.
const BATCH_PACKETS: usize = 256;
/// Logs go to the host in pieces of this size.
const BUFFER_BYTES: usize = 1 << 20;

/// The taps and the logs.
pub(super) struct Capture {
    taps: Vec<PacketSocket>,
    batch: Batch,
    packets: BufWriter<File>,
    samples: BufWriter<File>,
    /// Time of day at the start of the run.
    epoch: Duration,
    /// The start of the run on the monotonic clock.
    start: Duration,
}

impl Capture {
    /// Opens the taps; the run starts when the machine is so old as the simulator takes it to be, so that every run
    /// starts at the same phases of the kernel's timers.
    pub(super) fn start(network: &Network, layout: &Layout, folder: &Path) -> Result<Self, RunError> {
        let create = |name: &str| {
            let file = File::create(folder.join(name)).context(|| format!("creating {name}"))?;
            Ok::<_, RunError>(BufWriter::with_capacity(BUFFER_BYTES, file))
        };
        let mut taps = Vec::with_capacity(layout.taps.len());
        for tap in &layout.taps {
            network.enter(layout.device(*tap).node)?;
            taps.push(PacketSocket::open(tap.kernel_index()).context(|| "opening a packet socket".to_owned())?);
        }
        let clock = |error| RunError::System { what: "reading the clock".to_owned(), error };
        let now = sys::monotonic().map_err(clock)?;
        let start = AGE.max(now);
        let epoch = sys::realtime().map_err(clock)? + start.saturating_sub(now);
        Ok(Self {
            taps,
            batch: Batch::new(BATCH_PACKETS),
            packets: create(PACKETS_FILE)?,
            samples: create(SAMPLES_FILE)?,
            epoch,
            start,
        })
    }

    /// The start of the run on the monotonic clock.
    pub(super) fn start_time(&self) -> Duration {
        self.start
    }

    /// Logs what the taps have seen since the last call, and returns how many packets that were.
    pub(super) fn drain(&mut self) -> Result<usize, RunError> {
        let mut count = 0;
        for (number, tap) in self.taps.iter().enumerate() {
            loop {
                let mut received = 0;
                for captured in tap.receive(&mut self.batch).context(|| "reading packets".to_owned())? {
                    received += 1;
                    let time = Instant::ZERO + captured.time.saturating_sub(self.epoch);
                    let point = Point { tap: number, is_outgoing: captured.is_outgoing };
                    if let Some(record) = PacketRecord::parse(captured.bytes, time, point) {
                        self.packets.write_all(&record.encode()).context(|| "writing the log".to_owned())?;
                        count += 1;
                    }
                }
                if received < BATCH_PACKETS {
                    break;
                }
            }
        }
        Ok(count)
    }

    /// Logs samples.
    pub(super) fn samples(&mut self, records: &[SampleRecord]) -> Result<(), RunError> {
        let mut written = records.iter().map(|record| self.samples.write_all(&record.encode()));
        written.try_for_each(|done| done.context(|| "writing the samples".to_owned()))
    }

    /// Makes sure that everything is in the logs.
    pub(super) fn finish(mut self) -> Result<(), RunError> {
        let mut missed = 0;
        for tap in &self.taps {
            missed += tap.missed().context(|| "counting packets".to_owned())?;
        }
        if missed > 0 {
            return Err(RunError::Missed { missed });
        }
        self.packets.flush().context(|| "writing the log".to_owned())?;
        self.samples.flush().context(|| "writing the samples".to_owned())
    }
}

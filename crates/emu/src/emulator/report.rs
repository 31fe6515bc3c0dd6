//! What the emulator says of its own work, for whoever decides whether the run can be trusted.

use std::fs;
use std::path::Path;

use bakeoff_core::hop::Count;
use bakeoff_core::record::HopAccount;
use bakeoff_core::units::Duration;
use serde::Serialize;

use super::hosts::InterfaceCounts;
use super::lateness::LatenessReport;
use crate::error::{Context, RunError};
use crate::events::REPORT_FILE;

/// What the emulator counted at a host's device, and what the kernel did.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(super) struct Interface {
    /// Reads: packets, or several under one header.
    pub(super) read: u64,
    /// Packets, or several under one header, that were handed over.
    pub(super) written: u64,
    /// Those that the kernel did not take.
    pub(super) refused: u64,
    /// Packets in what was read.
    pub(super) segments: u64,
    /// What the kernel counted.
    pub(super) kernel: InterfaceCounts,
}

/// What was read and is no part of the run.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(super) struct Discarded {
    /// Packets of flows that had stopped.
    pub(super) silent: u64,
    /// Packets of nobody, such as announcements of the kernel.
    pub(super) foreign: u64,
}

/// What went through a hop.
#[derive(Debug, Serialize)]
pub(super) struct HopReport {
    name: String,
    accepted: [u64; 2],
    delivered: [u64; 2],
    inside: [u64; 2],
    on_wire_bytes: u64,
}

impl From<&HopAccount> for HopReport {
    fn from(account: &HopAccount) -> Self {
        let both = |count: Count| [count.packets, count.bytes];
        Self {
            name: account.name.clone(),
            accepted: both(account.accepted),
            delivered: both(account.delivered),
            inside: both(account.inside),
            on_wire_bytes: account.on_wire.count(),
        }
    }
}

/// CPU seconds.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(super) struct CpuTime {
    user_s: f64,
    system_s: f64,
}

impl From<[Duration; 2]> for CpuTime {
    fn from([user, system]: [Duration; 2]) -> Self {
        Self { user_s: user.as_secs_f64(), system_s: system.as_secs_f64() }
    }
}

/// Everything.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    /// Whether the emulator ran before all ordinary programs, and why not if not.
    pub(super) priority: Option<String>,
    /// Whether its memory was kept in memory, and why not if not.
    pub(super) locked_memory: Option<String>,
    /// Whether idle processors were kept out of deep sleep, and why not if not.
    pub(super) awake: Option<String>,
    pub(super) lateness: LatenessReport,
    pub(super) emulator_cpu: CpuTime,
    pub(super) senders_cpu: CpuTime,
    pub(super) interfaces: Vec<Interface>,
    pub(super) discarded: Discarded,
    pub(super) hops: Vec<HopReport>,
}

impl Report {
    /// Writes it into the folder of the run.
    pub(super) fn write(&self, folder: &Path) -> Result<(), RunError> {
        let text = serde_json::to_string(self).map_err(std::io::Error::from);
        text.and_then(|text| fs::write(folder.join(REPORT_FILE), text)).context(|| format!("writing {REPORT_FILE}"))
    }
}

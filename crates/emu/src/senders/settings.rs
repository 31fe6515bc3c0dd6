//! Settings of the hosts' TCP, the same in every world of real Linux.

use std::fs;
use std::path::Path;

use bakeoff_core::transport::stream::EcnMode;

use crate::error::{Context, RunError};

/// The receiver's buffer: 32 MiB, and more where a flow needs it.
const RECEIVE_MEMORY: &str = "4096 33554432 268435456";
/// The sender's buffer: large enough never to limit a flow; what is queued and not sent is limited otherwise.
const SEND_MEMORY: &str = "4096 268435456 536870912";

/// Changes a setting of the calling thread's network namespace.
pub fn write(name: &str, value: &str) -> Result<(), RunError> {
    let file = Path::new("/proc/sys/net").join(name);
    fs::write(&file, value).context(|| format!("setting {}", file.display()))
}

/// Sets TCP up in the calling thread's network namespace.
pub fn prepare_host(ecn: EcnMode) -> Result<(), RunError> {
    write("ipv4/tcp_rmem", RECEIVE_MEMORY)?;
    write("ipv4/tcp_wmem", SEND_MEMORY)?;
    write("ipv4/tcp_no_metrics_save", "1")?;
    let name = "ipv4/tcp_ecn";
    match ecn {
        EcnMode::Off => write(name, "0"),
        EcnMode::Classic | EcnMode::Sce => write(name, "1"),
        // Since Linux 7.0 (`TCP_ECN_IN_ACCECN_OUT_ACCECN`).
        EcnMode::Accurate => write(name, "3"),
    }
}

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod codec;
#[cfg(target_os = "linux")]
mod drive;
#[cfg(target_os = "linux")]
mod loopback;
#[cfg(target_os = "linux")]
mod sockets;

use bakeoff_core::packet::FlowId;

const FLOW: FlowId = FlowId(7);

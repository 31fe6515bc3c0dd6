#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod codec;

use bakeoff_core::packet::FlowId;

const FLOW: FlowId = FlowId(7);

//! bakeoff-stacks: real protocol stacks, unmodified, as the transports of flows.
//!
//! A crate of its own, so that nobody else waits for them to be compiled: the simulator and the emulator know only
//! [`bakeoff_core::transport::stack::Stack`] and are given [`STACKS`] by the programs that start them.

mod quinn;

use bakeoff_core::transport::stack::StackEntry;

/// Every stack there is, with each of its controllers. A new stack is one module and its lines here.
pub const STACKS: &[StackEntry] = &[quinn::BBR, quinn::CUBIC, quinn::NEWRENO];

//! Transports: what carries an application's data between two endpoints, and the probes beside it.

pub mod probe;
pub mod stack;
pub mod stream;

//! Transports: what carries an application's data between two endpoints.

pub mod stream;

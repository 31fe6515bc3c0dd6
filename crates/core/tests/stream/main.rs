//! The two ends of a stream, over a path of the tests.

mod acks;
mod arrivals;
mod exchange;
mod handshake;
mod losses;
mod marks;
mod old_acks;
mod pacing;
mod pauses;
mod recovery;
mod script;
mod timers;
mod undo;

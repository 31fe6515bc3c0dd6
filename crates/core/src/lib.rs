//! bakeoff-core decides: congestion control, queues, links, transports and traffic.
//!
//! It never reads a clock, opens a socket, starts a thread or draws from a global random generator. Time, randomness
//! and packets come in as arguments; decisions go out. Everything that lives in time has the same three verbs: *accept*
//! something at `now`, *poll* for what is due at `now`, and tell the *next wake-up*. Nothing happens in between: state
//! is advanced to the instant it is asked for.
//!
//! Read first: [`scheme::Scheme`], [`queue::Queue`], [`hop::Hop`] and [`endpoint::Endpoint`].

pub mod agenda;
pub mod endpoint;
pub mod filter;
pub mod hop;
pub mod info;
pub mod machine;
pub mod packet;
pub mod packet_pool;
pub mod path;
pub mod problem;
pub mod queue;
pub mod random;
mod reason;
pub mod record;
pub mod scenario;
pub mod scheme;
mod timer_wheel;
pub mod traffic;
mod transmission_time;
pub mod transport;
pub mod units;

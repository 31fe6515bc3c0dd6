//! quinn-proto, the protocol logic of the QUIC implementation quinn, with each of its three controllers.
//!
//! **What it is.** The published crate, unmodified, with rustls and *ring*: handshake, encryption, loss detection (RFC
//! 9002), pacing, MTU discovery and acknowledgements are quinn's. The sender is the client, and writes one
//! unidirectional stream of zeros; the receiver is the server, and reads it as it comes, or in order where the flow has
//! a receive window.
//!
//! **Source.** quinn-proto 0.11.19; file names below are its own. How the controllers differ from ours and the
//! kernel's, and what they reach, is in `docs/quinn.md`.
//!
//! **Parameters.** None: the stack is as its authors ship it, but for what [`config`] lists.
//!
//! **Deviations** from quinn on a socket. Datagrams that quinn hands over in one piece (segmentation offload) leave as
//! packets back to back; received ones are not merged. Timers are exact; those of quinn's own runtime, tokio, are
//! rounded up to whole milliseconds. The server shows a bare public key (RFC 7250) in place of a certificate, so that
//! the handshake is some hundred bytes shorter. Whether codepoints reach the path is the flow's `ecn`: with `off` the
//! host drops them, and quinn notices and gives ECN up, as it does on a host that lacks it.
//!
//! **Determinism.** Time is the world's. Packet number gaps, spin bit and greasing draw from a generator that is seeded
//! by the run. Keys, connection ids and reset tokens are of the machine's randomness, which decides neither sizes nor
//! times: all have a fixed length, and what is encrypted does not show. The phase of BBR's gain cycle is of the
//! machine's too (`congestion/bbr/mod.rs`); it moves only a pacing rate that the pacer does not read
//! (`connection/pacing.rs`), and is therefore not recorded.
//!
//! **How it is validated.** `tests/quinn.rs`: transfers complete over lossy paths, a link is filled, two runs are the
//! same byte by byte; `tests/outage.rs`: an outage is survived. What is quinn's own is tested by quinn.

mod config;
mod connection;
mod end;
mod tls;

use std::sync::Arc;

use bakeoff_core::info::Info;
use bakeoff_core::problem::Problem;
use bakeoff_core::transport::stack::{STACK_TELEMETRY, StackEntry, StackPair, StackSetup};
use quinn_proto::congestion::{BbrConfig, ControllerFactory, CubicConfig, NewRenoConfig};

use self::end::End;

const SOURCE: &str = "quinn-proto 0.11.19, unmodified, with rustls; worlds sim and emu";

const fn info(name: &'static str, title: &'static str) -> Info {
    Info { name, title, source: SOURCE, parameters: &[], telemetry: STACK_TELEMETRY }
}

/// BBR, which quinn calls experimental.
pub(crate) const BBR: StackEntry =
    StackEntry { info: info("quinn:bbr", "quinn BBR"), open: |setup| open(setup, Arc::new(BbrConfig::default())) };
/// CUBIC, the default.
pub(crate) const CUBIC: StackEntry = StackEntry {
    info: info("quinn:cubic", "quinn CUBIC"),
    open: |setup| open(setup, Arc::new(CubicConfig::default())),
};
/// New Reno.
pub(crate) const NEWRENO: StackEntry = StackEntry {
    info: info("quinn:newreno", "quinn New Reno"),
    open: |setup| open(setup, Arc::new(NewRenoConfig::default())),
};

type Factory = Arc<dyn ControllerFactory + Send + Sync>;

fn open(mut setup: StackSetup, factory: Factory) -> Result<StackPair, Problem> {
    let transport = Arc::new(config::transport(&setup, factory)?);
    let mut seed = || -> [u8; 32] { std::array::from_fn(|_| setup.random.below(256) as u8) };
    let (client_seed, server_seed, key_seed) = (seed(), seed(), seed());
    let (client, server) = tls::ends(key_seed)?;
    let sender = End::sender(&setup, client_seed, config::client(client, Arc::clone(&transport)));
    let receiver = End::receiver(&setup, server_seed, config::server(server, transport));
    Ok(StackPair { sender: Box::new(sender), receiver: Box::new(receiver) })
}

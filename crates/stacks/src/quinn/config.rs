//! What differs from quinn's defaults, and why.
//!
//! | setting | quinn's | here |
//! |---|---|---|
//! | `stream_receive_window` | 1.25 MB | 1 GiB, or the flow's receive window: the controller is to decide, not this |
//! | `send_window` | 10 MB | 1 GiB, for the same reason; an endless writer keeps so much queued, as views of 1 MiB |
//! | MTU discovery up to | 1452 bytes | as much, and no more than the flow's packets carry |
//!
//! Validation tokens, of which quinn's full build sends 2 a connection, belong to its feature `bloom`, which this build
//! leaves out: a flow connects once.
//!
//! As shipped are, among others: 1200 bytes to begin with, an initial window of 12000 bytes, 333 ms as the first guess
//! of the round trip, a packet threshold of 3, an idle timeout of 30 s, acks for every second packet and after 25 ms at
//! the latest, ECT(0) on every packet until that proves useless, segmentation offload.

use std::sync::Arc;

use bakeoff_core::problem::Problem;
use bakeoff_core::transport::stack::{IP_UDP_BYTES, StackSetup};
use bakeoff_core::units::Bytes;
use quinn_proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn_proto::{ClientConfig, MtuDiscoveryConfig, ServerConfig, TransportConfig, VarInt};

use super::Factory;

/// RFC 9000, section 14: a path that does not take this much is none for QUIC.
const LEAST_DATAGRAM: u64 = 1_200;
/// `MtuDiscoveryConfig::upper_bound` as shipped: Ethernet less the headers of IPv6 and UDP.
const LARGEST_DATAGRAM: u64 = 1_452;
/// Larger than any window of any path.
const NO_LIMIT: u64 = 1 << 30;

/// The settings that both ends share.
pub(super) fn transport(setup: &StackSetup, factory: Factory) -> Result<TransportConfig, Problem> {
    let largest = setup.largest_datagram.count();
    if largest < LEAST_DATAGRAM {
        return Err(Problem::new(format!(
            "QUIC needs packets of at least {} bytes, and these have {}; give the flow a larger mss",
            LEAST_DATAGRAM + IP_UDP_BYTES.count(),
            largest + IP_UDP_BYTES.count()
        )));
    }
    let window = setup.receive_window.map_or(NO_LIMIT, Bytes::count);
    let window = VarInt::from_u64(window).map_err(|_| Problem::new("the receive window is too large for QUIC"))?;
    let mut discovery = MtuDiscoveryConfig::default();
    discovery.upper_bound(largest.min(LARGEST_DATAGRAM) as u16);
    let mut config = TransportConfig::default();
    config
        .stream_receive_window(window)
        .send_window(NO_LIMIT)
        .mtu_discovery_config(Some(discovery))
        .congestion_controller_factory(factory);
    Ok(config)
}

/// The settings of the client.
pub(super) fn client(tls: QuicClientConfig, transport: Arc<TransportConfig>) -> ClientConfig {
    let mut config = ClientConfig::new(Arc::new(tls));
    config.transport_config(transport);
    config
}

/// The settings of the server.
pub(super) fn server(tls: QuicServerConfig, transport: Arc<TransportConfig>) -> ServerConfig {
    let mut config = ServerConfig::with_crypto(Arc::new(tls));
    config.transport_config(transport);
    config
}

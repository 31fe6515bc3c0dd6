//! What packets carry in the simulator.

use bakeoff_core::transport::stream::Segment;

/// The payload of a packet, by what kind of endpoints it is between.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Payload {
    /// A segment of a flow.
    Segment(Segment),
    /// Nothing: a request of a probe, or its answer.
    Probe,
}

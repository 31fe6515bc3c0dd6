//! What packets carry in the simulator.

use bakeoff_core::transport::stack::Datagram;
use bakeoff_core::transport::stream::Segment;

/// The payload of a packet, by what kind of endpoints it is between.
#[derive(Clone, Debug, Default)]
pub(crate) enum Payload {
    /// A segment of a flow of ours.
    Segment(Segment),
    /// A datagram of a stack.
    Datagram(Datagram),
    /// Nothing: a request of a probe, or its answer.
    #[default]
    Probe,
}

impl From<Segment> for Payload {
    fn from(segment: Segment) -> Self {
        Self::Segment(segment)
    }
}

impl From<Datagram> for Payload {
    fn from(datagram: Datagram) -> Self {
        Self::Datagram(datagram)
    }
}

impl From<()> for Payload {
    fn from((): ()) -> Self {
        Self::Probe
    }
}

//! What the application of a flow gets: the data of its packets, in order and once.

use std::collections::BTreeMap;

use bakeoff_core::record::Header;

use super::segment::{Data, Headers, InOrder};
use crate::log::{Protocol, TransportHeader};

/// Ports of sender and receiver.
type Ports = [u16; 2];
const UDP_HEADER: u64 = 8;

/// What a packet carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Load {
    /// A part of a stream.
    Part(Ports, Data),
    /// So many bytes of a transport that we cannot read.
    Datagram(u64),
}

#[derive(Debug, Default)]
struct Connection {
    headers: Headers,
    highest: u64,
    stream: InOrder,
}

/// The application of a flow: one connection, or those of another program.
#[derive(Debug)]
pub(super) struct Application {
    is_program: bool,
    connections: BTreeMap<Ports, Connection>,
    datagrams: u64,
}

impl Application {
    /// Of a flow; `is_program` if another program sends.
    pub(super) fn new(is_program: bool) -> Self {
        Self { is_program, connections: BTreeMap::new(), datagrams: 0 }
    }

    /// What a packet of the sender carries, and whether it repeats data; `None` if it carries nothing that counts.
    pub(super) fn sent(&mut self, header: &TransportHeader) -> (Option<Load>, bool) {
        if self.is_program && header.protocol != Protocol::Tcp {
            return (Some(Load::Datagram(u64::from(header.length).saturating_sub(UDP_HEADER))), false);
        }
        let ports = [header.source_port, header.destination_port];
        let connection = self.connection(ports);
        let Some(data) = connection.headers.data(header) else { return (None, false) };
        let is_repeated = data.end > data.start && data.start < connection.highest;
        connection.highest = connection.highest.max(data.end);
        (Some(Load::Part(ports, data)), is_repeated)
    }

    /// What a packet carried has arrived.
    pub(super) fn arrived(&mut self, load: Load) {
        match load {
            Load::Part(ports, data) => self.connection(ports).stream.add(data),
            Load::Datagram(bytes) => self.datagrams += bytes,
        }
    }

    /// The position in the stream up to which a packet of the receiver acknowledges.
    pub(super) fn acknowledged(&mut self, header: &TransportHeader) -> u64 {
        self.connection([header.destination_port, header.source_port]).headers.acknowledged(header)
    }

    /// What a header of this connection says, for captures; `None` if we cannot read it.
    pub(super) fn header(&mut self, header: &TransportHeader, is_of_sender: bool) -> Option<Header> {
        if self.is_program && header.protocol != Protocol::Tcp {
            return None;
        }
        let ports = [header.source_port, header.destination_port];
        let ports = if is_of_sender { ports } else { [ports[1], ports[0]] };
        self.connection(ports).headers.header(header, is_of_sender)
    }

    /// All that the application has.
    pub(super) fn bytes(&self) -> u64 {
        self.datagrams + self.connections.values().map(|connection| connection.stream.next).sum::<u64>()
    }

    fn connection(&mut self, ports: Ports) -> &mut Connection {
        self.connections.entry(ports).or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::TRANSPORT_BYTES;
    use crate::udp::Kind;

    fn tcp(ports: Ports, sequence: u32, payload: u16) -> TransportHeader {
        let mut bytes = [0; TRANSPORT_BYTES];
        bytes[..4].copy_from_slice(&sequence.to_be_bytes());
        bytes[8] = 5 << 4;
        let [source_port, destination_port] = ports;
        TransportHeader { protocol: Protocol::Tcp, length: 20 + payload, source_port, destination_port, bytes }
    }

    fn syn(ports: Ports, sequence: u32) -> TransportHeader {
        let mut header = tcp(ports, sequence, 0);
        header.bytes[9] = 2;
        header
    }

    #[test]
    fn connections_of_a_program_are_counted_apart() {
        let mut application = Application::new(true);
        for (ports, first) in [([1, 9], 500), ([2, 9], u32::MAX - 3)] {
            application.sent(&syn(ports, first));
            let (load, is_repeated) = application.sent(&tcp(ports, first.wrapping_add(1), 1_000));
            assert!(!is_repeated);
            application.arrived(load.unwrap());
            assert!(application.sent(&tcp(ports, first.wrapping_add(1), 1_000)).1, "the same again");
        }
        assert_eq!(application.bytes(), 2_000);
    }

    /// Data of our own transport.
    fn own(sequence: u8, payload: u8) -> TransportHeader {
        let mut bytes = [0; TRANSPORT_BYTES];
        // Version and kind, sequence, payload.
        (bytes[4], bytes[15], bytes[26]) = (1 << 4 | Kind::Data as u8, sequence, payload);
        TransportHeader { protocol: Protocol::Udp, length: 1_500, source_port: 1, destination_port: 9, bytes }
    }

    #[test]
    fn segments_of_our_own_are_as_long_as_they_say() {
        let mut application = Application::new(false);
        for (sequence, payload, repeats) in [(0, 200, false), (1, 50, false), (2, 200, false), (1, 50, true)] {
            let (load, is_repeated) = application.sent(&own(sequence, payload));
            assert_eq!(is_repeated, repeats, "{sequence}");
            application.arrived(load.unwrap());
        }
        assert_eq!(application.bytes(), 450);
        let mut ack = own(2, 0);
        (ack.bytes[4], ack.source_port, ack.destination_port) = (1 << 4 | Kind::Ack as u8, 9, 1);
        assert_eq!(application.acknowledged(&ack), 250);
        assert_eq!(application.header(&own(2, 200), true).unwrap().sequence, Some(250));
    }

    #[test]
    fn datagrams_of_a_program_count_as_they_come() {
        let mut application = Application::new(true);
        let datagram = TransportHeader { protocol: Protocol::Udp, ..tcp([1, 9], 0, 0) };
        let (load, _) = application.sent(&TransportHeader { length: 1_008, ..datagram });
        application.arrived(load.unwrap());
        assert_eq!(application.bytes(), 1_000);
    }

    #[test]
    fn what_brings_data_that_was_sent_before_is_a_retransmission_and_a_bare_ack_is_none() {
        let mut application = Application::new(false);
        application.sent(&syn([1, 9], 1_000));
        let mut is_repeated = |sequence, payload| application.sent(&tcp([1, 9], sequence, payload)).1;
        assert!(!is_repeated(1_001, 100) && !is_repeated(1_101, 100));
        assert!(!is_repeated(1_101, 0), "a bare ack");
        assert!(is_repeated(1_151, 100), "half of it is new");
        assert!(is_repeated(1_001, 100) && !is_repeated(1_251, 100));
    }
}

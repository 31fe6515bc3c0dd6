//! The log of a run: every packet at every point where it was looked at, as records of a fixed size, and samples of the
//! senders' inner state. Numbers are little-endian.

use bakeoff_core::record::TELEMETRY;
use bakeoff_core::scheme::SCHEMES;
use bakeoff_core::transport::stack::STACK_TELEMETRY;
use bakeoff_core::units::Instant;

use crate::layout::Point;

/// The log of packets, in the folder of the run.
pub const PACKETS_FILE: &str = "packets.bin";
/// The log of samples, in the folder of the run.
pub const SAMPLES_FILE: &str = "samples.bin";
/// The sender of flow k, counted from 0, has this port plus k.
pub const SENDER_PORT: u16 = 10_000;
/// Its receiver has this one plus k.
pub const RECEIVER_PORT: u16 = 40_000;
/// The side of probe k that asks, counted from 0, has this port plus k.
pub const ASKER_PORT: u16 = 20_000;
/// The side that answers has this one plus k.
pub const ANSWERER_PORT: u16 = 50_000;
/// Size of a [`PacketRecord`] in the log.
pub const PACKET_BYTES: usize = 48;
/// Size of a [`SampleRecord`] in the log.
pub const SAMPLE_BYTES: usize = 24;
/// Headers of a UDP packet: 20 bytes of IPv4 and 8 of UDP.
pub const IP_UDP_BYTES: usize = 28;
/// The header of IPv4 without options.
const IP_BYTES: u16 = 20;
/// Bytes of the transport header behind the ports that are kept.
pub const TRANSPORT_BYTES: usize = 28;
const TCP: u8 = 6;
const UDP: u8 = 17;

/// The transport protocol of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// The kernel's own.
    Tcp,
    /// A scheme of ours, or a probe.
    Udp,
    /// What only other programs send.
    Other,
}

/// The beginning of what a packet carries, from which the tables learn what data it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransportHeader {
    /// The transport.
    pub protocol: Protocol,
    /// Bytes of the IP packet behind its IP header.
    pub length: u16,
    /// Port of the sender.
    pub source_port: u16,
    /// Port of the receiver.
    pub destination_port: u16,
    /// The transport header behind the ports.
    pub bytes: [u8; TRANSPORT_BYTES],
}

/// A packet at a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketRecord {
    /// When.
    pub time: Instant,
    /// Where.
    pub point: Point,
    /// Its transport.
    pub protocol: Protocol,
    /// The type-of-service byte, whose last two bits are the ECN codepoint.
    pub tos: u8,
    /// Identification of the IP header.
    pub identification: u16,
    /// Size of the IP packet.
    pub size: u16,
    /// Port of its sender.
    pub source_port: u16,
    /// Port of its receiver.
    pub destination_port: u16,
    /// The transport header behind the ports.
    pub transport: [u8; TRANSPORT_BYTES],
}

impl PacketRecord {
    /// Reads the beginning of an IPv4 packet. `None` if it is neither TCP nor UDP, or may not leave its host because
    /// its time to live is 1.
    pub fn parse(packet: &[u8], time: Instant, point: Point) -> Option<Self> {
        if packet.len() < IP_UDP_BYTES || packet[0] != 0x45 || packet[8] <= 1 {
            return None;
        }
        let protocol = match packet[9] {
            TCP => Protocol::Tcp,
            UDP => Protocol::Udp,
            _ => return None,
        };
        let word = |offset: usize| u16::from_be_bytes([packet[offset], packet[offset + 1]]);
        let mut transport = [0; TRANSPORT_BYTES];
        for (to, from) in transport.iter_mut().zip(&packet[24..]) {
            *to = *from;
        }
        Some(Self {
            time,
            point,
            protocol,
            tos: packet[1],
            identification: word(4),
            size: word(2),
            source_port: word(20),
            destination_port: word(22),
            transport,
        })
    }

    /// The transport header in it.
    pub fn header(&self) -> TransportHeader {
        TransportHeader {
            protocol: self.protocol,
            length: self.size.saturating_sub(IP_BYTES),
            source_port: self.source_port,
            destination_port: self.destination_port,
            bytes: self.transport,
        }
    }

    /// The record in the log.
    pub fn encode(&self) -> [u8; PACKET_BYTES] {
        let mut bytes = [0; PACKET_BYTES];
        bytes[..8].copy_from_slice(&self.time.as_nanos().to_le_bytes());
        bytes[8..10].copy_from_slice(&(self.point.tap as u16).to_le_bytes());
        bytes[10] = u8::from(self.point.is_outgoing) | u8::from(self.protocol == Protocol::Udp) << 1;
        bytes[11] = self.tos;
        bytes[12..14].copy_from_slice(&self.identification.to_le_bytes());
        bytes[14..16].copy_from_slice(&self.size.to_le_bytes());
        bytes[16..18].copy_from_slice(&self.source_port.to_le_bytes());
        bytes[18..20].copy_from_slice(&self.destination_port.to_le_bytes());
        bytes[20..].copy_from_slice(&self.transport);
        bytes
    }

    /// Reads a record of the log.
    pub fn decode(bytes: &[u8; PACKET_BYTES]) -> Self {
        let word = |offset: usize| u16::from_le_bytes([bytes[offset], bytes[offset + 1]]);
        Self {
            time: Instant::from_nanos(u64::from_le_bytes(std::array::from_fn(|index| bytes[index]))),
            point: Point { tap: usize::from(word(8)), is_outgoing: bytes[10] & 1 != 0 },
            protocol: if bytes[10] & 2 == 0 { Protocol::Tcp } else { Protocol::Udp },
            tos: bytes[11],
            identification: word(12),
            size: word(14),
            source_port: word(16),
            destination_port: word(18),
            transport: std::array::from_fn(|index| bytes[20 + index]),
        }
    }
}

/// What can be sampled of a flow, by its number in the log: the names that recordings use for every sender and for
/// those of some scheme or stack, and what goes into the table of flows.
pub fn quantities() -> impl Iterator<Item = &'static str> {
    let of_schemes = SCHEMES.iter().flat_map(|entry| entry.info.telemetry).chain(STACK_TELEMETRY);
    TELEMETRY.iter().chain(of_schemes).map(|quantity| quantity.name).chain(OF_FLOWS)
}

/// The number of retransmission timeouts, at the end of the flow.
pub const TIMEOUTS: &str = "timeouts";
/// Bytes that the application of a stack has so far.
pub const GOODPUT: &str = "goodput";
/// Packets that a stack has taken for lost so far.
pub const RETRANSMISSIONS: &str = "retransmissions";
/// Time of the run, in nanoseconds, at which the transfer of a stack was complete.
pub const COMPLETED: &str = "completed";
/// What goes into the table of flows, not into that of telemetry.
pub const OF_FLOWS: [&str; 4] = [TIMEOUTS, GOODPUT, RETRANSMISSIONS, COMPLETED];

/// A sample of a sender's inner state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SampleRecord {
    /// When.
    pub time: Instant,
    /// Number of the flow from 0.
    pub flow: u32,
    /// What: its place among [`quantities`].
    pub quantity: u32,
    /// How much.
    pub value: f64,
}

impl SampleRecord {
    /// A sample of the quantity of this name; `None` if it is not one of [`quantities`].
    pub fn new(time: Instant, flow: usize, name: &str, value: f64) -> Option<Self> {
        let quantity = quantities().position(|known| known == name)? as u32;
        Some(Self { time, flow: flow as u32, quantity, value })
    }

    /// The record in the log.
    pub fn encode(&self) -> [u8; SAMPLE_BYTES] {
        let mut bytes = [0; SAMPLE_BYTES];
        bytes[..8].copy_from_slice(&self.time.as_nanos().to_le_bytes());
        bytes[8..12].copy_from_slice(&self.flow.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.quantity.to_le_bytes());
        bytes[16..].copy_from_slice(&self.value.to_le_bytes());
        bytes
    }

    /// Reads a record of the log.
    pub fn decode(bytes: &[u8; SAMPLE_BYTES]) -> Self {
        let word = |offset: usize| u32::from_le_bytes(std::array::from_fn(|index| bytes[offset + index]));
        let long = |offset: usize| std::array::from_fn(|index| bytes[offset + index]);
        Self {
            time: Instant::from_nanos(u64::from_le_bytes(long(0))),
            flow: word(8),
            quantity: word(12),
            value: f64::from_le_bytes(long(16)),
        }
    }
}

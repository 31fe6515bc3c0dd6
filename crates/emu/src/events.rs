//! The log of an emulated run: what happened to every packet, in order, as records of a fixed size. Numbers are
//! little-endian.

use bakeoff_core::hop::Count;
use bakeoff_core::packet::{Ecn, FlowId};
use bakeoff_core::queue::Reason;
use bakeoff_core::units::{Bytes, Duration, Instant};

use crate::log::{Protocol, TRANSPORT_BYTES, TransportHeader};

/// The log of events, in the folder of the run.
pub const EVENTS_FILE: &str = "events.bin";
/// The transport headers of the packets that were sent, in the order of their events, in the folder of the run.
pub const HEADERS_FILE: &str = "headers.bin";
/// What the emulator says of its own work, in the folder of the run.
pub const REPORT_FILE: &str = "report.json";
/// How senders of others have ended by themselves, in the folder of the run.
pub const ENDINGS_FILE: &str = "endings.json";
/// Size of an event in the log.
pub const EVENT_BYTES: usize = 32;
/// Size of a transport header in the log.
pub const HEADER_BYTES: usize = 8 + TRANSPORT_BYTES;

/// Which packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PacketId {
    /// Its flow; probes are numbered behind the flows.
    pub flow: FlowId,
    /// True for data and requests, false for acks and answers.
    pub is_data_direction: bool,
    /// Counts the packets of this flow and direction from zero.
    pub number: u32,
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A host sent a packet; its transport header is in the other log.
    Sent {
        /// Which.
        packet: PacketId,
        /// Its codepoint.
        ecn: Ecn,
        /// Size of the IP packet.
        size: u16,
    },
    /// A packet came out of a hop.
    LeftHop {
        /// Which.
        packet: PacketId,
        /// Number of the hop.
        hop: u16,
        /// Time in its queue.
        sojourn: Duration,
        /// Its codepoint from here on.
        ecn: Ecn,
        /// Why the hop marked it.
        marked: Option<Reason>,
        /// Whether it was the last hop, so that the packet is at its host.
        is_last: bool,
    },
    /// A hop dropped a packet.
    Dropped {
        /// Which.
        packet: PacketId,
        /// Number of the hop.
        hop: u16,
        /// Why.
        reason: Reason,
        /// Time in its queue.
        sojourn: Duration,
        /// The codepoint that it had.
        ecn: Ecn,
        /// Why the hop had marked it.
        marked: Option<Reason>,
    },
    /// The run ended, and a packet that had left the queue of a hop was still inside.
    OnWire {
        /// Which.
        packet: PacketId,
        /// Number of the hop.
        hop: u16,
        /// Time in its queue.
        sojourn: Duration,
        /// Its codepoint.
        ecn: Ecn,
        /// Why the hop had marked it.
        marked: Option<Reason>,
    },
    /// A hop marked a packet, which goes on.
    Marked {
        /// Number of the hop.
        hop: u16,
        /// Why.
        reason: Reason,
        /// Size of the packet.
        size: u16,
    },
    /// What waits in the queue of a hop at the end of an interval.
    Backlog {
        /// Number of the hop.
        hop: u16,
        /// How much.
        backlog: Count,
    },
}

/// The fields of all events.
#[derive(Clone, Copy, Default)]
struct Fields {
    kind: u8,
    packet: PacketId,
    /// Codepoint, with that of a drop behind it, or reason of a mark.
    detail: u8,
    hop: u16,
    /// Size, or one more than the reason of the packet's mark.
    size: u16,
    value: u64,
}

const SENT: u8 = 1;
const LEFT_HOP: u8 = 2;
const ARRIVED: u8 = 3;
const DROPPED: u8 = 4;
const BACKLOG: u8 = 5;
const MARKED: u8 = 6;
const ON_WIRE: u8 = 7;
/// A codepoint has two bits.
const ECN_BITS: u8 = 2;

fn code(reason: Reason) -> u8 {
    Reason::ALL.iter().position(|known| *known == reason).unwrap_or_default() as u8
}

fn reason(code: u8) -> Option<Reason> {
    Reason::ALL.get(usize::from(code)).copied()
}

/// Zero for none.
fn code_of_mark(marked: Option<Reason>) -> u16 {
    marked.map_or(0, |reason| 1 + u16::from(code(reason)))
}

impl Event {
    fn fields(&self) -> Fields {
        match *self {
            Self::Sent { packet, ecn, size } => {
                Fields { kind: SENT, packet, detail: ecn.bits(), size, ..Fields::default() }
            }
            Self::LeftHop { packet, hop, sojourn, ecn, marked, is_last } => {
                let kind = if is_last { ARRIVED } else { LEFT_HOP };
                let size = code_of_mark(marked);
                Fields { kind, packet, detail: ecn.bits(), hop, size, value: sojourn.as_nanos() }
            }
            Self::OnWire { packet, hop, sojourn, ecn, marked } => {
                let size = code_of_mark(marked);
                Fields { kind: ON_WIRE, packet, detail: ecn.bits(), hop, size, value: sojourn.as_nanos() }
            }
            Self::Dropped { packet, hop, reason, sojourn, ecn, marked } => {
                let (detail, size) = (ecn.bits() | code(reason) << ECN_BITS, code_of_mark(marked));
                Fields { kind: DROPPED, packet, detail, hop, size, value: sojourn.as_nanos() }
            }
            Self::Marked { hop, reason, size } => {
                Fields { kind: MARKED, detail: code(reason), hop, size, ..Fields::default() }
            }
            Self::Backlog { hop, backlog } => {
                Fields { kind: BACKLOG, hop, value: backlog.packets << 40 | backlog.bytes, ..Fields::default() }
            }
        }
    }

    fn of(fields: Fields) -> Option<Self> {
        let Fields { kind, packet, detail, hop, size, value } = fields;
        let (ecn, sojourn) = (Ecn::from_bits(detail), Duration::from_nanos(value));
        let marked_for = |code: u16| u8::try_from(code).ok().and_then(reason).map(Some);
        let marked = || size.checked_sub(1).map_or(Some(None), marked_for);
        Some(match kind {
            SENT => Self::Sent { packet, ecn, size },
            LEFT_HOP | ARRIVED => {
                Self::LeftHop { packet, hop, sojourn, ecn, marked: marked()?, is_last: kind == ARRIVED }
            }
            ON_WIRE => Self::OnWire { packet, hop, sojourn, ecn, marked: marked()? },
            DROPPED => {
                Self::Dropped { packet, hop, reason: reason(detail >> ECN_BITS)?, sojourn, ecn, marked: marked()? }
            }
            MARKED => Self::Marked { hop, reason: reason(detail)?, size },
            BACKLOG => Self::Backlog { hop, backlog: Count { packets: value >> 40, bytes: value & ((1 << 40) - 1) } },
            _ => return None,
        })
    }

    /// The record of this event at `time`.
    pub fn encode(&self, time: Instant) -> [u8; EVENT_BYTES] {
        let Fields { kind, packet, detail, hop, size, value } = self.fields();
        let mut bytes = [0; EVENT_BYTES];
        bytes[..8].copy_from_slice(&time.as_nanos().to_le_bytes());
        bytes[8..16].copy_from_slice(&value.to_le_bytes());
        bytes[16..20].copy_from_slice(&packet.number.to_le_bytes());
        bytes[20..22].copy_from_slice(&(packet.flow.0 as u16).to_le_bytes());
        bytes[22..24].copy_from_slice(&hop.to_le_bytes());
        bytes[24..26].copy_from_slice(&size.to_le_bytes());
        bytes[26..29].copy_from_slice(&[kind, detail, packet.is_data_direction.into()]);
        bytes
    }

    /// Reads a record; `None` if it is none.
    pub fn decode(bytes: &[u8; EVENT_BYTES]) -> Option<(Instant, Self)> {
        let word = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
        let long = |at: usize| u64::from_le_bytes(std::array::from_fn(|index| bytes[at + index]));
        let packet = PacketId {
            flow: FlowId(u32::from(word(20))),
            is_data_direction: bytes[28] != 0,
            number: u32::from_le_bytes(std::array::from_fn(|index| bytes[16 + index])),
        };
        let [kind, detail] = [bytes[26], bytes[27]];
        let event = Self::of(Fields { kind, packet, detail, hop: word(22), size: word(24), value: long(8) })?;
        Some((Instant::from_nanos(long(0)), event))
    }
}

/// The record of a transport header.
pub fn encode_header(header: &TransportHeader) -> [u8; HEADER_BYTES] {
    let mut bytes = [0; HEADER_BYTES];
    bytes[..2].copy_from_slice(&header.length.to_le_bytes());
    bytes[2..4].copy_from_slice(&header.source_port.to_le_bytes());
    bytes[4..6].copy_from_slice(&header.destination_port.to_le_bytes());
    bytes[6] = header.protocol as u8;
    bytes[8..].copy_from_slice(&header.bytes);
    bytes
}

/// Reads the record of a transport header.
pub fn decode_header(bytes: &[u8; HEADER_BYTES]) -> TransportHeader {
    let word = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
    let protocols = [Protocol::Tcp, Protocol::Udp, Protocol::Other];
    TransportHeader {
        protocol: protocols[usize::from(bytes[6]).min(2)],
        length: word(0),
        source_port: word(2),
        destination_port: word(4),
        bytes: std::array::from_fn(|index| bytes[8 + index]),
    }
}

/// The size of a packet as the log has room for it.
pub fn logged_size(size: Bytes) -> u16 {
    size.count().min(u64::from(u16::MAX)) as u16
}

#[cfg(test)]
mod tests {
    use proptest::option;
    use proptest::prelude::*;

    use super::*;

    fn ecn() -> impl Strategy<Value = Ecn> {
        (0_u8..4).prop_map(Ecn::from_bits)
    }

    fn packet() -> impl Strategy<Value = PacketId> {
        (any::<u16>(), any::<bool>(), any::<u32>()).prop_map(|(flow, is_data_direction, number)| PacketId {
            flow: FlowId(u32::from(flow)),
            is_data_direction,
            number,
        })
    }

    fn event() -> impl Strategy<Value = Event> {
        let duration = || any::<u64>().prop_map(Duration::from_nanos);
        let reason = (0..Reason::ALL.len()).prop_map(|index| Reason::ALL[index]);
        prop_oneof![
            (packet(), ecn(), any::<u16>()).prop_map(|(packet, ecn, size)| Event::Sent { packet, ecn, size }),
            (packet(), any::<u16>(), duration(), ecn(), option::of(reason.clone()), any::<bool>()).prop_map(
                |(packet, hop, sojourn, ecn, marked, is_last)| Event::LeftHop {
                    packet,
                    hop,
                    sojourn,
                    ecn,
                    marked,
                    is_last
                }
            ),
            (any::<u16>(), reason.clone(), any::<u16>()).prop_map(|(hop, reason, size)| Event::Marked {
                hop,
                reason,
                size
            }),
            (packet(), any::<u16>(), duration(), ecn(), option::of(reason.clone()))
                .prop_map(|(packet, hop, sojourn, ecn, marked)| Event::OnWire { packet, hop, sojourn, ecn, marked }),
            (packet(), any::<u16>(), reason.clone(), duration(), ecn(), option::of(reason)).prop_map(
                |(packet, hop, reason, sojourn, ecn, marked)| Event::Dropped {
                    packet,
                    hop,
                    reason,
                    sojourn,
                    ecn,
                    marked
                }
            ),
            (any::<u16>(), 0_u64..1 << 24, 0_u64..1 << 40)
                .prop_map(|(hop, packets, bytes)| Event::Backlog { hop, backlog: Count { packets, bytes } }),
        ]
    }

    proptest! {
        #[test]
        fn an_event_survives_the_log(event in event(), time in any::<u64>()) {
            let time = Instant::from_nanos(time);
            prop_assert_eq!(Event::decode(&event.encode(time)), Some((time, event)));
        }
    }

    #[test]
    fn a_damaged_record_is_no_event() {
        assert_eq!(Event::decode(&[0xff; EVENT_BYTES]), None);
    }

    #[test]
    fn a_header_survives_the_log() {
        let header = TransportHeader {
            protocol: Protocol::Udp,
            length: 1_480,
            source_port: 10_000,
            destination_port: 40_000,
            bytes: std::array::from_fn(|index| index as u8),
        };
        assert_eq!(decode_header(&encode_header(&header)), header);
    }
}

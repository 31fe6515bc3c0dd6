//! Packets of a stream as UDP datagrams, and back.
//!
//! A datagram is a [`Prefix`], the blocks of an ack, and zeros up to the size of the packet: with 20 bytes of IPv4
//! header and 8 of UDP header the IP packet is as large as the simulator's.

use bakeoff_core::packet::{Ecn, FlowId, Packet};
use bakeoff_core::transport::stream::{AckSegment, EcnMode, Range, Segment};
use bakeoff_core::units::{Bytes, Duration, Instant};

use super::prefix::{DecodeError, ECEB_BYTES, Kind, MAX_DETAIL, PREFIX_BYTES, Prefix, TIME_BITS};

/// IPv4 without options, and UDP.
const IP_AND_UDP_BYTES: usize = 20 + 8;
/// The longest header: an ack with marked bytes, a duplicate and three SACK blocks.
pub const MAX_HEADER_BYTES: usize = PREFIX_BYTES + ECEB_BYTES + 4 * 8;
/// IP size below which no packet can be encoded.
pub const SMALLEST_PACKET: Bytes = Bytes::new((IP_AND_UDP_BYTES + PREFIX_BYTES) as u64);
/// What the length of an IPv4 packet can say.
const LARGEST_PACKET: u64 = 65_535;

/// Of a receive window only the low bits travel, which tell whether it is another one; the others read as ones.
pub(super) const UNBOUNDED_WINDOW: u16 = 0xfff0;

/// Why a packet has no form as a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EncodeError {
    /// It is too small for its header and payload.
    #[error("a packet of {size} bytes cannot be sent over UDP; what it carries needs {needed}")]
    TooSmall {
        /// Its size in bytes, with the IP header.
        size: u64,
        /// The least that its segment needs.
        needed: u64,
    },
    /// It is too large for IPv4.
    #[error("a packet of {size} bytes cannot be sent over UDP; the largest has 65535")]
    TooLarge {
        /// Its size in bytes, with the IP header.
        size: u64,
    },
    /// The number of its flow is too high.
    #[error("flow {flow} cannot be sent over UDP; the highest number is 65535")]
    Flow {
        /// Number of the flow from 0.
        flow: u32,
    },
}

/// A datagram as it arrived.
#[derive(Clone, Copy, Debug)]
pub struct Datagram<'a> {
    /// Its first bytes; [`MAX_HEADER_BYTES`] are enough.
    pub bytes: &'a [u8],
    /// The length of the whole datagram.
    pub length: usize,
    /// The ECN codepoint of the IP header.
    pub ecn: Ecn,
}

/// Writes a packet into `datagram`, whatever that held before. The ECN codepoint is not part of it: it belongs into the
/// IP header.
pub fn encode(packet: &Packet<Segment>, datagram: &mut Vec<u8>) -> Result<(), EncodeError> {
    let prefix = prefix(packet)?;
    let payload = if prefix.kind == Kind::Data { prefix.detail } else { 0 };
    let size = packet.size.count();
    let needed = (IP_AND_UDP_BYTES + prefix.header_bytes()) as u64 + payload;
    if size < needed {
        return Err(EncodeError::TooSmall { size, needed });
    }
    if size > LARGEST_PACKET {
        return Err(EncodeError::TooLarge { size });
    }
    datagram.clear();
    datagram.extend_from_slice(&prefix.write());
    if let Segment::Ack(ack) = &packet.payload {
        if let Some(eceb) = ack.eceb() {
            datagram.extend_from_slice(&eceb.to_be_bytes());
        }
        for block in ack.duplicate().into_iter().chain(ack.blocks()) {
            datagram.extend_from_slice(&(block.start as u32).to_be_bytes());
            datagram.extend_from_slice(&(block.end as u32).to_be_bytes());
        }
    }
    datagram.resize(size as usize - IP_AND_UDP_BYTES, 0);
    Ok(())
}

fn prefix(packet: &Packet<Segment>) -> Result<Prefix, EncodeError> {
    let flow = u16::try_from(packet.flow.0).map_err(|_| EncodeError::Flow { flow: packet.flow.0 })?;
    let bare = Prefix {
        kind: Kind::Syn,
        is_retransmission: packet.is_retransmission,
        is_window_reduced: false,
        is_pushed: false,
        is_ecn_echo: false,
        is_sce_echo: false,
        ace: 0,
        window: 0,
        has_eceb: false,
        has_duplicate: false,
        blocks: 0,
        flow,
        number: packet.number as u32,
        sequence: 0,
        time: packet.sent.as_nanos(),
        detail: 0,
    };
    Ok(match packet.payload {
        Segment::Syn { ecn } => Prefix { detail: mode_number(ecn), ..bare },
        Segment::SynAck { ecn, timestamp_echo } => {
            Prefix { kind: Kind::SynAck, time: timestamp_echo.as_nanos(), detail: mode_number(ecn), ..bare }
        }
        Segment::HandshakeAck => Prefix { kind: Kind::HandshakeAck, ..bare },
        Segment::Data { sequence, length, is_window_reduced, is_pushed, .. } => Prefix {
            kind: Kind::Data,
            is_window_reduced,
            is_pushed,
            sequence: sequence as u32,
            detail: length.count().min(MAX_DETAIL),
            ..bare
        },
        Segment::Ack(ref ack) => Prefix {
            kind: Kind::Ack,
            is_ecn_echo: ack.is_ecn_echo,
            is_sce_echo: ack.is_sce_echo,
            ace: ack.ace(),
            window: ack.window as u8,
            has_eceb: ack.eceb().is_some(),
            has_duplicate: ack.duplicate().is_some(),
            blocks: ack.blocks().len() as u8,
            sequence: ack.cumulative as u32,
            time: ack.timestamp_echo.as_nanos(),
            // Eighteen minutes: a longer delay reads as this one.
            detail: ack.one_way_delay.as_nanos().min(MAX_DETAIL),
            ..bare
        },
    })
}

/// Modes of ECN by number.
const MODES: [EcnMode; 4] = [EcnMode::Off, EcnMode::Classic, EcnMode::Accurate, EcnMode::Sce];

fn mode_number(mode: EcnMode) -> u64 {
    MODES.iter().position(|known| *known == mode).unwrap_or_default() as u64
}

/// The mode of ECN that a SYN tells.
pub fn ecn_mode(number: u64) -> Result<EcnMode, DecodeError> {
    MODES.get(number as usize).copied().ok_or(DecodeError::Mode { number })
}

/// Reads the datagrams that one end of a flow gets, and makes their cut numbers whole: a packet number or a sequence
/// number is the one nearest to the highest so far, a time the one nearest to now.
#[derive(Clone, Debug)]
pub struct Decoder {
    flow: FlowId,
    highest_number: u64,
    highest_sequence: u64,
}

impl Decoder {
    /// A decoder for one end of this flow, from its first packet on.
    pub fn new(flow: FlowId) -> Self {
        Self { flow, highest_number: 0, highest_sequence: 0 }
    }

    /// The packet in a datagram that arrives at `now`. The send time of an ack or a SYN-ACK does not travel with it; it
    /// reads as `now`. Neither does what data echoes; it reads as zero.
    pub fn decode(&mut self, datagram: &Datagram<'_>, now: Instant) -> Result<Packet<Segment>, DecodeError> {
        let Datagram { bytes, length, ecn } = *datagram;
        let prefix = Prefix::read(bytes)?;
        if u32::from(prefix.flow) != self.flow.0 {
            return Err(DecodeError::Flow { flow: prefix.flow });
        }
        let sequence = expand(u64::from(prefix.sequence), u32::BITS, self.highest_sequence);
        let time = Instant::from_nanos(expand(prefix.time, TIME_BITS, now.as_nanos()));
        let payload = match prefix.kind {
            Kind::Syn => Segment::Syn { ecn: ecn_mode(prefix.detail)? },
            Kind::SynAck => Segment::SynAck { ecn: ecn_mode(prefix.detail)?, timestamp_echo: time },
            Kind::HandshakeAck => Segment::HandshakeAck,
            Kind::Data => {
                if prefix.detail > length.saturating_sub(PREFIX_BYTES) as u64 {
                    return Err(DecodeError::Payload { length, payload: prefix.detail });
                }
                let Prefix { is_window_reduced, is_pushed, .. } = prefix;
                let (length, timestamp_echo) = (Bytes::new(prefix.detail), Instant::ZERO);
                Segment::Data { sequence, length, timestamp_echo, is_window_reduced, is_pushed }
            }
            Kind::Ack => Segment::Ack(read_ack(&prefix, bytes, sequence, time)?),
        };
        let number = expand(u64::from(prefix.number), u32::BITS, self.highest_number);
        self.highest_number = self.highest_number.max(number);
        if matches!(prefix.kind, Kind::Data | Kind::Ack) {
            self.highest_sequence = self.highest_sequence.max(sequence);
        }
        let sent = if matches!(prefix.kind, Kind::Ack | Kind::SynAck) { now } else { time };
        let is_data_direction = matches!(prefix.kind, Kind::Syn | Kind::Data);
        let size = Bytes::new((length + IP_AND_UDP_BYTES) as u64);
        let packet = Packet::new(self.flow, is_data_direction, number, size, sent, payload);
        Ok(Packet { is_retransmission: prefix.is_retransmission, ecn, ..packet })
    }
}

fn read_ack(
    prefix: &Prefix,
    bytes: &[u8],
    cumulative: u64,
    timestamp_echo: Instant,
) -> Result<AckSegment, DecodeError> {
    let needed = prefix.header_bytes();
    let short = DecodeError::Short { length: bytes.len(), needed };
    let (counts, blocks) = bytes.get(PREFIX_BYTES..needed).ok_or(short)?.split_at(prefix.blocks_begin() - PREFIX_BYTES);
    let blocks = blocks.as_chunks().0;
    let mut ack = AckSegment::new(cumulative, timestamp_echo, Duration::from_nanos(prefix.detail));
    ack.is_ecn_echo = prefix.is_ecn_echo;
    ack.is_sce_echo = prefix.is_sce_echo;
    ack.window = UNBOUNDED_WINDOW | u16::from(prefix.window);
    ack.set_marks(prefix.ace, counts.first_chunk().map(|count| u32::from_be_bytes(*count)));
    let (duplicate, sacked) = blocks.split_at(usize::from(prefix.has_duplicate));
    if let Some(block) = duplicate.first() {
        ack.set_duplicate(read_block(*block, cumulative)?);
    }
    let sacked: Vec<_> = sacked.iter().map(|block| read_block(*block, cumulative)).collect::<Result<_, _>>()?;
    ack.set_blocks(sacked);
    Ok(ack)
}

fn read_block(bytes: [u8; 8], near: u64) -> Result<Range, DecodeError> {
    let both = u64::from_be_bytes(bytes);
    let (first, last) = ((both >> 32) as u32, both as u32);
    let length = last.wrapping_sub(first);
    if length == 0 || length > u32::MAX / 2 {
        return Err(DecodeError::Block { start: first, end: last });
    }
    let start = expand(u64::from(first), u32::BITS, near);
    Ok(Range { start, end: start.saturating_add(u64::from(length)) })
}

/// The number nearest to `near` that ends in these low bits.
pub(super) fn expand(low: u64, bits: u32, near: u64) -> u64 {
    let unused = u64::BITS - bits;
    // Shifting up and down again extends the sign.
    let distance = (low.wrapping_sub(near) << unused).cast_signed() >> unused;
    near.checked_add_signed(distance).unwrap_or(low)
}

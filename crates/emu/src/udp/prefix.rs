//! The first bytes behind the UDP header, the same for every kind of packet, so that a tap that keeps only the
//! beginning of a packet can tell what it is.
//!
//! Numbers are big-endian. The IP offset holds for IPv4 without options.
//!
//! | offset | in IP packet | bytes | what |
//! |---|---|---|---|
//! | 0 | 28 | 1 | version (1) in the upper four bits, [`Kind`] in the lower four |
//! | 1 | 29 | 1 | bit 0: retransmission; 1: window reduced (CWR); 2: ECN echo; 3: the first block is a duplicate; 4-5: number of SACK blocks beside the duplicate; 6: bytes that were marked follow |
//! | 2 | 30 | 2 | number of the flow from 0 |
//! | 4 | 32 | 4 | number of the packet in its flow and direction from 0, retransmissions included |
//! | 8 | 36 | 4 | data: sequence; ack: cumulative; otherwise 0 |
//! | 12 | 40 | 6 | ns since the start of the run: when it was sent; in an ack or a SYN-ACK, the timestamp echo |
//! | 18 | 46 | 5 | data: payload in bytes; ack: one-way delay in ns; SYN: the ECN that is asked for or agreed to (0 off, 1 classic, 2 accurate, 3 SCE); otherwise 0 |
//! | 23 | 51 | 1 | ack: bits 0-2: packets that were marked (ACE); 3: some congestion was experienced (ESCE); 4-7: low bits of the receive window; otherwise 0 |
//! | 24 | 52 | 4 | ack, if there are any: bytes that were marked |
//! | 24 or 28 | 52 or 56 | 8 each | ack: the duplicate, then the SACK blocks: first segment, one past the last one |
//!
//! Numbers and times are cut to these widths; see [`super::Decoder`] for what makes them whole again. An ack with k
//! blocks needs 52 + 8k bytes of IP packet, 4 less than TCP with timestamps has for it; marked bytes are told only
//! where accurate ECN has made it larger by more than the 4 that they need.

/// Bytes of a [`Prefix`].
pub const PREFIX_BYTES: usize = 24;
/// Bits of a time.
pub(super) const TIME_BITS: u32 = 48;
/// The largest [`Prefix::detail`].
pub(super) const MAX_DETAIL: u64 = (1 << 40) - 1;

const VERSION: u8 = 1;
const RETRANSMISSION: u8 = 1;
const WINDOW_REDUCED: u8 = 1 << 1;
const ECN_ECHO: u8 = 1 << 2;
const DUPLICATE: u8 = 1 << 3;
const ECEB: u8 = 1 << 6;
const PUSHED: u8 = 1 << 7;
const BLOCKS_SHIFT: u32 = 4;
const BLOCKS_MASK: u8 = 3;
const ACE: u8 = 7;
const SCE_ECHO: u8 = 1 << 3;
const WINDOW_SHIFT: u32 = 4;
/// Bytes of the count of bytes that arrived with CE (ECEB).
pub(super) const ECEB_BYTES: usize = 4;

/// Why bytes are not a packet of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// It ends too early.
    #[error("a datagram of {length} bytes was read where {needed} were due")]
    Short {
        /// Bytes there are.
        length: usize,
        /// Bytes that its kind needs.
        needed: usize,
    },
    /// The first byte is none of ours.
    #[error("a datagram begins with {byte:#04x}, which is no version and kind of ours")]
    Kind {
        /// The first byte.
        byte: u8,
    },
    /// It states more payload than it has.
    #[error("a datagram of {length} bytes claims {payload} bytes of payload")]
    Payload {
        /// Bytes of the datagram.
        length: usize,
        /// What it claims.
        payload: u64,
    },
    /// It asks for an ECN that there is not.
    #[error("a datagram asks for ECN of mode {number}; the modes are 0 to 3")]
    Mode {
        /// The mode.
        number: u64,
    },
    /// A SACK block ends before it begins.
    #[error("a SACK block from {start} to {end} has no segments")]
    Block {
        /// First segment, 32 bits of it.
        start: u32,
        /// One past the last segment, 32 bits of it.
        end: u32,
    },
    /// It is of another flow.
    #[error("a datagram of flow {flow} came to another one")]
    Flow {
        /// Number of its flow from 0.
        flow: u16,
    },
}

/// What a packet carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The sender asks for a connection.
    Syn = 1,
    /// The receiver agrees.
    SynAck = 2,
    /// One segment of data.
    Data = 3,
    /// An acknowledgement.
    Ack = 4,
    /// The sender has heard that the receiver agrees.
    HandshakeAck = 5,
}

/// The first bytes behind the UDP header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prefix {
    /// What the packet carries.
    pub kind: Kind,
    /// True if it repeats data.
    pub is_retransmission: bool,
    /// True if the sender has reduced its window after an ECN echo.
    pub is_window_reduced: bool,
    /// True for the end of all that the application writes.
    pub is_pushed: bool,
    /// True if an ack echoes a CE mark.
    pub is_ecn_echo: bool,
    /// True if an ack echoes that some congestion was experienced.
    pub is_sce_echo: bool,
    /// Packets that arrived with CE, the low three bits (ACE).
    pub ace: u8,
    /// The receive window as a TCP header would have it, the low four bits.
    pub window: u8,
    /// True if the number of bytes that arrived with CE follows (ECEB).
    pub has_eceb: bool,
    /// True if the first block behind the prefix is a segment that arrived twice.
    pub has_duplicate: bool,
    /// SACK blocks behind the prefix and the duplicate, 0 to 3.
    pub blocks: u8,
    /// Number of the flow from 0.
    pub flow: u16,
    /// The low 32 bits of the packet's number.
    pub number: u32,
    /// The low 32 bits of the sequence number of data, or of the cumulative acknowledgement.
    pub sequence: u32,
    /// The low 48 bits of the send time, or of the timestamp echo of an ack or a SYN-ACK, in ns.
    pub time: u64,
    /// Payload of data in bytes, one-way delay of an ack in ns, below 2^40; mode of ECN of a SYN.
    pub detail: u64,
}

impl Prefix {
    /// Reads the beginning of a datagram; whatever follows it is not looked at.
    pub fn read(datagram: &[u8]) -> Result<Self, DecodeError> {
        let short = DecodeError::Short { length: datagram.len(), needed: PREFIX_BYTES };
        let bytes: &[u8; PREFIX_BYTES] = datagram.first_chunk().ok_or(short)?;
        let flags = bytes[1];
        Ok(Self {
            kind: kind(bytes[0])?,
            is_retransmission: flags & RETRANSMISSION != 0,
            is_window_reduced: flags & WINDOW_REDUCED != 0,
            is_pushed: flags & PUSHED != 0,
            is_ecn_echo: flags & ECN_ECHO != 0,
            is_sce_echo: bytes[23] & SCE_ECHO != 0,
            ace: bytes[23] & ACE,
            window: bytes[23] >> WINDOW_SHIFT,
            has_eceb: flags & ECEB != 0,
            has_duplicate: flags & DUPLICATE != 0,
            blocks: flags >> BLOCKS_SHIFT & BLOCKS_MASK,
            flow: number(&bytes[2..4]) as u16,
            number: number(&bytes[4..8]) as u32,
            sequence: number(&bytes[8..12]) as u32,
            time: number(&bytes[12..18]),
            detail: number(&bytes[18..23]),
        })
    }

    /// Its bytes; of fields that are wider than their place, the low bits.
    pub fn write(&self) -> [u8; PREFIX_BYTES] {
        let flag = |is_set, bit| if is_set { bit } else { 0 };
        let mut bytes = [0; PREFIX_BYTES];
        bytes[0] = VERSION << 4 | self.kind as u8;
        bytes[1] = flag(self.is_retransmission, RETRANSMISSION)
            | flag(self.is_window_reduced, WINDOW_REDUCED)
            | flag(self.is_pushed, PUSHED)
            | flag(self.is_ecn_echo, ECN_ECHO)
            | flag(self.has_duplicate, DUPLICATE)
            | flag(self.has_eceb, ECEB)
            | (self.blocks & BLOCKS_MASK) << BLOCKS_SHIFT;
        put(&mut bytes[2..4], u64::from(self.flow));
        put(&mut bytes[4..8], u64::from(self.number));
        put(&mut bytes[8..12], u64::from(self.sequence));
        put(&mut bytes[12..18], self.time);
        put(&mut bytes[18..23], self.detail);
        bytes[23] = self.ace & ACE | flag(self.is_sce_echo, SCE_ECHO) | self.window << WINDOW_SHIFT;
        bytes
    }

    /// Bytes of the header that begins with it: the blocks of an ack follow.
    pub fn header_bytes(&self) -> usize {
        if self.kind != Kind::Ack {
            return PREFIX_BYTES;
        }
        self.blocks_begin() + 8 * (usize::from(self.blocks) + usize::from(self.has_duplicate))
    }

    /// Where the blocks of an ack begin.
    pub(super) fn blocks_begin(&self) -> usize {
        if self.has_eceb { PREFIX_BYTES + ECEB_BYTES } else { PREFIX_BYTES }
    }
}

fn kind(byte: u8) -> Result<Kind, DecodeError> {
    let kinds = [Kind::Syn, Kind::SynAck, Kind::Data, Kind::Ack, Kind::HandshakeAck];
    kinds.into_iter().find(|kind| VERSION << 4 | *kind as u8 == byte).ok_or(DecodeError::Kind { byte })
}

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

fn put(place: &mut [u8], number: u64) {
    let bytes = number.to_be_bytes();
    let width = place.len();
    place.copy_from_slice(&bytes[bytes.len() - width..]);
}

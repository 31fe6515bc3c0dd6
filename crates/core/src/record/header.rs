//! What the header of a packet's transport says, for those who read captures.

use crate::units::Bytes;

/// A transport header in the terms of TCP. Positions are bytes from the start of the stream, whose first is 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// Flags, as in [`Header::SYN`] and the others.
    pub flags: u16,
    /// Position of the first byte that it carries, or would carry.
    pub sequence: Option<u64>,
    /// How much it carries.
    pub payload: Bytes,
    /// Position up to which all has arrived.
    pub acknowledged: Option<u64>,
    /// What has arrived beyond that, as first position and one past the last.
    pub sack: [Option<[u64; 2]>; Self::SACK_BLOCKS],
}

impl Header {
    /// SACK blocks that there is room for beside a time stamp (RFC 2018, section 3).
    pub const SACK_BLOCKS: usize = 3;
    /// Asks for a connection (RFC 9293, section 3.1, as all of them but the last).
    pub const SYN: u16 = 1 << 1;
    /// Ends what an application has written.
    pub const PSH: u16 = 1 << 3;
    /// Acknowledges.
    pub const ACK: u16 = 1 << 4;
    /// Echoes a CE mark (RFC 3168, section 6.1).
    pub const ECE: u16 = 1 << 6;
    /// Says that the window was reduced (RFC 3168, section 6.1).
    pub const CWR: u16 = 1 << 7;
    /// Echoes some congestion experienced (draft-morton-tsvwg-sce, section 4), in the place of [`Header::AE`].
    pub const ESCE: u16 = 1 << 8;
    /// Counts marks in the acks of accurate ECN, together with CWR and ECE (RFC 9768, section 3.1); once NS.
    pub const AE: u16 = 1 << 8;
}

//! The passage of a packet through a hop.

use super::header::Header;
use crate::packet::{Ecn, FlowId};
use crate::queue::Reason;
use crate::units::{Duration, Instant};

/// A packet as its endpoint sent it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Origin {
    pub(super) flow: FlowId,
    pub(super) is_data_direction: bool,
    pub(super) is_retransmission: bool,
    pub(super) size: u32,
    pub(super) number: u64,
    pub(super) sent: Instant,
    pub(super) told: Told,
    /// Where its latest row is.
    pub(super) hop: usize,
    pub(super) row: usize,
}

/// A packet at a hop.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    pub(super) origin: usize,
    pub(super) entered: Instant,
    pub(super) left: Option<Instant>,
    pub(super) sojourn: Duration,
    pub(super) drop: Option<Reason>,
    pub(super) mark: Option<Reason>,
    pub(super) ecn: [Ecn; 2],
}

impl Row {
    pub(super) fn is_open(&self) -> bool {
        self.left.is_none() && self.drop.is_none()
    }
}

/// A packet at a hop, and where it is from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Passage<'a> {
    pub(super) row: &'a Row,
    pub(super) origin: &'a Origin,
    pub(super) sack: &'a SackBlocks,
}

impl<'a> Passage<'a> {
    pub(super) fn new(row: &'a Row, origin: &'a Origin, sacks: &'a [SackBlocks]) -> Self {
        Self { row, origin, sack: origin.told.sack.map_or(&NO_SACK, |at| &sacks[at as usize]) }
    }

    pub(super) fn fate(self) -> &'static str {
        match (self.row.left, self.row.drop) {
            (Some(_), _) => "passed",
            (None, Some(_)) => "dropped",
            (None, None) => "inside",
        }
    }

    pub(super) fn direction(self) -> &'static str {
        if self.origin.is_data_direction { "data" } else { "acks" }
    }
}

/// Of each of an ack's blocks the first position and one past the last; -1 where there is none.
pub(super) type SackBlocks = [[i64; 2]; Header::SACK_BLOCKS];

/// No blocks.
const NO_SACK: SackBlocks = [[-1; 2]; Header::SACK_BLOCKS];

/// What a header says, as the table has it: -1 where it says nothing.
#[derive(Clone, Copy, Debug)]
pub(super) struct Told {
    pub(super) sequence: i64,
    pub(super) acknowledged: i64,
    pub(super) flags: i32,
    pub(super) payload: i32,
    /// Where its blocks are: few headers have any.
    sack: Option<u32>,
}

impl Told {
    /// There is no header.
    pub(super) const NOTHING: Self = Self { sequence: -1, acknowledged: -1, flags: -1, payload: -1, sack: None };

    /// What a header says; its blocks are put behind the others.
    pub(super) fn of(header: &Header, sacks: &mut Vec<SackBlocks>) -> Self {
        let position = |bytes: Option<u64>| bytes.map_or(-1, |bytes| bytes as i64);
        let sack = header.sack[0].is_some().then(|| {
            sacks.push(header.sack.map(|block| block.map_or([-1; 2], |block| block.map(|at| at as i64))));
            sacks.len() as u32 - 1
        });
        Self {
            sequence: position(header.sequence),
            acknowledged: position(header.acknowledged),
            flags: header.flags.into(),
            payload: header.payload.count() as i32,
            sack,
        }
    }
}

//! How the passages of packets become columns.

use super::PassageTable;
use super::flow_record::instant_or_none;
use super::header::Header;
use super::passages::{Origin, Row};
use crate::queue::Reason;

/// Rows that are written at once: column after column, while the processor's cache still has them.
pub(super) const AT_ONCE: usize = 256;

/// Of each of an ack's blocks the first position and one past the last; -1 where there is none.
pub(super) type SackBlocks = [[i64; 2]; Header::SACK_BLOCKS];

/// No blocks.
const NO_SACK: SackBlocks = [[-1; 2]; Header::SACK_BLOCKS];

/// What a header says, as the table has it: -1 where it says nothing.
#[derive(Clone, Copy, Debug)]
pub(super) struct Told {
    sequence: i64,
    acknowledged: i64,
    flags: i32,
    payload: i32,
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

/// A packet at a hop, and where it is from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Passage<'a> {
    row: &'a Row,
    origin: &'a Origin,
    sack: &'a SackBlocks,
}

impl<'a> Passage<'a> {
    pub(super) fn new(row: &'a Row, origin: &'a Origin, sacks: &'a [SackBlocks]) -> Self {
        Self { row, origin, sack: origin.told.sack.map_or(&NO_SACK, |at| &sacks[at as usize]) }
    }

    fn fate(self) -> &'static str {
        match (self.row.left, self.row.drop) {
            (Some(_), _) => "passed",
            (None, Some(_)) => "dropped",
            (None, None) => "inside",
        }
    }

    fn direction(self) -> &'static str {
        if self.origin.is_data_direction { "data" } else { "acks" }
    }
}

/// Adds rows of a hop.
pub(super) fn write(table: &mut PassageTable, hop: usize, passages: &[Passage<'_>]) {
    let all = || passages.iter().copied();
    let rows = || passages.iter().map(|passage| passage.row);
    let origins = || passages.iter().map(|passage| passage.origin);
    table.hop.codes.extend(all().map(|_| hop as u32));
    table.in_ns.extend(rows().map(|row| row.entered.as_nanos()));
    table.out_ns.extend(rows().map(|row| instant_or_none(row.left)));
    table.queue_ns.extend(rows().map(|row| row.sojourn.as_nanos()));
    table.fate.extend(all().map(Passage::fate));
    table.reason.extend(rows().map(|row| row.drop.map_or("", Reason::name)));
    table.mark.extend(rows().map(|row| row.mark.map_or("", Reason::name)));
    table.ecn_in.extend(rows().map(|row| u32::from(row.ecn[0].bits())));
    table.ecn_out.extend(rows().map(|row| u32::from(row.ecn[1].bits())));
    table.flow.extend(origins().map(|origin| origin.flow.0 + 1));
    table.direction.extend(all().map(Passage::direction));
    table.number.extend(origins().map(|origin| origin.number));
    table.sent_ns.extend(origins().map(|origin| origin.sent.as_nanos()));
    table.size_bytes.extend(origins().map(|origin| origin.size));
    table.retransmit.extend(origins().map(|origin| origin.is_retransmission));
    table.flags.extend(origins().map(|origin| i64::from(origin.told.flags)));
    table.sequence_bytes.extend(origins().map(|origin| origin.told.sequence));
    table.payload_bytes.extend(origins().map(|origin| i64::from(origin.told.payload)));
    table.acknowledged_bytes.extend(origins().map(|origin| origin.told.acknowledged));
    table.sack_1_start_bytes.extend(all().map(|passage| passage.sack[0][0]));
    table.sack_1_end_bytes.extend(all().map(|passage| passage.sack[0][1]));
    table.sack_2_start_bytes.extend(all().map(|passage| passage.sack[1][0]));
    table.sack_2_end_bytes.extend(all().map(|passage| passage.sack[1][1]));
    table.sack_3_start_bytes.extend(all().map(|passage| passage.sack[2][0]));
    table.sack_3_end_bytes.extend(all().map(|passage| passage.sack[2][1]));
}

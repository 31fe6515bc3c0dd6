//! How the passages of packets become columns.

use super::PassageTable;
use super::flow_record::instant_or_none;
use super::passage::Passage;
use crate::queue::Reason;

/// Rows that are written at once: column after column, while the processor's cache still has them.
pub(super) const AT_ONCE: usize = 256;

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

//! What is recorded of every packet at every hop.

use std::collections::{BTreeMap, VecDeque};

use super::flow_record::instant_or_none;
use super::header::Header;
use super::{HopAccount, Names, PassageTable};
use crate::packet::{Ecn, FlowId, Packet};
use crate::queue::Reason;
use crate::units::{Duration, Instant};

/// A packet as its endpoint sent it.
#[derive(Clone, Copy, Debug, Default)]
struct Origin {
    sent: Instant,
    size: u32,
    is_retransmission: bool,
    header: Option<Header>,
    /// Where its latest row is.
    row: usize,
}

/// A packet at a hop.
#[derive(Clone, Copy, Debug)]
struct Row {
    hop: usize,
    flow: FlowId,
    is_data_direction: bool,
    number: u64,
    entered: Instant,
    left: Option<Instant>,
    sojourn: Duration,
    drop: Option<Reason>,
    mark: Option<Reason>,
    ecn: [Ecn; 2],
}

impl Row {
    fn is_open(&self) -> bool {
        self.left.is_none() && self.drop.is_none()
    }
}

/// All packets at all hops.
#[derive(Clone, Debug, Default)]
pub(super) struct Passages {
    /// By flow or probe, direction (acks, data) and number.
    origins: Vec<[Vec<Origin>; 2]>,
    rows: Vec<Row>,
    /// Open rows before the latest one, of packets of which copies are on the path: the one that came first is first.
    earlier: BTreeMap<Name, VecDeque<usize>>,
}

/// Flow or probe, whether it goes in the data direction, and number: what a packet and its copies share.
type Name = (FlowId, bool, u64);

fn name<P>(packet: &Packet<P>) -> Name {
    (packet.flow, packet.is_data_direction, packet.number)
}

impl Passages {
    /// For so many flows and probes.
    pub(super) fn new(flows: usize) -> Self {
        Self { origins: vec![[const { Vec::new() }; 2]; flows], rows: Vec::new(), earlier: BTreeMap::new() }
    }

    fn origin<P>(&mut self, packet: &Packet<P>) -> Option<&mut Origin> {
        let of_flow = self.origins.get_mut(packet.flow.0 as usize)?;
        of_flow[usize::from(packet.is_data_direction)].get_mut(packet.number as usize)
    }

    /// The row of a packet that is in a hop; `None` for a copy that the hop's wire has made, since the row is closed.
    fn open_row<P>(&mut self, hop: usize, packet: &Packet<P>) -> Option<&mut Row> {
        let latest = self.origin(packet)?.row;
        let rows = &self.rows;
        let is_there = |row: &usize| rows.get(*row).is_some_and(|row| row.hop == hop && row.is_open());
        let earlier = self.earlier.get_mut(&name(packet));
        let found = earlier.and_then(|earlier| earlier.remove(earlier.iter().position(is_there)?));
        let row = found.or(Some(latest).filter(is_there))?;
        self.rows.get_mut(row)
    }

    /// A packet leaves its endpoint.
    pub(super) fn is_sent<P>(&mut self, packet: &Packet<P>, header: Option<Header>) {
        let Some(of_flow) = self.origins.get_mut(packet.flow.0 as usize) else { return };
        let sent = &mut of_flow[usize::from(packet.is_data_direction)];
        // Answers have the numbers of their requests, of which some are lost, overtaken or doubled.
        let at = packet.number as usize;
        sent.resize(sent.len().max(at + 1), Origin::default());
        sent[at] = Origin {
            sent: packet.sent,
            size: packet.size.count() as u32,
            is_retransmission: packet.is_retransmission,
            header,
            row: usize::MAX,
        };
    }

    /// A packet comes to a hop at `now`.
    pub(super) fn enters_hop<P>(&mut self, hop: usize, packet: &Packet<P>, now: Instant) {
        let row = self.rows.len();
        let Some(origin) = self.origin(packet) else { return };
        let before = std::mem::replace(&mut origin.row, row);
        if self.rows.get(before).is_some_and(Row::is_open) {
            self.earlier.entry(name(packet)).or_default().push_back(before);
        }
        self.rows.push(Row {
            hop,
            flow: packet.flow,
            is_data_direction: packet.is_data_direction,
            number: packet.number,
            entered: now,
            left: None,
            sojourn: Duration::ZERO,
            drop: None,
            mark: None,
            ecn: [packet.ecn; 2],
        });
    }

    /// A packet comes out of the hop that it is in.
    pub(super) fn leaves_hop<P>(&mut self, hop: usize, packet: &Packet<P>, now: Instant) {
        if let Some(row) = self.open_row(hop, packet) {
            row.left = Some(now);
            row.sojourn = packet.sojourn;
            row.mark = packet.marked;
            row.ecn[1] = packet.ecn;
        }
    }

    /// The hop that a packet is in drops it.
    pub(super) fn is_dropped<P>(&mut self, hop: usize, packet: &Packet<P>, reason: Reason) {
        if let Some(row) = self.open_row(hop, packet) {
            row.sojourn = packet.sojourn;
            row.drop = Some(reason);
        }
    }

    /// The table.
    pub(super) fn table(mut self, hops: &[HopAccount]) -> PassageTable {
        self.rows.sort_by_key(|row| (row.hop, row.entered));
        let hop = Names::of(hops.iter().map(|hop| hop.name.clone()).collect());
        let mut table = PassageTable { hop, ..PassageTable::default() };
        for row in &self.rows {
            let origin = self.origins[row.flow.0 as usize][usize::from(row.is_data_direction)][row.number as usize];
            write(&mut table, row, &origin);
        }
        table
    }
}

fn write(table: &mut PassageTable, row: &Row, origin: &Origin) {
    table.hop.push(row.hop);
    table.in_ns.push(row.entered.as_nanos());
    table.out_ns.push(instant_or_none(row.left));
    table.queue_ns.push(row.sojourn.as_nanos());
    table.fate.push(match (row.left, row.drop) {
        (Some(_), _) => "passed",
        (None, Some(_)) => "dropped",
        (None, None) => "inside",
    });
    table.reason.push(row.drop.map_or("", Reason::name));
    table.mark.push(row.mark.map_or("", Reason::name));
    table.ecn_in.push(u32::from(row.ecn[0].bits()));
    table.ecn_out.push(u32::from(row.ecn[1].bits()));
    table.flow.push(row.flow.0 + 1);
    table.direction.push(if row.is_data_direction { "data" } else { "acks" });
    table.number.push(row.number);
    table.sent_ns.push(origin.sent.as_nanos());
    table.size_bytes.push(origin.size);
    table.retransmit.push(origin.is_retransmission);
    let header = origin.header.unwrap_or_default();
    table.flags.push(origin.header.map_or(-1, |header| i64::from(header.flags)));
    table.sequence_bytes.push(position(header.sequence));
    table.payload_bytes.push(origin.header.map_or(-1, |header| header.payload.count() as i64));
    table.acknowledged_bytes.push(position(header.acknowledged));
    let [first, second, third] = header.sack.map(|block| block.map_or([-1; 2], |block| block.map(|at| at as i64)));
    table.sack_1_start_bytes.push(first[0]);
    table.sack_1_end_bytes.push(first[1]);
    table.sack_2_start_bytes.push(second[0]);
    table.sack_2_end_bytes.push(second[1]);
    table.sack_3_start_bytes.push(third[0]);
    table.sack_3_end_bytes.push(third[1]);
}

fn position(bytes: Option<u64>) -> i64 {
    bytes.map_or(-1, |bytes| bytes as i64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Bytes;

    fn packet(number: u64) -> Packet<()> {
        Packet::new(FlowId(0), true, number, Bytes::new(100), Instant::ZERO, ())
    }

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    #[test]
    fn what_is_sent_again_under_an_earlier_number_takes_nothing_away() {
        let mut passages = Passages::new(1);
        for number in [2, 0] {
            passages.is_sent(&packet(number), None);
        }
        passages.enters_hop(0, &packet(2), at(1));
        passages.leaves_hop(0, &packet(2), at(2));
        assert_eq!(passages.rows[0].left, Some(at(2)));
    }

    #[test]
    fn a_copy_that_a_wire_has_made_has_rows_of_its_own_from_the_next_hop_on() {
        let mut passages = Passages::new(1);
        passages.is_sent(&packet(0), None);
        passages.enters_hop(0, &packet(0), at(1));
        passages.leaves_hop(0, &packet(0), at(2));
        passages.enters_hop(1, &packet(0), at(2));
        passages.leaves_hop(0, &packet(0), at(3));
        passages.enters_hop(1, &packet(0), at(3));
        passages.leaves_hop(1, &packet(0), at(4));
        passages.is_dropped(1, &packet(0), Reason::Overlimit);
        let ends: Vec<_> = passages.rows.iter().map(|row| (row.hop, row.left, row.drop)).collect();
        assert_eq!(ends, [(0, Some(at(2)), None), (1, Some(at(4)), None), (1, None, Some(Reason::Overlimit))]);
    }
}

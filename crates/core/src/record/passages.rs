//! What is recorded of every packet at every hop.

use std::collections::{BTreeMap, VecDeque};

use super::header::Header;
use super::passage::{Origin, Passage, Row, SackBlocks, Told};
use super::passage_table;
use super::{HopAccount, Names, PassageTable};
use crate::packet::{FlowId, Packet};
use crate::queue::Reason;
use crate::units::{Duration, Instant};

/// All packets at all hops.
#[derive(Clone, Debug, Default)]
pub(super) struct Passages {
    /// In the order in which they were sent.
    origins: Vec<Origin>,
    sacks: Vec<SackBlocks>,
    /// Where they are there, by flow or probe, direction (acks, data) and number.
    sent: Vec<[Vec<usize>; 2]>,
    /// By hop, in the order in which they were told.
    rows: Vec<Vec<Row>>,
    /// Open rows before the latest one, of packets of which copies are on the path: the one that came first is first.
    earlier: BTreeMap<Name, VecDeque<(usize, usize)>>,
}

/// Flow or probe, whether it goes in the data direction, and number: what a packet and its copies share.
type Name = (FlowId, bool, u64);

fn name<P>(packet: &Packet<P>) -> Name {
    (packet.flow, packet.is_data_direction, packet.number)
}

/// Nobody is there.
const NONE: usize = usize::MAX;

impl Passages {
    /// For so many flows and probes, and so many hops.
    pub(super) fn new(flows: usize, hops: usize) -> Self {
        Self { sent: vec![[const { Vec::new() }; 2]; flows], rows: vec![Vec::new(); hops], ..Self::default() }
    }

    /// Where the origin of a packet is.
    fn origin<P>(&self, packet: &Packet<P>) -> Option<usize> {
        let of_flow = self.sent.get(packet.flow.0 as usize)?;
        let origin = *of_flow[usize::from(packet.is_data_direction)].get(packet.number as usize)?;
        (origin != NONE).then_some(origin)
    }

    fn is_open(&self, hop: usize, row: usize) -> bool {
        self.rows.get(hop).and_then(|rows| rows.get(row)).is_some_and(Row::is_open)
    }

    /// The row of a packet that is in a hop; `None` for a copy that the hop's wire has made, which has none before the
    /// next.
    fn open_row<P>(&mut self, hop: usize, packet: &Packet<P>) -> Option<&mut Row> {
        if packet.is_copy {
            return None;
        }
        let origin = &self.origins[self.origin(packet)?];
        let latest = (origin.hop == hop).then_some(origin.row);
        let rows = self.rows.get_mut(hop)?;
        let is_open = |row: usize| rows.get(row).is_some_and(Row::is_open);
        let found = match self.earlier.get_mut(&name(packet)) {
            None => None,
            Some(earlier) => {
                let at = earlier.iter().position(|(at, row)| *at == hop && is_open(*row));
                at.and_then(|at| earlier.remove(at)).map(|(_, row)| row)
            }
        };
        let row = found.or(latest.filter(|row| is_open(*row)))?;
        rows.get_mut(row)
    }

    /// A packet leaves its endpoint.
    #[inline(never)]
    pub(super) fn on_sent<P>(&mut self, packet: &Packet<P>, header: Option<Header>) {
        let Some(of_flow) = self.sent.get_mut(packet.flow.0 as usize) else { return };
        let sent = &mut of_flow[usize::from(packet.is_data_direction)];
        // Answers have the numbers of their requests, of which some are lost, overtaken or doubled.
        let at = packet.number as usize;
        if sent.len() <= at {
            sent.resize(at + 1, NONE);
        }
        sent[at] = self.origins.len();
        let told = header.map_or(Told::NOTHING, |header| Told::of(&header, &mut self.sacks));
        self.origins.push(Origin {
            flow: packet.flow,
            is_data_direction: packet.is_data_direction,
            is_retransmission: packet.is_retransmission,
            size: packet.size.count() as u32,
            number: packet.number,
            sent: packet.sent,
            told,
            hop: NONE,
            row: NONE,
        });
    }

    /// A packet comes to a hop at `now`.
    #[inline(never)]
    pub(super) fn on_enter_hop<P>(&mut self, hop: usize, packet: &Packet<P>, now: Instant) {
        let Some(origin) = self.origin(packet) else { return };
        let Origin { hop: hop_before, row: row_before, .. } = self.origins[origin];
        if self.is_open(hop_before, row_before) {
            self.earlier.entry(name(packet)).or_default().push_back((hop_before, row_before));
        }
        let rows = &mut self.rows[hop];
        (self.origins[origin].hop, self.origins[origin].row) = (hop, rows.len());
        rows.push(Row {
            origin,
            entered: now,
            left: None,
            sojourn: Duration::ZERO,
            drop: None,
            mark: None,
            ecn: [packet.ecn; 2],
        });
    }

    /// A packet comes out of the hop that it is in.
    #[inline(never)]
    pub(super) fn on_leave_hop<P>(&mut self, hop: usize, packet: &Packet<P>, now: Instant) {
        if let Some(row) = self.left_queue(hop, packet) {
            row.left = Some(now);
        }
    }

    /// The hop that a packet is in drops it.
    pub(super) fn on_dropped<P>(&mut self, hop: usize, packet: &Packet<P>, reason: Reason) {
        if let Some(row) = self.left_queue(hop, packet) {
            row.drop = Some(reason);
        }
    }

    /// The row of a packet that has left the queue of the hop that it is in, with what happened to it there.
    pub(super) fn left_queue<P>(&mut self, hop: usize, packet: &Packet<P>) -> Option<&mut Row> {
        let row = self.open_row(hop, packet)?;
        row.sojourn = packet.sojourn;
        row.mark = packet.marked;
        row.ecn[1] = packet.ecn;
        Some(row)
    }

    /// The table.
    pub(super) fn table(self, hops: &[HopAccount]) -> PassageTable {
        let hop = Names::of(hops.iter().map(|hop| hop.name.clone()).collect());
        let mut table = PassageTable { hop, ..PassageTable::default() };
        for (hop, mut rows) in self.rows.into_iter().enumerate() {
            // A log may be read packet by packet.
            rows.sort_by_key(|row| row.entered);
            for some in rows.chunks(passage_table::AT_ONCE) {
                let with_origin = some.iter().map(|row| Passage::new(row, &self.origins[row.origin], &self.sacks));
                passage_table::write(&mut table, hop, &with_origin.collect::<Vec<_>>());
            }
        }
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Ecn;
    use crate::units::Bytes;

    fn packet(number: u64) -> Packet<()> {
        Packet::new(FlowId(0), true, number, Bytes::new(100), Instant::ZERO, ())
    }

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    #[test]
    fn what_is_sent_again_under_an_earlier_number_takes_nothing_away() {
        let mut passages = Passages::new(1, 2);
        for number in [2, 0] {
            passages.on_sent(&packet(number), None);
        }
        passages.on_enter_hop(0, &packet(2), at(1));
        passages.on_leave_hop(0, &packet(2), at(2));
        assert_eq!(passages.rows[0][0].left, Some(at(2)));
    }

    #[test]
    fn a_copy_that_a_wire_has_made_has_rows_of_its_own_from_the_next_hop_on() {
        let mut passages = Passages::new(1, 2);
        passages.on_sent(&packet(0), None);
        passages.on_enter_hop(0, &packet(0), at(1));
        passages.on_leave_hop(0, &packet(0), at(2));
        passages.on_enter_hop(1, &packet(0), at(2));
        passages.on_leave_hop(0, &packet(0), at(3));
        passages.on_enter_hop(1, &packet(0), at(3));
        passages.on_leave_hop(1, &packet(0), at(4));
        passages.on_dropped(1, &packet(0), Reason::Overlimit);
        let ends = |hop: usize| passages.rows[hop].iter().map(|row| (row.left, row.drop)).collect::<Vec<_>>();
        assert_eq!(ends(0), [(Some(at(2)), None)]);
        assert_eq!(ends(1), [(Some(at(4)), None), (None, Some(Reason::Overlimit))]);
    }

    #[test]
    fn what_a_queue_did_is_told_of_packets_that_do_not_get_out() {
        let mut passages = Passages::new(1, 1);
        let marked = |number: u64| Packet {
            marked: Some(Reason::Threshold),
            ecn: Ecn::Ce,
            sojourn: Duration::from_millis(4),
            ..packet(number)
        };
        for number in [0, 1] {
            passages.on_sent(&packet(number), None);
            passages.on_enter_hop(0, &packet(number), at(1));
        }
        passages.on_dropped(0, &marked(0), Reason::Loss);
        passages.left_queue(0, &marked(1));
        let [lost, inside] = passages.rows[0][..] else { panic!("two rows") };
        assert_eq!((lost.drop, inside.drop, inside.left), (Some(Reason::Loss), None, None));
        for row in [lost, inside] {
            assert_eq!((row.mark, row.ecn), (Some(Reason::Threshold), [Ecn::NotEct, Ecn::Ce]));
            assert_eq!(row.sojourn, Duration::from_millis(4));
        }
    }

    #[test]
    fn what_becomes_of_a_copy_on_the_wire_that_made_it_is_not_told_of_the_original() {
        let mut passages = Passages::new(1, 1);
        let copy = Packet { is_copy: true, ..packet(0) };
        passages.on_sent(&packet(0), None);
        passages.on_enter_hop(0, &packet(0), at(1));
        passages.on_dropped(0, &copy, Reason::Loss);
        passages.on_leave_hop(0, &copy, at(2));
        passages.on_leave_hop(0, &packet(0), at(3));
        let [row] = passages.rows[0][..] else { panic!("one row") };
        assert_eq!((row.left, row.drop), (Some(at(3)), None));
    }

    #[test]
    fn packets_that_are_followed_one_by_one_come_out_in_order_of_time() {
        let mut passages = Passages::new(1, 2);
        for (number, start) in [(0, 1), (1, 2)] {
            passages.on_sent(&packet(number), None);
            for hop in [0, 1] {
                passages.on_enter_hop(hop, &packet(number), at(start + 10 * hop as u64));
                passages.on_leave_hop(hop, &packet(number), at(start + 10 * hop as u64 + 5));
            }
            passages.on_sent(&packet(number + 2), None);
            passages.on_enter_hop(1, &packet(number + 2), at(start));
        }
        let hop = |name: &str| HopAccount { name: name.to_owned(), ..HopAccount::default() };
        let table = passages.table(&[hop("one"), hop("other")]);
        assert_eq!(table.hop.codes, [0, 0, 1, 1, 1, 1]);
        assert_eq!(table.number, [0, 1, 2, 3, 0, 1]);
        assert_eq!(table.fate.codes, [0, 0, 1, 1, 0, 0]);
    }

    #[test]
    fn each_ack_tells_of_its_own_blocks_and_flows_are_numbered_from_one() {
        let mut passages = Passages::new(2, 1);
        for (number, block) in [(0, None), (1, Some([10, 20])), (2, Some([30, 40]))] {
            let ack = Packet { flow: FlowId(1), is_data_direction: false, ..packet(number) };
            passages.on_sent(&ack, Some(Header { sack: [block, None, None], ..Header::default() }));
            passages.on_enter_hop(0, &ack, at(number));
        }
        let table = passages.table(&[HopAccount { name: "one".to_owned(), ..HopAccount::default() }]);
        assert_eq!(table.flow, [2; 3]);
        assert_eq!((table.sack_1_start_bytes, table.sack_1_end_bytes), (vec![-1, 10, 30], vec![-1, 20, 40]));
    }
}

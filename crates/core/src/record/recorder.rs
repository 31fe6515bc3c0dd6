//! The recorder: counts everything, and writes the tables.

use std::collections::BTreeMap;

use super::flow_record::{FlowRecord, duration_or_none, instant_or_none};
use super::header::Header;
use super::histogram::Histogram;
use super::imbalance::Imbalance;
use super::passages::Passages;
use super::probe_record::ProbeRecords;
use super::{Flows, HopSeries, Hops, Packets, Series, Table, Telemetry, Verdicts};
use crate::hop::Count;
use crate::packet::Packet;
use crate::queue::{Duplicate, Reason};
use crate::scenario::{Level, RecordConfig};
use crate::units::{Bytes, Duration, Instant};

/// What a hop itself says of a run.
#[derive(Clone, Debug, Default)]
pub struct HopAccount {
    /// Its name.
    pub name: String,
    /// Packets that came in.
    pub accepted: Count,
    /// Packets that came out at the far end.
    pub delivered: Count,
    /// Packets that are neither out nor dropped.
    pub inside: Count,
    /// IP bytes of those that have left the queue.
    pub on_wire: Bytes,
    /// What its link could have carried; `None` if it is unlimited.
    pub capacity: Option<Bytes>,
}

/// What the two ends of a flow say of a run.
#[derive(Clone, Copy, Debug, Default)]
pub struct FlowAccount {
    /// When it began.
    pub start: Instant,
    /// When it was to end.
    pub stop: Instant,
    /// Payload handed to the application, in order and without repetition.
    pub goodput: Bytes,
    /// Segments sent again.
    pub retransmissions: u64,
    /// Retransmission timeouts, those of requests to connect included; `None` if its transport does not tell.
    pub timeouts: Option<u64>,
    /// When the last byte of a finite transfer was acknowledged.
    pub completed: Option<Instant>,
}

/// The backlog of a hop's queue at the end of an interval, and what the link could carry during it.
#[derive(Clone, Copy, Debug)]
pub struct HopSample {
    /// What waits in the queue.
    pub backlog: Count,
    /// `None` if the link is unlimited.
    pub capacity: Option<Bytes>,
}

/// What is recorded of one hop.
#[derive(Clone, Debug, Default)]
struct HopRecord {
    sojourn: Histogram,
    dropped: BTreeMap<Reason, Count>,
    marked: BTreeMap<Reason, Count>,
    duplicated: Count,
}

impl HopRecord {
    fn dropped(&self) -> Count {
        self.dropped.values().fold(Count::default(), |sum, count| Count {
            packets: sum.packets + count.packets,
            bytes: sum.bytes + count.bytes,
        })
    }
}

/// Everything that a run records.
#[derive(Debug)]
pub struct Recorder {
    level: Level,
    interval: Duration,
    flows: Vec<FlowRecord>,
    hops: Vec<HopRecord>,
    probes: ProbeRecords,
    /// Only at the level of packets.
    passages: Option<Passages>,
    telemetry: Telemetry,
    hop_series: HopSeries,
    last_sample: Instant,
}

impl Recorder {
    /// A recorder for this many hops, flows and probes.
    pub fn new(config: RecordConfig, hops: usize, flows: usize, probes: usize) -> Self {
        let bins = (config.level >= Level::Series).then_some(config.interval);
        Self {
            level: config.level,
            interval: config.interval,
            flows: (0..flows).map(|_| FlowRecord::new(bins, config.level >= Level::Packets)).collect(),
            hops: vec![HopRecord::default(); hops],
            probes: ProbeRecords::new(flows, probes),
            passages: (config.level >= Level::Packets).then(|| Passages::new(flows + probes, hops)),
            telemetry: Telemetry::default(),
            hop_series: HopSeries::default(),
            last_sample: Instant::ZERO,
        }
    }

    /// Interval of the series.
    pub fn interval(&self) -> Duration {
        self.interval
    }

    /// A packet leaves an endpoint; what its header says is asked for only if that is recorded.
    pub fn on_sent<P>(&mut self, packet: &Packet<P>, header: impl FnOnce() -> Option<Header>) {
        if let Some(passages) = &mut self.passages {
            passages.on_sent(packet, header());
        }
        let Some(flow) = self.flows.get_mut(packet.flow.0 as usize) else { return self.probes.on_sent(packet) };
        if packet.is_data_direction { flow.on_sent(packet) } else { flow.acks_sent += 1 }
    }

    /// A packet reaches an endpoint.
    pub fn on_received<P>(&mut self, packet: &Packet<P>, now: Instant) {
        let Some(flow) = self.flows.get_mut(packet.flow.0 as usize) else {
            return self.probes.on_received(packet, now);
        };
        if packet.is_data_direction { flow.on_received(packet, now) } else { flow.acks_received += 1 }
    }

    /// A packet comes to a hop at `now`.
    pub fn on_enter_hop<P>(&mut self, hop: usize, packet: &Packet<P>, now: Instant) {
        if let Some(passages) = &mut self.passages {
            passages.on_enter_hop(hop, packet, now);
        }
    }

    /// A packet comes out of a hop at `now`.
    pub fn on_leave_hop<P>(&mut self, hop: usize, packet: &Packet<P>, now: Instant) {
        self.hops[hop].sojourn.add(packet.sojourn);
        if let Some(passages) = &mut self.passages {
            passages.on_leave_hop(hop, packet, now);
            self.left_queue(packet);
        }
    }

    /// The run ends, and a packet that has left the queue of a hop is still inside.
    pub fn on_wire<P>(&mut self, hop: usize, packet: &Packet<P>) {
        if let Some(passages) = &mut self.passages {
            passages.left_queue(hop, packet);
            self.left_queue(packet);
        }
    }

    fn left_queue<P>(&mut self, packet: &Packet<P>) {
        if packet.is_data_direction
            && let Some(flow) = self.flows.get_mut(packet.flow.0 as usize)
        {
            flow.left_queue(packet);
        }
    }

    /// A hop drops a packet.
    pub fn on_dropped<P>(&mut self, hop: usize, packet: &Packet<P>, reason: Reason) {
        self.hops[hop].dropped.entry(reason).or_default().add(packet.size);
        if let Some(passages) = &mut self.passages {
            passages.on_dropped(hop, packet, reason);
        }
        let Some(flow) = self.flows.get_mut(packet.flow.0 as usize) else { return self.probes.on_dropped(packet) };
        if packet.is_data_direction { flow.on_dropped(packet, reason) } else { flow.acks_dropped += 1 }
    }

    /// A hop marks a packet of this size.
    pub fn on_marked(&mut self, hop: usize, size: Bytes, reason: Reason) {
        self.hops[hop].marked.entry(reason).or_default().add(size);
    }

    /// A hop makes two packets of one.
    pub fn on_duplicated(&mut self, hop: usize, copy: Duplicate) {
        self.hops[hop].duplicated.add(copy.size);
        let Some(flow) = self.flows.get_mut(copy.flow.0 as usize) else { return self.probes.inside += 1 };
        if copy.is_data_direction { flow.duplicated.add(copy.size) } else { flow.acks_duplicated += 1 }
    }

    /// An interval ends at `now` for a hop.
    pub fn sample_hop(&mut self, name: &str, sample: HopSample, now: Instant) {
        self.hop_series.t_ns.push(now.as_nanos());
        self.hop_series.hop.push(name.to_owned());
        self.hop_series.queue_packets.push(sample.backlog.packets);
        self.hop_series.queue_bytes.push(sample.backlog.bytes);
        self.hop_series.capacity_bytes.push(bytes_or_none(sample.capacity));
    }

    /// An interval ends at `now` for a flow whose application has received this much.
    pub fn sample_goodput(&mut self, flow: usize, goodput: Bytes, now: Instant) {
        self.last_sample = now;
        self.flows[flow].sample(goodput, now);
    }

    /// A quantity of a sender's inner state at `now`.
    pub fn sample_telemetry(&mut self, flow: usize, name: &'static str, value: f64, now: Instant) {
        self.telemetry.t_ns.push(now.as_nanos());
        self.telemetry.flow.push(flow as u32 + 1);
        self.telemetry.name.push(name);
        self.telemetry.value.push(value);
    }

    /// Checks that no packet appeared or vanished, in any hop and on the whole.
    pub fn check(&self, hops: &[HopAccount]) -> Result<(), Imbalance> {
        let mut inside = 0;
        for (hop, record) in hops.iter().zip(&self.hops) {
            let lost = record.dropped();
            let sum = Count {
                packets: hop.delivered.packets + hop.inside.packets + lost.packets,
                bytes: hop.delivered.bytes + hop.inside.bytes + lost.bytes,
            };
            let come = Count {
                packets: hop.accepted.packets + record.duplicated.packets,
                bytes: hop.accepted.bytes + record.duplicated.bytes,
            };
            if come != sum {
                return Err(Imbalance::Hop { name: hop.name.clone(), come, sum });
            }
            inside += hop.inside.packets;
        }
        let of_flows: u64 = self.flows.iter().map(|flow| flow.inside().packets + flow.acks_inside()).sum();
        let on_path = of_flows + self.probes.inside;
        if on_path != inside {
            return Err(Imbalance::Path { on_path, inside });
        }
        Ok(())
    }

    /// The tables that the level asks for.
    pub fn tables(mut self, hops: &[HopAccount], flows: &[FlowAccount]) -> Vec<Table> {
        let (hop_table, verdicts) = self.hop_tables(hops);
        let mut tables = vec![self.flow_table(flows).into(), hop_table.into(), verdicts.into()];
        if self.level >= Level::Series {
            let mut series = Series::default();
            for ((flow, record), account) in (1..).zip(&mut self.flows).zip(flows) {
                record.close(account.goodput, self.last_sample);
                record.write_series(flow, &mut series);
            }
            tables.extend([series.into(), self.telemetry.into(), self.hop_series.into()]);
        }
        if self.level >= Level::Packets {
            let mut packets = Packets::default();
            for (number, flow) in (1..).zip(&mut self.flows) {
                flow.write_packets(number, &mut packets);
            }
            tables.push(packets.into());
        }
        tables.extend(self.passages.map(|passages| Table::from(passages.table(hops))));
        tables.extend(self.probes.table().map(Table::from));
        tables
    }

    fn hop_tables(&self, hops: &[HopAccount]) -> (Hops, Verdicts) {
        let (mut table, mut verdicts) = (Hops::default(), Verdicts::default());
        for (hop, record) in hops.iter().zip(&self.hops) {
            table.hop.push(hop.name.clone());
            table.in_packets.push(hop.accepted.packets);
            table.in_bytes.push(hop.accepted.bytes);
            table.out_packets.push(hop.delivered.packets);
            table.out_bytes.push(hop.delivered.bytes);
            table.dropped_packets.push(record.dropped().packets);
            table.duplicated_packets.push(record.duplicated.packets);
            table.marked_packets.push(record.marked.values().map(|count| count.packets).sum());
            table.inside_packets.push(hop.inside.packets);
            table.inside_bytes.push(hop.inside.bytes);
            table.on_wire_bytes.push(hop.on_wire.count());
            table.queue_p50_ns.push(duration_or_none(record.sojourn.percentile(50.0)));
            table.queue_p95_ns.push(duration_or_none(record.sojourn.percentile(95.0)));
            table.capacity_bytes.push(bytes_or_none(hop.capacity));
            let drops = record.dropped.iter().map(|(reason, count)| ("drop", reason, count));
            let marks = record.marked.iter().map(|(reason, count)| ("mark", reason, count));
            let copies =
                (record.duplicated.packets > 0).then_some(("duplicate", &Reason::Duplicate, &record.duplicated));
            for (verdict, reason, count) in drops.chain(marks).chain(copies) {
                verdicts.hop.push(hop.name.clone());
                verdicts.verdict.push(verdict);
                verdicts.reason.push(reason.name());
                verdicts.packets.push(count.packets);
                verdicts.bytes.push(count.bytes);
            }
        }
        (table, verdicts)
    }

    fn flow_table(&self, accounts: &[FlowAccount]) -> Flows {
        let mut table = Flows::default();
        let mut all = FlowRecord::default();
        for record in &self.flows {
            all.absorb(record);
        }
        write_flow(&mut table, 0, &all, &together(accounts));
        for ((number, record), account) in (1..).zip(&self.flows).zip(accounts) {
            write_flow(&mut table, number, record, account);
        }
        table
    }
}

fn bytes_or_none(bytes: Option<Bytes>) -> i64 {
    bytes.map_or(-1, |bytes| bytes.count() as i64)
}

/// The account of all flows as if they were one.
fn together(accounts: &[FlowAccount]) -> FlowAccount {
    let mut all = FlowAccount { start: Instant::FAR_FUTURE, ..FlowAccount::default() };
    for account in accounts {
        all.start = all.start.min(account.start);
        all.stop = all.stop.max(account.stop);
        all.goodput += account.goodput;
        all.retransmissions += account.retransmissions;
    }
    all.timeouts = accounts.iter().map(|account| account.timeouts).sum();
    let completed: Option<Vec<_>> = accounts.iter().map(|account| account.completed).collect();
    all.completed = completed.and_then(|times| times.into_iter().max());
    all
}

fn write_flow(table: &mut Flows, number: u32, record: &FlowRecord, account: &FlowAccount) {
    let inside = record.inside();
    table.flow.push(number);
    table.start_ns.push(account.start.as_nanos());
    table.stop_ns.push(account.stop.as_nanos());
    table.sent_packets.push(record.sent.packets);
    table.sent_bytes.push(record.sent.bytes);
    table.received_packets.push(record.received.packets);
    table.received_bytes.push(record.received.bytes);
    table.goodput_bytes.push(account.goodput.count());
    table.retransmits.push(account.retransmissions);
    table.timeouts.push(account.timeouts.map_or(-1, |count| count as i64));
    table.dropped_packets.push(record.dropped.packets);
    table.duplicated_packets.push(record.duplicated.packets);
    table.duplicated_bytes.push(record.duplicated.bytes);
    table.inside_packets.push(inside.packets);
    table.inside_bytes.push(inside.bytes);
    table.ce_marks.push(record.ce_marks);
    table.first_sent_ns.push(instant_or_none(record.first_sent));
    table.first_received_ns.push(instant_or_none(record.first_received));
    table.last_received_ns.push(instant_or_none(record.last_received));
    table.owd_p50_ns.push(duration_or_none(record.delay.percentile(50.0)));
    table.owd_p95_ns.push(duration_or_none(record.delay.percentile(95.0)));
    table.owd_p99_ns.push(duration_or_none(record.delay.percentile(99.0)));
    table.queue_p50_ns.push(duration_or_none(record.queued.percentile(50.0)));
    table.queue_p95_ns.push(duration_or_none(record.queued.percentile(95.0)));
    table.completed_ns.push(instant_or_none(account.completed));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::{Ecn, FlowId};
    use crate::record::Column;

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    fn recorder(flows: usize, probes: usize) -> Recorder {
        Recorder::new(RecordConfig { level: Level::Packets, interval: Duration::from_millis(100) }, 1, flows, probes)
    }

    fn packet(flow: u32, number: u64, sent_ms: u64) -> Packet<()> {
        Packet::new(FlowId(flow), true, number, Bytes::new(1_000), at(sent_ms), ())
    }

    fn waited(packet: &Packet<()>, millis: u64) -> Packet<()> {
        let wait = Duration::from_millis(millis);
        Packet { sojourn: wait, queued_for: wait, ..*packet }
    }

    fn column<'a>(tables: &'a [Table], table: &str, column: &str) -> &'a Column {
        let table = tables.iter().find(|found| found.name == table).expect("a table");
        &table.columns.iter().find(|(name, _)| *name == column).expect("a column").1
    }

    /// Times in milliseconds; -1 where there is none.
    fn millis(tables: &[Table], table: &str, name: &str) -> Vec<i64> {
        let nanos: Vec<i64> = match column(tables, table, name) {
            Column::U64(values) => values.iter().map(|value| *value as i64).collect(),
            Column::I64(values) => values.clone(),
            other => panic!("{other:?} is no time"),
        };
        nanos.into_iter().map(|nanos| if nanos < 0 { nanos } else { nanos / 1_000_000 }).collect()
    }

    fn words(tables: &[Table], table: &str, name: &str) -> Vec<&'static str> {
        let Column::Category { codes, names } = column(tables, table, name) else { panic!("{name} has no words") };
        codes.iter().map(|code| names[usize::from(*code)]).collect()
    }

    #[test]
    fn row_0_is_of_all_flows_together() {
        let mut recorder = recorder(2, 0);
        for (flow, sent, received, ecn) in [(0, 2, 30, Ecn::Ce), (1, 1, 20, Ecn::Ce), (0, 3, 40, Ecn::NotEct)] {
            let number = u64::from(sent == 3);
            recorder.on_sent(&packet(flow, number, sent), || None);
            recorder.on_received(&Packet { ecn, ..waited(&packet(flow, number, sent), 5) }, at(received));
        }
        let account = |start, stop, completed| FlowAccount {
            start: at(start),
            stop: at(stop),
            goodput: Bytes::new(100),
            retransmissions: 2,
            timeouts: Some(3),
            completed: Some(at(completed)),
        };
        let tables = recorder.tables(&[HopAccount::default()], &[account(1, 90, 80), account(2, 60, 50)]);
        let row_0 = |name| millis(&tables, "flows", name)[0];
        assert_eq!(["start_ns", "stop_ns", "completed_ns"].map(row_0), [1, 90, 80]);
        assert_eq!(["first_sent_ns", "first_received_ns", "last_received_ns"].map(row_0), [1, 20, 40]);
        assert_eq!(millis(&tables, "flows", "first_received_ns"), [20, 30, 20]);
        assert!((4..=5).contains(&row_0("queue_p50_ns")));
        for (name, expected) in [("ce_marks", 2), ("retransmits", 4), ("goodput_bytes", 200)] {
            let Column::U64(values) = column(&tables, "flows", name) else { panic!("{name} is no number") };
            assert_eq!(values[0], expected, "{name}");
        }
        assert_eq!(column(&tables, "flows", "timeouts"), &Column::I64(vec![6, 3, 3]));
    }

    #[test]
    fn of_two_copies_the_first_counts_and_what_does_not_arrive_tells_how_long_it_waited() {
        let mut recorder = recorder(1, 0);
        let sent: Vec<_> = (0..4).map(|number| packet(0, number, number)).collect();
        for packet in &sent {
            recorder.on_sent(packet, || None);
            recorder.on_enter_hop(0, packet, packet.sent);
        }
        recorder.on_leave_hop(0, &waited(&sent[0], 3), at(9));
        recorder.on_received(&Packet { ecn: Ecn::Ect0, ..waited(&sent[0], 3) }, at(10));
        recorder.on_leave_hop(0, &waited(&sent[0], 12), at(19));
        let copy = Duplicate { flow: FlowId(0), is_data_direction: true, size: Bytes::new(1_000) };
        recorder.on_duplicated(0, copy);
        recorder.on_received(&Packet { ecn: Ecn::Ce, ..waited(&sent[0], 12) }, at(20));
        recorder.on_dropped(0, &waited(&sent[1], 4), Reason::Loss);
        recorder.on_leave_hop(0, &waited(&sent[2], 5), at(21));
        recorder.on_wire(0, &waited(&sent[3], 6));
        let tables = recorder.tables(&[HopAccount::default()], &[FlowAccount::default()]);
        assert_eq!(millis(&tables, "packets", "received_ns"), [10, -1, -1, -1]);
        assert_eq!(millis(&tables, "packets", "queue_ns"), [3, 4, 5, 6]);
        assert_eq!(millis(&tables, "passages", "queue_ns"), [3, 4, 5, 6]);
        assert_eq!(words(&tables, "packets", "fate"), ["received", "dropped", "inside", "inside"]);
        assert_eq!(words(&tables, "packets", "reason"), ["", "loss", "", ""]);
        assert_eq!(column(&tables, "packets", "ce"), &Column::Bool(vec![false; 4]));
    }

    #[test]
    fn a_copy_is_not_looked_at_in_the_queues_behind_the_arrival_of_the_first() {
        let mut recorder = recorder(1, 0);
        recorder.on_sent(&packet(0, 0, 0), || None);
        recorder.on_received(&waited(&packet(0, 0, 0), 3), at(10));
        recorder.on_leave_hop(0, &waited(&packet(0, 0, 0), 12), at(19));
        let tables = recorder.tables(&[HopAccount::default()], &[FlowAccount::default()]);
        assert_eq!(millis(&tables, "packets", "queue_ns"), [3]);
    }

    #[test]
    fn a_series_has_what_happened_in_each_interval_and_what_was_left_at_the_end() {
        let mut recorder = recorder(1, 0);
        for (number, sent, received) in [(0, 0, 20), (1, 25, 30)] {
            recorder.on_sent(&packet(0, number, sent), || None);
            recorder.on_received(&packet(0, number, sent), at(received));
        }
        recorder.sample_goodput(0, Bytes::new(1_000), at(100));
        let account = FlowAccount { goodput: Bytes::new(1_500), ..FlowAccount::default() };
        let tables = recorder.tables(&[HopAccount::default()], &[account]);
        assert_eq!(column(&tables, "series", "goodput_bytes"), &Column::U64(vec![1_000, 500]));
        assert_eq!(millis(&tables, "series", "owd_mean_ns"), [12, -1]);
        assert_eq!(millis(&tables, "series", "owd_max_ns"), [20, -1]);
    }

    #[test]
    fn of_two_copies_of_a_probe_the_first_counts_and_what_is_dropped_is_not_inside() {
        let mut recorder = recorder(1, 1);
        let request = |number| packet(1, number, number);
        (0..3).for_each(|number| recorder.on_sent(&request(number), || None));
        let answer = Packet { is_data_direction: false, ..request(0) };
        recorder.on_sent(&answer, || None);
        for (packet, first, second) in [(request(0), 10, 20), (answer, 30, 40)] {
            let Packet { flow, is_data_direction, size, .. } = packet;
            recorder.on_received(&packet, at(first));
            recorder.on_duplicated(0, Duplicate { flow, is_data_direction, size });
            recorder.on_received(&packet, at(second));
        }
        recorder.on_dropped(0, &request(1), Reason::Overlimit);
        let tables = recorder.tables(&[HopAccount::default()], &[FlowAccount::default()]);
        assert_eq!(millis(&tables, "probes", "request_ns"), [10, -1, -1]);
        assert_eq!(millis(&tables, "probes", "rtt_ns"), [30, -1, -1]);
        assert_eq!(words(&tables, "probes", "fate"), ["received", "dropped", "inside"]);
    }

    #[test]
    fn a_hop_counts_marks_of_every_reason() {
        let mut recorder = recorder(1, 0);
        for reason in [Reason::Congestion, Reason::Threshold, Reason::Threshold] {
            recorder.on_marked(0, Bytes::new(10), reason);
        }
        let tables = recorder.tables(&[HopAccount::default()], &[FlowAccount::default()]);
        assert_eq!(column(&tables, "hops", "marked_packets"), &Column::U64(vec![3]));
        assert_eq!(words(&tables, "verdicts", "reason"), ["congestion", "threshold"]);
        assert_eq!(column(&tables, "verdicts", "packets"), &Column::U64(vec![1, 2]));
    }
}

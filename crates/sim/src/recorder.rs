//! The recorder: counts everything, and writes the tables.

use std::collections::BTreeMap;

use bakeoff_core::hop::Count;
use bakeoff_core::packet::Packet;
use bakeoff_core::queue::Reason;
use bakeoff_core::record::{Flows, HopSeries, Hops, Packets, Series, Table, Telemetry, Verdicts};
use bakeoff_core::transport::stream::{ReceiverStats, Segment, SenderStats};
use bakeoff_core::units::{Duration, Instant};

use crate::flow_record::{FlowRecord, duration_or_none, instant_or_none};
use crate::histogram::Histogram;
use crate::scenario::{Level, RecordConfig};
use crate::topology::{Flow, NamedHop};

/// What is recorded of one hop.
#[derive(Clone, Debug, Default)]
struct HopRecord {
    sojourn: Histogram,
    dropped: BTreeMap<Reason, Count>,
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
pub(crate) struct Recorder {
    level: Level,
    interval: Duration,
    flows: Vec<FlowRecord>,
    hops: Vec<HopRecord>,
    telemetry: Telemetry,
    hop_series: HopSeries,
}

impl Recorder {
    pub(crate) fn new(config: RecordConfig, hops: usize, flows: usize) -> Self {
        let interval = Duration::from_nanos(config.interval_ns);
        let bins = (config.level >= Level::Series).then_some(interval);
        Self {
            level: config.level,
            interval,
            flows: (0..flows).map(|_| FlowRecord::new(bins, config.level >= Level::Packets)).collect(),
            hops: vec![HopRecord::default(); hops],
            telemetry: Telemetry::default(),
            hop_series: HopSeries::default(),
        }
    }

    /// Interval of the series.
    pub(crate) fn interval(&self) -> Duration {
        self.interval
    }

    /// A packet leaves an endpoint.
    pub(crate) fn is_sent(&mut self, packet: &Packet<Segment>) {
        let flow = &mut self.flows[packet.flow.0 as usize];
        if packet.is_data_direction { flow.is_sent(packet) } else { flow.acks_sent += 1 }
    }

    /// A packet reaches an endpoint.
    pub(crate) fn is_received(&mut self, packet: &Packet<Segment>, now: Instant) {
        let flow = &mut self.flows[packet.flow.0 as usize];
        if packet.is_data_direction { flow.is_received(packet, now) } else { flow.acks_received += 1 }
    }

    /// A packet comes out of a hop.
    pub(crate) fn leaves_hop(&mut self, hop: usize, packet: &Packet<Segment>) {
        self.hops[hop].sojourn.add(packet.sojourn);
    }

    /// A hop drops a packet.
    pub(crate) fn is_dropped(&mut self, hop: usize, packet: &Packet<Segment>, reason: Reason) {
        self.hops[hop].dropped.entry(reason).or_default().add(packet.size);
        let flow = &mut self.flows[packet.flow.0 as usize];
        if packet.is_data_direction { flow.is_dropped(packet, reason) } else { flow.acks_dropped += 1 }
    }

    /// An interval ends at `now` with this backlog in a hop's queue.
    pub(crate) fn sample_hop(&mut self, named: &mut NamedHop, backlog: Count, now: Instant) {
        let capacity = named.hop.capacity(now - self.interval, now);
        self.hop_series.t_ns.push(now.as_nanos());
        self.hop_series.hop.push(named.name.clone());
        self.hop_series.queue_packets.push(backlog.packets);
        self.hop_series.queue_bytes.push(backlog.bytes);
        self.hop_series.capacity_bytes.push(capacity.map_or(-1, |capacity| capacity.count() as i64));
    }

    /// An interval ends at `now` for a flow.
    pub(crate) fn sample_flow(&mut self, index: usize, flow: &Flow, now: Instant) {
        self.flows[index].sample(flow.receiver.stats.goodput, now);
        if now > flow.stop {
            return;
        }
        let telemetry = &mut self.telemetry;
        flow.sender.telemetry(&mut |name, value| {
            telemetry.t_ns.push(now.as_nanos());
            telemetry.flow.push(index as u32 + 1);
            telemetry.name.push(name);
            telemetry.value.push(value);
        });
    }

    /// Checks that no packet appeared or vanished, in any hop and on the whole.
    pub(crate) fn check(&self, hops: &[NamedHop]) -> Result<(), String> {
        let mut inside = 0;
        for (NamedHop { name, hop }, record) in hops.iter().zip(&self.hops) {
            let (came, went, stays, lost) = (hop.accepted, hop.delivered, hop.inside(), record.dropped());
            let sum = Count {
                packets: went.packets + stays.packets + lost.packets,
                bytes: went.bytes + stays.bytes + lost.bytes,
            };
            if came != sum {
                return Err(format!("hop {name}: in {came:?} but out, dropped and inside make {sum:?}"));
            }
            inside += stays.packets;
        }
        let on_path: u64 = self.flows.iter().map(|flow| flow.inside().packets + flow.acks_inside()).sum();
        if on_path != inside {
            return Err(format!("flows miss {on_path} packets but hops hold {inside}"));
        }
        Ok(())
    }

    /// The tables that the level asks for.
    pub(crate) fn tables(mut self, hops: &mut [NamedHop], flows: &[Flow], end: Instant) -> Vec<Table> {
        let (hop_table, verdicts) = self.hop_tables(hops, end);
        let mut tables = vec![self.flow_table(flows).into(), hop_table.into(), verdicts.into()];
        if self.level >= Level::Series {
            let mut series = Series::default();
            for (flow, record) in (1..).zip(&self.flows) {
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
        tables
    }

    fn hop_tables(&self, hops: &mut [NamedHop], end: Instant) -> (Hops, Verdicts) {
        let (mut table, mut verdicts) = (Hops::default(), Verdicts::default());
        for (NamedHop { name, hop }, record) in hops.iter_mut().zip(&self.hops) {
            let inside = hop.inside();
            table.hop.push(name.clone());
            table.in_packets.push(hop.accepted.packets);
            table.in_bytes.push(hop.accepted.bytes);
            table.out_packets.push(hop.delivered.packets);
            table.out_bytes.push(hop.delivered.bytes);
            table.dropped_packets.push(record.dropped().packets);
            table.marked_packets.push(0);
            table.inside_packets.push(inside.packets);
            table.inside_bytes.push(inside.bytes);
            table.queue_p50_ns.push(duration_or_none(record.sojourn.percentile(50.0)));
            table.queue_p95_ns.push(duration_or_none(record.sojourn.percentile(95.0)));
            let capacity = hop.capacity(Instant::ZERO, end);
            table.capacity_bytes.push(capacity.map_or(-1, |capacity| capacity.count() as i64));
            for (reason, count) in &record.dropped {
                verdicts.hop.push(name.clone());
                verdicts.verdict.push("drop");
                verdicts.reason.push(reason.name());
                verdicts.packets.push(count.packets);
                verdicts.bytes.push(count.bytes);
            }
        }
        (table, verdicts)
    }

    fn flow_table(&self, flows: &[Flow]) -> Flows {
        let mut table = Flows::default();
        let mut all = FlowRecord::default();
        for record in &self.flows {
            all.absorb(record);
        }
        Totals::of_all(&all, flows).write(0, &mut table);
        for ((number, record), flow) in (1..).zip(&self.flows).zip(flows) {
            let Flow { sender, receiver, start, stop, .. } = flow;
            let totals = Totals { record, sender: sender.stats, receiver: receiver.stats, start: *start, stop: *stop };
            totals.write(number, &mut table);
        }
        table
    }
}

/// One row of the flow table.
struct Totals<'a> {
    record: &'a FlowRecord,
    sender: SenderStats,
    receiver: ReceiverStats,
    start: Instant,
    stop: Instant,
}

impl Totals<'_> {
    fn of_all<'a>(record: &'a FlowRecord, flows: &[Flow]) -> Totals<'a> {
        let mut all = Totals {
            record,
            sender: SenderStats::default(),
            receiver: ReceiverStats::default(),
            start: Instant::FAR_FUTURE,
            stop: Instant::ZERO,
        };
        for flow in flows {
            all.sender.retransmissions += flow.sender.stats.retransmissions;
            all.sender.timeouts += flow.sender.stats.timeouts;
            all.receiver.goodput += flow.receiver.stats.goodput;
            all.start = all.start.min(flow.start);
            all.stop = all.stop.max(flow.stop);
        }
        let completed: Option<Vec<_>> = flows.iter().map(|flow| flow.sender.stats.completed).collect();
        all.sender.completed = completed.and_then(|times| times.into_iter().max());
        all
    }

    fn write(&self, number: u32, table: &mut Flows) {
        let record = self.record;
        let inside = record.inside();
        table.flow.push(number);
        table.start_ns.push(self.start.as_nanos());
        table.stop_ns.push(self.stop.as_nanos());
        table.sent_packets.push(record.sent.packets);
        table.sent_bytes.push(record.sent.bytes);
        table.received_packets.push(record.received.packets);
        table.received_bytes.push(record.received.bytes);
        table.goodput_bytes.push(self.receiver.goodput.count());
        table.retransmits.push(self.sender.retransmissions);
        table.timeouts.push(self.sender.timeouts);
        table.dropped_packets.push(record.dropped.packets);
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
        table.completed_ns.push(instant_or_none(self.sender.completed));
    }
}

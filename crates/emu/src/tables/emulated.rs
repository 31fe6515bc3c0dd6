//! From the log of an emulated run to the tables that all worlds share: the events, told to the recorder once more.

use std::fs;
use std::path::Path;

use bakeoff_core::hop::{Count, Link, LinkConfig};
use bakeoff_core::packet::{Ecn, Packet};
use bakeoff_core::path::Path as Ways;
use bakeoff_core::queue::Reason;
use bakeoff_core::record::{FlowAccount, HopAccount, HopSample, Recorder, Table};
use bakeoff_core::scenario::{FlowConfig, Level, Scenario};
use bakeoff_core::traffic::TrafficConfig;
use bakeoff_core::units::{Bytes, Duration, Instant};
use serde::Deserialize;

use super::stream::{Application, Load};
use super::{LogError, read_records, samples, tell_telemetry, told, told_last};
use crate::events::{
    EVENT_BYTES, EVENTS_FILE, Event, HEADER_BYTES, HEADERS_FILE, PacketId, REPORT_FILE, decode_header,
};
use crate::job::{JobError, PROGRAM_PREFIX, STACK_PREFIX};
use crate::log::{COMPLETED, GOODPUT, RETRANSMISSIONS, SampleRecord, TIMEOUTS, TransportHeader};

/// Reads the logs that an emulated run left in a folder and makes its tables.
pub fn from_events(scenario_json: &str, folder: &Path) -> Result<Vec<Table>, LogError> {
    let scenario = Scenario::from_json(scenario_json).map_err(JobError::from)?;
    let headers = read_records::<HEADER_BYTES>(&folder.join(HEADERS_FILE))?;
    let mut headers = headers.as_chunks().0.iter().map(decode_header);
    let samples = samples(folder)?;
    let mut replay = Replay::new(&scenario, read_hops(&scenario, folder)?, &samples)?;
    for record in read_records::<EVENT_BYTES>(&folder.join(EVENTS_FILE))?.as_chunks().0 {
        let cut = || LogError::Cut { file: folder.join(EVENTS_FILE).display().to_string() };
        let (time, event) = Event::decode(record).ok_or_else(cut)?;
        replay.tell(time, event, &mut headers).ok_or_else(cut)?;
    }
    replay.finish()
}

/// What the report says of a hop.
#[derive(Deserialize)]
struct HopReport {
    name: String,
    accepted: [u64; 2],
    delivered: [u64; 2],
    inside: [u64; 2],
    on_wire_bytes: u64,
}

/// The part of the report that the tables need.
#[derive(Deserialize)]
struct Report {
    hops: Vec<HopReport>,
}

/// What passed a hop, and its link unless that is unlimited.
type Passed = (HopAccount, Option<Link<()>>);

/// The hops of a run.
fn read_hops(scenario: &Scenario, folder: &Path) -> Result<Vec<Passed>, LogError> {
    let path = folder.join(REPORT_FILE);
    let text = fs::read_to_string(&path).and_then(|text| Ok(serde_json::from_str::<Report>(&text)?));
    let report = text.map_err(|error| LogError::File { file: path.display().to_string(), error })?;
    let count = |[packets, bytes]: [u64; 2]| Count { packets, bytes };
    let end = scenario.end();
    let configs = scenario.forward.iter().chain(&scenario.reverse).map(Some).chain(std::iter::repeat(None));
    let hops = report.hops.into_iter().zip(configs).map(|(hop, config)| {
        let link = config.filter(|config| config.link != LinkConfig::Unlimited);
        let largest = scenario.largest_packet();
        let mut link =
            link.map(|config| Link::new(&config.link, largest, scenario.seed, &format!("{}.link", hop.name)));
        let account = HopAccount {
            accepted: count(hop.accepted),
            delivered: count(hop.delivered),
            inside: count(hop.inside),
            on_wire: Bytes::new(hop.on_wire_bytes),
            capacity: link.as_mut().and_then(|link| link.capacity(Instant::ZERO, end)),
            name: hop.name,
        };
        (account, link)
    });
    Ok(hops.collect())
}

/// A packet on its way.
#[derive(Clone, Copy)]
struct Travelling {
    sent: Instant,
    size: Bytes,
    /// What it is called in the tables.
    number: u64,
    queued_for: Duration,
    ecn: Ecn,
    hops_passed: u8,
    is_retransmission: bool,
    load: Option<Load>,
    /// The position up to which it acknowledges.
    acknowledges: u64,
}

/// What the application of a flow gets.
enum Reading {
    /// What the headers of its packets tell.
    OfPackets(Application),
    /// What a stack told, because its packets are encrypted: bytes by time.
    Told(Vec<(Instant, u64)>),
}

impl Reading {
    /// All that the application has at `now`.
    fn bytes_at(&self, now: Instant) -> u64 {
        match self {
            Self::OfPackets(application) => application.bytes(),
            Self::Told(bytes) => {
                let next = bytes.partition_point(|(time, _)| *time <= now);
                next.checked_sub(1).map_or(0, |last| bytes[last].1)
            }
        }
    }
}

/// A flow as the log tells of it.
struct Flow {
    reading: Reading,
    retransmissions: u64,
    completed: Option<Instant>,
    /// Size of a finite transfer whose end the packets tell.
    transfer: Option<Bytes>,
}

struct Replay<'a> {
    scenario: &'a Scenario,
    samples: &'a [SampleRecord],
    recorder: Recorder,
    ways: Ways<()>,
    hops: Vec<Passed>,
    flows: Vec<Flow>,
    /// Packets sent, per flow or probe: acks and data.
    packets: Vec<[Vec<Travelling>; 2]>,
    next_interval: Instant,
}

impl<'a> Replay<'a> {
    fn new(scenario: &'a Scenario, hops: Vec<Passed>, samples: &'a [SampleRecord]) -> Result<Self, LogError> {
        let (flows, probes) = (scenario.flows.len(), scenario.probes.len());
        let recorder = Recorder::new(scenario.record, hops.len(), flows, probes);
        let flow = |(index, config): (usize, &FlowConfig)| {
            let is_stack = config.scheme.starts_with(STACK_PREFIX);
            let is_program = config.scheme.starts_with(PROGRAM_PREFIX);
            Flow {
                reading: if is_stack {
                    Reading::Told(told(samples, index, GOODPUT))
                } else {
                    Reading::OfPackets(Application::new(is_program))
                },
                retransmissions: told_last(samples, index, RETRANSMISSIONS).unwrap_or_default(),
                completed: told_last(samples, index, COMPLETED).map(Instant::from_nanos),
                transfer: match config.traffic {
                    TrafficConfig::Finite { size } if !is_stack => Some(size),
                    _ => None,
                },
            }
        };
        Ok(Self {
            scenario,
            samples,
            next_interval: Instant::ZERO + recorder.interval(),
            recorder,
            ways: Ways::of(scenario).map_err(JobError::from)?,
            hops,
            flows: scenario.flows.iter().enumerate().map(flow).collect(),
            packets: vec![[const { Vec::new() }; 2]; flows + probes],
        })
    }

    /// Tells the recorder of an event; `None` if the log does not fit together.
    fn tell(&mut self, time: Instant, event: Event, headers: &mut impl Iterator<Item = TransportHeader>) -> Option<()> {
        self.end_intervals_before(time);
        match event {
            Event::Sent { packet, ecn, size } => self.sent(time, packet, ecn, size, &headers.next()?),
            Event::LeftHop { packet, hop, sojourn, ecn, marked, is_last } => {
                let as_recorded = self.left_queue(packet, sojourn, ecn, marked)?;
                self.recorder.on_leave_hop(usize::from(hop), &as_recorded, time);
                if is_last {
                    self.recorder.on_received(&as_recorded, time);
                    self.arrived(packet, time);
                } else {
                    self.on_enter_hop(packet, time);
                }
                Some(())
            }
            Event::Dropped { packet, hop, reason, sojourn, ecn, marked } => {
                let as_recorded = self.left_queue(packet, sojourn, ecn, marked)?;
                self.recorder.on_dropped(usize::from(hop), &as_recorded, reason);
                Some(())
            }
            Event::OnWire { packet, hop, sojourn, ecn, marked } => {
                let as_recorded = self.left_queue(packet, sojourn, ecn, marked)?;
                self.recorder.on_wire(usize::from(hop), &as_recorded);
                Some(())
            }
            Event::Marked { hop, reason, size } => {
                self.recorder.on_marked(usize::from(hop), Bytes::new(u64::from(size)), reason);
                Some(())
            }
            Event::Backlog { hop, backlog } => {
                let interval = self.recorder.interval();
                let (account, link) = self.hops.get_mut(usize::from(hop))?;
                let capacity = link.as_mut().and_then(|link| link.capacity(time - interval, time));
                self.recorder.sample_hop(&account.name, HopSample { backlog, capacity }, time);
                Some(())
            }
        }
    }

    /// The packet as it left a queue.
    fn left_queue(
        &mut self,
        packet: PacketId,
        sojourn: Duration,
        ecn: Ecn,
        marked: Option<Reason>,
    ) -> Option<Packet<()>> {
        let travelling = self.packet_mut(packet)?;
        travelling.queued_for += sojourn;
        travelling.ecn = ecn;
        Some(Packet { marked, ..recorded(packet, *travelling, sojourn) })
    }

    fn packet_mut(&mut self, packet: PacketId) -> Option<&mut Travelling> {
        let of_flow = self.packets.get_mut(packet.flow.0 as usize)?;
        of_flow[usize::from(packet.is_data_direction)].get_mut(packet.number as usize)
    }

    fn sent(&mut self, time: Instant, packet: PacketId, ecn: Ecn, size: u16, header: &TransportHeader) -> Option<()> {
        let mut travelling = Travelling {
            sent: time,
            size: Bytes::new(u64::from(size)),
            number: u64::from(packet.number),
            queued_for: Duration::ZERO,
            ecn,
            hops_passed: 0,
            is_retransmission: false,
            load: None,
            acknowledges: 0,
        };
        let mut said = None;
        match self.flows.get_mut(packet.flow.0 as usize) {
            None => travelling.number = request_of(header),
            Some(Flow { reading: Reading::Told(_), .. }) => {}
            Some(Flow { reading: Reading::OfPackets(application), retransmissions, transfer, .. }) => {
                if packet.is_data_direction {
                    (travelling.load, travelling.is_retransmission) = application.sent(header);
                    *retransmissions += u64::from(travelling.is_retransmission);
                }
                said = application.header(header, packet.is_data_direction);
                if !packet.is_data_direction && transfer.is_some() {
                    travelling.acknowledges = application.acknowledged(header);
                }
            }
        }
        self.recorder.on_sent(&recorded(packet, travelling, Duration::ZERO), || said);
        let sent = &mut self.packets.get_mut(packet.flow.0 as usize)?[usize::from(packet.is_data_direction)];
        sent.push(travelling);
        let is_next = sent.len() == packet.number as usize + 1;
        self.on_enter_hop(packet, time);
        is_next.then_some(())
    }

    /// A packet comes to the next hop of its way.
    fn on_enter_hop(&mut self, packet: PacketId, time: Instant) {
        let Some(travelling) = self.packet_mut(packet).copied() else { return };
        let mut as_recorded = recorded(packet, travelling, Duration::ZERO);
        as_recorded.hops_passed = travelling.hops_passed;
        let Some(hop) = self.ways.next_hop(&mut as_recorded) else { return };
        self.recorder.on_enter_hop(hop, &as_recorded, time);
        if let Some(travelling) = self.packet_mut(packet) {
            travelling.hops_passed = as_recorded.hops_passed;
        }
    }

    /// A packet is at its host.
    fn arrived(&mut self, packet: PacketId, time: Instant) {
        let Some(travelling) = self.packet_mut(packet).map(|travelling| *travelling) else { return };
        let Some(flow) = self.flows.get_mut(packet.flow.0 as usize) else { return };
        if let (Some(load), Reading::OfPackets(application)) = (travelling.load, &mut flow.reading) {
            application.arrived(load);
        }
        if flow.transfer.is_some_and(|size| travelling.acknowledges >= size.count()) {
            flow.completed.get_or_insert(time);
        }
    }

    /// Notes what applications have at the end of every interval before `time`.
    fn end_intervals_before(&mut self, time: Instant) {
        while self.next_interval < time {
            let now = self.next_interval;
            self.next_interval += self.recorder.interval();
            if self.scenario.record.level < Level::Series || now > self.scenario.end() {
                continue;
            }
            for (index, flow) in self.flows.iter().enumerate() {
                if self.scenario.start_of(index) <= now {
                    self.recorder.sample_goodput(index, Bytes::new(flow.reading.bytes_at(now)), now);
                }
            }
        }
    }

    fn finish(mut self) -> Result<Vec<Table>, LogError> {
        let end = self.scenario.end();
        self.end_intervals_before(end + Duration::from_nanos(1));
        tell_telemetry(&mut self.recorder, self.scenario.record.level, self.samples);
        let account = |(index, flow): (usize, &Flow)| FlowAccount {
            start: self.scenario.start_of(index),
            stop: self.scenario.stop_of(index),
            goodput: Bytes::new(flow.reading.bytes_at(end)),
            retransmissions: flow.retransmissions,
            timeouts: told_last(self.samples, index, TIMEOUTS),
            completed: flow.completed,
        };
        let flows: Vec<_> = self.flows.iter().enumerate().map(account).collect();
        let hops: Vec<_> = self.hops.into_iter().map(|(account, _)| account).collect();
        self.recorder.check(&hops).map_err(LogError::Conservation)?;
        Ok(self.recorder.tables(&hops, &flows))
    }
}

/// The packet as the recorder wants it.
fn recorded(packet: PacketId, travelling: Travelling, sojourn: Duration) -> Packet<()> {
    let Travelling { sent, size, number, .. } = travelling;
    let mut recorded = Packet::new(packet.flow, packet.is_data_direction, number, size, sent, ());
    recorded.ecn = travelling.ecn;
    recorded.is_retransmission = travelling.is_retransmission;
    recorded.queued_for = travelling.queued_for;
    recorded.sojourn = sojourn;
    recorded
}

/// The number of the request that a probe's packet is or answers, which stands behind the length and checksum of UDP.
pub(super) fn request_of(header: &TransportHeader) -> u64 {
    u64::from_be_bytes(std::array::from_fn(|index| header.bytes[4 + index]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_stack_told_counts_from_then_on() {
        let reading =
            Reading::Told([(10, 5), (20, 9)].map(|(nanos, bytes)| (Instant::from_nanos(nanos), bytes)).to_vec());
        assert_eq!(
            [0, 9, 10, 19, 20, 99].map(|nanos| reading.bytes_at(Instant::from_nanos(nanos))),
            [0, 0, 5, 5, 9, 9]
        );
    }
}

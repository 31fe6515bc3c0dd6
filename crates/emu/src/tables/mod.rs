//! From the log of a run to the tables that all worlds share.

mod emulated;
mod journey;
mod probes;
mod segment;
mod stream;

use std::fs;
use std::io;
use std::path::Path;

use bakeoff_core::hop::{Count, Link};
use bakeoff_core::packet::{FlowId, Packet};
use bakeoff_core::queue::Reason;
use bakeoff_core::record::{FlowAccount, Header, HopAccount, HopSample, Imbalance, Recorder, Table};
use bakeoff_core::scenario::Level;
use bakeoff_core::traffic::TrafficConfig;
use bakeoff_core::units::{Bytes, Duration, Instant};

use self::journey::{Journeys, Passage, sojourn};
use self::segment::{Data, Headers, InOrder};
use crate::job::{Job, JobError};
use crate::layout::{FlowLayout, Layout};
use crate::log::{
    ANSWERER_PORT, ASKER_PORT, OF_FLOWS, PACKET_BYTES, PACKETS_FILE, PacketRecord, RECEIVER_PORT, SAMPLE_BYTES,
    SAMPLES_FILE, SENDER_PORT, SampleRecord, TIMEOUTS, quantities,
};

pub use self::emulated::from_events;

/// Why a log gives no tables.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// The job is none.
    #[error(transparent)]
    Job(#[from] JobError),
    /// A file cannot be read.
    #[error("{file}: {error}")]
    File {
        /// Which.
        file: String,
        /// Why.
        error: io::Error,
    },
    /// A file ends within a record.
    #[error("{file}: ends within a record")]
    Cut {
        /// Which.
        file: String,
    },
    /// A packet came out of nowhere.
    #[error("a packet passed tap {tap} at {} ns that nobody had sent", time.as_nanos())]
    Unsent {
        /// Where.
        tap: usize,
        /// When.
        time: Instant,
    },
    /// The counts of the run do not agree.
    #[error("packets do not add up: {0}")]
    Conservation(Imbalance),
}

/// Reads the logs that a job left in a folder and makes its tables.
pub fn from_log(job_json: &str, folder: &Path) -> Result<Vec<Table>, LogError> {
    let job = Job::from_json(job_json)?;
    let layout = Layout::of(&job.scenario);
    let mut run = Run::new(&job, &layout);
    for record in read_records::<PACKET_BYTES>(&folder.join(PACKETS_FILE))?.as_chunks().0 {
        run.add(&PacketRecord::decode(record));
    }
    run.match_up()?;
    run.tables(&samples(folder)?)
}

/// The samples that the senders left in a folder.
fn samples(folder: &Path) -> Result<Vec<SampleRecord>, LogError> {
    let samples = read_records::<SAMPLE_BYTES>(&folder.join(SAMPLES_FILE))?;
    Ok(samples.as_chunks().0.iter().map(SampleRecord::decode).collect())
}

/// Tells the recorder of the senders' inner state.
fn tell_telemetry(recorder: &mut Recorder, level: Level, samples: &[SampleRecord]) {
    if level < Level::Series {
        return;
    }
    let names: Vec<_> = quantities().collect();
    let mut samples = samples.to_vec();
    samples.sort_by_key(|sample| (sample.time, sample.flow));
    for sample in samples {
        if let Some(name) = names.get(sample.quantity as usize).filter(|name| !OF_FLOWS.contains(name)) {
            recorder.sample_telemetry(sample.flow as usize, name, sample.value, sample.time);
        }
    }
}

/// What a flow told under this name, and when.
fn told(samples: &[SampleRecord], flow: usize, name: &str) -> Vec<(Instant, u64)> {
    let Some(quantity) = quantities().position(|known| known == name) else { return Vec::new() };
    let of_flow = samples.iter().filter(|sample| sample.flow as usize == flow && sample.quantity as usize == quantity);
    of_flow.map(|sample| (sample.time, sample.value as u64)).collect()
}

/// What a flow told last under this name.
fn told_last(samples: &[SampleRecord], flow: usize, name: &str) -> Option<u64> {
    told(samples, flow, name).last().map(|(_, value)| *value)
}

fn read_records<const BYTES: usize>(path: &Path) -> Result<Vec<u8>, LogError> {
    let file = path.display().to_string();
    let bytes = fs::read(path).map_err(|error| LogError::File { file: file.clone(), error })?;
    if bytes.len().is_multiple_of(BYTES) { Ok(bytes) } else { Err(LogError::Cut { file }) }
}

/// Backlog of a queue at the end of every interval, as differences to the interval before.
#[derive(Clone, Debug)]
struct Backlog {
    packets: Vec<i64>,
    bytes: Vec<i64>,
}

impl Backlog {
    /// A packet of this size waits from the first of these intervals to before the second.
    fn add(&mut self, from: u64, to: u64, size: Bytes) {
        for (index, sign) in [(from, 1), (to, -1)] {
            if let Some(packets) = self.packets.get_mut(index as usize) {
                *packets += sign;
                self.bytes[index as usize] += sign * size.count() as i64;
            }
        }
    }
}

struct Run<'a> {
    job: &'a Job,
    layout: &'a Layout,
    end: Instant,
    interval: Duration,
    /// Journeys of data and of acks, per flow.
    flows: Vec<[Journeys; 2]>,
    /// Journeys of requests and of answers, per probe.
    probes: Vec<[Journeys; 2]>,
    recorder: Recorder,
    hops: Vec<HopAccount>,
    backlogs: Vec<Backlog>,
}

impl<'a> Run<'a> {
    fn new(job: &'a Job, layout: &'a Layout) -> Self {
        let scenario = &job.scenario;
        let journeys = |placed: &FlowLayout| [Journeys::new(&placed.data), Journeys::new(&placed.acks)];
        let intervals = match scenario.record.level {
            Level::Summary => 0,
            _ => scenario.duration.as_nanos() / scenario.record.interval.as_nanos(),
        } as usize;
        let backlog = Backlog { packets: vec![0; intervals], bytes: vec![0; intervals] };
        Self {
            job,
            layout,
            end: scenario.end(),
            interval: scenario.record.interval,
            flows: layout.flows.iter().map(journeys).collect(),
            probes: layout.probes.iter().map(journeys).collect(),
            recorder: Recorder::new(scenario.record, layout.hops.len(), layout.flows.len(), layout.probes.len()),
            hops: layout
                .hops
                .iter()
                .map(|hop| HopAccount { name: hop.name.clone(), ..HopAccount::default() })
                .collect(),
            backlogs: vec![backlog; layout.hops.len()],
        }
    }

    /// Sorts a record to its flow or probe; packets of nobody are no part of the run.
    fn add(&mut self, record: &PacketRecord) {
        let journeys = find(&mut self.flows, SENDER_PORT, RECEIVER_PORT, record)
            .or_else(|| find(&mut self.probes, ASKER_PORT, ANSWERER_PORT, record));
        if let Some(journeys) = journeys {
            journeys.add(record);
        }
    }

    fn match_up(&mut self) -> Result<(), LogError> {
        self.flows.iter_mut().chain(&mut self.probes).flatten().try_for_each(Journeys::match_up)
    }

    fn tables(mut self, samples: &[SampleRecord]) -> Result<Vec<Table>, LogError> {
        let (flows, probes) = (std::mem::take(&mut self.flows), std::mem::take(&mut self.probes));
        let mut accounts = Vec::with_capacity(flows.len());
        for (index, [data, acks]) in flows.iter().enumerate() {
            accounts.push(self.account_for(index, data, acks, samples));
        }
        for (index, journeys) in probes.iter().enumerate() {
            self.follow_probe(index, journeys);
        }
        self.sample_hops();
        tell_telemetry(&mut self.recorder, self.job.scenario.record.level, samples);
        self.recorder.check(&self.hops).map_err(LogError::Conservation)?;
        Ok(self.recorder.tables(&self.hops, &accounts))
    }

    fn account_for(&mut self, index: usize, data: &Journeys, acks: &Journeys, samples: &[SampleRecord]) -> FlowAccount {
        let flow = FlowId(index as u32);
        let mut headers = Headers::default();
        let pieces: Vec<_> = data.sent.iter().map(|record| headers.data(&record.header())).collect();
        let mut highest = 0;
        let mut retransmissions = 0;
        for (number, piece) in pieces.iter().enumerate() {
            let is_repeated = piece.is_some_and(|piece| piece.end > piece.start && piece.start < highest);
            highest = piece.map_or(highest, |piece| highest.max(piece.end));
            retransmissions += u64::from(is_repeated && data.sent[number].time <= self.end);
            let mut packet = data.packet(flow, true, number);
            packet.is_retransmission = is_repeated;
            let said = headers.header(&data.sent[number].header(), true);
            self.follow(data, number, packet, said);
        }
        for number in 0..acks.sent.len() {
            let said = headers.header(&acks.sent[number].header(), false);
            self.follow(acks, number, acks.packet(flow, false, number), said);
        }
        let goodput = self.goodput(index, data, &pieces);
        FlowAccount {
            start: self.job.scenario.start_of(index),
            stop: self.job.scenario.stop_of(index),
            goodput,
            retransmissions,
            timeouts: told_last(samples, index, TIMEOUTS),
            completed: self.completion(index, headers, acks),
        }
    }

    /// Tells the recorder of one packet, which is the one with this number in its direction, from its sending to its
    /// end.
    fn follow(&mut self, journeys: &Journeys, number: usize, mut packet: Packet<()>, said: Option<Header>) {
        if packet.sent > self.end {
            return;
        }
        self.recorder.on_sent(&packet, || said);
        let last_ecn = packet.ecn;
        for points in journeys.hops() {
            let (entry, link, passage) = journeys.passage(*points, number, self.end);
            if passage == Passage::Absent {
                return;
            }
            let hop = &mut self.hops[points.hop];
            hop.accepted.add(packet.size);
            packet.enter_hop(entry);
            packet.ecn = journeys.ecn_at(points.entry, number).unwrap_or(last_ecn);
            self.recorder.on_enter_hop(points.hop, &packet, entry);
            if journeys.on_marked(*points, number, self.end) {
                self.recorder.on_marked(points.hop, packet.size, Reason::Qdisc);
                packet.marked = Some(Reason::Qdisc);
            }
            packet.ecn = journeys.ecn_at(points.exit, number).unwrap_or(last_ecn);
            packet.sojourn = sojourn(entry, link);
            packet.queued_for += packet.sojourn;
            match passage {
                Passage::Out(time) => {
                    hop.delivered.add(packet.size);
                    self.recorder.on_leave_hop(points.hop, &packet, time);
                }
                Passage::DroppedByQueue => self.recorder.on_dropped(points.hop, &packet, self.reason_of(points.hop)),
                Passage::LostOnWire => self.recorder.on_dropped(points.hop, &packet, Reason::Loss),
                Passage::Inside => {
                    hop.inside.add(packet.size);
                    if link <= self.end {
                        hop.on_wire += packet.size;
                        self.recorder.on_wire(points.hop, &packet);
                    }
                }
                Passage::Absent => {}
            }
            if link != Instant::FAR_FUTURE {
                let interval = self.interval.as_nanos();
                let index = |time: Instant| (time.as_nanos().div_ceil(interval)).max(1) - 1;
                self.backlogs[points.hop].add(index(entry), index(link), packet.size);
            }
            let Passage::Out(time) = passage else { return };
            if points.exit == journeys.hops()[journeys.hops().len() - 1].exit {
                packet.ecn = last_ecn;
                self.recorder.on_received(&packet, time);
            }
        }
    }

    /// Why the queue of a hop dropped something: only a fifo has no choice.
    fn reason_of(&self, hop: usize) -> Reason {
        let is_fifo = self.layout.hops[hop].position.is_none_or(|(direction, index)| {
            self.job.queues(direction)[index].get("kind").is_some_and(|kind| kind == "fifo")
        });
        if is_fifo { Reason::Overlimit } else { Reason::Qdisc }
    }

    /// What the application of a receiver had at the end of the run, and at the end of every interval before.
    fn goodput(&mut self, flow: usize, data: &Journeys, pieces: &[Option<Data>]) -> Bytes {
        let mut stream = InOrder::default();
        let mut arrivals = data.arrivals(self.end).into_iter().peekable();
        let has_series = self.job.scenario.record.level >= Level::Series;
        let mut now = self.job.scenario.start_of(flow);
        now = Instant::from_nanos(now.as_nanos().div_ceil(self.interval.as_nanos()).max(1) * self.interval.as_nanos());
        while has_series && now <= self.end {
            while let Some((_, number)) = arrivals.next_if(|(time, _)| *time <= now) {
                pieces[number].into_iter().for_each(|piece| stream.add(piece));
            }
            self.recorder.sample_goodput(flow, Bytes::new(stream.next), now);
            now += self.interval;
        }
        for (_, number) in arrivals {
            pieces[number].into_iter().for_each(|piece| stream.add(piece));
        }
        Bytes::new(stream.next)
    }

    /// When the ack for the last byte of a finite transfer arrived.
    fn completion(&self, flow: usize, mut headers: Headers, acks: &Journeys) -> Option<Instant> {
        let TrafficConfig::Finite { size } = self.job.scenario.flows[flow].traffic else { return None };
        let mut arrivals = acks.arrivals(self.end).into_iter();
        arrivals
            .find(|(_, number)| headers.acknowledged(&acks.sent[*number].header()) >= size.count())
            .map(|(time, _)| time)
    }

    /// Backlog and capacity of every hop.
    fn sample_hops(&mut self) {
        let scenario = &self.job.scenario;
        let mut links: Vec<_> = (self.layout.hops.iter())
            .map(|hop| {
                let config = hop.position.map(|(direction, index)| &scenario.hops(direction)[index]);
                config.map(|config| Link::<()>::new(&config.link, scenario.largest_packet(), scenario.seed, &hop.name))
            })
            .collect();
        for (account, link) in self.hops.iter_mut().zip(&mut links) {
            account.capacity = link.as_mut().and_then(|link| link.capacity(Instant::ZERO, self.end));
        }
        let mut waiting = vec![(0, 0); self.hops.len()];
        for index in 0..self.backlogs.first().map_or(0, |backlog| backlog.packets.len()) {
            let now = Instant::from_nanos(self.interval.as_nanos() * (index as u64 + 1));
            for (hop, (packets, bytes)) in waiting.iter_mut().enumerate() {
                *packets += self.backlogs[hop].packets[index];
                *bytes += self.backlogs[hop].bytes[index];
                let backlog = Count { packets: *packets as u64, bytes: *bytes as u64 };
                let capacity = links[hop].as_mut().and_then(|link| link.capacity(now - self.interval, now));
                self.recorder.sample_hop(&self.hops[hop].name, HopSample { backlog, capacity }, now);
            }
        }
    }
}

/// The journeys that a packet belongs to, if it is between the ends whose ports begin at `near` and, higher, at `far`.
fn find<'a>(all: &'a mut [[Journeys; 2]], near: u16, far: u16, record: &PacketRecord) -> Option<&'a mut Journeys> {
    let (source, destination) = (record.source_port, record.destination_port);
    let (direction, number, same) = if source < far {
        (0, source.checked_sub(near)?, destination.checked_sub(far)?)
    } else {
        (1, source - far, destination.checked_sub(near)?)
    };
    let journeys = all.get_mut(usize::from(number)).filter(|_| number == same)?;
    Some(&mut journeys[direction])
}

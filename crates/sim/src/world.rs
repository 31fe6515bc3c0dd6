//! The event loop: wakes whoever is due, carries packets from one to the next, and tells the recorder.

use bakeoff_core::agenda::{Agenda, Turn};
use bakeoff_core::endpoint::Endpoint;
use bakeoff_core::packet::Packet;
use bakeoff_core::packet_pool::PacketPool;
use bakeoff_core::path::{NamedHop, Path};
use bakeoff_core::queue::Drops;
use bakeoff_core::record::{HopSample, Recorder};
use bakeoff_core::scenario::{Level, Scenario};
use bakeoff_core::units::{Duration, Instant};

use crate::flow::Flow;
use crate::payload::Payload;
use crate::topology::{Numbering, Participant, Probe, Topology};
use crate::{Error, Recording, Transport};

/// The boxes of packets: those of one direction mostly stay in order.
#[derive(Default)]
struct Pools {
    data: PacketPool<Payload>,
    acks: PacketPool<Payload>,
}

impl Pools {
    fn take_back(&mut self, packet: Box<Packet<Payload>>) {
        if packet.is_data_direction { self.data.take_back(packet) } else { self.acks.take_back(packet) }
    }
}

/// A run under way.
pub(crate) struct World {
    now: Instant,
    end: Instant,
    path: Path<Payload>,
    flows: Vec<Flow>,
    probes: Vec<Probe>,
    numbering: Numbering,
    agenda: Agenda,
    drops: Drops<Payload>,
    pools: Pools,
    recorder: Recorder,
}

impl World {
    pub(crate) fn new<'a>(scenario: &Scenario, choose: impl FnMut(usize) -> Transport<'a>) -> Result<Self, Error> {
        let topology = Topology::of(scenario, choose)?;
        let numbering = topology.numbering();
        let Topology { path, flows, probes } = topology;
        let mut agenda = Agenda::new(path.hops.len(), numbering.count());
        for (index, flow) in flows.iter().enumerate() {
            agenda.others.set(numbering.number(Participant::Sender(index)), Some(flow.start));
        }
        for (index, probe) in probes.iter().enumerate() {
            agenda.others.set(numbering.number(Participant::Asker(index)), probe.asker.next_wakeup());
        }
        let recorder = Recorder::new(scenario.record, path.hops.len(), flows.len(), probes.len());
        if scenario.record.level >= Level::Series {
            agenda.others.set(numbering.number(Participant::Sampler), Some(Instant::ZERO + recorder.interval()));
        }
        Ok(Self {
            now: Instant::ZERO,
            end: Instant::from_nanos(scenario.duration_ns),
            path,
            flows,
            probes,
            numbering,
            agenda,
            drops: Drops::default(),
            pools: Pools::default(),
            recorder,
        })
    }

    /// The time, and that of the end.
    pub(crate) fn times(&self) -> (Instant, Instant) {
        (self.now, self.end)
    }

    /// Runs up to a time, what happens at it not included, or to the end.
    pub(crate) fn run_until(&mut self, until: Instant) {
        let until = until.min(self.end).max(self.now);
        while let Some((time, turn)) = self.agenda.next() {
            if time > until || (time == until && until < self.end) {
                break;
            }
            self.now = time;
            match turn {
                Turn::Hop(hop) => self.take_turn_of_hop(hop),
                Turn::Other(number) => self.take_turn(number),
            }
        }
        self.now = until;
    }

    // At the end only the sampler still has its turn, which takes the interval that ends with the run.

    fn take_turn_of_hop(&mut self, hop: usize) {
        let next = if self.now < self.end { self.wake_hop(hop) } else { None };
        self.agenda.hops.set(hop, self.later(next));
    }

    fn take_turn(&mut self, number: usize) {
        let next = match self.numbering.participant(number) {
            Participant::Sampler => Some(self.sample()),
            _ if self.now == self.end => None,
            Participant::Sender(flow) => self.wake_sender(flow),
            Participant::Receiver(flow) => self.wake_receiver(flow),
            Participant::Asker(probe) => self.wake_asker(probe),
        };
        self.agenda.others.set(number, self.later(next));
    }

    /// Whoever has nothing more to do now must not ask for now again.
    fn later(&self, next: Option<Instant>) -> Option<Instant> {
        debug_assert!(next.is_none_or(|next| next > self.now), "at {:?}", self.now);
        next.map(|next| next.max(self.now + Duration::from_nanos(1)))
    }

    /// The first flow whose connection was lost.
    pub(crate) fn loss(&self) -> Option<Error> {
        (1..).zip(&self.flows).find_map(|(number, flow)| flow.loss(number))
    }

    /// Checks that every packet is accounted for and hands over the tables.
    pub(crate) fn finish(mut self) -> Result<Recording, Error> {
        for hop in 0..self.path.hops.len() {
            // Serves the queue up to the end, so that what is inside is what is inside then.
            self.path.hops[hop].hop.backlog(self.end, &mut self.drops);
            self.note_drops(hop);
        }
        let end = self.end;
        let hops: Vec<_> = self.path.hops.iter_mut().map(|hop| hop.account(end)).collect();
        let flows = (1..).zip(&self.flows).map(|(number, flow)| flow.account(number)).collect::<Result<Vec<_>, _>>()?;
        self.recorder.check(&hops).map_err(Error::Conservation)?;
        Ok(Recording { tables: self.recorder.tables(&hops, &flows) })
    }

    fn wake_hop(&mut self, hop: usize) -> Option<Instant> {
        loop {
            let polled = self.path.hops[hop].hop.poll(self.now, &mut self.drops);
            self.note_drops(hop);
            let is_over = polled.is_none();
            if let Some(packet) = polled {
                self.recorder.leaves_hop(hop, &packet, self.now);
                self.carry_on(packet);
            }
            let next = self.path.hops[hop].hop.next_wakeup();
            if is_over || next.is_none_or(|next| next > self.now) {
                return next;
            }
        }
    }

    fn wake_sender(&mut self, index: usize) -> Option<Instant> {
        let flow = &mut self.flows[index];
        if self.now >= flow.stop {
            return None;
        }
        while let Some(packet) = self.flows[index].poll_sender(self.now, &mut self.pools.data) {
            self.send(index, packet);
        }
        self.flows[index].sender_wakeup()
    }

    fn wake_receiver(&mut self, index: usize) -> Option<Instant> {
        while let Some(packet) = self.flows[index].poll_receiver(self.now, &mut self.pools.acks) {
            self.send(index, packet);
        }
        self.flows[index].receiver_wakeup()
    }

    fn wake_asker(&mut self, index: usize) -> Option<Instant> {
        while let Some(packet) = self.probes[index].asker.poll(self.now, &mut self.pools.data) {
            self.recorder.is_sent(&packet, || None);
            self.carry_on(packet);
        }
        self.probes[index].asker.next_wakeup()
    }

    /// Puts what an end of a flow sends on its way.
    fn send(&mut self, flow: usize, mut packet: Box<Packet<Payload>>) {
        self.path.classify(&mut packet);
        let flow = &mut self.flows[flow];
        self.recorder.is_sent(&packet, || flow.header(&packet.payload));
        self.carry_on(packet);
    }

    /// Takes a packet to the next hop of its route, or to its endpoint.
    fn carry_on(&mut self, mut packet: Box<Packet<Payload>>) {
        let Some(hop) = self.path.next_hop(&mut packet) else { return self.deliver(packet) };
        self.recorder.enters_hop(hop, &packet, self.now);
        let entered = &mut self.path.hops[hop].hop;
        entered.accept(packet, self.now, &mut self.drops);
        self.agenda.hops.set_by(hop, entered.next_wakeup());
        self.note_drops(hop);
    }

    fn deliver(&mut self, packet: Box<Packet<Payload>>) {
        self.recorder.is_received(&packet, self.now);
        match packet.payload {
            Payload::Probe => self.deliver_probe(&packet),
            Payload::Segment(_) | Payload::Datagram(_) => self.deliver_to_flow(&packet),
        }
        self.pools.take_back(packet);
    }

    fn deliver_to_flow(&mut self, packet: &Packet<Payload>) {
        let index = packet.flow.0 as usize;
        let (participant, next) = if packet.is_data_direction {
            self.flows[index].accept(packet, self.now);
            (Participant::Receiver(index), self.wake_receiver(index))
        } else {
            if self.now >= self.flows[index].stop {
                return;
            }
            // What a timer or the pacer had planned for this moment comes before what the ack calls for: a host takes
            // some time over an ack, however little.
            let planned = self.agenda.others.planned(self.numbering.number(Participant::Sender(index)));
            if planned <= self.now && self.flows[index].sender_wakeup().is_some_and(|due| due <= self.now) {
                self.wake_sender(index);
            }
            self.flows[index].accept(packet, self.now);
            (Participant::Sender(index), self.wake_sender(index))
        };
        self.agenda.others.set_by(self.numbering.number(participant), next);
    }

    fn deliver_probe(&mut self, packet: &Packet<Payload>) {
        let index = packet.flow.0 as usize - self.flows.len();
        if !packet.is_data_direction {
            return self.probes[index].asker.accept(&(), packet.envelope(), self.now);
        }
        self.probes[index].answerer.accept(&(), packet.envelope(), self.now);
        while let Some(answer) = self.probes[index].answerer.poll(self.now, &mut self.pools.acks) {
            self.recorder.is_sent(&answer, || None);
            self.carry_on(answer);
        }
    }

    fn note_drops(&mut self, hop: usize) {
        if !self.drops.is_empty() {
            self.record_drops(hop);
        }
    }

    #[cold]
    fn record_drops(&mut self, hop: usize) {
        for (packet, reason) in self.drops.take_dropped() {
            self.recorder.is_dropped(hop, &packet, reason);
            self.pools.take_back(packet);
        }
        for (size, reason) in self.drops.marked() {
            self.recorder.is_marked(hop, *size, *reason);
        }
        for copy in self.drops.duplicated() {
            self.recorder.is_duplicated(hop, *copy);
        }
        self.drops.clear();
    }

    /// Samples the inner state of senders and queues at the end of an interval.
    fn sample(&mut self) -> Instant {
        for hop in 0..self.path.hops.len() {
            let backlog = self.path.hops[hop].hop.backlog(self.now, &mut self.drops);
            self.note_drops(hop);
            let NamedHop { name, hop } = &mut self.path.hops[hop];
            let capacity = hop.capacity(self.now - self.recorder.interval(), self.now);
            self.recorder.sample_hop(name, HopSample { backlog, capacity }, self.now);
        }
        for (index, flow) in self.flows.iter().enumerate() {
            if flow.start <= self.now {
                self.recorder.sample_goodput(index, flow.goodput(), self.now);
            }
            if flow.start <= self.now && self.now <= flow.stop {
                let (recorder, now) = (&mut self.recorder, self.now);
                flow.telemetry(&mut |name, value| recorder.sample_telemetry(index, name, value, now));
            }
        }
        self.now + self.recorder.interval()
    }
}

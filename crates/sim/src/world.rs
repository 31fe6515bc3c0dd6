//! The event loop: wakes whoever is due, carries packets from one to the next, and tells the recorder.

use bakeoff_core::agenda::{Agenda, Turn};
use bakeoff_core::endpoint::Endpoint;
use bakeoff_core::packet::Packet;
use bakeoff_core::record::Recorder;
use bakeoff_core::scenario::{Level, Scenario};
use bakeoff_core::units::{Duration, Instant};

use crate::flow::Flow;
use crate::network::Network;
use crate::payload::Payload;
use crate::topology::{Numbering, Participant, Probe, Topology};
use crate::{Error, Recording, Transport};

/// A run under way.
pub(crate) struct World {
    end: Instant,
    flows: Vec<Flow>,
    probes: Vec<Probe>,
    numbering: Numbering,
    network: Network,
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
        let end = Instant::from_nanos(scenario.duration_ns);
        Ok(Self { end, flows, probes, numbering, network: Network::new(path, agenda, recorder) })
    }

    /// The time, and that of the end.
    pub(crate) fn times(&self) -> (Instant, Instant) {
        (self.network.now, self.end)
    }

    /// Runs up to a time, what happens at it not included, or to the end.
    pub(crate) fn run_until(&mut self, until: Instant) {
        let until = until.min(self.end).max(self.network.now);
        while let Some((time, turn)) = self.network.agenda.next() {
            if time > until || (time == until && until < self.end) {
                break;
            }
            self.network.now = time;
            match turn {
                Turn::Hop(hop) => self.take_turn_of_hop(hop),
                Turn::Other(number) => self.take_turn_of_other(number),
            }
        }
        self.network.now = until;
    }

    /// Wakes a hop. At the end of the run nobody is woken any more but the sampler, which takes the interval that ends with it.
    fn take_turn_of_hop(&mut self, hop: usize) {
        let next = if self.network.now < self.end { self.wake_hop(hop) } else { None };
        let next = self.later(next);
        self.network.agenda.hops.set(hop, next);
    }

    /// Wakes one of the others.
    fn take_turn_of_other(&mut self, number: usize) {
        let network = &mut self.network;
        let next = match self.numbering.participant(number) {
            Participant::Sampler => Some(self.sample()),
            _ if network.now == self.end => None,
            Participant::Sender(flow) => self.flows[flow].wake_sender(network),
            Participant::Receiver(flow) => self.flows[flow].wake_receiver(network),
            Participant::Asker(probe) => self.wake_asker(probe),
        };
        let next = self.later(next);
        self.network.agenda.others.set(number, next);
    }

    /// Whoever has nothing more to do now must not ask for now again.
    fn later(&self, next: Option<Instant>) -> Option<Instant> {
        let now = self.network.now;
        debug_assert!(next.is_none_or(|next| next > now), "at {now:?}");
        next.map(|next| next.max(now + Duration::from_nanos(1)))
    }

    /// The first flow whose connection was lost.
    pub(crate) fn loss(&self) -> Option<Error> {
        (1..).zip(&self.flows).find_map(|(number, flow)| flow.loss(number))
    }

    /// Checks that every packet is accounted for and hands over the tables.
    pub(crate) fn finish(mut self) -> Result<Recording, Error> {
        let hops = self.network.accounts(self.end);
        let flows = (1..).zip(&self.flows).map(|(number, flow)| flow.account(number)).collect::<Result<Vec<_>, _>>()?;
        self.network.recorder.check(&hops).map_err(Error::Conservation)?;
        Ok(Recording { tables: self.network.recorder.tables(&hops, &flows) })
    }

    fn wake_hop(&mut self, hop: usize) -> Option<Instant> {
        loop {
            let polled = self.network.poll(hop);
            let is_over = polled.is_none();
            if let Some(arrived) = polled.and_then(|packet| self.network.carry_on(packet)) {
                self.deliver(arrived);
            }
            let next = self.network.next_wakeup(hop);
            if is_over || next.is_none_or(|next| next > self.network.now) {
                return next;
            }
        }
    }

    fn wake_asker(&mut self, index: usize) -> Option<Instant> {
        let network = &mut self.network;
        while let Some(packet) = self.probes[index].asker.poll(network.now, &mut network.pools.data) {
            network.send_probe(packet);
        }
        self.probes[index].asker.next_wakeup()
    }

    fn deliver(&mut self, packet: Box<Packet<Payload>>) {
        match packet.payload {
            Payload::Probe => self.deliver_probe(&packet),
            Payload::Segment(_) | Payload::Datagram(_) => self.deliver_to_flow(&packet),
        }
        self.network.take_back(packet);
    }

    fn deliver_to_flow(&mut self, packet: &Packet<Payload>) {
        let index = packet.flow.0 as usize;
        let (flow, network) = (&mut self.flows[index], &mut self.network);
        let now = network.now;
        let (participant, next) = if packet.is_data_direction {
            flow.accept(packet, now);
            (Participant::Receiver(index), flow.wake_receiver(network))
        } else {
            if now >= flow.stop {
                return;
            }
            // What a timer or the pacer had planned for this moment comes before what the ack calls for: a host takes
            // some time over an ack, however little.
            let planned = network.agenda.others.planned(self.numbering.number(Participant::Sender(index)));
            if planned <= now && flow.sender_wakeup().is_some_and(|due| due <= now) {
                flow.wake_sender(network);
            }
            flow.accept(packet, now);
            (Participant::Sender(index), flow.wake_sender(network))
        };
        network.agenda.others.set_by(self.numbering.number(participant), next);
    }

    fn deliver_probe(&mut self, packet: &Packet<Payload>) {
        let (probe, network) = (&mut self.probes[packet.flow.0 as usize - self.flows.len()], &mut self.network);
        if !packet.is_data_direction {
            return probe.asker.accept(&(), packet.envelope(), network.now);
        }
        probe.answerer.accept(&(), packet.envelope(), network.now);
        while let Some(answer) = probe.answerer.poll(network.now, &mut network.pools.acks) {
            network.send_probe(answer);
        }
    }

    /// Samples the inner state of senders and queues at the end of an interval.
    fn sample(&mut self) -> Instant {
        self.network.sample();
        let Network { recorder, now, .. } = &mut self.network;
        for (index, flow) in self.flows.iter().enumerate() {
            if flow.start <= *now {
                recorder.sample_goodput(index, flow.goodput(), *now);
            }
            if flow.start <= *now && *now <= flow.stop {
                flow.telemetry(&mut |name, value| recorder.sample_telemetry(index, name, value, *now));
            }
        }
        *now + recorder.interval()
    }
}

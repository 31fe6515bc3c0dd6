//! The event loop: wakes whoever is due, carries packets from one to the next, and tells the recorder.

use bakeoff_core::agenda::{Agenda, Turn};
use bakeoff_core::endpoint::Endpoint;
use bakeoff_core::packet::Packet;
use bakeoff_core::record::Recorder;
use bakeoff_core::scenario::{Level, Scenario};
use bakeoff_core::transport::stack::ConnectionLost;
use bakeoff_core::units::{Duration, Instant};

use crate::flow::Flow;
use crate::network::{Network, Why};
use crate::payload::Payload;
use crate::roster::{Participant, Roster, TimerId};
use crate::sides::{Side, Sides};
use crate::topology::{Probe, Topology};
use crate::{Error, Recording, Transport};

/// A run under way.
pub(crate) struct World {
    end: Instant,
    /// How long the near side can be run without the far one.
    lookahead: Duration,
    next_sample: Instant,
    flows: Vec<Flow>,
    probes: Vec<Probe>,
    roster: Roster,
    /// Flows whose receivers have more to take at this instant.
    arriving: Vec<usize>,
    network: Network,
}

impl World {
    pub(crate) fn new<'a>(
        scenario: &Scenario,
        sides: Sides,
        choose: impl FnMut(usize) -> Transport<'a>,
    ) -> Result<Self, Error> {
        let topology = Topology::of(scenario, sides, choose)?;
        let Topology { path, hop_sides, lookahead, flows, probes, roster } = topology;
        let mut agendas = Side::BOTH.map(|side| Agenda::new(path.hops.len(), roster.count(side)));
        let starts = flows.iter().map(|flow| (flow.sender_timer, Some(flow.start)));
        let first_questions = probes.iter().map(|probe| (probe.asker_timer, probe.asker.next_wakeup()));
        for (TimerId { side, number }, time) in starts.chain(first_questions) {
            agendas[side as usize].others.set(number, time);
        }
        let recorder = Recorder::new(scenario.record, path.hops.len(), flows.len(), probes.len());
        let has_series = scenario.record.level >= Level::Series;
        let next_sample = if has_series { Instant::ZERO + recorder.interval() } else { Instant::FAR_FUTURE };
        let end = scenario.end();
        let network = Network::new(path, hop_sides, agendas, recorder);
        Ok(Self { end, lookahead, next_sample, flows, probes, roster, arriving: Vec::new(), network })
    }

    /// The time, and that of the end.
    pub(crate) fn times(&self) -> (Instant, Instant) {
        (self.network.now, self.end)
    }

    /// Runs up to a time, what happens at it not included, or to the end, where only a last sample is taken.
    pub(crate) fn run_until(&mut self, until: Instant) {
        let until = until.min(self.end).max(self.network.now);
        loop {
            let next = self.network.next_turn().map_or(until, |next| next.min(until));
            // A sample shows what everything that happens at its time leaves.
            if self.next_sample < next || (self.next_sample == next && next == self.end) {
                self.network.now = self.next_sample;
                self.sample();
            } else if next < until {
                let turn_end = (next + self.lookahead).min(self.next_sample + Duration::from_nanos(1)).min(until);
                for side in Side::BOTH {
                    self.run_side(side, turn_end);
                }
            } else {
                break;
            }
        }
        self.network.now = until;
    }

    /// Runs one side up to a time, what happens at it not included.
    fn run_side(&mut self, side: Side, until: Instant) {
        while let Some((time, turn)) = self.network.agenda(side).next()
            && time < until
        {
            self.network.now = time;
            match turn {
                Turn::Hop(hop) => self.take_turn_of_hop(side, hop),
                Turn::Other(number) => self.take_turn_of_other(TimerId { side, number }),
            }
        }
    }

    #[inline(always)]
    fn take_turn_of_hop(&mut self, side: Side, hop: usize) {
        loop {
            let polled = self.network.poll(hop);
            let next = self.network.next_wakeup(hop);
            let is_over = polled.is_none() || next.is_none_or(|next| next > self.network.now);
            if is_over {
                // Before all that follows from the packet: the sooner it is known who comes next, the better.
                let next = self.network.later(next);
                self.network.agenda(side).hops.set(hop, next);
            }
            if let Some(arrived) = polled.and_then(|packet| self.network.carry_on(packet)) {
                if !is_over {
                    self.hold_reader(&arrived);
                }
                self.deliver(arrived);
            }
            if is_over {
                break;
            }
        }
        if !self.arriving.is_empty() {
            self.release_readers();
        }
    }

    /// What a hop gives at one instant a host takes before its application has its turn.
    #[cold]
    fn hold_reader(&mut self, packet: &Packet<Payload>) {
        let index = packet.flow.0 as usize;
        if packet.is_data_direction && self.flows.get_mut(index).is_some_and(Flow::hold_reader) {
            self.arriving.push(index);
        }
    }

    #[cold]
    fn release_readers(&mut self) {
        for index in self.arriving.drain(..) {
            self.flows[index].release_reader(&mut self.network);
        }
    }

    #[inline(always)]
    fn take_turn_of_other(&mut self, timer: TimerId) {
        let network = &mut self.network;
        match self.roster.participant(timer) {
            Participant::Sender(flow) => self.flows[flow].wake_sender(Why::Turn, network),
            Participant::Receiver(flow) => self.flows[flow].wake_receiver(Why::Turn, network),
            Participant::Asker(probe) => self.wake_asker(timer, probe),
        }
    }

    /// The first connection that was lost.
    pub(crate) fn loss(&self) -> Option<ConnectionLost> {
        self.flows.iter().filter_map(Flow::loss).min_by_key(|loss| loss.failure.at)
    }

    /// Checks that every packet is accounted for and hands over the tables.
    pub(crate) fn finish(mut self) -> Result<Recording, Error> {
        if let Some(loss) = self.loss() {
            return Err(loss.into());
        }
        let hops = self.network.accounts(self.end);
        let flows: Vec<_> = self.flows.iter().map(Flow::account).collect();
        self.network.recorder.check(&hops).map_err(Error::Conservation)?;
        Ok(Recording { tables: self.network.recorder.tables(&hops, &flows) })
    }

    fn wake_asker(&mut self, timer: TimerId, index: usize) {
        let network = &mut self.network;
        while let Some(packet) = self.probes[index].asker.poll(network.now, &mut network.pools.data) {
            network.send_probe(packet);
        }
        network.plan(timer, Why::Turn, self.probes[index].asker.next_wakeup());
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
        if packet.is_data_direction {
            flow.accept(packet, now);
            flow.wake_receiver(Why::Arrival, network);
        } else {
            if now >= flow.stop {
                return;
            }
            // What a timer or the pacer had planned for this moment comes before what the ack calls for: a host takes
            // some time over an ack, however little.
            let timer = flow.sender_timer;
            let planned = network.agenda(timer.side).others.planned(timer.number);
            if planned <= now && flow.sender_wakeup().is_some_and(|due| due <= now) {
                flow.wake_sender(Why::Turn, network);
            }
            flow.accept(packet, now);
            // Most acks find a paced sender between two packets.
            if planned > now && flow.is_sender_silent_before(planned) {
                debug_assert!(flow.sender_wakeup().is_none_or(|next| next >= planned), "at {now:?}");
                return;
            }
            flow.wake_sender(Why::Arrival, network);
        }
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
    fn sample(&mut self) {
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
        self.next_sample = *now + recorder.interval();
    }
}

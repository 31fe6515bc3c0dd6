//! The path in real time: the simulator's hops, driven by packets that really arrive.
//!
//! Everything happens at its own exact time, in order, however late the machine is: waking up late delays only what is
//! handed to the hosts, never a queue, a mark or the rate.

use std::sync::Arc;

use bakeoff_core::agenda::{Agenda, Turn};
use bakeoff_core::packet::Packet;
use bakeoff_core::path::Path;
use bakeoff_core::queue::Verdicts;
use bakeoff_core::record::HopAccount;
use bakeoff_core::scenario::{Level, Scenario};
use bakeoff_core::units::{Duration, Instant};

use super::headers::Transport;
use super::journal::Journal;
use super::ownership::Owner;
use super::super_packet::{Piece, SuperPacket};
use crate::error::RunError;
use crate::events::{Event, PacketId, logged_size};
use crate::job::JobError;
use crate::log::{Protocol, TRANSPORT_BYTES, TransportHeader};

/// A packet that is due at a host.
pub(super) struct Delivery {
    pub(super) due: Instant,
    pub(super) packet: Box<Packet<Piece>>,
}

/// The path under way.
pub(super) struct Engine {
    path: Path<Piece>,
    /// The hops by number, and the sampler.
    agenda: Agenda,
    verdicts: Verdicts<Piece>,
    journal: Journal,
    /// Packets sent so far, per flow or probe: data and acks.
    numbers: Vec<[u32; 2]>,
    interval: Option<Duration>,
    end: Instant,
}

fn id(packet: &Packet<Piece>) -> PacketId {
    PacketId { flow: packet.flow, is_data_direction: packet.is_data_direction, number: packet.number as u32 }
}

impl Engine {
    pub(super) fn new(scenario: &Scenario, journal: Journal) -> Result<Self, RunError> {
        let path = Path::of(scenario).map_err(JobError::from)?;
        let mut agenda = Agenda::new(path.hops.len(), 1);
        let interval = scenario.record.interval;
        let interval = (scenario.record.level >= Level::Series).then_some(interval);
        agenda.others.set(0, interval.map(|interval| Instant::ZERO + interval));
        Ok(Self {
            path,
            agenda,
            verdicts: Verdicts::default(),
            journal,
            numbers: vec![[0; 2]; scenario.flows.len() + scenario.probes.len()],
            interval,
            end: scenario.end(),
        })
    }

    /// When something next happens on the path.
    pub(super) fn next_wakeup(&self) -> Instant {
        self.agenda.next().map_or(self.end, |(time, _)| time.min(self.end))
    }

    /// Lets happen what happens until `now`, and puts what is due at hosts into `due`, in order.
    pub(super) fn advance(&mut self, now: Instant, due: &mut Vec<Delivery>) {
        while let Some((time, turn)) = self.agenda.next().filter(|(time, _)| *time <= now.min(self.end)) {
            let later = |next: Instant| next.max(time + Duration::from_nanos(1));
            match turn {
                Turn::Hop(hop) => {
                    let next = self.wake(hop, time, due).map(later);
                    self.agenda.hops.set(hop, next);
                }
                Turn::Other(_) => {
                    let next = self.sample(time).map(later);
                    self.agenda.others.set(0, next);
                }
            }
        }
    }

    /// Takes a packet that a host has sent, with all its segments, at `now`.
    pub(super) fn accept(&mut self, whole: SuperPacket, owner: Owner, device: u16, now: Instant) {
        let whole = Arc::new(whole);
        for segment in 0..whole.segments() {
            let number = &mut self.numbers[owner.flow.0 as usize][usize::from(owner.is_data_direction)];
            let piece = Piece { whole: Arc::clone(&whole), segment, device };
            let size = whole.size(segment);
            let packet = Packet::new(owner.flow, owner.is_data_direction, u64::from(*number), size, now, piece);
            let mut packet = Box::new(packet);
            *number = number.wrapping_add(1);
            (packet.ecn, packet.dscp) = (whole.headers.ecn, whole.headers.dscp);
            let event = Event::Sent { packet: id(&packet), ecn: packet.ecn, size: logged_size(size) };
            self.journal.note(now, &event);
            self.journal.note_header(&header(&whole, segment, size.count() as usize));
            let hop = self.path.first_hop(&mut packet);
            self.enter(hop, packet, now);
        }
    }

    fn wake(&mut self, hop: usize, now: Instant, due: &mut Vec<Delivery>) -> Option<Instant> {
        loop {
            let polled = self.path.hops[hop].hop.poll(now, &mut self.verdicts);
            self.note_verdicts(hop, now);
            let Some(mut packet) = polled else { break };
            let (packet_id, sojourn, ecn, marked) = (id(&packet), packet.sojourn, packet.ecn, packet.marked);
            let next = self.path.next_hop(&mut packet);
            let is_last = next.is_none();
            let event = Event::LeftHop { packet: packet_id, hop: hop as u16, sojourn, ecn, marked, is_last };
            self.journal.note(now, &event);
            match next {
                Some(next) => self.enter(next, packet, now),
                None => due.push(Delivery { due: now, packet }),
            }
        }
        self.path.hops[hop].hop.next_wakeup()
    }

    fn enter(&mut self, hop: usize, packet: Box<Packet<Piece>>, now: Instant) {
        self.path.hops[hop].hop.accept(packet, now, &mut self.verdicts);
        self.note_verdicts(hop, now);
        self.agenda.hops.set_by(hop, self.path.hops[hop].hop.next_wakeup());
    }

    fn note_verdicts(&mut self, hop: usize, now: Instant) {
        if self.verdicts.is_empty() {
            return;
        }
        for (packet, reason) in self.verdicts.dropped() {
            let (packet, sojourn, ecn, marked) = (id(packet), packet.sojourn, packet.ecn, packet.marked);
            self.journal.note(now, &Event::Dropped { packet, hop: hop as u16, reason: *reason, sojourn, ecn, marked });
        }
        for (size, reason) in self.verdicts.marked() {
            self.journal.note(now, &Event::Marked { hop: hop as u16, reason: *reason, size: logged_size(*size) });
        }
        self.verdicts.clear();
    }

    /// Notes what waits in the queues at the end of an interval.
    fn sample(&mut self, now: Instant) -> Option<Instant> {
        for hop in 0..self.path.hops.len() {
            let backlog = self.path.hops[hop].hop.backlog(now, &mut self.verdicts);
            self.note_verdicts(hop, now);
            self.journal.note(now, &Event::Backlog { hop: hop as u16, backlog });
        }
        self.interval.map(|interval| now + interval)
    }

    /// Whether what happens cannot be logged any more; [`Engine::finish`] then says why.
    pub(super) fn has_lost_its_log(&self) -> bool {
        self.journal.has_failed()
    }

    /// Ends the run, and returns what went through each hop.
    pub(super) fn finish(mut self) -> Result<Vec<HopAccount>, RunError> {
        let end = self.end;
        for hop in 0..self.path.hops.len() {
            self.path.hops[hop].hop.backlog(end, &mut self.verdicts);
            self.note_verdicts(hop, end);
            for packet in self.path.hops[hop].hop.on_wire() {
                let (packet, sojourn, ecn, marked) = (id(packet), packet.sojourn, packet.ecn, packet.marked);
                self.journal.note(end, &Event::OnWire { packet, hop: hop as u16, sojourn, ecn, marked });
            }
        }
        self.journal.finish()?;
        Ok(self.path.hops.iter_mut().map(|hop| hop.account(end)).collect())
    }
}

/// What the log keeps of a segment.
fn header(whole: &SuperPacket, segment: u16, size: usize) -> TransportHeader {
    let mut bytes = [0; TRANSPORT_BYTES + 4];
    whole.transport(segment, &mut bytes);
    let protocol = match whole.headers.transport {
        Transport::Tcp => Protocol::Tcp,
        Transport::Udp => Protocol::Udp,
        Transport::Icmp { .. } | Transport::Other => Protocol::Other,
    };
    TransportHeader {
        protocol,
        length: (size - whole.headers.transport_at) as u16,
        source_port: whole.headers.ports[0],
        destination_port: whole.headers.ports[1],
        bytes: std::array::from_fn(|index| bytes[index + 4]),
    }
}

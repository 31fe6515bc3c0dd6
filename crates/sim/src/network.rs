//! The path of a run under way: takes packets from hop to hop, and tells the recorder.

use bakeoff_core::agenda::Agenda;
use bakeoff_core::packet::Packet;
use bakeoff_core::packet_pool::PacketPool;
use bakeoff_core::path::{NamedHop, Path};
use bakeoff_core::queue::Verdicts;
use bakeoff_core::record::{HopAccount, HopSample, Recorder};
use bakeoff_core::transport::stream::Positions;
use bakeoff_core::units::{Duration, Instant, earlier};

use crate::payload::Payload;
use crate::roster::TimerId;
use crate::sides::Side;

/// The boxes of packets: those of one direction mostly stay in order.
#[derive(Default)]
pub(crate) struct Pools {
    pub(crate) data: PacketPool<Payload>,
    pub(crate) acks: PacketPool<Payload>,
}

impl Pools {
    #[inline(always)]
    fn take_back(&mut self, packet: Box<Packet<Payload>>) {
        if packet.is_data_direction { self.data.take_back(packet) } else { self.acks.take_back(packet) }
    }
}

/// Why an end is awake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    /// It is its turn.
    Turn,
    /// A packet has arrived, and its next turn may still lie ahead.
    Arrival,
}

/// What lies between the ends, and what all who take part share: the time, the agendas and the recorder.
pub(crate) struct Network {
    pub(crate) now: Instant,
    agendas: [Agenda; 2],
    hop_sides: Vec<Side>,
    pub(crate) pools: Pools,
    pub(crate) recorder: Recorder,
    path: Path<Payload>,
    verdicts: Verdicts<Payload>,
}

impl Network {
    pub(crate) fn new(path: Path<Payload>, hop_sides: Vec<Side>, agendas: [Agenda; 2], recorder: Recorder) -> Self {
        Self {
            now: Instant::ZERO,
            agendas,
            hop_sides,
            pools: Pools::default(),
            recorder,
            path,
            verdicts: Verdicts::default(),
        }
    }

    /// Who is to be woken on a side.
    pub(crate) fn agenda(&mut self, side: Side) -> &mut Agenda {
        &mut self.agendas[side as usize]
    }

    /// Wakes a participant that has nothing more to do now when it may have, and not before.
    #[inline]
    pub(crate) fn plan(&mut self, timer: TimerId, why: Why, next: Option<Instant>) {
        let next = self.later(next);
        let agenda = &mut self.agenda(timer.side).others;
        match why {
            Why::Turn => agenda.set(timer.number, next),
            Why::Arrival => agenda.set_by(timer.number, next),
        }
    }

    /// Whoever has nothing more to do now must not ask for now again.
    pub(crate) fn later(&self, next: Option<Instant>) -> Option<Instant> {
        let now = self.now;
        debug_assert!(next.is_none_or(|next| next > now), "at {now:?}");
        next.map(|next| next.max(now + Duration::from_nanos(1)))
    }

    /// When somebody is to be woken next, on either side.
    pub(crate) fn next_turn(&self) -> Option<Instant> {
        let [near, far] = self.agendas.each_ref().map(|agenda| agenda.next().map(|(time, _)| time));
        earlier(near, far)
    }

    /// Puts what an end of a flow sends on its way; whoever looks at packets can read the header of one of a stream,
    /// whose positions these are.
    #[inline(never)]
    pub(crate) fn send(&mut self, mut packet: Box<Packet<Payload>>, positions: Option<&mut Positions>) {
        self.path.classify(&mut packet);
        self.recorder.on_sent(&packet, || match &packet.payload {
            Payload::Segment(segment) => positions.map(|positions| positions.header(segment)),
            Payload::Datagram(_) | Payload::Probe => None,
        });
        self.start(packet);
    }

    /// Puts what an end of a probe sends on its way.
    pub(crate) fn send_probe(&mut self, packet: Box<Packet<Payload>>) {
        self.recorder.on_sent(&packet, || None);
        self.start(packet);
    }

    #[inline(always)]
    fn start(&mut self, mut packet: Box<Packet<Payload>>) {
        let hop = self.path.first_hop(&mut packet);
        self.enter(hop, packet);
    }

    #[inline(always)]
    fn enter(&mut self, hop: usize, packet: Box<Packet<Payload>>) {
        self.recorder.on_enter_hop(hop, &packet, self.now);
        let entered = &mut self.path.hops[hop].hop;
        entered.accept(packet, self.now, &mut self.verdicts);
        let next = entered.next_wakeup();
        self.agenda(self.hop_sides[hop]).hops.set_by(hop, next);
        self.note_verdicts(hop);
    }

    /// A packet that has come out of a hop; call until there is none.
    pub(crate) fn poll(&mut self, hop: usize) -> Option<Box<Packet<Payload>>> {
        let polled = self.path.hops[hop].hop.poll(self.now, &mut self.verdicts);
        self.note_verdicts(hop);
        let packet = polled?;
        self.recorder.on_leave_hop(hop, &packet, self.now);
        Some(packet)
    }

    /// When [`Network::poll`] may next have something to say of a hop.
    pub(crate) fn next_wakeup(&self, hop: usize) -> Option<Instant> {
        self.path.hops[hop].hop.next_wakeup()
    }

    /// Takes a packet to the next hop of its route; gives it back if it has arrived at its end.
    pub(crate) fn carry_on(&mut self, mut packet: Box<Packet<Payload>>) -> Option<Box<Packet<Payload>>> {
        let Some(hop) = self.path.next_hop(&mut packet) else {
            self.recorder.on_received(&packet, self.now);
            return Some(packet);
        };
        self.enter(hop, packet);
        None
    }

    /// Takes back the box of a packet that has arrived.
    pub(crate) fn take_back(&mut self, packet: Box<Packet<Payload>>) {
        self.pools.take_back(packet);
    }

    fn note_verdicts(&mut self, hop: usize) {
        if !self.verdicts.is_empty() {
            self.record_verdicts(hop);
        }
    }

    #[cold]
    fn record_verdicts(&mut self, hop: usize) {
        for (packet, reason) in self.verdicts.take_dropped() {
            self.recorder.on_dropped(hop, &packet, reason);
            self.pools.take_back(packet);
        }
        for (size, reason) in self.verdicts.marked() {
            self.recorder.on_marked(hop, *size, *reason);
        }
        for copy in self.verdicts.duplicated() {
            self.recorder.on_duplicated(hop, *copy);
        }
        self.verdicts.clear();
    }

    /// Samples the queues at the end of an interval.
    pub(crate) fn sample(&mut self) {
        for hop in 0..self.path.hops.len() {
            let backlog = self.path.hops[hop].hop.backlog(self.now, &mut self.verdicts);
            self.note_verdicts(hop);
            let NamedHop { name, hop } = &mut self.path.hops[hop];
            let capacity = hop.capacity(self.now - self.recorder.interval(), self.now);
            self.recorder.sample_hop(name, HopSample { backlog, capacity }, self.now);
        }
    }

    /// What went through each hop until `end`.
    pub(crate) fn accounts(&mut self, end: Instant) -> Vec<HopAccount> {
        for hop in 0..self.path.hops.len() {
            // Serves the queue up to the end, so that what is inside is what is inside then.
            self.path.hops[hop].hop.backlog(end, &mut self.verdicts);
            self.note_verdicts(hop);
            for packet in self.path.hops[hop].hop.on_wire() {
                self.recorder.on_wire(hop, packet);
            }
        }
        self.path.hops.iter_mut().map(|hop| hop.account(end)).collect()
    }
}

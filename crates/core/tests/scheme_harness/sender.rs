//! A sender without a network: it keeps the accounts of a transport, so that any steps at all make a legal sequence of
//! events.

use std::collections::VecDeque;

use bakeoff_core::scheme::{
    Ack, Acked, Cause, Congestion, EcnFeedback, Lost, RateSample, Restart, Sent, State, Timeout, TxStart,
};
use bakeoff_core::units::{Bytes, Duration, Instant};

use super::step::{AckStep, Step};
use super::watched::Watched;

/// The shortest round trip.
const SHORTEST_RTT: Duration = Duration::from_micros(1);
/// Packets sent in one case, so that none takes long.
const PACKET_BUDGET: u64 = 10_000;
/// Timer calls in one step; a scheme with a fine timer does not get through an idle hour.
const TIMER_BUDGET: u32 = 5_000;

/// A packet that is not cumulatively acknowledged.
#[derive(Clone, Debug)]
struct Outstanding {
    sent: Instant,
    size: Bytes,
    scheme_state: u64,
    snapshot: Snapshot,
    is_sacked: bool,
    is_lost: bool,
    /// Sent again since it was declared lost.
    is_retransmitted: bool,
    was_retransmitted: bool,
}

/// The delivery counters when a packet was sent.
#[derive(Clone, Copy, Debug)]
struct Snapshot {
    delivered: u64,
    delivered_at: Instant,
    first_sent: Instant,
    is_app_limited: bool,
}

/// What one ack delivers.
#[derive(Debug, Default)]
struct Delivery {
    packets: Vec<u64>,
    bytes: Bytes,
    /// The most recently sent packet, and whether it was ever retransmitted.
    newest: Option<(Instant, Snapshot, bool)>,
    is_advance: bool,
}

pub(crate) struct Sender {
    scheme: Watched,
    mss: Bytes,
    now: Instant,
    outstanding: VecDeque<Outstanding>,
    first: u64,
    state: State,
    /// The episode ends when everything below is acknowledged.
    high: u64,
    may_undo: bool,
    in_flight: u32,
    /// Outstanding packets that are selectively acknowledged.
    sacked: usize,
    delivered: u64,
    delivered_at: Instant,
    first_sent: Instant,
    lost: u64,
    marked: u64,
    last_sent: Instant,
    srtt: Duration,
    min_rtt: Duration,
    is_app_limited: bool,
    is_cwnd_limited: bool,
    max_packets_out: u32,
    retransmissions: u64,
}

impl Sender {
    /// A connection whose handshake took `rtt`.
    pub(crate) fn new(scheme: Watched, mss: Bytes, rtt: Duration) -> Self {
        let now = Instant::ZERO + rtt;
        Self {
            scheme,
            mss,
            now,
            outstanding: VecDeque::new(),
            first: 0,
            state: State::Open,
            high: 0,
            may_undo: false,
            in_flight: 0,
            sacked: 0,
            delivered: 0,
            delivered_at: now,
            first_sent: now,
            lost: 0,
            marked: 0,
            last_sent: now,
            srtt: rtt,
            min_rtt: rtt,
            is_app_limited: false,
            is_cwnd_limited: false,
            max_packets_out: 0,
            retransmissions: 0,
        }
    }

    pub(crate) fn scheme(&self) -> &Watched {
        &self.scheme
    }

    pub(crate) fn take(&mut self, step: &Step) {
        match step {
            Step::Wait(time) => self.wait(*time),
            Step::Offer { packets, is_runt } => self.offer(*packets, *is_runt),
            Step::Ack(ack) => self.ack(ack),
            Step::Rounds { count, rtt, packets_per_ack } => {
                for _ in 0..*count {
                    self.round(*rtt, *packets_per_ack);
                }
            }
            Step::ReorderingTimeout { lose } => {
                if self.lose(*lose, usize::MAX) > 0 {
                    self.enter_recovery();
                }
            }
            Step::Timeout { lose } => self.timeout(*lose),
            Step::Undo { nothing_was_lost } => self.undo(*nothing_was_lost),
        }
        self.check_accounts();
    }

    /// Time passes; the scheme's timer is called whenever it wants to be.
    fn wait(&mut self, time: Duration) {
        let end = self.now + time;
        self.scheme.run_timer(self.now);
        for _ in 0..TIMER_BUDGET {
            match self.scheme.next_timer() {
                Some(timer) if timer <= end => {
                    self.now = self.now.max(timer);
                    self.scheme.run_timer(self.now);
                }
                _ => {
                    self.now = end;
                    return;
                }
            }
        }
    }

    fn next(&self) -> u64 {
        self.first + self.outstanding.len() as u64
    }

    fn rto(&self) -> Duration {
        self.srtt + Duration::from_millis(200)
    }

    /// The application writes; the window says how much of it leaves, lost packets first.
    fn offer(&mut self, packets: u32, is_runt: bool) {
        self.retransmit_lost();
        let mut left = packets;
        while left > 0 && self.scheme.has_room(self.in_flight) && self.next() < PACKET_BUDGET {
            left -= 1;
            let size = if is_runt && left == 0 { Bytes::new(1) } else { self.mss };
            self.send_new(size);
        }
        self.is_cwnd_limited = !self.scheme.has_room(self.in_flight);
        self.is_app_limited = !self.is_cwnd_limited;
        self.max_packets_out = self.outstanding.len() as u32;
    }

    fn retransmit_lost(&mut self) {
        if self.in_flight as usize + self.sacked == self.outstanding.len() {
            return;
        }
        for index in 0..self.outstanding.len() {
            let packet = &self.outstanding[index];
            if !self.scheme.has_room(self.in_flight) || self.retransmissions > PACKET_BUDGET {
                return;
            }
            if packet.is_lost && !packet.is_retransmitted {
                self.retransmit(index);
            }
        }
    }

    fn retransmit(&mut self, index: usize) {
        self.retransmissions += 1;
        let size = self.outstanding[index].size;
        let (snapshot, scheme_state) = self.tell_sent(size, true);
        let packet = &mut self.outstanding[index];
        (packet.sent, packet.snapshot, packet.scheme_state) = (self.now, snapshot, scheme_state);
        (packet.is_retransmitted, packet.was_retransmitted) = (true, true);
    }

    fn send_new(&mut self, size: Bytes) {
        if self.outstanding.is_empty() {
            let idle = self.now.since(self.last_sent);
            let rto = self.rto();
            let is_app_limited = self.is_app_limited;
            self.scheme.on_restart(&Restart { now: self.now, idle, rto, is_app_limited });
            self.first_sent = self.now;
            self.delivered_at = self.now;
        }
        let (snapshot, scheme_state) = self.tell_sent(size, false);
        self.outstanding.push_back(Outstanding {
            sent: self.now,
            size,
            scheme_state,
            snapshot,
            is_sacked: false,
            is_lost: false,
            is_retransmitted: false,
            was_retransmitted: false,
        });
    }

    fn tell_sent(&mut self, size: Bytes, is_retransmission: bool) -> (Snapshot, u64) {
        if self.in_flight == 0 {
            self.scheme.on_tx_start(&TxStart {
                now: self.now,
                idle: self.now.since(self.last_sent),
                delivered: self.delivered,
                next_sequence: self.next(),
                is_app_limited: self.is_app_limited,
            });
        }
        self.in_flight += 1;
        self.last_sent = self.now;
        let snapshot = Snapshot {
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent: self.first_sent,
            is_app_limited: self.is_app_limited,
        };
        let scheme_state = self.scheme.on_sent(&Sent {
            now: self.now,
            size,
            is_retransmission,
            in_flight: self.in_flight,
            delivered: self.delivered,
        });
        (snapshot, scheme_state)
    }

    /// A window leaves, and its acks return after `rtt`, at twice the pace at which the round trip could carry them.
    fn round(&mut self, rtt: Duration, packets_per_ack: u32) {
        self.offer(u32::MAX, false);
        let flight = self.outstanding.len() as u32;
        let acks = flight.div_ceil(packets_per_ack);
        let half = rtt.scale(1, 2);
        self.wait(half);
        for _ in 0..acks {
            let after = half.scale(1, u64::from(acks));
            let plain =
                AckStep { after, cumulative: packets_per_ack, has_rtt: true, has_rate: true, ..AckStep::default() };
            self.ack(&plain);
            self.offer(u32::MAX, false);
        }
    }

    /// An acknowledgement, in the order in which the transport draws its conclusions.
    fn ack(&mut self, step: &AckStep) {
        self.wait(step.after);
        let (prior_in_flight, prior_lost) = (self.in_flight, self.lost);
        let mut delivery = Delivery::default();
        let highest = self.deliver(step, &mut delivery);
        if let Some((sent, ..)) = delivery.newest {
            self.now = self.now.max(sent + SHORTEST_RTT);
        }
        self.tell_marks(step, &delivery);
        let rtt = delivery
            .newest
            .filter(|(_, _, was_retransmitted)| !was_retransmitted && step.has_rtt)
            .map(|(sent, ..)| self.now.since(sent));
        if let Some(rtt) = rtt {
            self.min_rtt = self.min_rtt.min(rtt);
            self.srtt = self.srtt.scale(7, 8) + rtt.scale(1, 8);
        }
        self.tell_delivery(step, &delivery, rtt);
        if step.is_probe_answer && self.state <= State::Cwr {
            self.reduce(Cause::TailLoss, State::Cwr);
            self.recover();
        }
        if self.state != State::Open && self.first >= self.high {
            if step.is_spurious && self.may_undo {
                self.may_undo = false;
                self.scheme.on_undo(self.now);
            }
            self.recover();
        }
        if self.lose(step.lose, highest) > 0 && self.state != State::Recovery {
            self.enter_recovery();
        } else if step.is_ecn_echo && self.state < State::Cwr {
            self.reduce(Cause::Ecn, State::Cwr);
        } else if self.state == State::Open && highest > 0 {
            self.state = State::Disorder;
        }
        self.tell_ack(step, &delivery, rtt, prior_in_flight, (self.lost - prior_lost) as u32);
    }

    fn tell_marks(&mut self, step: &AckStep, delivery: &Delivery) {
        let newly_marked = if step.is_ecn_echo { step.marked } else { 0 };
        self.marked += u64::from(newly_marked);
        self.scheme.on_ecn_feedback(&EcnFeedback {
            now: self.now,
            newly_delivered: delivery.packets.len() as u32,
            newly_marked,
            delivered: self.delivered,
            marked: self.marked,
            is_sce_echo: step.is_sce_echo,
            state: self.state,
            first_unacked: self.first,
            next_sequence: self.next(),
        });
    }

    fn tell_delivery(&mut self, step: &AckStep, delivery: &Delivery, rtt: Option<Duration>) {
        self.scheme.on_acked(&Acked {
            now: self.now,
            newly_delivered: delivery.packets.len() as u32,
            newly_delivered_bytes: delivery.bytes,
            is_unforeseen: step.is_ecn_echo || self.sacked > 0,
            rtt,
            srtt: self.srtt,
            first_unacked: self.first,
            next_sequence: self.next(),
        });
    }

    fn tell_ack(
        &mut self,
        step: &AckStep,
        delivery: &Delivery,
        rtt: Option<Duration>,
        prior_in_flight: u32,
        newly_lost: u32,
    ) {
        let rate =
            delivery.newest.filter(|_| step.has_rate).map_or_else(RateSample::default, |newest| self.rate(newest));
        if !delivery.packets.is_empty() {
            self.delivered_at = self.now;
        }
        let one_way_delay = rtt.filter(|_| step.has_one_way_delay).map(|rtt| rtt.scale(1, 2) + Duration::from_secs(1));
        let ack = Ack {
            now: self.now,
            newly_delivered: delivery.packets.len() as u32,
            newly_delivered_bytes: delivery.bytes,
            newly_lost,
            is_advance: delivery.is_advance,
            may_raise_cwnd: delivery.is_advance || (step.is_reordering_common && !delivery.packets.is_empty()),
            is_cwnd_limited: self.is_cwnd_limited,
            max_packets_out: self.max_packets_out,
            prior_in_flight,
            in_flight: self.in_flight,
            state: self.state,
            rtt,
            srtt: self.srtt,
            min_rtt: self.min_rtt,
            is_delayed: step.is_delayed,
            one_way_delay,
            rate,
            delivered: self.delivered,
            first_unacked: self.first,
            next_sequence: self.next(),
            next_departure: self.now,
            is_ecn_echo: step.is_ecn_echo,
            packets: &delivery.packets,
        };
        self.scheme.on_ack(&ack);
    }

    /// Takes what the ack reports, cumulatively and selectively; returns how many packets lie below the highest
    /// selectively acknowledged.
    fn deliver(&mut self, step: &AckStep, delivery: &mut Delivery) -> usize {
        let mut left = step.cumulative;
        // What the receiver has is acknowledged together with what was missing before it.
        while left > 0 || (delivery.is_advance && self.outstanding.front().is_some_and(|packet| packet.is_sacked)) {
            let Some(packet) = self.outstanding.pop_front() else { break };
            left = left.saturating_sub(1);
            self.first += 1;
            delivery.is_advance = true;
            if packet.is_sacked {
                self.sacked -= 1;
            } else {
                self.deliver_packet(&packet, delivery);
            }
        }
        // A receiver never reports the first missing packet selectively.
        let start = step.skip as usize + 1;
        let end = start.saturating_add(step.selective as usize).min(self.outstanding.len());
        for index in start..end {
            let packet = self.outstanding[index].clone();
            if !packet.is_sacked {
                self.deliver_packet(&packet, delivery);
                self.sacked += 1;
                let packet = &mut self.outstanding[index];
                (packet.is_sacked, packet.is_lost, packet.is_retransmitted) = (true, false, false);
            }
        }
        if self.sacked == 0 {
            return 0;
        }
        self.outstanding.iter().rposition(|packet| packet.is_sacked).unwrap_or(0)
    }

    fn deliver_packet(&mut self, packet: &Outstanding, delivery: &mut Delivery) {
        if !packet.is_lost || packet.is_retransmitted {
            self.in_flight -= 1;
        }
        self.delivered += 1;
        delivery.packets.push(packet.scheme_state);
        delivery.bytes += packet.size;
        if delivery.newest.is_none_or(|(sent, ..)| packet.sent >= sent) {
            delivery.newest = Some((packet.sent, packet.snapshot, packet.was_retransmitted));
            self.first_sent = packet.sent;
        }
    }

    fn rate(&self, (sent, snapshot, is_retransmission): (Instant, Snapshot, bool)) -> RateSample {
        let interval = sent.since(snapshot.first_sent).max(self.now.since(snapshot.delivered_at));
        let is_valid = interval >= self.min_rtt && !interval.is_zero();
        RateSample {
            delivered: self.delivered - snapshot.delivered,
            interval: is_valid.then_some(interval),
            prior_delivered: snapshot.delivered,
            is_app_limited: snapshot.is_app_limited,
            is_retransmission,
        }
    }

    /// Declares up to `most` packets among the first `below` lost; returns how many.
    fn lose(&mut self, most: u32, below: usize) -> u32 {
        let mut count = 0;
        for packet in self.outstanding.iter_mut().take(below) {
            if count == most {
                break;
            }
            if !packet.is_sacked && (!packet.is_lost || packet.is_retransmitted) {
                (packet.is_lost, packet.is_retransmitted) = (true, false);
                count += 1;
                self.lost += 1;
                self.in_flight -= 1;
                self.scheme.on_lost(&Lost {
                    now: self.now,
                    size: packet.size,
                    packet: packet.scheme_state,
                    is_timer: false,
                });
            }
        }
        count
    }

    fn enter_recovery(&mut self) {
        if self.state < State::Cwr || self.state == State::Loss {
            self.reduce(Cause::Loss, State::Recovery);
            self.may_undo = true;
        } else if self.state == State::Cwr {
            let (now, in_flight) = (self.now, self.in_flight);
            self.scheme.on_loss_while_reducing(&Congestion { now, cause: Cause::Loss, in_flight, is_timer: false });
        }
        self.state = State::Recovery;
    }

    fn reduce(&mut self, cause: Cause, state: State) {
        self.high = self.next();
        self.may_undo = false;
        self.scheme.on_congestion(&Congestion { now: self.now, cause, in_flight: self.in_flight, is_timer: false });
        self.state = state;
    }

    fn recover(&mut self) {
        if matches!(self.state, State::Cwr | State::Recovery) {
            self.scheme.on_reduced(self.now);
        }
        if self.state >= State::Cwr {
            self.scheme.on_recovered(self.now);
        }
        self.state = State::Open;
    }

    fn timeout(&mut self, lose: u32) {
        if self.outstanding.is_empty() {
            return;
        }
        self.wait(self.rto());
        let prior_in_flight = self.in_flight;
        self.lose(lose.max(1), usize::MAX);
        let is_first = self.state <= State::Disorder || self.first >= self.high;
        self.may_undo |= is_first;
        self.state = State::Loss;
        self.high = self.next();
        let (now, in_flight, next_sequence) = (self.now, self.in_flight, self.next());
        self.scheme.on_timeout(&Timeout { now, prior_in_flight, in_flight, next_sequence, is_first });
        // The first segment leaves whatever the window says.
        let first = &self.outstanding[0];
        if first.is_lost && !first.is_retransmitted {
            self.retransmit(0);
        }
    }

    /// What was taken for lost had only been late.
    fn undo(&mut self, nothing_was_lost: bool) {
        if !std::mem::take(&mut self.may_undo) {
            return;
        }
        if nothing_was_lost {
            for packet in &mut self.outstanding {
                if packet.is_lost && !packet.is_retransmitted {
                    self.in_flight += 1;
                }
                packet.is_lost = false;
            }
        }
        self.scheme.on_undo(self.now);
        if self.state == State::Recovery {
            self.recover();
        } else {
            self.state = State::Open;
        }
    }

    fn check_accounts(&self) {
        let in_flight = self
            .outstanding
            .iter()
            .filter(|packet| !packet.is_sacked && (!packet.is_lost || packet.is_retransmitted))
            .count();
        assert_eq!(in_flight as u32, self.in_flight, "the harness lost count");
    }
}

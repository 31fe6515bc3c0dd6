//! Probes: requests at fixed intervals, each answered at once by a packet of the same size, as `ping` and its target
//! do.
//!
//! Neither end measures: who carries their packets knows when they were sent and when they arrived. An answer has the
//! number of its request, as the sequence number of an ICMP echo.

use std::collections::VecDeque;

use crate::endpoint::Endpoint;
use crate::packet::{Ecn, Envelope, FlowId, Packet};
use crate::packet_pool::PacketPool;
use crate::units::{Bytes, Duration, Instant};

/// What the packets of a probe look like, there and back.
#[derive(Clone, Copy, Debug)]
pub struct ProbePacket {
    /// The number behind those of the flows that marks the probe's packets.
    pub flow: FlowId,
    /// Size of the IP packet.
    pub size: Bytes,
    /// ECN codepoint.
    pub ecn: Ecn,
}

impl ProbePacket {
    fn send<Q: From<()> + Default>(self, is_request: bool, number: u64, now: Instant) -> Packet<Q> {
        let mut packet = Packet::new(self.flow, is_request, number, self.size, now, ().into());
        packet.ecn = self.ecn;
        packet
    }
}

/// Sends requests, the first at `start`, the last before `stop`.
#[derive(Clone, Debug)]
pub struct Asker {
    packet: ProbePacket,
    interval: Duration,
    stop: Instant,
    next: Instant,
    sent: u64,
}

impl Asker {
    /// An asker of packets like `packet`; the interval is more than zero.
    pub fn new(packet: ProbePacket, interval: Duration, start: Instant, stop: Instant) -> Self {
        Self { packet, interval, stop, next: start, sent: 0 }
    }
}

impl Endpoint<()> for Asker {
    /// An answer is back: there is nothing to do about it.
    fn accept(&mut self, (): &(), _: Envelope, _: Instant) {}

    fn poll<Q: From<()> + Default>(&mut self, now: Instant, pool: &mut PacketPool<Q>) -> Option<Box<Packet<Q>>> {
        if now < self.next_wakeup()? {
            return None;
        }
        let request = self.packet.send(true, self.sent, now);
        self.sent += 1;
        self.next += self.interval;
        Some(pool.put(request))
    }

    fn next_wakeup(&self) -> Option<Instant> {
        (self.next < self.stop).then_some(self.next)
    }
}

/// Answers every request at once.
#[derive(Clone, Debug)]
pub struct Answerer {
    packet: ProbePacket,
    /// Numbers of the requests that are to be answered now.
    asked: VecDeque<u64>,
}

impl Answerer {
    /// An answerer with packets like `packet`.
    pub fn new(packet: ProbePacket) -> Self {
        Self { packet, asked: VecDeque::new() }
    }
}

impl Endpoint<()> for Answerer {
    fn accept(&mut self, (): &(), request: Envelope, _: Instant) {
        self.asked.push_back(request.number);
    }

    fn poll<Q: From<()> + Default>(&mut self, now: Instant, pool: &mut PacketPool<Q>) -> Option<Box<Packet<Q>>> {
        let number = self.asked.pop_front()?;
        Some(pool.put(self.packet.send(false, number, now)))
    }

    fn next_wakeup(&self) -> Option<Instant> {
        None
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may fail")]

    use super::*;

    const PACKET: ProbePacket = ProbePacket { flow: FlowId(3), size: Bytes::new(84), ecn: Ecn::Ect1 };

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    fn poll(end: &mut impl Endpoint<()>, millis: u64) -> Option<Box<Packet<()>>> {
        end.poll(at(millis), &mut PacketPool::default())
    }

    fn asker(start: u64, stop: u64) -> Asker {
        Asker::new(PACKET, Duration::from_millis(100), at(start), at(stop))
    }

    #[test]
    fn requests_leave_at_every_interval_from_start_to_before_stop() {
        let mut asker = asker(30, 230);
        assert!(poll(&mut asker, 29).is_none());
        let (mut sent, mut pool) = (Vec::new(), PacketPool::default());
        while let Some(time) = asker.next_wakeup() {
            let request: Box<Packet<()>> = asker.poll(time, &mut pool).unwrap();
            assert!(request.is_data_direction);
            assert_eq!((request.flow, request.size, request.ecn), (PACKET.flow, PACKET.size, PACKET.ecn));
            sent.push((request.number, request.sent));
            assert!(asker.poll(time, &mut pool).is_none());
        }
        assert_eq!(sent, [(0, at(30)), (1, at(130))]);
        assert!(poll(&mut asker, 1_000).is_none());
    }

    #[test]
    fn a_late_poll_does_not_shift_the_later_requests() {
        let mut asker = asker(0, 1_000);
        assert_eq!(poll(&mut asker, 50).unwrap().sent, at(50));
        assert_eq!(asker.next_wakeup(), Some(at(100)));
    }

    #[test]
    fn an_answer_has_the_size_and_the_number_of_its_request() {
        let (mut asker, mut answerer) = (asker(0, 1_000), Answerer::new(PACKET));
        let _lost = poll(&mut asker, 0).unwrap();
        answerer.accept(&(), poll(&mut asker, 100).unwrap().envelope(), at(120));
        let answer = poll(&mut answerer, 120).unwrap();
        assert_eq!((answer.number, answer.size, answer.ecn, answer.sent), (1, PACKET.size, PACKET.ecn, at(120)));
        assert!(!answer.is_data_direction);
        assert!(poll(&mut answerer, 120).is_none());
        assert_eq!(answerer.next_wakeup(), None);
    }
}

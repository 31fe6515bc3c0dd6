//! What is in flight, packet by packet and in bytes.
//!
//! **Source.** Chromium `net/quic/core`: `quic_unacked_packet_map.cc` (a packet is in flight until it is acknowledged or lost, and
//! then never again), and `bandwidth_sampler.cc`: what a packet remembers of the time when it was sent, and the bandwidth that its
//! ack shows.

use std::collections::VecDeque;

use crate::scheme::bbr::fixed_point::Bandwidth;
use crate::scheme::{Ack, Lost, Sent};
use crate::units::Instant;

/// The packet that was acknowledged last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Acked {
    /// Bytes that had been sent with it.
    sent: u64,
    /// When it was sent, and acknowledged.
    sent_at: Instant,
    at: Instant,
}

/// A packet in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::scheme) struct Packet {
    /// What QUIC counts of it.
    pub(in crate::scheme) bytes: u64,
    /// Bytes that had been acknowledged when it was sent, and sent with it.
    delivered: u64,
    sent: u64,
    sent_at: Instant,
    /// As it was when the packet was sent.
    last_acked: Acked,
}

/// The packets in flight. They are numbered from one; a retransmission is a packet of its own.
#[derive(Debug)]
pub(in crate::scheme) struct Flight {
    /// What QUIC counts of a packet beside its payload.
    overhead: u64,
    /// The packets from number `first` on, `None` for those that are not in flight any more.
    packets: VecDeque<Option<Packet>>,
    first: u64,
    count: u32,
    bytes: u64,
    /// Bytes sent and acknowledged so far, and lost since the last ack.
    sent: u64,
    delivered: u64,
    lost: u64,
    last_acked: Acked,
}

impl Flight {
    /// An empty one, of packets with so many bytes beside their payload.
    pub(in crate::scheme) fn new(overhead: u64) -> Self {
        Self {
            overhead,
            packets: VecDeque::new(),
            first: 1,
            count: 0,
            bytes: 0,
            sent: 0,
            delivered: 0,
            lost: 0,
            last_acked: Acked::default(),
        }
    }

    /// Bytes in flight.
    pub(in crate::scheme) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Bytes that were in flight before the ack that is being processed, with what it has shown to be lost.
    pub(in crate::scheme) fn bytes_before(&self) -> u64 {
        self.bytes + self.lost
    }

    /// Bytes acknowledged so far.
    pub(in crate::scheme) fn delivered(&self) -> u64 {
        self.delivered
    }

    /// Number of the packet sent last; zero before the first.
    pub(in crate::scheme) fn newest(&self) -> u64 {
        self.first + self.packets.len() as u64 - 1
    }

    /// A packet leaves, and what it counts for.
    pub(in crate::scheme) fn on_sent(&mut self, sent: &Sent) -> u64 {
        let bytes = sent.size.count() + self.overhead;
        self.sent += bytes;
        if self.bytes == 0 {
            // What is sent from here on is measured from here on.
            self.last_acked = Acked { sent: self.sent, sent_at: sent.now, at: sent.now };
        }
        let Self { sent: all, delivered, last_acked, .. } = *self;
        self.packets.push_back(Some(Packet { bytes, delivered, sent: all, sent_at: sent.now, last_acked }));
        self.count += 1;
        self.bytes += bytes;
        bytes
    }

    /// A packet was lost.
    pub(in crate::scheme) fn on_lost(&mut self, lost: &Lost) {
        self.lost += self.take(lost.packet).map_or(0, |packet| packet.bytes);
    }

    /// A packet was acknowledged; `None` if it had been lost.
    pub(in crate::scheme) fn on_acked(&mut self, number: u64, now: Instant) -> Option<Packet> {
        let packet = self.take(number)?;
        self.delivered += packet.bytes;
        self.last_acked = Acked { sent: packet.sent, sent_at: packet.sent_at, at: now };
        Some(packet)
    }

    /// The bandwidth that an ack shows, right after [`Flight::on_acked`] gave its packet. Of the packet acknowledged last before this one
    /// was sent: the lesser of the rates at which bytes were acknowledged since it was, and sent since it was
    /// (`OnPacketAcknowledgedInner`).
    pub(in crate::scheme) fn bandwidth(&self, packet: &Packet, now: Instant) -> Option<Bandwidth> {
        let since = packet.last_acked;
        if now <= since.at {
            return None;
        }
        let acked = Bandwidth::of_bytes(self.delivered - packet.delivered, now.since(since.at));
        if packet.sent_at <= since.sent_at {
            return Some(acked);
        }
        Some(acked.min(Bandwidth::of_bytes(packet.sent - since.sent, packet.sent_at.since(since.sent_at))))
    }

    /// An ack has been processed. Returns the bytes lost since the last one.
    pub(in crate::scheme) fn end_ack(&mut self, ack: &Ack<'_>) -> u64 {
        // Of a packet that was sent twice as a probe the transport knows one copy.
        while self.count > ack.in_flight {
            let Some(oldest) = self.packets.iter().position(Option::is_some) else { break };
            self.take(self.first + oldest as u64);
        }
        std::mem::take(&mut self.lost)
    }

    fn take(&mut self, number: u64) -> Option<Packet> {
        let packet = self.packets.get_mut(number.checked_sub(self.first)? as usize)?.take()?;
        self.count -= 1;
        self.bytes -= packet.bytes;
        while self.packets.len() > 1 && self.packets.front().is_some_and(Option::is_none) {
            self.packets.pop_front();
            self.first += 1;
        }
        Some(packet)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheme::window::ack as one_ack;
    use crate::units::{Bytes, Duration};

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    fn sent(payload: u64, now: Instant) -> Sent {
        Sent { now, size: Bytes::new(payload), is_retransmission: false, in_flight: 1, delivered: 0 }
    }

    fn lost(packet: u64) -> Lost {
        Lost { now: Instant::ZERO, size: Bytes::ZERO, packet }
    }

    #[test]
    fn packets_of_all_sizes_are_counted_until_they_are_acknowledged_or_lost() {
        let (mut flight, now) = (Flight::new(22), at(1));
        assert_eq!(flight.newest(), 0);
        let counted = [1_387, 1_387, 187].map(|payload| flight.on_sent(&sent(payload, at(0))));
        assert_eq!((counted, flight.newest(), flight.bytes()), ([1_409, 1_409, 209], 3, 3_027));
        assert_eq!(flight.on_acked(1, now).map(|packet| packet.bytes), Some(1_409));
        flight.on_lost(&lost(2));
        assert_eq!((flight.bytes(), flight.bytes_before(), flight.delivered()), (209, 1_618, 1_409));
        flight.on_sent(&sent(1_387, now));
        assert_eq!(flight.end_ack(&Ack { in_flight: 2, ..one_ack(1) }), 1_409);
        assert_eq!(flight.on_acked(2, now), None, "it was lost");
        assert_eq!(flight.on_acked(4, now).map(|packet| packet.delivered), Some(1_409));
        assert_eq!(flight.on_acked(3, now).map(|packet| packet.delivered), Some(0));
        assert_eq!((flight.bytes(), flight.bytes_before(), flight.newest()), (0, 0, 4));
        assert_eq!(flight.on_acked(5, now), None, "never sent");
    }

    #[test]
    fn what_the_transport_does_not_wait_for_is_not_in_flight() {
        let mut flight = Flight::new(0);
        for _ in 0..3 {
            flight.on_sent(&sent(1_000, at(0)));
        }
        flight.on_acked(3, at(1));
        flight.end_ack(&Ack { in_flight: 1, ..one_ack(1) });
        assert_eq!(flight.bytes(), 1_000);
        assert_eq!(flight.on_acked(1, at(1)), None);
        assert!(flight.on_acked(2, at(1)).is_some());
    }

    /// Packets of 1000 bytes that leave at the first times, and whose acks come at the second ones; `None` is lost, as the next
    /// ack shows. What the acks show, in bytes per millisecond.
    fn bandwidths(packets: &[(u64, Option<u64>)]) -> Vec<Option<u64>> {
        let mut flight = Flight::new(0);
        let mut events: Vec<_> = (1..).zip(packets).map(|(number, (sent, _))| (*sent, true, number)).collect();
        events.extend((1..).zip(packets).filter_map(|(number, (_, acked))| Some(((*acked)?, false, number))));
        events.sort_unstable();
        let mut shown = Vec::new();
        for (millis, is_departure, number) in events {
            if is_departure {
                flight.on_sent(&sent(1_000, at(millis)));
                continue;
            }
            (1..number).for_each(|earlier| flight.on_lost(&lost(earlier)));
            let packet = flight.on_acked(number, at(millis)).unwrap();
            let bandwidth = flight.bandwidth(&packet, at(millis));
            // A bandwidth is rounded down, and so a microsecond more.
            shown.push(bandwidth.map(|bandwidth| bandwidth.bytes_in(1_001)));
        }
        shown
    }

    #[test]
    fn the_first_flight_is_measured_from_its_first_packet_on() {
        // 1, 2 and 3 packets in 100, 110 and 120 ms; the last two left 1 and 2 ms behind the first, which is faster.
        assert_eq!(bandwidths(&[(0, Some(100)), (1, Some(110)), (2, Some(120))]), [Some(10), Some(18), Some(25)]);
    }

    #[test]
    fn after_silence_it_begins_anew_and_no_time_shows_nothing() {
        assert_eq!(bandwidths(&[(0, Some(50)), (1_000, Some(1_050))])[1], Some(20));
        let mut flight = Flight::new(0);
        flight.on_sent(&sent(1_000, at(5)));
        let packet = flight.on_acked(1, at(5)).unwrap();
        assert_eq!(flight.bandwidth(&packet, at(5)), None);
    }

    #[test]
    fn acks_that_come_faster_than_packets_left_show_the_rate_at_which_they_left() {
        let packets = [(0, Some(100)), (60, Some(129)), (70, Some(130)), (120, Some(150)), (131, Some(151))];
        // Since the third packet two more left in 61 ms, and were acknowledged in 21.
        assert_eq!(bandwidths(&packets)[4], Some(32));
    }

    #[test]
    fn what_was_lost_counts_as_sent() {
        // Since the second packet two more left in 71 ms, one of which was acknowledged, in 21.
        let packets = [(0, Some(100)), (60, Some(130)), (70, None), (131, Some(151))];
        assert_eq!(bandwidths(&packets)[2], Some(28));
    }
}

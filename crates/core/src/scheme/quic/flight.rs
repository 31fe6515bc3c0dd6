//! What is in flight, packet by packet and in bytes.
//!
//! **Source.** Chromium `net/quic/core`: `quic_unacked_packet_map.cc` (a packet is in flight until it is acknowledged or lost, and
//! then never again), and of `bandwidth_sampler.cc` what a packet remembers of the bytes acknowledged when it was sent.

use std::collections::VecDeque;

use crate::scheme::{Ack, Lost, Sent};

/// A packet in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::scheme) struct Packet {
    /// What QUIC counts of it.
    pub(in crate::scheme) bytes: u64,
    /// Bytes that had been acknowledged when it was sent.
    pub(in crate::scheme) delivered: u64,
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
    delivered: u64,
    lost: u64,
}

impl Flight {
    /// An empty one, of packets with so many bytes beside their payload.
    pub(in crate::scheme) fn new(overhead: u64) -> Self {
        Self { overhead, packets: VecDeque::new(), first: 1, count: 0, bytes: 0, delivered: 0, lost: 0 }
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
        self.packets.push_back(Some(Packet { bytes, delivered: self.delivered }));
        self.count += 1;
        self.bytes += bytes;
        bytes
    }

    /// A packet was lost.
    pub(in crate::scheme) fn on_lost(&mut self, lost: &Lost) {
        self.lost += self.take(lost.packet).map_or(0, |packet| packet.bytes);
    }

    /// A packet was acknowledged; `None` if it had been lost.
    pub(in crate::scheme) fn on_acked(&mut self, number: u64) -> Option<Packet> {
        let packet = self.take(number)?;
        self.delivered += packet.bytes;
        Some(packet)
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
    use crate::units::{Bytes, Instant};

    fn sent(payload: u64) -> Sent {
        Sent { now: Instant::ZERO, size: Bytes::new(payload), is_retransmission: false, in_flight: 1, delivered: 0 }
    }

    fn lost(packet: u64) -> Lost {
        Lost { now: Instant::ZERO, size: Bytes::ZERO, packet }
    }

    #[test]
    fn packets_of_all_sizes_are_counted_until_they_are_acknowledged_or_lost() {
        let mut flight = Flight::new(22);
        assert_eq!(flight.newest(), 0);
        let counted = [1_387, 1_387, 187].map(|payload| flight.on_sent(&sent(payload)));
        assert_eq!((counted, flight.newest(), flight.bytes()), ([1_409, 1_409, 209], 3, 3_027));
        assert_eq!(flight.on_acked(1), Some(Packet { bytes: 1_409, delivered: 0 }));
        flight.on_lost(&lost(2));
        assert_eq!((flight.bytes(), flight.bytes_before(), flight.delivered()), (209, 1_618, 1_409));
        flight.on_sent(&sent(1_387));
        assert_eq!(flight.end_ack(&Ack { in_flight: 2, ..one_ack(1) }), 1_409);
        assert_eq!(flight.on_acked(2), None, "it was lost");
        assert_eq!(flight.on_acked(4).map(|packet| packet.delivered), Some(1_409));
        assert_eq!(flight.on_acked(3).map(|packet| packet.delivered), Some(0));
        assert_eq!((flight.bytes(), flight.bytes_before(), flight.newest()), (0, 0, 4));
        assert_eq!(flight.on_acked(5), None, "never sent");
    }

    #[test]
    fn what_the_transport_does_not_wait_for_is_not_in_flight() {
        let mut flight = Flight::new(0);
        for _ in 0..3 {
            flight.on_sent(&sent(1_000));
        }
        flight.on_acked(3);
        flight.end_ack(&Ack { in_flight: 1, ..one_ack(1) });
        assert_eq!(flight.bytes(), 1_000);
        assert_eq!(flight.on_acked(1), None);
        assert!(flight.on_acked(2).is_some());
    }
}

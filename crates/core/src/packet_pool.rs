//! The memory of packets.

use crate::packet::{FlowId, Packet};
use crate::units::{Bytes, Instant};

/// Packets that have come to their end lend their memory to new ones.
///
/// Packets are large and change hands often, so that they travel in boxes. The boxes are used in the order in which
/// they were made, round and round: what is sent in order and stays in order is read in order, and the processor has
/// fetched it before it is asked for. The default of a payload must own no memory: a free box holds it and never drops
/// it.
#[derive(Debug)]
pub struct PacketPool<P> {
    /// The boxes that are free, each in its slot.
    slots: Vec<Option<Box<Packet<P>>>>,
    free: usize,
    /// The slot whose turn it is.
    hand: usize,
}

impl<P: Default> Default for PacketPool<P> {
    fn default() -> Self {
        let mut pool = Self { slots: Vec::new(), free: 0, hand: 0 };
        pool.grow();
        pool
    }
}

impl<P: Default> PacketPool<P> {
    /// Boxes a packet.
    // Field by field and in place: a packet that has just been made is then never written anywhere but into its box.
    #[inline(always)]
    pub fn put(&mut self, packet: Packet<P>) -> Box<Packet<P>> {
        let Packet {
            flow,
            is_data_direction,
            is_retransmission,
            ecn,
            dscp,
            size,
            number,
            sent,
            enqueued,
            sojourn,
            marked,
            queued_for,
            // The next hop that it enters says.
            is_copy: _,
            hops_passed,
            // That of the box.
            pool_slot: _,
            payload,
        } = packet;
        let mut free = self.next_free();
        // What it had is empty, and need not be looked at to be dropped.
        std::mem::forget(std::mem::replace(&mut free.payload, payload));
        free.flow = flow;
        free.is_data_direction = is_data_direction;
        free.is_retransmission = is_retransmission;
        free.ecn = ecn;
        free.dscp = dscp;
        free.size = size;
        free.number = number;
        free.sent = sent;
        free.enqueued = enqueued;
        free.sojourn = sojourn;
        free.marked = marked;
        free.queued_for = queued_for;
        free.hops_passed = hops_passed;
        // With so many free, few slots are looked at in vain, and never all.
        if self.free <= self.slots.len() / 4 {
            self.grow();
        }
        free
    }

    /// Takes back the box of a packet that nobody needs any more.
    #[inline(always)]
    pub fn take_back(&mut self, mut packet: Box<Packet<P>>) {
        packet.payload = P::default();
        let slot = packet.pool_slot as usize;
        // The copy of a packet names the slot of the original.
        let was_taken = self.slots[slot].replace(packet).is_none();
        self.free += usize::from(was_taken);
    }

    #[inline]
    fn next_free(&mut self) -> Box<Packet<P>> {
        loop {
            let Some(slot) = self.slots.get_mut(self.hand) else {
                self.hand = 0;
                continue;
            };
            self.hand += 1;
            if let Some(free) = slot.take() {
                self.free -= 1;
                return free;
            }
        }
    }

    #[cold]
    fn grow(&mut self) {
        let known = self.slots.len();
        let all = known + (known / 2).max(16);
        self.hand = known;
        self.free += all - known;
        let empty = |slot| {
            let packet = Packet::new(FlowId(0), true, 0, Bytes::ZERO, Instant::ZERO, P::default());
            Some(Box::new(Packet { pool_slot: slot as u32, ..packet }))
        };
        self.slots.extend((known..all).map(empty));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Ecn;
    use crate::queue::Reason;
    use crate::units::Duration;

    fn packet(number: u64) -> Packet<u64> {
        Packet::new(FlowId(1), true, number, Bytes::new(100), Instant::from_nanos(number), number)
    }

    #[test]
    fn boxes_are_used_in_order_round_and_round() {
        let mut pool = PacketPool::default();
        let mut slots = Vec::new();
        for number in 0..48 {
            let boxed = pool.put(packet(number));
            assert_eq!((boxed.number, boxed.payload, boxed.sent), (number, number, Instant::from_nanos(number)));
            slots.push(boxed.pool_slot);
            pool.take_back(boxed);
        }
        assert_eq!(slots, (0..16).cycle().take(48).collect::<Vec<_>>());
    }

    #[test]
    fn a_packet_that_stays_is_passed_over() {
        let mut pool = PacketPool::default();
        let stays = pool.put(packet(0));
        for number in 1..100 {
            let boxed = pool.put(packet(number));
            assert_ne!(boxed.pool_slot, stays.pool_slot);
            pool.take_back(boxed);
        }
        assert_eq!((stays.number, pool.slots.len()), (0, 16));
    }

    #[test]
    fn there_is_room_for_all_that_are_under_way() {
        let mut pool = PacketPool::default();
        let mut under_way: Vec<_> = (0..1_000).map(|number| pool.put(packet(number))).collect();
        assert!(under_way.iter().enumerate().all(|(number, boxed)| boxed.payload == number as u64));
        under_way.drain(..).for_each(|boxed| pool.take_back(boxed));
        assert_eq!(pool.free, pool.slots.len());
    }

    #[test]
    fn a_copy_takes_no_place() {
        let mut pool = PacketPool::default();
        let original = pool.put(packet(0));
        let copy = original.clone();
        pool.take_back(original);
        pool.take_back(copy);
        assert_eq!(pool.free, pool.slots.len());
    }

    #[test]
    fn a_packet_comes_out_of_its_box_as_it_went_in() {
        let mut pool = PacketPool::default();
        let mut sent = packet(7);
        (sent.is_data_direction, sent.is_retransmission, sent.ecn, sent.dscp) = (false, true, Ecn::Ce, 46);
        (sent.enqueued, sent.sojourn) = (Instant::from_nanos(8), Duration::from_nanos(9));
        (sent.queued_for, sent.marked, sent.hops_passed) = (Duration::from_nanos(10), Some(Reason::Threshold), 2);
        // Twice over all boxes: what was in one before does not show.
        for round in 0..2 {
            for _ in 0..16 {
                let boxed = pool.put(if round == 0 { sent } else { packet(7) });
                let expected = Packet { pool_slot: boxed.pool_slot, ..if round == 0 { sent } else { packet(7) } };
                assert_eq!(format!("{boxed:?}"), format!("{expected:?}"));
                pool.take_back(boxed);
            }
        }
    }
}

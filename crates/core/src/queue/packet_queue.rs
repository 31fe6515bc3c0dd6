//! A queue of packets that knows how many bytes wait in it: what most queues are made of.

use std::collections::VecDeque;

use crate::packet::Packet;
use crate::units::Bytes;

/// Packets in order of arrival.
#[derive(Debug)]
pub(super) struct PacketQueue<P> {
    waiting: VecDeque<Box<Packet<P>>>,
    bytes: Bytes,
}

impl<P> Default for PacketQueue<P> {
    fn default() -> Self {
        Self { waiting: VecDeque::new(), bytes: Bytes::ZERO }
    }
}

impl<P> PacketQueue<P> {
    pub(super) fn push(&mut self, packet: Box<Packet<P>>) {
        self.bytes += packet.size;
        self.waiting.push_back(packet);
    }

    pub(super) fn pop(&mut self) -> Option<Box<Packet<P>>> {
        let packet = self.waiting.pop_front()?;
        self.bytes -= packet.size;
        Some(packet)
    }

    pub(super) fn head(&self) -> Option<&Packet<P>> {
        self.waiting.front().map(AsRef::as_ref)
    }

    pub(super) fn packets(&self) -> usize {
        self.waiting.len()
    }

    pub(super) fn bytes(&self) -> Bytes {
        self.bytes
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }
}

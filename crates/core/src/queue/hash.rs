//! Which queue a flow goes to.

use super::setup::QueueSetup;
use crate::packet::Packet;

/// A salted hash of flow and direction, as Linux' of addresses, protocol and ports.
#[derive(Clone, Copy, Debug)]
pub(super) struct FlowHash {
    salt: u64,
}

impl FlowHash {
    pub(super) fn new(setup: &QueueSetup<'_>) -> Self {
        Self { salt: setup.random("hash").below(u64::MAX) }
    }

    /// 32 bits that are the same for all packets of a flow in one direction (`fmix64` of `MurmurHash3`).
    pub(super) fn of<P>(self, packet: &Packet<P>) -> u32 {
        let key = u64::from(packet.flow.0) << 1 | u64::from(packet.is_data_direction);
        let mut hash = key ^ self.salt;
        for factor in [0xff51_afd7_ed55_8ccd, 0xc4ce_b9fe_1a85_ec53] {
            hash = (hash ^ (hash >> 33)).wrapping_mul(factor);
        }
        (hash >> 32) as u32
    }

    /// The hash, scaled to `0..slots` (`reciprocal_scale`).
    pub(super) fn slot<P>(self, packet: &Packet<P>, slots: usize) -> usize {
        ((u64::from(self.of(packet)) * slots as u64) >> 32) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::tests::{packet_of, setup};

    #[test]
    fn flows_spread_evenly_and_differently_with_every_seed() {
        let slots_of = |seed| {
            let hash = FlowHash::new(&QueueSetup { seed, ..setup() });
            (0..10_240).map(|flow| hash.slot(&packet_of(flow, 0, 100), 1_024)).collect::<Vec<_>>()
        };
        let slots = slots_of(1);
        let mut loads = vec![0_u32; 1_024];
        for slot in &slots {
            loads[*slot] += 1;
        }
        // Ten flows on average; Poisson has 0.00005 of the slots empty and 0.0001 above 23.
        assert!(loads.iter().filter(|load| **load == 0).count() <= 2);
        assert!(loads.iter().all(|load| *load < 30));
        assert_ne!(slots, slots_of(2));
    }
}

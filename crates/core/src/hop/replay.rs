//! A replay window: the far end of a tunnel, which drops what lies too far behind the newest.
//!
//! **What it is.** Packets are numbered in the order in which they reach the hop, as a tunnel that begins there numbers
//! them. Behind the wire a packet is dropped if its number lies a whole window below the highest that has come out, or
//! has come out before.
//!
//! **Source.** RFC 4303, section 3.4.3; Linux 7.3 `net/xfrm/xfrm_replay.c` (`xfrm_replay_check_legacy`).
//!
//! **Parameters.** `replay_window`, in packets; no default.
//!
//! **Deviations.** One tunnel for all that comes by, both flows and probes; no header of its own.
//!
//! **How it is validated.** `tests/elements.rs`.

use std::collections::VecDeque;

use crate::packet::{FlowId, Packet};

/// What tells packets apart: flow, direction and number.
type Name = (FlowId, bool, u64);

/// Both ends of the tunnel.
#[derive(Debug)]
pub(super) struct Replay {
    window: usize,
    /// Packets that may still come out, in the order in which they came in; nothing for those that have.
    expected: VecDeque<Option<Name>>,
}

impl Replay {
    pub(super) fn new(window: u32) -> Self {
        Self { window: window as usize, expected: VecDeque::new() }
    }

    /// A packet arrives at the hop.
    #[inline(never)]
    pub(super) fn enter<P>(&mut self, packet: &Packet<P>) {
        self.expected.push_back(Some(name(packet)));
    }

    /// Whether a packet that leaves the wire may pass.
    #[inline(never)]
    pub(super) fn admits<P>(&mut self, packet: &Packet<P>) -> bool {
        let name = Some(name(packet));
        let Some(place) = self.expected.iter().position(|other| *other == name) else { return false };
        self.expected[place] = None;
        // The window ends with the highest number so far: what lies before it will not be admitted any more.
        self.expected.drain(..(place + 1).saturating_sub(self.window));
        while self.expected.front() == Some(&None) {
            self.expected.pop_front();
        }
        true
    }
}

fn name<P>(packet: &Packet<P>) -> Name {
    (packet.flow, packet.is_data_direction, packet.number)
}

//! Whose packet it is: the flow or probe that a packet between two hosts belongs to.

use bakeoff_core::packet::FlowId;
use bakeoff_core::scenario::Scenario;

use super::headers::{Headers, Transport};
use super::pairs::Pairs;
use crate::log::{ANSWERER_PORT, ASKER_PORT, RECEIVER_PORT, SENDER_PORT};
use crate::senders::Host;

/// A packet's flow, and whether it travels from the sender to the receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Owner {
    pub(super) flow: FlowId,
    pub(super) is_data_direction: bool,
}

/// Tells packets apart.
pub(super) struct Ownership {
    flows: usize,
    probes: usize,
    /// By number of the pair: the flow of another program, to which all packets there belong, and whether its sender is
    /// on the right.
    programs: Vec<Option<(usize, bool)>>,
}

impl Ownership {
    pub(super) fn new(scenario: &Scenario, pairs: &Pairs) -> Self {
        Self { flows: scenario.flows.len(), probes: scenario.probes.len(), programs: pairs.programs(scenario) }
    }

    /// The owner of a packet that a host sent; `None` if it is nobody's, such as the kernel's own announcements.
    pub(super) fn of(&self, headers: &Headers, from: Host) -> Option<Owner> {
        if headers.is_multicast {
            return None;
        }
        if let Some((flow, is_sender_right)) = self.programs[from.pair] {
            let is_data_direction = from.is_right == is_sender_right;
            return Some(Owner { flow: FlowId(flow as u32), is_data_direction });
        }
        match headers.transport {
            Transport::Tcp | Transport::Udp => self.by_ports(headers.ports),
            Transport::Icmp { is_request } => self.by_identification(headers.ports[0], is_request),
            Transport::Other => None,
        }
    }

    fn by_ports(&self, ports: [u16; 2]) -> Option<Owner> {
        between(ports, SENDER_PORT, RECEIVER_PORT, self.flows, 0)
            .or_else(|| between(ports, ASKER_PORT, ANSWERER_PORT, self.probes, self.flows))
    }

    fn by_identification(&self, identification: u16, is_request: bool) -> Option<Owner> {
        let probe = usize::from(identification.checked_sub(ASKER_PORT)?);
        let flow = FlowId((self.flows + probe) as u32);
        (probe < self.probes).then_some(Owner { flow, is_data_direction: is_request })
    }
}

/// The owner among `count`, numbered from `first`, whose ports begin at `near` and, higher, at `far`.
fn between([source, destination]: [u16; 2], near: u16, far: u16, count: usize, first: usize) -> Option<Owner> {
    let is_data_direction = source < far;
    let (near_port, far_port) = if is_data_direction { (source, destination) } else { (destination, source) };
    let number = usize::from(near_port.checked_sub(near)?);
    let is_pair = number == usize::from(far_port.checked_sub(far)?) && number < count;
    is_pair.then(|| Owner { flow: FlowId((first + number) as u32), is_data_direction })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_and_probes_have_ports_of_their_own() {
        let flow = |ports| between(ports, SENDER_PORT, RECEIVER_PORT, 3, 0);
        let owner = |flow, is_data_direction| Some(Owner { flow: FlowId(flow), is_data_direction });
        assert_eq!(flow([10_002, 40_002]), owner(2, true));
        assert_eq!(flow([40_002, 10_002]), owner(2, false));
        assert_eq!(flow([10_002, 40_001]), None);
        assert_eq!(flow([10_003, 40_003]), None, "there are three flows");
        assert_eq!(flow([22, 40_003]), None);
        let probe = between([50_000, 20_000], ASKER_PORT, ANSWERER_PORT, 1, 3);
        assert_eq!(probe, owner(3, false));
    }
}

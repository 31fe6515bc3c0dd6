//! Flows whose transport is a stack that is not ours.

use super::{FlowConfig, Scenario, ScenarioError, invalid};
use crate::packet::FlowId;
use crate::random::RandomStream;
use crate::traffic::TrafficConfig;
use crate::transport::stack::{IP_UDP_BYTES, StackEnd, StackEntry, StackPair, StackSetup};
use crate::transport::stream::{AckMode, EcnMode, Pacing};

impl Scenario {
    /// The two ends of the flow with this index, sender first, whose transport is this stack.
    pub fn stack_ends(&self, flow: usize, entry: &StackEntry) -> Result<[StackEnd; 2], ScenarioError> {
        let config = &self.flows[flow];
        let name = entry.info.name;
        let refused = |problem: String| invalid(format!("flow {}", flow + 1), problem);
        if let Some(problem) = problem(config) {
            return Err(refused(format!("{name} {problem}")));
        }
        let setup = StackSetup {
            start: self.start_of(flow),
            largest_datagram: config.packet_size().saturating_sub(IP_UDP_BYTES),
            transfer: match config.traffic {
                TrafficConfig::Finite { size } => Some(size),
                TrafficConfig::Bulk { .. } | TrafficConfig::OnOff { .. } => None,
            },
            receive_window: config.receive_window,
            random: RandomStream::new(self.seed, &format!("flow{}.stack", flow + 1)),
        };
        let StackPair { sender, receiver } =
            (entry.open)(setup).map_err(|problem| refused(format!("{name}: {problem}")))?;
        let has_ecn = config.ecn == Some(EcnMode::Classic);
        let end = |is_sender, stack| StackEnd::new(FlowId(flow as u32), is_sender, has_ecn, stack);
        Ok([end(true, sender), end(false, receiver)])
    }
}

/// What of a flow a stack cannot do, and what would be right.
fn problem(flow: &FlowConfig) -> Option<&'static str> {
    if !flow.parameters.is_empty() {
        Some("takes no parameters; leave them out")
    } else if matches!(flow.traffic, TrafficConfig::OnOff { .. }) {
        Some("transfers bulk or a size; on-off traffic needs a scheme of ours")
    } else if matches!(flow.traffic, TrafficConfig::Bulk { write: Some(_) }) {
        Some("fills its packets as its stack does; leave the size of writes out")
    } else if !flow.handshake {
        Some("connects as its stack does; leave handshake out")
    } else if flow.pacing != Pacing::Auto {
        Some("paces as its stack does; leave pacing out")
    } else if flow.max_pacing_rate.is_some() {
        Some("paces as its stack does; leave max_pacing_rate out")
    } else if flow.acks != AckMode::Delayed {
        Some("acknowledges as its stack does; leave acks out")
    } else if flow.burst_packets > 1 {
        Some("paces in bursts of its stack's own; leave burst out")
    } else if !flow.send_jitter.is_zero() {
        Some("sends when its stack does; leave send_jitter out")
    } else if !matches!(flow.ecn, None | Some(EcnMode::Off | EcnMode::Classic)) {
        Some("echoes marks as its stack does; write ecn = \"classic\" to let them through, or leave ecn out")
    } else if flow.ect.is_some() {
        Some("chooses its codepoint itself; leave ect out")
    } else {
        None
    }
}

//! Which hosts a flow or probe runs between. Flows that use ECN alike share a pair; another program has one to itself.

use bakeoff_core::scenario::{Direction, FlowConfig, Scenario};
use bakeoff_core::transport::stream::EcnMode;

use crate::job::{PROGRAM_PREFIX, host_ecn};

/// What the flows of a pair have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Pair {
    ecn: EcnMode,
    /// The flow of another program.
    program: Option<usize>,
}

impl Pair {
    fn of(index: usize, flow: &FlowConfig) -> Self {
        let program = flow.scheme.starts_with(PROGRAM_PREFIX).then_some(index);
        Self { ecn: host_ecn(flow), program }
    }
}

/// The pairs of hosts of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pairs {
    all: Vec<Pair>,
    flows: Vec<usize>,
    probe: usize,
}

impl Pairs {
    pub(super) fn of(scenario: &Scenario) -> Self {
        let mut all = Vec::new();
        let mut place = |pair: Pair| {
            all.iter().position(|known| *known == pair).unwrap_or_else(|| {
                all.push(pair);
                all.len() - 1
            })
        };
        let flows = scenario.flows.iter().enumerate().map(|(index, flow)| place(Pair::of(index, flow))).collect();
        let probe = if scenario.probes.is_empty() { 0 } else { place(Pair { ecn: EcnMode::Off, program: None }) };
        Self { all, flows, probe }
    }

    pub(super) fn count(&self) -> usize {
        self.all.len()
    }

    pub(super) fn ecn(&self, pair: usize) -> EcnMode {
        self.all[pair].ecn
    }

    pub(super) fn of_flow(&self, flow: usize) -> usize {
        self.flows[flow]
    }

    pub(super) fn of_probes(&self) -> usize {
        self.probe
    }

    /// By number of the pair: the flow of another program there, and whether its sender is on the right.
    pub(super) fn programs(&self, scenario: &Scenario) -> Vec<Option<(usize, bool)>> {
        let sender = |flow: usize| (flow, scenario.flows[flow].direction == Direction::Reverse);
        self.all.iter().map(|pair| pair.program.map(sender)).collect()
    }
}

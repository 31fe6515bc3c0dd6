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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pairs(flows: &[(&str, &str)], has_probe: bool) -> Pairs {
        let times = json!({"start_ns": 0, "stop_ns": 1_000_000_000});
        let with = |mut own: serde_json::Value| {
            own.as_object_mut().unwrap().extend(times.as_object().unwrap().clone());
            own
        };
        let flow =
            |(scheme, ecn): &(&str, &str)| with(json!({"scheme": scheme, "ecn": ecn, "traffic": {"kind": "bulk"}}));
        let probe = with(json!({"interval_ns": 100_000_000, "size_bytes": 84}));
        let hop = json!({"link": {"kind": "constant", "rate_bps": 1_000_000}, "queue": {"kind": "fifo"}, "delay_ns": 20_000_000});
        let scenario = json!({
            "seed": 1, "duration_ns": 1_000_000_000, "record": {"level": "summary", "interval_ns": 100_000_000},
            "forward": [hop], "reverse": [hop], "flows": flows.iter().map(flow).collect::<Vec<_>>(),
            "probes": if has_probe { vec![probe] } else { Vec::new() },
        });
        Pairs::of(&Scenario::from_json(&scenario.to_string()).unwrap())
    }

    #[test]
    fn flows_that_use_ecn_alike_share_hosts_and_programs_share_none() {
        let flows = [
            ("kernel:reno", "off"),
            ("kernel:reno", "classic"),
            ("kernel:cubic", "off"),
            ("program:one", "off"),
            ("program:one", "off"),
        ];
        let pairs = pairs(&flows, false);
        assert_eq!((0..5).map(|flow| pairs.of_flow(flow)).collect::<Vec<_>>(), [0, 1, 0, 2, 3]);
        assert_eq!((pairs.count(), pairs.ecn(1)), (4, EcnMode::Classic));
    }

    #[test]
    fn probes_run_between_hosts_without_ecn() {
        for (ecn, of_probes, count) in [("off", 0, 1), ("classic", 1, 2)] {
            let pairs = pairs(&[("kernel:reno", ecn)], true);
            assert_eq!((pairs.of_probes(), pairs.count()), (of_probes, count), "{ecn}");
        }
    }
}

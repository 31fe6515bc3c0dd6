//! What a world of real Linux is asked to run: a scenario whose queues the kernel has to know, not the simulator.

use std::collections::BTreeSet;

use bakeoff_core::hop::{Change, HopConfig, LinkConfig};
use bakeoff_core::problem::Problem;
use bakeoff_core::scenario::{Direction, FlowConfig, ProbeKind, Scenario, ScenarioError};
use bakeoff_core::traffic::TrafficConfig;
use bakeoff_core::transport::stack::StackEntry;
use bakeoff_core::transport::stream::{AckMode, EcnMode, Ect};
use bakeoff_core::units::Duration;
use serde_json::{Map, Value};

use crate::qdisc::{self, Qdisc};

/// What the scheme of a flow begins with if it is the kernel's.
pub const KERNEL_PREFIX: &str = "kernel:";
/// What it begins with if it is ours.
pub const OWN_PREFIX: &str = "own:";
/// What it begins with if it is a class of the user's, which our transport carries too.
const PYTHON_PREFIX: &str = "python:";
/// What it begins with if another program sends.
pub const PROGRAM_PREFIX: &str = "program:";
/// What it begins with if a stack that is not ours sends.
pub const STACK_PREFIX: &str = "stack:";

/// The queue of a hop as the experiment states it: `kind` and parameters.
pub type QueueChoice = Map<String, Value>;

/// A scenario, and the queues of its hops.
#[derive(Clone, Debug)]
pub struct Job {
    /// The scenario; the queues in it mean nothing.
    pub scenario: Scenario,
    /// The queue of each forward hop.
    forward_queues: Vec<QueueChoice>,
    /// The queue of each reverse hop.
    reverse_queues: Vec<QueueChoice>,
}

/// Why the kernel cannot run a scenario.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum JobError {
    /// It is no scenario.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// The kernel has nothing like it.
    #[error("{place}: {problem}")]
    Unmappable {
        /// Where it stands.
        place: String,
        /// What is wrong and what would be right.
        problem: Problem,
    },
}

impl Job {
    /// Reads and checks a scenario.
    pub fn from_json(json: &str) -> Result<Self, JobError> {
        let malformed = |error: serde_json::Error| ScenarioError::Malformed(error.to_string());
        let mut value: Value = serde_json::from_str(json).map_err(malformed)?;
        let forward_queues = take_queues(&mut value, "forward");
        let reverse_queues = take_queues(&mut value, "reverse");
        let scenario = Scenario::from_json(&value.to_string())?;
        let job = Self { scenario, forward_queues, reverse_queues };
        job.check()?;
        Ok(job)
    }

    /// The kernel's discipline for the queue of a hop.
    pub fn qdisc(&self, direction: Direction, index: usize) -> Result<Qdisc, JobError> {
        let hop = &self.scenario.hops(direction)[index];
        let largest_packet = self.scenario.largest_packet();
        let link = qdisc::Link { mean_rate: hop.link.mean_rate(), largest_packet };
        Qdisc::from_queue(&self.queues(direction)[index], &link).map_err(|error| JobError::Unmappable {
            place: format!("path.{}.{index}.queue", direction.name()),
            problem: Problem::new(error.to_string()),
        })
    }

    /// The queues of a direction as the experiment has them, in order.
    pub fn queues(&self, direction: Direction) -> &[QueueChoice] {
        match direction {
            Direction::Forward => &self.forward_queues,
            Direction::Reverse => &self.reverse_queues,
        }
    }

    fn check(&self) -> Result<(), JobError> {
        let hosts: BTreeSet<_> = self.scenario.flows.iter().map(HostKey::of).collect();
        let flows_per_host = self.scenario.flows.len().div_ceil(hosts.len().max(1));
        for direction in Direction::ALL {
            for (index, hop) in self.scenario.hops(direction).iter().enumerate() {
                if let Some(problem) = hop_problem(hop) {
                    let place = format!("path.{}.{index}", direction.name());
                    return Err(JobError::Unmappable { place, problem: Problem::new(problem) });
                }
                if hop.link != LinkConfig::Unlimited {
                    self.qdisc(direction, index)?;
                }
                if hosts.len() > 1 && shares_between_hosts(&self.queues(direction)[index], flows_per_host) {
                    return Err(JobError::Unmappable {
                        place: format!("path.{}.{index}.queue.flow_mode", direction.name()),
                        problem: Problem::new(
                            "flows with an extra_delay or ECN of their own have hosts of their own in the guest, between \
                             which cake would share the link; write \"flows\"",
                        ),
                    });
                }
            }
        }
        for (index, flow) in self.scenario.flows.iter().enumerate() {
            check_flow(index, flow)?;
        }
        if let Some(index) = self.scenario.probes.iter().position(|probe| probe.kind == ProbeKind::Ping) {
            let problem =
                Problem::new("the guest has no ping; leave it out, and the probe sends datagrams of the same size");
            return Err(JobError::Unmappable { place: format!("probe.{}.kind", index + 1), problem });
        }
        Ok(())
    }
}

/// Checks that the emulated world, whose path is the simulator's, can run a scenario.
pub fn check_emulated(json: &str, stacks: &[StackEntry]) -> Result<(), JobError> {
    let scenario = Scenario::from_json(json)?;
    for direction in Direction::ALL {
        if let Some(index) = scenario.hops(direction).iter().position(|hop| hop.duplicate > 0.0) {
            let problem = Problem::new("the log cannot tell two copies apart; leave duplicate out");
            return Err(JobError::Unmappable { place: format!("path.{}.{index}", direction.name()), problem });
        }
    }
    for (index, flow) in scenario.flows.iter().enumerate() {
        check_flow(index, flow)?;
        if let Some(scheme) = flow.scheme.strip_prefix(OWN_PREFIX) {
            scenario.ends(index, scheme)?;
        } else if let Some(name) = flow.scheme.strip_prefix(STACK_PREFIX) {
            scenario.stack_ends(index, find_stack(stacks, index, name)?)?;
        }
    }
    Ok(())
}

/// The stack of this name, for the flow with this index.
pub(crate) fn find_stack<'a>(stacks: &'a [StackEntry], flow: usize, name: &str) -> Result<&'a StackEntry, JobError> {
    stacks.iter().find(|entry| entry.info.name == name).ok_or_else(|| {
        let known: Vec<_> = stacks.iter().map(|entry| entry.info.name).collect();
        JobError::Unmappable {
            place: format!("flow {}", flow + 1),
            problem: Problem::new(format!("there is no stack called {name:?}; there are {}", known.join(", "))),
        }
    })
}

fn check_flow(index: usize, flow: &FlowConfig) -> Result<(), JobError> {
    // Flows of a run have numbers of their own, other than those of the file where one of it stands for several.
    let unmappable = |key: &str, problem: Problem| {
        Err(JobError::Unmappable { place: format!("flow {}: {key}", index + 1), problem })
    };
    if let Some((key, problem)) = flow_problem(flow) {
        return unmappable(key, Problem::new(problem));
    }
    match (ecn_of(flow), flow.scheme.starts_with(KERNEL_PREFIX)) {
        (Err(problem), _) => unmappable("ecn", problem),
        (Ok((EcnMode::Sce, _)), true) => unmappable(
            "ecn",
            Problem::new("the kernel knows nothing of SCE; take classic or accurate ECN, or a scheme of our own"),
        ),
        (Ok((_, Ect::Ect1)), true) => {
            unmappable("ect", Problem::new("no controller of this kernel sends ECT(1); leave it out"))
        }
        _ => Ok(()),
    }
}

/// How a flow uses ECN. The kernel's DCTCP, other than ours, makes do with the classic echo.
pub(crate) fn ecn_of(flow: &FlowConfig) -> Result<(EcnMode, Ect), Problem> {
    match flow.scheme.strip_prefix(KERNEL_PREFIX) {
        Some(_) if flow.ecn == Some(EcnMode::Classic) => flow.ecn_with(&flow.scheme),
        Some(controller) => flow.ecn_with(controller),
        None => flow.ecn_with(flow.scheme.strip_prefix(OWN_PREFIX).unwrap_or(&flow.scheme)),
    }
}

/// Whether our transport carries a flow over UDP, with a scheme of ours or a class of the user's.
fn uses_our_transport(flow: &FlowConfig) -> bool {
    [OWN_PREFIX, PYTHON_PREFIX].iter().any(|prefix| flow.scheme.starts_with(prefix))
}

/// The ECN that the hosts' TCP has to use for a flow; our own schemes need none of it.
pub fn host_ecn(flow: &FlowConfig) -> EcnMode {
    let (mode, _) = ecn_of(flow).unwrap_or_default();
    if uses_our_transport(flow) { mode.min(EcnMode::Classic) } else { mode }
}

/// What flows between the same two hosts have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HostKey {
    /// A flow's own delay.
    pub extra_delay: Duration,
    /// The side of the sender, where there is an extra delay.
    pub is_sender_right: bool,
    /// The ECN of both.
    pub ecn: EcnMode,
}

impl HostKey {
    /// Hosts for probes only.
    pub const NEAR: Self = Self { extra_delay: Duration::ZERO, is_sender_right: false, ecn: EcnMode::Off };

    /// Those of a flow.
    pub fn of(flow: &FlowConfig) -> Self {
        Self {
            extra_delay: flow.extra_delay,
            is_sender_right: !flow.extra_delay.is_zero() && flow.direction == Direction::Reverse,
            ecn: host_ecn(flow),
        }
    }
}

/// True for a queue by which it matters between how many hosts the flows are (`CAKE_FLOW_HOSTS`).
///
/// With one flow each, fair to hosts is fair to flows, unless all flows of a host were to share one queue.
fn shares_between_hosts(queue: &QueueChoice, flows_per_host: usize) -> bool {
    let word = |key: &str| queue.get(key).and_then(Value::as_str);
    word("kind") == Some("cake")
        && match word("flow_mode") {
            Some("flows" | "flowblind") => false,
            Some("hosts" | "srchost" | "dsthost") => true,
            _ => flows_per_host > 1,
        }
}

/// Takes the queues of a direction out, and leaves one that every scenario may have.
fn take_queues(scenario: &mut Value, direction: &str) -> Vec<QueueChoice> {
    let Some(hops) = scenario.get_mut(direction).and_then(Value::as_array_mut) else { return Vec::new() };
    let placeholder = || serde_json::json!({"kind": "fifo"});
    hops.iter_mut()
        .map(|hop| match hop.get_mut("queue").map(|queue| std::mem::replace(queue, placeholder())) {
            Some(Value::Object(queue)) => queue,
            _ => Map::new(),
        })
        .collect()
}

fn hop_problem(hop: &HopConfig) -> Option<&'static str> {
    match &hop.link {
        LinkConfig::Trace { .. } => Some("the kernel has no link that follows a trace; give a rate or a schedule"),
        LinkConfig::Poisson { .. } => Some("the kernel has no link with random gaps; give a rate or a schedule"),
        LinkConfig::Schedule { steps, .. } if steps.iter().any(|step| step.rate.is_zero()) => {
            Some("the kernel's shaper cannot stop altogether; give every step a rate above zero")
        }
        _ if !hop.jitter.is_zero() => Some("the kernel's jitter reorders packets, ours never does; leave jitter out"),
        _ if !hop.mangle.is_empty() => Some("the guest has no rules for the DS field; leave mangle out"),
        _ if hop.policer.is_some() => {
            Some("the kernel's policer counts Ethernet headers too; leave policer out, or give the hop a token bucket")
        }
        _ if hop.slots.is_some() => Some("the guest's netem is not told of slots; leave slots out"),
        _ if hop.replay_window.is_some() => Some("the guest has no tunnels; leave replay_window out"),
        _ if hop.duplicate > 0.0 => Some("the guest's log cannot tell two copies apart; leave duplicate out"),
        _ => hop.reorder.and_then(|reorder| match reorder.change {
            Change::Ahead { .. } if hop.link == LinkConfig::Unlimited => None,
            Change::Ahead { .. } => {
                Some("in netem packets skip their transmission too; give reorder to a hop of its own, without a rate")
            }
            Change::Late { .. } | Change::Behind { .. } => {
                Some("netem cannot hold single packets back; let packets go ahead, with gap")
            }
        }),
    }
}

/// The key of a flow that the kernel has nothing for, and what would be right.
fn flow_problem(flow: &FlowConfig) -> Option<(&'static str, &'static str)> {
    if !flow.send_jitter.is_zero() {
        Some(("send_jitter", "real senders have no such setting; leave it out"))
    } else if !flow.handshake && !uses_our_transport(flow) {
        Some(("handshake", "only a sender of ours can do without; leave it out"))
    } else if flow.burst_packets > 1 && flow.scheme.starts_with(KERNEL_PREFIX) {
        Some(("burst", "the kernel paces in bursts of its own; leave it out"))
    } else if flow.acks != AckMode::Delayed && flow.scheme.starts_with(KERNEL_PREFIX) {
        Some(("acks", "the kernel decides when it acknowledges; leave it out"))
    } else if matches!(flow.traffic, TrafficConfig::Bulk { write: Some(_) }) && !uses_our_transport(flow) {
        Some(("traffic.write", "only a sender of ours ends a packet with every write; leave it out"))
    } else if flow.dscp > 0 && flow.scheme.starts_with(PROGRAM_PREFIX) {
        Some(("dscp", "the program gives its packets what it likes; leave it out"))
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may fail")]

    use super::*;

    fn scenario(link: &str, queue: &str) -> String {
        format!(
            r#"{{"seed": 1, "duration_ns": 1000000000, "record": {{"level": "summary", "interval_ns": 100000000}},
                "forward": [{{"link": {link}, "queue": {queue}, "delay_ns": 20000000}}],
                "reverse": [{{"link": {{"kind": "unlimited"}}, "queue": {{"kind": "fifo"}}, "delay_ns": 20000000}}],
                "flows": [{{"scheme": "kernel:reno", "traffic": {{"kind": "bulk"}}, "start_ns": 0, "stop_ns": 1000000000}}]}}"#
        )
    }

    #[test]
    fn a_queue_that_the_simulator_lacks_is_kept_for_the_kernel() {
        let json = scenario(r#"{"kind": "constant", "rate_bps": 1000000}"#, r#"{"kind": "codel", "ecn": true}"#);
        let job = Job::from_json(&json).unwrap();
        assert_eq!(job.forward_queues[0]["kind"], "codel");
        assert_eq!(job.reverse_queues[0]["kind"], "fifo");
    }

    #[test]
    fn cake_shares_between_flows_where_they_have_hosts_of_their_own() {
        let with = |mode: &str, others: &[&str]| {
            let queue = format!(r#"{{"kind": "cake", "flow_mode": "{mode}"}}"#);
            let one = scenario(r#"{"kind": "constant", "rate_bps": 1000000}"#, &queue);
            let flow = r#"{"scheme": "kernel:reno", "traffic": {"kind": "bulk"}, "start_ns": 0, "stop_ns": 1000000000"#;
            let several = others
                .iter()
                .fold(one, |json, own| json.replace(r#""flows": ["#, &format!(r#""flows": [{flow}{own}}}, "#)));
            Job::from_json(&several).map(|_| ()).map_err(|error| error.to_string())
        };
        let (late, marked) = (r#", "extra_delay_ns": 1000000"#, r#", "ecn": "classic""#);
        for others in [&["", ""][..], &[late], &[late, marked]] {
            assert_eq!(with("triple-isolate", others), Ok(()), "{others:?}");
        }
        for (mode, others) in [
            ("triple-isolate", &[late, ""][..]),
            ("triple-isolate", &[marked, marked]),
            ("dual-dsthost", &[late, ""]),
            ("hosts", &[late]),
        ] {
            let refused = with(mode, others).unwrap_err();
            assert!(refused.starts_with("path.forward.0.queue.flow_mode: flows with an extra_delay"), "{refused}");
        }
        assert_eq!([late, marked].map(|own| with("flows", &[own, ""])), [Ok(()), Ok(())]);
    }

    #[test]
    fn bursts_acks_handshakes_and_writes_are_for_our_own_schemes_to_choose() {
        let hop = scenario(r#"{"kind": "constant", "rate_bps": 1000000}"#, r#"{"kind": "fifo"}"#);
        let with_burst = hop.replace(r#""start_ns": 0"#, r#""start_ns": 0, "burst_packets": 4"#);
        let error = Job::from_json(&with_burst).unwrap_err();
        assert_eq!(error.to_string(), "flow 1: burst: the kernel paces in bursts of its own; leave it out");
        assert!(Job::from_json(&with_burst.replace("kernel:reno", "own:reno")).is_ok());
        let with_acks = hop.replace(r#""start_ns": 0"#, r#""start_ns": 0, "acks": "each""#);
        let error = Job::from_json(&with_acks).unwrap_err();
        assert_eq!(error.to_string(), "flow 1: acks: the kernel decides when it acknowledges; leave it out");
        assert!(Job::from_json(&with_acks.replace("kernel:reno", "own:reno")).is_ok());
        let without_handshake = hop.replace(r#""start_ns": 0"#, r#""start_ns": 0, "handshake": false"#);
        let error = Job::from_json(&without_handshake).unwrap_err();
        assert_eq!(error.to_string(), "flow 1: handshake: only a sender of ours can do without; leave it out");
        assert!(Job::from_json(&without_handshake.replace("kernel:reno", "own:reno")).is_ok());
        let with_writes = hop.replace(r#""kind": "bulk""#, r#""kind": "bulk", "write_bytes": 3000"#);
        let error = Job::from_json(&with_writes).unwrap_err();
        let sentence = "flow 1: traffic.write: only a sender of ours ends a packet with every write; leave it out";
        assert_eq!(error.to_string(), sentence);
        assert!(Job::from_json(&with_writes.replace("kernel:reno", "own:reno")).is_ok());
    }

    #[test]
    fn ecn_is_what_the_scheme_needs_and_the_kernel_has() {
        let hop = scenario(r#"{"kind": "constant", "rate_bps": 1000000}"#, r#"{"kind": "fifo"}"#);
        let with = |scheme: &str, ecn: &str| {
            let named = hop.replace("kernel:reno", scheme);
            let json = named.replace(r#""start_ns": 0"#, &format!(r#""start_ns": 0{ecn}"#));
            Job::from_json(&json).map(|job| host_ecn(&job.scenario.flows[0])).map_err(|error| error.to_string())
        };
        assert_eq!(with("kernel:cubic", ""), Ok(EcnMode::Off));
        assert_eq!(with("kernel:dctcp", ""), Ok(EcnMode::Accurate));
        assert_eq!(with("kernel:dctcp", r#", "ecn": "classic""#), Ok(EcnMode::Classic));
        assert_eq!(with("own:prague", ""), Ok(EcnMode::Classic), "what our packets need of the host");
        let refused = |scheme: &str, ecn: &str| with(scheme, ecn).unwrap_err();
        let sentence = "flow 1: ecn: dctcp needs ecn = \"accurate\"; set that, or leave ecn out";
        assert_eq!(refused("kernel:dctcp", r#", "ecn": "off""#), sentence);
        let sentence =
            "flow 1: ecn: the kernel knows nothing of SCE; take classic or accurate ECN, or a scheme of our own";
        assert_eq!(refused("kernel:cubic", r#", "ecn": "sce""#), sentence);
        let sentence = "flow 1: ect: no controller of this kernel sends ECT(1); leave it out";
        assert_eq!(refused("kernel:cubic", r#", "ecn": "classic", "ect": "ect1""#), sentence);
    }

    #[test]
    fn every_sender_of_ours_and_of_the_kernel_has_dscps() {
        let hop = scenario(r#"{"kind": "constant", "rate_bps": 1000000}"#, r#"{"kind": "fifo"}"#);
        let with_dscp = hop.replace(r#""start_ns": 0"#, r#""start_ns": 0, "dscp": 46"#);
        for scheme in ["kernel:reno", "own:reno"] {
            assert!(Job::from_json(&with_dscp.replace("kernel:reno", scheme)).is_ok(), "{scheme}");
        }
        let flow = serde_json::json!({"scheme": "program:x", "traffic": {"kind": "bulk"}, "start_ns": 0, "stop_ns": 1, "dscp": 46});
        let flow: FlowConfig = serde_json::from_value(flow).unwrap();
        let (key, problem) = flow_problem(&flow).unwrap();
        assert_eq!((key, problem), ("dscp", "the program gives its packets what it likes; leave it out"));
    }

    #[test]
    fn what_the_kernel_lacks_is_refused() {
        let json = scenario(r#"{"kind": "trace", "opportunities_ms": [1]}"#, r#"{"kind": "fifo"}"#);
        let error = Job::from_json(&json).unwrap_err();
        assert!(
            error.to_string().starts_with("path.forward.0: the kernel has no link that follows a trace"),
            "{error}"
        );
    }
}

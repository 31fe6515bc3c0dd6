//! Who takes part in a run, and which way packets go.

use bakeoff_core::hop::{Hop, HopConfig, LinkConfig};
use bakeoff_core::queue::{FifoConfig, QueueConfig};
use bakeoff_core::record::{FlowAccount, HopAccount};
use bakeoff_core::scenario::{Direction, FlowConfig, Scenario, ScenarioError};
use bakeoff_core::transport::probe::{Answerer, Asker};
use bakeoff_core::transport::stream::{Receiver, Sender};
use bakeoff_core::units::Instant;

use crate::payload::Payload;

/// A hop with its name in recordings.
pub(crate) struct NamedHop {
    pub(crate) name: String,
    pub(crate) hop: Hop<Payload>,
}

impl NamedHop {
    /// What went through it until `end`.
    pub(crate) fn account(&mut self, end: Instant) -> HopAccount {
        HopAccount {
            name: self.name.clone(),
            accepted: self.hop.accepted,
            delivered: self.hop.delivered,
            inside: self.hop.inside(),
            capacity: self.hop.capacity(Instant::ZERO, end),
        }
    }
}

/// The ways between the two ends of a flow or probe, as hops in order.
pub(crate) struct Routes {
    /// Of data and requests.
    pub(crate) data: Vec<usize>,
    /// Of acks and answers.
    pub(crate) acks: Vec<usize>,
}

/// A sender and a receiver.
pub(crate) struct Flow {
    pub(crate) sender: Sender,
    pub(crate) receiver: Receiver,
    pub(crate) start: Instant,
    pub(crate) stop: Instant,
}

impl Flow {
    /// What its two ends have done.
    pub(crate) fn account(&self) -> FlowAccount {
        FlowAccount {
            start: self.start,
            stop: self.stop,
            goodput: self.receiver.stats.goodput,
            retransmissions: self.sender.stats.retransmissions,
            timeouts: self.sender.stats.timeouts,
            completed: self.sender.stats.completed,
        }
    }
}

/// The two ends of a probe.
pub(crate) struct Probe {
    pub(crate) asker: Asker,
    pub(crate) answerer: Answerer,
}

/// Everyone who can be woken, by number: hops first, then sender and receiver of each flow, the askers of the probes, and
/// the sampler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Participant {
    Hop(usize),
    Sender(usize),
    Receiver(usize),
    Asker(usize),
    Sampler,
}

/// Numbers the participants.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Numbering {
    pub(crate) hops: usize,
    pub(crate) flows: usize,
    pub(crate) probes: usize,
}

impl Numbering {
    pub(crate) fn count(self) -> usize {
        self.hops + 2 * self.flows + self.probes + 1
    }

    pub(crate) fn number(self, participant: Participant) -> usize {
        match participant {
            Participant::Hop(hop) => hop,
            Participant::Sender(flow) => self.hops + 2 * flow,
            Participant::Receiver(flow) => self.hops + 2 * flow + 1,
            Participant::Asker(probe) => self.hops + 2 * self.flows + probe,
            Participant::Sampler => self.hops + 2 * self.flows + self.probes,
        }
    }

    pub(crate) fn participant(self, number: usize) -> Participant {
        match number.checked_sub(self.hops) {
            None => Participant::Hop(number),
            Some(end) if end == 2 * self.flows + self.probes => Participant::Sampler,
            Some(end) if end >= 2 * self.flows => Participant::Asker(end - 2 * self.flows),
            Some(end) if end % 2 == 0 => Participant::Sender(end / 2),
            Some(end) => Participant::Receiver(end / 2),
        }
    }
}

/// Who takes part, and the routes of the flows and of the probes behind them.
pub(crate) struct Topology {
    pub(crate) hops: Vec<NamedHop>,
    pub(crate) flows: Vec<Flow>,
    pub(crate) probes: Vec<Probe>,
    pub(crate) routes: Vec<Routes>,
}

impl Topology {
    /// Builds the hops of both directions and of each flow's own delay, and the flows and probes over them.
    pub(crate) fn of(scenario: &Scenario) -> Result<Self, ScenarioError> {
        let mut hops = Vec::new();
        let forward = add_hops(&mut hops, &scenario.forward, "forward", scenario);
        let reverse = add_hops(&mut hops, &scenario.reverse, "reverse", scenario);
        let routes_of = |direction| match direction {
            Direction::Forward => Routes { data: forward.clone(), acks: reverse.clone() },
            Direction::Reverse => Routes { data: reverse.clone(), acks: forward.clone() },
        };
        let (mut flows, mut routes) = (Vec::with_capacity(scenario.flows.len()), Vec::new());
        for (index, config) in scenario.flows.iter().enumerate() {
            let mut own = routes_of(config.direction);
            if config.extra_delay_ns > 0 {
                // The flow's own delay lies between its sender and the shared path, in both directions.
                own.data.insert(0, add_delay(&mut hops, config, scenario, format!("flow{}.data", index + 1)));
                own.acks.push(add_delay(&mut hops, config, scenario, format!("flow{}.ack", index + 1)));
            }
            routes.push(own);
            flows.push(build_flow(scenario, index, config)?);
        }
        routes.extend(scenario.probes.iter().map(|config| routes_of(config.direction)));
        let probe = |index| {
            let (asker, answerer) = scenario.probe_ends(index);
            Probe { asker, answerer }
        };
        Ok(Self { hops, flows, probes: (0..scenario.probes.len()).map(probe).collect(), routes })
    }

    /// The numbers of everyone in it.
    pub(crate) fn numbering(&self) -> Numbering {
        Numbering { hops: self.hops.len(), flows: self.flows.len(), probes: self.probes.len() }
    }
}

fn add_hops(hops: &mut Vec<NamedHop>, configs: &[HopConfig], direction: &str, scenario: &Scenario) -> Vec<usize> {
    configs
        .iter()
        .enumerate()
        .map(|(index, config)| add_hop(hops, config, scenario, format!("{direction}.{index}")))
        .collect()
}

fn add_hop(hops: &mut Vec<NamedHop>, config: &HopConfig, scenario: &Scenario, name: String) -> usize {
    hops.push(NamedHop { hop: Hop::new(config, scenario.largest_packet(), scenario.seed, &name), name });
    hops.len() - 1
}

fn add_delay(hops: &mut Vec<NamedHop>, config: &FlowConfig, scenario: &Scenario, name: String) -> usize {
    let delay = HopConfig {
        link: LinkConfig::Unlimited,
        queue: QueueConfig::Fifo(FifoConfig::default()),
        delay_ns: config.extra_delay_ns,
        loss: 0.0,
        jitter_ns: 0,
    };
    add_hop(hops, &delay, scenario, name)
}

fn build_flow(scenario: &Scenario, index: usize, config: &FlowConfig) -> Result<Flow, ScenarioError> {
    let (sender, receiver) = scenario.ends(index, &config.scheme)?;
    Ok(Flow { sender, receiver, start: scenario.start_of(index), stop: scenario.stop_of(index) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_participants_match() {
        let numbering = Numbering { hops: 3, flows: 2, probes: 2 };
        for number in 0..numbering.count() {
            assert_eq!(numbering.number(numbering.participant(number)), number);
        }
        assert_eq!(numbering.participant(9), Participant::Sampler);
    }
}

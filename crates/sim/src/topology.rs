//! Who takes part in a run, and which way packets go.

use bakeoff_core::hop::{Hop, HopConfig, LinkConfig};
use bakeoff_core::queue::{FifoConfig, QueueConfig};
use bakeoff_core::record::{FlowAccount, HopAccount};
use bakeoff_core::scenario::{Direction, FlowConfig, Scenario, ScenarioError};
use bakeoff_core::transport::stream::{Receiver, Segment, Sender};
use bakeoff_core::units::Instant;

/// A hop with its name in recordings.
pub(crate) struct NamedHop {
    pub(crate) name: String,
    pub(crate) hop: Hop<Segment>,
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

/// A sender, a receiver and the ways between them.
pub(crate) struct Flow {
    pub(crate) sender: Sender,
    pub(crate) receiver: Receiver,
    /// Hops that data passes, in order.
    pub(crate) data_route: Vec<usize>,
    /// Hops that acks pass, in order.
    pub(crate) ack_route: Vec<usize>,
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

/// Everyone who can be woken, by number: hops first, then sender and receiver of each flow, then the sampler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Participant {
    Hop(usize),
    Sender(usize),
    Receiver(usize),
    Sampler,
}

/// Numbers the participants.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Numbering {
    pub(crate) hops: usize,
    pub(crate) flows: usize,
}

impl Numbering {
    pub(crate) fn count(self) -> usize {
        self.hops + 2 * self.flows + 1
    }

    pub(crate) fn number(self, participant: Participant) -> usize {
        match participant {
            Participant::Hop(hop) => hop,
            Participant::Sender(flow) => self.hops + 2 * flow,
            Participant::Receiver(flow) => self.hops + 2 * flow + 1,
            Participant::Sampler => self.hops + 2 * self.flows,
        }
    }

    pub(crate) fn participant(self, number: usize) -> Participant {
        match number.checked_sub(self.hops) {
            None => Participant::Hop(number),
            Some(end) if end == 2 * self.flows => Participant::Sampler,
            Some(end) if end % 2 == 0 => Participant::Sender(end / 2),
            Some(end) => Participant::Receiver(end / 2),
        }
    }
}

/// Builds the hops of both directions and of each flow's own delay, and the flows over them.
pub(crate) fn build(scenario: &Scenario) -> Result<(Vec<NamedHop>, Vec<Flow>), ScenarioError> {
    let mut hops = Vec::new();
    let forward = add_hops(&mut hops, &scenario.forward, "forward", scenario.seed);
    let reverse = add_hops(&mut hops, &scenario.reverse, "reverse", scenario.seed);
    let mut flows = Vec::with_capacity(scenario.flows.len());
    for (index, config) in scenario.flows.iter().enumerate() {
        let (mut data_route, mut ack_route) = match config.direction {
            Direction::Forward => (forward.clone(), reverse.clone()),
            Direction::Reverse => (reverse.clone(), forward.clone()),
        };
        if config.extra_delay_ns > 0 {
            // The flow's own delay lies between its sender and the shared path, in both directions.
            data_route.insert(0, add_delay(&mut hops, config, scenario.seed, format!("flow{}.data", index + 1)));
            ack_route.push(add_delay(&mut hops, config, scenario.seed, format!("flow{}.ack", index + 1)));
        }
        flows.push(build_flow(scenario, index, config, data_route, ack_route)?);
    }
    Ok((hops, flows))
}

fn add_hops(hops: &mut Vec<NamedHop>, configs: &[HopConfig], direction: &str, seed: u64) -> Vec<usize> {
    configs
        .iter()
        .enumerate()
        .map(|(index, config)| add_hop(hops, config, seed, format!("{direction}.{index}")))
        .collect()
}

fn add_hop(hops: &mut Vec<NamedHop>, config: &HopConfig, seed: u64, name: String) -> usize {
    hops.push(NamedHop { hop: Hop::new(config, seed, &name), name });
    hops.len() - 1
}

fn add_delay(hops: &mut Vec<NamedHop>, config: &FlowConfig, seed: u64, name: String) -> usize {
    let delay = HopConfig {
        link: LinkConfig::Unlimited,
        queue: QueueConfig::Fifo(FifoConfig::default()),
        delay_ns: config.extra_delay_ns,
        loss: 0.0,
        jitter_ns: 0,
    };
    add_hop(hops, &delay, seed, name)
}

fn build_flow(
    scenario: &Scenario,
    index: usize,
    config: &FlowConfig,
    data_route: Vec<usize>,
    ack_route: Vec<usize>,
) -> Result<Flow, ScenarioError> {
    let (sender, receiver) = scenario.ends(index, &config.scheme)?;
    Ok(Flow { sender, receiver, data_route, ack_route, start: scenario.start_of(index), stop: scenario.stop_of(index) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_participants_match() {
        let numbering = Numbering { hops: 3, flows: 2 };
        for number in 0..numbering.count() {
            assert_eq!(numbering.number(numbering.participant(number)), number);
        }
        assert_eq!(numbering.participant(7), Participant::Sampler);
    }
}

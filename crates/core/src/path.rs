//! The path of a run: its hops, and the ways that packets take over them.

use crate::hop::{Hop, HopConfig, HopSetup};
use crate::packet::Packet;
use crate::record::HopAccount;
use crate::scenario::{Direction, FlowConfig, Scenario, ScenarioError};
use crate::units::{Bytes, Instant};

/// A hop with its name in recordings.
pub struct NamedHop<P> {
    /// The name.
    pub name: String,
    /// The hop.
    pub hop: Hop<P>,
}

impl<P: Clone + Send + 'static> NamedHop<P> {
    fn new(config: &HopConfig, scenario: &Scenario, name: String) -> Result<Self, ScenarioError> {
        let setup = HopSetup {
            largest_packet: scenario.largest_packet(),
            flows: scenario.flows.len(),
            seed: scenario.seed,
            name: &name,
        };
        match Hop::new(config, &setup) {
            Ok(hop) => Ok(Self { name, hop }),
            Err(problem) => Err(ScenarioError::Invalid { place: format!("path.{name}"), problem }),
        }
    }

    /// What went through it until `end`.
    pub fn account(&mut self, end: Instant) -> HopAccount {
        HopAccount {
            name: self.name.clone(),
            accepted: self.hop.accepted,
            delivered: self.hop.delivered,
            inside: self.hop.inside(),
            on_wire: self.hop.on_wire().fold(Bytes::ZERO, |sum, packet| sum + packet.size),
            capacity: self.hop.capacity(Instant::ZERO, end),
        }
    }
}

/// The ways between the two ends of a flow or probe, as hops in order.
struct Routes {
    /// The DSCP that the scenario's sender gives its packets.
    dscp: u8,
    /// Of data and requests.
    data: Vec<usize>,
    /// Of acks and answers.
    acks: Vec<usize>,
}

/// The hops of both directions and of each flow's own delay, and the way of every packet over them.
pub struct Path<P> {
    /// Forward hops, reverse hops, and two for each flow that has a delay of its own.
    pub hops: Vec<NamedHop<P>>,
    /// By number of the flow; those of the probes stand behind.
    routes: Vec<Routes>,
}

impl<P: Clone + Send + 'static> Path<P> {
    /// Builds the path of a scenario.
    pub fn of(scenario: &Scenario) -> Result<Self, ScenarioError> {
        let mut path = Self { hops: Vec::new(), routes: Vec::new() };
        let forward = path.add_direction(&scenario.forward, "forward", scenario)?;
        let reverse = path.add_direction(&scenario.reverse, "reverse", scenario)?;
        let routes_of = |direction, dscp| match direction {
            Direction::Forward => Routes { dscp, data: forward.clone(), acks: reverse.clone() },
            Direction::Reverse => Routes { dscp, data: reverse.clone(), acks: forward.clone() },
        };
        for (index, config) in scenario.flows.iter().enumerate() {
            let mut routes = routes_of(config.direction, config.dscp);
            if !config.extra_delay.is_zero() {
                // The flow's own delay lies between its sender and the shared path, in both directions.
                routes.data.insert(0, path.add_delay(config, scenario, format!("flow{}.data", index + 1))?);
                routes.acks.push(path.add_delay(config, scenario, format!("flow{}.ack", index + 1))?);
            }
            path.routes.push(routes);
        }
        path.routes.extend(scenario.probes.iter().map(|config| routes_of(config.direction, 0)));
        Ok(path)
    }

    /// Gives a packet that a simulated endpoint sends the DSCP of its flow; acks have none.
    pub fn classify(&self, packet: &mut Packet<P>) {
        if packet.is_data_direction {
            packet.dscp = self.routes[packet.flow.0 as usize].dscp;
        }
    }

    /// The hop that a packet is to enter next, by number, which it is taken to have passed from then on; `None` if it
    /// has arrived.
    pub fn next_hop(&self, packet: &mut Packet<P>) -> Option<usize> {
        let hop = *self.route(packet).get(usize::from(packet.hops_passed))?;
        packet.hops_passed += 1;
        Some(hop)
    }

    /// The hop that a packet is to enter which has just been sent; a direction has at least one.
    pub fn first_hop(&self, packet: &mut Packet<P>) -> usize {
        packet.hops_passed = 1;
        self.route(packet)[0]
    }

    fn route(&self, packet: &Packet<P>) -> &[usize] {
        let routes = &self.routes[packet.flow.0 as usize];
        if packet.is_data_direction { &routes.data } else { &routes.acks }
    }

    fn add_direction(
        &mut self,
        configs: &[HopConfig],
        direction: &str,
        scenario: &Scenario,
    ) -> Result<Vec<usize>, ScenarioError> {
        let numbered = configs.iter().enumerate();
        numbered.map(|(index, config)| self.add(config, scenario, format!("{direction}.{index}"))).collect()
    }

    fn add(&mut self, config: &HopConfig, scenario: &Scenario, name: String) -> Result<usize, ScenarioError> {
        self.hops.push(NamedHop::new(config, scenario, name)?);
        Ok(self.hops.len() - 1)
    }

    fn add_delay(&mut self, config: &FlowConfig, scenario: &Scenario, name: String) -> Result<usize, ScenarioError> {
        let delay = HopConfig::delay(config.extra_delay);
        self.add(&delay, scenario, name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::FlowId;

    fn scenario(flow: &str, more: &str) -> Scenario {
        let hop = r#"{"link": {"kind": "constant", "rate_bps": 1000000}, "queue": {"kind": "fifo"}, "delay_ns": 0}"#;
        Scenario::from_json(&format!(
            r#"{{"seed": 1, "duration_ns": 9, "record": {{"level": "summary", "interval_ns": 9}},
                "forward": [{hop}, {hop}], "reverse": [{hop}],
                "flows": [{{"scheme": "reno", "traffic": {{"kind": "bulk"}}, "start_ns": 0, "stop_ns": 9{flow}}}]{more}}}"#
        ))
        .expect("a scenario")
    }

    /// Names of the hops on the way of data or acks.
    fn way(path: &Path<()>, is_data_direction: bool) -> Vec<&str> {
        let mut packet = Packet::new(FlowId(0), is_data_direction, 0, Bytes::new(100), Instant::ZERO, ());
        let hops: Vec<_> = std::iter::from_fn(|| path.next_hop(&mut packet)).collect();
        hops.into_iter().map(|hop| &*path.hops[hop].name).collect()
    }

    #[test]
    fn the_own_delay_of_a_flow_lies_between_its_sender_and_the_shared_path() {
        let path = Path::of(&scenario(r#", "extra_delay_ns": 5"#, "")).expect("a path");
        assert_eq!(way(&path, true), ["flow1.data", "forward.0", "forward.1"]);
        assert_eq!(way(&path, false), ["reverse.0", "flow1.ack"]);
        let path = Path::of(&scenario(r#", "extra_delay_ns": 5, "direction": "reverse""#, "")).expect("a path");
        assert_eq!(way(&path, true), ["flow1.data", "reverse.0"]);
        assert_eq!(way(&path, false), ["forward.0", "forward.1", "flow1.ack"]);
    }

    #[test]
    fn the_largest_packet_is_that_of_a_flow_or_of_a_probe() {
        let flow = r#", "mss_bytes": 960, "header_bytes": 40"#;
        let probe = r#", "probes": [{"interval_ns": 1, "size_bytes": 1200, "start_ns": 0, "stop_ns": 9}]"#;
        assert_eq!(scenario(flow, "").largest_packet(), Bytes::new(1_000));
        assert_eq!(scenario(flow, probe).largest_packet(), Bytes::new(1_200));
    }
}

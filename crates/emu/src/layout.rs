//! Who stands where: hosts and routers, the devices between them, what each device does to packets, where packets are
//! looked at, and the way of each flow.
//!
//! ```text
//! left hosts - A0 - B0 - A1 - B1 ... - right hosts
//! ```
//!
//! Forward hop i has its queue and link on A(i)'s device towards B(i), and its wire on B(i)'s device towards the right.
//! Reverse hops run the other way over the same pairs, the first one through the last pair: queue and link on B's
//! device, wire on A's device towards the left. A flow's own delay is a router between its sender and the chain.

use std::collections::BTreeMap;

use bakeoff_core::hop::{HopConfig, LinkConfig};
use bakeoff_core::scenario::{Direction, FlowConfig, Scenario};
use bakeoff_core::transport::stream::EcnMode;
use bakeoff_core::units::Duration;

use crate::job::HostKey;

/// A namespace, by number.
pub type Node = usize;

/// What a device does to the packets that it sends; forward ones go from the left hosts to the right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Duty {
    /// Nothing.
    Plain,
    /// Queue and link of a hop.
    Bottleneck(Direction, usize),
    /// Wire of a hop: serialisation, loss and delay.
    Wire(Direction, usize),
    /// A delay in nanoseconds.
    Delay(Duration),
}

/// One end of a cable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Device {
    /// The namespace it is in.
    pub node: Node,
    /// What it does to the packets it sends.
    pub duty: Duty,
}

/// Two devices that hand each other what they send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cable {
    /// The end nearer to the left hosts.
    pub left: Device,
    /// The other end.
    pub right: Device,
}

/// One end of a cable, by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DeviceId {
    /// Number of the cable.
    pub cable: usize,
    /// Which end.
    pub is_right: bool,
}

impl DeviceId {
    /// The index that the device has in the kernel, different from that of every other device.
    pub fn kernel_index(self) -> u32 {
        16 + 2 * self.cable as u32 + u32::from(self.is_right)
    }
}

/// A place where packets are looked at: a device, and whether it sends or receives them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Point {
    /// Number of the tap.
    pub tap: usize,
    /// True for packets that the device sends.
    pub is_outgoing: bool,
}

/// Where a packet is seen on its way through a hop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HopPoints {
    /// Number of the hop in [`Layout::hops`].
    pub hop: usize,
    /// It arrives at the queue.
    pub entry: Point,
    /// Its transmission begins.
    pub link: Point,
    /// It comes out of the wire.
    pub exit: Point,
}

/// Two hosts that share all properties, for the flows between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostPair {
    /// The left host and its device.
    pub left: (Node, DeviceId),
    /// The right host and its device.
    pub right: (Node, DeviceId),
    /// The ECN of both.
    pub ecn: EcnMode,
}

/// Where the ends of a flow or probe are, and the hops that its packets pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowLayout {
    /// Number of the host pair.
    pub pair: usize,
    /// The hops of its data or requests.
    pub data: Vec<HopPoints>,
    /// The hops of its acks or answers.
    pub acks: Vec<HopPoints>,
}

/// A destination of a router.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// The router or host.
    pub node: Node,
    /// Over which device.
    pub device: DeviceId,
    /// To which address.
    pub address: [u8; 4],
    /// And how many of its bits count.
    pub prefix: u8,
}

/// A hop for the accounts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedHop {
    /// Its name in recordings.
    pub name: String,
    /// Its position on the path; `None` for a flow's own delay.
    pub position: Option<(Direction, usize)>,
}

/// The whole arrangement.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// Number of namespaces.
    pub nodes: usize,
    /// The cables.
    pub cables: Vec<Cable>,
    /// The routes of all nodes.
    pub routes: Vec<Route>,
    /// Devices that are looked at.
    pub taps: Vec<DeviceId>,
    /// The hosts.
    pub pairs: Vec<HostPair>,
    /// The hops, as recordings count them.
    pub hops: Vec<NamedHop>,
    /// The flows.
    pub flows: Vec<FlowLayout>,
    /// The probes.
    pub probes: Vec<FlowLayout>,
}

/// All left hosts are 10.1.x.x, all right ones 10.2.x.x.
pub const PREFIX: u8 = 16;
const LEFT_NET: [u8; 4] = [10, 1, 0, 0];
const RIGHT_NET: [u8; 4] = [10, 2, 0, 0];

/// The address of the left host of a pair.
pub fn left_address(pair: usize) -> [u8; 4] {
    [10, 1, (pair >> 8) as u8, (pair & 0xff) as u8]
}

/// The address of the right host of a pair.
pub fn right_address(pair: usize) -> [u8; 4] {
    [10, 2, (pair >> 8) as u8, (pair & 0xff) as u8]
}

impl Layout {
    /// Arranges a scenario.
    pub fn of(scenario: &Scenario) -> Self {
        let mut builder = Builder::new(scenario);
        builder.add_chain();
        let mut pairs = BTreeMap::new();
        for flow in &scenario.flows {
            let key = HostKey::of(flow);
            let next = pairs.len();
            pairs.entry(key).or_insert_with(|| {
                builder.add_pair(next, key);
                next
            });
        }
        for (index, flow) in scenario.flows.iter().enumerate() {
            builder.add_flow(index, flow, pairs[&HostKey::of(flow)]);
        }
        if !scenario.probes.is_empty() {
            let near = pairs.iter().find(|(key, _)| key.extra_delay.is_zero()).map(|(_, pair)| *pair);
            let pair = near.unwrap_or_else(|| {
                builder.add_pair(pairs.len(), HostKey::NEAR);
                pairs.len()
            });
            for probe in &scenario.probes {
                builder.add_probe(probe.direction, pair);
            }
        }
        builder.layout
    }

    /// The device with this number.
    pub fn device(&self, id: DeviceId) -> Device {
        let cable = &self.cables[id.cable];
        if id.is_right { cable.right } else { cable.left }
    }
}

struct Builder<'a> {
    scenario: &'a Scenario,
    /// Pairs of routers in the chain.
    stages: usize,
    layout: Layout,
    /// Taps of each pair: left end and right end of the chain, and the sender's device if it has a delay of its own.
    pair_taps: Vec<(usize, usize, Option<usize>)>,
    /// The tap on A's device towards B, per stage.
    middle_taps: Vec<usize>,
    /// The tap on the device of A towards the stage on its left, per stage but the first.
    between_taps: Vec<usize>,
}

impl<'a> Builder<'a> {
    fn new(scenario: &'a Scenario) -> Self {
        let stages = scenario.forward.len().max(scenario.reverse.len());
        let mut layout = Layout { nodes: 2 * stages, ..Layout::default() };
        for direction in Direction::ALL {
            let indices = 0..scenario.hops(direction).len();
            let named =
                |index| NamedHop { name: format!("{}.{index}", direction.name()), position: Some((direction, index)) };
            layout.hops.extend(indices.map(named));
        }
        Self { scenario, stages, layout, pair_taps: Vec::new(), middle_taps: Vec::new(), between_taps: Vec::new() }
    }

    fn near(stage: usize) -> Node {
        2 * stage
    }

    fn far(stage: usize) -> Node {
        2 * stage + 1
    }

    /// The hop whose queue or wire a stage has, if there is one.
    fn hop_at(&self, direction: Direction, stage: usize) -> Option<(usize, &HopConfig)> {
        let index = match direction {
            Direction::Forward => stage,
            Direction::Reverse => self.stages - 1 - stage,
        };
        self.scenario.hops(direction).get(index).map(|hop| (index, hop))
    }

    fn bottleneck(&self, direction: Direction, stage: usize) -> Duty {
        match self.hop_at(direction, stage) {
            Some((index, hop)) if hop.link != LinkConfig::Unlimited => Duty::Bottleneck(direction, index),
            _ => Duty::Plain,
        }
    }

    fn wire(&self, direction: Direction, stage: usize) -> Duty {
        match self.hop_at(direction, stage) {
            Some((index, hop)) if hop.link != LinkConfig::Unlimited || !hop.delay.is_zero() || !hop.loss.is_none() => {
                Duty::Wire(direction, index)
            }
            _ => Duty::Plain,
        }
    }

    fn connect(&mut self, left: Device, right: Device) -> usize {
        self.layout.cables.push(Cable { left, right });
        self.layout.cables.len() - 1
    }

    fn tap(&mut self, cable: usize, is_right: bool) -> usize {
        self.layout.taps.push(DeviceId { cable, is_right });
        self.layout.taps.len() - 1
    }

    fn route(&mut self, node: Node, cable: usize, is_right: bool, address: [u8; 4], prefix: u8) {
        self.layout.routes.push(Route { node, device: DeviceId { cable, is_right }, address, prefix });
    }

    fn add_chain(&mut self) {
        for stage in 0..self.stages {
            if stage > 0 {
                let left = Device { node: Self::far(stage - 1), duty: self.wire(Direction::Forward, stage - 1) };
                let right = Device { node: Self::near(stage), duty: self.wire(Direction::Reverse, stage) };
                let cable = self.connect(left, right);
                let tap = self.tap(cable, true);
                self.between_taps.push(tap);
                self.route(Self::far(stage - 1), cable, false, RIGHT_NET, PREFIX);
                self.route(Self::near(stage), cable, true, LEFT_NET, PREFIX);
            }
            let left = Device { node: Self::near(stage), duty: self.bottleneck(Direction::Forward, stage) };
            let right = Device { node: Self::far(stage), duty: self.bottleneck(Direction::Reverse, stage) };
            let cable = self.connect(left, right);
            let tap = self.tap(cable, false);
            self.middle_taps.push(tap);
            self.route(Self::near(stage), cable, false, RIGHT_NET, PREFIX);
            self.route(Self::far(stage), cable, true, LEFT_NET, PREFIX);
        }
    }

    fn add_node(&mut self) -> Node {
        self.layout.nodes += 1;
        self.layout.nodes - 1
    }

    fn add_pair(&mut self, pair: usize, key: HostKey) {
        let (left_host, right_host) = (self.add_node(), self.add_node());
        let last = self.stages - 1;
        let own_delay = (!key.extra_delay.is_zero()).then_some(Duty::Delay(key.extra_delay));
        let plain = |node| Device { node, duty: Duty::Plain };

        let near = Device { node: Self::near(0), duty: self.wire(Direction::Reverse, 0) };
        let far = Device { node: Self::far(last), duty: self.wire(Direction::Forward, last) };
        let delayed = own_delay.map(|duty| (self.add_node(), duty));
        let mut own_tap = None;
        let (left_cable, left_device) = match delayed.filter(|_| !key.is_sender_right) {
            None => {
                let cable = self.connect(plain(left_host), near);
                (cable, DeviceId { cable, is_right: false })
            }
            Some((node, duty)) => {
                let access = self.connect(plain(left_host), Device { node, duty });
                let cable = self.connect(Device { node, duty }, near);
                own_tap = Some(self.tap(access, false));
                self.route(node, access, true, LEFT_NET, PREFIX);
                self.route(node, cable, false, RIGHT_NET, PREFIX);
                (cable, DeviceId { cable: access, is_right: false })
            }
        };
        let (right_cable, right_device) = match delayed.filter(|_| key.is_sender_right) {
            None => {
                let cable = self.connect(far, plain(right_host));
                (cable, DeviceId { cable, is_right: true })
            }
            Some((node, duty)) => {
                let cable = self.connect(far, Device { node, duty });
                let access = self.connect(Device { node, duty }, plain(right_host));
                own_tap = Some(self.tap(access, true));
                self.route(node, cable, true, LEFT_NET, PREFIX);
                self.route(node, access, false, RIGHT_NET, PREFIX);
                (cable, DeviceId { cable: access, is_right: true })
            }
        };
        self.route(Self::near(0), left_cable, true, left_address(pair), 32);
        self.route(Self::far(last), right_cable, false, right_address(pair), 32);
        self.route(left_host, left_device.cable, false, RIGHT_NET, PREFIX);
        self.route(right_host, right_device.cable, true, LEFT_NET, PREFIX);
        let taps = (self.tap(left_cable, true), self.tap(right_cable, false), own_tap);
        self.pair_taps.push(taps);
        self.layout.pairs.push(HostPair {
            left: (left_host, left_device),
            right: (right_host, right_device),
            ecn: key.ecn,
        });
    }

    fn add_flow(&mut self, index: usize, flow: &FlowConfig, pair: usize) {
        let (mut data, mut acks) = self.ways(flow.direction, pair);
        if let (_, _, Some(tap)) = self.pair_taps[pair] {
            let own_hop = |layout: &mut Layout, kind: &str| {
                layout.hops.push(NamedHop { name: format!("flow{}.{kind}", index + 1), position: None });
                layout.hops.len() - 1
            };
            let hop = own_hop(&mut self.layout, "data");
            let (entry, exit) = (Point { tap, is_outgoing: true }, data[0].entry);
            data.insert(0, HopPoints { hop, entry, link: entry, exit });
            let hop = own_hop(&mut self.layout, "ack");
            let (entry, exit) = (acks[acks.len() - 1].exit, Point { tap, is_outgoing: false });
            acks.push(HopPoints { hop, entry, link: entry, exit });
        }
        self.layout.flows.push(FlowLayout { pair, data, acks });
    }

    fn add_probe(&mut self, direction: Direction, pair: usize) {
        let (data, acks) = self.ways(direction, pair);
        self.layout.probes.push(FlowLayout { pair, data, acks });
    }

    /// The hops there and back, without a delay of a flow's own.
    fn ways(&self, direction: Direction, pair: usize) -> (Vec<HopPoints>, Vec<HopPoints>) {
        let (forward, reverse) = (self.points(Direction::Forward, pair), self.points(Direction::Reverse, pair));
        if direction == Direction::Forward { (forward, reverse) } else { (reverse, forward) }
    }

    /// The hops of a direction, for packets between the hosts of a pair.
    fn points(&self, direction: Direction, pair: usize) -> Vec<HopPoints> {
        let (left, right, _) = self.pair_taps[pair];
        let is_forward = direction == Direction::Forward;
        let hops = self.scenario.hops(direction).len();
        let before = if is_forward { 0 } else { self.scenario.forward.len() };
        // A packet that comes out of the stage on the left is received by A; one that goes there is sent by A.
        let left_of = |stage: usize| match stage {
            0 => Point { tap: left, is_outgoing: !is_forward },
            _ => Point { tap: self.between_taps[stage - 1], is_outgoing: !is_forward },
        };
        let right_of = |stage: usize| match stage + 1 {
            next if next == self.stages => Point { tap: right, is_outgoing: is_forward },
            next => left_of(next),
        };
        (0..hops)
            .map(|index| {
                let stage = if is_forward { index } else { self.stages - 1 - index };
                let middle = Point { tap: self.middle_taps[stage], is_outgoing: is_forward };
                let (entry, exit) =
                    if is_forward { (left_of(stage), right_of(stage)) } else { (right_of(stage), left_of(stage)) };
                let has_link = self.hop_at(direction, stage).is_some_and(|(_, hop)| hop.link != LinkConfig::Unlimited);
                HopPoints { hop: before + index, entry, link: if has_link { middle } else { entry }, exit }
            })
            .collect()
    }
}

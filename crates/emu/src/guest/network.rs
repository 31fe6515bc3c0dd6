//! Builds namespaces, cables, routes and queueing disciplines.

use std::os::fd::{AsFd, AsRawFd};

use bakeoff_core::hop::{Change, LinkConfig, LossConfig, wire_seed};
use bakeoff_core::scenario::Direction;
use bakeoff_core::units::{Instant, Rate};

use crate::error::{Context, RunError};
use crate::job::Job;
use crate::layout::{DeviceId, Duty, Layout, Node, left_address, right_address};
use crate::netlink::{self, Message, Shaper, Socket, TokenBucket, Veth, VethEnd, Wire};
use crate::senders::{Host, Hosts, settings};
use crate::sys::NetworkNamespace;

/// The namespaces of a run; entering one is how sockets are opened in it.
pub(super) struct Network {
    nodes: Vec<(NetworkNamespace, Socket)>,
}

/// The hosts of a guest.
pub(super) struct GuestHosts<'a> {
    pub(super) network: &'a Network,
    pub(super) layout: &'a Layout,
}

impl Hosts for GuestHosts<'_> {
    fn enter(&self, host: Host) -> Result<(), RunError> {
        let pair = self.layout.pairs[host.pair];
        self.network.enter(if host.is_right { pair.right.0 } else { pair.left.0 })
    }

    fn pair_of_flow(&self, flow: usize) -> usize {
        self.layout.flows[flow].pair
    }

    fn pair_of_probe(&self, probe: usize) -> usize {
        self.layout.probes[probe].pair
    }
}

/// At this time the rate of this device changes.
#[derive(Clone, Debug)]
pub(super) struct RateChange {
    pub(super) time: Instant,
    pub(super) device: DeviceId,
    pub(super) message: Message,
}

impl Network {
    pub(super) fn build(job: &Job, layout: &Layout) -> Result<Self, RunError> {
        let mut nodes = Vec::with_capacity(layout.nodes);
        for node in 0..layout.nodes {
            let namespace = NetworkNamespace::create().context(|| format!("making namespace {node}"))?;
            settings::write("ipv4/ip_forward", "1")?;
            // Packets of flows that have stopped end at the first router. Nobody is told of them: no table has such
            // answers, and the way back would carry them.
            settings::write("ipv4/icmp_msgs_per_sec", "0")?;
            let socket = Socket::open().context(|| format!("opening netlink in namespace {node}"))?;
            nodes.push((namespace, socket));
        }
        let mut network = Self { nodes };
        network.connect(job, layout)?;
        network.set_up_hosts(layout)?;
        for route in &layout.routes {
            let message = netlink::add_route(route.device.kernel_index(), route.address.into(), route.prefix);
            network.request(route.node, message, || format!("adding a route to {:?}", route.address))?;
        }
        network.install(job, layout)?;
        Ok(network)
    }

    /// Moves the calling thread into the namespace of a node.
    pub(super) fn enter(&self, node: Node) -> Result<(), RunError> {
        self.nodes[node].0.enter().context(|| format!("entering namespace {node}"))
    }

    /// Changes a rate now.
    pub(super) fn change_rate(&mut self, layout: &Layout, change: &RateChange) -> Result<(), RunError> {
        self.request(layout.device(change.device).node, change.message.clone(), || "changing a rate".to_owned())
    }

    fn request(&mut self, node: Node, message: Message, what: impl FnOnce() -> String) -> Result<(), RunError> {
        self.nodes[node].1.request(message).context(what)
    }

    fn connect(&mut self, job: &Job, layout: &Layout) -> Result<(), RunError> {
        let mtu = job.scenario.largest_packet().count() as u32;
        for (number, cable) in layout.cables.iter().enumerate() {
            let end = |node: Node, is_right| VethEnd {
                index: DeviceId { cable: number, is_right }.kernel_index(),
                namespace: self.nodes[node].0.as_fd().as_raw_fd(),
            };
            let veth = Veth { left: end(cable.left.node, false), right: end(cable.right.node, true), mtu };
            self.request(cable.left.node, netlink::add_veth(&veth), || format!("making cable {number}"))?;
            for (node, end) in [(cable.left.node, &veth.left), (cable.right.node, &veth.right)] {
                self.request(node, netlink::bring_up(end.index), || format!("switching cable {number} on"))?;
            }
        }
        Ok(())
    }

    fn set_up_hosts(&mut self, layout: &Layout) -> Result<(), RunError> {
        for (number, pair) in layout.pairs.iter().enumerate() {
            for ((node, device), address) in [(pair.left, left_address(number)), (pair.right, right_address(number))] {
                let message = netlink::add_address(device.kernel_index(), address.into());
                self.request(node, message, || format!("adding the address {address:?}"))?;
                self.enter(node)?;
                settings::prepare_host(pair.ecn)?;
            }
        }
        Ok(())
    }

    fn install(&mut self, job: &Job, layout: &Layout) -> Result<(), RunError> {
        for (number, cable) in layout.cables.iter().enumerate() {
            for (device, is_right) in [(cable.left, false), (cable.right, true)] {
                let index = DeviceId { cable: number, is_right }.kernel_index();
                for message in discipline(job, device.duty, index)? {
                    self.request(device.node, message, || format!("installing {:?}", device.duty))?;
                }
            }
        }
        Ok(())
    }
}

/// The rate that a link has at first; `None` if it is unlimited.
fn first_rate(link: &LinkConfig) -> Option<Rate> {
    match link {
        LinkConfig::Constant { rate } => Some(*rate),
        LinkConfig::Schedule { steps, .. } => steps.first().map(|step| step.rate),
        _ => None,
    }
}

fn wire(job: &Job, direction: Direction, index: usize, rate: Option<Rate>) -> Wire {
    let hop = &job.scenario.hops(direction)[index];
    let seed = wire_seed(job.scenario.seed, &format!("{}.{index}", direction.name()));
    let reorder = hop.reorder.and_then(|reorder| match reorder.change {
        Change::Ahead { gap } => Some((reorder.probability, gap as u32)),
        Change::Late { .. } | Change::Behind { .. } => None,
    });
    Wire { rate, delay: hop.delay, loss: hop.loss, reorder, seed }
}

fn discipline(job: &Job, duty: Duty, device: u32) -> Result<Vec<Message>, RunError> {
    Ok(match duty {
        Duty::Plain => Vec::new(),
        Duty::Delay(delay) => {
            let loss = LossConfig::default();
            vec![Wire { rate: None, delay, loss, reorder: None, seed: 1 }.install(device)]
        }
        Duty::Wire(direction, index) => {
            vec![wire(job, direction, index, first_rate(&job.scenario.hops(direction)[index].link)).install(device)]
        }
        Duty::Bottleneck(direction, index) => {
            let link = &job.scenario.hops(direction)[index].link;
            let mut messages = if let LinkConfig::TokenBucket { rate, burst, peak } = *link {
                let largest = job.scenario.largest_packet();
                vec![TokenBucket { rate, burst, peak, largest }.install(device)]
            } else {
                let rate = first_rate(link).unwrap_or(Rate::from_bits_per_second(u64::MAX));
                Vec::from(Shaper { rate }.install(device))
            };
            messages.push(netlink::leaf(device, &job.qdisc(direction, index)?));
            messages
        }
    })
}

/// The changes that the schedules of all hops ask for before `end`.
pub(super) fn rate_changes(job: &Job, layout: &Layout, end: Instant) -> Vec<RateChange> {
    let mut changes = Vec::new();
    for (number, cable) in layout.cables.iter().enumerate() {
        for (device, is_right) in [(cable.left, false), (cable.right, true)] {
            let id = DeviceId { cable: number, is_right };
            let (Duty::Bottleneck(direction, index) | Duty::Wire(direction, index)) = device.duty else { continue };
            for (time, rate) in steps_before(&job.scenario.hops(direction)[index].link, end) {
                let message = match device.duty {
                    Duty::Bottleneck(..) => Shaper { rate }.change(id.kernel_index()),
                    _ => wire(job, direction, index, Some(rate)).change(id.kernel_index()),
                };
                changes.push(RateChange { time, device: id, message });
            }
        }
    }
    changes.sort_by_key(|change| change.time);
    changes
}

/// The steps of a schedule after its first one, period after period.
fn steps_before(link: &LinkConfig, end: Instant) -> Vec<(Instant, Rate)> {
    let LinkConfig::Schedule { steps, period } = link else { return Vec::new() };
    let periods = period.map_or(1, |period| end.as_nanos().div_ceil(period.as_nanos()));
    (0..periods)
        .map(|number| Instant::ZERO + period.unwrap_or_default() * number)
        .flat_map(|start| steps.iter().map(move |step| (start + step.at, step.rate)))
        .filter(|(time, _)| *time > Instant::ZERO && *time < end)
        .collect()
}

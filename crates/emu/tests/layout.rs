//! Packets find their way through the arrangement, past what each hop does to them, and are seen where they should be.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::collections::BTreeSet;

use bakeoff_core::scenario::{Direction, Scenario};
use bakeoff_core::units::Duration;
use bakeoff_emu::layout::{DeviceId, Duty, HopPoints, Layout, Node, Point, left_address, right_address};

const LINK: &str = r#"{"kind": "constant", "rate_bps": 1000000}"#;
const UNLIMITED: &str = r#"{"kind": "unlimited"}"#;

fn hop(link: &str, delay_ns: u64) -> String {
    format!(r#"{{"link": {link}, "queue": {{"kind": "fifo"}}, "delay_ns": {delay_ns}}}"#)
}

fn flow(details: &str) -> String {
    format!(
        r#"{{"scheme": "kernel:reno", "traffic": {{"kind": "bulk"}}, "start_ns": 0, "stop_ns": 1000000000{details}}}"#
    )
}

fn layout(forward: &[String], reverse: &[String], flows: &[&str]) -> Layout {
    let flows: Vec<_> = flows.iter().map(|details| flow(details)).collect();
    let json = format!(
        r#"{{"seed": 1, "duration_ns": 1000000000, "record": {{"level": "summary", "interval_ns": 100000000}},
            "forward": [{}], "reverse": [{}], "flows": [{}]}}"#,
        forward.join(","),
        reverse.join(","),
        flows.join(",")
    );
    Layout::of(&Scenario::from_json(&json).unwrap())
}

/// The device that a node sends a packet over: that of the most particular route.
fn next_device(layout: &Layout, node: Node, to: [u8; 4]) -> DeviceId {
    let number = u32::from_be_bytes;
    let leads_there = |address: [u8; 4], prefix: u8| (number(address) ^ number(to)) >> (32 - u32::from(prefix)) == 0;
    let routes = layout.routes.iter().filter(|route| route.node == node && leads_there(route.address, route.prefix));
    routes.max_by_key(|route| route.prefix).unwrap().device
}

/// The devices that send a packet on its way from a host to another.
fn walk(layout: &Layout, from: Node, to: [u8; 4], target: Node) -> Vec<DeviceId> {
    let (mut node, mut devices) = (from, Vec::new());
    while node != target {
        let id = next_device(layout, node, to);
        assert_eq!(layout.device(id).node, node, "a route names a device of another node");
        devices.push(id);
        node = layout.device(DeviceId { is_right: !id.is_right, ..id }).node;
        assert!(devices.len() <= layout.cables.len(), "a packet runs in a circle");
    }
    devices
}

struct Ways {
    there: Vec<DeviceId>,
    back: Vec<DeviceId>,
}

fn ways(layout: &Layout, pair: usize) -> Ways {
    let hosts = layout.pairs[pair];
    Ways {
        there: walk(layout, hosts.left.0, right_address(pair), hosts.right.0),
        back: walk(layout, hosts.right.0, left_address(pair), hosts.left.0),
    }
}

fn duties(layout: &Layout, devices: &[DeviceId]) -> Vec<Duty> {
    devices.iter().map(|device| layout.device(*device).duty).filter(|duty| *duty != Duty::Plain).collect()
}

/// Where taps see a packet on its way.
fn sightings(layout: &Layout, devices: &[DeviceId]) -> Vec<Point> {
    let tap = |device: DeviceId| layout.taps.iter().position(|tapped| *tapped == device);
    let point = |device, is_outgoing| tap(device).map(|tap| Point { tap, is_outgoing });
    let ends = |device: DeviceId| [(device, true), (DeviceId { is_right: !device.is_right, ..device }, false)];
    devices.iter().flat_map(|device| ends(*device)).filter_map(|(device, out)| point(device, out)).collect()
}

/// The points of all hops in order, each once, are among the sightings in order.
fn assert_seen(layout: &Layout, devices: &[DeviceId], hops: &[HopPoints]) {
    let seen = sightings(layout, devices);
    let mut points: Vec<_> = hops.iter().flat_map(|hop| [hop.entry, hop.link, hop.exit]).collect();
    points.dedup();
    let places: Vec<_> = points.iter().map(|point| seen.iter().position(|other| other == point).unwrap()).collect();
    assert!(places.is_sorted_by(|one, other| one < other), "{points:?} are not in the order of {seen:?}");
    for hop in hops {
        let tapped = layout.taps[hop.link.tap];
        let sender = DeviceId { is_right: tapped.is_right == hop.link.is_outgoing, ..tapped };
        let duty = layout.device(sender).duty;
        if let Some((direction, index)) = layout.hops[hop.hop].position {
            assert_eq!(duty == Duty::Bottleneck(direction, index), hop.link != hop.entry, "{hop:?}");
        }
    }
}

fn assert_all_seen(layout: &Layout) {
    for flow in &layout.flows {
        let ways = ways(layout, flow.pair);
        let is_forward = layout.hops[flow.data[flow.data.len() - 1].hop]
            .position
            .is_some_and(|(direction, _)| direction == Direction::Forward);
        let (data, acks) = if is_forward { (&ways.there, &ways.back) } else { (&ways.back, &ways.there) };
        assert_seen(layout, data, &flow.data);
        assert_seen(layout, acks, &flow.acks);
    }
}

fn hop_names(layout: &Layout, hops: &[HopPoints]) -> Vec<String> {
    hops.iter().map(|hop| layout.hops[hop.hop].name.clone()).collect()
}

#[test]
fn one_hop_and_a_plain_way_back() {
    let layout = layout(&[hop(LINK, 20)], &[hop(UNLIMITED, 20)], &[""]);
    let found = ways(&layout, 0);
    assert_eq!(
        duties(&layout, &found.there),
        [Duty::Bottleneck(Direction::Forward, 0), Duty::Wire(Direction::Forward, 0)]
    );
    assert_eq!(duties(&layout, &found.back), [Duty::Wire(Direction::Reverse, 0)]);
    assert_eq!(hop_names(&layout, &layout.flows[0].data), ["forward.0"]);
    assert_eq!(hop_names(&layout, &layout.flows[0].acks), ["reverse.0"]);
    assert_all_seen(&layout);
}

#[test]
fn a_hop_without_rate_and_delay_does_nothing() {
    let layout = layout(&[hop(LINK, 0)], &[hop(UNLIMITED, 0)], &[""]);
    let found = ways(&layout, 0);
    assert_eq!(
        duties(&layout, &found.there),
        [Duty::Bottleneck(Direction::Forward, 0), Duty::Wire(Direction::Forward, 0)]
    );
    assert_eq!(duties(&layout, &found.back), []);
    assert_all_seen(&layout);
}

#[test]
fn two_hops_there_and_one_back() {
    let layout = layout(&[hop(LINK, 20), hop(LINK, 10)], &[hop(LINK, 30)], &["", r#", "direction": "reverse""#]);
    let found = ways(&layout, 0);
    let stage = |direction, index| [Duty::Bottleneck(direction, index), Duty::Wire(direction, index)];
    assert_eq!(duties(&layout, &found.there), [stage(Direction::Forward, 0), stage(Direction::Forward, 1)].concat());
    assert_eq!(duties(&layout, &found.back), stage(Direction::Reverse, 0));
    assert_eq!(hop_names(&layout, &layout.flows[0].data), ["forward.0", "forward.1"]);
    assert_eq!(hop_names(&layout, &layout.flows[1].data), ["reverse.0"]);
    assert_eq!(hop_names(&layout, &layout.flows[1].acks), ["forward.0", "forward.1"]);
    assert_all_seen(&layout);
}

#[test]
fn one_hop_there_and_three_back() {
    let back = [hop(LINK, 1), hop(UNLIMITED, 2), hop(LINK, 3)];
    let layout = layout(&[hop(LINK, 20)], &back, &["", r#", "direction": "reverse""#]);
    let expected = [
        Duty::Bottleneck(Direction::Reverse, 0),
        Duty::Wire(Direction::Reverse, 0),
        Duty::Wire(Direction::Reverse, 1),
        Duty::Bottleneck(Direction::Reverse, 2),
        Duty::Wire(Direction::Reverse, 2),
    ];
    assert_eq!(duties(&layout, &ways(&layout, 0).back), expected);
    assert_all_seen(&layout);
}

#[test]
fn a_delay_of_its_own_stands_between_the_sender_and_the_path() {
    let reverse = r#", "extra_delay_ns": 7, "direction": "reverse""#;
    let layout = layout(&[hop(LINK, 20)], &[hop(LINK, 20)], &[r#", "extra_delay_ns": 5"#, "", reverse]);
    let path = |direction| vec![Duty::Bottleneck(direction, 0), Duty::Wire(direction, 0)];
    let (first, plain, last) = (ways(&layout, 0), ways(&layout, 1), ways(&layout, 2));
    assert_eq!(
        duties(&layout, &first.there),
        [vec![Duty::Delay(Duration::from_nanos(5))], path(Direction::Forward)].concat()
    );
    assert_eq!(
        duties(&layout, &first.back),
        [path(Direction::Reverse), vec![Duty::Delay(Duration::from_nanos(5))]].concat()
    );
    assert_eq!(duties(&layout, &plain.there), path(Direction::Forward));
    assert_eq!(
        duties(&layout, &last.back),
        [vec![Duty::Delay(Duration::from_nanos(7))], path(Direction::Reverse)].concat()
    );
    assert_eq!(
        duties(&layout, &last.there),
        [path(Direction::Forward), vec![Duty::Delay(Duration::from_nanos(7))]].concat()
    );
    assert_eq!(hop_names(&layout, &layout.flows[0].data), ["flow1.data", "forward.0"]);
    assert_eq!(hop_names(&layout, &layout.flows[0].acks), ["reverse.0", "flow1.ack"]);
    assert_eq!(hop_names(&layout, &layout.flows[2].data), ["flow3.data", "reverse.0"]);
    assert_all_seen(&layout);
}

#[test]
fn flows_that_are_alike_share_their_hosts() {
    let layout =
        layout(&[hop(LINK, 20)], &[hop(LINK, 20)], &["", r#", "direction": "reverse""#, r#", "ecn": "classic""#]);
    let pairs: Vec<_> = layout.flows.iter().map(|flow| flow.pair).collect();
    assert_eq!(pairs, [0, 0, 1]);
    assert_all_seen(&layout);
}

#[test]
fn every_device_has_an_index_and_a_node_of_its_own_cable() {
    let layout = layout(&[hop(LINK, 1), hop(LINK, 2)], &[hop(LINK, 1)], &["", r#", "extra_delay_ns": 5"#]);
    let both = |cable| [false, true].map(|is_right| DeviceId { cable, is_right });
    let indices: BTreeSet<_> = (0..layout.cables.len()).flat_map(both).map(DeviceId::kernel_index).collect();
    assert_eq!(indices.len(), 2 * layout.cables.len());
    for cable in &layout.cables {
        assert_ne!(cable.left.node, cable.right.node);
        assert!(cable.left.node.max(cable.right.node) < layout.nodes);
    }
}

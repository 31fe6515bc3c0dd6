//! The hosts: namespaces that nobody else can see, each with one TUN device whose other end is the emulator's.
//!
//! Nothing here has a name outside this process, so nothing is left when it ends, however it ends.

use std::fs;
use std::io;
use std::net::{IpAddr, Ipv6Addr};

use bakeoff_core::scenario::Scenario;
use serde::Serialize;

use super::pairs::Pairs;
use crate::error::{Context, RunError};
use crate::layout::PREFIX;
use crate::netlink::{self, Socket};
use crate::senders::{Host, Hosts, settings};
use crate::sys::{NetworkNamespace, Tun, device_index};

/// The name of every host's device.
const DEVICE: &str = "path";
/// Super-packets that a device holds until they are read: more than any sender has outstanding.
const QUEUED_PACKETS: u32 = 100_000;
const IPV6_PREFIX: u8 = 64;

/// The IPv6 address of a host.
pub(super) fn ipv6_address(host: Host) -> Ipv6Addr {
    Ipv6Addr::new(0xfd00, 0, 0, if host.is_right { 2 } else { 1 }, 0, 0, 0, host.pair as u16 + 1)
}

/// The hosts of a run.
pub(super) struct EmulatedHosts {
    namespaces: Vec<NetworkNamespace>,
    pub(super) pairs: Pairs,
}

/// What the kernel counted at a host's device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct InterfaceCounts {
    /// Packets, or several under one header, that the host sent.
    pub(super) sent: u64,
    /// Those that were lost before they could be read.
    pub(super) sent_dropped: u64,
    /// Packets that the host received.
    pub(super) received: u64,
    /// Those that it threw away.
    pub(super) received_dropped: u64,
}

/// The number of a host's device among all.
pub(super) fn device_of(host: Host) -> usize {
    2 * host.pair + usize::from(host.is_right)
}

/// The host of a device.
pub(super) fn host_of(device: usize) -> Host {
    Host { pair: device / 2, is_right: device % 2 == 1 }
}

impl EmulatedHosts {
    /// Makes the hosts of a scenario, and their devices by number.
    pub(super) fn build(scenario: &Scenario) -> Result<(Self, Vec<Tun>), RunError> {
        let pairs = Pairs::of(scenario);
        let mtu = scenario.largest_packet().count() as u32;
        let (mut namespaces, mut devices) = (Vec::new(), Vec::new());
        for number in 0..2 * pairs.count() {
            let host = host_of(number);
            namespaces.push(NetworkNamespace::create().context(|| "making a network namespace".to_owned())?);
            settings::prepare_host(pairs.ecn(host.pair))?;
            // Connections whose program is gone would keep the namespace for minutes.
            settings::write("ipv4/tcp_orphan_retries", "1")?;
            settings::write("ipv4/ping_group_range", "0 2147483647")?;
            devices.push(Tun::open(DEVICE).context(|| "making a TUN device".to_owned())?);
            connect(host, mtu)?;
        }
        Ok((Self { namespaces, pairs }, devices))
    }

    /// What the kernel has counted at each device.
    pub(super) fn counts(&self) -> Result<Vec<InterfaceCounts>, RunError> {
        let read = || "reading the counters of a device".to_owned();
        (self.namespaces.iter())
            .map(|namespace| {
                namespace.enter().context(read)?;
                let text = fs::read_to_string("/proc/thread-self/net/dev").context(read)?;
                parse_counts(&text).ok_or_else(|| io::Error::other("the kernel tells none")).context(read)
            })
            .collect()
    }
}

impl Hosts for EmulatedHosts {
    fn enter(&self, host: Host) -> Result<(), RunError> {
        self.namespaces[device_of(host)].enter().context(|| "entering a network namespace".to_owned())
    }

    fn pair_of_flow(&self, flow: usize) -> usize {
        self.pairs.of_flow(flow)
    }

    fn pair_of_probe(&self, _probe: usize) -> usize {
        self.pairs.of_probes()
    }
}

/// Gives the host of the calling thread's namespace its addresses, and a way to those on the other side.
fn connect(host: Host, mtu: u32) -> Result<(), RunError> {
    let index = device_index(DEVICE).context(|| "looking for the TUN device".to_owned())?;
    let loopback = device_index("lo").context(|| "looking for the loopback device".to_owned())?;
    let has_ipv6 = settings::write("ipv6/conf/all/addr_gen_mode", "1").is_ok()
        && settings::write(&format!("ipv6/conf/{DEVICE}/addr_gen_mode"), "1").is_ok();
    let mut socket = Socket::open().context(|| "opening netlink".to_owned())?;
    let mut request = |message| socket.request(message).context(|| "setting a host up".to_owned());
    request(netlink::bring_up(loopback))?;
    request(netlink::bring_up_tun(index, mtu, QUEUED_PACKETS))?;
    request(netlink::without_queue(index))?;
    let mut addresses = vec![(IpAddr::from(host.address()), PREFIX)];
    if has_ipv6 && mtu >= 1_280 {
        addresses.push((IpAddr::from(ipv6_address(host)), IPV6_PREFIX));
    }
    let other = Host { is_right: !host.is_right, ..host };
    for (address, prefix) in addresses {
        request(netlink::add_address(index, address))?;
        let network = match address {
            IpAddr::V4(_) => network(other.address().into(), prefix),
            IpAddr::V6(_) => network(ipv6_address(other).into(), prefix),
        };
        request(netlink::add_route(index, network, prefix))?;
    }
    Ok(())
}

/// The network of an address: its first bits.
fn network(address: IpAddr, prefix: u8) -> IpAddr {
    match address {
        IpAddr::V4(address) => IpAddr::from((address.to_bits() & u32::MAX << (32 - prefix)).to_be_bytes()),
        IpAddr::V6(address) => IpAddr::from((address.to_bits() & u128::MAX << (128 - prefix)).to_be_bytes()),
    }
}

/// Reads the line of our device in `/proc/net/dev`: after the name, eight numbers of what was received and eight of
/// what was sent. `None` if it is not there.
fn parse_counts(text: &str) -> Option<InterfaceCounts> {
    let line = text.lines().find_map(|line| line.trim().strip_prefix(DEVICE)?.strip_prefix(':'))?;
    let numbers: Vec<u64> = line.split_whitespace().map_while(|number| number.parse().ok()).collect();
    let [_, received, errors_in, dropped_in, _, _, _, _, _, sent, errors_out, dropped_out, ..] = numbers[..] else {
        return None;
    };
    let (sent_dropped, received_dropped) = (errors_out + dropped_out, errors_in + dropped_in);
    Some(InterfaceCounts { sent, sent_dropped, received, received_dropped })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_counters_are_read() {
        let text = "Inter-|   Receive\n face |bytes\n    lo: 9 9 9 9 9 9 9 9 9 9 9 9 9 9 9 9\n  \
                    path: 5200 100 1 2 0 0 0 0 15000 10 3 0 0 0 0 0\n";
        let counts = InterfaceCounts { sent: 10, sent_dropped: 3, received: 100, received_dropped: 3 };
        assert_eq!(parse_counts(text), Some(counts));
        for other in ["nothing", "path: 5200 100", &text.replace("path", "ppp0")] {
            assert_eq!(parse_counts(other), None, "{other}");
        }
    }

    #[test]
    fn hosts_and_devices_match() {
        for device in 0..6 {
            assert_eq!(device_of(host_of(device)), device);
        }
    }

    #[test]
    fn the_other_side_is_a_network() {
        assert_eq!(network(IpAddr::from([10, 2, 0, 7]), 16), IpAddr::from([10, 2, 0, 0]));
        let right = ipv6_address(Host { pair: 4, is_right: true });
        assert_eq!(network(right.into(), 64).to_string(), "fd00:0:0:2::");
    }
}

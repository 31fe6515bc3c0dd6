//! Cables between namespaces: pairs of veth devices.

use super::{CREATE, Message, REQUEST};

const RTM_NEWLINK: u16 = 16;
const IFF_UP: u32 = 1;
const IFF_MULTICAST: u32 = 1 << 12;
const IFF_NOARP: u32 = 1 << 7;
const IFLA_ADDRESS: u16 = 1;
const IFLA_IFNAME: u16 = 3;
const IFLA_MTU: u16 = 4;
const IFLA_TXQLEN: u16 = 13;
const IFLA_LINKINFO: u16 = 18;
const IFLA_INFO_KIND: u16 = 1;
const IFLA_INFO_DATA: u16 = 2;
const IFLA_NET_NS_FD: u16 = 28;
const IFLA_GSO_MAX_SEGS: u16 = 40;
const VETH_INFO_PEER: u16 = 1;
/// Every device has the same address, so that without ARP each end accepts what the other sends.
const HARDWARE_ADDRESS: [u8; 6] = [2, 0, 0, 0, 0, 1];

/// One end of a cable.
#[derive(Clone, Debug)]
pub struct VethEnd {
    /// Index in the kernel; the device is called `d` and this number.
    pub index: u32,
    /// Descriptor of the namespace it is to be in.
    pub namespace: i32,
}

/// A cable.
#[derive(Clone, Debug)]
pub struct Veth {
    /// One end.
    pub left: VethEnd,
    /// The other.
    pub right: VethEnd,
    /// The largest IP packet in bytes.
    pub mtu: u32,
}

/// `struct ifinfomsg` that sets these flags of a device.
fn info(index: u32, flags: u32) -> Vec<u8> {
    changed(index, flags, flags)
}

/// `struct ifinfomsg` that gives some flags of a device, those in the mask, these values.
fn changed(index: u32, flags: u32, mask: u32) -> Vec<u8> {
    let mut bytes = vec![0; 4];
    for word in [index, flags, mask] {
        bytes.extend_from_slice(&word.to_ne_bytes());
    }
    bytes
}

fn describe(message: Message, end: &VethEnd, mtu: u32) -> Message {
    message
        .text(IFLA_IFNAME, &format!("d{}", end.index))
        .attribute(IFLA_ADDRESS, &HARDWARE_ADDRESS)
        .u32(IFLA_MTU, mtu)
        // TCP must not build packets of several segments: queues are to see what would be on a wire.
        .u32(IFLA_GSO_MAX_SEGS, 1)
        .u32(IFLA_NET_NS_FD, end.namespace as u32)
}

/// Switches a device on.
pub fn bring_up(device: u32) -> Message {
    Message::new(RTM_NEWLINK, REQUEST, &info(device, IFF_UP))
}

/// Switches a TUN device on, with room for this many packets until they are read. It announces nothing to groups.
pub fn bring_up_tun(device: u32, mtu: u32, packets: u32) -> Message {
    Message::new(RTM_NEWLINK, REQUEST, &changed(device, IFF_UP, IFF_UP | IFF_MULTICAST))
        .u32(IFLA_MTU, mtu)
        .u32(IFLA_TXQLEN, packets)
}

/// Makes a cable; its ends are still to be switched on.
pub fn add_veth(veth: &Veth) -> Message {
    let peer = info(veth.right.index, IFF_NOARP);
    let peer = describe(Message::attributes().raw(&peer), &veth.right, veth.mtu);
    let data = Message::attributes().nested(VETH_INFO_PEER, &peer);
    let kind = Message::attributes().text(IFLA_INFO_KIND, "veth").nested(IFLA_INFO_DATA, &data);
    describe(Message::new(RTM_NEWLINK, CREATE, &info(veth.left.index, IFF_NOARP)), &veth.left, veth.mtu)
        .nested(IFLA_LINKINFO, &kind)
}

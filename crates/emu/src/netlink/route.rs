//! Addresses and routes.

use std::net::IpAddr;

use super::{CREATE, Message};

const RTM_NEWADDR: u16 = 20;
const RTM_NEWROUTE: u16 = 24;
const IFA_ADDRESS: u16 = 1;
const IFA_LOCAL: u16 = 2;
const RTA_DST: u16 = 1;
const RTA_OIF: u16 = 4;
const IFA_F_NODAD: u8 = 2;
const AF_INET: u8 = 2;
const AF_INET6: u8 = 10;
const RT_TABLE_MAIN: u8 = 254;
const RTPROT_BOOT: u8 = 3;
const RT_SCOPE_UNIVERSE: u8 = 0;
const RT_SCOPE_LINK: u8 = 253;
const RTN_UNICAST: u8 = 1;

fn family(address: IpAddr) -> (u8, Vec<u8>) {
    match address {
        IpAddr::V4(address) => (AF_INET, address.octets().to_vec()),
        IpAddr::V6(address) => (AF_INET6, address.octets().to_vec()),
    }
}

/// Gives a device an address of its own.
pub fn add_address(device: u32, address: IpAddr) -> Message {
    let (family, address) = family(address);
    let mut body = vec![family, 8 * address.len() as u8, if family == AF_INET6 { IFA_F_NODAD } else { 0 }, 0];
    body.extend_from_slice(&device.to_ne_bytes());
    Message::new(RTM_NEWADDR, CREATE, &body).attribute(IFA_LOCAL, &address).attribute(IFA_ADDRESS, &address)
}

/// Sends packets to a network over a device.
pub fn add_route(device: u32, network: IpAddr, prefix: u8) -> Message {
    let (family, network) = family(network);
    let scope = if family == AF_INET { RT_SCOPE_LINK } else { RT_SCOPE_UNIVERSE };
    let body = [family, prefix, 0, 0, RT_TABLE_MAIN, RTPROT_BOOT, scope, RTN_UNICAST, 0, 0, 0, 0];
    Message::new(RTM_NEWROUTE, CREATE, &body).attribute(RTA_DST, &network).u32(RTA_OIF, device)
}

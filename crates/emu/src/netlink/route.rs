//! Addresses and routes.

use super::{CREATE, Message};

const RTM_NEWADDR: u16 = 20;
const RTM_NEWROUTE: u16 = 24;
const IFA_ADDRESS: u16 = 1;
const IFA_LOCAL: u16 = 2;
const RTA_DST: u16 = 1;
const RTA_OIF: u16 = 4;
const AF_INET: u8 = 2;
const RT_TABLE_MAIN: u8 = 254;
const RTPROT_BOOT: u8 = 3;
const RT_SCOPE_LINK: u8 = 253;
const RTN_UNICAST: u8 = 1;

/// Gives a device an address of its own.
pub fn add_address(device: u32, address: [u8; 4]) -> Message {
    let mut body = vec![AF_INET, 32, 0, 0];
    body.extend_from_slice(&device.to_ne_bytes());
    Message::new(RTM_NEWADDR, CREATE, &body).attribute(IFA_LOCAL, &address).attribute(IFA_ADDRESS, &address)
}

/// Sends packets to a network over a device.
pub fn add_route(device: u32, network: [u8; 4], prefix: u8) -> Message {
    let body = [AF_INET, prefix, 0, 0, RT_TABLE_MAIN, RTPROT_BOOT, RT_SCOPE_LINK, RTN_UNICAST, 0, 0, 0, 0];
    Message::new(RTM_NEWROUTE, CREATE, &body).attribute(RTA_DST, &network).u32(RTA_OIF, device)
}

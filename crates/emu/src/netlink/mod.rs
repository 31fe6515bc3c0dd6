//! Messages to the kernel's network configuration (rtnetlink(7)).

mod link;
mod message;
mod route;
#[cfg(target_os = "linux")]
mod socket;
mod traffic_control;

pub use link::{Veth, VethEnd, add_veth, bring_up, bring_up_tun};
pub use message::Message;
pub use route::{add_address, add_route};
#[cfg(target_os = "linux")]
pub use socket::{NetlinkError, Socket};
pub use traffic_control::{Shaper, TokenBucket, Wire, leaf, without_queue};

/// `NLM_F_REQUEST | NLM_F_ACK`.
const REQUEST: u16 = 1 | 4;
/// And the object must not exist yet: `NLM_F_CREATE | NLM_F_EXCL`.
const CREATE: u16 = REQUEST | 0x400 | 0x200;
/// And it may not exist yet: `NLM_F_CREATE`.
const CREATE_IF_ABSENT: u16 = 0x400;
/// And it must exist: `NLM_F_REPLACE`.
const REPLACE: u16 = REQUEST | 0x100;

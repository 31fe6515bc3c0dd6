//! Sockets of a flow that is within one machine.

use std::net::{Ipv4Addr, UdpSocket};

use super::FLOW;
use crate::sys::monotonic;
use crate::udp::{Clock, FlowSocket};

/// Two sockets that are connected to each other.
pub(super) fn connected() -> (UdpSocket, UdpSocket) {
    let open = || UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let (left, right) = (open(), open());
    left.connect(right.local_addr().unwrap()).unwrap();
    right.connect(left.local_addr().unwrap()).unwrap();
    (left, right)
}

/// The same, for packets of the flow.
pub(super) fn prepared() -> (FlowSocket, FlowSocket) {
    let (left, right) = connected();
    (FlowSocket::new(left, FLOW).unwrap(), FlowSocket::new(right, FLOW).unwrap())
}

/// The clock of a run that starts now.
pub(super) fn clock() -> Clock {
    Clock::new(monotonic().unwrap())
}

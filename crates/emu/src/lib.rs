//! bakeoff-emu: worlds made of real Linux.
//!
//! [`guest`] builds hosts and routers out of network namespaces, puts the kernel's own queueing disciplines between
//! them, and lets [`senders`] send, all in a kernel in virtual time. [`emulator`] puts the simulator's hops between
//! senders of this machine, in real time. Both log every packet, and [`tables`] makes the tables from that.
//!
//! Read first: [`layout`], who stands where, and [`qdisc`], how our queues map to the kernel's.

#[cfg(target_os = "linux")]
pub mod emulator;
#[cfg(target_os = "linux")]
pub mod error;
pub mod events;
#[cfg(target_os = "linux")]
pub mod guest;
pub mod job;
pub mod layout;
pub mod log;
pub mod netlink;
pub mod qdisc;
#[cfg(target_os = "linux")]
pub mod senders;
#[cfg(target_os = "linux")]
pub mod sys;
pub mod tables;
pub mod udp;

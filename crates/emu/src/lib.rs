//! bakeoff-emu: worlds made of real Linux.
//!
//! A program of this crate builds hosts and routers out of network namespaces, puts the kernel's own queueing
//! disciplines between them, and sends by the kernel's TCP or by bakeoff's schemes over UDP. Every packet is logged where
//! it enters and leaves a queue, from which the tables that all worlds share are made.
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

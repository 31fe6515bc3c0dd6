//! bakeoff-emu: worlds made of real Linux.
//!
//! A program of this crate builds hosts and routers out of network namespaces, puts the kernel's own queueing
//! disciplines between them, and sends by the kernel's TCP or by bakeoff's schemes over UDP. Every packet is logged where
//! it enters and leaves a queue, from which the tables that all worlds share are made.
//!
//! Read first: [`qdisc`], which says how our queues map to the kernel's.

pub mod netlink;
pub mod qdisc;

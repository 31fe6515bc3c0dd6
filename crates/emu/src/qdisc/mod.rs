//! How our queues map to the kernel's queueing disciplines.

use crate::netlink::Message;

/// A queueing discipline of the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Qdisc {
    /// Its name.
    pub kind: &'static str,
    /// Its parameters, as its own messages have them.
    pub options: Message,
}

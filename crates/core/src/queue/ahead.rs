//! A packet that a link has taken out of a queue only to look at it.
//!
//! **Source.** Linux `include/net/sch_generic.h`, `qdisc_peek_dequeued`: it counts in the length of its queue until it
//! is sent.

use crate::units::Bytes;

/// The room that such a packet takes, if there is one.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ahead(Option<Bytes>);

impl Ahead {
    /// Of a packet of this size.
    pub(super) fn of(size: Option<Bytes>) -> Self {
        Self(size)
    }

    pub(super) fn packets(self) -> usize {
        usize::from(self.0.is_some())
    }

    pub(super) fn bytes(self) -> Bytes {
        self.0.unwrap_or_default()
    }
}

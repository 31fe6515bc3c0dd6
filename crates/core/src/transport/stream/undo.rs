//! Whether what an episode of losses reduced was reduced in vain.
//!
//! **Source.** Linux `net/ipv4/tcp_input.c` (`tcp_init_undo`, `tcp_may_undo`, `tcp_packet_delayed`): Eifel detection by
//! timestamps (RFC 3522) and by DSACK (RFC 3708).

use crate::units::Instant;

/// What is known of the retransmissions of an episode.
#[derive(Clone, Debug, Default)]
pub(super) struct Undo {
    /// The first segment of an episode that may still prove spurious (`undo_marker`).
    from: Option<u64>,
    /// Retransmissions not yet reported as duplicates; `None` before the first one (`undo_retrans`).
    unreported: Option<u32>,
    /// When the first retransmission of the episode left (`retrans_stamp`).
    retransmitting_since: Option<Instant>,
}

impl Undo {
    /// An episode begins with the segment `from`, while so many retransmissions are in flight, loss probes among them.
    pub(super) fn begin(&mut self, from: u64, retransmissions: u32) {
        self.from = Some(from);
        self.unreported = (retransmissions > 0).then_some(retransmissions);
    }

    /// The episode cannot prove spurious any more.
    pub(super) fn end(&mut self) {
        self.from = None;
    }

    /// A segment that is lost was sent again.
    pub(super) fn on_retransmission(&mut self, now: Instant) {
        self.unreported = Some(self.unreported.unwrap_or(0) + 1);
        self.retransmitting_since.get_or_insert(now);
    }

    /// The next retransmission is the first.
    pub(super) fn forget_retransmissions(&mut self) {
        self.retransmitting_since = None;
    }

    /// A segment that ends before `end` arrived a second time.
    pub(super) fn on_duplicate(&mut self, end: u64) {
        if self.from.is_some_and(|from| end > from) {
            self.unreported = self.unreported.map(|count| count.saturating_sub(1));
        }
    }

    /// True until the episode has been undone, or cannot be.
    pub(super) fn is_possible(&self) -> bool {
        self.from.is_some()
    }

    /// True if all retransmissions of the episode arrived as duplicates.
    pub(super) fn are_all_duplicates(&self) -> bool {
        self.from.is_some() && self.unreported == Some(0)
    }

    /// True if what has now arrived, with this echo, was no retransmission of the episode: none was sent, or the echoed
    /// time, in milliseconds as in TCP, is before that of the first one.
    pub(super) fn is_original_delayed(&self, timestamp_echo: Instant) -> bool {
        self.from.is_some()
            && self.retransmitting_since.is_none_or(|since| timestamp_echo.as_millis() < since.as_millis())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Duration;

    #[test]
    fn what_arrives_with_the_tick_of_the_first_retransmission_is_no_late_original() {
        let at = |micros| Instant::ZERO + Duration::from_micros(micros);
        let mut undo = Undo::default();
        undo.begin(0, 0);
        undo.on_retransmission(at(121_900));
        undo.on_retransmission(at(150_000));
        assert!(undo.is_original_delayed(at(120_999)));
        assert!(!undo.is_original_delayed(at(121_000)), "time stamps count milliseconds");
    }
}

//! Whether it is the application or the window that holds a sender back.
//!
//! **Source.** Linux `net/ipv4/tcp.c` (`tcp_rate_check_app_limited`) and `tcp_output.c` (`tcp_cwnd_validate`).

use super::Sender;
use crate::scheme::Feedback;
use crate::units::{Bytes, Instant};

/// How much of the window is used (`tcp_cwnd_validate`).
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::transport::stream) struct Usage {
    pub(in crate::transport::stream) is_cwnd_limited: bool,
    pub(in crate::transport::stream) max_packets_out: u32,
    until: u64,
    /// New data has left since this was last looked at.
    pub(super) has_sent: bool,
}

impl Sender {
    /// What the application has to send; whether that is nothing is remembered, so that it is asked when it writes again.
    #[inline(always)]
    pub(super) fn ask_application(&mut self, now: Instant) -> Bytes {
        let available = self.source.available(now);
        self.is_source_silent = available == Bytes::ZERO;
        available
    }

    /// An application that was silent may write, into a window with room for it: what is in flight then cannot show the
    /// path's rate (`tcp_rate_check_app_limited`, of which nobody but `tcp_sendmsg` makes use).
    #[cold]
    pub(super) fn note_write(&mut self, now: Instant) {
        self.ask_application(now);
        if !self.is_source_silent {
            self.note_limit(now);
        }
    }

    /// As long as what it writes leaves at once, its next segment finds nothing queued either.
    #[cold]
    pub(super) fn note_limit(&mut self, now: Instant) {
        let in_flight = self.scoreboard.in_flight();
        let has_room = self.scheme.has_room(in_flight);
        if has_room && self.scoreboard.lost() <= self.scoreboard.retransmitted() {
            self.sampler.on_app_limited(in_flight);
        }
        self.finds_nothing_queued = self.source.writes_segments() && has_room && self.next_departure() <= now;
    }

    /// Remembers whether the window held the sender back, once something has left or would have (`tcp_cwnd_validate`).
    pub(super) fn note_usage(&mut self, is_cwnd_limited: bool, now: Instant) {
        let is_held_back = is_cwnd_limited && self.ask_application(now) > Bytes::ZERO;
        if !std::mem::take(&mut self.usage.has_sent) && !is_held_back {
            return;
        }
        let outstanding = self.scoreboard.outstanding();
        let is_new_window = self.scoreboard.first() >= self.usage.until;
        if is_new_window || is_cwnd_limited || (!self.usage.is_cwnd_limited && outstanding > self.usage.max_packets_out)
        {
            let until = self.scoreboard.next();
            self.usage = Usage { is_cwnd_limited, max_packets_out: outstanding, until, has_sent: false };
        }
    }

    /// That the application limits the sender shows when the last of its data has left, whatever the pacer says.
    pub(super) fn tell_if_application_is_silent(&mut self, now: Instant) {
        if self.config.feedback == Feedback::Numbered
            && self.source.available(now) == Bytes::ZERO
            && self.scheme.has_room(self.scoreboard.in_flight())
        {
            self.scheme.on_app_limited();
        }
    }
}

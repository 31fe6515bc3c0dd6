//! A request to connect, until its answer is confirmed.
//!
//! **Source.** Linux `net/ipv4/inet_connection_sock.c` (`reqsk_timer_handler`), `tcp_minisocks.c` (`tcp_check_req`),
//! `tcp_input.c` (`tcp_synack_rtt_meas`) and `include/net/tcp_ecn.h` (`tcp_ecn_make_synack`).
//!
//! **Deviation.** Of several answers the last counts as the one that is confirmed, and then no request is answered any
//! more (by an ack in Linux).

use super::old_ack::is_rate_limited;
use super::rtt::{RTO_INITIAL, RTO_MAX};
use super::segment::stamped;
use super::wheel;
use crate::units::{Duration, Instant};

/// Answers that a timer repeats before the request is forgotten (`tcp_synack_retries`).
const MOST_TIMEOUTS: u32 = 5;

/// How an answer is to be given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// As it was asked for.
    Full,
    /// Without ECN: the one before was in vain.
    Plain,
}

/// What a receiver knows of a request to connect (`struct request_sock`).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Request {
    /// When the next answer leaves, unless the last is confirmed.
    due: Option<Instant>,
    /// It is the request that calls for it, not the timer.
    is_asked: bool,
    answers: u32,
    answered: Instant,
    timeouts: u32,
    is_confirmed: bool,
    /// When a repeated request was last answered (`last_oow_ack_time`).
    last_repeat: Option<Instant>,
}

impl Request {
    /// A request arrived; true if it is the first.
    pub(super) fn on_syn(&mut self, now: Instant) -> bool {
        let is_first = self.answers == 0 && self.due.is_none();
        if !is_first {
            if self.is_confirmed || is_rate_limited(self.last_repeat, now) {
                return false;
            }
            self.last_repeat = Some(now);
        }
        self.due = Some(now);
        self.is_asked = true;
        is_first
    }

    /// True while an answer waits to be confirmed.
    #[inline(always)]
    pub(super) fn is_open(&self) -> bool {
        self.due.is_some()
    }

    /// When an answer is due.
    #[inline(always)]
    pub(super) fn next_wakeup(&self) -> Option<Instant> {
        self.due
    }

    /// The answer that leaves at `now`, if one is due.
    #[cold]
    pub(super) fn poll(&mut self, now: Instant) -> Option<Answer> {
        self.due.filter(|due| *due <= now)?;
        let is_timeout = !std::mem::take(&mut self.is_asked);
        if is_timeout && self.timeouts == MOST_TIMEOUTS {
            *self = Self::default();
            return None;
        }
        let answer = if self.timeouts > 0 { Answer::Plain } else { Answer::Full };
        self.timeouts += u32::from(is_timeout);
        let wait = (RTO_INITIAL * (1 << self.timeouts)).min(RTO_MAX);
        self.due = Some(if is_timeout { wheel::expiry_of_next(now, wait) } else { wheel::expiry(now, wait) });
        self.answers += 1;
        self.answered = now;
        Some(answer)
    }

    /// An answer is confirmed: the round trip, of which only time stamps tell if there were several.
    #[cold]
    pub(super) fn confirm(&mut self, now: Instant) -> Duration {
        self.due = None;
        self.is_confirmed = true;
        if self.answers > 1 { stamped(self.answered, now) } else { now.since(self.answered) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    fn answered_at(millis: u64) -> Request {
        let mut request = Request::default();
        assert!(request.on_syn(at(millis)));
        assert_eq!(request.poll(at(millis)), Some(Answer::Full));
        request
    }

    #[test]
    fn an_answer_is_repeated_until_it_is_confirmed_and_each_wait_is_twice_as_long() {
        let mut request = answered_at(0);
        let mut answers = Vec::new();
        while let Some(due) = request.next_wakeup() {
            assert_eq!(request.poll(due - Duration::from_nanos(1)), None);
            answers.push((due.as_millis(), request.poll(due)));
        }
        let (full, plain) = (Some(Answer::Full), Some(Answer::Plain));
        let expected =
            [(1_016, full), (3_064, plain), (7_096, plain), (15_352, plain), (31_736, plain), (63_992, None)];
        assert_eq!(answers, expected);
        assert!(request.on_syn(at(70_000)), "it is forgotten");
    }

    #[test]
    fn a_repeated_request_is_answered_at_once_and_the_timer_begins_anew() {
        let mut request = answered_at(18);
        assert!(!request.on_syn(at(1_025)));
        assert_eq!(request.poll(at(1_025)), Some(Answer::Full));
        assert_eq!(request.next_wakeup(), Some(at(2_040)));
        assert_eq!(request.poll(at(2_040)), Some(Answer::Full), "none was in vain before");
        assert!(!request.on_syn(at(2_049)));
        assert_eq!(request.poll(at(2_049)), Some(Answer::Plain));
        assert_eq!(request.next_wakeup(), Some(at(4_088)), "twice as long after a timeout");
    }

    #[test]
    fn of_repeated_requests_one_in_half_a_second_is_answered() {
        let mut request = answered_at(0);
        let answered = [1, 2, 500, 501].map(|millis| {
            request.on_syn(at(millis));
            request.poll(at(millis)).is_some()
        });
        assert_eq!(answered, [true, false, false, true]);
    }

    #[test]
    fn the_round_trip_is_that_of_the_answer_and_in_milliseconds_if_there_were_several() {
        let mut request = answered_at(0);
        let confirmed = at(41) + Duration::from_micros(700);
        assert_eq!(request.confirm(confirmed), Duration::from_micros(41_700));
        assert!(!request.on_syn(confirmed) && !request.is_open(), "what comes late");
        let mut request = answered_at(0);
        assert_eq!(request.poll(at(1_016)), Some(Answer::Full));
        assert_eq!(request.confirm(at(1_016) + Duration::from_micros(41_700)), Duration::from_millis(41));
    }
}

//! Acks that a later one has overtaken.
//!
//! **Source.** Linux `net/ipv4/tcp_input.c`, `tcp_validate_incoming`, `tcp_disordered_ack_check` and `old_ack` in
//! `tcp_ack`. QUIC's acks, and those of programs that send datagrams, are read whole however late they are.
//!
//! **Deviation.** Over sockets of UDP an ack does not tell when it left, and is taken to have left when it arrives.

use std::hint::cold_path;

use super::segment::{AckSegment, is_outdated};
use super::sender::Sender;
use crate::scheme::Feedback;
use crate::units::{Duration, Instant};

/// An older ack than this share of the timeout is not taken for a duplicate (`tcp_tsval_replay`; for clocks of up to
/// 1200 Hz).
const REPLAY_PERCENT: u64 = 120;
/// The least between two answers (`tcp_invalid_ratelimit`).
const ANSWER_INTERVAL_MS: u64 = 500;

/// True if what is not taken has been answered a moment ago, at `last` (`tcp_oow_rate_limited`).
pub(super) fn is_rate_limited(last: Option<Instant>, now: Instant) -> bool {
    last.is_some_and(|last| now.as_millis() - last.as_millis() < ANSWER_INTERVAL_MS)
}

impl Sender {
    /// Lets an ack that left at `sent` pass, which is then read like any other, or deals with it: of one that
    /// acknowledges less than another before it only the blocks are read; one that is outdated, and no duplicate, is
    /// answered and not read at all.
    pub(super) fn admits_ack(&mut self, ack: &AckSegment, sent: Instant, now: Instant) -> bool {
        let is_in_order = sent >= self.newest_ack && ack.cumulative >= self.scoreboard.first();
        if is_in_order || self.config.feedback != Feedback::Tcp {
            self.newest_ack = sent;
            return true;
        }
        cold_path();
        if is_outdated(sent, self.newest_ack) && !self.is_duplicate_in_disorder(ack, sent) {
            self.answer(now);
            return false;
        }
        if ack.cumulative < self.scoreboard.first() {
            self.take_old(ack, now);
            return false;
        }
        true
    }

    /// `tcp_disordered_ack_check`.
    fn is_duplicate_in_disorder(&self, ack: &AckSegment, sent: Instant) -> bool {
        let age = Duration::from_millis(self.newest_ack.as_millis() - sent.as_millis());
        let is_recent = age <= self.rtt.rto().scale(REPLAY_PERCENT, 100);
        ack.cumulative == self.scoreboard.first() && !self.widens_window(ack) && is_recent
    }

    /// What is not taken is acknowledged, but not all of it (`tcp_send_dupack`, `tcp_send_challenge_ack`).
    pub(super) fn answer(&mut self, now: Instant) {
        if !is_rate_limited(self.last_answer, now) {
            self.last_answer = Some(now);
            self.confirm();
        }
    }

    /// Nothing follows from the packets that it reports but losses and what was needless (`old_ack`).
    fn take_old(&mut self, ack: &AckSegment, now: Instant) {
        if !ack.has_sack() {
            return;
        }
        let mut report = self.begin_report(ack);
        self.take_selective(ack, self.sacked.end(), &mut report, now);
        self.on_dubious_ack(&mut report, now);
        self.sampler.drop_sample();
    }
}

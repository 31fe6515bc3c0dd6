//! The one timer of a sender, which serves three purposes in turn (Linux `icsk_pending`).

use super::sender::Sender;
use super::wheel;
use crate::scheme::State;
use crate::units::{Duration, Instant};

/// Added to a probe or reordering timeout (Linux `TCP_TIMEOUT_MIN`, two ticks).
const TIMEOUT_MIN: Duration = Duration::from_millis(2);

/// What the timer is set for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Retransmission timeout.
    Retransmission,
    /// Tail loss probe.
    LossProbe,
    /// RACK waits for reordered segments.
    Reordering,
}

/// Purpose and time; `None` while nothing is outstanding.
pub(super) type Timer = Option<(Purpose, Instant)>;

impl Sender {
    /// Sets the retransmission timer (`tcp_rearm_rto`).
    pub(super) fn rearm_retransmission_timer(&mut self, now: Instant) {
        if self.scoreboard.outstanding() == 0 {
            self.timer = None;
            return;
        }
        let wait = match self.timer {
            // A probe or reordering timer ran meanwhile: the timeout still counts from the first segment's
            // transmission.
            Some((Purpose::LossProbe | Purpose::Reordering, _)) => {
                self.retransmission_due().since(now).max(Duration::from_micros(1))
            }
            _ => self.rtt.rto(),
        };
        self.timer = Some((Purpose::Retransmission, wheel::expiry(now, wait)));
    }

    /// Sets the timer after an ack: a probe if one makes sense, else the timeout (`tcp_set_xmit_timer`).
    pub(super) fn set_timer_after_ack(&mut self, now: Instant) {
        if !self.schedule_loss_probe(now, true) {
            self.rearm_retransmission_timer(now);
        }
    }

    /// Sets the timer for a tail loss probe (RFC 8985, section 7.2; `tcp_schedule_loss_probe`); false if none is
    /// wanted.
    pub(super) fn schedule_loss_probe(&mut self, now: Instant, is_timeout_advancing: bool) -> bool {
        let outstanding = self.scoreboard.outstanding();
        if outstanding == 0 || !matches!(self.recovery.state, State::Open | State::Cwr) {
            return false;
        }
        let wait =
            self.rtt.srtt() * 2 + if outstanding == 1 { super::rtt::RttEstimator::rto_min() } else { TIMEOUT_MIN };
        let timeout = if is_timeout_advancing { self.rtt.rto() } else { self.retransmission_due().since(now) };
        let wait = if timeout.is_zero() { wait } else { wait.min(timeout) };
        self.timer = Some((Purpose::LossProbe, wheel::expiry(now, wait)));
        true
    }

    /// Sets the timer for RACK's reordering window.
    pub(super) fn set_reordering_timer(&mut self, wait: Duration, now: Instant) {
        self.timer = Some((Purpose::Reordering, wheel::expiry(now, (wait + TIMEOUT_MIN).min(self.rtt.rto()))));
    }

    /// When the first outstanding segment times out.
    fn retransmission_due(&self) -> Instant {
        self.scoreboard.get(self.scoreboard.first()).map_or(Instant::ZERO, |segment| segment.sent) + self.rtt.rto()
    }

    /// Does what the timer is set for, if its time has come.
    pub(super) fn run_timer(&mut self, now: Instant) {
        let Some((purpose, due)) = self.timer else { return };
        if due > now {
            return;
        }
        match purpose {
            Purpose::Retransmission => self.on_retransmission_timeout(now),
            Purpose::LossProbe => self.on_loss_probe_timeout(now),
            Purpose::Reordering => self.on_reordering_timeout(now),
        }
    }
}

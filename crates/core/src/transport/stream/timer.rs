//! The one timer of a sender, which serves three purposes in turn (Linux `icsk_pending`).

use super::rtt::{RTO_INITIAL, RTO_MIN};
use super::sender::Sender;
use super::wheel;
use crate::scheme::State;
use crate::units::{Duration, Instant, earlier};

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

/// The timer while it runs. It is set far more often than it matters, so that its moment is worked out only then.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timer {
    pub(super) purpose: Purpose,
    set: Instant,
    wait: Duration,
    /// Set by another that went off.
    is_next: bool,
}

impl Timer {
    /// When it goes off if that is before `other`, else `other`.
    pub(super) fn earlier(self, other: Option<Instant>) -> Option<Instant> {
        // It never goes off before its wait is over.
        if other.is_some_and(|other| other <= self.set + self.wait) { other } else { earlier(other, Some(self.due())) }
    }

    /// True if it certainly does not go off before `time`.
    pub(super) fn is_silent_before(self, time: Instant) -> bool {
        self.set + self.wait >= time
    }

    #[inline(never)]
    fn due(self) -> Instant {
        if self.is_next { wheel::expiry_of_next(self.set, self.wait) } else { wheel::expiry(self.set, self.wait) }
    }
}

impl Sender {
    fn set_timer(&mut self, purpose: Purpose, set: Instant, wait: Duration) {
        self.timer = Some(Timer { purpose, set, wait, is_next: self.timer_ran == Some(set) });
    }

    /// Sets a timer that does not run while the pacer holds the next packet back (`tcp_pacing_delay`: whole ticks).
    fn set_paced_timer(&mut self, purpose: Purpose, now: Instant, wait: Duration) {
        let delay = Duration::from_millis(self.next_departure().since(now).as_millis());
        self.set_timer(purpose, now, wait + delay);
    }

    /// Sets the retransmission timer after a timeout, which waits for no pacer (`tcp_retransmit_timer`).
    pub(super) fn restart_retransmission_timer(&mut self, now: Instant) {
        self.set_timer(Purpose::Retransmission, now, self.rtt.rto());
    }

    /// Sets the retransmission timer (`tcp_rearm_rto`).
    pub(super) fn rearm_retransmission_timer(&mut self, now: Instant) {
        if self.scoreboard.outstanding() == 0 {
            self.timer = None;
            return;
        }
        let wait = match self.timer.map(|timer| timer.purpose) {
            // A probe or reordering timer ran meanwhile: the timeout still counts from the first segment's
            // transmission.
            Some(Purpose::LossProbe | Purpose::Reordering) => {
                self.retransmission_due().since(now).max(Duration::from_micros(1))
            }
            _ => self.rtt.rto(),
        };
        self.set_paced_timer(Purpose::Retransmission, now, wait);
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
        let wait = if self.rtt.has_sample() {
            self.rtt.twice_srtt() + if outstanding == 1 { RTO_MIN } else { TIMEOUT_MIN }
        } else {
            RTO_INITIAL
        };
        let timeout = if is_timeout_advancing { self.rtt.rto() } else { self.retransmission_due().since(now) };
        let wait = if timeout.is_zero() { wait } else { wait.min(timeout) };
        self.set_paced_timer(Purpose::LossProbe, now, wait);
        true
    }

    /// Sets the timer for RACK's reordering window.
    pub(super) fn set_reordering_timer(&mut self, wait: Duration, now: Instant) {
        self.set_timer(Purpose::Reordering, now, (wait + TIMEOUT_MIN).min(self.rtt.rto()));
    }

    /// When the first outstanding segment times out.
    fn retransmission_due(&self) -> Instant {
        self.scoreboard.get(self.scoreboard.first()).map_or(Instant::ZERO, |segment| segment.sent) + self.rtt.rto()
    }

    /// Does what the timer is set for, if its time has come.
    #[inline]
    pub(super) fn run_timer(&mut self, now: Instant) {
        if self.timer.as_ref().is_some_and(|timer| timer.set + timer.wait <= now) {
            self.run_timer_if_due(now);
        }
    }

    #[cold]
    #[inline(never)]
    fn run_timer_if_due(&mut self, now: Instant) {
        let Some(timer) = self.timer.filter(|timer| timer.due() <= now) else { return };
        self.timer_ran = Some(now);
        match timer.purpose {
            Purpose::Retransmission => self.on_retransmission_timeout(now),
            Purpose::LossProbe => self.on_loss_probe_timeout(now),
            Purpose::Reordering => self.on_reordering_timeout(now),
        }
    }
}

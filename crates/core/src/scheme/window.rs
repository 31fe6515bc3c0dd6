//! The common frame of window-based schemes: Linux TCP's window, PRR and undo around an algorithm that says how far to
//! fall and how to grow.
//!
//! **Source.** Linux `net/ipv4/tcp_cong.c` and `tcp_input.c`; function names are given beside each part.

#[cfg(test)]
mod tests;

#[cfg(test)]
pub(super) use self::tests::{ack, acked, timeout, window_of};
use super::prr::Prr;
use super::{
    Ack, Acked, Cause, Congestion, Connected, EcnFeedback, INITIAL_WINDOW, PacingRatios, Restart, Scheme, Sent, State,
    Timeout, TxStart,
};
use crate::units::{Duration, Instant};

/// No slow-start threshold yet (Linux `TCP_INFINITE_SSTHRESH`).
pub const INFINITE_SSTHRESH: u32 = 0x7fff_ffff;

/// Congestion window and slow-start threshold, in packets.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    /// Packets that may be in flight.
    pub cwnd: u32,
    /// Below it the window grows by slow start.
    pub ssthresh: u32,
    /// Packets acknowledged towards the next increase by one.
    credit: u32,
}

impl Window {
    /// The window of a flow that starts.
    pub fn initial() -> Self {
        Self { cwnd: INITIAL_WINDOW, ssthresh: INFINITE_SSTHRESH, credit: 0 }
    }

    /// Half of it, and no less than two packets: the threshold that a loss leaves to Reno (RFC 5681, section 3.1).
    pub fn half(&self) -> u32 {
        (self.cwnd / 2).max(2)
    }

    /// True while the window is below the threshold.
    pub fn is_in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// Grows by one per packet acknowledged, up to the threshold; returns the packets left over (`tcp_slow_start`).
    pub fn slow_start(&mut self, acked: u32) -> u32 {
        let grown = self.cwnd.saturating_add(acked).min(self.ssthresh);
        let left = acked - (grown - self.cwnd);
        self.cwnd = grown;
        left
    }

    /// Grows by one per `count` packets acknowledged (`tcp_cong_avoid_ai`).
    pub fn grow_one_per(&mut self, count: u32, acked: u32) {
        let count = count.max(1);
        // Credit from a time when an increase cost more is worth one step, not several.
        if self.credit >= count {
            self.credit = 0;
            self.cwnd += 1;
        }
        self.credit += acked;
        if self.credit >= count {
            self.cwnd += self.credit / count;
            self.credit %= count;
        }
    }

    /// Grows by `gain` / `scale` packets per window acknowledged; what is left over is forgotten (the growth of
    /// `tcp_illinois_cong_avoid`).
    pub fn grow_by(&mut self, gain: u32, scale: u32, acked: u32) {
        self.credit = self.credit.saturating_add(acked);
        let earned = u64::from(self.credit) * u64::from(gain) / u64::from(scale);
        if earned >= u64::from(self.cwnd) {
            self.cwnd += (earned / u64::from(self.cwnd)) as u32;
            self.credit = 0;
        }
    }

    /// Reno's growth: slow start, then one packet per window (`tcp_reno_cong_avoid`).
    pub fn grow_as_reno(&mut self, ack: &Ack<'_>) {
        if !self.is_limiting(ack) {
            return;
        }
        let mut acked = ack.newly_delivered;
        if self.is_in_slow_start() {
            acked = self.slow_start(acked);
        }
        if acked > 0 {
            self.grow_one_per(self.cwnd, acked);
        }
    }

    /// True if the window held the sender back; in slow start, if at least half of it was used (`tcp_is_cwnd_limited`).
    pub fn is_limiting(&self, ack: &Ack<'_>) -> bool {
        ack.is_cwnd_limited || (self.is_in_slow_start() && self.cwnd < 2 * ack.max_packets_out)
    }
}

/// The time since the last packet left, from its jiffy of 1 ms to that of `now` (`lsndtime`).
pub(super) fn in_jiffies(idle: Duration, now: Instant) -> Duration {
    Duration::from_millis(now.as_millis() - (now - idle).as_millis())
}

/// How a window-based scheme falls and grows (Linux `struct tcp_congestion_ops`).
pub trait WindowAlgorithm: Send {
    /// The window of a flow that starts, where the transport's is `transport`.
    fn initial_window(&self, transport: u32) -> u32 {
        transport
    }

    /// The threshold after a congestion event at this window; at least 2.
    fn ssthresh_after_loss(&mut self, window: &Window, now: Instant) -> u32;

    /// The threshold after an ECN echo at this window; at least 2.
    fn ssthresh_after_mark(&mut self, window: &Window, now: Instant) -> u32 {
        self.ssthresh_after_loss(window, now)
    }

    /// The threshold after a tail loss that a probe has repaired; at least 2 (`ssthresh`, in the state `TCP_CA_CWR`).
    fn ssthresh_after_tail_loss(&mut self, window: &Window, now: Instant) -> u32 {
        self.ssthresh_after_loss(window, now)
    }

    /// The threshold after the first timeout of a window; at least 2 (`ssthresh`, then the event `CA_EVENT_LOSS`).
    fn ssthresh_after_timeout(&mut self, window: &Window, now: Instant) -> u32 {
        self.ssthresh_after_loss(window, now)
    }

    /// A loss while the window is being reduced for a mark or a lost tail; see [`Scheme::on_loss_while_reducing`].
    fn on_loss_while_reducing(&mut self, _window: &mut Window) {}

    /// Grows the window; called for acks outside recovery that may raise it.
    fn grow(&mut self, window: &mut Window, ack: &Ack<'_>);

    /// What an ack tells of marks, before any conclusion is drawn from it (`in_ack_event`).
    fn on_ecn_feedback(&mut self, _window: &mut Window, _feedback: &EcnFeedback) {}

    /// See [`Scheme::pacing_ratios`].
    fn pacing_ratios(&self) -> Option<PacingRatios> {
        None
    }

    /// What an ack reports as delivered, before any conclusion is drawn from it (`pkts_acked`).
    fn on_acked(&mut self, _window: &mut Window, _acked: &Acked) {}

    /// Any ack, before the window is touched, with the state that it leads to (`set_state`).
    fn on_ack(&mut self, _window: &mut Window, _ack: &Ack<'_>) {}

    /// A reduction has run its course, and the next one may begin with the same ack (`CA_EVENT_COMPLETE_CWR`).
    fn on_reduced(&mut self, _window: &mut Window) {}

    /// A timeout: everything learnt is void.
    fn on_timeout(&mut self, _timeout: &Timeout) {}

    /// Data goes out again after an idle period.
    fn on_restart(&mut self, _now: Instant, _idle: Duration) {}

    /// See [`Scheme::on_tx_start`].
    fn on_tx_start(&mut self, _start: &TxStart) {}

    /// Inner state beyond window and threshold.
    fn telemetry(&self, _report: &mut dyn FnMut(&'static str, f64)) {}
}

/// A window-based scheme.
#[derive(Debug)]
pub struct WindowBased<A> {
    window: Window,
    algorithm: A,
    /// The reduction under way, and whether what is lost is sent again meanwhile.
    reduction: Option<Prr>,
    is_recovering: bool,
    /// The window before the last reduction (`prior_cwnd`).
    prior_cwnd: u32,
    /// The threshold that an undo returns to; `None` if there is nothing to be undone, or nothing may be
    /// (`prior_ssthresh`).
    prior_ssthresh: Option<u32>,
}

impl<A: WindowAlgorithm> WindowBased<A> {
    /// A flow's initial window around `algorithm`.
    pub fn new(algorithm: A) -> Self {
        Self {
            window: Window::initial(),
            algorithm,
            reduction: None,
            is_recovering: false,
            prior_cwnd: 0,
            prior_ssthresh: None,
        }
    }

    /// The algorithm inside.
    #[cfg(test)]
    pub(super) fn algorithm(&self) -> &A {
        &self.algorithm
    }

    /// The threshold to return to if what follows proves spurious (`tcp_current_ssthresh`).
    fn current_ssthresh(&self) -> u32 {
        if self.reduction.is_some() {
            self.window.ssthresh
        } else {
            self.window.ssthresh.max(self.window.cwnd / 2 + self.window.cwnd / 4)
        }
    }

    /// Where a timer has found a loss, no ack follows that moves the window (`tcp_rack_reo_timeout`).
    fn reduce_by_timer(&mut self, congestion: &Congestion) {
        if congestion.is_timer
            && let Some(reduction) = &mut self.reduction
        {
            self.window.cwnd = reduction.cwnd_after_timer(congestion.in_flight, self.window.ssthresh);
        }
    }
}

impl<A: WindowAlgorithm> Scheme for WindowBased<A> {
    fn cwnd(&self) -> u32 {
        self.window.cwnd
    }

    fn ssthresh(&self) -> Option<u32> {
        (self.window.ssthresh != INFINITE_SSTHRESH).then_some(self.window.ssthresh)
    }

    fn on_connected(&mut self, connected: &Connected) {
        self.window.cwnd = self.algorithm.initial_window(connected.initial_window);
    }

    fn on_sent(&mut self, sent: &Sent) -> u64 {
        // Before something is found lost only a loss probe is sent again, which does not count (`prr_out`).
        if let Some(reduction) = &mut self.reduction
            && (self.is_recovering || !sent.is_retransmission)
        {
            reduction.on_sent();
        }
        0
    }

    fn pacing_ratios(&self) -> Option<PacingRatios> {
        self.algorithm.pacing_ratios()
    }

    fn on_ecn_feedback(&mut self, feedback: &EcnFeedback) {
        self.algorithm.on_ecn_feedback(&mut self.window, feedback);
    }

    fn on_acked(&mut self, acked: &Acked) {
        self.algorithm.on_acked(&mut self.window, acked);
    }

    fn on_ack(&mut self, ack: &Ack<'_>) {
        self.algorithm.on_ack(&mut self.window, ack);
        match &mut self.reduction {
            Some(reduction) if matches!(ack.state, State::Cwr | State::Recovery) => {
                if let Some(cwnd) = reduction.cwnd_after(ack, self.window.ssthresh) {
                    self.window.cwnd = cwnd;
                }
            }
            _ if ack.may_raise_cwnd => self.algorithm.grow(&mut self.window, ack),
            _ => {}
        }
    }

    /// `tcp_enter_cwr`, `tcp_enter_recovery`, `tcp_process_tlp_ack`, and `tcp_init_cwnd_reduction` in all of them.
    fn on_congestion(&mut self, congestion: &Congestion) {
        self.prior_cwnd = self.window.cwnd;
        match congestion.cause {
            // Congestion beyond doubt, which cannot be undone.
            Cause::Ecn => self.prior_ssthresh = None,
            Cause::Loss => self.prior_ssthresh = Some(self.current_ssthresh()),
            // No episode of its own: what may still be undone is the last one.
            Cause::TailLoss => {}
        }
        self.reduction = Some(Prr::new(self.window.cwnd));
        self.is_recovering = congestion.cause == Cause::Loss;
        self.window.ssthresh = match congestion.cause {
            Cause::Ecn => self.algorithm.ssthresh_after_mark(&self.window, congestion.now),
            Cause::Loss => self.algorithm.ssthresh_after_loss(&self.window, congestion.now),
            Cause::TailLoss => self.algorithm.ssthresh_after_tail_loss(&self.window, congestion.now),
        };
        self.window.credit = 0;
        if congestion.cause == Cause::Loss {
            self.window.cwnd = congestion.in_flight + 1;
        }
        self.reduce_by_timer(congestion);
    }

    /// `tcp_enter_recovery`, where a reduction is under way: nothing may be undone.
    fn on_loss_while_reducing(&mut self, congestion: &Congestion) {
        self.prior_ssthresh = None;
        self.is_recovering = true;
        self.algorithm.on_loss_while_reducing(&mut self.window);
        self.reduce_by_timer(congestion);
    }

    /// `tcp_enter_loss`.
    fn on_timeout(&mut self, timeout: &Timeout) {
        if timeout.is_first {
            (self.prior_cwnd, self.prior_ssthresh) = (self.window.cwnd, Some(self.current_ssthresh()));
            self.window.ssthresh = self.algorithm.ssthresh_after_timeout(&self.window, timeout.now);
        }
        self.reduction = None;
        self.window.cwnd = timeout.in_flight + 1;
        self.window.credit = 0;
        self.algorithm.on_timeout(timeout);
    }

    /// `tcp_end_cwnd_reduction`.
    fn on_reduced(&mut self, _now: Instant) {
        if self.reduction.is_some() {
            self.window.cwnd = self.window.ssthresh;
        }
        self.algorithm.on_reduced(&mut self.window);
    }

    fn on_recovered(&mut self, _now: Instant) {
        self.reduction = None;
    }

    /// `tcp_undo_cwnd_reduction`.
    fn on_undo(&mut self, _now: Instant) {
        self.reduction = None;
        if let Some(ssthresh) = self.prior_ssthresh.take() {
            self.window.cwnd = self.window.cwnd.max(self.prior_cwnd);
            self.window.ssthresh = self.window.ssthresh.max(ssthresh);
        }
    }

    /// `tcp_cwnd_restart`: halves the window for every timeout that the idle period lasted.
    fn on_restart(&mut self, restart: &Restart) {
        let Restart { now, idle, rto, .. } = *restart;
        self.algorithm.on_restart(now, idle);
        let idle = in_jiffies(idle, now);
        if idle <= rto {
            return;
        }
        let restart = self.algorithm.initial_window(INITIAL_WINDOW).min(self.window.cwnd);
        self.window.ssthresh = self.current_ssthresh();
        let mut left = idle.saturating_sub(rto);
        while !left.is_zero() && self.window.cwnd > restart {
            self.window.cwnd /= 2;
            left = left.saturating_sub(rto);
        }
        self.window.cwnd = self.window.cwnd.max(restart);
    }

    fn on_tx_start(&mut self, start: &TxStart) {
        self.algorithm.on_tx_start(start);
    }

    fn telemetry(&self, report: &mut dyn FnMut(&'static str, f64)) {
        self.algorithm.telemetry(report);
    }
}

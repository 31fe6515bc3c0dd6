//! The sender that all three schemes are: one monitor interval after the other, each at the rate that a controller
//! names, and the result of each back to it, once and in their order.

use super::monitor::{Interval, Monitors};
use super::{WINDOW, pacing};
use crate::scheme::{Ack, Congestion, Feedback, Lost, Scheme, Sent, Timeout};
use crate::units::{Instant, Rate};

/// How long an interval lasts.
#[derive(Clone, Copy, Debug)]
pub(super) enum Span {
    /// For so many packets more.
    Packets(u32),
    /// Until the first packet after this.
    Until(Instant),
}

/// What the schemes differ in: the next rate, how long it is tried, and what its result means.
pub(super) trait Controller: Send {
    /// The unit of its rates, bit/s.
    const UNIT: f64;
    /// Looks at the single round trips of an interval.
    const NEEDS_RTTS: bool = false;

    /// Rate and length of an interval that begins.
    fn begin(&mut self, number: u64, now: Instant) -> (f64, Span);

    /// True if nothing more is to be waited for in an interval that is over; `newest` is the newest one of which the ack
    /// at hand reports a packet.
    fn is_known(&self, interval: &Interval, newest: Option<u64>, now: Instant) -> bool;

    /// How long after its end a result is waited for, seconds.
    fn patience(&self) -> f64;

    /// An ack came in, whose results are not yet taken.
    fn on_ack(&mut self, _ack: &Ack<'_>) {}

    /// What came of an interval, when `next` is the number of the next one to begin and `newest_rtt` the mean round trip
    /// so far of the newest one, seconds.
    fn on_result(&mut self, interval: &Interval, next: u64, newest_rtt: Option<f64>);

    /// The results of an ack are taken.
    fn after_ack(&mut self, _next: u64) {}

    fn telemetry(&self, report: &mut dyn FnMut(&'static str, f64));
}

#[derive(Debug)]
pub(super) struct Sender<C> {
    pub(super) controller: C,
    monitors: Monitors,
    /// Of the interval under way.
    pub(super) rate: f64,
    /// The same as the transport is told.
    pacing_rate: Rate,
    span: Span,
}

impl<C: Controller> Sender<C> {
    /// One that paces at `rate` until its first packet leaves.
    pub(super) fn new(controller: C, rate: f64) -> Self {
        Self {
            controller,
            monitors: Monitors::new(C::NEEDS_RTTS),
            rate,
            pacing_rate: pacing(rate, C::UNIT),
            span: Span::Packets(0),
        }
    }

    pub(super) fn begin_interval(&mut self, now: Instant) {
        (self.rate, self.span) = self.controller.begin(self.monitors.next_number(), now);
        self.pacing_rate = pacing(self.rate, C::UNIT);
        self.monitors.begin(now, self.rate);
    }

    fn take_results(&mut self, now: Instant, newest: Option<u64>) {
        loop {
            let controller = &self.controller;
            let is_known = |interval: &Interval| controller.is_known(interval, newest, now);
            let Some(interval) = self.monitors.take(now, controller.patience(), is_known) else { return };
            let newest_rtt = newest.and_then(|newest| self.monitors.mean_rtt_of(newest));
            self.controller.on_result(&interval, self.monitors.next_number(), newest_rtt);
            self.monitors.give_back(interval);
        }
    }
}

impl<C: Controller> Scheme for Sender<C> {
    fn cwnd(&self) -> u32 {
        WINDOW
    }

    fn pacing_rate(&self) -> Option<Rate> {
        Some(self.pacing_rate)
    }

    fn feedback(&self) -> Feedback {
        Feedback::EveryPacket
    }

    fn on_sent(&mut self, sent: &Sent) -> u64 {
        let is_over = match self.span {
            Span::Packets(left) => left == 0,
            Span::Until(end) => sent.now > end,
        };
        if is_over {
            self.begin_interval(sent.now);
        }
        if let Span::Packets(left) = &mut self.span {
            *left -= 1;
        }
        self.monitors.on_sent(sent.now)
    }

    fn on_ack(&mut self, ack: &Ack<'_>) {
        let newest = ack.packets.iter().filter_map(|packet| self.monitors.on_acked(*packet, ack.now)).max();
        self.controller.on_ack(ack);
        self.take_results(ack.now, newest);
        self.controller.after_ack(self.monitors.next_number());
    }

    fn on_congestion(&mut self, _congestion: &Congestion) {}

    fn on_lost(&mut self, lost: &Lost) {
        self.monitors.on_lost(lost.packet, lost.now);
    }

    fn on_timeout(&mut self, timeout: &Timeout) {
        self.take_results(timeout.now, None);
    }

    fn telemetry(&self, report: &mut dyn FnMut(&'static str, f64)) {
        self.controller.telemetry(report);
    }
}

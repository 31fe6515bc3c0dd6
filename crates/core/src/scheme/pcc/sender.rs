//! The sender that all three schemes are: one monitor interval after the other, each at the rate that a controller
//! names, and the result of each back to it, once and in their order.

use std::slice;

use super::monitor::{Interval, Monitors};
use super::{WINDOW, pacing};
use crate::scheme::{Ack, Congestion, Feedback, Lost, Scheme, Sent, Timeout};
use crate::units::{Instant, Rate};

/// How long an interval lasts.
#[derive(Clone, Copy, Debug)]
pub(super) enum Span {
    /// For so many packets more, at least one; the next interval begins with the last of them.
    Packets(u32),
    /// Until the first packet after this, with which the next one begins.
    Until(Instant),
}

/// What a controller makes of what it learns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Order {
    /// The interval under way goes on as it is.
    GoOn,
    /// It goes on at this rate.
    Pace(f64),
    /// The next packet begins another.
    Begin,
}

/// What the schemes differ in: the next rate, how long it is tried, and what its result means.
pub(super) trait Controller: Send {
    /// The unit of its rates, bit/s.
    const UNIT: f64;
    /// Looks at the single round trips of an interval.
    const NEEDS_RTTS: bool = false;
    /// Packets of which the receiver tells at once, and only the last of them tells the round trip.
    const PACKETS_PER_MESSAGE: usize = 1;
    /// Intervals that may wait for their results.
    const MOST_WAITING: usize = usize::MAX;

    /// Rate and length of an interval that begins.
    fn begin(&mut self, number: u64, now: Instant) -> (f64, Span);

    /// True if nothing more is to be waited for in an interval that is over; `newest` is the one of which the message at
    /// hand reports a packet.
    fn is_known(&self, interval: &Interval, newest: Option<u64>, now: Instant) -> bool;

    /// An ack came in, whose results are not yet taken.
    fn on_ack(&mut self, _ack: &Ack<'_>) {}

    /// What came of an interval, when `next` is the number of the next one to begin and `measured_rtt` the mean round trip
    /// so far, seconds, of the one that is still open and of whose round trip the message at hand tells.
    fn on_result(&mut self, interval: &Interval, next: u64, measured_rtt: Option<f64>) -> Order;

    /// The results of an ack are taken.
    fn after_ack(&mut self, _next: u64) -> Order {
        Order::GoOn
    }

    fn telemetry(&self, report: &mut dyn FnMut(&'static str, f64));
}

#[derive(Debug)]
pub(super) struct Sender<C> {
    controller: C,
    monitors: Monitors,
    pacing_rate: Rate,
    /// Of the interval under way; `None` if the next packet begins one.
    span: Option<Span>,
    /// Packets that arrived and of which the receiver has not told.
    untold: Vec<u64>,
}

impl<C: Controller> Sender<C> {
    /// One that paces at `rate` until its first packet leaves.
    pub(super) fn new(controller: C, rate: f64) -> Self {
        Self {
            controller,
            monitors: Monitors::new(C::NEEDS_RTTS),
            pacing_rate: pacing(rate, C::UNIT),
            span: None,
            untold: Vec::with_capacity(C::PACKETS_PER_MESSAGE),
        }
    }

    fn begin_interval(&mut self, now: Instant) {
        let (rate, span) = self.controller.begin(self.monitors.next_number(), now);
        self.pacing_rate = pacing(rate, C::UNIT);
        self.span = Some(span);
        self.monitors.begin(now, rate);
    }

    fn obey(&mut self, order: Order) {
        match order {
            Order::GoOn => {}
            Order::Pace(rate) => self.pacing_rate = pacing(rate, C::UNIT),
            Order::Begin => self.span = None,
        }
    }

    /// The receiver tells of packets.
    #[inline]
    fn on_message(&mut self, packets: &[u64], now: Instant) {
        let measured = packets.last().and_then(|last| self.monitors.measure(*last, now));
        for packet in packets {
            let newest = self.monitors.on_acked(*packet);
            self.take_results(now, newest, measured);
        }
    }

    /// A packet arrived, of which the receiver tells with others.
    fn gather(&mut self, packet: u64, now: Instant) {
        self.untold.push(packet);
        if self.untold.len() >= C::PACKETS_PER_MESSAGE {
            let mut packets = std::mem::take(&mut self.untold);
            self.on_message(&packets, now);
            packets.clear();
            self.untold = packets;
        }
    }

    #[inline(always)]
    fn take_results(&mut self, now: Instant, newest: Option<u64>, measured: Option<u64>) {
        loop {
            let controller = &self.controller;
            let is_known = |interval: &Interval| controller.is_known(interval, newest, now);
            let Some(interval) = self.monitors.take(C::MOST_WAITING, is_known) else { return };
            let measured_rtt = measured.and_then(|number| self.monitors.mean_rtt_of(number));
            let order = self.controller.on_result(&interval, self.monitors.next_number(), measured_rtt);
            self.obey(order);
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
            None => true,
            Some(Span::Packets(_)) => false,
            Some(Span::Until(end)) => sent.now > end,
        };
        if is_over {
            self.begin_interval(sent.now);
        }
        let packet = self.monitors.on_sent(sent.now);
        if let Some(Span::Packets(left)) = &mut self.span {
            *left -= 1;
            if *left == 0 {
                self.begin_interval(sent.now);
            }
        }
        packet
    }

    fn on_ack(&mut self, ack: &Ack<'_>) {
        self.controller.on_ack(ack);
        for packet in ack.packets {
            if C::PACKETS_PER_MESSAGE == 1 {
                // Nothing is gathered: the list would take a third of the time that an ack takes here.
                self.on_message(slice::from_ref(packet), ack.now);
            } else {
                self.gather(*packet, ack.now);
            }
        }
        let order = self.controller.after_ack(self.monitors.next_number());
        self.obey(order);
    }

    fn on_congestion(&mut self, _congestion: &Congestion) {}

    fn on_lost(&mut self, lost: &Lost) {
        self.monitors.on_lost(lost.packet, lost.now);
    }

    fn on_timeout(&mut self, timeout: &Timeout) {
        self.take_results(timeout.now, None, None);
    }

    fn telemetry(&self, report: &mut dyn FnMut(&'static str, f64)) {
        self.controller.telemetry(report);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheme::window;
    use crate::units::{Bytes, Duration};

    /// Intervals of so many packets, at rates that count them; of its results, what it was told.
    #[derive(Debug)]
    struct Counting {
        packets: u32,
        /// Number, packets sent, acked, milliseconds of sending and the measured round trip in milliseconds.
        results: Vec<(u64, u32, u32, f64, f64)>,
        order: Option<Order>,
    }

    impl Controller for Counting {
        const UNIT: f64 = 1e6;
        const PACKETS_PER_MESSAGE: usize = 2;

        fn begin(&mut self, number: u64, _now: Instant) -> (f64, Span) {
            (number as f64 + 1.0, Span::Packets(self.packets))
        }

        fn is_known(&self, interval: &Interval, newest: Option<u64>, _now: Instant) -> bool {
            newest.is_some_and(|newest| interval.number < newest)
        }

        fn on_result(&mut self, interval: &Interval, _next: u64, measured_rtt: Option<f64>) -> Order {
            let millis = |seconds: f64| (seconds * 1e3).round();
            let rtt = millis(measured_rtt.unwrap_or_default());
            self.results.push((interval.number, interval.sent, interval.acked, millis(interval.sending_time()), rtt));
            self.order.unwrap_or(Order::GoOn)
        }

        fn telemetry(&self, _report: &mut dyn FnMut(&'static str, f64)) {}
    }

    fn sender(packets: u32) -> Sender<Counting> {
        Sender::new(Counting { packets, results: Vec::new(), order: None }, 1.0)
    }

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    fn send(sender: &mut Sender<Counting>, millis: u64) -> u64 {
        let sent =
            Sent { now: at(millis), size: Bytes::new(1_500), is_retransmission: false, in_flight: 1, delivered: 0 };
        sender.on_sent(&sent)
    }

    fn megabits(sender: &Sender<Counting>) -> f64 {
        sender.pacing_rate().map_or(0.0, |rate| rate.as_bits_per_second() as f64 / 1e6)
    }

    #[test]
    fn the_gap_after_the_last_packet_of_an_interval_is_the_first_of_the_next() {
        let mut sender = sender(3);
        let rates: Vec<_> = (0..7)
            .map(|n| {
                send(&mut sender, 10 * n);
                megabits(&sender)
            })
            .collect();
        assert_eq!(rates, [1.0, 1.0, 2.0, 2.0, 2.0, 3.0, 3.0]);
    }

    #[test]
    fn the_receiver_tells_of_packets_together_and_of_the_last_ones_round_trip() {
        let mut sender = sender(3);
        let packets: Vec<_> = (0..10).map(|n| send(&mut sender, 10 * n)).collect();
        acknowledge_all(&mut sender, &packets);
        // Two gaps in the first interval and three in the second; the second packet after each tells.
        assert_eq!(sender.controller.results, [(0, 3, 3, 20.0, 103.0), (1, 3, 3, 30.0, 107.0), (2, 3, 3, 30.0, 109.0)]);
    }

    fn acknowledge_all(sender: &mut Sender<Counting>, packets: &[u64]) {
        for (n, packet) in packets.iter().enumerate() {
            // The round trip grows by a millisecond a packet, from 100 on.
            let now = at(100 + 11 * n as u64);
            sender.on_ack(&Ack { now, packets: std::slice::from_ref(packet), ..window::ack(1) });
        }
    }

    #[test]
    fn a_message_about_three_intervals_tells_one_round_trip() {
        let mut sender = sender(1);
        let packets: Vec<_> = (0..4).map(|n| send(&mut sender, 10 * n)).collect();
        acknowledge_all(&mut sender, &packets);
        let rtts: Vec<_> = sender.controller.results.iter().map(|(.., rtt)| *rtt).collect();
        assert_eq!(rtts, [101.0, 103.0, 103.0]);
    }

    #[test]
    fn a_result_may_change_the_rate_at_once_or_begin_another_interval() {
        for (order, rate) in [(Order::GoOn, 3.0), (Order::Pace(9.0), 9.0), (Order::Begin, 4.0)] {
            let mut sender = sender(3);
            sender.controller.order = Some(order);
            let packets: Vec<_> = (0..6).map(|n| send(&mut sender, 10 * n)).collect();
            sender.on_ack(&Ack { now: at(200), packets: &packets[3..5], ..window::ack(1) });
            assert_eq!(sender.controller.results.len(), 1);
            send(&mut sender, 201);
            assert!((megabits(&sender) - rate).abs() < 1e-9, "{order:?}: {}", megabits(&sender));
        }
    }
}

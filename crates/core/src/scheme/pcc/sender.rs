//! The sender that Allegro and Vivace are: one monitor interval after the other, each at the rate that a controller
//! names, and the result of each back to it, once and in their order.

use std::slice;

use super::monitor::{Interval, Monitors};
use super::{WINDOW, pacing};
use crate::scheme::{Ack, Congestion, Feedback, Scheme, Sent, Timeout};
use crate::units::{Instant, Rate};

/// What a controller makes of what it learns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Order {
    /// The interval under way goes on as it is.
    GoOn,
    /// It goes on at this rate.
    Pace(f64),
}

/// What the schemes differ in: the next rate, how long it is tried, and what its result means.
pub(super) trait Controller: Send {
    /// The unit of its rates, bit/s.
    const UNIT: f64;
    /// Packets of which the receiver tells at once, and only the last of them tells the round trip.
    const PACKETS_PER_MESSAGE: usize = 1;
    /// Intervals that may wait for their results.
    const MOST_WAITING: usize = usize::MAX;

    /// Rate of an interval that begins, and how many packets more it lasts, at least one: with the last of them the
    /// next begins.
    fn begin(&mut self, number: u64) -> (f64, u32);

    /// True if nothing more is to be waited for in an interval that is over; `newest` is the one of which the message
    /// at hand reports a packet.
    fn is_known(interval: &Interval, newest: Option<u64>) -> bool;

    /// An ack came in, whose results are not yet taken.
    fn on_ack(&mut self, _ack: &Ack<'_>) {}

    /// What came of an interval, when `next` is the number of the next one to begin and `measured_rtt` the mean round
    /// trip so far, microseconds, of the one of whose round trip the message at hand tells.
    fn on_result(&mut self, interval: &Interval, next: u64, measured_rtt: Option<f64>) -> Order;

    fn telemetry(&self, report: &mut dyn FnMut(&'static str, f64));
}

#[derive(Debug)]
pub(super) struct Sender<C> {
    controller: C,
    monitors: Monitors,
    pacing_rate: Rate,
    /// Packets that the interval under way still lacks; 0 before the first interval.
    left: u32,
    /// Packets that arrived and of which the receiver has not told.
    untold: Vec<u64>,
}

impl<C: Controller> Sender<C> {
    /// One that paces at `rate` until its first packet leaves.
    pub(super) fn new(controller: C, rate: f64) -> Self {
        Self {
            controller,
            monitors: Monitors::default(),
            pacing_rate: pacing(rate, C::UNIT),
            left: 0,
            untold: Vec::with_capacity(C::PACKETS_PER_MESSAGE),
        }
    }

    fn begin_interval(&mut self, now: Instant) {
        let (rate, packets) = self.controller.begin(self.monitors.next_number());
        self.pacing_rate = pacing(rate, C::UNIT);
        self.left = packets;
        self.monitors.begin(now, rate);
    }

    /// The receiver tells of packets.
    #[inline]
    fn on_message(&mut self, packets: &[u64], now: Instant) {
        let Some(measured) = packets.last().copied() else { return };
        self.monitors.measure(measured, now);
        for packet in packets {
            let newest = self.monitors.on_acked(*packet);
            let known = self.monitors.known(C::MOST_WAITING, |interval| C::is_known(interval, newest));
            if known > 0 {
                self.take_results(known, measured);
            }
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

    fn take_results(&mut self, known: usize, measured: u64) {
        let (controller, next) = (&mut self.controller, self.monitors.next_number());
        let measured_rtt = self.monitors.mean_rtt(measured);
        for interval in self.monitors.take(known, C::MOST_WAITING) {
            if let Order::Pace(rate) = controller.on_result(&interval, next, measured_rtt) {
                self.pacing_rate = pacing(rate, C::UNIT);
            }
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
        if self.left == 0 {
            self.begin_interval(sent.now);
        }
        let packet = self.monitors.on_sent(sent.now);
        self.left -= 1;
        if self.left == 0 {
            self.begin_interval(sent.now);
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
    }

    fn on_congestion(&mut self, _congestion: &Congestion) {}

    fn on_timeout(&mut self, _timeout: &Timeout) {}

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

        fn begin(&mut self, number: u64) -> (f64, u32) {
            (number as f64 + 1.0, self.packets)
        }

        fn is_known(interval: &Interval, newest: Option<u64>) -> bool {
            newest.is_some_and(|newest| interval.number < newest)
        }

        fn on_result(&mut self, interval: &Interval, _next: u64, measured_rtt: Option<f64>) -> Order {
            let rtt = (measured_rtt.unwrap_or_default() / 1e3).round();
            let millis = (interval.sending_time() * 1e3).round();
            self.results.push((interval.number, interval.sent, interval.acked, millis, rtt));
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
    fn a_result_may_change_the_rate_at_once() {
        for (order, rate) in [(Order::GoOn, 3.0), (Order::Pace(9.0), 9.0)] {
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

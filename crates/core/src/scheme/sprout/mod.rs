//! Sprout and Sprout-EWMA: send only what the link will surely deliver within 100 ms.
//!
//! **What it is.** The receiver counts packets in ticks of 20 ms and keeps a probability for every rate of the link,
//! which wanders by Brownian motion and may be stuck in an outage. From it comes a forecast: how many packets the next
//! eight ticks will deliver with 95 % certainty. The sender keeps no more in the queue than the forecast says will be
//! gone within five ticks. Sprout-EWMA replaces the probabilities by a moving average.
//!
//! **Source.** Winstein, Sivaraman and Balakrishnan, "Stochastic Forecasts Achieve High Throughput and Low Delay over
//! Cellular Networks", NSDI 2013; `keithw/sprout`, `src/sprout` and `src/network/sproutconn.cc`; its branch
//! `ewma-noforecast`. Names of the program stand beside the parts.
//!
//! **Parameters.** None.
//!
//! **Deviations.**
//! - The receiver's part runs at the sender, which knows from every ack when its packet arrived. Its reports, empty
//!   packets every 20 ms that carry a forecast once a tick has passed, take as long as the last ack did, and none is
//!   lost.
//! - Both programs wake from a sleep 50 µs late, always; what sending and receiving itself takes is nothing.
//! - The sender's program sends an empty packet after every 50 ms of silence; here one with 20 bytes leaves, which an
//!   empty one has too: the forecast that the sender makes of the other direction. That it has 15 to 17 in the first
//!   seconds is not followed. The program of Sprout-EWMA forecasts nothing from those and never begins: there a whole
//!   one leaves, unless two are in the queue or nothing was acknowledged for 100 ms; then one leaves when nothing is in
//!   flight. So Sprout-EWMA has a rate below which it does not fall, a quarter of a Mbit/s. Its receiver reports as
//!   Sprout's does; in the program both ends send data.
//! - The program sends datagrams once; here what is lost is sent again, as part of the window or in the place of an
//!   empty packet.
//! - The program's receiver counts in 1400 bytes, its sender takes the forecast for packets of 1440 (Pantheon's patch:
//!   1400); here both are packets of the flow, with the program's 50 bytes more for each in the queue. No rate above
//!   1000 packets per second is ever believed.
//! - A silence of more than ten seconds is taken for one of ten.
//!
//! The receiver takes what arrives for what the link can do, also where the window kept it low. One packet in each tick
//! is forecast as 0 0 0 1 1 2: two within the next five ticks, which are all that a round trip of 40 ms holds then; one
//! in each second tick, with the other not counted, as none (0 0 0 0 0 0). So the flow may stay at either however fast
//! the link becomes: at 12 Mbit/s and 72 ms it has 5.2. This is the published model's arithmetic, and the program does
//! the same. How soon it falls depends on when its timers fire: at 4 Mbit/s and 50 ms the program has 1.85 Mbit/s, its
//! code in virtual time 1.2 to 1.9, ours 1.0 to 1.5.
//!
//! **How it is validated.** The programs' own code was told our events (`docs/event-by-event.md`), and excerpts of its
//! figures stand beside the parts, with those of an independent implementation; throughput over links of 1 to 12 Mbit/s
//! and 30 to 100 ms against the program's own receiver, run in virtual time; utilisation and delay on fixed rates, and
//! delay on cellular traces, in the simulator's behaviour tests; beside the program over four links
//! (`docs/originals.md`).

mod forecast;
mod packets;
mod rates;
mod receiver;
mod select_loop;

use self::packets::{Carried, EMPTY, SentPackets};
use self::receiver::{Model, Outlook, Receiver, Report};
use self::select_loop::SelectLoop;
use super::allowance::Allowance;
use super::{Ack, Congestion, Feedback, Lost, Scheme, Sent, Setup, Timeout};
use crate::info::{Info, Quantity};
use crate::units::{Bytes, Duration, Instant, earlier};

/// `TICK_LENGTH`.
const TICK: Duration = Duration::from_millis(20);
/// Ticks within which what is sent must be delivered (`TARGET_DELAY_TICKS`).
const TARGET_TICKS: usize = 5;
/// The longest pause between two packets (`fallback_interval`).
const PAUSE: Duration = Duration::from_millis(50);
/// Without an ack for so long, a whole packet in place of an empty one is too much to send into silence.
const PATIENCE: Duration = Duration::from_millis(100);
/// And so it is while these are in the queue: on a slow link they alone would fill it.
const HEARTBEATS: u64 = 2;

const TELEMETRY: &[Quantity] = &[
    Quantity { name: "expected_rate", unit: "packets/s", doc: "mean of what is believed of the link's rate" },
    Quantity { name: "queue_estimate", unit: "packets", doc: "what the sender believes to be in the queue" },
    Quantity { name: "deliverable", unit: "packets", doc: "what the forecast says will be delivered within 100 ms" },
];

/// Sprout.
pub(super) const SPROUT: Info = Info {
    name: "sprout",
    title: "Sprout",
    source: "Winstein, Sivaraman and Balakrishnan, NSDI 2013; keithw/sprout",
    parameters: &[],
    telemetry: TELEMETRY,
};

/// Sprout-EWMA.
pub(super) const SPROUT_EWMA: Info = Info {
    name: "sprout_ewma",
    title: "Sprout-EWMA",
    source: "Winstein, Sivaraman and Balakrishnan, NSDI 2013; keithw/sprout, branch ewma-noforecast",
    ..SPROUT
};

/// Makes a Sprout for a flow that starts.
#[expect(clippy::needless_pass_by_value, reason = "all schemes are made alike")]
pub(super) fn new_sprout(setup: Setup) -> Box<dyn Scheme> {
    Box::new(Sprout::new(setup.mss, Model::bayes()))
}

/// Makes a Sprout-EWMA for a flow that starts.
#[expect(clippy::needless_pass_by_value, reason = "all schemes are made alike")]
pub(super) fn new_sprout_ewma(setup: Setup) -> Box<dyn Scheme> {
    Box::new(Sprout::new(setup.mss, Model::Average(0.0)))
}

#[derive(Debug)]
struct Sprout {
    receiver: Receiver,
    outlook: Outlook,
    allowance: Allowance,
    mss: u64,
    /// What ends a pause, bytes.
    empty: u64,
    /// What may leave, bytes.
    window: u64,
    /// What is in the queue by the forecast, bytes (`current_queue_bytes_estimate`).
    queue: u64,
    sent: SentPackets,
    carried: Carried,
    /// Runs from the first packet on.
    awake: Option<SelectLoop>,
    last_ack: Instant,
    /// How long the last ack was on its way.
    way_back: Duration,
}

impl Sprout {
    fn new(mss: Bytes, model: Model) -> Self {
        Self {
            empty: if matches!(model, Model::Bayes(_)) { EMPTY } else { mss.count() },
            receiver: Receiver::new(model, mss),
            outlook: Outlook::default(),
            allowance: Allowance::default(),
            mss: mss.count(),
            window: 0,
            queue: 0,
            sent: SentPackets::default(),
            carried: Carried::default(),
            awake: None,
            last_ack: Instant::ZERO,
            way_back: Duration::ZERO,
        }
    }

    /// A report that the receiver sent arrives.
    fn hear(&mut self, now: Instant, report: Report) {
        self.carried.hear(now);
        if let Some(delivery) = report.delivery {
            self.outlook = Outlook::new(delivery.forecast, now);
            self.queue = self.sent.bytes().saturating_sub(delivery.received_or_lost);
        }
        self.wake(now);
    }

    /// What may be sent now (`window_size`, and the loop of `sproutbt2`).
    fn wake(&mut self, now: Instant) {
        let delivered = self.mss * u64::from(self.outlook.advance(now));
        self.queue = self.queue.saturating_sub(delivered);
        self.window = (self.mss * u64::from(self.outlook.within(TARGET_TICKS))).saturating_sub(self.queue);
        let is_due = self.awake.as_mut().is_some_and(|awake| awake.wake(now)) && self.may_break_silence(now);
        self.allowance.set(self.packets_left().max(u32::from(is_due)));
    }

    /// Packets that the window holds, the last of which may be small.
    fn packets_left(&self) -> u32 {
        self.window.div_ceil(self.mss) as u32
    }

    /// When the sender wakes if no report comes.
    fn next_waking(&self) -> Option<Instant> {
        let awake = self.awake?;
        Some(if self.outlook.is_over() { awake.next_due() } else { awake.next() })
    }

    /// Whether a packet may end a pause: always, unless it stands for an empty one and is none, and the link has been
    /// silent for too long.
    fn may_break_silence(&self, now: Instant) -> bool {
        self.empty == EMPTY || (self.queue < HEARTBEATS * self.mss && now < self.last_ack + PATIENCE)
    }
}

impl Scheme for Sprout {
    fn cwnd(&self) -> u32 {
        self.allowance.cwnd()
    }

    /// The first packet leaves by itself, and those of an average that has been silent for too long.
    fn has_room(&self, in_flight: u32) -> bool {
        self.allowance.left() > 0 || (in_flight == 0 && (self.awake.is_none() || self.empty != EMPTY))
    }

    fn next_size(&self) -> Option<Bytes> {
        Some(Bytes::new(if self.window > 0 { self.window.min(self.mss) } else { self.empty }))
    }

    fn feedback(&self) -> Feedback {
        Feedback::EveryPacket
    }

    fn on_sent(&mut self, sent: &Sent) -> u64 {
        let size = sent.size.count();
        let is_empty = self.window == 0 && size <= EMPTY;
        self.window = self.window.saturating_sub(size);
        self.allowance.on_sent(sent);
        self.allowance.set(self.packets_left());
        self.awake.get_or_insert(SelectLoop::new(sent.now, PAUSE)).on_sent(sent.now);
        let ends_flight = self.window == 0;
        let length = self.carried.next(sent.now, ends_flight) + if is_empty { 0 } else { size };
        self.queue += length;
        self.sent.push(sent.now, length, if ends_flight { PAUSE } else { Duration::ZERO })
    }

    fn on_ack(&mut self, ack: &Ack<'_>) {
        self.allowance.on_ack(ack);
        let sent_at = ack.packets.iter().filter_map(|index| self.sent.get(*index)).map(|packet| packet.sent).max();
        let (Some(sent_at), Some(delay)) = (sent_at, ack.one_way_delay) else { return };
        let arrived_at = sent_at + delay;
        self.last_ack = ack.now;
        self.way_back = ack.now.since(arrived_at);
        if let Some(report) = self.receiver.wake_until(arrived_at) {
            self.hear(ack.now, report);
        }
        for index in ack.packets {
            let report = self.sent.get(*index).and_then(|packet| self.receiver.accept(arrived_at, packet));
            if let Some(report) = report {
                self.hear(ack.now, report);
            }
        }
    }

    fn on_congestion(&mut self, _congestion: &Congestion) {}

    fn on_lost(&mut self, _lost: &Lost) {
        self.allowance.on_lost();
    }

    fn on_timeout(&mut self, timeout: &Timeout) {
        self.allowance.on_timeout(timeout);
    }

    fn has_timer(&self) -> bool {
        true
    }

    fn next_timer(&self) -> Option<Instant> {
        let report = self.receiver.next_waking().map(|at| at + self.way_back);
        earlier(report, self.next_waking())
    }

    fn on_timer(&mut self, now: Instant) {
        if let Some(report) = self.receiver.wake_until(Instant::ZERO + now.since(Instant::ZERO + self.way_back)) {
            self.hear(now, report);
        }
        if self.next_waking().is_some_and(|at| at <= now) {
            self.wake(now);
        }
    }

    fn telemetry(&self, report: &mut dyn FnMut(&'static str, f64)) {
        report("expected_rate", self.receiver.model().mean() / TICK.as_secs_f64());
        report("queue_estimate", self.queue as f64 / self.mss as f64);
        report("deliverable", f64::from(self.outlook.within(TARGET_TICKS)));
    }
}

#[cfg(test)]
mod tests {
    use super::receiver::Delivery;
    use super::*;
    use crate::scheme::window::ack;

    const MSS: Bytes = Bytes::new(1_400);

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    /// Sends all that may leave, and says how large it was.
    fn send(sprout: &mut Sprout, now: Instant) -> Vec<(u64, u64)> {
        let mut sent = Vec::new();
        while sprout.allowance.left() > 0 {
            let size = sprout.next_size().expect("any size");
            let packet = Sent { now, size, is_retransmission: false, in_flight: 1, delivered: 0 };
            sent.push((size.count(), sprout.on_sent(&packet)));
        }
        sent
    }

    fn sizes(sprout: &mut Sprout, now: Instant) -> Vec<u64> {
        send(sprout, now).into_iter().map(|(size, _)| size).collect()
    }

    #[test]
    fn the_last_packet_of_a_window_has_what_is_left_of_it() {
        let mut sprout = Sprout::new(MSS, Model::bayes());
        sprout.outlook = Outlook::new([0, 1, 2, 2, 3, 3, 3, 3], at(0));
        sprout.queue = 700;
        sprout.wake(at(1));
        assert_eq!(sizes(&mut sprout, at(1)), [1_400, 1_400, 700]);
        assert_eq!((sprout.queue, sprout.window), (4_200 + 18 + 3 * 2, 0), "with what packets carry");
    }

    #[test]
    fn a_pause_ends_with_next_to_nothing_or_with_a_whole_packet_of_the_moving_average() {
        for (model, size) in [(Model::bayes(), 20), (Model::Average(0.0), 1_400)] {
            let mut sprout = Sprout::new(MSS, model);
            sprout.awake = Some(SelectLoop::new(at(0), PAUSE));
            sprout.wake(at(49));
            assert_eq!(sizes(&mut sprout, at(49)), [0; 0]);
            sprout.wake(at(50));
            assert_eq!(sizes(&mut sprout, at(50)), [size]);
            sprout.wake(at(99));
            assert_eq!(sprout.allowance.left(), 0);
            sprout.wake(at(100));
            assert_eq!(sprout.allowance.left(), u32::from(size == EMPTY), "a whole one not into 100 ms of silence");
        }
    }

    #[test]
    fn a_pause_of_the_moving_average_ends_while_less_than_two_packets_are_in_the_queue() {
        for (queue, left) in [(2 * 1_400 - 1, 1), (2 * 1_400, 0)] {
            let mut sprout = Sprout::new(MSS, Model::Average(0.0));
            sprout.awake = Some(SelectLoop::new(at(0), PAUSE));
            sprout.queue = queue;
            sprout.wake(at(50));
            assert_eq!(sprout.allowance.left(), left, "{queue} bytes");
        }
    }

    #[test]
    fn a_report_without_a_forecast_changes_nothing_and_one_with_it_all_that_is_believed() {
        let mut sprout = Sprout::new(MSS, Model::bayes());
        sprout.outlook = Outlook::new([0, 1, 2, 3, 4, 5, 6, 7], at(0));
        sprout.window = 3_500;
        sprout.allowance.set(3);
        send(&mut sprout, at(0));
        let sent = sprout.sent.bytes();
        sprout.queue = 3_000;
        sprout.hear(at(1), Report { delivery: None });
        assert_eq!((sprout.queue, sprout.window), (3_000, 5 * 1_400 - 3_000));
        let delivery = Delivery { forecast: [0, 0, 1, 1, 2, 2, 9, 9], received_or_lost: sent - 500 };
        sprout.hear(at(1), Report { delivery: Some(delivery) });
        assert_eq!((sprout.queue, sprout.window), (500, 2 * 1_400 - 500));
        // Its ticks begin with it: none is over 19 ms later, and in the first and second nothing is delivered.
        for (millis, queue, packets) in [(20, 500, 2), (21, 500, 9), (41, 500, 8), (61, 0, 8)] {
            sprout.wake(at(millis));
            assert_eq!((sprout.queue, sprout.outlook.within(TARGET_TICKS)), (queue, packets), "{millis} ms");
        }
    }

    #[test]
    fn only_its_own_timer_or_a_report_wakes_the_sender() {
        let mut sprout = Sprout::new(MSS, Model::bayes());
        sprout.outlook = Outlook::new([1; 8], at(0));
        sprout.awake = Some(SelectLoop::new(at(0), PAUSE));
        let due = at(10) + Duration::from_micros(50);
        for (now, next) in [(at(5), due), (due, due + Duration::from_micros(10_050))] {
            sprout.on_timer(now);
            assert_eq!(sprout.next_waking(), Some(next), "{now:?}");
        }
    }

    #[test]
    fn nothing_leaves_before_its_time_though_nothing_is_in_flight() {
        let mut sprout = Sprout::new(MSS, Model::bayes());
        assert!(sprout.has_room(0), "the first");
        sprout.on_sent(&Sent {
            now: at(0),
            size: Bytes::new(20),
            is_retransmission: false,
            in_flight: 1,
            delivered: 0,
        });
        assert!(!sprout.has_room(0));
        sprout.wake(at(50));
        assert!(sprout.has_room(1));
    }

    #[test]
    fn the_queue_is_what_has_not_arrived_with_the_overhead_of_all_that_left_of_late() {
        let mut sprout = Sprout::new(MSS, Model::bayes());
        sprout.window = 3_500;
        sprout.allowance.set(3);
        let sent = send(&mut sprout, at(0));
        let packets = [sent[0].1];
        sprout.on_ack(&Ack {
            now: at(60),
            one_way_delay: Some(Duration::from_millis(30)),
            packets: &packets,
            ..ack(1)
        });
        assert_eq!(sprout.queue, 3_524, "no report yet");
        // The receiver sleeps twice for 10 ms and a timer's slack; its report takes 30 ms, as the ack did.
        let due = at(80) + Duration::from_micros(100);
        let alone = SelectLoop::new(at(1_000), PAUSE);
        let own = sprout.awake.replace(alone);
        assert_eq!(sprout.next_timer(), Some(at(70) + Duration::from_micros(50)), "its first sleep, seen from here");
        sprout.awake = own;
        sprout.on_timer(due - Duration::from_nanos(1));
        assert_eq!(sprout.queue, 3_524, "not yet");
        sprout.on_timer(due);
        // A whole packet and half of one, two bytes in each, and 50 for each of the three.
        assert_eq!(sprout.queue, 2_104 + 150);
    }
}

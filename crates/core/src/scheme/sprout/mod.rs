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
//! - The receiver's part runs at the sender, which knows from every ack when its packet arrived. Its reports, empty packets every 20 ms
//!   that carry a forecast once a tick has passed, take as long as the last ack did, and none is lost.
//! - Both programs wake from a sleep 50 µs late, always; what sending and receiving itself takes is nothing.
//! - The sender's program sends an empty packet after every 50 ms of silence; here one with a fiftieth of a packet leaves, which is what
//!   the program's receiver takes an empty one for. The program of Sprout-EWMA forecasts nothing from those and never begins: there a whole
//!   one leaves, unless two are in the queue or nothing was acknowledged for 100 ms. So Sprout-EWMA has a rate below
//!   which it does not fall, a quarter of a Mbit/s.
//! - Nothing in flight lets our transport send one packet of that size, whatever the forecast says: one per round trip, which is more than
//!   those where that is shorter than 50 ms.
//! - The program sends datagrams once; here what is lost is sent again, as part of the window. What is missing among the packets
//!   of the last 10 ms counts as received, in the program as in the queue still.
//! - The program's receiver counts in 1400 bytes, its sender takes the forecast for packets of 1440 (Pantheon's patch: 1400); here both
//!   are packets of the flow, with the program's 50 bytes more for each in the queue. No rate above 1000 packets per second
//!   is ever believed.
//! - A silence of more than ten seconds is taken for one of ten.
//!
//! The receiver takes what arrives for what the link can do, also where the window kept it low. One packet in each tick is forecast as 0 0
//! 0 1 1 2: two within the next five ticks, which are all that a round trip of 40 ms holds then; one in each second tick, with the other
//! not counted, as none (0 0 0 0 0 0). So the flow may stay at either however fast the link becomes: at 12 Mbit/s and 72 ms it has 5.2.
//! This is the published model's arithmetic, and the program does the same. How soon it falls depends on when its timers
//! fire: at 4 Mbit/s and 50 ms the program has 1.85 Mbit/s, its code in virtual time 1.2 to 1.9, ours 1.5.
//!
//! **How it is validated.** Rates and forecasts beside the parts, against the figures of an independent implementation;
//! throughput over links of 1 to 12 Mbit/s and 30 to 100 ms against the program's own receiver, run in virtual time; utilisation
//! and delay on fixed rates, and delay on cellular traces, in the simulator's behaviour tests; beside the program over four
//! links (`docs/originals.md`).

mod forecast;
mod rates;
mod receiver;
mod select_loop;

use std::collections::VecDeque;

use self::forecast::Forecast;
use self::receiver::{Model, Outlook, Receiver};
use self::select_loop::SelectLoop;
use super::allowance::Allowance;
use super::{Ack, Congestion, Feedback, Lost, Scheme, Sent, Setup, Timeout};
use crate::info::{Info, Quantity};
use crate::units::{Bytes, Duration, Instant, earlier};

/// `TICK_LENGTH`.
const TICK: Duration = Duration::from_millis(20);
/// Ticks within which what is sent must be delivered (`TARGET_DELAY_TICKS`).
const TARGET_TICKS: usize = 5;
/// What a packet counts for in the queue beyond its payload, bytes (`Connection::new_packet`).
const OVERHEAD: f64 = 50.0;
/// Packets that left within so long of the newest that arrived may still arrive; the receiver counts those of them that did without
/// their overhead (`SendQueue::add`, `RecvQueue::packet_count`).
const REORDER_LIMIT: Duration = Duration::from_millis(10);
/// The longest pause between two packets (`fallback_interval`).
const PAUSE: Duration = Duration::from_millis(50);
/// What an empty packet, which ends such a pause, is to the receiver, in packets: its headers.
const EMPTY: f64 = 0.02;
/// Without an ack for so long, a whole packet in place of an empty one is too much to send into silence.
const PATIENCE: Duration = Duration::from_millis(100);
/// And so it is while these are in the queue: on a slow link they alone would fill it.
const HEARTBEATS: f64 = 2.0;

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
    Box::new(Sprout::new(setup.mss, Model::bayes(), EMPTY))
}

/// Makes a Sprout-EWMA for a flow that starts.
#[expect(clippy::needless_pass_by_value, reason = "all schemes are made alike")]
pub(super) fn new_sprout_ewma(setup: Setup) -> Box<dyn Scheme> {
    Box::new(Sprout::new(setup.mss, Model::Average(0.0), 1.0))
}

/// What a packet remembers: when it left, how much had then with it, its size, and whether it was the last of its flight.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Tag {
    sent: Instant,
    /// Parts of a packet, modulo [`Tag::NUMBERS`].
    number: u32,
    parts: u8,
    ends_flight: bool,
}

impl Tag {
    /// Ten microseconds, so that a day takes 34 bits; 21 are for the number, 8 for the size.
    const UNIT: u64 = 10;
    const NUMBERS: u32 = 1 << 21;
    /// Parts that a whole packet has.
    const WHOLE: f64 = 128.0;

    fn encode(self) -> u64 {
        let low = u64::from(self.number) << 9 | u64::from(self.parts) << 1 | u64::from(self.ends_flight);
        (self.sent.as_micros() / Self::UNIT) << 30 | low
    }

    fn decode(bits: u64) -> Self {
        let sent = Instant::ZERO + Duration::from_micros((bits >> 30) * Self::UNIT);
        let number = (bits >> 9) as u32 % Self::NUMBERS;
        Self { sent, number, parts: (bits >> 1) as u8, ends_flight: bits & 1 == 1 }
    }

    /// How much left between two numbers, in packets.
    fn between(first: u32, last: u32) -> f64 {
        f64::from(last.wrapping_sub(first) % Self::NUMBERS) / Self::WHOLE
    }

    /// In packets.
    fn size(self) -> f64 {
        f64::from(self.parts) / Self::WHOLE
    }
}

#[derive(Debug)]
struct Sprout {
    receiver: Receiver,
    outlook: Outlook,
    allowance: Allowance,
    mss: f64,
    /// What stands for an empty packet, in packets.
    empty: f64,
    /// What may leave, in packets.
    window: f64,
    /// Packets in the queue by the forecast (`current_queue_bytes_estimate`).
    queue: f64,
    /// What has left, and what of it is received or lost, with [`OVERHEAD`], in parts modulo [`Tag::NUMBERS`].
    sent: u32,
    arrived: u32,
    /// When those left that arrived and whose overhead is not counted yet.
    last_flight: VecDeque<Instant>,
    /// Runs from the first packet on.
    awake: Option<SelectLoop>,
    last_ack: Instant,
    /// How long the last ack was on its way.
    way_back: Duration,
}

impl Sprout {
    fn new(mss: Bytes, model: Model, empty: f64) -> Self {
        Self {
            receiver: Receiver::new(model),
            outlook: Outlook::default(),
            allowance: Allowance::default(),
            mss: mss.count() as f64,
            empty,
            window: 0.0,
            queue: 0.0,
            sent: 0,
            arrived: 0,
            last_flight: VecDeque::new(),
            awake: None,
            last_ack: Instant::ZERO,
            way_back: Duration::ZERO,
        }
    }

    /// A report that the receiver sent arrives.
    fn hear(&mut self, now: Instant, forecast: Option<Forecast>) {
        if let Some(forecast) = forecast {
            self.outlook = Outlook::new(forecast, now);
            self.queue = Tag::between(self.arrived, self.sent) + self.last_flight.len() as f64 * OVERHEAD / self.mss;
            self.wake(now);
        }
    }

    /// What may be sent now (`window_size`, and the loop of `sproutbt2`).
    fn wake(&mut self, now: Instant) {
        let delivered = f64::from(self.outlook.advance(now));
        self.queue = (self.queue - delivered).max(0.0);
        self.window = (f64::from(self.outlook.within(TARGET_TICKS)) - self.queue).max(0.0);
        let is_due = self.awake.as_mut().is_some_and(|awake| awake.wake(now)) && self.may_break_silence(now);
        self.allowance.set((self.window.ceil() as u32).max(u32::from(is_due)));
    }

    /// When the sender wakes if no report comes.
    fn next_waking(&self) -> Option<Instant> {
        let awake = self.awake?;
        Some(if self.outlook.is_over() { awake.next_due() } else { awake.next() })
    }

    /// Whether a packet may end a pause: always, unless it stands for an empty one and is none, and the link has been silent for
    /// too long.
    fn may_break_silence(&self, now: Instant) -> bool {
        self.empty < 1.0 || (self.queue < HEARTBEATS && now < self.last_ack + PATIENCE)
    }
}

impl Scheme for Sprout {
    fn cwnd(&self) -> u32 {
        self.allowance.cwnd()
    }

    fn next_size(&self) -> Option<Bytes> {
        let packets = if self.window > 0.0 { self.window.min(1.0) } else { self.empty };
        Some(Bytes::new((packets * self.mss).ceil() as u64))
    }

    fn feedback(&self) -> Feedback {
        Feedback::EveryPacket
    }

    fn on_sent(&mut self, sent: &Sent) -> u64 {
        self.allowance.on_sent(sent);
        let size = sent.size.count() as f64 / self.mss;
        self.queue += size;
        self.window = (self.window - size).max(0.0);
        self.awake.get_or_insert(SelectLoop::new(sent.now, PAUSE)).on_sent(sent.now);
        let parts = |packets: f64| (packets * Tag::WHOLE).round() as u32;
        self.sent = (self.sent + parts(size + OVERHEAD / self.mss)) % Tag::NUMBERS;
        let ends_flight = self.allowance.left() == 0;
        Tag { sent: sent.now, number: self.sent, parts: parts(size).min(u8::MAX.into()) as u8, ends_flight }.encode()
    }

    fn on_ack(&mut self, ack: &Ack<'_>) {
        self.allowance.on_ack(ack);
        let tags = ack.packets.iter().map(|packet| Tag::decode(*packet));
        let newest = tags.clone().max_by_key(|tag| tag.sent);
        if let (Some(tag), Some(delay)) = (newest, ack.one_way_delay) {
            self.last_ack = ack.now;
            let arrived_at = tag.sent + delay;
            self.way_back = ack.now.since(arrived_at);
            let report = self.receiver.wake_until(arrived_at);
            self.hear(ack.now, report);
            self.last_flight.extend(tags.clone().map(|tag| tag.sent));
            while self.last_flight.front().is_some_and(|sent| *sent + REORDER_LIMIT < tag.sent) {
                self.last_flight.pop_front();
            }
            let unarrived = |number| Tag::between(number, self.sent);
            if unarrived(tag.number) < unarrived(self.arrived) {
                self.arrived = tag.number;
            }
            let pause = if tag.ends_flight { PAUSE } else { Duration::ZERO };
            let report = self.receiver.accept(arrived_at, tags.map(Tag::size).sum(), pause);
            self.hear(ack.now, report);
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
        let report = self.receiver.wake_until(Instant::ZERO + now.since(Instant::ZERO + self.way_back));
        self.hear(now, report);
        if self.next_waking().is_some_and(|at| at <= now) {
            self.wake(now);
        }
    }

    fn telemetry(&self, report: &mut dyn FnMut(&'static str, f64)) {
        report("expected_rate", self.receiver.model().mean() / TICK.as_secs_f64());
        report("queue_estimate", self.queue);
        report("deliverable", f64::from(self.outlook.within(TARGET_TICKS)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheme::window::ack;

    const MSS: Bytes = Bytes::new(1_400);

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    /// Sends all that may leave, and says how large it was.
    fn send(sprout: &mut Sprout, now: Instant) -> Vec<(u64, u64)> {
        let mut sent = Vec::new();
        for in_flight in 1..=sprout.allowance.left() {
            let size = sprout.next_size().expect("any size");
            let packet = Sent { now, size, is_retransmission: false, in_flight, delivered: 0 };
            sent.push((size.count(), sprout.on_sent(&packet)));
        }
        sent
    }

    #[test]
    fn a_packet_remembers_what_had_left_and_its_size() {
        let tag = Tag { sent: at(86_399_999), number: Tag::NUMBERS - 1, parts: 128, ends_flight: true };
        assert_eq!(Tag::decode(tag.encode()), tag);
        assert!((Tag::between(Tag::NUMBERS - 64, 64) - 1.0).abs() < 1e-9, "across the last number");
    }

    #[test]
    fn the_last_packet_of_a_window_has_what_is_left_of_it() {
        let mut sprout = Sprout::new(MSS, Model::bayes(), EMPTY);
        sprout.outlook = Outlook::new([0, 1, 2, 2, 3, 3, 3, 3], at(0));
        sprout.queue = 0.5;
        sprout.wake(at(1));
        let sizes: Vec<_> = send(&mut sprout, at(1)).into_iter().map(|(size, _)| size).collect();
        assert_eq!(sizes, [1_400, 1_400, 700]);
        assert!((sprout.queue - 3.0).abs() < 1e-9 && sprout.window.abs() < 1e-9);
    }

    #[test]
    fn a_pause_ends_with_next_to_nothing_or_with_a_whole_packet_of_the_moving_average() {
        for (model, empty, size) in [(Model::bayes(), EMPTY, 28), (Model::Average(0.0), 1.0, 1_400)] {
            let mut sprout = Sprout::new(MSS, model, empty);
            sprout.awake = Some(SelectLoop::new(at(0), PAUSE));
            sprout.wake(at(49));
            assert_eq!(send(&mut sprout, at(49)), []);
            sprout.wake(at(50));
            assert_eq!(send(&mut sprout, at(50)).into_iter().map(|(size, _)| size).collect::<Vec<_>>(), [size]);
            sprout.wake(at(99));
            assert_eq!(sprout.allowance.left(), 0);
            sprout.wake(at(100));
            assert_eq!(sprout.allowance.left(), u32::from(empty < 1.0), "a whole one not into 100 ms of silence");
        }
    }

    #[test]
    fn the_queue_is_what_has_not_arrived_with_the_overhead_of_all_that_left_of_late() {
        let mut sprout = Sprout::new(MSS, Model::bayes(), EMPTY);
        sprout.window = 2.5;
        sprout.allowance.set(3);
        let sent = send(&mut sprout, at(0));
        let acked = |now, number: usize| {
            let tags = [sent[number].1];
            (Ack { now: at(now), one_way_delay: Some(Duration::from_millis(30)), ..ack(1) }, tags)
        };
        let (first, tags) = acked(60, 0);
        sprout.on_ack(&Ack { packets: &tags, ..first });
        assert!((sprout.queue - 2.5).abs() < 1e-9, "no report yet: {}", sprout.queue);
        // The receiver sleeps twice for 10 ms and a timer's slack; its report takes 30 ms, as the ack did.
        let due = at(80) + Duration::from_micros(100);
        let alone = SelectLoop::new(at(1_000), PAUSE);
        let own = sprout.awake.replace(alone);
        assert_eq!(sprout.next_timer(), Some(at(70) + Duration::from_micros(50)), "its first sleep, seen from here");
        sprout.awake = own;
        sprout.on_timer(due - Duration::from_nanos(1));
        assert!((sprout.queue - 2.5).abs() < 1e-9, "not yet: {}", sprout.queue);
        sprout.on_timer(due);
        // A whole packet and half of one, and 50 bytes for each of the three.
        assert!((sprout.queue - 1.5 - 150.0 / 1_400.0).abs() < 0.01, "{}", sprout.queue);
    }
}

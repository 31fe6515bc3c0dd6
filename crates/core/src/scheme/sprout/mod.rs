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
//! - The receiver's part runs at the sender, which knows from every ack when its packet arrived; a forecast is made when
//!   the first packet of a new tick is acknowledged. The program's receiver also sends forecasts while nothing arrives;
//!   here a silent link leaves the last one, which lets nothing out from 140 ms on.
//! - The program sends packets of any size, and an empty one after every 50 ms of silence. Here packets are whole, and
//!   after 50 ms a whole one leaves, unless two are in the queue or nothing was acknowledged for 100 ms. So a flow has a rate below
//!   which it does not fall, a quarter of a Mbit/s; and Sprout-EWMA starts by them: the program's average counts an empty
//!   packet as a fiftieth, and what it forecasts from nothing is nothing.
//! - Nothing in flight lets our transport send one packet, whatever the forecast says: a packet per round trip, which is more than
//!   the heartbeats where that is shorter than 50 ms.
//! - The program sends datagrams once; here what is lost is sent again, as part of the window.
//! - The program's receiver counts in 1400 bytes, its sender takes the forecast for packets of 1440 (Pantheon's patch: 1400); here both
//!   are packets of the flow, with the program's 50 bytes more for each in the queue. No rate above 1000 packets per second
//!   is ever believed.
//! - A gap of more than ten seconds is taken for one of ten.
//!
//! The receiver takes what arrives for what the link can do, also where the window kept it low. One packet in each tick is forecast as 0 0
//! 0 1 1 2: two within the next five ticks, which are all that a round trip of 40 ms holds then; one in each second tick, with the other
//! not counted, as none (0 0 0 0 0 0). So the flow may stay at either however fast the link becomes. This is the published
//! model's arithmetic, and the program falls into the step too: at 4 Mbit/s and 50 ms it has 1.8 Mbit/s for good.
//!
//! **How it is validated.** Rates and forecasts beside the parts, against the figures of an independent implementation;
//! utilisation and delay on fixed rates, and delay on cellular traces, in the simulator's behaviour tests.

mod forecast;
mod rates;
mod receiver;

use self::receiver::{Model, Outlook, Receiver};
use super::allowance::Allowance;
use super::{Ack, Congestion, Feedback, Lost, Scheme, Sent, Setup, Timeout};
use crate::info::{Info, Quantity};
use crate::units::{Bytes, Duration, Instant};

/// `TICK_LENGTH`.
const TICK: Duration = Duration::from_millis(20);
/// Ticks within which what is sent must be delivered (`TARGET_DELAY_TICKS`).
const TARGET_TICKS: usize = 5;
/// What a packet counts for in the queue beyond its payload, bytes (`Connection::new_packet`).
const OVERHEAD: f64 = 50.0;
/// The longest pause between two packets (`fallback_interval`).
const PAUSE: Duration = Duration::from_millis(50);
/// Without an ack for so long, a whole packet is too much to send into silence.
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
    Box::new(Sprout::new(setup.mss, Model::bayes()))
}

/// Makes a Sprout-EWMA for a flow that starts.
#[expect(clippy::needless_pass_by_value, reason = "all schemes are made alike")]
pub(super) fn new_sprout_ewma(setup: Setup) -> Box<dyn Scheme> {
    Box::new(Sprout::new(setup.mss, Model::Average(0.0)))
}

/// What a packet remembers: when it left, its number, and whether it was the last of its flight.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Tag {
    sent: Instant,
    number: u32,
    ends_flight: bool,
}

impl Tag {
    /// Ten microseconds, so that a day leaves 29 bits for the number.
    const UNIT: u64 = 10;

    fn encode(self) -> u64 {
        (self.sent.as_micros() / Self::UNIT) << 30 | u64::from(self.number) << 1 | u64::from(self.ends_flight)
    }

    fn decode(bits: u64) -> Self {
        let sent = Instant::ZERO + Duration::from_micros((bits >> 30) * Self::UNIT);
        Self { sent, number: (bits >> 1) as u32 & 0x1fff_ffff, ends_flight: bits & 1 == 1 }
    }
}

#[derive(Debug)]
struct Sprout {
    receiver: Receiver,
    outlook: Outlook,
    allowance: Allowance,
    /// What a packet counts for in the queue, in packets.
    weight: f64,
    /// Packets in the queue by the forecast (`current_queue_bytes_estimate`).
    queue: f64,
    sent: u32,
    /// The first packet after all that are received or lost.
    first_pending: u32,
    /// When a packet leaves whatever the window says.
    next_heartbeat: Option<Instant>,
    last_ack: Instant,
}

impl Sprout {
    fn new(mss: Bytes, model: Model) -> Self {
        Self {
            receiver: Receiver::new(model),
            outlook: Outlook::default(),
            allowance: Allowance::default(),
            weight: 1.0 + OVERHEAD / mss.count() as f64,
            queue: 0.0,
            sent: 0,
            first_pending: 0,
            next_heartbeat: None,
            last_ack: Instant::ZERO,
        }
    }

    /// What may be sent now (`window_size`, and the loop of `sproutbt2`).
    fn update(&mut self, now: Instant) {
        let delivered = f64::from(self.outlook.advance(now));
        self.queue = (self.queue - delivered).max(0.0);
        let window = f64::from(self.outlook.within(TARGET_TICKS)) - self.queue;
        let is_due = self.heartbeat().is_some_and(|due| due <= now);
        if is_due {
            self.next_heartbeat = Some(now + PAUSE);
        }
        self.allowance.set((window.max(0.0).ceil() as u32).max(u32::from(is_due)));
    }

    /// The next one, unless the link has been silent for too long.
    fn heartbeat(&self) -> Option<Instant> {
        let may_send = self.queue < HEARTBEATS;
        self.next_heartbeat.filter(|due| may_send && *due < self.last_ack + PATIENCE)
    }
}

impl Scheme for Sprout {
    fn cwnd(&self) -> u32 {
        self.allowance.cwnd()
    }

    fn feedback(&self) -> Feedback {
        Feedback::EveryPacket
    }

    fn on_sent(&mut self, sent: &Sent) -> u64 {
        self.allowance.on_sent(sent);
        self.queue += 1.0;
        self.next_heartbeat = Some(sent.now + PAUSE);
        let number = self.sent;
        self.sent = (self.sent + 1) & 0x1fff_ffff;
        Tag { sent: sent.now, number, ends_flight: self.allowance.left() == 0 }.encode()
    }

    fn on_ack(&mut self, ack: &Ack<'_>) {
        self.allowance.on_ack(ack);
        let newest = ack.packets.iter().map(|packet| Tag::decode(*packet)).max_by_key(|tag| tag.sent);
        if let (Some(tag), Some(delay)) = (newest, ack.one_way_delay) {
            self.last_ack = ack.now;
            self.first_pending = self.first_pending.max(tag.number + 1);
            let pause = if tag.ends_flight { PAUSE } else { Duration::ZERO };
            if let Some(forecast) = self.receiver.accept(tag.sent + delay, ack.packets.len() as f64, pause) {
                self.outlook = Outlook::new(forecast, ack.now);
                self.queue = f64::from(self.sent.saturating_sub(self.first_pending)) * self.weight;
            }
        }
        self.update(ack.now);
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
        [self.outlook.next_tick(), self.heartbeat()].into_iter().flatten().min()
    }

    fn on_timer(&mut self, now: Instant) {
        self.update(now);
    }

    fn telemetry(&self, report: &mut dyn FnMut(&'static str, f64)) {
        report("expected_rate", self.receiver.model().mean() / TICK.as_secs_f64());
        report("queue_estimate", self.queue);
        report("deliverable", f64::from(self.outlook.within(TARGET_TICKS)));
    }
}

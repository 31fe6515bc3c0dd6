//! Indigo: a window that a recurrent network sets every ten milliseconds.
//!
//! **What it is.** A policy trained to imitate an oracle that knows the path. Every ten milliseconds it sees queueing
//! delay, delivery rate, sending rate, window and its own last action, and then halves the window, takes or adds ten
//! packets, doubles it, or leaves it.
//!
//! **Source.** F. Yan et al., Pantheon: the training ground for Internet congestion-control research, USENIX ATC 2018;
//! StanfordSNR/indigo, `env/sender.py`, `dagger/`.
//!
//! **Parameters.** `weights`: a file with the published weights, the tensors of a checkpoint's data file: 1 layer of 32
//! (2601c92, without calibration 1f3a7f7) or 128 units (3ae9e4e), or 2 of 256 (a9b2060, 7224f22). An experiment has to
//! name one; bakeoff ships none. `network` says which of these sizes it has to have, so that no file fills the row of
//! another.
//!
//! **Deviations.** The original never sends anything again; here what our transport takes for lost leaves before new
//! data, and its timeouts send a packet whatever the window says. A lost ack is no sample in the original; here the
//! next ack tells what it told. A network decides in no time. Its payload was 1400 bytes; ours is the flow's.
//!
//! **How it is validated.** The network against its equations, the features and the ten-millisecond step here; beside
//! the program's code, told the same events (`docs/event-by-event.md`); the windows that the published weights settle
//! at, with those weights at hand, in the simulator's behaviour tests. There 95 % of the queueing delay on links of 20
//! Mbit/s and more is below 2 to 9 ms, as in the independent implementation beside which they stand (3 to 9), but for
//! three of 25 at 50 Mbit/s and 80 ms, where a step of ten packets is 2.3 ms (11 to 17).

mod network;

use std::collections::VecDeque;

use self::network::{ACTIONS, INPUTS, Network};
use super::{Ack, Congestion, Feedback, INITIAL_WINDOW, Scheme, Sent, Setup, Timeout};
use crate::info::{Info, Kind, Parameter, Quantity};
use crate::units::{Bytes, Duration, Instant};

/// Weight of a new sample (`env/sender.py`, `ewma_factor`).
const EWMA: f64 = 0.125;
/// A step lasts longer than this, ms (`step_len_ms`).
const STEP_MS: u64 = 10;
/// What the features are divided by: delay in ms, rates in Mbit/s, window in packets.
const SCALES: [f64; 4] = [200.0, 200.0, 200.0, 5_000.0];
/// The action that is taken to have come before the first one.
const FIRST_ACTION: usize = 4;
const MIN_WINDOW: f64 = 2.0;
/// No window is larger, packets.
const MAX_WINDOW: f64 = 16_777_216.0;
/// After so long without an ack one packet leaves whatever the window says (`run`, `TIMEOUT`).
const SILENCE: Duration = Duration::from_secs(1);
/// Bytes per millisecond to Mbit/s.
const MBPS: f64 = 0.008;
/// Packets that are remembered from the oldest that was not acknowledged on; there it is forgotten.
const MAX_REMEMBERED: usize = 1 << 18;

/// Name, parameters and source.
pub(super) const INFO: Info = Info {
    name: "indigo",
    title: "Indigo",
    source: "Yan et al., USENIX ATC 2018; StanfordSNR/indigo env/sender.py",
    parameters: &[
        Parameter {
            name: "weights",
            kind: Kind::File {
                content: "a file with the published weights of Indigo",
                problem: |data, parameters| network::problem(data, parameters.text("network")),
            },
            unit: "",
            doc: "the policy: the data file of a checkpoint",
        },
        Parameter::choice("network", network::NAMES, "layers and units that the file has to have"),
    ],
    telemetry: &[
        Quantity { name: "action", unit: "", doc: "0 half, 1 ten less, 2 none, 3 ten more, 4 double" },
        Quantity {
            name: "queueing_delay",
            unit: "ms",
            doc: "round trip above the shortest, averaged over the last step",
        },
        Quantity { name: "delivery_rate", unit: "Mbit/s", doc: "averaged over the last step" },
        Quantity { name: "send_rate", unit: "Mbit/s", doc: "averaged over the last step" },
    ],
};

/// Makes one for a flow that starts.
pub(super) fn new(setup: Setup) -> Box<dyn Scheme> {
    let Setup { mss, parameters, .. } = setup;
    Box::new(Indigo::new(mss, Network::read(parameters.data("weights"))))
}

/// What is remembered of a packet.
#[derive(Clone, Copy, Debug)]
struct Packet {
    sent_ms: u64,
    sent_bytes: u64,
    delivered_bytes: u64,
    delivered_ms: u64,
    is_done: bool,
}

/// Moving averages of one step: queueing delay, delivery rate, sending rate.
type Averages = [Option<f64>; 3];

#[derive(Debug)]
struct Indigo {
    mss: Bytes,
    network: Option<Network>,
    /// With its fraction: half of five is two and a half.
    cwnd: f64,
    /// The clock begins with the first packet (`curr_ts_ms`).
    epoch: Option<Instant>,
    packets: VecDeque<Packet>,
    /// Number of the first one remembered.
    first: u64,
    /// One more than the highest that was acknowledged.
    next_ack: u64,
    /// Since the last ack, or the last packet that left without room.
    silent_since: Instant,
    /// A packet may leave without room.
    is_overdue: bool,
    sent_bytes: u64,
    delivered_bytes: u64,
    delivered_ms: u64,
    min_rtt_ms: Option<u64>,
    averages: Averages,
    shown: Averages,
    step_start_ms: Option<u64>,
    action: usize,
}

impl Indigo {
    fn new(mss: Bytes, network: Option<Network>) -> Self {
        Self {
            mss,
            network,
            cwnd: f64::from(INITIAL_WINDOW),
            epoch: None,
            packets: VecDeque::new(),
            first: 0,
            next_ack: 0,
            silent_since: Instant::ZERO,
            is_overdue: false,
            sent_bytes: 0,
            delivered_bytes: 0,
            delivered_ms: 0,
            min_rtt_ms: None,
            averages: Averages::default(),
            shown: Averages::default(),
            step_start_ms: None,
            action: FIRST_ACTION,
        }
    }

    fn clock_ms(&mut self, now: Instant) -> u64 {
        now.since(*self.epoch.get_or_insert(now)).as_millis()
    }

    fn next_number(&self) -> u64 {
        self.first + self.packets.len() as u64
    }

    /// What an ack overtakes leaves the window (`window_is_open`).
    fn is_window_open(&self) -> bool {
        (self.next_number().saturating_sub(self.next_ack) as f64) < self.cwnd
    }

    /// Forgets a packet and returns what was known of it.
    fn recall(&mut self, number: u64) -> Option<Packet> {
        let packet = self.packets.get_mut(usize::try_from(number.checked_sub(self.first)?).ok()?)?;
        let known = (!std::mem::replace(&mut packet.is_done, true)).then_some(*packet);
        while self.packets.front().is_some_and(|packet| packet.is_done) {
            self.packets.pop_front();
            self.first += 1;
        }
        known
    }

    /// `update_state`.
    fn take_acked(&mut self, packet: &Packet, now_ms: u64) {
        let rtt = now_ms - packet.sent_ms;
        let min_rtt = *self.min_rtt_ms.insert(self.min_rtt_ms.map_or(rtt, |least| least.min(rtt)));
        self.delivered_bytes += self.mss.count();
        let since_delivery = (now_ms - packet.delivered_ms).max(1);
        let delivered = self.delivered_bytes - packet.delivered_bytes;
        self.delivered_ms = now_ms;
        let samples = [
            (rtt - min_rtt) as f64,
            MBPS * delivered as f64 / since_delivery as f64,
            MBPS * (self.sent_bytes - packet.sent_bytes) as f64 / rtt.max(1) as f64,
        ];
        for (average, sample) in self.averages.iter_mut().zip(samples) {
            *average = Some(average.map_or(sample, |before| (1.0 - EWMA) * before + EWMA * sample));
        }
        let start = *self.step_start_ms.get_or_insert(now_ms);
        if now_ms - start > STEP_MS {
            self.step();
            self.step_start_ms = Some(now_ms);
        }
    }

    /// The policy sees the state of the step and acts.
    fn step(&mut self) {
        self.shown = std::mem::take(&mut self.averages);
        let [delay, delivery, sending] = self.shown.map(|average| average.unwrap_or(0.0));
        let mut observation = [0.0; INPUTS];
        let state = [delay, delivery, sending, self.cwnd];
        for (input, (value, scale)) in observation.iter_mut().zip(state.into_iter().zip(SCALES)) {
            *input = (value / scale) as f32;
        }
        observation[INPUTS - ACTIONS + self.action] = 1.0;
        let Some(network) = &mut self.network else { return };
        self.action = network.decide(&observation);
        let window = match self.action {
            0 => self.cwnd / 2.0,
            1 => self.cwnd - 10.0,
            2 => self.cwnd,
            3 => self.cwnd + 10.0,
            _ => self.cwnd * 2.0,
        };
        self.cwnd = window.clamp(MIN_WINDOW, MAX_WINDOW);
    }
}

impl Scheme for Indigo {
    fn cwnd(&self) -> u32 {
        self.cwnd.ceil() as u32
    }

    fn has_room(&self, _in_flight: u32) -> bool {
        self.is_overdue || self.is_window_open()
    }

    fn feedback(&self) -> Feedback {
        Feedback::EveryPacket
    }

    /// Returns the packet's number.
    fn on_sent(&mut self, sent: &Sent) -> u64 {
        let sent_ms = self.clock_ms(sent.now);
        if !self.is_window_open() {
            (self.silent_since, self.is_overdue) = (sent.now, false);
        }
        if self.packets.len() >= MAX_REMEMBERED {
            self.packets.pop_front();
            self.first += 1;
        }
        self.packets.push_back(Packet {
            sent_ms,
            sent_bytes: self.sent_bytes,
            delivered_bytes: self.delivered_bytes,
            delivered_ms: self.delivered_ms,
            is_done: false,
        });
        self.sent_bytes += self.mss.count();
        self.next_number() - 1
    }

    /// `recv`.
    fn on_ack(&mut self, ack: &Ack<'_>) {
        let now_ms = self.clock_ms(ack.now);
        (self.silent_since, self.is_overdue) = (ack.now, false);
        for number in ack.packets {
            self.next_ack = self.next_ack.max(number + 1);
            if let Some(packet) = self.recall(*number) {
                self.take_acked(&packet, now_ms);
            }
        }
    }

    fn has_timer(&self) -> bool {
        true
    }

    fn next_timer(&self) -> Option<Instant> {
        (!self.has_room(0)).then_some(self.silent_since + SILENCE)
    }

    fn on_timer(&mut self, _now: Instant) {
        self.is_overdue = true;
    }

    fn on_congestion(&mut self, _congestion: &Congestion) {}

    fn on_timeout(&mut self, _timeout: &Timeout) {}

    fn on_undo(&mut self, _now: Instant) {}

    fn telemetry(&self, report: &mut dyn FnMut(&'static str, f64)) {
        report("action", self.action as f64);
        for (name, average) in ["queueing_delay", "delivery_rate", "send_rate"].into_iter().zip(self.shown) {
            if let Some(average) = average {
                report(name, average);
            }
        }
    }
}

#[cfg(test)]
mod tests;

//! QUIC BBR: the first BBR of Chromium's QUIC, with or without draining to target.
//!
//! **What it is.** BBR version 1 as Chromium ported it to QUIC: bytes instead of packets, no margin below the measured
//! bandwidth, no policer detection, no segmentation budget; losses cap the window for the rounds that have them, in
//! start-up too. With `drain_to_target` the phase that drains goes on until no more than one bandwidth-delay product is in
//! flight, and does not end after one round trip.
//!
//! **Source.** Chromium, `quic/core/congestion_control/bbr_sender.cc` (google/quiche 790af403, June 2019), and its port to
//! ns-3 of that summer, `proto_bbr_sender.cc` of SoonyangZhang/DrainQueueCongestion. Names of functions stand beside the
//! parts.
//!
//! **Parameters.** `drain_to_target`: off in Chromium unless the client asks with the option BBR3. `startup_gain`: gain
//! of start-up for rate and window, 2.885 in Chromium; its inverse drains. `startup_growth`: growth of the bandwidth in a
//! round that shows that the pipe is not full, 1.25 in Chromium. `initial_window`: 32 in Chromium. `pacing_margin`: how far
//! below the bandwidth to pace, none in Chromium. `first_rtt`: a round trip that a program reports as measured before it sends,
//! none in Chromium; of it only the minimum is taken. The ns-3 port of July 2019 had 2.0, 1.5, 10, 1 % and 100 ms.
//!
//! **Deviations.**
//! - Loss detection, retransmission and timers are those of our transport. As in QUIC a transmission has a number of its own, and
//!   no reaction is ever undone. A timeout sends one packet where Chromium sends two, and what a needless one took for lost counts
//!   for nothing when it arrives. What a timer finds lost shows with the next ack; in Chromium it does at once, and begins no recovery.
//!   A lost tail that a probe repairs costs nothing here, and a recovery in Chromium, which still finds its first transmission lost.
//! - Acks and pacing are those of our transport, too: Chromium has an ack for every second packet, after 25 ms at the latest,
//!   and lets ten packets out unpaced whenever it was idle, not only at the beginning.
//! - Since 2020 Chromium leaves start-up on heavy losses in place of a recovery in it, and gives the window a gain of 2 there.
//!
//! **How it is validated.** Phases with and without the flag, recovery and the ten-second probe beside the parts, samples of the
//! bandwidth in `quic/flight.rs`; loss rates of a published study in the simulator's behaviour tests.

mod model;
mod recovery;
#[cfg(test)]
mod tests;

use self::recovery::Recovery;
use super::bbr::bandwidth::{FullPipe, Limited, Rounds};
use super::bbr::fixed_point::{Bandwidth, GAIN_UNIT};
use super::bbr::model::{MODE, Mode};
use super::quic::{
    self, FIRST_RTT, Flight, INITIAL_RTT, INITIAL_WINDOW, MSS, PacketSize, PendingTimeout, WindowedMax, first_rtt,
    initial_window,
};
use super::{Ack, Congestion, Feedback, Lost, Scheme, Sent, Setup, Timeout, TxStart};
use crate::info::{Info, Kind, Parameter, Quantity};
use crate::random::RandomStream;
use crate::units::{Bytes, Duration, Instant, Rate};

/// The least window, bytes (`kDefaultMinimumCongestionWindow`).
const MIN_WINDOW: u64 = 4 * MSS;
/// Rounds that the bandwidth and the most acks beyond it are of (`kBandwidthWindowSize`).
const BANDWIDTH_ROUNDS: u64 = 10;

/// Name, parameters and source.
pub(super) const INFO: Info = Info {
    name: "quic_bbr",
    title: "QUIC BBR v1",
    source: "Chromium, bbr_sender.cc (google/quiche 790af403, June 2019); SoonyangZhang/DrainQueueCongestion",
    parameters: &[
        Parameter {
            name: "drain_to_target",
            kind: Kind::Flag { default: false },
            unit: "",
            doc: "drain until one bandwidth-delay product is in flight, not for one round trip at most",
        },
        Parameter {
            name: "startup_gain",
            kind: Kind::Number { default: 2.885, min: 1.25, max: 4.0 },
            unit: "",
            doc: "gain of rate and window in start-up; drain has its inverse",
        },
        Parameter {
            name: "startup_growth",
            kind: Kind::Number { default: 1.25, min: 1.05, max: 2.0 },
            unit: "",
            doc: "start-up ends after three rounds in which the bandwidth grows by less than this factor",
        },
        INITIAL_WINDOW,
        Parameter {
            name: "pacing_margin",
            kind: Kind::Number { default: 0.0, min: 0.0, max: 50.0 },
            unit: "%",
            doc: "how far below the bandwidth to pace",
        },
        FIRST_RTT,
    ],
    telemetry: &[
        MODE,
        Quantity { name: "bw", unit: "bit/s", doc: "most that was delivered in ten rounds, UDP payload" },
        Quantity { name: "model_min_rtt", unit: "ms", doc: "shortest round trip of the last ten seconds" },
        Quantity { name: "pacing_gain", unit: "", doc: "pacing rate over bandwidth" },
        Quantity { name: "round_count", unit: "", doc: "round trips so far" },
        Quantity { name: "recovery", unit: "", doc: "0 none, 1 conservation, 2 growth" },
        Quantity { name: "ack_height", unit: "bytes", doc: "most acknowledged beyond what the bandwidth explains" },
    ],
};

/// Makes one for a flow that starts.
pub(super) fn new(setup: Setup) -> Box<dyn Scheme> {
    let Setup { mss, packet_size, parameters, random, .. } = setup;
    let fixed = |name| (parameters.number(name) * f64::from(GAIN_UNIT)).round() as u32;
    let options = Options {
        drains_to_target: parameters.flag("drain_to_target"),
        startup_gain: fixed("startup_gain"),
        startup_growth: fixed("startup_growth"),
        initial_window: initial_window(&parameters),
        pace: 1.0 - parameters.number("pacing_margin") / 100.0,
        first_rtt: first_rtt(&parameters),
    };
    Box::new(QuicBbr::new(PacketSize::of(packet_size, mss), options, random))
}

#[derive(Clone, Copy, Debug)]
struct Options {
    drains_to_target: bool,
    startup_gain: u32,
    startup_growth: u32,
    /// Bytes.
    initial_window: u64,
    /// Pacing rate over that of the model.
    pace: f64,
    /// Once there is a measured round trip, start-up never paces below the initial window in the lesser of the two.
    first_rtt: Duration,
}

#[derive(Debug)]
struct QuicBbr {
    packet: PacketSize,
    options: Options,
    random: RandomStream,

    /// Bytes.
    window: u64,
    recovery: Recovery,
    /// Bytes of UDP payload per second; zero before the first sample.
    pacing_rate: u64,
    pacing_gain: u32,
    cwnd_gain: u32,

    flight: Flight,
    timeout: PendingTimeout,

    mode: Mode,
    rounds: Rounds,
    /// The most that was delivered in any of the last rounds, as [`Bandwidth`] has it.
    bandwidth: WindowedMax,
    is_app_limited: bool,
    full_pipe: FullPipe,
    /// Phase of the gain cycle, and when it began.
    phase: usize,
    phase_start: Instant,

    min_rtt: Option<Duration>,
    min_rtt_stamp: Instant,
    /// When the probe of the round-trip time may end; `None` while too much is in flight.
    probe_end: Option<Instant>,
    is_probe_round_over: bool,
    limited: Limited,
    is_leaving_idle: bool,

    /// Bytes acknowledged since acks last fell behind the bandwidth, and the most of them beyond it.
    epoch_start: Instant,
    epoch_acked: u64,
    ack_height: WindowedMax,
}

/// What an ack says, in bytes.
#[derive(Clone, Copy, Debug)]
struct News {
    acked: u64,
    lost: u64,
    /// In flight before it.
    prior_in_flight: u64,
    /// Number of the newest packet that it acknowledges.
    newest: Option<u64>,
    /// The most that its packets show.
    bandwidth: Option<Bandwidth>,
}

impl QuicBbr {
    fn new(packet: PacketSize, options: Options, random: RandomStream) -> Self {
        Self {
            packet,
            options,
            random,
            window: options.initial_window,
            recovery: Recovery::default(),
            pacing_rate: 0,
            pacing_gain: options.startup_gain,
            cwnd_gain: options.startup_gain,
            flight: Flight::new(packet.overhead),
            timeout: PendingTimeout::default(),
            mode: Mode::StartUp,
            rounds: Rounds::default(),
            bandwidth: WindowedMax::new(BANDWIDTH_ROUNDS),
            is_app_limited: false,
            full_pipe: FullPipe::new(options.startup_growth),
            phase: 0,
            phase_start: Instant::ZERO,
            min_rtt: None,
            min_rtt_stamp: Instant::ZERO,
            probe_end: None,
            is_probe_round_over: false,
            limited: Limited::default(),
            is_leaving_idle: false,
            epoch_start: Instant::ZERO,
            epoch_acked: 0,
            ack_height: WindowedMax::new(BANDWIDTH_ROUNDS),
        }
    }
}

impl QuicBbr {
    /// `GetCongestionWindow`, bytes.
    fn usable_window(&self) -> u64 {
        if self.mode == Mode::ProbeRtt { MIN_WINDOW } else { self.recovery.limit(self.window) }
    }
}

impl Scheme for QuicBbr {
    fn cwnd(&self) -> u32 {
        self.packet.packets(self.usable_window())
    }

    /// `CanSend`.
    fn has_room(&self, _in_flight: u32) -> bool {
        !self.timeout.is_pending() && self.flight.bytes() < self.usable_window()
    }

    fn feedback(&self) -> Feedback {
        Feedback::Numbered
    }

    fn pacing_rate(&self) -> Option<Rate> {
        if self.pacing_rate > 0 {
            let rate = (self.pacing_rate as f64 * self.options.pace) as u64;
            return quic::rate(rate, Duration::from_secs(1));
        }
        let window = self.options.initial_window * u64::from(self.options.startup_gain) / u64::from(GAIN_UNIT);
        quic::rate(window, self.min_rtt.unwrap_or(INITIAL_RTT))
    }

    fn unpaced_header(&self) -> Bytes {
        quic::HEADERS
    }

    /// Every transmission has a number.
    fn on_sent(&mut self, sent: &Sent) -> u64 {
        if self.flight.newest() == 0 {
            self.epoch_start = sent.now;
        }
        self.flight.on_sent(sent);
        self.flight.newest()
    }

    /// `OnCongestionEvent`.
    fn on_ack(&mut self, ack: &Ack<'_>) {
        let prior_in_flight = self.flight.bytes_before();
        let delivered = self.flight.delivered();
        let (mut newest, mut bandwidth) = (None, None);
        for number in ack.packets {
            if let Some(packet) = self.flight.on_acked(*number, ack.now) {
                newest = newest.max(Some(*number));
                bandwidth = bandwidth.max(self.flight.bandwidth(&packet, ack.now));
            }
        }
        let acked = self.flight.delivered() - delivered;
        let lost = self.flight.end_ack(ack);
        let lost = if self.timeout.is_pending() { 0 } else { lost };
        self.timeout.on_ack(ack.packets);
        let news = News { acked, lost, prior_in_flight, newest, bandwidth };
        self.update_model(ack, &news);
        self.pace();
        self.update_window(&news);
    }

    /// What was lost is looked at with the next ack.
    fn on_congestion(&mut self, _congestion: &Congestion) {}

    fn on_lost(&mut self, lost: &Lost) {
        self.flight.on_lost(lost);
    }

    /// `OnRetransmissionTimeout` does nothing, whether it was needed or not.
    fn on_timeout(&mut self, _timeout: &Timeout) {
        self.timeout.begin(self.flight.newest());
    }

    /// `OnPacketSent`; a probe of the round trip limits as an application does.
    fn on_tx_start(&mut self, start: &TxStart) {
        self.is_leaving_idle |= start.is_app_limited || self.limited.covers(start.delivered);
    }

    fn telemetry(&self, report: &mut dyn FnMut(&'static str, f64)) {
        report("mode", f64::from(self.mode as u8));
        report("bw", self.max_bandwidth().bits_per_second(1));
        if let Some(min_rtt) = self.min_rtt {
            report("model_min_rtt", min_rtt.as_secs_f64() * 1e3);
        }
        report("pacing_gain", f64::from(self.pacing_gain) / f64::from(GAIN_UNIT));
        report("round_count", self.rounds.count as f64);
        report("recovery", f64::from(self.recovery.phase as u8));
        report("ack_height", self.ack_height.get() as f64);
    }
}

//! QUIC BBR: the first BBR of Chromium's QUIC, with or without draining to target.
//!
//! **What it is.** BBR version 1 as Chromium ported it to QUIC: bytes instead of packets, no margin below the measured
//! bandwidth, no policer detection, no segmentation budget; losses cap the window for the rounds that have them, in
//! start-up too. With `drain_to_target` the phase that drains goes on until no more than one bandwidth-delay product is
//! in flight, and does not end after one round trip.
//!
//! **Source.** Chromium, `quic/core/congestion_control/bbr_sender.cc` (google/quiche 790af403, June 2019), and its port
//! to ns-3 of that summer, `proto_bbr_sender.cc` of SoonyangZhang/DrainQueueCongestion. Names of functions stand beside
//! the parts.
//!
//! **Parameters.** `drain_to_target`: off in Chromium unless the client asks with the option BBR3. `startup_gain`: gain
//! of start-up for rate and window, 2.885 in Chromium; its inverse drains. `startup_growth`: growth of the bandwidth in
//! a round that shows that the pipe is not full, 1.25 in Chromium. `initial_window`: 32 in Chromium. `pacing_margin`:
//! how far below the bandwidth to pace, none in Chromium; from 20 % on a probe is no faster than the path was, and the
//! rate falls for good. `first_rtt`: a round trip that a program reports as measured before it sends, none in Chromium,
//! which paces start-up by the least of them. `clock_resolution`: a microsecond in Chromium. The ns-3 port of July 2019
//! had 2.0, 1.5, 10, 1 %, 100 ms and 1 ms.
//!
//! **Deviations.**
//! - Loss detection, retransmission and timers are those of our transport ([`super::quic_cubic`] says what that means).
//!   As in QUIC a transmission has a number of its own, a timeout takes none but the first packet for lost, and no
//!   reaction is ever undone. It sends one packet where Chromium sends two. Of a segment that
//!   was sent twice, the last transmission counts as what arrived; its round trip is that of the one that did. A lost
//!   tail that a probe repairs costs nothing here, and a recovery in Chromium, which still finds its first transmission
//!   lost.
//! - What a timeout took for lost counts as acknowledged after the next ack. In Chromium it does, too, but once what it
//!   was sent again as has been acknowledged.
//! - Acks and pacing are those of our transport, too: Chromium has an ack for every second packet, after 25 ms at the
//!   latest, and lets ten packets out unpaced whenever it was idle, not only at the beginning.
//! - Since 2020 Chromium leaves start-up on heavy losses in place of a recovery in it, and gives the window a gain of 2
//!   there.
//!
//! **How it is validated.** Chromium's `bbr_sender.cc` itself was given the events of runs of ours: after every one of
//! 1.8 million it has the same window, rate and mode (docs/event-by-event.md); an excerpt of that is a unit test.
//! Phases with and without the flag, recovery and the ten-second probe beside the parts; loss rates of a published
//! study in the simulator's behaviour tests.

mod full_pipe;
mod model;
mod recovery;
#[cfg(test)]
mod tests;

use self::full_pipe::FullPipe;
use self::recovery::Recovery;
use super::bbr::model::{MODE, Mode};
use super::quic::{
    self, Bandwidth, CLOCK_RESOLUTION, Clock, FIRST_RTT, Flight, INITIAL_WINDOW, Losses, MSS, PacketSize,
    PendingTimeout, RoundTrips, WindowedMax, first_rtt, initial_window,
};
use super::{Ack, Congestion, Feedback, Lost, Scheme, Sent, Setup, Timeout};
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
            doc: "how far below the bandwidth to pace; from 20 % on a probe finds nothing more, and the rate falls for good",
        },
        FIRST_RTT,
        CLOCK_RESOLUTION,
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
    let options = Options {
        drains_to_target: parameters.flag("drain_to_target"),
        startup_gain: parameters.number("startup_gain") as f32,
        startup_growth: parameters.number("startup_growth") as f32,
        initial_window: initial_window(&parameters),
        pace: 1.0 - parameters.number("pacing_margin") / 100.0,
        clock: Clock::of(&parameters),
    };
    let trips = RoundTrips::with_first(first_rtt(&parameters));
    Box::new(QuicBbr::new(PacketSize::of(packet_size, mss), options, trips, random))
}

#[derive(Clone, Copy, Debug)]
struct Options {
    drains_to_target: bool,
    startup_gain: f32,
    startup_growth: f32,
    /// Bytes.
    initial_window: u64,
    /// Pacing rate over that of the model.
    pace: f64,
    clock: Clock,
}

#[derive(Debug)]
struct QuicBbr {
    packet: PacketSize,
    options: Options,
    random: RandomStream,

    /// Bytes.
    window: u64,
    recovery: Recovery,
    /// Zero before the first sample.
    pacing_rate: Bandwidth,
    pacing_gain: f32,
    cwnd_gain: f32,

    flight: Flight,
    timeout: PendingTimeout,
    trips: RoundTrips,
    largest_acked: u64,

    mode: Mode,
    /// Round trips so far; the one under way ends when a packet after this one is acknowledged.
    rounds: u64,
    round_end: Option<u64>,
    /// The most that was delivered in any of the last rounds.
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
    is_leaving_idle: bool,

    /// Bytes acknowledged since acks last fell behind the bandwidth, and the most of them beyond it.
    epoch_start: Instant,
    epoch_acked: u64,
    ack_height: WindowedMax,
}

/// An event: an ack, or what a timer has found lost.
#[derive(Clone, Copy, Debug)]
struct Event {
    now: Instant,
    losses: Losses,
    /// Bytes in flight before it.
    prior_in_flight: u64,
}

impl QuicBbr {
    fn new(packet: PacketSize, options: Options, trips: RoundTrips, random: RandomStream) -> Self {
        Self {
            packet,
            options,
            random,
            window: options.initial_window,
            recovery: Recovery::default(),
            pacing_rate: Bandwidth::default(),
            pacing_gain: options.startup_gain,
            cwnd_gain: options.startup_gain,
            flight: Flight::new(packet.overhead, options.clock),
            timeout: PendingTimeout::default(),
            trips,
            largest_acked: 0,
            mode: Mode::StartUp,
            rounds: 0,
            round_end: None,
            bandwidth: WindowedMax::new(BANDWIDTH_ROUNDS),
            is_app_limited: false,
            full_pipe: FullPipe::new(options.startup_growth),
            phase: 0,
            phase_start: Instant::ZERO,
            min_rtt: None,
            min_rtt_stamp: Instant::ZERO,
            probe_end: None,
            is_probe_round_over: false,
            is_leaving_idle: false,
            epoch_start: Instant::ZERO,
            epoch_acked: 0,
            ack_height: WindowedMax::new(BANDWIDTH_ROUNDS),
        }
    }

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

    /// `RetransmitRtoPackets`, `MarkForRetransmission`.
    fn loses_flight_at_timeout(&self) -> bool {
        false
    }

    fn pacing_rate(&self) -> Option<Rate> {
        let rate = if self.pacing_rate.is_zero() { self.first_rate() } else { self.pacing_rate };
        Bandwidth((rate.0 as f64 * self.options.pace) as u64).rate()
    }

    fn unpaced_header(&self) -> Bytes {
        quic::HEADERS
    }

    /// `OnPacketSent`. Every transmission has a number.
    fn on_sent(&mut self, sent: &Sent) -> u64 {
        if self.flight.newest() == 0 {
            self.epoch_start = self.options.clock.read(sent.now);
        }
        self.is_leaving_idle |= self.flight.bytes() == 0 && self.flight.is_app_limited();
        self.flight.on_sent(sent);
        self.flight.newest()
    }

    fn on_ack(&mut self, ack: &Ack<'_>) {
        let prior_in_flight = self.flight.bytes();
        let mut losses = self.flight.begin_ack(ack);
        let untold = if self.timeout.is_pending() { std::mem::take(&mut losses) } else { Losses::default() };
        self.timeout.on_ack(ack.packets);
        let event = Event { now: self.options.clock.read(ack.now), losses, prior_in_flight };
        if !ack.packets.is_empty() || losses.newest.is_some() {
            self.on_event(&event, Some(ack));
        }
        self.flight.keep_untold(untold);
    }

    /// What was lost is looked at with the next ack.
    fn on_congestion(&mut self, _congestion: &Congestion) {}

    /// What a timer finds lost is an event of its own, the rest is part of the next ack.
    fn on_lost(&mut self, lost: &Lost) {
        let prior_in_flight = self.flight.bytes();
        self.flight.on_lost(lost);
        if lost.is_timer {
            let losses = self.flight.take_losses();
            self.on_event(&Event { now: self.options.clock.read(lost.now), losses, prior_in_flight }, None);
        }
    }

    /// `OnRetransmissionTimeout` does nothing, whether it was needed or not.
    fn on_timeout(&mut self, _timeout: &Timeout) {
        self.timeout.begin(self.flight.newest());
    }

    fn on_undo(&mut self, _now: Instant) {
        self.flight.forget_losses();
    }

    /// `OnApplicationLimited`.
    fn on_app_limited(&mut self) {
        if self.flight.bytes() < self.usable_window() {
            self.flight.on_app_limited();
        }
    }

    fn telemetry(&self, report: &mut dyn FnMut(&'static str, f64)) {
        report("mode", f64::from(self.mode as u8));
        report("bw", self.max_bandwidth().0 as f64);
        if let Some(min_rtt) = self.min_rtt {
            report("model_min_rtt", min_rtt.as_secs_f64() * 1e3);
        }
        report("pacing_gain", self.pacing_gain.into());
        report("round_count", self.rounds as f64);
        report("recovery", f64::from(self.recovery.phase as u8));
        report("ack_height", self.ack_height.get() as f64);
    }
}

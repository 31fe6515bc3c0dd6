//! QUIC Cubic: the CUBIC of Chromium's QUIC, which counts as two connections.
//!
//! **What it is.** CUBIC in bytes, paced, for a flow that is to get what two TCP connections would: after a loss the
//! window falls to 0.85, and where Reno would be faster it grows by 0.97 packets per round trip. Slow start ends on a
//! rise of the round-trip time. The reduction is spread over a round trip by PRR.
//!
//! **Source.** Chromium, google/quiche 790af403 (June 2019), `quic/core/congestion_control`:
//! `tcp_cubic_sender_bytes.cc`, `cubic_bytes.cc`, `hybrid_slow_start.cc`, `prr_sender.cc`, which have not changed
//! since; google/proto-quic 77961f1a (May 2017), which Pantheon ran. Names of functions and constants stand beside the
//! parts.
//!
//! **Parameters.** `connections`: how many connections the flow counts as, 2 in Chromium. `initial_window`: 32 in
//! Chromium. `generation`: "current" (default), or "2017": the curve in whole packets, 0.85 in place of 0.925 of the
//! plateau where it was not reached again, no packet of tolerance before that, and results that hold for 30 ms while
//! the window stays. `first_rtt`: a round trip that a program reports as measured before the first packet
//! (`RttStats::UpdateRtt`), none in Chromium. The ns-3 port of June 2019 reports 100 ms; on a longer path that stays
//! the minimum, and slow start ends with the eighth ack. `clock_resolution`: a microsecond in Chromium, a millisecond
//! in that port.
//!
//! **Deviations.**
//! - Loss detection, retransmission and timers are those of our transport: three later packets and the time limit of
//!   RACK, once packets have changed places that alone, where Chromium keeps to three; a timeout of at least 200 ms,
//!   which sends one packet and takes it for lost, where Chromium sends two and waits. An ack tells of three blocks
//!   behind holes, in QUIC of all, so that after many losses at once lost acks make some repetitions needless. As in
//!   QUIC a transmission has a number of its own, so a lost retransmission is a loss like any other; a timeout takes no
//!   other packet for lost; and no reduction is ever undone. Of a segment that was sent twice, the last transmission
//!   counts as what arrived; its round trip is that of the one that did. A lost tail that a probe repairs costs nothing
//!   here, and a reduction in Chromium, which still finds its first transmission lost.
//! - Acks and pacing are those of our transport, too: Chromium has an ack for every second packet, after 25 ms at the
//!   latest, and lets ten packets out unpaced whenever it was idle, not only at the beginning.
//! - After a timeout that was needed the window begins anew, as until 2022; Chromium of today has no such timeout.
//!
//! **How it is validated.** Chromium's senders of 2019 and 2017 themselves, given the events of runs of ours, have the
//! same window, threshold and rate after every one (docs/event-by-event.md); excerpts of that are unit tests. Factors,
//! curve, the end of slow start and one reduction per window here; ordering and level of the loss rates of a published
//! study, and two connections' worth of a link, in the simulator's behaviour tests.

mod curve;
mod prr;
mod slow_start;
#[cfg(test)]
mod tests;

use self::curve::{Curve, Generation};
use self::prr::Reduction;
use self::slow_start::DelayDetector;
use super::quic::{
    self, Answer, Bandwidth, CLOCK_RESOLUTION, Clock, FIRST_RTT, Flight, INITIAL_WINDOW, Losses, MAX_WINDOW, MSS,
    PacketSize, PendingTimeout, RoundTrips, first_rtt, initial_window,
};
use super::{Ack, Congestion, Feedback, Lost, Scheme, Sent, Setup, Timeout};
use crate::info::{Info, Kind, Parameter, Quantity};
use crate::units::{Bytes, Duration, Instant, Rate};

/// The least window, bytes (`kDefaultMinimumCongestionWindow`).
const MIN_WINDOW: u64 = 2 * MSS;
/// A window with no more than this left free is taken to limit the sender, bytes (`kMaxBurstBytes`).
const MAX_BURST: u64 = 3 * MSS;
/// Pacing rate over window per round trip in slow start and after (`TcpCubicSenderBytes::PacingRate`).
const SLOW_START_GAIN: f32 = 2.0;
const AVOIDANCE_GAIN: f32 = 1.25;

/// Name, parameters and source.
pub(super) const INFO: Info = Info {
    name: "quic_cubic",
    title: "QUIC Cubic",
    source: "Chromium, tcp_cubic_sender_bytes.cc (google/quiche 790af403; google/proto-quic 77961f1a)",
    parameters: &[
        Parameter {
            name: "connections",
            kind: Kind::Number { default: 2.0, min: 1.0, max: 100.0 },
            unit: "",
            doc: "how many TCP connections the flow counts as",
        },
        INITIAL_WINDOW,
        Parameter {
            name: "generation",
            kind: Kind::Choice { options: &["current", "2017"], default: "current" },
            unit: "",
            doc: "whose curve: Chromium's since 2018, or that of May 2017",
        },
        FIRST_RTT,
        CLOCK_RESOLUTION,
    ],
    telemetry: &[
        Quantity { name: "window", unit: "bytes", doc: "congestion window, UDP payload" },
        Quantity { name: "w_max", unit: "bytes", doc: "window before the last reduction, after fast convergence" },
        Quantity { name: "k", unit: "s", doc: "time from the start of the epoch to the plateau of the curve" },
        Quantity { name: "w_est", unit: "bytes", doc: "the window that Reno would have" },
    ],
};

/// Makes one for a flow that starts.
pub(super) fn new(setup: Setup) -> Box<dyn Scheme> {
    let Setup { mss, packet_size, parameters, .. } = setup;
    let generation = if parameters.text("generation") == "2017" { Generation::Of2017 } else { Generation::Current };
    let curve = Curve::new(parameters.number("connections") as f32, generation);
    let (trips, clock) = (RoundTrips::with_first(first_rtt(&parameters)), Clock::of(&parameters));
    Box::new(QuicCubic::new(PacketSize::of(packet_size, mss), initial_window(&parameters), curve, trips, clock))
}

#[derive(Debug)]
struct QuicCubic {
    packet: PacketSize,
    clock: Clock,
    window: u64,
    ssthresh: u64,
    trips: RoundTrips,
    curve: Curve,
    detector: DelayDetector,
    flight: Flight,
    /// Numbers of the newest packet acknowledged, and of the one sent last at the last reduction.
    largest_acked: u64,
    cutback: u64,
    /// The reduction under way.
    reduction: Option<Reduction>,
    timeout: PendingTimeout,
}

impl QuicCubic {
    fn new(packet: PacketSize, window: u64, curve: Curve, trips: RoundTrips, clock: Clock) -> Self {
        Self {
            packet,
            clock,
            window,
            ssthresh: MAX_WINDOW,
            trips,
            curve,
            detector: DelayDetector::default(),
            flight: Flight::new(packet.overhead, clock),
            largest_acked: 0,
            cutback: 0,
            reduction: None,
            timeout: PendingTimeout::default(),
        }
    }

    fn is_in_slow_start(&self) -> bool {
        self.window < self.ssthresh
    }

    /// `InRecovery`: nothing that was sent after the reduction has been acknowledged.
    fn is_in_recovery(&self) -> bool {
        self.reduction.is_some() && self.largest_acked <= self.cutback
    }

    /// `OnPacketLost`: one reduction per window. So many bytes were in flight before.
    fn take_losses(&mut self, losses: &Losses, prior_in_flight: u64) {
        if losses.newest.is_none_or(|newest| newest <= self.cutback) {
            return;
        }
        self.window = self.curve.after_loss(self.window).max(MIN_WINDOW);
        self.ssthresh = self.window;
        self.cutback = self.flight.newest();
        self.reduction = Some(Reduction::new(prior_in_flight));
    }

    /// `IsCwndLimited`.
    fn is_limiting(&self, in_flight: u64) -> bool {
        in_flight + MAX_BURST >= self.window || (self.is_in_slow_start() && in_flight > self.window / 2)
    }

    /// `OnPacketAcked` and `MaybeIncreaseCwnd`, for one packet of so many bytes; so many were in flight before the ack.
    fn take_acked(&mut self, number: u64, bytes: u64, prior_in_flight: u64, now: Instant) {
        if self.is_in_recovery() {
            if let Some(reduction) = &mut self.reduction {
                reduction.on_acked(bytes);
            }
            return;
        }
        if !self.is_limiting(prior_in_flight) {
            self.curve.on_app_limited();
        } else if self.window < MAX_WINDOW {
            self.window = if self.is_in_slow_start() {
                self.window + MSS
            } else {
                let least = self.trips.least().unwrap_or_default();
                self.curve.after_ack(bytes, self.window, least, now).min(MAX_WINDOW)
            };
        }
        if self.is_in_slow_start() {
            self.detector.on_acked(number);
        }
    }

    /// A round trip may end slow start.
    fn take_round_trip(&mut self, rtt: Duration) {
        self.trips.update(rtt);
        if let Some(least) = self.trips.least()
            && self.is_in_slow_start()
            && self.detector.on_sample(self.trips.latest(), least, self.window / MSS, self.flight.newest())
        {
            self.ssthresh = self.window;
        }
    }

    /// `OnRetransmissionTimeout`.
    fn collapse(&mut self) {
        self.cutback = 0;
        self.reduction = None;
        self.detector = DelayDetector::default();
        self.curve.reset();
        self.ssthresh = self.window / 2;
        self.window = MIN_WINDOW;
    }
}

impl Scheme for QuicCubic {
    fn cwnd(&self) -> u32 {
        self.packet.packets(self.window)
    }

    /// `CanSend`.
    fn has_room(&self, _in_flight: u32) -> bool {
        match &self.reduction {
            _ if self.timeout.is_pending() => false,
            Some(reduction) if self.is_in_recovery() => reduction.may_send(self.window, self.flight.bytes()),
            _ => self.flight.bytes() < self.window,
        }
    }

    fn feedback(&self) -> Feedback {
        Feedback::Numbered
    }

    /// `RetransmitRtoPackets`, `MarkForRetransmission`.
    fn loses_flight_at_timeout(&self) -> bool {
        false
    }

    fn pacing_rate(&self) -> Option<Rate> {
        let gain = if self.is_in_slow_start() { SLOW_START_GAIN } else { AVOIDANCE_GAIN };
        Bandwidth::of(self.window, self.trips.smoothed()).scaled(gain).rate()
    }

    fn unpaced_header(&self) -> Bytes {
        quic::HEADERS
    }

    fn ssthresh(&self) -> Option<u32> {
        (self.ssthresh < MAX_WINDOW).then(|| self.packet.packets(self.ssthresh))
    }

    /// Every transmission has a number.
    fn on_sent(&mut self, sent: &Sent) -> u64 {
        let bytes = self.flight.on_sent(sent);
        if self.is_in_recovery()
            && let Some(reduction) = &mut self.reduction
        {
            reduction.on_sent(bytes);
        }
        self.flight.newest()
    }

    /// `OnCongestionEvent`.
    fn on_ack(&mut self, ack: &Ack<'_>) {
        let (now, prior_in_flight) = (self.clock.read(ack.now), self.flight.bytes());
        let losses = self.flight.begin_ack(ack);
        if let Some(rtt) = self.flight.newest_round_trip(self.largest_acked, ack.now) {
            self.take_round_trip(rtt);
        }
        if !self.timeout.is_pending() {
            self.take_losses(&losses, prior_in_flight);
        }
        for index in 0..self.flight.acked().len() {
            let number = self.flight.acked()[index];
            let packet = self.flight.on_acked(number, now);
            if packet.is_none() && !self.curve.counts_late_packets() {
                continue;
            }
            self.largest_acked = self.largest_acked.max(number);
            self.take_acked(number, packet.map_or(0, |packet| packet.bytes), prior_in_flight, now);
        }
        if !self.is_in_recovery() {
            self.reduction = None;
        }
        self.flight.end_ack(ack);
        match self.timeout.on_ack(ack.packets) {
            Some(Answer::Needed) => self.collapse(),
            Some(Answer::Needless) => self.trips.expire(),
            None => {}
        }
    }

    /// What was lost is looked at with the next ack.
    fn on_congestion(&mut self, _congestion: &Congestion) {}

    /// What a timer finds lost is an event of its own, the rest is part of the next ack.
    fn on_lost(&mut self, lost: &Lost) {
        let prior_in_flight = self.flight.bytes();
        self.flight.on_lost(lost);
        if lost.is_timer {
            let losses = self.flight.take_losses();
            self.take_losses(&losses, prior_in_flight);
        }
    }

    fn on_timeout(&mut self, _timeout: &Timeout) {
        self.timeout.begin(self.flight.newest());
    }

    fn on_undo(&mut self, _now: Instant) {
        self.timeout.cancel();
        self.flight.forget_losses();
    }

    fn telemetry(&self, report: &mut dyn FnMut(&'static str, f64)) {
        let (w_max, k, w_est) = self.curve.state();
        report("window", self.window as f64);
        report("w_max", w_max);
        report("k", k);
        report("w_est", w_est);
    }
}

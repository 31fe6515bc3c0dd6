//! Prague: DCTCP for the public Internet, the sender of the L4S architecture.
//!
//! **What it is.** The window falls once per round trip by half of alpha, the moving average of the share of marked
//! packets, and grows by one packet per round trip of unmarked ones, in fractions of a packet. Packets are paced and
//! marked ECT(1). A flow with a short round trip grows as if it were 25 ms.
//!
//! **Source.** draft-briscoe-iccrg-prague-congestion-control; L4S project `net/ipv4/tcp_prague.c`, in the four
//! revisions that `profile` names; their function names stand beside the parts. The same project's `udp_prague` keeps
//! the draft's time.
//!
//! **Parameters.** `profile` chooses what the others then are, unless they are given:
//!
//! | profile | source | `alpha_init` | `first_mark` | `increase` | `rtt_target` |
//! |---|---|---|---|---|---|
//! | `draft` | the draft, with the constants of version 0.7 of the code | 0 | halve | unmarked | 25 ms after 4 round trips |
//! | `linux` | version 0.7 of the code (2024) | 0 | halve | unmarked | 25 ms after 4 round trips |
//! | `2020` | version 0.5 of the code (b256daed, August 2020) | 1 | alpha | unmarked | none |
//! | `2019b` | the code about November 2019 (dejeneboru/mdtcp-mprague 08819850) | 1 | alpha | unmarked | none |
//! | `2019a` | the code of mid-2019 (dboru/linux 696e94e3) | 0 | alpha | suppressed | none |
//!
//! `draft` and `linux` differ in when a flow with a short round trip may fall again. The draft lets the state of having
//! answered last as long as `rtt_target`, so that the first mark after it counts (section 2.4.4, and `m_cwr_ts` in
//! `udp_prague`). In the kernel that state lasts a true round trip, and a mark that begins it within `rtt_target` goes
//! unanswered with all of the round trip behind it: at 20 ms the window falls about every 42 ms instead of every 25.
//! When an ack ends a round and begins a fall, `draft` falls by the alpha that has the round in it, as `udp_prague`
//! does, the others by the alpha before. `draft` paces the fraction of the window, `linux` its whole packets, or what
//! is in flight if that is more; and where a loss proves spurious, `linux` gives back the window that the rate before
//! makes of an average round trip, 4.6 % less than it was even if round trips have not changed.
//!
//! `2019b` and `2020` count whole packets: the window follows its fraction by a packet when they are one apart, either
//! way; it is paced by the window or, if that is more, what is in flight, and the rate of packets is kept by their
//! payload. A timeout's halving stays open beside a window of one packet: in `2020` the next ack ends it at two, with a
//! threshold of two, while `2019b` takes it only once slow start is back where it was, or at an ack of nothing but
//! marks. A loss that proves spurious gives the window back and takes what it took from the fraction once more. `2019b`
//! grows while losses are repaired, and each of its falls leaves a threshold of no less than the window before.
//!
//! `2019a` falls at once when a round that had marks ends, by an alpha that has that round in it; a mark before only
//! ends slow start. A loss lowers no more than the threshold, to half of the window: where a queue drops packets, it
//! grows on. It counts what it grows by, as Reno does, and marks only with acks in order.
//!
//! **Deviations.** The window is never below two packets; the source's smaller packets below that are left out. The
//! pacer sends single packets; in `draft` and `linux` it counts their headers, while a kernel that paces without fq
//! holds payload to the rate, which is 3.6 % faster. A sender that its pacer holds back counts as limited by its
//! window. The averages of `classic_fallback` are held in floating point.
//!
//! `draft` takes constants, slow start and what a loss does from the kernel's code. Of `udp_prague` it has neither the
//! rate at which that starts, nor the growth by a millisecond of queue after seven and more round trips without a fall,
//! nor a pace 3 % above and below by turns. Above 25 ms a fall lasts until what was outstanding is acknowledged, in
//! `udp_prague` no less than a smoothed round trip, in which it may miss the end of a burst of marks.
//!
//! `linux`: once a mark was seen and the window is at most four packets of 1500 bytes, the source goes
//! over to a law of rates (`prague_cwnd_mode` 2), paced 3 % above and below by turns; here the window's law stays.
//!
//! `2019b` does not grow while the losses of its first slow start are repaired. The source doubles through them, until
//! an ack delivers nothing; the kernel's send buffer bounds it there, and nothing would here.
//!
//! **How it is validated.** Event by event beside the code of each kernel profile, over 35 paths, and `draft` beside
//! `udp_prague` (`docs/event-by-event.md`); falls, growth, alpha and what a short round trip changes here; rate, queue,
//! marks and sharing with CUBIC over `DualPI2` in the simulator's behaviour tests, next to what the laws say
//! (`docs/dualpi2.md`).

mod early;
mod fallback;
mod falls;
mod growth;
mod law;
mod rounds;
#[cfg(test)]
mod tests;

use self::early::MarkedBytes;
use self::fallback::ClassicDetector;
use self::falls::Before;
use self::law::{Law, Pace};
use super::{Ack, Acked, Cause, Congestion, Connected, EcnFeedback, INITIAL_WINDOW, Scheme, Setup, State, Timeout};
use crate::info::{Info, Parameter, Profile, Quantity};
use crate::scheme::window::INFINITE_SSTHRESH;
use crate::units::{Bytes, Duration, Instant, Rate};

/// Name, parameters and source.
pub(super) const INFO: Info = Info {
    name: "prague",
    title: "TCP Prague",
    source: "draft-briscoe-iccrg-prague-congestion-control; L4S project net/ipv4/tcp_prague.c",
    parameters: &[
        Parameter::profile(
            &[
                Profile { name: "draft", source: "draft-briscoe-iccrg-prague-congestion-control" },
                Profile { name: "linux", source: "L4S project, net/ipv4/tcp_prague.c, version 0.7 (2024)" },
                Profile {
                    name: "2020",
                    source: "L4S project, net/ipv4/tcp_prague.c, version 0.5 (b256daed, August 2020)",
                },
                Profile { name: "2019b", source: "L4S project, net/ipv4/tcp_prague.c, about November 2019" },
                Profile { name: "2019a", source: "L4S project, net/ipv4/tcp_prague.c, mid-2019" },
            ],
            "draft",
        ),
        Parameter::choice("alpha_init", &["profile", "0", "1"], "alpha of a flow that starts"),
        Parameter::choice("first_mark", &["profile", "alpha", "halve"], "by what the window falls at the first mark"),
        Parameter::choice(
            "increase",
            &["profile", "unmarked", "suppressed"],
            "grow by what acks report unmarked, or not at all by acks with marks",
        ),
        Parameter::choice(
            "rtt_target",
            &["profile", "none", "10ms", "15ms", "25ms"],
            "flows with a shorter round trip grow as if it were this long",
        ),
        Parameter::flag("classic_fallback", false, "fall as Reno would where the queue seems to be a classic one"),
    ],
    telemetry: &[
        Quantity { name: "alpha", unit: "1", doc: "moving average of the share of marked packets" },
        Quantity { name: "window", unit: "packets", doc: "the window with its fraction" },
        Quantity { name: "classic", unit: "1", doc: "how far the queue seems classic: 0 not at all, 1 entirely" },
    ],
};

/// `MIN_CWND`.
const MIN_WINDOW: f64 = 2.0;
/// The first revision paces a window of two packets more.
const SURPLUS: f64 = 2.0;
/// `MINIMUM_RATE`, in bit/s.
const MIN_RATE: f64 = 100_000.0;

/// Makes one for a flow that starts.
#[expect(clippy::needless_pass_by_value, reason = "all schemes are made alike")]
pub(super) fn new(setup: Setup) -> Box<dyn Scheme> {
    let header = setup.packet_size.saturating_sub(setup.mss);
    Box::new(Prague { header, ..Prague::new(Law::of(&setup.parameters), setup.packet_size) })
}

#[derive(Debug)]
struct Prague {
    law: Law,
    packet_size: Bytes,
    /// What of a packet is no payload.
    header: Bytes,
    /// After the last ack, the second without what is known to be lost or to have arrived.
    outstanding: u32,
    in_flight: u32,
    /// What the transport may have in flight; it follows `window` by one packet an ack.
    cwnd: u32,
    ssthresh: u32,
    /// `frac_cwnd`; what it grows by in a round trip without marks (`ai_ack_increase`).
    window: f64,
    increase: f64,
    /// `snd_cwnd_cnt` of the first revision.
    counted: f64,
    alpha: f64,
    has_seen_mark: bool,
    has_answered_mark: bool,
    /// The round ends when this is acknowledged; what had been delivered and marked when it began.
    round_end: u64,
    delivered: u64,
    marked: u64,
    marked_bytes: MarkedBytes,
    /// What the ack at hand tells of marks, while it has not been looked at whether it ends a round.
    feedback: Option<EcnFeedback>,
    /// Rounds since slow start.
    rounds: u32,
    alpha_updated: Instant,
    reduced: Option<Instant>,
    is_in_loss: bool,
    /// The transport's, as far as it has told.
    state: State,
    /// What a loss that proves spurious gives back.
    before_loss: Option<Before>,
    /// Marks that the ack at hand reports.
    newly_marked: u32,
    srtt: Duration,
    /// The average of that over the rounds, seconds (`hsrtt_us`).
    average_srtt: Option<f64>,
    min_rtt: Duration,
    detector: Option<ClassicDetector>,
}

impl Prague {
    fn new(law: Law, packet_size: Bytes) -> Self {
        Self {
            law,
            packet_size,
            header: Bytes::ZERO,
            outstanding: 0,
            in_flight: 0,
            cwnd: INITIAL_WINDOW,
            ssthresh: INFINITE_SSTHRESH,
            window: f64::from(INITIAL_WINDOW),
            increase: 1.0,
            counted: 0.0,
            alpha: law.alpha,
            has_seen_mark: false,
            has_answered_mark: false,
            round_end: 0,
            delivered: 0,
            marked: 0,
            marked_bytes: MarkedBytes::default(),
            feedback: None,
            rounds: 0,
            alpha_updated: Instant::ZERO,
            reduced: None,
            is_in_loss: false,
            state: State::Open,
            before_loss: None,
            newly_marked: 0,
            srtt: Duration::ZERO,
            average_srtt: None,
            min_rtt: Duration::ZERO,
            detector: law.has_fallback.then(ClassicDetector::new),
        }
    }

    fn is_in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    fn take_round_trip(&mut self, rtt: Option<Duration>) {
        if let (Some(detector), Some(rtt)) = (&mut self.detector, rtt) {
            detector.on_round_trip(rtt);
        }
    }
}

impl Scheme for Prague {
    fn cwnd(&self) -> u32 {
        self.cwnd
    }

    /// `prague_update_pacing_rate`.
    fn pacing_rate(&self) -> Option<Rate> {
        let rate = Rate::of(self.packet_size, self.srtt)?.as_bits_per_second() as f64;
        let (in_flight, is_far_below) = (f64::from(self.in_flight), self.cwnd < self.ssthresh / 2);
        let (window, least) = match self.law.pace {
            Pace::Fraction => (self.window, 1.0),
            Pace::WholePackets => (self.window.floor().max(in_flight), MIN_RATE),
            Pace::InFlight => (f64::from(self.cwnd).max(in_flight), 1.0),
            Pace::Outstanding if is_far_below => (f64::from(self.cwnd.max(self.outstanding)), 1.0),
            Pace::Outstanding => (f64::from(self.cwnd.max(self.outstanding)) + SURPLUS, 1.0),
        };
        let factor = if is_far_below { 2.0 } else { 1.0 };
        Some(Rate::from_bits_per_second_f64((rate * window).max(least) * factor))
    }

    /// The pacer of TCP counts payload.
    fn unpaced_header(&self) -> Bytes {
        if self.law.pace == Pace::InFlight { self.header } else { Bytes::ZERO }
    }

    fn ssthresh(&self) -> Option<u32> {
        (self.ssthresh != INFINITE_SSTHRESH).then_some(self.ssthresh)
    }

    fn on_connected(&mut self, connected: &Connected) {
        self.cwnd = connected.initial_window;
        self.window = f64::from(connected.initial_window);
        self.average_srtt = connected.srtt.map(Duration::as_secs_f64);
        self.take_round_trip(connected.srtt);
    }

    fn on_ecn_feedback(&mut self, feedback: &EcnFeedback) {
        self.newly_marked = feedback.newly_marked;
        self.has_seen_mark |= feedback.newly_marked > 0;
        self.marked_bytes.add(feedback);
        if self.law.corrects_alpha_first {
            self.end_round(feedback);
        } else {
            self.feedback = Some(*feedback);
        }
        if feedback.newly_marked > 0 && feedback.state >= State::Cwr && self.is_answer_due(feedback.now) {
            self.reduce(feedback.now);
        }
    }

    fn on_acked(&mut self, acked: &Acked) {
        self.take_round_trip(acked.rtt);
    }

    fn on_ack(&mut self, ack: &Ack<'_>) {
        (self.srtt, self.min_rtt, self.in_flight) = (ack.srtt, ack.min_rtt, ack.in_flight);
        self.outstanding = (ack.next_sequence - ack.first_unacked) as u32;
        if ack.state == State::Open {
            self.is_in_loss = false;
        }
        self.state = ack.state;
        self.grow(ack);
        if let Some(feedback) = self.feedback.take() {
            self.end_round(&feedback);
        }
    }

    fn on_congestion(&mut self, congestion: &Congestion) {
        if self.state == State::Open {
            self.is_in_loss = false;
        }
        if self.law.falls_after_rounds {
            self.counted = 0.0;
            self.set_cwnd(self.cwnd);
        }
        let is_loss = congestion.cause == Cause::Loss;
        match congestion.cause {
            Cause::Loss => self.remember(),
            Cause::Ecn => self.before_loss = None,
            // No episode of its own: what may still be undone is the last one.
            Cause::TailLoss if self.law.falls_after_rounds => self.note_window_before_fall(),
            Cause::TailLoss => {}
        }
        self.begin_fall();
        if is_loss {
            self.enter_loss();
            return;
        }
        if self.law.falls_after_rounds {
            self.ssthresh = self.threshold_of_marks();
        } else if congestion.cause == Cause::Ecn || self.state != State::Cwr {
            // A tail loss while the window falls for a mark begins no new fall (`prague_state`).
            self.reduce(congestion.now);
        }
    }

    /// It begins no new fall of the transport's, and is one here (`prague_state`). Nothing is undone then
    /// (`tcp_enter_recovery`).
    fn on_loss_while_reducing(&mut self, _congestion: &Congestion) {
        self.before_loss = None;
        self.enter_loss();
    }

    fn on_timeout(&mut self, timeout: &Timeout) {
        if timeout.is_first {
            self.remember();
            self.begin_fall();
            self.enter_loss();
        }
        self.state = State::Loss;
        let apart = self.window - f64::from(self.cwnd);
        self.cwnd = timeout.in_flight + 1;
        if self.law.counts_whole {
            self.window = f64::from(self.cwnd) + apart;
        }
        if self.law.falls_after_rounds {
            self.counted = 0.0;
            self.set_cwnd(self.cwnd);
        }
    }

    /// It grows again with the next ack or fall in [`State::Open`], where the transport may not be yet
    /// (`prague_ca_open`).
    fn on_recovered(&mut self, _now: Instant) {
        self.state = State::Open;
    }

    fn on_undo(&mut self, _now: Instant) {
        self.undo();
    }

    fn telemetry(&self, report: &mut dyn FnMut(&'static str, f64)) {
        report("alpha", self.alpha);
        report("window", self.window);
        if let Some(detector) = &self.detector {
            report("classic", detector.likelihood());
        }
    }
}

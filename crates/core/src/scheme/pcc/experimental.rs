//! PCC-Expr: Vivace's gradient ascent in the form of the PCC-Uspace project, "PCC-Expr" in the Pantheon.
//!
//! **What it is.** As [`super::vivace`], with monitor intervals of one and a half round trips, a utility that minds the
//! round trip far more, and a rate that follows the gradient interval by interval as long as its sign stays.
//!
//! **Source.** PCCproject/PCC-Uspace at cd43e34e: `src/pcc/pcc_sender.cpp`, `pcc_monitor_interval_queue.cpp`,
//! `src/core/core.cpp`. Of its tolerances of the round trip only the one of the start is in use there.
//!
//! **Parameters.** None.
//!
//! **Deviations.** See [`super`]. The original takes a packet for lost, and sends it again, two round trips and four of
//! their deviations after it was sent; here the transport may send it again before, and the scheme is told as late as
//! there. What is told of a packet that was sent twice is told of the second; there each has its own number. A rate has
//! an upper limit, of 10¹¹ bit/s. An interval of which one packet or none arrived has no trend here; in the original
//! zero over zero becomes the least integer, and the utility a huge one, so that its rate would grow without end while
//! a path stands still.
//!
//! **How it is validated.** Its state after every event beside that of its code (`docs/event-by-event.md`); utility,
//! modes and changes here; what the utility leads to on a path in the simulator's behaviour tests; beside the program
//! over four links.

mod intervals;
mod tracker;

use self::intervals::{Current, Fate, Intervals, News, Outcome};
use self::tracker::Tracker;
use super::step::{Growth, MIN_CHANGE, Step};
use super::{MEBIBIT, RATE, UTILITY, WINDOW, pacing};
use crate::info::{Info, Quantity};
use crate::random::RandomStream;
use crate::scheme::{Ack, Congestion, Feedback, Scheme, Sent, Setup, Timeout};
use crate::units::{Bytes, Duration, Instant, Rate};

/// Ten packets of 1400 bytes in ten milliseconds, in units of 2^20 bit/s.
const FIRST_RATE: f64 = 10.0 * 1_400.0 * 8.0 / 0.01 / MEBIBIT;
const MIN_RATE: f64 = 2.0;
/// A limit that the original lacks.
const MAX_RATE: f64 = 1e5;
/// The utility counts payload: packets without the headers of IP, UDP and UDT.
const HEADERS: Bytes = Bytes::new(20 + 8 + 16);
/// Half the distance between the two rates of a pair.
const PROBE: f32 = 0.05;
const TRIALS: usize = 4;
/// Length of an interval in average round trips.
const ROUND_TRIPS: f64 = 1.5;
/// A packet's round trip over the average at the start of the interval under way which ends the start: what
/// `OnCongestionEvent` calls `avg_rtt_us` is that of a packet.
const START_TOLERANCE: f32 = 0.3;
/// By how much of it the rate comes back from a decision that proves wrong.
const BACK: f32 = 0.02;
/// Where nothing is heard UDT looks for losses as often as this.
const SILENCE: Duration = Duration::from_millis(100);

/// Name, parameters and source.
pub(in crate::scheme) const INFO: Info = Info {
    name: "pcc_experimental",
    title: "PCC-Expr",
    source: "PCCproject/PCC-Uspace cd43e34e, src/pcc/pcc_sender.cpp",
    parameters: &[],
    telemetry: &[Quantity { name: "mode", unit: "", doc: "0 starting, 1 probing, 2 decision made" }, RATE, UTILITY],
};

/// Makes one for a flow that starts.
pub(in crate::scheme) fn new(setup: Setup) -> Box<dyn Scheme> {
    let Setup { packet_size, random, .. } = setup;
    Box::new(Experimental::new(packet_size, random))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Starting,
    Probing,
    Decided,
}

#[derive(Debug)]
struct Experimental {
    random: RandomStream,
    /// Of the next interval, in 2^20 bit/s; while trials are made, that of the newest.
    rate: f64,
    pacing_rate: Rate,
    mode: Mode,
    intervals: Intervals,
    tracker: Tracker,
    step: Step,
    /// The average round trip, microseconds; 0 before the first.
    rtt: u64,
    /// The newest trial, or the decision that is followed.
    is_up: bool,
    /// What the next result is compared with.
    latest: Outcome,
    /// The newest utility.
    utility: f32,
    /// When an ack came or losses were looked for.
    looked: Option<Instant>,
}

/// A rate that is changed by a share of it, up or down, and one that was.
fn away(rate: f64, share: f32, is_up: bool) -> f64 {
    rate * f64::from(if is_up { 1.0 + share } else { 1.0 - share })
}
fn back(rate: f64, share: f32, is_up: bool) -> f64 {
    rate * (1.0 / f64::from(if is_up { 1.0 + share } else { 1.0 - share }))
}

impl Experimental {
    fn new(packet: Bytes, random: RandomStream) -> Self {
        Self {
            random,
            rate: FIRST_RATE,
            pacing_rate: pacing(FIRST_RATE, MEBIBIT),
            mode: Mode::Starting,
            intervals: Intervals::new(packet.saturating_sub(HEADERS)),
            tracker: Tracker::new(),
            step: Step::new(Growth::Experimental),
            rtt: 0,
            is_up: true,
            latest: Outcome::default(),
            utility: 0.0,
            looked: None,
        }
    }

    /// The rate around which trials are made.
    fn base_rate(&self) -> f64 {
        if self.mode == Mode::Probing && self.intervals.is_in_useful() {
            back(self.rate, PROBE, self.is_up)
        } else {
            self.rate
        }
    }

    /// The rate of the interval that begins: a trial's, or after the last trial the one around which they were made
    /// (`MaybeSetSendingRate`).
    fn choose_rate(&mut self) {
        let trials = self.intervals.useful();
        if self.mode != Mode::Probing || trials == TRIALS && !self.intervals.is_in_useful() {
            return;
        }
        self.rate = self.base_rate();
        if trials == TRIALS {
            return;
        }
        self.is_up = if trials.is_multiple_of(2) { self.random.chance(0.5) } else { !self.is_up };
        self.rate = away(self.rate, PROBE, self.is_up);
    }

    fn begin(&mut self, packet: u64, start: u64) {
        self.choose_rate();
        let most = if self.mode == Mode::Probing { TRIALS } else { 1 };
        let is_useful = self.rtt > 0 && self.intervals.useful() < most;
        let end = start + (ROUND_TRIPS * self.rtt as f64) as u64;
        self.intervals.begin(Current { rate: self.rate, is_useful, start, end, rtt: self.rtt }, packet);
        self.pacing_rate = pacing(self.rate, MEBIBIT);
    }

    fn probe(&mut self) {
        self.rate = match self.mode {
            Mode::Starting => self.rate * 0.5,
            Mode::Probing => self.base_rate(),
            Mode::Decided => back(self.rate, BACK, self.is_up),
        };
        self.mode = Mode::Probing;
    }

    /// The change of rate that two results ask for (`ComputeRateChange`).
    fn change(&mut self, one: Outcome, other: Outcome) -> f64 {
        let change = if one.rate.total_cmp(&other.rate).is_eq() {
            MIN_CHANGE
        } else {
            let gradient = (one.utility - other.utility) / (one.rate - other.rate) as f32;
            self.step.change(f64::from(gradient), self.rate)
        };
        if self.rate + change < MIN_RATE { MIN_RATE - self.rate } else { change }
    }

    fn make(&mut self, change: f64, latest: Outcome) {
        self.step.remember(change);
        (self.mode, self.latest) = (Mode::Decided, latest);
        self.rate = (self.rate + change).min(MAX_RATE);
    }

    /// Both pairs have to agree on the direction. The first says how far, and the better half of the second is what the
    /// next result is compared with.
    fn decide(&mut self, results: &[Outcome]) {
        let is_up = |pair: &[Outcome]| {
            let (one, other) = (pair[0], pair[1]);
            if one.utility > other.utility { one.rate > other.rate } else { one.rate < other.rate }
        };
        // An application that pauses sends fewer trials.
        let (first, second) = results.split_at(results.len() / 2);
        if results.len() < TRIALS || is_up(first) != is_up(second) {
            self.probe();
            return;
        }
        self.is_up = is_up(first);
        let best = if second[0].utility > second[1].utility { second[0] } else { second[1] };
        let change = self.change(first[0], first[1]);
        self.make(change, best);
    }

    /// What all useful intervals came to.
    fn on_results(&mut self, results: &[Outcome]) {
        let [this, ..] = *results else { return };
        match self.mode {
            Mode::Starting if this.utility > self.latest.utility => {
                self.rate = (2.0 * self.rate).min(MAX_RATE);
                self.latest = this;
            }
            Mode::Starting => self.probe(),
            Mode::Probing => self.decide(results),
            // One more step while its sign stays; else a little back, and probing.
            Mode::Decided => {
                let change = self.change(this, self.latest);
                if (change > 0.0) == self.step.was_up() {
                    self.make(change, this);
                } else {
                    self.probe();
                }
            }
        }
    }

    fn on_event(&mut self, packet: u64, fate: Fate, now: u64) {
        match self.intervals.on_event(packet, fate, now) {
            News::Nothing => return,
            News::Known => {
                let results = self.intervals.outcomes();
                self.utility = results.last().map_or(self.utility, |newest| newest.utility);
                self.on_results(&results);
            }
            News::Void => {}
        }
        self.intervals.forget();
    }

    /// A packet that was waited for arrived.
    fn on_arrived(&mut self, packet: u64, rtt: u64, now: u64) {
        self.rtt = if self.rtt == 0 { rtt } else { ((self.rtt as f64 * 3.0 + rtt as f64) / 4.0) as u64 };
        let before = self.intervals.current().map_or(0, |current| current.rtt);
        let most = ((1.0 + START_TOLERANCE) * before as f32) as u64;
        if self.mode == Mode::Starting && before > 0 && rtt > most {
            self.intervals.clear();
            self.probe();
        } else {
            self.on_event(packet, Fate::Arrived(rtt), now);
        }
    }

    fn look_for_losses(&mut self, now: Instant) {
        self.looked = Some(now);
        while let Some(packet) = self.tracker.give_up(now) {
            self.on_event(packet, Fate::Lost, now.as_micros());
        }
    }
}

impl Scheme for Experimental {
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
        let (packet, now) = (self.tracker.on_sent(sent.now), sent.now.as_micros());
        self.looked.get_or_insert(sent.now);
        let is_over = |current: Current| self.rtt > 0 && now > current.end;
        if self.intervals.useful() == 0 || self.intervals.current().is_none_or(is_over) {
            self.begin(packet, now);
        }
        self.intervals.on_sent(packet, now);
        packet
    }

    fn on_ack(&mut self, ack: &Ack<'_>) {
        for packet in ack.packets {
            match self.tracker.on_acked(*packet, ack.now) {
                Some(rtt) => self.on_arrived(*packet, rtt, ack.now.as_micros()),
                None => self.tracker.measure(ack.rtt.map_or(0, Duration::as_micros)),
            }
            self.look_for_losses(ack.now);
        }
    }

    fn on_congestion(&mut self, _congestion: &Congestion) {}

    fn on_timeout(&mut self, _timeout: &Timeout) {}

    fn has_timer(&self) -> bool {
        true
    }

    fn next_timer(&self) -> Option<Instant> {
        self.looked.filter(|_| self.tracker.is_waiting()).map(|looked| looked + SILENCE)
    }

    fn on_timer(&mut self, now: Instant) {
        self.look_for_losses(now);
    }

    fn telemetry(&self, report: &mut dyn FnMut(&'static str, f64)) {
        let mode = match self.mode {
            Mode::Starting => 0,
            Mode::Probing => 1,
            Mode::Decided => 2,
        };
        report("mode", f64::from(mode));
        report("rate", self.base_rate() * MEBIBIT);
        report("utility", f64::from(self.utility));
    }
}

#[cfg(test)]
mod tests;

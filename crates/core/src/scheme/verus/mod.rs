//! Verus: learns which delay belongs to which window, and moves along that curve every five milliseconds.
//!
//! **What it is.** Every packet carries the window it was sent with; the delays of those windows give a delay profile,
//! smoothed once per second. Every epoch of 5 ms a target delay goes down if delays rose and up if they did not, and
//! the profile turns it into a window. A loss takes a share of the window away and freezes the profile until packets
//! sent with the smaller window return.
//!
//! **Source.** Zaki et al., "Adaptive Congestion Control for Unpredictable Cellular Networks", SIGCOMM 2015;
//! `yzaki/verus`, `src/verus_server.cpp` and `verus.hpp`, whose names stand beside the parts.
//!
//! **Parameters.** `delay_ratio`: how many times the shortest delay the longest may be (R = 6 in the program; the paper
//! speaks of 2, 4 and 6).
//!
//! **Deviations.**
//! - The program sends datagrams once; here lost packets are sent again, with numbers of their own, and take room in
//!   what an epoch may send.
//! - A lost ack is a gap in the program, and so a loss; here the next ack tells what it told.
//! - After silence, and after the loss that ends slow start, the program goes on from the newest packet not yet
//!   acknowledged. If later ones are, as in a pause of an application, which it does not have, it takes those for
//!   missing once more and reads windows that it has erased; here what is acknowledged stays so.
//! - Nothing in flight lets our transport send one packet, whatever the epoch says.
//! - An epoch is 5 ms; in the program it is what it computes longer (5.07 ms measured), though it reckons with 5.
//! - In slow start the program adds to what may be sent whatever each ack leaves room for. If its sender stands still
//!   meanwhile, as on a busy host, it counts that room several times, and sends it all at once; here it is counted
//!   once.
//! - The program may find its socket full; that cannot happen here.
//! - Packets of 1450 bytes (Pantheon: 1414); here those of the flow.
//!
//! **How it is validated.** Beside the program's code, told the events of our runs (`docs/event-by-event.md`), of which
//! an excerpt is a test; epochs, slow start, losses and timeouts here, profile and spline beside them, the latter
//! against curves of ALGLIB; throughput, delay and the heavy losses in shallow buffers in the simulator's behaviour
//! tests; beside the running program over four links (`docs/originals.md`).

mod profile;
mod spline;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use self::profile::{DelayProfile, MOST_WINDOWS};
use super::allowance::Allowance;
use super::{Ack, Congestion, Feedback, Lost, Scheme, Sent, Setup, Timeout};
use crate::info::{Info, Kind, Parameter, Quantity};
use crate::units::{Duration, Instant};

/// Name, parameters and source.
pub(super) const INFO: Info = Info {
    name: "verus",
    title: "Verus",
    source: "Zaki et al., SIGCOMM 2015; yzaki/verus src/verus_server.cpp",
    parameters: &[Parameter {
        name: "delay_ratio",
        kind: Kind::Number { default: 6.0, min: 1.5, max: 100.0 },
        unit: "",
        doc: "how many times the shortest delay the longest may be",
    }],
    telemetry: &[
        Quantity { name: "window", unit: "packets", doc: "window by the delay profile" },
        Quantity { name: "target_delay", unit: "ms", doc: "round trip that the window is to cause" },
        Quantity { name: "shortest_delay", unit: "ms", doc: "shortest round trip, raised while nothing can be sent" },
        Quantity { name: "longest_delay", unit: "ms", doc: "longest round trip of an epoch, smoothed" },
        Quantity { name: "phase", unit: "", doc: "0 slow start, 1 normal, 2 after a loss" },
    ],
};

/// `EPOCH` and `CURVE_TIMER`.
const EPOCH: Duration = Duration::from_millis(5);
const REFRESH: Duration = Duration::from_secs(1);
/// How far the target moves in an epoch, milliseconds (`DELTA1`, `DELTA2`).
const STEP_DOWN: f64 = 1.0;
const STEP_UP: f64 = 2.0;
/// What is left of the window after a loss (`VERUS_M_DECREASE`).
const DECREASE: f64 = 0.7;
/// A missing packet is lost after this (`MISSING_PKT_EXPIRY`).
const EXPIRY: Duration = Duration::from_millis(150);
/// Milliseconds at which slow start ends (`SS_EXIT_THRESHOLD`).
const SLOW_START_EXIT: f64 = 500.0;
/// Windows above which a loss ends slow start.
const SLOW_START_WINDOW: f64 = 20.0;
/// Windows above the one that was lost are forgotten, but not those below this (`curveStop`).
const LEAST_STOP: usize = 100;
/// Without an ack for five delays, or these bounds, there is a timeout (`MIN_TIMEOUT`, `MAX_TIMEOUT`).
const MIN_TIMEOUT: Duration = Duration::from_millis(150);
const MAX_TIMEOUT: Duration = Duration::from_secs(1);
/// Weights of the old value in the smoothed delay and in the smoothed longest delay.
const DELAY_KEPT: f64 = 0.875;
const LONGEST_KEPT: f64 = 0.2;
/// Shortest delay before the first, milliseconds; and what it is raised by while nothing can be sent.
const FIRST_SHORTEST: f64 = 1_000.0;
const RAISE: f64 = 10.0;

/// Makes one for a flow that starts.
pub(super) fn new(setup: Setup) -> Box<dyn Scheme> {
    let Setup { parameters, .. } = setup;
    Box::new(Verus::new(parameters.number("delay_ratio")))
}

/// What a packet carries there and back (`udp_packet_t`).
#[derive(Clone, Copy, Debug, PartialEq)]
struct Tag {
    /// Of the transmission, counted from one (`pktSeq`).
    number: u64,
    window: u16,
    sent: Instant,
}

impl Tag {
    const NUMBERS: u64 = 1 << 20;
    const TIMES: u64 = 1 << 28;

    /// The last 20 bits of the number, then 16 of window and the last 28 of microseconds: a million packets and four
    /// minutes tell them apart.
    fn encode(self) -> u64 {
        let (number, sent) = (self.number % Self::NUMBERS, self.sent.as_micros() % Self::TIMES);
        number << 44 | u64::from(self.window) << 28 | sent
    }

    /// Of the numbers until `newest` and the times until now the last that fit.
    fn decode(bits: u64, newest: u64, now: Instant) -> Self {
        let last = |until: u64, bits: u64, count: u64| until.saturating_sub(until.wrapping_sub(bits) % count);
        let sent = Duration::from_micros(last(now.as_micros(), bits, Self::TIMES));
        Self {
            number: last(newest, bits >> 44, Self::NUMBERS),
            window: (bits >> 28) as u16,
            sent: Instant::ZERO + sent,
        }
    }
}

/// A packet that a later one has overtaken (`missingsequence_queue`).
#[derive(Clone, Copy, Debug, PartialEq)]
struct Missing {
    number: u64,
    window: u16,
    /// It is lost then.
    due: Instant,
}

#[derive(Debug)]
struct Verus {
    delay_ratio: f64,
    allowance: Allowance,
    is_slow_start: bool,
    /// After a loss, until a packet returns that was sent with a window no larger than now (`lossPhase`).
    is_loss_phase: bool,
    /// The first loss phase after slow start leaves the target alone (`exitSlowStart`).
    has_just_started: bool,
    /// `wBar`, and packets in flight by its own count (`wCrt`).
    window: f64,
    in_flight: i64,
    /// Milliseconds: `dEst`, `dMin`, `dMaxLast`, `dTBar`, `delay`.
    target: f64,
    shortest: f64,
    longest: Option<f64>,
    smoothed: f64,
    latest: f64,
    /// The longest delay of this epoch.
    epoch_longest: Option<f64>,
    profile: DelayProfile,
    /// In the order in which they left.
    missing: VecDeque<Missing>,
    /// Windows of the packets after the newest acknowledged (`sendingList`).
    outstanding: VecDeque<u16>,
    /// Numbers of the last packet that left, of the last before slow start began, and of the newest acknowledged or
    /// forgotten (`pktSeq`, `ssId`, `seqLast`).
    sent: u64,
    session: u64,
    newest: u64,
    /// When `newest` last rose by an ack (`lastAckTime`).
    last_ack: Instant,
    next_epoch: Option<Instant>,
    next_refresh: Instant,
    timeout: Instant,
}

impl Verus {
    fn new(delay_ratio: f64) -> Self {
        Self {
            delay_ratio,
            allowance: Allowance::default(),
            is_slow_start: true,
            is_loss_phase: false,
            has_just_started: false,
            window: 1.0,
            in_flight: 0,
            target: 0.0,
            shortest: FIRST_SHORTEST,
            longest: None,
            smoothed: 0.0,
            latest: 0.0,
            epoch_longest: None,
            profile: DelayProfile::default(),
            missing: VecDeque::new(),
            outstanding: VecDeque::new(),
            sent: 0,
            session: 0,
            newest: 0,
            last_ack: Instant::ZERO,
            next_epoch: None,
            next_refresh: Instant::ZERO,
            timeout: Instant::FAR_FUTURE,
        }
    }

    /// `restartSlowStart`.
    fn restart(&mut self, now: Instant) {
        let Self { allowance, latest, last_ack, next_epoch, delay_ratio, sent, has_just_started, .. } = *self;
        *self = Self {
            allowance,
            has_just_started,
            latest,
            last_ack,
            next_epoch,
            sent,
            session: sent,
            newest: sent,
            timeout: now + MAX_TIMEOUT,
            ..Self::new(delay_ratio)
        };
        self.allowance.set(1);
    }

    fn forget_outstanding(&mut self) {
        self.newest = self.sent;
        self.outstanding.clear();
        self.in_flight = 0;
        self.missing.clear();
    }

    /// The profile's thread: draws the curve, or begins again.
    fn refresh(&mut self, stop: usize, now: Instant) {
        self.next_refresh = now + REFRESH;
        if !self.profile.refresh(stop) {
            self.restart(now);
        }
    }

    /// `TimeoutHandler`.
    fn on_silence(&mut self, now: Instant) {
        if self.newest == self.session {
            self.restart(now);
            return;
        }
        self.timeout = now + self.patience();
        if self.is_slow_start {
            self.is_slow_start = false;
            self.refresh(MOST_WINDOWS, now);
        } else {
            self.is_loss_phase = true;
            self.target = self.shortest;
            self.forget_outstanding();
        }
    }

    fn patience(&self) -> Duration {
        Duration::from_millis((5.0 * self.latest) as u64).max(MIN_TIMEOUT).min(MAX_TIMEOUT)
    }

    /// `removeExpiredPacketsFromSeqQueue`; windows from what is returned on are to be forgotten (`curveStop`).
    fn expire(&mut self, now: Instant) -> usize {
        let mut first = None;
        while let Some(missing) = self.missing.pop_front_if(|missing| missing.due <= now) {
            self.in_flight = (self.in_flight - 1).max(0);
            first.get_or_insert(missing.window);
        }
        let Some(window) = first else { return MOST_WINDOWS };
        if !self.is_loss_phase {
            self.is_loss_phase = true;
            self.window = self.window.min(DECREASE * f64::from(window)).max(1.0);
            self.target = self.profile.delay_at(self.window);
        }
        if !self.is_slow_start || self.window.trunc() <= SLOW_START_WINDOW {
            return MOST_WINDOWS;
        }
        self.forget_outstanding();
        self.is_slow_start = false;
        usize::from(window).max(LEAST_STOP)
    }

    /// Moves the target, and with it the window; returns how many packets may leave.
    fn epoch(&mut self, now: Instant) -> u32 {
        let silent = millis_between(self.last_ack, now);
        let longest = self.epoch_longest.take().unwrap_or_else(|| silent.max(self.longest.unwrap_or(silent)));
        let before = self.longest.unwrap_or(longest);
        let mut may_send = true;
        if before / self.shortest > self.delay_ratio {
            if !self.has_just_started {
                self.target = (self.target - STEP_UP).max(self.shortest);
                if self.target <= self.shortest {
                    may_send = self.in_flight < 2;
                    self.shortest += if may_send { RAISE } else { 0.0 };
                }
            }
        } else if longest - before > 0.000_1 {
            self.target = (self.target - STEP_DOWN).max(self.shortest);
        } else {
            self.target += STEP_UP;
        }
        let Some(window) = self.profile.window_at(self.target) else {
            self.restart(now);
            return 1;
        };
        self.window = window.max(1.0);
        self.longest = Some(LONGEST_KEPT * before + (1.0 - LONGEST_KEPT) * longest);
        if may_send { self.share_of_window() } else { 0 }
    }

    /// What of the window falls to one of the epochs in a round trip (`calcSi`).
    fn share_of_window(&self) -> u32 {
        let epochs = (self.smoothed / (EPOCH.as_secs_f64() * 1e3)).ceil() as i64;
        let correction = if epochs > 1 { self.in_flight * (2 - epochs) / (epochs - 1) } else { -self.in_flight };
        (self.window + correction as f64).max(0.0) as u32
    }

    /// `updateUponReceivingPacket`.
    fn take_delay(&mut self, delay: f64, window: u16) {
        self.in_flight = (self.in_flight - 1).max(0);
        self.epoch_longest = Some(self.epoch_longest.map_or(delay, |longest| longest.max(delay)));
        self.smoothed = DELAY_KEPT * self.smoothed + (1.0 - DELAY_KEPT) * delay;
        self.shortest = self.shortest.min(delay);
        if self.is_loss_phase {
            self.window += 1.0 / self.window;
            if self.profile.has_curve() {
                self.target = self.target.min(self.profile.delay_at(self.window));
            }
        } else {
            self.profile.add(usize::from(window), delay);
        }
    }

    /// What the newest packet overtakes is missing from now on (`createMissingPdu`).
    fn overtake(&mut self, number: u64, now: Instant) {
        let due = now.truncated(Duration::from_micros(1)) + EXPIRY;
        while self.newest < number {
            self.newest += 1;
            let Some(window) = self.outstanding.pop_front() else { return };
            if self.newest < number {
                self.missing.push_back(Missing { number: self.newest, window, due });
            }
        }
        self.last_ack = now;
    }

    /// Takes a packet that comes; whether it counts: one that is the newest or missing, which it is no longer, not one
    /// that is lost or forgotten. The last of those forgotten counts.
    fn take_awaited(&mut self, number: u64, now: Instant) -> bool {
        if number > self.newest {
            self.overtake(number, now);
            return true;
        }
        let found = self.missing.binary_search_by_key(&number, |missing| missing.number);
        found.ok().and_then(|index| self.missing.remove(index)).is_some() || number == self.newest
    }

    /// One ack, as the receiving thread takes it.
    fn take_packet(&mut self, tag: Tag, now: Instant) {
        if tag.number <= self.session {
            return;
        }
        let delay = millis_between(tag.sent, now);
        self.latest = delay;
        let ends_slow_start = self.is_slow_start && delay > SLOW_START_EXIT;
        if ends_slow_start {
            self.window = DECREASE * f64::from(tag.window);
            self.target = self.profile.delay_at(self.window);
            (self.is_slow_start, self.is_loss_phase, self.has_just_started) = (false, true, true);
        }
        self.timeout = now + self.patience();
        if self.is_loss_phase && f64::from(tag.window) <= self.window {
            (self.is_loss_phase, self.has_just_started, self.epoch_longest) = (false, false, None);
        }
        if self.take_awaited(tag.number, now) {
            self.take_delay(delay, tag.window);
        }
        if self.is_slow_start {
            self.window += 1.0;
            self.allowance.set((self.window - self.in_flight as f64).max(0.0) as u32);
        }
        if ends_slow_start {
            self.refresh(MOST_WINDOWS, now);
        }
    }
}

/// By the program's clock, which counts whole microseconds (`gettimeofday`).
fn millis_between(from: Instant, to: Instant) -> f64 {
    to.as_micros().saturating_sub(from.as_micros()) as f64 / 1e3
}

impl Scheme for Verus {
    fn cwnd(&self) -> u32 {
        self.allowance.cwnd()
    }

    fn feedback(&self) -> Feedback {
        Feedback::EveryPacket
    }

    fn on_sent(&mut self, sent: &Sent) -> u64 {
        self.allowance.on_sent(sent);
        self.in_flight += 1;
        if self.next_epoch.is_none() {
            self.next_epoch = Some(sent.now + EPOCH);
            self.timeout = sent.now + MAX_TIMEOUT;
        }
        let window = self.window.min((MOST_WINDOWS - 1) as f64) as u16;
        self.sent += 1;
        self.outstanding.push_back(window);
        Tag { number: self.sent, window, sent: sent.now }.encode()
    }

    fn on_ack(&mut self, ack: &Ack<'_>) {
        self.allowance.on_ack(ack);
        for packet in ack.packets {
            self.take_packet(Tag::decode(*packet, self.sent, ack.now), ack.now);
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
        Some(self.next_epoch?.min(self.timeout))
    }

    fn on_timer(&mut self, now: Instant) {
        if self.timeout <= now {
            self.on_silence(now);
        }
        if self.next_epoch.is_none_or(|next| next > now) {
            return;
        }
        self.next_epoch = Some(now + EPOCH);
        let was_slow_start = self.is_slow_start;
        let stop = self.expire(now);
        if !was_slow_start && self.next_refresh <= now {
            self.refresh(MOST_WINDOWS, now);
        }
        if !self.is_slow_start {
            let packets = self.epoch(now);
            self.allowance.set(packets);
        }
        // The epoch that ends slow start is over before the profile's thread wakes.
        if was_slow_start && !self.is_slow_start {
            self.refresh(stop, now);
        }
    }

    fn telemetry(&self, report: &mut dyn FnMut(&'static str, f64)) {
        report("window", self.window);
        report("target_delay", self.target);
        report("shortest_delay", self.shortest);
        report("longest_delay", self.longest.unwrap_or(0.0));
        let phase = if self.is_slow_start { 0.0 } else { 1.0 + f64::from(u8::from(self.is_loss_phase)) };
        report("phase", phase);
    }
}

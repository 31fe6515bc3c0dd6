//! Prague: DCTCP for the public Internet, the sender of the L4S architecture.
//!
//! **What it is.** The window falls once per round trip by half of alpha, the moving average of the share of marked packets, and
//! grows by one packet per round trip of unmarked ones, in fractions of a packet. Packets are paced and marked ECT(1). A flow
//! with a short round trip grows as if it were 25 ms.
//!
//! **Source.** draft-briscoe-iccrg-prague-congestion-control; L4S project `net/ipv4/tcp_prague.c`, in the four revisions that
//! `profile` names; their function names stand beside the parts. The same project's `udp_prague` keeps the draft's time.
//!
//! **Parameters.** `profile` chooses what the others then are, unless they are given:
//!
//! | profile | source | `alpha_init` | `first_mark` | `increase` | `rtt_target` |
//! |---|---|---|---|---|---|
//! | `draft` | the draft, with the constants of version 0.7 of the code | 0 | halve | unmarked | 25 ms after 4 round trips |
//! | `linux` | version 0.7 of the code (2024) | 0 | halve | unmarked | 25 ms after 4 round trips |
//! | `2020` | version 0.5 of the code (b256daed, August 2020) | 1 | alpha | unmarked | none |
//! | `2019b` | the code about November 2019 | 1 | alpha | unmarked | none |
//! | `2019a` | the code of mid-2019 (dboru/linux 696e94e3) | 0 | alpha | suppressed | none |
//!
//! `draft` and `linux` differ in when a flow with a short round trip may fall again. The draft lets the state of having
//! answered last as long as `rtt_target`, so that the first mark after it counts (section 2.4.4, and `m_cwr_ts` in `udp_prague`).
//! In the kernel that state lasts a true round trip, and a mark that begins it within `rtt_target` goes unanswered with all of the
//! round trip behind it: at 20 ms the window falls about every 42 ms instead of every 25.
//!
//! `2019b` and `2020` count whole packets: the window follows its fraction by a packet when they are one apart, either way; it is
//! paced by the window or, if that is more, what is in flight, and the rate of packets is kept by their payload. A timeout's
//! halving stays open beside a window of one packet: in `2020` the next ack ends it at two, with a threshold of two, while `2019b`
//! takes it only once slow start is back where it was, or at an ack of nothing but marks. A loss that proves spurious gives the
//! window back and takes what it took from the fraction once more. `2019b` grows while losses are repaired.
//!
//! `2019a` falls at once when a round that had marks ends, by an alpha that has that round in it; a mark before only ends slow start.
//! A loss lowers no more than the threshold, to half of the window: where a queue drops packets, it grows on.
//!
//! **Deviations.** The window is a fraction held in floating point, and never below two packets; the source's smaller packets
//! below that are left out. The pacer sends single packets, and a window in a round trip; the kernel takes the rate from packets
//! and holds their payload to it, which is 3.6 % faster. A sender that its pacer holds back counts as limited by its
//! window. Alpha is corrected before the window falls because of the same ack; but for `2019a`, the source does so after.
//!
//! `linux` paces the fraction of the window; the source takes whole packets, and those in flight where they are more. Once a mark
//! was seen and the window is at most four packets of 1500 bytes, the source (`prague_cwnd_mode` 2) goes over to a law of rates,
//! paced 3 % above and below by turns; here the window's law stays.
//!
//! `2019b` does not grow while the losses of its first slow start are repaired. The source doubles through them, until an ack
//! delivers nothing; the kernel's send buffer bounds it there, and nothing would here.
//!
//! `2019a` paces the fraction of the window; the source takes whole packets, and those outstanding where they are more. When a round ends
//! with an ack of unmarked packets, it grows for them after the fall, in the source before.
//!
//! **How it is validated.** Falls, growth, alpha and what a short round trip changes here; rate, queue, marks and sharing with
//! CUBIC over `DualPI2` in the simulator's behaviour tests, next to what the laws say (`docs/dualpi2.md`).

mod fallback;
mod law;
#[cfg(test)]
mod tests;

use self::fallback::ClassicDetector;
use self::law::Law;
use super::{Ack, Cause, Congestion, Connected, EcnFeedback, INITIAL_WINDOW, Scheme, Setup, State, Timeout};
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

/// `PRAGUE_SHIFT_G`.
const GAIN: f64 = 1.0 / 16.0;
/// `MIN_CWND`.
const MIN_WINDOW: f64 = 2.0;
/// Round trips after slow start before a short one is made up for (version 0.7; 500 before).
const TRANSITION: u32 = 4;

/// Makes one for a flow that starts.
#[expect(clippy::needless_pass_by_value, reason = "all schemes are made alike")]
pub(super) fn new(setup: Setup) -> Box<dyn Scheme> {
    let header = setup.packet_size.saturating_sub(setup.mss);
    Box::new(Prague { header, ..Prague::new(Law::of(&setup.parameters), setup.packet_size) })
}

/// What there was before a loss.
#[derive(Clone, Copy, Debug)]
struct Before {
    cwnd: u32,
    window: f64,
    ssthresh: u32,
}

#[derive(Debug)]
struct Prague {
    law: Law,
    packet_size: Bytes,
    /// What of a packet is no payload.
    header: Bytes,
    /// After the last ack.
    in_flight: u32,
    /// What the transport may have in flight; it follows `window` by one packet an ack.
    cwnd: u32,
    ssthresh: u32,
    /// `frac_cwnd`.
    window: f64,
    alpha: f64,
    has_seen_mark: bool,
    has_answered_mark: bool,
    /// The round ends when this is acknowledged; what had been delivered and marked when it began.
    round_end: u64,
    delivered: u64,
    marked: u64,
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
    detector: Option<ClassicDetector>,
}

impl Prague {
    fn new(law: Law, packet_size: Bytes) -> Self {
        Self {
            law,
            packet_size,
            header: Bytes::ZERO,
            in_flight: 0,
            cwnd: INITIAL_WINDOW,
            ssthresh: INFINITE_SSTHRESH,
            window: f64::from(INITIAL_WINDOW),
            alpha: law.alpha,
            has_seen_mark: false,
            has_answered_mark: false,
            round_end: 0,
            delivered: 0,
            marked: 0,
            rounds: 0,
            alpha_updated: Instant::ZERO,
            reduced: None,
            is_in_loss: false,
            state: State::Open,
            before_loss: None,
            newly_marked: 0,
            srtt: Duration::ZERO,
            detector: law.has_fallback.then(ClassicDetector::new),
        }
    }

    fn is_in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// The round trip to act as if it were, if there is one and its time has come (`prague_is_rtt_indep`).
    fn target(&self) -> Option<Duration> {
        self.law.target.filter(|_| !self.is_in_slow_start() && self.rounds >= TRANSITION)
    }

    /// By how many packets a whole unmarked window makes it grow (`prague_rate_scaled_ai_ack_increase`).
    fn increase(&self) -> f64 {
        match self.target() {
            Some(target) if !self.srtt.is_zero() && self.srtt < target => {
                (self.srtt.as_secs_f64() / target.as_secs_f64()).powi(2)
            }
            _ => 1.0,
        }
    }

    /// A round is over (`prague_update_alpha`, `prague_new_round`).
    fn end_round(&mut self, feedback: &EcnFeedback) {
        let is_due = self.target().is_none_or(|target| feedback.now.since(self.alpha_updated) >= target);
        if feedback.first_unacked < self.round_end || !is_due {
            return;
        }
        if self.has_seen_mark {
            let (delivered, marked) = (feedback.delivered - self.delivered, feedback.marked - self.marked);
            let share = if delivered > 0 { (marked as f64 / delivered as f64).min(1.0) } else { 0.0 };
            self.alpha += (share - self.alpha) * GAIN;
            self.alpha_updated = feedback.now;
            if let Some(detector) = &mut self.detector {
                detector.on_round();
            }
            if self.law.falls_after_rounds && share > 0.0 {
                self.ssthresh = self.threshold_of_marks();
                self.set_cwnd(self.ssthresh);
            }
        }
        (self.round_end, self.delivered, self.marked) = (feedback.next_sequence, feedback.delivered, feedback.marked);
        self.rounds += u32::from(!self.is_in_slow_start());
    }

    /// Whether a mark is to be answered although the transport still takes the last one for answered: the target is over, which
    /// is longer than a round trip.
    fn is_answer_due(&self, now: Instant) -> bool {
        let Some((target, reduced)) = self.target().zip(self.reduced) else { return false };
        self.law.answers_by_target && !self.is_in_loss && self.srtt < target && now.since(reduced) >= target
    }

    /// The threshold to return to if what follows proves spurious (`tcp_current_ssthresh`).
    fn current_ssthresh(&self) -> u32 {
        if matches!(self.state, State::Cwr | State::Recovery) {
            self.ssthresh
        } else {
            self.ssthresh.max(self.cwnd / 2 + self.cwnd / 4)
        }
    }

    /// A loss begins that may prove spurious.
    fn remember(&mut self) {
        let (cwnd, window, ssthresh) = (self.cwnd, self.window, self.current_ssthresh());
        self.before_loss = Some(Before { cwnd, window, ssthresh });
    }

    /// Half of it is what marks take from the window.
    fn share(&self) -> f64 {
        self.detector.as_ref().map_or(self.alpha, |detector| self.alpha.max(detector.floor()))
    }

    /// `prague_enter_cwr`. A tail loss that a probe has repaired counts as a mark.
    fn reduce(&mut self, now: Instant) {
        let is_early = |reduced: Instant| self.target().is_some_and(|target| now.since(reduced) < target);
        if self.reduced.is_some_and(is_early) {
            return;
        }
        self.reduced = Some(now);
        // Alpha is nothing before the first mark, which `grow` answers.
        let is_first = self.law.halves_at_first_mark && !self.has_answered_mark;
        let share = if is_first { 0.0 } else { self.share() };
        if self.law.counts_whole {
            self.window -= f64::from(self.cwnd) * share / 2.0;
        } else {
            self.window = (self.window * (1.0 - share / 2.0)).max(MIN_WINDOW);
        }
    }

    /// `prague_ssthresh` of the first revision: whole packets.
    fn threshold_of_marks(&self) -> u32 {
        let reduction = f64::from(self.cwnd) * self.share() / 2.0;
        (self.cwnd - reduction.round() as u32).max(MIN_WINDOW as u32)
    }

    /// Sets a window without a fraction (`snd_cwnd_cnt` = 0).
    fn set_cwnd(&mut self, cwnd: u32) {
        (self.cwnd, self.window) = (cwnd, f64::from(cwnd));
    }

    /// `prague_enter_loss`, `prague_react_to_loss`.
    fn enter_loss(&mut self) {
        if self.law.falls_after_rounds {
            self.ssthresh = (self.cwnd / 2).max(MIN_WINDOW as u32);
        } else {
            self.window = (self.window / 2.0).max(if self.law.counts_whole { f64::MIN } else { MIN_WINDOW });
            self.is_in_loss = true;
        }
    }

    /// `prague_update_cwnd`.
    fn grow(&mut self, ack: &Ack<'_>) {
        let marked = std::mem::take(&mut self.newly_marked);
        if marked > 0 && !std::mem::replace(&mut self.has_answered_mark, true) && self.law.halves_at_first_mark {
            self.window = (self.window / 2.0).max(MIN_WINDOW);
        }
        let is_suppressed = !self.law.grows_by_unmarked && marked > 0;
        let mut acked = if is_suppressed { 0 } else { ack.newly_delivered.saturating_sub(marked) };
        let may_grow = !self.is_in_loss || (self.law.grows_in_loss && self.ssthresh != INFINITE_SSTHRESH);
        if acked > 0 && may_grow && (ack.is_cwnd_limited || !ack.rate.is_app_limited) {
            if self.is_in_slow_start() {
                let grown = self.cwnd.saturating_add(acked).min(self.ssthresh);
                acked -= grown - self.cwnd;
                let keeps = if self.law.keeps_falling { self.window - f64::from(self.cwnd) } else { 0.0 };
                self.window = f64::from(grown) + keeps;
                self.cwnd = grown;
                if self.law.counts_whole && acked == 0 {
                    return;
                }
            }
            let per_round = if self.law.counts_whole { f64::from(self.cwnd) } else { self.window };
            self.window += f64::from(acked) * self.increase() / per_round;
        }
        if self.law.falls_after_rounds {
            self.cwnd = self.window as u32;
            return;
        }
        if self.law.counts_whole {
            self.follow_whole();
            return;
        }
        let target = self.window.ceil() as u32;
        if self.cwnd > target {
            self.cwnd -= 1;
            self.ssthresh = self.cwnd;
        } else if self.cwnd < target {
            self.cwnd += 1;
        }
    }
}

impl Prague {
    /// One packet towards the fraction, once they are one apart, as `prague_update_cwnd` ends up to version 0.5.
    fn follow_whole(&mut self) {
        let apart = self.window - f64::from(self.cwnd);
        if apart >= 1.0 {
            self.cwnd += 1;
        } else if apart <= -1.0 {
            self.cwnd -= 1;
            if f64::from(self.cwnd) < MIN_WINDOW {
                self.set_cwnd(MIN_WINDOW as u32);
            }
            self.ssthresh = self.cwnd;
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
        let window = if self.law.counts_whole { f64::from(self.cwnd.max(self.in_flight)) } else { self.window };
        let per_round = if self.cwnd < self.ssthresh / 2 { 2.0 * window } else { window + self.law.surplus };
        Some(Rate::from_bits_per_second_f64((rate * per_round).max(1.0)))
    }

    /// The pacer of TCP counts payload.
    fn unpaced_header(&self) -> Bytes {
        if self.law.counts_whole { self.header } else { Bytes::ZERO }
    }

    fn ssthresh(&self) -> Option<u32> {
        (self.ssthresh != INFINITE_SSTHRESH).then_some(self.ssthresh)
    }

    fn on_connected(&mut self, connected: &Connected) {
        self.cwnd = connected.initial_window;
        self.window = f64::from(connected.initial_window);
    }

    fn on_ecn_feedback(&mut self, feedback: &EcnFeedback) {
        self.newly_marked = feedback.newly_marked;
        self.has_seen_mark |= feedback.newly_marked > 0;
        self.end_round(feedback);
        if feedback.newly_marked > 0 && feedback.is_reducing && self.is_answer_due(feedback.now) {
            self.reduce(feedback.now);
        }
    }

    fn on_ack(&mut self, ack: &Ack<'_>) {
        (self.srtt, self.in_flight) = (ack.srtt, ack.in_flight);
        if let (Some(detector), Some(rtt)) = (&mut self.detector, ack.rtt) {
            detector.on_round_trip(rtt, ack.min_rtt, self.ssthresh);
        }
        if ack.state == State::Open {
            self.is_in_loss = false;
        }
        // A loss while the window falls for a mark begins no new fall of the transport's, and is one here (`prague_state`). It is
        // not undone, as the mark is not.
        if ack.state == State::Recovery && self.state != State::Recovery && !self.is_in_loss {
            self.enter_loss();
        }
        self.state = ack.state;
        self.grow(ack);
    }

    fn on_congestion(&mut self, congestion: &Congestion) {
        if self.law.falls_after_rounds {
            self.set_cwnd(self.cwnd);
        }
        if congestion.cause == Cause::Loss {
            self.remember();
            self.enter_loss();
            return;
        }
        self.before_loss = None;
        if self.law.falls_after_rounds {
            self.ssthresh = self.threshold_of_marks();
        } else if congestion.cause == Cause::Ecn || self.state != State::Cwr {
            // A tail loss while the window falls for a mark begins no new fall (`prague_state`).
            self.reduce(congestion.now);
        }
    }

    fn on_timeout(&mut self, timeout: &Timeout) {
        if timeout.is_first {
            self.remember();
            if self.law.raises_threshold {
                self.ssthresh = self.ssthresh.max(self.cwnd);
            }
            self.enter_loss();
        }
        self.state = State::Loss;
        let apart = self.window - f64::from(self.cwnd);
        self.cwnd = timeout.in_flight + 1;
        if self.law.counts_whole {
            self.window = f64::from(self.cwnd) + apart;
        }
        if self.law.falls_after_rounds {
            self.set_cwnd(self.cwnd);
        }
    }

    fn on_recovered(&mut self, _now: Instant) {
        self.is_in_loss = false;
        self.state = State::Open;
    }

    /// `tcp_undo_cwnd_reduction`, `prague_cwnd_undo`.
    fn on_undo(&mut self, _now: Instant) {
        self.is_in_loss = false;
        if let Some(before) = self.before_loss.take() {
            let apart = |window: f64, cwnd: u32| window - f64::from(cwnd);
            let changed = apart(self.window, self.cwnd) - apart(before.window, before.cwnd);
            self.window = if self.law.counts_whole {
                f64::from(self.cwnd.max(before.cwnd)) + apart(self.window, self.cwnd) + changed
            } else {
                self.window.max(before.window)
            };
            self.cwnd = self.cwnd.max(before.cwnd);
            self.ssthresh = self.ssthresh.max(before.ssthresh);
        }
    }

    fn telemetry(&self, report: &mut dyn FnMut(&'static str, f64)) {
        report("alpha", self.alpha);
        report("window", self.window);
        if let Some(detector) = &self.detector {
            report("classic", detector.likelihood());
        }
    }
}

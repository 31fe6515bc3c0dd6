//! Copa as genericCC runs it (`markoviancc.cc`; its names stand beside the parts), at three commits.

use std::collections::VecDeque;

use super::extreme::Extreme;
use super::{LEAST_WINDOW, MOST_WINDOW, Shown, pace};
use crate::scheme::{Ack, Congestion, Feedback, Scheme, Sent, Timeout};
use crate::units::{Bytes, Duration, Instant, Rate};

/// Packets of the first window; as many acks, and all but one of as many again, change nothing (`num_probe_pkts`).
const PROBE_PACKETS: u32 = 10;
const PROBE_PACKETS_2017: u32 = 5;
/// For how long the shortest round trip is believed: ten seconds, or twenty of it.
const MIN_RTT_LENGTH: Duration = Duration::from_secs(10);
const MIN_RTT_ROUNDS: u64 = 20;
/// The queue is nearly empty if so many times its delay are less than the longest of four round trips
/// (`RTTWindow::is_copa`).
const NEARLY_EMPTY: u64 = 10;
const SWING_ROUNDS: u64 = 4;
/// Share of lost packets at which the window falls, to what, and from how many on it is judged (`ReduceOnLoss`).
const TOO_MANY_LOST: f64 = 0.3;
const AFTER_HEAVY_LOSS: f64 = 0.7;
const JUDGED_PACKETS: u32 = 20;
/// Without an ack for so long, everything begins again.
const SILENCE: Duration = Duration::from_secs(2);
const SILENCE_2017: Duration = Duration::from_secs(1);
/// Round trips that either half of the swing has to have before it is judged (`TimeWindow::is_copa`).
const JUDGED_SAMPLES: usize = 4;

/// The commits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Program {
    /// f7ca42f.
    August2017,
    /// 80b516c.
    January2018,
    /// d0153f8.
    Later,
}

/// How a round trip becomes the one that window and target are computed with.
#[derive(Debug)]
enum Rtt {
    /// Before d0153f8: the last one, above the shortest ever; with those of the last ten seconds and the shortest of
    /// them, where δ changes (`TimeWindow`).
    Latest { min: Option<Duration>, recent: VecDeque<(Instant, Duration)>, recent_min: Extreme },
    /// d0153f8: the shortest of half a smoothed one (`RTTWindow`).
    Unjittered { srtt: Option<Duration>, min: Extreme, standing: Extreme, swing_min: Extreme, swing_max: Extreme },
}

/// What the round trips say.
#[derive(Clone, Copy, Debug, Default)]
struct Delays {
    latest: Duration,
    min: Duration,
    standing: Duration,
    /// The queue was nearly empty within four round trips.
    is_copa: bool,
}

impl Rtt {
    fn unjittered() -> Self {
        let (min, standing) = (Extreme::least(), Extreme::least());
        Self::Unjittered { srtt: None, min, standing, swing_min: Extreme::least(), swing_max: Extreme::greatest() }
    }

    fn latest() -> Self {
        Self::Latest { min: None, recent: VecDeque::new(), recent_min: Extreme::least() }
    }

    fn forget(&mut self) {
        *self = match self {
            Self::Latest { .. } => Self::latest(),
            Self::Unjittered { .. } => Self::unjittered(),
        };
    }

    fn update(&mut self, rtt: Duration, previous_min: Duration, now: Instant, is_auto: bool) -> Delays {
        match self {
            Self::Latest { min, recent, recent_min } => {
                let least = min.map_or(rtt, |least| least.min(rtt));
                *min = Some(least);
                let is_copa = !is_auto || {
                    recent.push_back((now, rtt));
                    while recent.front().is_some_and(|(time, _)| now.since(*time) > MIN_RTT_LENGTH) {
                        recent.pop_front();
                    }
                    is_emptied_twice(recent, recent_min.update(now, rtt, MIN_RTT_LENGTH), rtt, now)
                };
                Delays { latest: rtt, min: least, standing: rtt, is_copa }
            }
            Self::Unjittered { srtt, min, standing, swing_min, swing_max } => {
                let smooth = srtt.map_or(rtt, |srtt| srtt.scale(15, 16) + rtt.scale(1, 16));
                *srtt = Some(smooth);
                let longest = MIN_RTT_LENGTH.max(previous_min * MIN_RTT_ROUNDS);
                let swing = longest.min(smooth * SWING_ROUNDS);
                let min = min.update(now, rtt, longest);
                let standing = standing.update(now, rtt, longest.min(smooth.scale(1, 2)));
                let least = swing_min.update(now, rtt, swing).saturating_sub(min);
                let most = swing_max.update(now, rtt, swing).saturating_sub(min);
                Delays { latest: rtt, min, standing, is_copa: least * NEARLY_EMPTY < most }
            }
        }
    }
}

/// True if the queue was nearly empty both in the last two round trips and in the two before, or if that cannot be said
/// yet (`TimeWindow::is_copa`); `least` is the shortest of the recent ones.
fn is_emptied_twice(recent: &VecDeque<(Instant, Duration)>, least: Duration, rtt: Duration, now: Instant) -> bool {
    let within = |rounds: u64| recent.iter().rev().take_while(move |(time, _)| now.since(*time) < rtt * rounds);
    let newer = within(SWING_ROUNDS / 2).count();
    let older = within(SWING_ROUNDS).count() - newer;
    if newer < JUDGED_SAMPLES || older < JUDGED_SAMPLES {
        return true;
    }
    let most = within(SWING_ROUNDS).map(|(_, rtt)| *rtt).max().unwrap_or_default();
    let is_low = |(_, rtt): &(Instant, Duration)| rtt.saturating_sub(least) * NEARLY_EMPTY < most.saturating_sub(least);
    within(SWING_ROUNDS / 2).any(is_low) && within(SWING_ROUNDS).skip(newer).any(is_low)
}

/// Watches for heavy loss over two round trips or more (`ReduceOnLoss`).
#[derive(Debug, Default)]
struct LossGuard {
    lost: u32,
    packets: u32,
    since: Option<Instant>,
}

impl LossGuard {
    /// A packet was acknowledged or lost; true if the window must fall.
    fn update(&mut self, is_lost: bool, now: Instant, rtt: Duration) -> bool {
        self.lost += u32::from(is_lost);
        self.packets += 1;
        let is_young = self.since.is_some_and(|since| now.since(since) <= rtt * 2);
        if is_young || self.packets <= JUDGED_PACKETS {
            return false;
        }
        let share = f64::from(self.lost) / f64::from(self.packets);
        *self = Self { lost: 0, packets: 0, since: Some(now) };
        share > TOO_MANY_LOST
    }
}

#[derive(Debug)]
pub(super) struct GenericCc {
    packet_size: Bytes,
    program: Program,
    default_delta: f64,
    /// δ follows the losses while others fill the queue (`AUTO_MODE`).
    is_auto: bool,
    delta: f64,
    probe_packets: u32,
    window: f64,
    /// Round trips over which a window's packets leave, and windows that may be out (`get_the_window`): the older one
    /// is paced, and its window limits it only when the round trip doubles.
    pacing_rounds: f64,
    windows_out: f64,
    is_slow_start: bool,
    acked: u32,
    rtt: Rtt,
    delays: Delays,
    /// Up less down, of the acks of this round, and how many they are (`update_dir`, `pkts_per_rtt`).
    direction: i64,
    round_acks: i64,
    round_start: Option<Instant>,
    /// The direction of the round before, and the velocity (`prev_update_dir`, `update_amt`).
    was_up: bool,
    velocity: f64,
    last_delta_growth: Option<Instant>,
    last_delta_loss: Option<Instant>,
    guard: LossGuard,
    /// Transmissions, counted from none, and the one after the newest acknowledged (`unacknowledged_packets`).
    sent: u64,
    expected: u64,
    last_ack: Option<Instant>,
    /// The window before silence, which may prove to have been a delay.
    before_silence: f64,
}

impl GenericCc {
    /// Commit f7ca42f: δ changes where others fill the queue.
    pub(super) fn august_2017(packet_size: Bytes, delta: f64, is_auto: bool) -> Self {
        Self::new(packet_size, delta, Program::August2017, is_auto)
    }

    /// Commit 80b516c: constant δ.
    pub(super) fn january_2018(packet_size: Bytes, delta: f64) -> Self {
        Self::new(packet_size, delta, Program::January2018, false)
    }

    /// Commit d0153f8: δ changes where others fill the queue.
    pub(super) fn later(packet_size: Bytes, delta: f64, is_auto: bool) -> Self {
        Self::new(packet_size, delta, Program::Later, is_auto)
    }

    fn new(packet_size: Bytes, delta: f64, program: Program, is_auto: bool) -> Self {
        let probe_packets = if program == Program::August2017 { PROBE_PACKETS_2017 } else { PROBE_PACKETS };
        Self {
            packet_size,
            program,
            default_delta: delta,
            is_auto,
            delta,
            probe_packets,
            window: f64::from(probe_packets),
            pacing_rounds: if program == Program::Later { 0.5 } else { 1.0 },
            windows_out: if program == Program::January2018 { 2.0 } else { 1.0 },
            is_slow_start: true,
            acked: 0,
            rtt: if program == Program::Later { Rtt::unjittered() } else { Rtt::latest() },
            delays: Delays::default(),
            direction: 1,
            round_acks: 0,
            round_start: None,
            was_up: true,
            velocity: 1.0,
            last_delta_growth: None,
            last_delta_loss: None,
            guard: LossGuard::default(),
            sent: 0,
            expected: 0,
            last_ack: None,
            before_silence: 0.0,
        }
    }

    /// `init`, after two seconds of silence.
    fn begin_again(&mut self, now: Instant) {
        let fresh = Self::new(self.packet_size, self.default_delta, self.program, self.is_auto);
        let mut rtt = std::mem::replace(&mut self.rtt, Rtt::latest());
        rtt.forget();
        let before_silence = self.before_silence.max(self.window);
        let sent = self.sent;
        *self = Self { rtt, last_ack: Some(now), before_silence, sent, expected: sent, ..fresh };
    }

    /// Too early to adapt, at an ack that does not count yet.
    fn is_probing(&self) -> bool {
        self.acked < 2 * self.probe_packets - 1
    }

    /// `update_delta`; `rtt` is zero where a loss is reported, so that every ack that shows one counts.
    fn update_delta(&mut self, is_loss: bool, rtt: Duration, now: Instant) {
        if !self.is_auto {
            return;
        }
        let has_passed = |since: Option<Instant>| since.is_none_or(|since| now.since(since) > rtt);
        let is_later = self.program == Program::Later;
        if self.delays.is_copa {
            if !is_later {
                self.delta = self.default_delta;
            } else if self.last_delta_growth.is_none() || has_passed(self.last_delta_loss) {
                self.delta = self.default_delta;
                self.last_delta_growth = Some(now);
            }
            return;
        }
        if self.last_delta_growth.is_none() {
            self.delta = if is_later { self.default_delta } else { 1.0 };
        }
        // Before the window has moved there is no pace that a loss could make fall (`cur_intersend_time`).
        let counts = is_later || !self.is_probing();
        if is_loss && counts && has_passed(self.last_delta_loss) {
            self.delta *= 2.0;
            self.last_delta_loss = Some(now);
        } else if has_passed(self.last_delta_growth) {
            self.delta = 1.0 / (1.0 / self.delta + 1.0);
            self.last_delta_growth = Some(now);
        }
        if is_later {
            self.delta = self.delta.min(self.default_delta);
        }
    }

    /// The end of a round: the velocity doubles in a lasting direction.
    fn end_round(&mut self, now: Instant) {
        let is_lasting = (self.direction > 0) == self.was_up && self.direction != 0;
        if self.program != Program::Later && self.direction.abs() <= 2 * self.round_acks / 3 {
            self.velocity = 1.0;
        } else if is_lasting {
            self.velocity = self.velocity.trunc() * 2.0;
        } else {
            self.velocity = 1.0;
            self.was_up = !self.was_up;
        }
        self.round_start = Some(now);
        (self.round_acks, self.direction) = (0, 0);
    }

    /// No faster than a window x δ, or than a window.
    fn bound_velocity(&mut self) {
        let most = self.window * self.delta;
        match self.program {
            Program::August2017 => self.velocity = self.velocity.min(self.window.trunc()),
            Program::January2018 => self.velocity = self.velocity.min(most.trunc()),
            Program::Later => {
                if self.velocity > most {
                    self.velocity /= 2.0;
                }
                self.velocity = self.velocity.max(1.0);
            }
        }
    }

    /// `update_intersend_time`.
    fn move_window(&mut self, now: Instant) {
        if self.is_probing() {
            return;
        }
        let queueing = self.delays.standing.saturating_sub(self.delays.min).as_secs_f64();
        let target = self.delays.standing.as_secs_f64() / (queueing * self.delta);
        if self.is_slow_start {
            self.window += 1.0;
            self.is_slow_start = self.window < target;
        } else {
            if self.round_start.is_none_or(|start| now.since(start) > self.delays.latest) {
                self.end_round(now);
            }
            self.bound_velocity();
            self.round_acks += 1;
            let is_up = self.window < target;
            self.direction += if is_up { 1 } else { -1 };
            let step = self.velocity / (self.delta * self.window);
            self.window += if is_up { step } else { -step };
        }
        self.window = self.window.clamp(LEAST_WINDOW, MOST_WINDOW);
    }

    /// What an ack overtakes is lost: how many of them.
    fn overtaken(&mut self, packets: &[u64]) -> u64 {
        let newest = packets.iter().max().copied().unwrap_or_default();
        let lost = newest.saturating_sub(self.expected);
        self.expected = self.expected.max(newest + 1);
        lost
    }

    /// Losses that this ack showed.
    fn take_losses(&mut self, lost: u64, now: Instant) {
        if self.program != Program::Later {
            if lost > 0 {
                self.update_delta(true, Duration::ZERO, now);
            }
            return;
        }
        let rtt = self.delays.latest;
        let mut must_fall = false;
        for _ in 0..lost {
            must_fall |= self.guard.update(true, now, rtt);
        }
        if lost > 0 {
            self.update_delta(true, Duration::ZERO, now);
        }
        must_fall |= self.guard.update(false, now, rtt);
        if must_fall {
            self.window = (self.window * AFTER_HEAVY_LOSS).max(LEAST_WINDOW);
        }
    }
}

impl Scheme for GenericCc {
    /// A packet leaves while fewer than that, with its fraction, are out.
    fn cwnd(&self) -> u32 {
        (self.windows_out * self.window).ceil() as u32
    }

    /// None before the window first moves: `init` spreads the probe packets over the round trip of the handshake, but
    /// `onPktSent` takes that back with the first of them, and the window goes out at once.
    fn pacing_rate(&self) -> Option<Rate> {
        if self.acked < 2 * self.probe_packets {
            return None;
        }
        pace(self.packet_size, self.window / self.pacing_rounds, self.delays.standing)
    }

    fn feedback(&self) -> Feedback {
        Feedback::EveryPacket
    }

    /// `onPktSent`: the number of the transmission.
    fn on_sent(&mut self, _sent: &Sent) -> u64 {
        self.sent += 1;
        self.sent - 1
    }

    /// `onACK`.
    fn on_ack(&mut self, ack: &Ack<'_>) {
        let Some(rtt) = ack.rtt.filter(|_| ack.newly_delivered > 0) else { return };
        self.last_ack = Some(ack.now);
        self.delays = self.rtt.update(rtt, self.delays.min, ack.now, self.is_auto);
        self.update_delta(false, rtt, ack.now);
        self.move_window(ack.now);
        let lost = self.overtaken(ack.packets);
        self.take_losses(lost, ack.now);
        self.acked = self.acked.saturating_add(1);
    }

    fn on_congestion(&mut self, _congestion: &Congestion) {}

    fn on_timeout(&mut self, timeout: &Timeout) {
        let silence = if self.program == Program::August2017 { SILENCE_2017 } else { SILENCE };
        if self.last_ack.is_some_and(|last| timeout.now.since(last) > silence) {
            self.begin_again(timeout.now);
        }
    }

    fn on_recovered(&mut self, _now: Instant) {
        self.before_silence = 0.0;
    }

    /// What was forgotten is in flight again: a smaller window would wait for it in vain.
    fn on_undo(&mut self, _now: Instant) {
        self.window = self.window.max(std::mem::take(&mut self.before_silence));
    }

    fn telemetry(&self, report: &mut dyn FnMut(&'static str, f64)) {
        let Self { is_slow_start, delta, velocity, delays, .. } = *self;
        let is_competitive = self.is_auto && !delays.is_copa;
        let queueing = delays.standing.saturating_sub(delays.min);
        Shown { is_slow_start, is_competitive, delta, velocity, queueing }.report(report);
    }
}

#[cfg(test)]
mod tests;

//! Dual queue for low latency, low loss and scalable throughput: `DualPI2`.
//!
//! **What it is.** Packets of scalable senders (ECT(1), and what carries CE) go to a low-latency queue, all others to a
//! classic one. A controller moves a probability by how far the longer of both delays is from a target and by how much
//! it has changed. Classic packets are dropped or marked with its square, low-latency ones marked with the coupling
//! factor times it, and whenever they waited longer than a step. A weighted round robin keeps the classic queue alive.
//!
//! **Source.** RFC 9332; Linux 7.3 `net/sched/sch_dualpi2.c`, whose fixed-point arithmetic is kept.
//!
//! **Parameters.** The defaults are the kernel's. `gain_scale` is 0.5 for the code of 2019, which divided the change of
//! the probability by 127 where today's divides by 64; with it, `min_qlen_step` is 2.
//!
//! **Deviations.** What spares a queue of less than two largest frames counts as in `pie`. The controller has run
//! for a second when the run starts. As under Linux' htb, the link never asks an empty queue for a packet. The memory
//! of a packet is its size and 804 bytes, about what it is in Linux.
//!
//! **How it is validated.** Unit tests here; next to the kernel's in the suite `agreement/queues`.

use std::collections::VecDeque;

#[cfg(test)]
mod tests;

use serde::Deserialize;

use super::ahead::Ahead;
use super::bounds::{limit_within, time_within, whole_percents, within};
use super::packet_queue::PacketQueue;
use super::setup::{QueueSetup, memory_of};
use super::{Queue, Reason, Verdicts};
use crate::info::{Info, Parameter};
use crate::machine::AGE;
use crate::packet::Packet;
use crate::problem::Problem;
use crate::random::RandomStream;
use crate::units::{Bytes, Instant, NANOS_PER_SECOND};

/// Name, parameters and source, for listings and documentation.
pub(super) const INFO: Info = Info {
    name: "dualpi2",
    title: "Dual queue with a coupled controller (DualPI2)",
    source: "RFC 9332; Linux net/sched/sch_dualpi2.c",
    parameters: &[
        Parameter::quantity("limit", "10000pkt", "packets", "the most packets that wait, in both queues"),
        Parameter::quantity(
            "memory_limit",
            "2 limit (largest packet + 14B)",
            "size",
            "the most memory of packets that wait, as Linux counts it",
        ),
        Parameter::quantity("target", "15ms", "time", "the delay to steer to"),
        Parameter::quantity("tupdate", "16ms", "time", "how often the probability is computed"),
        Parameter::number(
            "alpha",
            [ALPHA_HZ, LEAST_GAIN, LARGEST_GAIN],
            "Hz",
            "gain on the distance from the target; steps of 1/256",
        ),
        Parameter::number(
            "beta",
            [BETA_HZ, LEAST_GAIN, LARGEST_GAIN],
            "Hz",
            "gain on the change of the delay; steps of 1/256",
        ),
        Parameter::number(
            "gain_scale",
            [1.0, 0.01, 10.0],
            "",
            "what both gains are multiplied by; 0.5 is the code of 2019",
        ),
        Parameter::quantity(
            "step_thresh",
            "1ms",
            "time or packets",
            "mark every low-latency packet that waited longer, or behind which more wait",
        ),
        Parameter::quantity(
            "min_qlen_step",
            "0pkt",
            "packets",
            "the step applies to packets that find at least so many in the low-latency queue",
        ),
        Parameter::number(
            "coupling",
            [2.0, 1.0, 255.0],
            "",
            "by how much the probability of the classic queue is coupled into the low-latency one",
        ),
        Parameter::flag(
            "drop_overload",
            true,
            "on overload drop in both queues, instead of marking until they overflow",
        ),
        Parameter::flag("drop_early", false, "drop packets on arrival, instead of when they would leave"),
        Parameter::number(
            "c_protection",
            [0.1, 0.0, 1.0],
            "",
            "the share of the link that the classic queue has at least; whole percents",
        ),
        Parameter::choice(
            "ecn_mask",
            &["l4s_ect", "cla_ect", "any_ect"],
            "which packets go to the low-latency queue: ECT(1), ECT(0) or both, and CE with each",
        ),
    ],
    telemetry: &[],
};

/// 41 and 819 steps.
const ALPHA_HZ: f64 = 0.160_156_25;
const BETA_HZ: f64 = 3.199_218_75;
const GAIN_STEPS_PER_HZ: f64 = 256.0;
const LEAST_GAIN: f64 = 1.0 / GAIN_STEPS_PER_HZ;
const LARGEST_GAIN: f64 = 1_000.0;
/// `MAX_PROB`.
const CERTAIN: u64 = u32::MAX as u64;
/// `ALPHA_BETA_GRANULARITY`: gains are kept 2^6 times as large as they are.
const GRANULARITY: u32 = 6;
/// `ALPHA_BETA_SCALING`: what is left of the shift by 8 that the steps of 1/256 need.
const SCALING: u32 = 2;
/// Weights are percents.
const WEIGHTS: i64 = 100;

/// Which codepoints go to the low-latency queue; the number is the kernel's mask.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
enum EcnMask {
    #[default]
    #[serde(rename = "l4s_ect")]
    Scalable = 1,
    #[serde(rename = "cla_ect")]
    Classic = 2,
    #[serde(rename = "any_ect")]
    Any = 3,
}

/// What an experiment states.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DualPi2Config {
    limit_packets: u64,
    memory_limit_bytes: Option<u64>,
    target_ns: u64,
    tupdate_ns: u64,
    alpha_hz: f64,
    beta_hz: f64,
    gain_scale: f64,
    step_thresh_ns: Option<u64>,
    step_thresh_packets: Option<u64>,
    min_qlen_step_packets: u64,
    coupling: u64,
    drop_overload: bool,
    drop_early: bool,
    c_protection: f64,
    ecn_mask: EcnMask,
}

impl Default for DualPi2Config {
    fn default() -> Self {
        Self {
            limit_packets: 10_000,
            memory_limit_bytes: None,
            target_ns: 15_000_000,
            tupdate_ns: 16_000_000,
            alpha_hz: ALPHA_HZ,
            beta_hz: BETA_HZ,
            gain_scale: 1.0,
            step_thresh_ns: None,
            step_thresh_packets: None,
            min_qlen_step_packets: 0,
            coupling: 2,
            drop_overload: true,
            drop_early: false,
            c_protection: 0.1,
            ecn_mask: EcnMask::default(),
        }
    }
}

impl DualPi2Config {
    pub(super) fn check(&self) -> Result<(), Problem> {
        limit_within("limit", self.limit_packets)?;
        limit_within("memory_limit", self.memory_limit_bytes.unwrap_or(1))?;
        time_within("target", self.target_ns, 1_000)?;
        time_within("tupdate", self.tupdate_ns, 1_000)?;
        within("alpha", self.alpha_hz, &(LEAST_GAIN..=LARGEST_GAIN), "")?;
        within("beta", self.beta_hz, &(LEAST_GAIN..=LARGEST_GAIN), "")?;
        within("gain_scale", self.gain_scale, &(0.01..=10.0), "")?;
        within("coupling", self.coupling, &(1..=255), "")?;
        whole_percents("c_protection", self.c_protection)?;
        if self.step_thresh_ns.is_some() && self.step_thresh_packets.is_some() {
            return Err(Problem::new("step_thresh is in time or in packets; state one of them"));
        }
        Ok(())
    }
}

/// The controller of the probability.
#[derive(Clone, Copy, Debug)]
struct Controller {
    target_ns: i64,
    period_ns: u64,
    /// Gains as fractions of [`CERTAIN`] per nanosecond, 2^6 times as large.
    alpha: i64,
    beta: i64,
    /// The most that the probability may be.
    largest: u64,
    due: Instant,
    last_delay_ns: i64,
    probability: u64,
}

impl Controller {
    fn new(config: &DualPi2Config) -> Self {
        // `dualpi2_scale_alpha_beta`.
        let scaled = |gain_hz: f64| {
            let steps = (gain_hz * GAIN_STEPS_PER_HZ).round() as u64;
            (((steps * CERTAIN) >> SCALING) as f64 / NANOS_PER_SECOND as f64 * config.gain_scale) as i64
        };
        Self {
            target_ns: config.target_ns as i64,
            period_ns: config.tupdate_ns,
            alpha: scaled(config.alpha_hz),
            beta: scaled(config.beta_hz),
            largest: if config.drop_overload { CERTAIN } else { CERTAIN / config.coupling },
            due: Instant::from_nanos(config.tupdate_ns - AGE.as_nanos() % config.tupdate_ns),
            last_delay_ns: 0,
            probability: 0,
        }
    }

    /// `calculate_probability`.
    fn update(&mut self, delay_ns: i64) {
        let delta = (delay_ns - self.target_ns)
            .saturating_mul(self.alpha)
            .saturating_add((delay_ns - self.last_delay_ns).saturating_mul(self.beta));
        self.last_delay_ns = delay_ns;
        // What goes beyond the bounds is found where 32 bits overflow, so that of a step of more than certainty the
        // rest counts.
        let (step, probability) = ((delta.unsigned_abs() >> GRANULARITY) as u32, self.probability as u32);
        let next = if delta > 0 { probability.saturating_add(step) } else { probability.saturating_sub(step) };
        self.probability = u64::from(next).min(self.largest);
    }
}

/// The low-latency queue: its packets, and whether the step applies to each.
#[derive(Debug)]
struct LowLatency<P> {
    queue: PacketQueue<P>,
    has_step: VecDeque<bool>,
}

/// Above which the low-latency queue is marked.
#[derive(Clone, Copy, Debug)]
enum Step {
    Nanos(u64),
    Packets(usize),
}

/// Two queues under a coupled controller.
#[derive(Debug)]
pub struct DualPi2<P> {
    classic: PacketQueue<P>,
    low: LowLatency<P>,
    ahead: Ahead,
    limit: usize,
    memory_limit: u64,
    mask: u8,
    controller: Controller,
    coupling: u64,
    drops_on_overload: bool,
    drops_early: bool,
    step: Step,
    least_for_step: usize,
    /// Below this backlog nothing is dropped or marked early.
    least_backlog: Bytes,
    /// Whose turn it is: the classic queue's while it is above zero.
    credit: i64,
    first_credit: i64,
    classic_weight: i64,
    random: RandomStream,
}

impl<P> DualPi2<P> {
    /// An empty queue.
    pub(super) fn new(config: &DualPi2Config, setup: &QueueSetup<'_>) -> Self {
        let classic_weight = (config.c_protection * WEIGHTS as f64).round() as i64;
        let first_credit = setup.mtu().count() as i64 * (2 * classic_weight - WEIGHTS);
        Self {
            classic: PacketQueue::default(),
            low: LowLatency { queue: PacketQueue::default(), has_step: VecDeque::new() },
            ahead: Ahead::default(),
            limit: config.limit_packets as usize,
            memory_limit: config
                .memory_limit_bytes
                .unwrap_or((config.limit_packets * 2 * setup.mtu().count()).min(u64::from(u32::MAX))),
            mask: config.ecn_mask as u8,
            controller: Controller::new(config),
            coupling: config.coupling,
            drops_on_overload: config.drop_overload,
            drops_early: config.drop_early,
            step: match (config.step_thresh_ns, config.step_thresh_packets) {
                (_, Some(packets)) => Step::Packets(packets as usize),
                (nanos, None) => Step::Nanos(nanos.unwrap_or(1_000_000)),
            },
            least_for_step: config.min_qlen_step_packets as usize,
            least_backlog: setup.mtu() * 2,
            credit: first_credit,
            first_credit,
            classic_weight,
            random: setup.random("dualpi2"),
        }
    }

    fn is_low_latency(&self, packet: &Packet<P>) -> bool {
        packet.ecn.bits() & self.mask != 0
    }

    fn backlog(&self) -> Bytes {
        self.classic.bytes() + self.low.queue.bytes()
    }

    /// Computes the probabilities that are due by `now`; nothing has come or gone meanwhile.
    fn catch_up(&mut self, now: Instant) {
        while self.controller.due <= now {
            let due = self.controller.due;
            let waited = |queue: &PacketQueue<P>| queue.head().map_or(0, |head| due.since(head.enqueued).as_nanos());
            let delay = waited(&self.classic).max(waited(&self.low.queue));
            self.controller.update(delay as i64);
            self.controller.due = Instant::from_nanos(due.as_nanos() + self.controller.period_ns);
        }
    }

    /// True with this probability (`dualpi2_roll`).
    fn roll(&mut self, probability: u64) -> bool {
        self.random.below(1 << 32) <= probability
    }

    fn roll_twice(&mut self) -> bool {
        let probability = self.controller.probability;
        self.roll(probability) && self.roll(probability)
    }

    /// True if the packet is to be dropped; else it may have been marked (`must_drop`).
    fn must_drop(&mut self, packet: &mut Packet<P>, is_low: bool, verdicts: &mut Verdicts<P>) -> bool {
        if self.backlog() + self.ahead.bytes() < self.least_backlog {
            return false;
        }
        let coupled = self.controller.probability * self.coupling;
        let is_overloaded = coupled > CERTAIN;
        if !is_low {
            return self.roll_twice() && (is_overloaded || !verdicts.mark(packet, Reason::Congestion));
        }
        if is_overloaded {
            if self.drops_on_overload && self.roll_twice() {
                return true;
            }
            verdicts.mark(packet, Reason::Congestion);
            return false;
        }
        self.roll(coupled) && !verdicts.mark(packet, Reason::Congestion)
    }

    /// Takes the next packet from the queue whose turn it is; says by how much serving it changes the credit.
    fn take(&mut self) -> Option<(Box<Packet<P>>, bool, i64)> {
        let (has_classic, has_low) = (!self.classic.is_empty(), !self.low.queue.is_empty());
        if has_low && (!has_classic || self.credit <= 0) {
            let packet = self.low.queue.pop()?;
            let weight = if has_classic { self.classic_weight } else { 0 };
            return Some((packet, true, weight));
        }
        let Some(packet) = self.classic.pop() else {
            self.credit = self.first_credit;
            return None;
        };
        Some((packet, false, if has_low { self.classic_weight - WEIGHTS } else { 0 }))
    }

    /// Marks a low-latency packet that waited too long (`do_step_aqm`).
    fn mark_above_step(&mut self, packet: &mut Packet<P>, now: Instant, verdicts: &mut Verdicts<P>) {
        let is_above = match self.step {
            Step::Nanos(nanos) => now.since(packet.enqueued).as_nanos() > nanos,
            Step::Packets(packets) => self.low.queue.packets() > packets,
        };
        if self.low.has_step.pop_front().unwrap_or(true) && is_above {
            verdicts.mark(packet, Reason::Threshold);
        }
    }
}

impl<P: Send> Queue<P> for DualPi2<P> {
    fn enqueue(&mut self, mut packet: Box<Packet<P>>, now: Instant, verdicts: &mut Verdicts<P>) {
        self.catch_up(now);
        let is_low = self.is_low_latency(&packet);
        let packets = self.packets();
        if packets + self.ahead.packets() >= self.limit
            || memory_of(packets + 1, self.backlog() + packet.size) > self.memory_limit
        {
            return verdicts.drop(packet, Reason::Overlimit);
        }
        if self.drops_early && self.must_drop(&mut packet, is_low, verdicts) {
            return verdicts.drop(packet, Reason::Congestion);
        }
        if is_low {
            self.low.has_step.push_back(self.low.queue.packets() >= self.least_for_step);
            self.low.queue.push(packet);
        } else {
            self.classic.push(packet);
        }
    }

    fn dequeue(&mut self, now: Instant, verdicts: &mut Verdicts<P>) -> Option<Box<Packet<P>>> {
        self.catch_up(now);
        while let Some((mut packet, is_low, weight)) = self.take() {
            if !self.drops_early && self.must_drop(&mut packet, is_low, verdicts) {
                if is_low {
                    self.low.has_step.pop_front();
                }
                verdicts.drop(packet, Reason::Congestion);
                continue;
            }
            if is_low {
                self.mark_above_step(&mut packet, now, verdicts);
            }
            self.credit += weight * packet.size.count() as i64;
            return Some(packet);
        }
        None
    }

    fn set_ahead(&mut self, size: Option<Bytes>, _now: Instant) {
        self.ahead = Ahead::of(size);
    }

    fn packets(&self) -> usize {
        self.classic.packets() + self.low.queue.packets()
    }

    fn bytes(&self) -> Bytes {
        self.backlog()
    }
}

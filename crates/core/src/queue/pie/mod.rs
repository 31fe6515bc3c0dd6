//! Proportional integral controller enhanced: PIE.
//!
//! **What it is.** One queue of packets. Every few milliseconds a probability is moved by how far the delay is from a
//! target and by how much it has changed; arriving packets are dropped or marked with it.
//!
//! **Source.** RFC 8033; Linux 7.3 `net/sched/sch_pie.c`, `include/net/pie.h`, whose arithmetic is kept: probabilities
//! as fractions of 2^56, time in ticks of 64 ns, derandomised drops, a burst allowance of 150 ms, marks up to a
//! probability of 10 %, no early drop while less than two largest packets wait.
//!
//! **Parameters.** The defaults are the kernel's.
//!
//! **Deviations.** Two of the largest frames are 3028 bytes, and packets count 1500, as in the linux world: with three
//! of them waiting early drops begin, as in the RFC (more than two packets), where the kernel begins with two on an
//! Ethernet that counts frames. As in Linux the period is rounded up to whole milliseconds, and one more passes until
//! the timer fires.
//!
//! **How it is validated.** Unit tests here; next to the kernel's in the suite `agreement/queues`.

mod control;
#[cfg(test)]
mod tests;

use serde::Deserialize;

pub(super) use control::{CERTAIN, Control, Gains, Law};

use self::control::MAX_GAIN;
use super::ahead::Ahead;
use super::bounds::limit_within;
use super::packet_queue::PacketQueue;
use super::setup::QueueSetup;
use super::{Queue, Reason, Verdicts};
use crate::info::{Info, Parameter};
use crate::packet::Packet;
use crate::problem::Problem;
use crate::random::RandomStream;
use crate::units::{Bytes, Instant};

/// Name, parameters and source, for listings and documentation.
pub(super) const INFO: Info = Info {
    name: "pie",
    title: "Proportional integral controller enhanced (PIE)",
    source: "RFC 8033; Linux net/sched/sch_pie.c, include/net/pie.h",
    parameters: &[
        Parameter::quantity("limit", "1000pkt", "packets", "the most packets that wait"),
        TARGET,
        TUPDATE,
        ALPHA,
        BETA,
        ECN,
        BYTEMODE,
        DQ_RATE_ESTIMATOR,
    ],
    telemetry: &[],
};

pub(super) const TARGET: Parameter = Parameter::quantity("target", "15ms", "time", "the delay to steer to");
pub(super) const TUPDATE: Parameter =
    Parameter::quantity("tupdate", "15ms", "time", "how often the probability is computed; whole milliseconds");
pub(super) const ALPHA: Parameter =
    Parameter::number("alpha", [0.125, 0.0, MAX_GAIN], "Hz", "gain on the distance from the target");
pub(super) const BETA: Parameter =
    Parameter::number("beta", [1.25, 0.0, MAX_GAIN], "Hz", "gain on the change of the delay");
pub(super) const ECN: Parameter =
    Parameter::flag("ecn", false, "mark packets that can be marked instead of dropping them, up to 10 %");
pub(super) const BYTEMODE: Parameter =
    Parameter::flag("bytemode", false, "drop small packets less often, in proportion to their size");
pub(super) const DQ_RATE_ESTIMATOR: Parameter = Parameter::flag(
    "dq_rate_estimator",
    false,
    "take the delay from the queue and its measured rate, not from the packets' stamps",
);

/// Up to this probability what can be marked is marked.
const MARKED_UP_TO: u64 = CERTAIN / 10;

/// What an experiment states of the law.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PieConfig {
    #[serde(default = "default_limit")]
    limit_packets: u64,
    #[serde(default = "default_time")]
    target_ns: u64,
    #[serde(default = "default_time")]
    tupdate_ns: u64,
    #[serde(default = "default_alpha")]
    alpha_hz: f64,
    #[serde(default = "default_beta")]
    beta_hz: f64,
    #[serde(default)]
    ecn: bool,
    #[serde(default)]
    bytemode: bool,
    #[serde(default)]
    dq_rate_estimator: bool,
}

fn default_limit() -> u64 {
    1_000
}

pub(super) fn default_time() -> u64 {
    15_000_000
}

pub(super) fn default_alpha() -> f64 {
    0.125
}

pub(super) fn default_beta() -> f64 {
    1.25
}

impl PieConfig {
    pub(super) fn check(&self) -> Result<(), Problem> {
        limit_within("limit", self.limit_packets)?;
        self.gains().check()
    }

    fn gains(&self) -> Gains {
        let Self { target_ns, tupdate_ns, alpha_hz, beta_hz, bytemode, dq_rate_estimator, .. } = *self;
        Gains { target_ns, tupdate_ns, alpha_hz, beta_hz, bytemode, dq_rate_estimator }
    }
}

/// A queue under PIE.
#[derive(Debug)]
pub struct Pie<P> {
    queue: PacketQueue<P>,
    ahead: Ahead,
    limit: usize,
    ecn: bool,
    law: Law,
    control: Control,
    random: RandomStream,
}

impl<P> Pie<P> {
    /// An empty queue.
    pub(super) fn new(config: &PieConfig, setup: &QueueSetup<'_>) -> Self {
        let law = config.gains().law(setup);
        Self {
            queue: PacketQueue::default(),
            ahead: Ahead::default(),
            limit: config.limit_packets as usize,
            ecn: config.ecn,
            law,
            control: Control::new(&law),
            random: setup.random("pie"),
        }
    }

    fn backlog(&self) -> Bytes {
        self.queue.bytes() + self.ahead.bytes()
    }

    /// Why the packet is not let in.
    fn refusal(&mut self, packet: &mut Packet<P>, verdicts: &mut Verdicts<P>) -> Option<Reason> {
        if self.queue.packets() + self.ahead.packets() >= self.limit {
            return Some(Reason::Overlimit);
        }
        let backlog = self.backlog();
        let is_in = !self.control.drops_early(&self.law, backlog, packet, &mut self.random)
            || (self.ecn && self.control.probability() <= MARKED_UP_TO && verdicts.mark(packet, Reason::Congestion));
        (!is_in).then_some(Reason::Congestion)
    }
}

impl<P: Send> Queue<P> for Pie<P> {
    fn enqueue(&mut self, mut packet: Box<Packet<P>>, now: Instant, verdicts: &mut Verdicts<P>) {
        self.control.catch_up(&self.law, self.backlog(), now);
        match self.refusal(&mut packet, verdicts) {
            None => self.queue.push(packet),
            Some(reason) => {
                self.control.on_drop();
                verdicts.drop(packet, reason);
            }
        }
    }

    fn dequeue(&mut self, now: Instant, _verdicts: &mut Verdicts<P>) -> Option<Box<Packet<P>>> {
        self.control.catch_up(&self.law, self.backlog(), now);
        let packet = self.queue.pop()?;
        self.control.on_leaving(&self.law, &packet, self.queue.bytes(), now);
        Some(packet)
    }

    fn set_ahead(&mut self, size: Option<Bytes>, now: Instant) {
        self.control.catch_up(&self.law, self.backlog(), now);
        self.ahead = Ahead::of(size);
    }

    fn packets(&self) -> usize {
        self.queue.packets()
    }

    fn bytes(&self) -> Bytes {
        self.queue.bytes()
    }
}

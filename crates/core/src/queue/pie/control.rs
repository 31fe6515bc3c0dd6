//! The control of PIE, which a queue has once and FQ-PIE once for each of its queues.

use crate::packet::Packet;
use crate::problem::Problem;
use crate::queue::bounds::{time_within, within};
use crate::queue::jiffies::JiffyTimer;
use crate::queue::setup::QueueSetup;
use crate::random::RandomStream;
use crate::units::{Bytes, Instant};

/// `struct pie_params`: gains are from 0 to 32, in sixteenths.
pub(super) const MAX_GAIN: f64 = 2.0;
/// `MAX_PROB`: certainty.
pub(in crate::queue) const CERTAIN: u64 = u64::MAX >> 8;
/// `PSCHED_SHIFT`: a tick is 2^6 ns.
const TICK_SHIFT: u32 = 6;
const TICKS_PER_SECOND: u64 = 1_000_000_000 >> TICK_SHIFT;
/// After a quiet time this much delay passes without a drop.
const BURST_NS: u64 = 150_000_000;
/// Above this delay the probability grows by another 2 % each time.
const HIGH_DELAY_NS: u64 = 250_000_000;
/// `QUEUE_THRESHOLD`: so many bytes are measured at a time.
const MEASURED_BYTES: u64 = 16_384;
/// `PIE_SCALE`: rates are bytes per tick, times 2^8.
const RATE_SHIFT: u32 = 8;
/// HZ / 2.
const FIRST_UPDATE: u64 = 500;
const JIFFY_NS: u64 = 1_000_000;

const fn ticks(nanos: u64) -> u64 {
    nanos >> TICK_SHIFT
}

/// What PIE and FQ-PIE state alike.
#[derive(Clone, Copy, Debug)]
pub(in crate::queue) struct Gains {
    pub(in crate::queue) target_ns: u64,
    pub(in crate::queue) tupdate_ns: u64,
    pub(in crate::queue) alpha_hz: f64,
    pub(in crate::queue) beta_hz: f64,
    pub(in crate::queue) bytemode: bool,
    pub(in crate::queue) dq_rate_estimator: bool,
}

impl Gains {
    pub(in crate::queue) fn check(&self) -> Result<(), Problem> {
        time_within("target", self.target_ns, 1_000)?;
        time_within("tupdate", self.tupdate_ns, 1_000)?;
        within("alpha", self.alpha_hz, &(0.0..=MAX_GAIN), "")?;
        within("beta", self.beta_hz, &(0.0..=MAX_GAIN), "")
    }

    pub(in crate::queue) fn law(&self, setup: &QueueSetup<'_>) -> Law {
        let scaled = |gain: f64| ((CERTAIN / TICKS_PER_SECOND) as f64 * gain) as u64;
        Law {
            target: ticks(self.target_ns),
            period: self.tupdate_ns.div_ceil(JIFFY_NS),
            alpha: scaled(self.alpha_hz),
            beta: scaled(self.beta_hz),
            bytemode: self.bytemode,
            measures_rate: self.dq_rate_estimator,
            mtu: setup.mtu(),
            frame_header: setup.mtu() - setup.largest_packet,
        }
    }
}

/// What does not change during a run (`struct pie_params`).
#[derive(Clone, Copy, Debug)]
pub(in crate::queue) struct Law {
    target: u64,
    period: u64,
    /// In fractions of [`CERTAIN`] per tick of delay.
    alpha: u64,
    beta: u64,
    bytemode: bool,
    measures_rate: bool,
    mtu: Bytes,
    /// The kernel counts frames where it looks at single packets.
    frame_header: Bytes,
}

/// The state of the control (`struct pie_vars`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::queue) struct Control {
    timer: JiffyTimer,
    vars: Vars,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Vars {
    delay: u64,
    old_delay: u64,
    burst: u64,
    probability: u64,
    /// The sum of probabilities since the last drop.
    accumulated: u64,
    /// When the rate was last measured, or a packet left.
    stamp: Option<u64>,
    /// Bytes of the measurement under way.
    measured: Option<u64>,
    rate: u64,
}

impl Vars {
    /// `pie_vars_init`.
    fn restart(&mut self) {
        self.burst = ticks(BURST_NS);
        self.stamp = None;
        self.accumulated = 0;
        self.measured = None;
        self.rate = 0;
    }

    /// `pie_calculate_probability`.
    fn update(&mut self, law: &Law, backlog: u64) {
        let (delay, old_delay) = if law.measures_rate {
            self.old_delay = self.delay;
            ((backlog << RATE_SHIFT).checked_div(self.rate).unwrap_or(0), self.old_delay)
        } else {
            (self.delay, self.old_delay)
        };
        // A delay of zero with something in the queue means that the queue is very small.
        let may_decay = delay != 0 || backlog == 0;
        let before = self.probability;
        let change = self.change(law, delay, old_delay);
        self.probability = before.wrapping_add_signed(change);
        if change > 0 && self.probability < before {
            self.probability = CERTAIN;
        } else if change <= 0 && self.probability > before {
            self.probability = 0;
        }
        if delay == 0 && old_delay == 0 && may_decay {
            self.probability -= self.probability / 64;
        }
        self.delay = delay;
        let is_quiet = delay < law.target / 2 && self.old_delay < law.target / 2 && self.probability == 0;
        if is_quiet && (!law.measures_rate || self.rate > 0) {
            self.restart();
        }
        if !law.measures_rate {
            self.old_delay = delay;
        }
    }

    /// By how much the probability moves: gains are smaller while it is small (RFC 8033, section 4.2).
    fn change(&self, law: &Law, delay: u64, old_delay: u64) -> i64 {
        let mut shift = 0;
        if self.probability < CERTAIN / 10 {
            shift = 1;
            let mut power = 100;
            while self.probability < CERTAIN / power && power <= 1_000_000 {
                shift += 2;
                power *= 10;
            }
        }
        let part = |gain: u64, from: u64| ((gain >> shift) as i64).wrapping_mul(delay.wrapping_sub(from) as i64);
        let mut change = part(law.alpha, law.target).wrapping_add(part(law.beta, old_delay));
        let (two_percent, two_of_hundred) = ((CERTAIN / 50) as i64, (CERTAIN / 100 * 2) as i64);
        if change > two_percent && self.probability >= CERTAIN / 10 {
            change = two_of_hundred;
        }
        if delay > ticks(HIGH_DELAY_NS) {
            change = change.wrapping_add(two_percent);
        }
        change
    }

    /// `pie_drop_early`.
    fn drops_early(&mut self, law: &Law, backlog: Bytes, size: Bytes, random: &mut RandomStream) -> bool {
        let is_low = self.delay < law.target / 2 && self.probability < CERTAIN / 5;
        if self.burst > 0 || is_low || backlog < law.mtu * 2 {
            return false;
        }
        let mut probability = self.probability;
        if law.bytemode && size <= law.mtu {
            probability = size.count() * (probability / law.mtu.count());
        }
        if probability == 0 {
            self.accumulated = 0;
        } else {
            self.accumulated = self.accumulated.wrapping_add(probability);
        }
        // Never two drops close to each other, and never too long none (RFC 8033, section 5.4).
        if self.accumulated < CERTAIN / 100 * 85 {
            return false;
        }
        if self.accumulated >= CERTAIN / 2 * 17 {
            return true;
        }
        let drops = random.below(CERTAIN + 1) < probability;
        if drops {
            self.accumulated = 0;
        }
        drops
    }

    /// `pie_process_dequeue`.
    fn leave(&mut self, law: &Law, waited: u64, size: Bytes, backlog: u64, now: u64) {
        let since = |stamp: Option<u64>| stamp.map_or(0, |stamp| now - stamp);
        let elapsed = if law.measures_rate {
            if backlog >= MEASURED_BYTES && self.measured.is_none() {
                self.stamp = Some(now);
                self.measured = Some(0);
            }
            let Some(measured) = self.measured.map(|bytes| bytes + size.count()) else { return };
            self.measured = Some(measured);
            let elapsed = since(self.stamp);
            if measured < MEASURED_BYTES || elapsed == 0 {
                return;
            }
            let rate = (measured << RATE_SHIFT) / elapsed;
            self.rate = if self.rate == 0 { rate } else { self.rate - (self.rate >> 3) + (rate >> 3) };
            if backlog < MEASURED_BYTES {
                self.measured = None;
            } else {
                self.measured = Some(0);
                self.stamp = Some(now);
            }
            elapsed
        } else {
            self.delay = if backlog > 0 { waited } else { 0 };
            let elapsed = since(self.stamp);
            self.stamp = Some(now);
            elapsed
        };
        self.burst = self.burst.saturating_sub(elapsed);
    }
}

impl Control {
    pub(in crate::queue) fn new(law: &Law) -> Self {
        let mut vars = Vars::default();
        vars.restart();
        Self { timer: JiffyTimer::new(FIRST_UPDATE, law.period), vars }
    }

    /// Computes the probabilities of all timers up to `now`, during which so much waited.
    pub(in crate::queue) fn catch_up(&mut self, law: &Law, backlog: Bytes, now: Instant) {
        let mut is_settled = false;
        while self.timer.fire(now) {
            if !is_settled {
                let before = self.vars;
                self.vars.update(law, backlog.count());
                is_settled = self.vars == before;
            }
        }
    }

    /// Whether an arriving packet is to be dropped or marked.
    pub(in crate::queue) fn drops_early<P>(
        &mut self,
        law: &Law,
        backlog: Bytes,
        packet: &Packet<P>,
        random: &mut RandomStream,
    ) -> bool {
        self.vars.drops_early(law, backlog, packet.size + law.frame_header, random)
    }

    /// The probability, as a fraction of [`CERTAIN`].
    pub(in crate::queue) fn probability(&self) -> u64 {
        self.vars.probability
    }

    /// A packet was dropped on arrival.
    pub(in crate::queue) fn on_drop(&mut self) {
        self.vars.accumulated = 0;
    }

    /// A packet leaves, behind which so much still waits.
    pub(in crate::queue) fn on_leaving<P>(&mut self, law: &Law, packet: &Packet<P>, backlog: Bytes, now: Instant) {
        let (arrived, now) = (ticks(packet.enqueued.as_nanos()), ticks(now.as_nanos()));
        self.vars.leave(law, now - arrived, packet.size + law.frame_header, backlog.count(), now);
    }
}

#[cfg(test)]
mod tests;

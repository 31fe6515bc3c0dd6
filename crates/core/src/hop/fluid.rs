//! A link that sends bit by bit, at a rate that is constant or follows a schedule.
//!
//! Exact: what rounding to whole nanoseconds leaves over is carried to the next packet.

use serde::Deserialize;

use super::service::take;
use super::wire::Wire;
use crate::queue::{Queue, Verdicts};
use crate::units::{Bytes, Duration, Instant, Rate};

const BIT_NANOS_PER_BYTE: u64 = 8 * 1_000_000_000;

/// From this time on the link has this rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// Time since the start of the run, or of the period.
    #[serde(rename = "at_ns")]
    pub at: Duration,
    /// The new rate; zero is an outage.
    #[serde(rename = "rate_bps")]
    pub rate: Rate,
}

/// The mean rate over one period; without one that of the last step, which stays, or the highest if that is an outage.
pub(super) fn mean_rate(steps: &[Step], period: Option<Duration>) -> Rate {
    let rates = || steps.iter().map(|step| step.rate);
    let Some(period) = period else {
        return rates().next_back().filter(|last| !last.is_zero()).or_else(|| rates().max()).unwrap_or_default();
    };
    let ends = steps.iter().skip(1).map(|step| step.at).chain([period]);
    let total: u128 = steps.iter().zip(ends).map(|(step, end)| bit_nanos(step.rate, end.saturating_sub(step.at))).sum();
    Rate::from_bits_per_second((total / u128::from(period.as_nanos())) as u64)
}

/// A link whose rate is constant between the steps of a schedule.
#[derive(Debug)]
pub struct Fluid {
    steps: Vec<Step>,
    period: Option<Duration>,
    /// When the packet being sent is out.
    free_at: Instant,
    /// Bit-nanoseconds that the last packet sent beyond `free_at`, so that rounding to whole nanoseconds never adds up.
    carry: u64,
}

impl Fluid {
    pub(super) fn new(steps: Vec<Step>, period: Option<Duration>) -> Self {
        Self { steps, period, free_at: Instant::ZERO, carry: 0 }
    }

    /// When the link next takes a packet, if one waits.
    pub(super) fn next_service(&self, has_backlog: bool) -> Option<Instant> {
        has_backlog.then_some(self.free_at)
    }

    /// Sends what can be sent by `now`.
    #[inline(always)]
    pub(super) fn serve<P: Clone>(
        &mut self,
        now: Instant,
        queue: &mut dyn Queue<P>,
        wire: &mut Wire<P>,
        verdicts: &mut Verdicts<P>,
    ) {
        while self.free_at <= now && queue.packets() > 0 {
            let start = self.free_at;
            let Some(packet) = take(queue, start, verdicts) else { break };
            self.free_at = self.finish(start, packet.size);
            wire.push(packet, self.free_at, verdicts);
        }
    }

    /// Begins to send a packet that has just found the link idle.
    #[inline(always)]
    pub(super) fn start_if_idle<P: Clone>(
        &mut self,
        now: Instant,
        queue: &mut dyn Queue<P>,
        wire: &mut Wire<P>,
        verdicts: &mut Verdicts<P>,
    ) {
        if self.free_at <= now {
            self.free_at = now;
            self.carry = 0;
            self.serve(now, queue, wire, verdicts);
        }
    }

    /// When a packet of this size that starts at `start` is out.
    fn finish(&mut self, start: Instant, size: Bytes) -> Instant {
        let mut left = size.count() * BIT_NANOS_PER_BYTE;
        if let [only] = self.steps[..] {
            return self.finish_at_rate(start, left, only.rate);
        }
        let mut at = start;
        loop {
            let (rate, until) = self.step_at(at);
            let room = bit_nanos(rate, until.since(at));
            if u128::from(left) <= room {
                return self.finish_at_rate(at, left, rate);
            }
            if until == Instant::FAR_FUTURE {
                return Instant::FAR_FUTURE;
            }
            left -= room as u64;
            at = until;
        }
    }

    fn finish_at_rate(&mut self, start: Instant, bit_nanos: u64, rate: Rate) -> Instant {
        if rate.is_zero() {
            return Instant::FAR_FUTURE;
        }
        let bits_per_second = rate.as_bits_per_second();
        let total = bit_nanos + self.carry.min(bits_per_second);
        self.carry = total % bits_per_second;
        start + Duration::from_nanos(total / bits_per_second)
    }

    /// The rate at `now`, and until when it holds.
    fn step_at(&self, now: Instant) -> (Rate, Instant) {
        let base = self.period.map_or(Instant::ZERO, |period| now.truncated(period));
        let offset = now.since(base);
        let next = self.steps.partition_point(|step| step.at <= offset);
        let end = self.steps.get(next).map(|step| step.at).or(self.period);
        (self.steps[next.saturating_sub(1)].rate, end.map_or(Instant::FAR_FUTURE, |end| base + end))
    }

    /// What it can carry from `from` to `to`.
    pub(super) fn capacity(&self, from: Instant, to: Instant) -> Bytes {
        let mut total = 0;
        let mut at = from;
        while at < to {
            let (rate, until) = self.step_at(at);
            let until = until.min(to);
            total += bit_nanos(rate, until.since(at));
            at = until;
        }
        Bytes::new((total / u128::from(BIT_NANOS_PER_BYTE)) as u64)
    }
}

/// What passes at this rate in this time, in billionths of a bit.
fn bit_nanos(rate: Rate, time: Duration) -> u128 {
    u128::from(rate.as_bits_per_second()) * u128::from(time.as_nanos())
}

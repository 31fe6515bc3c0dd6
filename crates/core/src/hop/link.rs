//! The link: how fast packets leave the queue.

use serde::Deserialize;

use super::Wire;
use super::opportunities::{FULL_PACKET, Opportunities};
use super::policer::check_bucket;
use super::token_bucket::TokenBucket;
use crate::packet::Packet;
use crate::problem::Problem;
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

/// How fast a link is.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum LinkConfig {
    /// Sends everything at once.
    Unlimited,
    /// Always the same rate.
    Constant {
        /// The rate.
        #[serde(rename = "rate_bps")]
        rate: Rate,
    },
    /// A rate that changes at given times.
    Schedule {
        /// The changes, in order of time, the first at zero.
        steps: Vec<Step>,
        /// After this time the steps begin again.
        #[serde(rename = "period_ns")]
        period: Option<Duration>,
    },
    /// Delivery opportunities of one full packet each at the times of a mahimahi trace, repeated for ever.
    Trace {
        /// Times in milliseconds, none smaller than the one before; the last is the period.
        opportunities_ms: Vec<u64>,
        /// The mean rate of a longer trace, of which these are the beginning.
        #[serde(rename = "mean_rate_bps", default)]
        mean_rate: Option<Rate>,
    },
    /// Delivery opportunities of one full packet each at exponentially distributed intervals.
    Poisson {
        /// The mean rate.
        #[serde(rename = "rate_bps")]
        rate: Rate,
    },
    /// Sends at once what a token bucket has tokens for.
    TokenBucket {
        /// The long-term rate.
        #[serde(rename = "rate_bps")]
        rate: Rate,
        /// What may leave at once, after a pause.
        #[serde(rename = "burst_bytes")]
        burst: Bytes,
        /// The rate within a burst; `None`: it takes no time.
        #[serde(rename = "peak_bps")]
        peak: Option<Rate>,
    },
}

impl LinkConfig {
    /// Checks it for packets up to this size.
    pub(super) fn check(&self, largest: Bytes) -> Result<(), Problem> {
        let problem = match self {
            Self::Unlimited => None,
            Self::Constant { rate } | Self::Poisson { rate } => rate.is_zero().then_some("rate must be more than zero"),
            Self::Schedule { steps, period } => {
                let is_ordered = steps.windows(2).all(|pair| pair[0].at < pair[1].at);
                let starts_at_zero = steps.first().is_some_and(|step| step.at.is_zero());
                let fits = period.is_none_or(|period| !period.is_zero() && steps.iter().all(|step| step.at < period));
                (!(is_ordered && starts_at_zero && fits))
                    .then_some("schedule must begin at 0, go up in time and end before its period")
            }
            Self::Trace { mean_rate: Some(rate), .. } if rate.is_zero() => {
                Some("mean rate of a trace must be more than zero")
            }
            Self::Trace { opportunities_ms, .. } => {
                let is_ordered = opportunities_ms.windows(2).all(|pair| pair[0] <= pair[1]);
                let ends_late = opportunities_ms.last().is_some_and(|last| *last > 0);
                (!(is_ordered && ends_late)).then_some("trace must not be empty, never go back in time and end after 0")
            }
            Self::TokenBucket { rate, burst, peak } => {
                check_bucket(*rate, *burst, largest).map_err(|problem| Problem::new(format!("rate.{problem}")))?;
                peak.is_some_and(|peak| peak <= *rate)
                    .then_some("rate.peak must be more than the rate; make it faster, or leave it out")
            }
        };
        problem.map_or(Ok(()), |problem| Err(Problem::new(problem)))
    }

    /// The long-term mean rate; `None` if unlimited.
    pub fn mean_rate(&self) -> Option<Rate> {
        match self {
            Self::Unlimited => None,
            Self::Constant { rate } | Self::Poisson { rate } | Self::TokenBucket { rate, .. } => Some(*rate),
            Self::Schedule { steps, period } => Some(mean_rate(steps, *period)),
            Self::Trace { opportunities_ms, mean_rate } => {
                let last = opportunities_ms.last().copied().unwrap_or_default();
                let of_these = || Rate::of(FULL_PACKET * opportunities_ms.len() as u64, Duration::from_millis(last));
                Some(mean_rate.or_else(of_these).unwrap_or_default())
            }
        }
    }
}

/// Over one period; without one that of the last step, which stays, or the highest if that is an outage.
fn mean_rate(steps: &[Step], period: Option<Duration>) -> Rate {
    let rates = || steps.iter().map(|step| step.rate);
    let Some(period) = period else {
        return rates().next_back().filter(|last| !last.is_zero()).or_else(|| rates().max()).unwrap_or_default();
    };
    let ends = steps.iter().skip(1).map(|step| step.at).chain([period]);
    let total: u128 = steps.iter().zip(ends).map(|(step, end)| bit_nanos(step.rate, end.saturating_sub(step.at))).sum();
    Rate::from_bits_per_second((total / u128::from(period.as_nanos())) as u64)
}

/// What passes at this rate in this time, in billionths of a bit.
fn bit_nanos(rate: Rate, time: Duration) -> u128 {
    u128::from(rate.as_bits_per_second()) * u128::from(time.as_nanos())
}

/// A link at work.
#[derive(Debug)]
pub enum Link<P> {
    /// Sends everything at once; has no queue.
    Unlimited,
    /// Sends bit by bit.
    Fluid(Fluid),
    /// Sends when an opportunity comes.
    Opportunities(Box<Opportunities<P>>),
    /// Sends when there are tokens.
    TokenBucket(Box<TokenBucket<P>>),
}

impl<P> Link<P> {
    /// Builds the link called `name`, which together with `seed` fixes its random numbers, for packets up to this size.
    pub fn new(config: &LinkConfig, largest: Bytes, seed: u64, name: &str) -> Self {
        match config {
            LinkConfig::Unlimited => Self::Unlimited,
            LinkConfig::Constant { rate } => {
                Self::Fluid(Fluid::new(vec![Step { at: Duration::ZERO, rate: *rate }], None))
            }
            LinkConfig::Schedule { steps, period } => Self::Fluid(Fluid::new(steps.clone(), *period)),
            LinkConfig::Trace { opportunities_ms, .. } => {
                Self::Opportunities(Box::new(Opportunities::trace(opportunities_ms.clone())))
            }
            LinkConfig::Poisson { rate } => Self::Opportunities(Box::new(Opportunities::poisson(*rate, seed, name))),
            LinkConfig::TokenBucket { rate, burst, peak } => {
                Self::TokenBucket(Box::new(TokenBucket::new(*rate, *burst, *peak, largest)))
            }
        }
    }

    /// When the link next takes a packet from the queue, or goes on with one; `None` if there is nothing to send.
    pub fn next_service(&self, has_backlog: bool) -> Option<Instant> {
        match self {
            Self::Unlimited => None,
            Self::Fluid(fluid) => has_backlog.then_some(fluid.free_at),
            Self::Opportunities(opportunities) => opportunities.next_service(has_backlog),
            Self::TokenBucket(bucket) => bucket.next_service(),
        }
    }

    /// The packet that has left the queue but is not yet on the wire.
    pub fn in_service(&self) -> Option<Bytes> {
        match self {
            Self::Opportunities(opportunities) => opportunities.being_sent().map(|packet| packet.size),
            Self::TokenBucket(bucket) => bucket.in_service(),
            Self::Unlimited | Self::Fluid(_) => None,
        }
    }

    /// The packet of which a part has been sent, the rest of which waits for opportunities.
    pub fn being_sent(&self) -> Option<&Packet<P>> {
        match self {
            Self::Opportunities(opportunities) => opportunities.being_sent(),
            Self::Unlimited | Self::Fluid(_) | Self::TokenBucket(_) => None,
        }
    }

    /// What the link can carry from `from` to `to`; `None` if unlimited.
    pub fn capacity(&mut self, from: Instant, to: Instant) -> Option<Bytes> {
        match self {
            Self::Unlimited => None,
            Self::Fluid(fluid) => Some(fluid.capacity(from, to)),
            Self::Opportunities(opportunities) => Some(opportunities.capacity(from, to)),
            Self::TokenBucket(bucket) => Some(bucket.rate().amount_in(to.since(from))),
        }
    }
}

impl<P: Clone> Link<P> {
    /// Sends what can be sent by `now`.
    #[inline(always)]
    pub fn serve(&mut self, now: Instant, queue: &mut dyn Queue<P>, wire: &mut Wire<P>, verdicts: &mut Verdicts<P>) {
        match self {
            Self::Unlimited => {}
            Self::Fluid(fluid) => fluid.serve(now, queue, wire, verdicts),
            Self::Opportunities(opportunities) => opportunities.serve(now, queue, wire, verdicts),
            Self::TokenBucket(bucket) => bucket.serve(now, queue, wire, verdicts),
        }
    }

    /// Begins to send a packet that has just found the link idle.
    #[inline(always)]
    pub fn start_if_idle(
        &mut self,
        now: Instant,
        queue: &mut dyn Queue<P>,
        wire: &mut Wire<P>,
        verdicts: &mut Verdicts<P>,
    ) {
        match self {
            Self::Fluid(fluid) if fluid.free_at <= now => {
                fluid.free_at = now;
                fluid.carry = 0;
                fluid.serve(now, queue, wire, verdicts);
            }
            Self::TokenBucket(bucket) => bucket.start_if_idle(now, queue, wire, verdicts),
            Self::Unlimited | Self::Fluid(_) | Self::Opportunities(_) => {}
        }
    }
}

/// The packet that leaves a queue at `now` to be sent.
pub(super) fn take<P>(queue: &mut dyn Queue<P>, now: Instant, verdicts: &mut Verdicts<P>) -> Option<Box<Packet<P>>> {
    let mut packet = dequeue(queue, now, verdicts)?;
    packet.leave_queue(now);
    Some(packet)
}

/// The packet that a queue gives at `now`, whose wait may go on.
pub(super) fn dequeue<P>(queue: &mut dyn Queue<P>, now: Instant, verdicts: &mut Verdicts<P>) -> Option<Box<Packet<P>>> {
    let known = verdicts.drops();
    let taken = queue.dequeue(now, verdicts);
    verdicts.leave_queue(known, now);
    taken
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
    fn new(steps: Vec<Step>, period: Option<Duration>) -> Self {
        Self { steps, period, free_at: Instant::ZERO, carry: 0 }
    }

    #[inline(always)]
    fn serve<P: Clone>(
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

    fn capacity(&self, from: Instant, to: Instant) -> Bytes {
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

//! The link: how fast packets leave the queue.

use serde::Deserialize;

use super::fluid::{Fluid, Step, mean_rate};
use super::opportunities::{FULL_PACKET, Opportunities};
use super::policer::check_bucket;
use super::token_bucket::TokenBucket;
use super::wire::Wire;
use crate::packet::Packet;
use crate::problem::Problem;
use crate::queue::{Queue, Verdicts};
use crate::units::{Bytes, Duration, Instant, Rate};

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
            Self::Fluid(fluid) => fluid.next_service(has_backlog),
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
            Self::Fluid(fluid) => fluid.start_if_idle(now, queue, wire, verdicts),
            Self::TokenBucket(bucket) => bucket.start_if_idle(now, queue, wire, verdicts),
            Self::Unlimited | Self::Opportunities(_) => {}
        }
    }
}

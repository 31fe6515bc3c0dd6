//! What happens at which time of a run, and the wait for the last packets after it.

use std::sync::mpsc::Receiver as Channel;

use bakeoff_core::hop::{HopConfig, LinkConfig};
use bakeoff_core::scenario::{FlowConfig, Level};
use bakeoff_core::units::{Duration, Instant, Rate};

use crate::error::RunError;
use crate::guest::capture::Capture;
use crate::guest::network::{Network, RateChange, rate_changes};
use crate::job::Job;
use crate::layout::Layout;
use crate::senders::{News, Watch};
use crate::sys;

/// How often the taps are emptied; often enough that they never overflow.
const DRAIN_EVERY: Duration = Duration::from_millis(100);
/// After the end, packets may stay away for this long beside what the path takes for one before they count as lost.
const QUIET: Duration = Duration::from_secs(2);
/// The wait after the end is never longer, in virtual time.
const LONGEST_WAIT: Duration = Duration::from_secs(3_600);

/// What is still to happen.
pub(super) struct Timeline {
    senders: Watch,
    /// What the threads of flows have to say.
    news: Channel<News>,
    /// By time, the next one last.
    changes: Vec<RateChange>,
    sampling: Option<Duration>,
    end: Instant,
    /// What the path takes for a packet, there and back: its delay, and the transmission of one of the largest at the
    /// lowest rates.
    round_trip: Duration,
}

impl Timeline {
    pub(super) fn new(job: &Job, layout: &Layout, senders: Watch, news: Channel<News>) -> Self {
        let scenario = &job.scenario;
        let end = scenario.end();
        let mut changes = rate_changes(job, layout, end);
        changes.reverse();
        let interval = scenario.record.interval;
        let delay = |hops: &[HopConfig]| hops.iter().map(|hop| hop.delay).sum::<Duration>();
        let largest = scenario.flows.iter().map(FlowConfig::packet_size).max().unwrap_or_default();
        let hops = scenario.forward.iter().chain(&scenario.reverse);
        let rates = hops.filter_map(|hop| lowest_rate(&hop.link)).filter(|rate| !rate.is_zero());
        let sending = rates.fold(Duration::ZERO, |sum, rate| sum + rate.time_for(largest));
        let extra = scenario.flows.iter().map(|flow| flow.extra_delay).max().unwrap_or_default();
        Self {
            senders,
            news,
            changes,
            sampling: (scenario.record.level >= Level::Series).then_some(interval),
            end,
            round_trip: delay(&scenario.forward) + delay(&scenario.reverse) + extra * 2 + sending,
        }
    }

    /// Lets the run happen.
    pub(super) fn play(
        mut self,
        layout: &Layout,
        network: &mut Network,
        capture: &mut Capture,
    ) -> Result<(), RunError> {
        let start = capture.start_time();
        let mut next_drain = Instant::ZERO + DRAIN_EVERY;
        let mut next_sample = self.sampling.map(|interval| Instant::ZERO + interval);
        loop {
            let next_stop = self.senders.next_stop();
            let next_change = self.changes.last().map(|change| change.time);
            let now = [next_stop, next_change, next_sample].into_iter().flatten().fold(next_drain, Instant::min);
            let now = now.min(self.end);
            sys::sleep_until(start + now.since(Instant::ZERO));
            if now == next_drain {
                self.drain(capture)?;
                next_drain += DRAIN_EVERY;
            }
            if next_sample == Some(now) {
                capture.samples(&self.senders.sample(now)?)?;
                next_sample = self.sampling.map(|interval| now + interval);
            }
            while let Some(change) = self.changes.pop_if(|change| change.time <= now) {
                network.change_rate(layout, &change)?;
            }
            capture.samples(&self.senders.stop(now)?)?;
            if now == self.end {
                break;
            }
        }
        self.wait_for_stragglers(start, capture)
    }

    /// Logs what has been seen and said since the last call, and returns how many packets that were.
    fn drain(&self, capture: &mut Capture) -> Result<usize, RunError> {
        for news in self.news.try_iter() {
            capture.samples(&[news?])?;
        }
        capture.drain()
    }

    /// Waits until nothing moves any more, so that each packet has either arrived or been dropped.
    fn wait_for_stragglers(&self, start: Duration, capture: &mut Capture) -> Result<(), RunError> {
        let quiet = self.round_trip + QUIET;
        let mut now = self.end;
        let mut last_seen = now;
        while now.since(last_seen) < quiet && now.since(self.end) < LONGEST_WAIT {
            now += DRAIN_EVERY;
            sys::sleep_until(start + now.since(Instant::ZERO));
            if self.drain(capture)? > 0 {
                last_seen = now;
            }
        }
        Ok(())
    }
}

/// The lowest rate at which a link sends, if it has one.
fn lowest_rate(link: &LinkConfig) -> Option<Rate> {
    match link {
        LinkConfig::Constant { rate } | LinkConfig::Poisson { rate } | LinkConfig::TokenBucket { rate, .. } => {
            Some(*rate)
        }
        LinkConfig::Schedule { steps, .. } => steps.iter().map(|step| step.rate).filter(|rate| !rate.is_zero()).min(),
        LinkConfig::Unlimited | LinkConfig::Trace { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_rate_is_the_lowest_at_which_anything_passes() {
        let lowest =
            |link: serde_json::Value| lowest_rate(&serde_json::from_value(link).unwrap()).map(Rate::as_bits_per_second);
        let step = |at: u64, rate: u64| serde_json::json!({"at_ns": at, "rate_bps": rate});
        let steps = [step(0, 8), step(1, 0), step(2, 5), step(3, 9)];
        assert_eq!(lowest(serde_json::json!({"kind": "schedule", "steps": steps})), Some(5));
        assert_eq!(lowest(serde_json::json!({"kind": "constant", "rate_bps": 7})), Some(7));
        assert_eq!(lowest(serde_json::json!({"kind": "unlimited"})), None);
    }
}

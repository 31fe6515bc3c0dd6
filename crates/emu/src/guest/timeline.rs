//! What happens at which time of a run, and the wait for the last packets after it.

use std::os::fd::AsFd;
use std::sync::mpsc::Receiver as Channel;

use bakeoff_core::hop::HopConfig;
use bakeoff_core::scenario::Level;
use bakeoff_core::units::{Duration, Instant};

use super::{Context, GuestError};
use crate::guest::capture::Capture;
use crate::guest::flows::{News, RunningFlow, Sending};
use crate::guest::network::{Network, RateChange, rate_changes};
use crate::job::Job;
use crate::layout::Layout;
use crate::log::{SampleRecord, TIMEOUTS};
use crate::sys::{self, TcpInfo};

/// How often the taps are emptied; often enough that they never overflow.
const DRAIN_EVERY: Duration = Duration::from_millis(100);
/// After the end, packets may stay away for this long beside the delay of the path before they count as lost.
const QUIET: Duration = Duration::from_secs(2);
/// The wait after the end is never longer.
const LONGEST_WAIT: Duration = Duration::from_secs(120);

/// What is still to happen.
pub(super) struct Timeline {
    flows: Vec<RunningFlow>,
    /// What the threads of flows have to say.
    news: Channel<News>,
    /// By time, the next one last.
    changes: Vec<RateChange>,
    /// Numbers of the flows that have not yet stopped, by time, the next one last.
    stops: Vec<usize>,
    sampling: Option<Duration>,
    /// Size of a full packet over its payload, per flow.
    packet_per_payload: Vec<f64>,
    end: Instant,
    /// Delay of the whole path, there and back.
    round_trip: Duration,
}

impl Timeline {
    pub(super) fn new(job: &Job, layout: &Layout, flows: Vec<RunningFlow>, news: Channel<News>) -> Self {
        let scenario = &job.scenario;
        let end = Instant::from_nanos(scenario.duration_ns);
        let mut changes = rate_changes(job, layout, end);
        changes.reverse();
        let mut stops: Vec<_> = (0..flows.len()).collect();
        stops.sort_by_key(|flow| std::cmp::Reverse((flows[*flow].stop, *flow)));
        let interval = Duration::from_nanos(scenario.record.interval_ns);
        let delay = |hops: &[HopConfig]| hops.iter().map(|hop| hop.delay_ns).sum::<u64>();
        let extra = scenario.flows.iter().map(|flow| flow.extra_delay_ns).max().unwrap_or_default();
        Self {
            flows,
            news,
            changes,
            stops,
            packet_per_payload: (scenario.flows.iter())
                .map(|flow| (flow.mss_bytes + flow.header_bytes) as f64 / flow.mss_bytes as f64)
                .collect(),
            sampling: (scenario.record.level >= Level::Series).then_some(interval),
            end,
            round_trip: Duration::from_nanos(delay(&scenario.forward) + delay(&scenario.reverse) + 2 * extra),
        }
    }

    /// Lets the run happen.
    pub(super) fn play(
        mut self,
        layout: &Layout,
        network: &mut Network,
        capture: &mut Capture,
    ) -> Result<(), GuestError> {
        let start = capture.start_time();
        let mut next_drain = Instant::ZERO + DRAIN_EVERY;
        let mut next_sample = self.sampling.map(|interval| Instant::ZERO + interval);
        loop {
            let next_stop = self.stops.last().map(|flow| self.flows[*flow].stop);
            let next_change = self.changes.last().map(|change| change.time);
            let now = [next_stop, next_change, next_sample].into_iter().flatten().fold(next_drain, Instant::min);
            let now = now.min(self.end);
            sys::sleep_until(start + now.since(Instant::ZERO));
            if now == next_drain {
                self.drain(capture)?;
                next_drain += DRAIN_EVERY;
            }
            if next_sample == Some(now) {
                self.sample(now, capture)?;
                next_sample = self.sampling.map(|interval| now + interval);
            }
            while let Some(change) = self.changes.pop_if(|change| change.time <= now) {
                network.change_rate(layout, &change)?;
            }
            while let Some(flow) = self.stops.pop_if(|flow| self.flows[*flow].stop <= now) {
                self.stop(flow, capture)?;
            }
            if now == self.end {
                break;
            }
        }
        self.wait_for_stragglers(start, capture)
    }

    /// Logs what has been seen and said since the last call, and returns how many packets that were.
    fn drain(&self, capture: &mut Capture) -> Result<usize, GuestError> {
        for news in self.news.try_iter() {
            capture.sample(Some(news?))?;
        }
        capture.drain()
    }

    fn stop(&self, flow: usize, capture: &mut Capture) -> Result<(), GuestError> {
        let running = &self.flows[flow];
        running.fall_silent()?;
        let Sending::Kernel(socket) = &running.sending else { return Ok(()) };
        let info = TcpInfo::of(socket.as_fd()).context(|| "reading TCP_INFO".to_owned())?;
        capture.sample(SampleRecord::new(running.stop, flow, TIMEOUTS, f64::from(info.timeouts())))
    }

    fn sample(&self, now: Instant, capture: &mut Capture) -> Result<(), GuestError> {
        for (index, flow) in self.flows.iter().enumerate() {
            let Sending::Kernel(socket) = &flow.sending else { continue };
            if flow.start > now || now > flow.stop {
                continue;
            }
            let info = TcpInfo::of(socket.as_fd()).context(|| "reading TCP_INFO".to_owned())?;
            // TCP paces its payload; recordings count whole packets.
            let headers = self.packet_per_payload[index];
            let millis = |micros: u32| f64::from(micros) / 1e3;
            let bbr = info.bbr();
            let values = [
                ("cwnd", Some(f64::from(info.cwnd()))),
                ("ssthresh", info.ssthresh().map(f64::from)),
                ("in_flight", Some(f64::from(info.in_flight()))),
                ("state", Some(f64::from(info.congestion_state()))),
                ("srtt", Some(info.srtt_us()).filter(|srtt| *srtt > 0).map(millis)),
                ("min_rtt", info.min_rtt_us().map(millis)),
                ("pacing_rate", info.pacing_rate().map(|rate| rate * headers)),
                ("bw", bbr.map(|(bandwidth, ..)| bandwidth)),
                ("pacing_gain", bbr.map(|(_, gain, _)| gain)),
                ("cwnd_gain", bbr.map(|(.., gain)| gain)),
            ];
            for (name, value) in values {
                if let Some(value) = value {
                    capture.sample(SampleRecord::new(now, index, name, value))?;
                }
            }
        }
        Ok(())
    }

    /// Waits until nothing moves any more, so that each packet has either arrived or been dropped.
    fn wait_for_stragglers(&self, start: Duration, capture: &mut Capture) -> Result<(), GuestError> {
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

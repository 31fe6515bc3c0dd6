//! The senders under way: what the kernel's say of themselves, and when each falls silent.

use std::os::fd::AsFd;

use bakeoff_core::scenario::Scenario;
use bakeoff_core::units::Instant;

use super::RunningFlow;
use crate::error::{Context, RunError};
use crate::log::{SampleRecord, TIMEOUTS};
use crate::sys::TcpInfo;

/// The senders of a run.
pub struct Watch {
    flows: Vec<RunningFlow>,
    /// Those that have not yet stopped, by time, the next one last.
    stops: Vec<usize>,
    /// Size of a full packet over its payload, per flow.
    packet_per_payload: Vec<f64>,
}

impl Watch {
    /// Watches the flows of a scenario.
    pub fn new(scenario: &Scenario, flows: Vec<RunningFlow>) -> Self {
        let mut stops: Vec<_> = (0..flows.len()).collect();
        stops.sort_by_key(|flow| std::cmp::Reverse((flows[*flow].stop, *flow)));
        let sizes = scenario.flows.iter().map(|flow| (flow.mss.count() as f64, flow.header.count() as f64));
        Self { flows, stops, packet_per_payload: sizes.map(|(mss, header)| (mss + header) / mss).collect() }
    }

    /// When the next flow stops.
    pub fn next_stop(&self) -> Option<Instant> {
        self.stops.last().map(|flow| self.flows[*flow].stop)
    }

    /// Stops the flows whose time has come, and returns how often each has timed out.
    pub fn stop(&mut self, now: Instant) -> Result<Vec<SampleRecord>, RunError> {
        let mut samples = Vec::new();
        while let Some(index) = self.stops.pop_if(|flow| self.flows[*flow].stop <= now) {
            let flow = &self.flows[index];
            flow.fall_silent()?;
            if let Some(socket) = &flow.kernel {
                let info = TcpInfo::of(socket.as_fd()).context(|| "reading TCP_INFO".to_owned())?;
                let timeouts = info.timeouts().map(f64::from);
                samples.extend(timeouts.and_then(|count| SampleRecord::new(flow.stop, index, TIMEOUTS, count)));
            }
        }
        Ok(samples)
    }

    /// The inner state of the kernel's senders that are at work.
    pub fn sample(&self, now: Instant) -> Result<Vec<SampleRecord>, RunError> {
        let mut samples = Vec::new();
        for (index, flow) in self.flows.iter().enumerate() {
            let Some(socket) = &flow.kernel else { continue };
            if flow.start > now || now > flow.stop {
                continue;
            }
            let info = TcpInfo::of(socket.as_fd()).context(|| "reading TCP_INFO".to_owned())?;
            let values = values(&info, self.packet_per_payload[index]);
            let known = values.into_iter().filter_map(|(name, value)| Some((name, value?)));
            samples.extend(known.filter_map(|(name, value)| SampleRecord::new(now, index, name, value)));
        }
        Ok(samples)
    }
}

/// The quantities of a sender by name. TCP paces its payload; recordings count whole packets.
fn values(info: &TcpInfo, packet_per_payload: f64) -> [(&'static str, Option<f64>); 10] {
    let millis = |micros: u32| f64::from(micros) / 1e3;
    let bbr = info.bbr();
    [
        ("cwnd", Some(f64::from(info.cwnd()))),
        ("ssthresh", info.ssthresh().map(f64::from)),
        ("in_flight", Some(f64::from(info.in_flight()))),
        ("state", Some(f64::from(info.congestion_state()))),
        ("srtt", Some(info.srtt_us()).filter(|srtt| *srtt > 0).map(millis)),
        ("min_rtt", info.min_rtt_us().map(millis)),
        ("pacing_rate", info.pacing_rate().map(|rate| rate * packet_per_payload)),
        ("bw", bbr.map(|(bandwidth, ..)| bandwidth)),
        ("pacing_gain", bbr.map(|(_, gain, _)| gain)),
        ("cwnd_gain", bbr.map(|(.., gain)| gain)),
    ]
}

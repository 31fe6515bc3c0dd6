//! The probes of a scenario.

use serde::Deserialize;

use super::{Direction, Scenario, ScenarioError, invalid};
use crate::packet::{Ecn, FlowId};
use crate::transport::probe::{Answerer, Asker, ProbePacket};
use crate::units::{Bytes, Duration, Instant};

/// The most probes in one run.
pub const MAX_PROBES: usize = 100;
/// IP and UDP headers, and a number by which real packets are told apart.
const MIN_SIZE: u64 = 36;
/// As the largest packet of a flow, nearly what IP can carry.
const MAX_SIZE: u64 = 65_000;

/// The ECN codepoint of a probe's packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProbeEcn {
    /// Not ECN-capable.
    #[default]
    Off,
    /// ECT(0).
    Ect0,
    /// ECT(1).
    Ect1,
}

impl From<ProbeEcn> for Ecn {
    fn from(ecn: ProbeEcn) -> Self {
        match ecn {
            ProbeEcn::Off => Self::NotEct,
            ProbeEcn::Ect0 => Self::Ect0,
            ProbeEcn::Ect1 => Self::Ect1,
        }
    }
}

/// What a probe's packets are, where they are real.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProbeKind {
    /// Datagrams.
    #[default]
    Udp,
    /// ICMP echo requests, which the other host's kernel answers.
    Ping,
}

/// Small requests beside the flows, at fixed intervals over the whole path, each answered at once.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProbeConfig {
    /// What requests and answers are.
    #[serde(default)]
    pub kind: ProbeKind,
    /// Time between two requests.
    #[serde(rename = "interval_ns")]
    pub interval: Duration,
    /// IP size of requests and answers.
    #[serde(rename = "size_bytes")]
    pub size: Bytes,
    /// ECN codepoint of both.
    #[serde(default)]
    pub ecn: ProbeEcn,
    /// When the first request is sent.
    #[serde(rename = "start_ns")]
    pub start: Instant,
    /// No request is sent from then on.
    #[serde(rename = "stop_ns")]
    pub stop: Instant,
    /// Which way the requests go.
    #[serde(default)]
    pub direction: Direction,
}

impl Scenario {
    /// When the probe with this index sends its first request: its start, and a random time up to the start jitter.
    pub fn probe_start(&self, probe: usize) -> Instant {
        self.probes[probe].start + self.jitter_of(&format!("probe{}.start", probe + 1))
    }

    /// When the probe with this index falls silent, at the latest with the run.
    pub fn probe_stop(&self, probe: usize) -> Instant {
        self.probes[probe].stop.min(self.end())
    }

    /// The packets of the probe with this index, which are numbered behind those of the flows.
    pub fn probe_packet(&self, probe: usize) -> ProbePacket {
        let config = &self.probes[probe];
        ProbePacket { flow: FlowId((self.flows.len() + probe) as u32), size: config.size, ecn: config.ecn.into() }
    }

    /// The two ends of the probe with this index.
    pub fn probe_ends(&self, probe: usize) -> (Asker, Answerer) {
        let packet = self.probe_packet(probe);
        let interval = self.probes[probe].interval;
        (Asker::new(packet, interval, self.probe_start(probe), self.probe_stop(probe)), Answerer::new(packet))
    }

    pub(super) fn check_probes(&self) -> Result<(), ScenarioError> {
        if self.probes.len() > MAX_PROBES {
            return Err(invalid("probes", format!("{} probes; a run has at most {MAX_PROBES}", self.probes.len())));
        }
        for (number, probe) in (1..).zip(&self.probes) {
            let problem = if probe.start >= probe.stop || probe.start >= self.end() {
                "must start before it stops and before the run ends".to_owned()
            } else if probe.interval.is_zero() {
                "needs an interval of more than zero".to_owned()
            } else if !(MIN_SIZE..=MAX_SIZE).contains(&probe.size.count()) {
                format!("needs a size of {MIN_SIZE} to {MAX_SIZE} bytes")
            } else {
                continue;
            };
            return Err(invalid(format!("probe {number}"), problem));
        }
        Ok(())
    }
}

//! What one run is: a path, flows, probes and a duration, all in base units. The Python face resolves an experiment to
//! this.

mod probe;
mod stack;

use std::collections::{BTreeMap, BTreeSet};

use crate::hop::{HopConfig, LinkConfig};
use crate::packet::FlowId;
use crate::problem::Problem;
use crate::queue::QueueSetup;
use crate::random::RandomStream;
use crate::scheme::{self, ParameterError, Parameters, Scheme, Setup, Value};
use crate::traffic::{Source, TrafficConfig};
use crate::transport::stream::{AckMode, EcnMode, Ect, Pacing, Receiver, Sender, StreamConfig};
use crate::units::{Bytes, Duration, Instant, Rate};
use serde::Deserialize;

pub use probe::{MAX_PROBES, ProbeConfig, ProbeEcn, ProbeKind};

/// The most flows in one run.
pub const MAX_FLOWS: usize = 10_000;
/// The most hops in one direction.
pub const MAX_HOPS: usize = 64;
/// Segments that an on-off application is ahead of what has left, as one of a kernel's socket that blocks: one is queued,
/// and the next is in the call that waits until that one leaves.
const WRITTEN_AHEAD: u64 = 2;
/// The largest differentiated services codepoint: six bits.
const MAX_DSCP: u8 = 63;
/// The longest run: a day.
const MAX_DURATION: Duration = Duration::from_secs(86_400);

/// Why a scenario cannot be run.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ScenarioError {
    /// It is not the JSON of a scenario.
    #[error("not a scenario: {0}")]
    Malformed(String),
    /// A value makes no sense.
    #[error("{place}: {problem}")]
    Invalid {
        /// Where it stands.
        place: String,
        /// What is wrong and what would be right.
        problem: Problem,
    },
    /// A flow's scheme cannot be built.
    #[error("flow {flow}: {error}")]
    Scheme {
        /// Number of the flow from 1.
        flow: usize,
        /// What is wrong.
        error: ParameterError,
    },
}

/// How much is recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    /// Totals and percentiles.
    #[default]
    Summary,
    /// And what happened in every interval, and the senders' inner state.
    Series,
    /// And every packet.
    Packets,
}

/// What is recorded.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordConfig {
    /// How much.
    pub level: Level,
    /// Interval of the series.
    #[serde(rename = "interval_ns")]
    pub interval: Duration,
}

/// One of the two ways over the path, in which the data of a flow goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// Over the forward hops; acks return over the reverse hops.
    #[default]
    Forward,
    /// Over the reverse hops; acks return over the forward hops.
    Reverse,
}

impl Direction {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Forward, Self::Reverse];

    /// The word in experiment files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Forward => "forward",
            Self::Reverse => "reverse",
        }
    }
}

/// One sender-receiver pair.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlowConfig {
    /// Name of the scheme.
    pub scheme: String,
    /// Its parameters.
    #[serde(default)]
    pub parameters: BTreeMap<String, Value>,
    /// What the application sends.
    pub traffic: TrafficConfig,
    /// When it connects.
    #[serde(rename = "start_ns")]
    pub start: Instant,
    /// When it falls silent.
    #[serde(rename = "stop_ns")]
    pub stop: Instant,
    /// Which way the data goes.
    #[serde(default)]
    pub direction: Direction,
    /// Propagation delay of its own, each way.
    #[serde(rename = "extra_delay_ns", default)]
    pub extra_delay: Duration,
    /// Payload of a full packet.
    #[serde(rename = "mss_bytes", default = "default_mss")]
    pub mss: Bytes,
    /// IP and TCP headers.
    #[serde(rename = "header_bytes", default = "default_header")]
    pub header: Bytes,
    /// The most that may be outstanding.
    #[serde(rename = "receive_window_bytes", default)]
    pub receive_window: Option<Bytes>,
    /// Data waits for an answer of the receiver.
    #[serde(default = "default_handshake")]
    pub handshake: bool,
    /// Pacing of schemes without a rate.
    #[serde(default)]
    pub pacing: Pacing,
    /// The most at which its packets are paced.
    #[serde(rename = "max_pacing_rate_bps", default)]
    pub max_pacing_rate: Option<Rate>,
    /// When the receiver acknowledges.
    #[serde(default)]
    pub acks: AckMode,
    /// Packets that the pacer releases back to back.
    #[serde(default = "default_burst")]
    pub burst_packets: u32,
    /// Explicit congestion notification; `None` for what the scheme needs, and none if it needs none.
    #[serde(default)]
    pub ecn: Option<EcnMode>,
    /// The codepoint of packets that may be marked; `None` for the scheme's.
    #[serde(default)]
    pub ect: Option<Ect>,
    /// After a packet the next one waits a random time up to this.
    #[serde(rename = "send_jitter_ns", default)]
    pub send_jitter: Duration,
    /// Differentiated services codepoint of the packets with data; acks have none.
    #[serde(default)]
    pub dscp: u8,
}

fn default_mss() -> Bytes {
    StreamConfig::DEFAULT.mss
}

fn default_header() -> Bytes {
    StreamConfig::DEFAULT.header
}

fn default_handshake() -> bool {
    StreamConfig::DEFAULT.has_handshake
}

fn default_burst() -> u32 {
    StreamConfig::DEFAULT.burst_packets
}

/// One run.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Fixes every random number.
    pub seed: u64,
    /// Length of the run.
    #[serde(rename = "duration_ns")]
    pub duration: Duration,
    /// What is recorded.
    pub record: RecordConfig,
    /// Every flow and probe begins later by a random time up to this.
    #[serde(rename = "start_jitter_ns", default)]
    pub start_jitter: Duration,
    /// Hops from the senders to the receivers.
    pub forward: Vec<HopConfig>,
    /// Hops back.
    pub reverse: Vec<HopConfig>,
    /// The flows.
    pub flows: Vec<FlowConfig>,
    /// The probes beside them.
    #[serde(default)]
    pub probes: Vec<ProbeConfig>,
}

fn invalid(place: impl Into<String>, problem: impl Into<Problem>) -> ScenarioError {
    ScenarioError::Invalid { place: place.into(), problem: problem.into() }
}

impl Scenario {
    /// Reads and checks a scenario.
    pub fn from_json(json: &str) -> Result<Self, ScenarioError> {
        let scenario: Self = serde_json::from_str(json).map_err(|error| ScenarioError::Malformed(error.to_string()))?;
        scenario.check()?;
        Ok(scenario)
    }

    /// The largest IP packet that any flow or probe sends.
    pub fn largest_packet(&self) -> Bytes {
        let flows = self.flows.iter().map(FlowConfig::packet_size);
        let probes = self.probes.iter().map(|probe| probe.size);
        flows.chain(probes).max().unwrap_or_default()
    }

    /// When the run ends.
    pub fn end(&self) -> Instant {
        Instant::ZERO + self.duration
    }

    /// When the flow with this index connects: its start, and a random time up to the start jitter.
    pub fn start_of(&self, flow: usize) -> Instant {
        self.flows[flow].start + self.jitter_of(&format!("flow{}.start", flow + 1))
    }

    /// How much later than stated what is called `name` begins.
    fn jitter_of(&self, name: &str) -> Duration {
        if self.start_jitter.is_zero() {
            return Duration::ZERO;
        }
        Duration::from_nanos(RandomStream::new(self.seed, name).below(self.start_jitter.as_nanos()))
    }

    /// The two ends of the flow with this index, whose scheme is the one called `scheme`.
    pub fn ends(&self, flow: usize, scheme: &str) -> Result<(Sender, Receiver), ScenarioError> {
        self.ends_with(flow, scheme, |setup| self.scheme(flow, scheme, setup))
    }

    /// The scheme called `scheme`, with the parameters of the flow with this index.
    pub fn scheme(&self, flow: usize, scheme: &str, setup: Setup) -> Result<Box<dyn Scheme>, ScenarioError> {
        scheme::build(scheme, &self.flows[flow].parameters, setup)
            .map_err(|error| ScenarioError::Scheme { flow: flow + 1, error })
    }

    /// The two ends of the flow with this index, whose scheme, called `scheme`, somebody makes.
    pub fn ends_with<E: From<ScenarioError>>(
        &self,
        flow: usize,
        scheme: &str,
        make: impl FnOnce(Setup) -> Result<Box<dyn Scheme>, E>,
    ) -> Result<(Sender, Receiver), E> {
        let config = &self.flows[flow];
        let random = |part: &str| RandomStream::new(self.seed, &format!("flow{}.{part}", flow + 1));
        let (ecn, ect) = config.ecn_with(scheme).map_err(|problem| invalid(format!("flow {}", flow + 1), problem))?;
        let (id, stream, start) = (FlowId(flow as u32), config.stream().with_ecn(ecn, ect), self.start_of(flow));
        // What cannot do without accurate ECN sends a capable SYN (`TCP_CONG_NEEDS_ECN`, `tcp_ecn_send_syn`).
        let has_capable_syn = ecn == EcnMode::Accurate && scheme::needed_ecn(scheme).is_some();
        let setup = Setup {
            mss: stream.mss,
            mss_cache: stream.mss_cache(),
            packet_size: stream.packet_size(),
            is_paced: stream.is_paced(),
            random: random("scheme"),
            parameters: Parameters::default(),
        };
        let scheme = make(setup)?;
        let stream = StreamConfig { feedback: scheme.feedback(), has_capable_syn, ..stream };
        let source = Source::new(&config.traffic, start, random("traffic")).with_backlog(stream.mss * WRITTEN_AHEAD);
        let sender = Sender::new(id, stream, scheme, source, start, random("send"));
        Ok((sender, Receiver::new(id, stream)))
    }

    /// The hops of a direction, in order.
    pub fn hops(&self, direction: Direction) -> &[HopConfig] {
        match direction {
            Direction::Forward => &self.forward,
            Direction::Reverse => &self.reverse,
        }
    }

    /// When the flow with this index falls silent, at the latest with the run.
    pub fn stop_of(&self, flow: usize) -> Instant {
        self.flows[flow].stop.min(self.end())
    }

    fn check(&self) -> Result<(), ScenarioError> {
        if self.duration.is_zero() || self.duration > MAX_DURATION {
            return Err(invalid("duration", "must be more than zero and at most one day"));
        }
        if self.record.interval.is_zero() {
            return Err(invalid("record.interval", "must be more than zero"));
        }
        if !(1..=MAX_FLOWS).contains(&self.flows.len()) {
            return Err(invalid("flows", format!("{} flows; a run has 1 to {MAX_FLOWS}", self.flows.len())));
        }
        for direction in Direction::ALL {
            let (name, hops) = (direction.name(), self.hops(direction));
            if !(1..=MAX_HOPS).contains(&hops.len()) {
                let problem = format!("{} hops; a direction has 1 to {MAX_HOPS}", hops.len());
                return Err(invalid(format!("path.{name}"), problem));
            }
            for (index, hop) in hops.iter().enumerate() {
                hop.check(self.largest_packet()).map_err(|problem| invalid(format!("path.{name}.{index}"), problem))?;
            }
        }
        for (index, flow) in self.flows.iter().enumerate() {
            let place = format!("flow {}", index + 1);
            check_flow(&place, flow, self.end())?;
            let mut hops = self.hops(flow.direction).iter();
            if flow.receive_window.is_none() && hops.all(|hop| hop.link == LinkConfig::Unlimited) {
                return Err(invalid(
                    place,
                    "has no limit at all: give a hop on its way a rate, or the flow a receive window",
                ));
            }
        }
        self.check_queues()?;
        self.check_dscps()?;
        self.check_probes()
    }

    /// Checks what DSCPs meet on their way: a rule for one that no packet has would do nothing.
    fn check_dscps(&self) -> Result<(), ScenarioError> {
        for direction in Direction::ALL {
            let (name, hops) = (direction.name(), self.hops(direction));
            let senders = self.flows.iter().filter(|flow| flow.direction == direction);
            let mut known: BTreeSet<_> = senders.map(|flow| flow.dscp).chain([0]).collect();
            for (index, hop) in hops.iter().enumerate() {
                for rule in &hop.mangle {
                    if let Some(dscp) = rule.matching.dscp.filter(|dscp| !known.contains(dscp)) {
                        let problem = format!("mangle: no packet has DSCP {dscp} here; give a flow dscp = {dscp}");
                        return Err(invalid(format!("path.{name}.{index}"), problem));
                    }
                    known.extend(rule.set.dscp);
                }
                if let Some(problem) = hop.queue.problem_with_dscps().filter(|_| known.len() > 1) {
                    return Err(invalid(format!("path.{name}.{index}.queue"), problem));
                }
            }
        }
        Ok(())
    }

    fn check_queues(&self) -> Result<(), ScenarioError> {
        for direction in Direction::ALL {
            for (index, hop) in self.hops(direction).iter().enumerate() {
                let (name, mean_rate) = (format!("{}.{index}", direction.name()), hop.link.mean_rate());
                let setup =
                    QueueSetup { mean_rate, largest_packet: self.largest_packet(), seed: self.seed, hop: &name };
                hop.queue.check(&setup).map_err(|problem| invalid(format!("path.{name}.queue"), problem))?;
            }
        }
        Ok(())
    }
}

fn check_flow(place: &str, flow: &FlowConfig, end: Instant) -> Result<(), ScenarioError> {
    let problem = if flow.start >= flow.stop || flow.start >= end {
        "must start before it stops and before the run ends"
    } else if !(1..=65_000).contains(&flow.mss.count()) || flow.header.count() > 500 {
        "needs an MSS of 1 to 65000 bytes and headers of at most 500 bytes"
    } else if flow.burst_packets == 0 {
        "needs a burst of at least one packet"
    } else if flow.max_pacing_rate.is_some_and(Rate::is_zero) {
        "needs a max_pacing_rate above zero"
    } else if flow.dscp > MAX_DSCP {
        "needs a DSCP of 0 to 63"
    } else if flow.receive_window.is_some_and(|window| window < flow.mss) {
        "needs a receive window of at least one MSS"
    } else if matches!(flow.traffic, TrafficConfig::Finite { size: Bytes::ZERO }) {
        "needs a transfer of at least one byte"
    } else if matches!(flow.traffic, TrafficConfig::Bulk { write: Some(Bytes::ZERO) }) {
        "needs writes of at least one byte"
    } else if matches!(flow.traffic, TrafficConfig::OnOff { on, off, .. } if on.is_zero() || off.is_zero()) {
        "needs on and off periods of more than zero"
    } else {
        return flow.ecn_with(&flow.scheme).map(|_| ()).map_err(|problem| invalid(place, problem));
    };
    Err(invalid(place, problem))
}

impl FlowConfig {
    /// IP size of a full packet.
    pub fn packet_size(&self) -> Bytes {
        self.mss + self.header
    }

    /// How it uses ECN if its scheme is the one called `scheme`, or what is wrong with that.
    pub fn ecn_with(&self, scheme: &str) -> Result<(EcnMode, Ect), Problem> {
        let need = scheme::needed_ecn(scheme);
        let mode = self.ecn.or(need.map(|need| need.mode)).unwrap_or_default();
        let ect = self.ect.or(need.map(|need| need.ect)).unwrap_or_default();
        if let Some(need) = need.filter(|need| need.mode != mode) {
            return Err(Problem::new(format!(
                "{scheme} needs ecn = {:?}; set that, or leave ecn out",
                need.mode.name()
            )));
        }
        if mode == EcnMode::Off && self.ect.is_some() {
            return Err(Problem::new("has a codepoint but no ECN; set ecn, or leave ect out"));
        }
        if mode == EcnMode::Sce && ect == Ect::Ect1 {
            return Err(Problem::new("cannot send ECT(1), which is a mark with ecn = \"sce\"; leave ect out"));
        }
        Ok((mode, ect))
    }

    /// What both ends of the stream agree on, but for ECN.
    pub fn stream(&self) -> StreamConfig {
        StreamConfig {
            mss: self.mss,
            header: self.header,
            receive_window: self.receive_window,
            has_handshake: self.handshake,
            pacing: self.pacing,
            max_pacing_rate: self.max_pacing_rate,
            acks: self.acks,
            reads_at_once: !matches!(self.traffic, TrafficConfig::Bulk { .. }),
            burst_packets: self.burst_packets,
            send_jitter: self.send_jitter,
            ..StreamConfig::DEFAULT
        }
    }
}

//! Who takes part in a run.

use bakeoff_core::path::Path;
use bakeoff_core::scenario::{Scenario, ScenarioError};
use bakeoff_core::transport::probe::{Answerer, Asker};

use crate::Transport;
use crate::flow::Flow;
use crate::payload::Payload;

/// The two ends of a probe.
pub(crate) struct Probe {
    pub(crate) asker: Asker,
    pub(crate) answerer: Answerer,
}

/// Everyone who can be woken, by number: hops first, then sender and receiver of each flow, the askers of the probes, and
/// the sampler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Participant {
    Hop(usize),
    Sender(usize),
    Receiver(usize),
    Asker(usize),
    Sampler,
}

/// Numbers the participants.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Numbering {
    pub(crate) hops: usize,
    pub(crate) flows: usize,
    pub(crate) probes: usize,
}

impl Numbering {
    pub(crate) fn count(self) -> usize {
        self.hops + 2 * self.flows + self.probes + 1
    }

    pub(crate) fn number(self, participant: Participant) -> usize {
        match participant {
            Participant::Hop(hop) => hop,
            Participant::Sender(flow) => self.hops + 2 * flow,
            Participant::Receiver(flow) => self.hops + 2 * flow + 1,
            Participant::Asker(probe) => self.hops + 2 * self.flows + probe,
            Participant::Sampler => self.hops + 2 * self.flows + self.probes,
        }
    }

    pub(crate) fn participant(self, number: usize) -> Participant {
        match number.checked_sub(self.hops) {
            None => Participant::Hop(number),
            Some(end) if end == 2 * self.flows + self.probes => Participant::Sampler,
            Some(end) if end >= 2 * self.flows => Participant::Asker(end - 2 * self.flows),
            Some(end) if end % 2 == 0 => Participant::Sender(end / 2),
            Some(end) => Participant::Receiver(end / 2),
        }
    }
}

/// Who takes part.
pub(crate) struct Topology {
    pub(crate) path: Path<Payload>,
    pub(crate) flows: Vec<Flow>,
    pub(crate) probes: Vec<Probe>,
}

impl Topology {
    /// Builds the path, and the flows and probes over it.
    pub(crate) fn of<'a>(
        scenario: &Scenario,
        choose: impl FnMut(usize) -> Transport<'a>,
    ) -> Result<Self, ScenarioError> {
        let transports = (0..scenario.flows.len()).map(choose);
        let flows = transports.enumerate().map(|(index, transport)| Flow::of(scenario, index, transport));
        let probe = |index| {
            let (asker, answerer) = scenario.probe_ends(index);
            Probe { asker, answerer }
        };
        Ok(Self {
            path: Path::of(scenario)?,
            flows: flows.collect::<Result<_, _>>()?,
            probes: (0..scenario.probes.len()).map(probe).collect(),
        })
    }

    /// The numbers of everyone in it.
    pub(crate) fn numbering(&self) -> Numbering {
        Numbering { hops: self.path.hops.len(), flows: self.flows.len(), probes: self.probes.len() }
    }
}

#[cfg(test)]
mod tests {
    use bakeoff_core::agenda::Agenda;
    use bakeoff_core::scenario::{MAX_FLOWS, MAX_HOPS, MAX_PROBES};
    use bakeoff_core::units::Instant;

    use super::*;

    #[test]
    fn numbers_and_participants_match() {
        let numbering = Numbering { hops: 3, flows: 2, probes: 2 };
        for number in 0..numbering.count() {
            assert_eq!(numbering.number(numbering.participant(number)), number);
        }
        assert_eq!(numbering.participant(9), Participant::Sampler);
    }

    #[test]
    fn the_largest_run_fits_the_agenda() {
        let several = |item: &str, count: usize| vec![item; count].join(",");
        let hop = r#"{"link": {"kind": "constant", "rate_bps": 1}, "queue": {"kind": "fifo"}, "delay_ns": 0}"#;
        let hops = several(hop, MAX_HOPS);
        let flow =
            r#"{"scheme": "reno", "traffic": {"kind": "bulk"}, "start_ns": 0, "stop_ns": 1, "extra_delay_ns": 1}"#;
        let probe = r#"{"interval_ns": 1, "size_bytes": 64, "start_ns": 0, "stop_ns": 1}"#;
        let largest = |flows| {
            Scenario::from_json(&format!(
                r#"{{"seed": 1, "duration_ns": 86400000000000, "record": {{"level": "series", "interval_ns": 1}},
                "forward": [{hops}], "reverse": [{hops}], "flows": [{}], "probes": [{}]}}"#,
                several(flow, flows),
                several(probe, MAX_PROBES)
            ))
        };
        assert!(matches!(largest(MAX_FLOWS + 1), Err(ScenarioError::Invalid { place, .. }) if place == "flows"));
        let scenario = largest(MAX_FLOWS).unwrap();
        let topology = Topology::of(&scenario, |flow| Transport::named(&scenario, flow, &[])).unwrap();
        let numbering = topology.numbering();
        let mut agenda = Agenda::new(numbering.count(), numbering.hops);
        let end = Instant::from_nanos(scenario.duration_ns);
        for participant in [numbering.hops - 1, numbering.count() - 1] {
            agenda.set(participant, Some(end));
            assert_eq!(agenda.next(), Some((end, participant)));
            agenda.set(participant, None);
        }
    }
}

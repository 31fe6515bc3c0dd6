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

/// Who can be woken beside hops, by number: sender and receiver of each flow, the askers of the probes, and the sampler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Participant {
    Sender(usize),
    Receiver(usize),
    Asker(usize),
    Sampler,
}

/// Numbers the participants.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Numbering {
    pub(crate) flows: usize,
    pub(crate) probes: usize,
}

impl Numbering {
    pub(crate) fn count(self) -> usize {
        2 * self.flows + self.probes + 1
    }

    pub(crate) fn number(self, participant: Participant) -> usize {
        match participant {
            Participant::Sender(flow) => 2 * flow,
            Participant::Receiver(flow) => 2 * flow + 1,
            Participant::Asker(probe) => 2 * self.flows + probe,
            Participant::Sampler => 2 * self.flows + self.probes,
        }
    }

    pub(crate) fn participant(self, number: usize) -> Participant {
        match number.checked_sub(2 * self.flows) {
            Some(probe) if probe == self.probes => Participant::Sampler,
            Some(probe) => Participant::Asker(probe),
            None if number.is_multiple_of(2) => Participant::Sender(number / 2),
            None => Participant::Receiver(number / 2),
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

    /// The numbers of all who are no hops.
    pub(crate) fn numbering(&self) -> Numbering {
        Numbering { flows: self.flows.len(), probes: self.probes.len() }
    }
}

#[cfg(test)]
mod tests {
    use bakeoff_core::agenda::{Agenda, Turn};
    use bakeoff_core::scenario::{MAX_FLOWS, MAX_HOPS, MAX_PROBES};
    use bakeoff_core::units::Instant;

    use super::*;

    #[test]
    fn numbers_and_participants_match() {
        let numbering = Numbering { flows: 2, probes: 2 };
        for number in 0..numbering.count() {
            assert_eq!(numbering.number(numbering.participant(number)), number);
        }
        assert_eq!(numbering.participant(6), Participant::Sampler);
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
        let (hops, others) = (topology.path.hops.len(), topology.numbering().count());
        let mut agenda = Agenda::new(hops, others);
        let end = Instant::from_nanos(scenario.duration_ns);
        agenda.others.set(others - 1, Some(end));
        assert_eq!(agenda.next(), Some((end, Turn::Other(others - 1))));
        agenda.hops.set(hops - 1, Some(end));
        assert_eq!(agenda.next(), Some((end, Turn::Hop(hops - 1))));
    }
}

//! Who takes part in a run.

use bakeoff_core::path::Path;
use bakeoff_core::scenario::{FlowConfig, Scenario, ScenarioError};
use bakeoff_core::transport::probe::{Answerer, Asker};
use bakeoff_core::units::Duration;

use crate::Transport;
use crate::flow::Flow;
use crate::payload::Payload;
use crate::roster::{Participant, Roster, TimerId};
use crate::sides::{Side, Sides};

/// The two ends of a probe.
pub(crate) struct Probe {
    pub(crate) asker: Asker,
    pub(crate) answerer: Answerer,
    pub(crate) asker_timer: TimerId,
}

/// Who takes part.
pub(crate) struct Topology {
    pub(crate) path: Path<Payload>,
    /// By number of the hop: where what comes out of it is dealt with.
    pub(crate) hop_sides: Vec<Side>,
    /// How long the near side can be run without the far one.
    pub(crate) lookahead: Duration,
    pub(crate) flows: Vec<Flow>,
    pub(crate) probes: Vec<Probe>,
    pub(crate) roster: Roster,
}

impl Topology {
    /// Builds the path, and the flows and probes over it.
    pub(crate) fn of<'a>(
        scenario: &Scenario,
        sides: Sides,
        mut choose: impl FnMut(usize) -> Transport<'a>,
    ) -> Result<Self, ScenarioError> {
        let mut roster = Roster::default();
        let flow = |(index, flow): (usize, &FlowConfig)| {
            let sender_timer = roster.add(sides.sender(flow.direction), Participant::Sender(index));
            let receiver_timer = roster.add(sides.receiver(flow.direction), Participant::Receiver(index));
            Flow::of(scenario, index, choose(index), sender_timer, receiver_timer)
        };
        let flows = scenario.flows.iter().enumerate().map(flow).collect::<Result<_, _>>()?;
        let probe = |index: usize| {
            let (asker, answerer) = scenario.probe_ends(index);
            let side = sides.sender(scenario.probes[index].direction);
            Probe { asker, answerer, asker_timer: roster.add(side, Participant::Asker(index)) }
        };
        let probes = (0..scenario.probes.len()).map(probe).collect();
        let (path, hop_sides) = (Path::of(scenario)?, sides.hops(scenario).collect());
        Ok(Self { path, hop_sides, lookahead: sides.lookahead(), flows, probes, roster })
    }
}

#[cfg(test)]
mod tests {
    use bakeoff_core::agenda::{Agenda, Turn};
    use bakeoff_core::scenario::{MAX_FLOWS, MAX_HOPS, MAX_PROBES};

    use super::*;

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
        let choose = |flow| Transport::named(&scenario, flow, &[]);
        let topology = Topology::of(&scenario, Sides::ONE, choose).unwrap();
        let (hops, others) = (topology.path.hops.len(), topology.roster.count(Side::Near));
        assert_eq!((hops, topology.hop_sides.len()), (2 * MAX_HOPS + 2 * MAX_FLOWS, hops));
        let mut agenda = Agenda::new(hops, others);
        let end = scenario.end();
        agenda.others.set(others - 1, Some(end));
        assert_eq!(agenda.next(), Some((end, Turn::Other(others - 1))));
        agenda.hops.set(hops - 1, Some(end));
        assert_eq!(agenda.next(), Some((end, Turn::Hop(hops - 1))));
    }
}

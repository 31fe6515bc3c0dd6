//! Runs that are taken from decision to decision: several at a time, each with one flow that an agent steers.

use std::sync::{Mutex, PoisonError};

use bakeoff_core::problem::Problem;
use bakeoff_core::units::{Duration, Instant, Rate};
use bakeoff_sim::agent::{Agent, FIELDS};
use bakeoff_sim::{Error, Scenario, ScenarioError, Simulation, Transport};
use bakeoff_stacks::STACKS;

/// How exactly the first acknowledgement is found.
const PIECE: Duration = Duration::from_millis(1);

/// A run under way, and who steers a flow of it.
struct Episode {
    simulation: Simulation,
    agent: Agent,
}

/// What an agent decides, and until when.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Decision {
    pub(crate) cwnd: u32,
    /// None: without pacing.
    pub(crate) pacing_rate: Option<Rate>,
    pub(crate) until: Instant,
}

/// Runs by number.
pub(crate) struct Episodes(Mutex<Vec<Option<Episode>>>);

impl Decision {
    /// Of the numbers of Python: a rate of zero is none, and a time that is not a number, or is below zero, is zero.
    pub(crate) fn new(cwnd: u32, rate_bps: f64, until_s: f64) -> Self {
        let pacing_rate = (rate_bps > 0.0).then(|| Rate::from_bits_per_second_f64(rate_bps));
        Self { cwnd, pacing_rate, until: Instant::from_nanos((until_s * 1e9).round() as u64) }
    }
}

impl Episodes {
    pub(crate) fn new(count: usize) -> Self {
        Self(Mutex::new((0..count).map(|_| None).collect()))
    }

    /// Begins a run in a place, whose flow `flow` (from 0) is steered, and takes it to the first acknowledgement; what
    /// happened so far.
    pub(crate) fn begin(&self, place: usize, scenario_json: &str, flow: usize) -> Result<[f64; FIELDS.len()], Error> {
        let scenario = Scenario::from_json(scenario_json)?;
        let agent = Agent::default();
        let mut simulation = Simulation::with_transports(&scenario, |index| {
            if index == flow {
                Transport::Stream(Box::new(|setup| Ok(agent.scheme(&setup))))
            } else {
                Transport::named(&scenario, index, STACKS)
            }
        })?;
        let mut episodes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = episodes.len();
        let Some(held) = episodes.get_mut(place) else {
            let problem = Problem::new(format!("there are {known}, counted from 0"));
            return Err(ScenarioError::Invalid { place: format!("episode {place}"), problem }.into());
        };
        while !agent.is_connected() && simulation.now() < simulation.end() {
            simulation.run_until(simulation.now() + PIECE);
        }
        let row = agent.take(simulation.now());
        *held = Some(Episode { simulation, agent });
        Ok(row)
    }

    /// Takes every run to the next decision, and tells what happened in each: [`FIELDS`], one row a run. A run whose
    /// place is empty has a row of what is not a number.
    pub(crate) fn step(&self, decisions: &[Decision]) -> Vec<f64> {
        let mut episodes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let step = |(episode, decision): (&mut Option<Episode>, &Decision)| {
            let Some(Episode { simulation, agent }) = episode else { return [f64::NAN; FIELDS.len()] };
            agent.decide(decision.cwnd, decision.pacing_rate);
            simulation.run_until(decision.until);
            agent.take(simulation.now())
        };
        episodes.iter_mut().zip(decisions).flat_map(step).collect()
    }

    /// The runs in which a flow has lost its connection, and what is to be said of it.
    pub(crate) fn losses(&self) -> Vec<(usize, String)> {
        let episodes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let loss = |episode: &Option<Episode>| Some(episode.as_ref()?.simulation.loss()?.to_string());
        episodes.iter().enumerate().filter_map(|(place, episode)| Some((place, loss(episode)?))).collect()
    }

    pub(crate) fn count(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).len()
    }
}

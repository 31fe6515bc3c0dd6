//! Schemes that are computed in Python: a callable takes a message and returns the answer.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use bakeoff_core::problem::Problem;
use bakeoff_core::scheme::external::{Answer, Channel, ExternalScheme, hello};
use bakeoff_core::units::Duration;
use bakeoff_sim::{Error, Recording, Scenario, ScenarioError, Simulation, Transport};
use bakeoff_stacks::STACKS;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// How often it is asked whether a scheme has failed, in the time of the run. It makes no difference to what a run
/// does.
const PIECE: Duration = Duration::from_millis(10);

/// Callables by index of the flow.
pub(crate) type Callables = BTreeMap<usize, Py<PyAny>>;

/// Why a run gave no recording.
pub(crate) enum Failure {
    Run(Error),
    /// What a scheme said, or Python of it.
    Scheme(String),
}

impl<E: Into<Error>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::Run(error.into())
    }
}

struct Callable {
    flow: usize,
    function: Py<PyAny>,
    failure: Arc<OnceLock<String>>,
}

impl Callable {
    fn call(&self, message: &[u8]) -> Result<Answer, String> {
        Python::attach(|py| {
            let answer = self.function.call1(py, (PyBytes::new(py, message),)).map_err(|error| error.to_string())?;
            let bytes = answer.cast_bound::<PyBytes>(py).map_err(|error| error.to_string())?;
            Answer::decode(bytes.as_bytes())
        })
    }
}

impl Channel for Callable {
    fn exchange(&mut self, message: &[u8]) -> Option<Answer> {
        let answer = self.call(message);
        answer.map_err(|problem| self.failure.get_or_init(|| format!("flow {}: {problem}", self.flow + 1))).ok()
    }
}

/// A flow with a scheme that a callable computes.
fn called(flow: usize, function: &Py<PyAny>, failure: Arc<OnceLock<String>>) -> Transport<'_> {
    Transport::Stream(Box::new(move |mut setup| {
        let function = Python::attach(|py| function.clone_ref(py));
        let callable = Callable { flow, function, failure };
        let unmade =
            |sentence| ScenarioError::Invalid { place: format!("flow {}", flow + 1), problem: Problem::new(sentence) };
        let first = callable.call(&hello(&mut setup)).map_err(unmade)?;
        Ok(Box::new(ExternalScheme::new(&setup, first, callable)))
    }))
}

/// Runs a scenario to its end, or until one of the callables fails.
pub(crate) fn run(scenario: &Scenario, callables: &Callables) -> Result<Recording, Failure> {
    let failure = Arc::new(OnceLock::new());
    let choose = |flow| match callables.get(&flow) {
        Some(function) => called(flow, function, Arc::clone(&failure)),
        None => Transport::named(scenario, flow, STACKS),
    };
    let mut simulation = Simulation::with_transports(scenario, choose)?;
    while simulation.now() < simulation.end() {
        simulation.run_until(simulation.now() + PIECE);
        if let Some(sentence) = failure.get() {
            return Err(Failure::Scheme(sentence.clone()));
        }
    }
    Ok(simulation.finish()?)
}

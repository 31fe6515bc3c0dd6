//! `bakeoff._core`: the door between the Python face and the simulator.
//!
//! Scenarios and descriptions pass as JSON, recordings as numpy arrays. Nothing is decided here.

mod convert;
mod episodes;
mod schemes;

use pyo3::prelude::*;

#[pymodule]
mod _core {
    use std::path::Path;

    use bakeoff_core::record::{self, Table};
    use bakeoff_core::{queue, scheme};
    use bakeoff_emu::job::{Job, check_emulated as check_real_time};
    use bakeoff_emu::qdisc;
    use bakeoff_emu::tables::{LogError, from_events, from_log};
    use bakeoff_sim::agent::FIELDS;
    use bakeoff_sim::{Error, Scenario, check_stacks};
    use bakeoff_stacks::STACKS;
    use numpy::ndarray::Array2;
    use numpy::{IntoPyArray, PyArray1, PyArray2, PyReadonlyArray1};
    use pyo3::create_exception;
    use pyo3::exceptions::{PyOSError, PyRuntimeError, PyValueError};
    use pyo3::prelude::*;
    use pyo3::types::PyDict;

    use crate::convert::{Listed, to_dict, to_json};
    use crate::episodes::{self, Decision};
    use crate::schemes::{self as callables, Callables, Failure};

    create_exception!(bakeoff._core, ScenarioError, PyValueError, "The scenario cannot be run as it stands.");
    create_exception!(bakeoff._core, ConnectionLost, PyRuntimeError, "A stack gave the connection of a flow up.");
    create_exception!(bakeoff._core, ConservationError, PyRuntimeError, "The packets of a finished run do not add up.");
    create_exception!(bakeoff._core, SchemeError, PyRuntimeError, "A scheme that is computed outside has failed.");

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("ConnectionLost", module.py().get_type::<ConnectionLost>())?;
        module.add("ScenarioError", module.py().get_type::<ScenarioError>())?;
        module.add("SchemeError", module.py().get_type::<SchemeError>())?;
        module.add("INTERVAL_FIELDS", FIELDS.to_vec())?;
        module.add("ConservationError", module.py().get_type::<ConservationError>())
    }

    /// Runs one resolved scenario in virtual time, with the interpreter lock released while no scheme needs it.
    #[pyfunction]
    #[pyo3(signature = (scenario_json, schemes=None))]
    fn run<'py>(py: Python<'py>, scenario_json: &str, schemes: Option<Callables>) -> PyResult<Bound<'py, PyDict>> {
        let schemes = schemes.unwrap_or_default();
        let done = py.detach(|| {
            let scenario = Scenario::from_json(scenario_json).map_err(Error::from)?;
            callables::run(&scenario, &schemes)
        });
        let recording = done.map_err(|failure| match failure {
            Failure::Run(error) => to_exception(&error),
            Failure::Scheme(sentence) => SchemeError::new_err(sentence),
        })?;
        to_dict(py, recording.tables)
    }

    fn to_exception(error: &Error) -> PyErr {
        match error {
            Error::Scenario(error) => ScenarioError::new_err(error.to_string()),
            Error::Lost(_) => ConnectionLost::new_err(error.to_string()),
            Error::Conservation(_) => ConservationError::new_err(error.to_string()),
        }
    }

    /// Runs in virtual time, each with a flow that is steered from decision to decision.
    #[pyclass(frozen)]
    struct Episodes(episodes::Episodes);

    #[pymethods]
    impl Episodes {
        #[new]
        fn new(count: usize) -> Self {
            Self(episodes::Episodes::new(count))
        }

        /// Begins a run in a place, and takes it to the first acknowledgement of its flow with the index `flow`.
        fn begin<'py>(
            &self,
            py: Python<'py>,
            place: usize,
            scenario_json: &str,
            flow: usize,
        ) -> PyResult<Bound<'py, PyArray1<f64>>> {
            let row = py.detach(|| self.0.begin(place, scenario_json, flow));
            Ok(row.map_err(|error| to_exception(&error))?.to_vec().into_pyarray(py))
        }

        /// Takes every run to its next decision, with the interpreter lock released.
        #[expect(clippy::needless_pass_by_value, reason = "what Python hands over")]
        fn step<'py>(
            &self,
            py: Python<'py>,
            cwnd: PyReadonlyArray1<'py, u32>,
            rate_bps: PyReadonlyArray1<'py, f64>,
            until_s: PyReadonlyArray1<'py, f64>,
        ) -> PyResult<Bound<'py, PyArray2<f64>>> {
            let (cwnd, rate_bps, until_s) = (cwnd.as_array(), rate_bps.as_array(), until_s.as_array());
            let count = self.0.count();
            if [cwnd.len(), rate_bps.len(), until_s.len()] != [count; 3] {
                return Err(PyValueError::new_err(format!("every array must have {count} numbers, one a run")));
            }
            let decisions: Vec<_> = cwnd
                .iter()
                .zip(rate_bps)
                .zip(until_s)
                .map(|((&cwnd, &rate_bps), &until_s)| Decision::new(cwnd, rate_bps, until_s))
                .collect();
            let rows = py.detach(|| self.0.step(&decisions));
            let rows = Array2::from_shape_vec((count, FIELDS.len()), rows);
            Ok(rows.map_err(|error| PyRuntimeError::new_err(error.to_string()))?.into_pyarray(py))
        }

        /// The runs in which a flow has lost its connection, and what is to be said of it.
        fn losses(&self) -> Vec<(usize, String)> {
            self.0.losses()
        }
    }

    /// Checks that the simulator can run a resolved scenario.
    #[pyfunction]
    fn check(scenario_json: &str) -> PyResult<()> {
        Scenario::from_json(scenario_json)
            .and_then(|scenario| check_stacks(&scenario, STACKS))
            .map_err(|error| ScenarioError::new_err(error.to_string()))
    }

    /// Checks the parameters of a scheme, a JSON object, and the files that they name.
    #[pyfunction]
    fn check_scheme(name: &str, parameters_json: &str) -> PyResult<()> {
        let parameters =
            serde_json::from_str(parameters_json).map_err(|error| ScenarioError::new_err(error.to_string()))?;
        scheme::check(name, &parameters).map_err(|error| ScenarioError::new_err(error.to_string()))
    }

    /// Checks that a kernel can run a resolved scenario.
    #[pyfunction]
    fn check_for_kernel(scenario_json: &str) -> PyResult<()> {
        Job::from_json(scenario_json).map_err(|error| ScenarioError::new_err(error.to_string()))?;
        Ok(())
    }

    /// Checks that the emulated world can run a resolved scenario.
    #[pyfunction]
    fn check_emulated(scenario_json: &str) -> PyResult<()> {
        check_real_time(scenario_json, STACKS).map_err(|error| ScenarioError::new_err(error.to_string()))
    }

    /// The tables of an emulated run, from the logs that it left in a folder, with the interpreter lock released.
    #[pyfunction]
    fn tables_from_events<'py>(py: Python<'py>, scenario_json: &str, folder: &str) -> PyResult<Bound<'py, PyDict>> {
        to_tables(py, py.detach(|| from_events(scenario_json, Path::new(folder))))
    }

    /// The tables of a run on a real kernel, from the logs that it left in a folder, with the interpreter lock
    /// released.
    #[pyfunction]
    fn tables_from_log<'py>(py: Python<'py>, scenario_json: &str, folder: &str) -> PyResult<Bound<'py, PyDict>> {
        to_tables(py, py.detach(|| from_log(scenario_json, Path::new(folder))))
    }

    fn to_tables(py: Python<'_>, read: Result<Vec<Table>, LogError>) -> PyResult<Bound<'_, PyDict>> {
        let tables = read.map_err(|error| match error {
            LogError::Job(error) => ScenarioError::new_err(error.to_string()),
            LogError::File { .. } | LogError::Cut { .. } => PyOSError::new_err(error.to_string()),
            LogError::Unsent { .. } | LogError::Conservation(_) => ConservationError::new_err(error.to_string()),
        })?;
        to_dict(py, tables)
    }

    /// The congestion-control schemes, and behind them the stacks with each of their controllers, as a JSON array.
    #[pyfunction]
    fn schemes() -> PyResult<String> {
        let schemes = scheme::SCHEMES.iter().map(|entry| (entry.info, entry.validation.text()));
        let stacks = STACKS.iter().map(|entry| (entry.info, "it is the original".to_owned()));
        let listed = schemes.chain(stacks).map(|(info, validation)| Listed::new(info, Some(validation)));
        to_json(&listed.collect::<Vec<_>>())
    }

    /// The queueing disciplines, as a JSON array.
    #[pyfunction]
    fn queues() -> PyResult<String> {
        to_json(&queue::QUEUES.iter().map(|info| Listed::new(*info, None)).collect::<Vec<_>>())
    }

    /// How queues map to the queueing disciplines of Linux, as a JSON array.
    #[pyfunction]
    fn qdiscs() -> PyResult<String> {
        to_json(&qdisc::mappings().collect::<Vec<_>>())
    }

    /// The tables of a recording, as a JSON array.
    #[pyfunction]
    fn tables() -> PyResult<String> {
        to_json(&record::tables())
    }

    /// The telemetry that every sender has, whatever its scheme, as a JSON array.
    #[pyfunction]
    fn telemetry() -> PyResult<String> {
        to_json(record::TELEMETRY)
    }

    /// The version of the core.
    #[pyfunction]
    fn version() -> &'static str {
        env!("CARGO_PKG_VERSION")
    }
}

//! Recordings as Python sees them: numbers as numpy arrays that own the simulator's memory, words as lists, or as such
//! arrays of indices into a list.

use bakeoff_core::info::Info;
use bakeoff_core::record::{Column, Names, Table};
use numpy::IntoPyArray;
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use serde::Serialize;

/// A scheme, a stack or a queue, for lists.
#[derive(Serialize)]
pub(crate) struct Listed {
    #[serde(flatten)]
    info: Info,
    /// What the results of a scheme or a stack are held against.
    #[serde(skip_serializing_if = "Option::is_none")]
    validation: Option<String>,
    /// Where it differs from its source, in Markdown; from the doc of its module.
    deviations: &'static str,
}

impl Listed {
    pub(crate) fn new(info: Info, validation: Option<String>) -> Self {
        let key = info.name.split_once(':').map_or(info.name, |(stack, _)| stack);
        let deviations = DEVIATIONS.iter().find(|(known, _)| *known == key).map_or("", |(_, text)| text);
        Self { info, validation, deviations }
    }
}

include!(concat!(env!("OUT_DIR"), "/deviations.rs"));

/// `{"tables": {table: {column: values}}}`.
pub(crate) fn to_dict(py: Python<'_>, recorded: Vec<Table>) -> PyResult<Bound<'_, PyDict>> {
    let tables = PyDict::new(py);
    for table in recorded {
        let columns = PyDict::new(py);
        for (name, column) in table.columns {
            columns.set_item(name, to_values(py, column)?)?;
        }
        tables.set_item(table.name, columns)?;
    }
    let result = PyDict::new(py);
    result.set_item("tables", tables)?;
    Ok(result)
}

fn to_values(py: Python<'_>, column: Column) -> PyResult<Bound<'_, PyAny>> {
    Ok(match column {
        Column::U32(values) => values.into_pyarray(py).into_any(),
        Column::U64(values) => values.into_pyarray(py).into_any(),
        Column::I64(values) => values.into_pyarray(py).into_any(),
        Column::F64(values) => values.into_pyarray(py).into_any(),
        Column::Bool(values) => values.into_pyarray(py).into_any(),
        Column::Text(values) => PyList::new(py, values)?.into_any(),
        Column::Category { codes, names } => (codes.into_pyarray(py), names).into_bound_py_any(py)?,
        Column::Names(Names { codes, names }) => (codes.into_pyarray(py), names).into_bound_py_any(py)?,
    })
}

/// A description as JSON.
pub(crate) fn to_json<T: Serialize + ?Sized>(value: &T) -> PyResult<String> {
    serde_json::to_string(value).map_err(|error| PyRuntimeError::new_err(error.to_string()))
}

//! Between Rust and Python: what is refused as an exception, workloads and results as JSON, and Python's poll function.

use pyo3::prelude::*;

pyo3::import_exception!(mileage.errors, Refused);

/// The exception for what the core refuses: a sentence, which belongs to no option or file.
#[expect(clippy::needless_pass_by_value, reason = "handed over by `map_err`")]
pub(crate) fn refused(sentence: impl ToString) -> PyErr {
    Refused::new_err((String::new(), sentence.to_string()))
}

/// Call Python's poll function; true means stop now.
pub(crate) fn ask(py: Python<'_>, poll: Option<&Py<PyAny>>, bytes: u64, operations: u64) -> PyResult<bool> {
    py.check_signals()?;
    poll.map_or(Ok(false), |poll| poll.call1(py, (bytes, operations))?.extract(py))
}

pub(crate) fn parse_workload(text: &str) -> PyResult<mileage_workload::Workload> {
    serde_json::from_str(text).map_err(|cause| pyo3::exceptions::PyValueError::new_err(format!("workload: {cause}")))
}

pub(crate) fn to_json<T: serde::Serialize>(value: &T) -> PyResult<String> {
    serde_json::to_string(value).map_err(|cause| pyo3::exceptions::PyValueError::new_err(cause.to_string()))
}

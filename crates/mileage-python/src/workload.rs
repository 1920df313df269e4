//! The rules of the workload value.

use crate::parse_workload;
use pyo3::prelude::*;

/// Why a workload (JSON) cannot be done on any target, in one line; `None` when it can. Raises `ValueError` when the
/// text is no workload at all: an unknown field, a missing one, or a number that its field cannot hold.
#[pyfunction]
pub fn check_workload(workload: &str) -> PyResult<Option<String>> {
    Ok(parse_workload(workload)?.check().err().map(|cause| cause.to_string()))
}

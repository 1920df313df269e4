//! Check a workload from Python by the rules of the core.

use crate::conversions::{parse_workload, to_json};
use crate::file::parse_options;
use mileage_engine::{Generator, file_duplicates};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::path::PathBuf;

/// Why a workload (JSON) cannot be done on any target, in one line; `None` when it can. With `options` (JSON), as
/// `run_file` takes them, also why a real target cannot be reached in that way. Raises `ValueError` when the text is no
/// workload at all: an unknown field, a missing one, or a number that its field cannot hold.
#[pyfunction]
#[pyo3(signature = (workload, options = None))]
pub fn check_workload(workload: &str, options: Option<&str>) -> PyResult<Option<String>> {
    let workload = parse_workload(workload)?;
    if let Err(cause) = workload.check() {
        return Ok(Some(cause.to_string()));
    }
    let Some(options) = options else { return Ok(None) };
    let options = parse_options(PathBuf::new(), options)?;
    Ok(mileage_engine::check(&workload, &options).err().map(|cause| cause.to_string()))
}

/// The first rule that a workload (JSON) breaks on every target: name of the field, and what is wrong with it; `None` when
/// it breaks none. Raises `ValueError` as `check_workload` does.
#[pyfunction]
pub fn workload_problem(workload: &str) -> PyResult<Option<(String, String)>> {
    let checked = parse_workload(workload)?.check();
    Ok(checked.err().map(|cause| (cause.field(), cause.reason())))
}

/// As `workload_problem`, of an operation on names and inodes (JSON). Raises `ValueError` where it is none.
#[pyfunction]
pub fn metadata_problem(metadata: &str) -> PyResult<Option<(String, String)>> {
    let parsed: Result<mileage_workload::Metadata, _> = serde_json::from_str(metadata);
    let checked = parsed.map_err(|cause| PyValueError::new_err(format!("metadata: {cause}")))?.check();
    Ok(checked.err().map(|cause| (cause.field(), cause.reason())))
}

/// What compressors really save on a workload's (JSON) content: bytes of a sample, and bytes that zlib, zstd and lz4 make
/// of it, as JSON. Takes some hundredths of a second. Raises `ValueError` when the workload cannot be done.
#[pyfunction]
pub fn content_saved(py: Python<'_>, workload: &str) -> PyResult<String> {
    let workload = parse_workload(workload)?;
    let measured = py.detach(|| Generator::new(&workload)?.measure());
    let measured = measured.map_err(|cause| PyValueError::new_err(cause.to_string()))?;
    to_json(&measured)
}

/// Shares of 4 KiB blocks that equal another one (JSON) in files of `file_bytes` that children of IOzone write with a
/// content (JSON), made of records of `record_bytes`: in one, in another child's, in those of all; `None` for contents that
/// are not IOzone's. Raises `ValueError` for what is no content.
#[pyfunction]
pub fn iozone_duplicates(
    py: Python<'_>,
    content: &str,
    record_bytes: u32,
    file_bytes: u64,
    children: u32,
) -> PyResult<Option<String>> {
    let content = serde_json::from_str(content).map_err(|cause| PyValueError::new_err(format!("content: {cause}")))?;
    py.detach(|| file_duplicates(content, record_bytes, file_bytes, children)).map(|found| to_json(&found)).transpose()
}

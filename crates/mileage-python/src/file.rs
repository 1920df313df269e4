//! A workload on a real file.

use crate::{Refused, ask, parse_workload, to_json};
use mileage_engine::{Options, ThreadIo, start};
use mileage_measure::RunRecord;
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use std::path::PathBuf;
use std::time::Duration;

/// A record, and beside it what the kernel counted for each worker thread.
#[derive(serde::Serialize)]
struct Audited<'a> {
    #[serde(flatten)]
    record: &'a RunRecord,
    audit: &'a Option<Vec<ThreadIo>>,
}

const POLL: Duration = Duration::from_millis(50);

/// Do a workload (JSON) on the existing file or block device at `path` and return its record (JSON).
///
/// `options` (JSON) are the engine's: `direct`, `api`, `dsync`, `pin_cpus`, `timeout_ns`, `log`, `create`; what is left
/// out is off. `poll(bytes, operations)` is called twenty times a second; when it answers true the run is interrupted.
/// An I/O error stands in the record. `audit` beside it has the kernel's own count of bytes and calls for each worker
/// thread, or null where the kernel keeps none. Raises `mileage.errors.Refused` when the file, the workload or the
/// options cannot be used, and `OSError` when the run is void.
#[pyfunction]
#[pyo3(signature = (path, workload, options = "{}", poll = None))]
#[expect(clippy::needless_pass_by_value, reason = "an argument from Python arrives owned")]
pub fn run_file(
    py: Python<'_>,
    path: PathBuf,
    workload: &str,
    options: &str,
    poll: Option<Py<PyAny>>,
) -> PyResult<String> {
    let options: Options =
        serde_json::from_str(options).map_err(|cause| Refused::new_err(format!("options: {cause}")))?;
    let options = Options { path, audit: true, ..options };
    let wrap = |error: mileage_engine::Error| {
        if error.is_refusal() { Refused::new_err(error.to_string()) } else { PyOSError::new_err(error.to_string()) }
    };
    let handle = start(parse_workload(workload)?, options).map_err(wrap)?;
    loop {
        if let Some(finished) = py.detach(|| handle.wait(POLL)) {
            let finished = finished.map_err(wrap)?;
            return to_json(&Audited { record: &finished.record, audit: &finished.audit });
        }
        let done = handle.progress();
        match ask(py, poll.as_ref(), done.bytes, done.operations) {
            Ok(false) => {}
            Ok(true) => handle.stop(),
            Err(error) => {
                handle.stop();
                return Err(error);
            }
        }
    }
}

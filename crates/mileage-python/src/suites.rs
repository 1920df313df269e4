//! Python functions that run IOzone's tests and metadata operations on real files and directories.

use crate::conversions::{ask, refused, to_json};
use crate::file::{self, shifted};
use mileage_engine::{
    Error, Identity, Job, MetadataShare, TestShareResult, iozone_differences, start_iozone_watched, start_metadata,
    start_metadata_share, start_test_share,
};
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::mpsc::channel;
use std::time::Duration;

const POLL: Duration = Duration::from_millis(50);

fn wrap(error: Error) -> PyErr {
    if error.is_refusal() { refused(error) } else { PyOSError::new_err(error.to_string()) }
}

fn parse<T: serde::de::DeserializeOwned>(what: &str, text: &str) -> PyResult<T> {
    serde_json::from_str(text).map_err(|cause| refused(format!("{what}: {cause}")))
}

/// Wait for a job's end. It is stopped when `poll` answers true. An exception stops it as well, and is raised when the
/// job has removed what it made; a second one ends that too.
fn follow<T>(py: Python<'_>, job: &Job<T>, poll: Option<&Py<PyAny>>) -> PyResult<String>
where
    T: Clone + Send + serde::Serialize + 'static,
{
    follow_parts(py, job, poll, || Ok(()))
}

/// As `follow`, and `parts` hands on what is done of it after each wait.
fn follow_parts<T>(
    py: Python<'_>,
    job: &Job<T>,
    poll: Option<&Py<PyAny>>,
    mut parts: impl FnMut() -> PyResult<()>,
) -> PyResult<String>
where
    T: Clone + Send + serde::Serialize + 'static,
{
    let mut stopped = false;
    let mut raised = None;
    loop {
        let ended = py.detach(|| job.wait(POLL));
        if raised.is_none()
            && let Err(error) = parts()
        {
            job.stop();
            stopped = true;
            raised = Some(error);
        }
        if let Some(outcome) = ended {
            return raised.map_or_else(|| to_json(&outcome.map_err(wrap)?), Err);
        }
        let done = job.progress();
        let answer = if raised.is_none() { ask(py, poll, done.bytes, done.operations) } else { ask(py, None, 0, 0) };
        match answer {
            Ok(stop) => {
                if stop && !stopped {
                    job.stop();
                }
                stopped |= stop;
            }
            Err(error) => {
                job.stop();
                stopped = true;
                raised.get_or_insert(error);
            }
        }
    }
}

/// Do a metadata workload (JSON) in the directory at `directory` and return its record (JSON).
///
/// `poll(bytes, operations)` is called twenty times a second; when it answers true the run is interrupted, and removes
/// what it made before it returns. `options` (JSON) are `pin_cpus` and `timeout_ns`. An error of the file system stands in the record. Raises `mileage.errors.Refused`
/// when the workload or the directory cannot be used, and `OSError` when the run is void.
#[pyfunction]
#[pyo3(signature = (directory, metadata, poll = None, options = "{}"))]
#[expect(clippy::needless_pass_by_value, reason = "an argument from Python arrives owned")]
pub fn run_metadata(
    py: Python<'_>,
    directory: PathBuf,
    metadata: &str,
    poll: Option<Py<PyAny>>,
    options: &str,
) -> PyResult<String> {
    let options = parse("options", options)?;
    let job = start_metadata(parse("metadata", metadata)?, directory, options).map_err(wrap)?;
    follow(py, &job, poll.as_ref())
}

/// Do one process's share of a metadata workload (JSON, of this share alone) in the directory at `directory`; returns what
/// `merge_metadata_shares` takes (JSON). It begins when those of all processes have arrived at the barrier, the file at `barrier`. Raises as
/// `run_metadata`.
#[pyfunction]
#[pyo3(signature = (directory, metadata, barrier, poll = None, options = "{}"))]
#[expect(clippy::needless_pass_by_value, reason = "an argument from Python arrives owned")]
pub fn run_metadata_share(
    py: Python<'_>,
    directory: PathBuf,
    metadata: &str,
    barrier: PathBuf,
    poll: Option<Py<PyAny>>,
    options: &str,
) -> PyResult<String> {
    let options = parse("options", options)?;
    let job = start_metadata_share(parse("metadata", metadata)?, directory, options, &barrier).map_err(wrap)?;
    follow(py, &job, poll.as_ref())
}

/// The record (JSON) of a metadata run of which each process did a share; `shares` are what `run_metadata_share` returned,
/// in the order of their workers. `shifts_ns` as in `merge_shares`.
#[pyfunction]
#[pyo3(signature = (shares, shifts_ns = None))]
#[expect(clippy::needless_pass_by_value, reason = "an argument from Python arrives owned")]
pub fn merge_metadata_shares(shares: Vec<String>, shifts_ns: Option<Vec<u64>>) -> PyResult<String> {
    let shares = shifted(&shares, shifts_ns.as_deref(), MetadataShare::shifted)?;
    to_json(&mileage_engine::merge_metadata_shares(&shares))
}

/// Do a set of IOzone's tests (JSON) on the file at `path` and return their results (JSON): `results` with a record for
/// each test, `interrupted`.
///
/// Workers have files of their own, `path` with `.0`, `.1` and so on. Files that the tests make are removed, unless the
/// set keeps them. `poll(bytes, operations)` is called twenty times a second; when it answers true the tests end, and the
/// files are removed before this returns. An I/O error stands in the last record. Raises `mileage.errors.Refused` when
/// the set or the file cannot be used, and `OSError` when a test is void. `finished(result)` is called with the result
/// (JSON) of each test soon after it is done.
#[pyfunction]
#[pyo3(signature = (path, suite, poll = None, finished = None))]
#[expect(clippy::needless_pass_by_value, reason = "an argument from Python arrives owned")]
pub fn run_iozone(
    py: Python<'_>,
    path: PathBuf,
    suite: &str,
    poll: Option<Py<PyAny>>,
    finished: Option<Py<PyAny>>,
) -> PyResult<String> {
    let (sender, done) = channel();
    let job = start_iozone_watched(parse("suite", suite)?, path, sender).map_err(wrap)?;
    follow_parts(py, &job, poll.as_ref(), || {
        let Some(finished) = &finished else { return Ok(()) };
        done.try_iter().try_for_each(|result| finished.call1(py, (to_json(&result)?,)).map(drop))
    })
}

/// Number of steps of a set of IOzone's tests (JSON) on the file at `path`, whose workers may be processes. Raises as
/// `run_iozone`.
#[pyfunction]
pub fn iozone_steps(path: PathBuf, suite: &str) -> PyResult<usize> {
    mileage_engine::iozone_steps(&parse("suite", suite)?, path).map_err(wrap)
}

/// Do one process's workers of one step of a set of IOzone's tests; `part` (JSON) has `step`, from 0, the files that are
/// `known` from the steps before, and `share` as `run_share` takes it. Returns what `merge_iozone_shares` takes (JSON). The step
/// begins when those of all processes have arrived at the barrier, and stopping one stops all. Raises as `run_iozone`.
#[pyfunction]
#[pyo3(signature = (path, suite, part, poll = None))]
#[expect(clippy::needless_pass_by_value, reason = "an argument from Python arrives owned")]
pub fn run_iozone_share(
    py: Python<'_>,
    path: PathBuf,
    suite: &str,
    part: &str,
    poll: Option<Py<PyAny>>,
) -> PyResult<String> {
    let share = start_test_share(parse("suite", suite)?, path, parse("part", part)?).map_err(wrap)?;
    to_json(&file::follow(py, share.run(), (poll.as_ref(), None), || share.wait(POLL))?)
}

/// The result of a step of which each process did a share, and the files that are known after it (JSON, a pair). `shares` are
/// what `run_iozone_share` returned, in any order. `shifts_ns` as in `merge_shares`.
#[pyfunction]
#[pyo3(signature = (suite, step, shares, shifts_ns = None))]
#[expect(clippy::needless_pass_by_value, reason = "an argument from Python arrives owned")]
pub fn merge_iozone_shares(
    suite: &str,
    step: usize,
    shares: Vec<String>,
    shifts_ns: Option<Vec<u64>>,
) -> PyResult<String> {
    let shares = shifted(&shares, shifts_ns.as_deref(), TestShareResult::shifted)?;
    to_json(&mileage_engine::merge_test_shares(&parse("suite", suite)?, step, &shares).map_err(wrap)?)
}

/// Remove the files that a set of IOzone's tests (JSON) made, unless it keeps them; why one is left, if so. `known` (JSON): as
/// `merge_iozone_shares` returned it after the last step.
#[pyfunction]
pub fn remove_iozone_files(path: PathBuf, suite: &str, known: &str) -> PyResult<Option<String>> {
    let known: Vec<(PathBuf, Identity)> = parse("known", known)?;
    Ok(mileage_engine::remove_test_files(&parse("suite", suite)?, path, known))
}

/// What IOzone itself does otherwise than the names of a set of its tests (JSON) say, in lines of text. Raises
/// `mileage.errors.Refused` when the set cannot be done.
#[pyfunction]
#[pyo3(name = "iozone_differences")]
pub fn differences_of_iozone(suite: &str) -> PyResult<String> {
    iozone_differences(&parse("suite", suite)?).map_err(refused)
}

//! Python functions that run a workload on a real file or device.

use crate::conversions::{ask, parse_workload, refused, to_json};
use mileage_engine::{Error, Handle, Options, Share, ShareResult, StartBarrier, ThreadIo, start, start_share};
use mileage_measure::RunRecord;
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use std::path::PathBuf;
use std::time::Duration;

/// A record, and the kernel's I/O counts of each worker thread.
#[derive(serde::Serialize)]
struct AuditedRecord<'a> {
    #[serde(flatten)]
    record: &'a RunRecord,
    audit: &'a Option<Vec<ThreadIo>>,
}

const POLL: Duration = Duration::from_millis(50);
/// Longest wait for the accounting of running threads.
const INTERIM_TIMEOUT: Duration = Duration::from_millis(100);

/// Do a workload (JSON) on the existing file or block device at `path` and return its record (JSON).
///
/// `options` (JSON) are the engine's: `direct`, `api`, `dsync`, `pin_cpus`, `timeout_ns`, `log`, `interval_ns`,
/// `touch_bytes`, `drop_cache_every_bytes`, `split_latency`, `advice`, `create`; all are off by default. `poll(bytes, operations)` is called twenty
/// times a second; when it answers true the run is interrupted. `interim()` is called as often; when it returns a function,
/// that is called with the record (JSON) of what has completed so far. An I/O error is in the record. Its key `audit` has the
/// kernel's own count of bytes and calls for each worker thread, or null where the kernel keeps none. Raises
/// `mileage.errors.Refused` when the file, the workload or the options cannot be used, and `OSError` when the run is void.
#[pyfunction]
#[pyo3(signature = (path, workload, options = "{}", poll = None, interim = None))]
#[expect(clippy::needless_pass_by_value, reason = "an argument from Python arrives owned")]
pub fn run_file(
    py: Python<'_>,
    path: PathBuf,
    workload: &str,
    options: &str,
    poll: Option<Py<PyAny>>,
    interim: Option<Py<PyAny>>,
) -> PyResult<String> {
    let handle = start(parse_workload(workload)?, parse_options(path, options)?).map_err(wrap)?;
    let ask = (poll.as_ref(), interim.as_ref());
    let finished = follow(py, &handle, ask, || handle.wait(POLL))?;
    to_json(&AuditedRecord { record: &finished.record, audit: &finished.audit })
}

/// Create the start barrier, a file at `barrier`, by which processes begin a run of `threads` threads together. It
/// serves one run; the caller removes it. Raises `mileage.errors.Refused` when it exists or cannot be made.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "an argument from Python arrives owned")]
pub fn make_start_barrier(barrier: PathBuf, threads: u32) -> PyResult<()> {
    StartBarrier::create(&barrier, threads).map(drop).map_err(wrap)
}

/// The start barrier of a run on several machines, as one process sees it: a file for `threads` threads at
/// `path`, made here. Raises `mileage.errors.Refused` when it exists or cannot be made.
#[pyclass(name = "StartBarrier", module = "mileage._core", frozen)]
#[derive(Debug)]
pub struct PyStartBarrier {
    barrier: StartBarrier,
}

#[pymethods]
impl PyStartBarrier {
    #[new]
    #[expect(clippy::needless_pass_by_value, reason = "an argument from Python arrives owned")]
    fn new(path: PathBuf, threads: u32) -> PyResult<Self> {
        StartBarrier::create(&path, threads).map(|barrier| Self { barrier }).map_err(wrap)
    }

    /// Threads that are ready, or never will be.
    #[getter]
    fn arrived(&self) -> u32 {
        self.barrier.arrived()
    }

    /// Set when the waiting threads begin: nanoseconds of `CLOCK_MONOTONIC_RAW`, at once if that has passed.
    fn begin_at(&self, start_ns: u64) {
        self.barrier.begin_at(start_ns);
    }

    /// End the run because another of its processes was lost.
    fn abandon(&self) {
        self.barrier.abandon();
    }
}

/// Do one process's share (JSON: `first_thread`, `threads`, `barrier`) of a workload, as [`run_file`] does all of it;
/// returns what `merge_shares` takes (JSON). The run begins when the shares of all processes are ready, and stopping one
/// stops all. Raises as `run_file`.
#[pyfunction]
#[pyo3(signature = (path, workload, options, share, poll = None))]
#[expect(clippy::needless_pass_by_value, reason = "an argument from Python arrives owned")]
pub fn run_share(
    py: Python<'_>,
    path: PathBuf,
    workload: &str,
    options: &str,
    share: &str,
    poll: Option<Py<PyAny>>,
) -> PyResult<String> {
    let share: Share = serde_json::from_str(share).map_err(|cause| refused(format!("share: {cause}")))?;
    let handle = start_share(parse_workload(workload)?, parse_options(path, options)?, &share).map_err(wrap)?;
    to_json(&follow(py, &handle, (poll.as_ref(), None), || handle.wait_share(POLL))?)
}

/// The record (JSON) of a run of which each process did a share; `shares` are what `run_share` returned, in any order.
/// `shifts_ns`, one for each, are added to the times of the shares: from machines whose clocks differ they then count from
/// one instant. Raises `mileage.errors.Refused` when they are not all of the workload's threads.
#[pyfunction]
#[pyo3(signature = (workload, shares, shifts_ns = None))]
#[expect(clippy::needless_pass_by_value, reason = "an argument from Python arrives owned")]
pub fn merge_shares(workload: &str, shares: Vec<String>, shifts_ns: Option<Vec<u64>>) -> PyResult<String> {
    let shares = shifted(&shares, shifts_ns.as_deref(), ShareResult::shifted)?;
    let finished = mileage_engine::merge_shares(&parse_workload(workload)?, &shares).map_err(wrap)?;
    to_json(&AuditedRecord { record: &finished.record, audit: &finished.audit })
}

/// Shares of a run, read, on one clock.
pub fn shifted<T: serde::de::DeserializeOwned>(
    texts: &[String],
    shifts_ns: Option<&[u64]>,
    shift: impl Fn(T, u64) -> T,
) -> PyResult<Vec<T>> {
    if shifts_ns.is_some_and(|shifts_ns| shifts_ns.len() != texts.len()) {
        return Err(PyValueError::new_err("shifts_ns: expected one for each share"));
    }
    let by_ns = |number: usize| shifts_ns.map_or(0, |shifts_ns| shifts_ns[number]);
    let read = |(number, text): (usize, &String)| {
        let share = serde_json::from_str(text).map_err(|cause| PyValueError::new_err(format!("share: {cause}")))?;
        Ok(shift(share, by_ns(number)))
    };
    texts.iter().enumerate().map(read).collect()
}

/// The engine's clock in nanoseconds, on the time line of `CLOCK_MONOTONIC_RAW`. The first call of a process calibrates it.
#[pyfunction]
pub fn clock_ns() -> u64 {
    mileage_engine::clock_ns()
}

/// The processors of a NUMA node, for the option `pin_cpus`. Raises `mileage.errors.Refused` when the machine has no such
/// node.
#[pyfunction]
pub fn cpus_of_node(node: u32) -> PyResult<Vec<u32>> {
    mileage_engine::cpus_of_node(node).map_err(wrap)
}

/// The options (JSON) of a run on `path`.
pub fn parse_options(path: PathBuf, options: &str) -> PyResult<Options> {
    let options: Options = serde_json::from_str(options).map_err(|cause| refused(format!("options: {cause}")))?;
    Ok(Options { path, audit: true, ..options })
}

fn wrap(error: Error) -> PyErr {
    if error.is_refusal() { refused(error) } else { PyOSError::new_err(error.to_string()) }
}

/// Wait for a run's end; it is stopped when `poll` answers true or raises. `interim` may ask for a record so far.
pub fn follow<T: Send>(
    py: Python<'_>,
    handle: &Handle,
    (poll, interim): (Option<&Py<PyAny>>, Option<&Py<PyAny>>),
    wait: impl Fn() -> Option<Result<T, Error>> + Send + Sync,
) -> PyResult<T> {
    loop {
        if let Some(finished) = py.detach(&wait) {
            return finished.map_err(wrap);
        }
        let done = handle.progress();
        match ask(py, poll, done.bytes, done.operations) {
            Ok(false) => {}
            Ok(true) => handle.stop(),
            Err(error) => {
                handle.stop();
                return Err(error);
            }
        }
        if let Some(interim) = interim {
            show_interim(py, handle, interim).inspect_err(|_| handle.stop())?;
        }
    }
}

/// Ask whether a record of what has completed so far is wanted, and hand it over.
fn show_interim(py: Python<'_>, handle: &Handle, interim: &Py<PyAny>) -> PyResult<()> {
    let show = interim.call0(py)?;
    if !show.is_none(py) {
        let record = py.detach(|| handle.interim(INTERIM_TIMEOUT));
        show.call1(py, (to_json(&record)?,))?;
    }
    Ok(())
}

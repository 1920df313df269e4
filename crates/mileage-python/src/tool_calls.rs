//! The loops of other tools for Python: transfers of IOR, operations on names of mdtest.

use crate::conversions::{refused, to_json};
use mileage_engine::{NameWork, TaskFile, TransferWork, library_random as random_of, shuffled_offsets as offsets_of};
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use std::os::fd::{BorrowedFd, FromRawFd, OwnedFd};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// An error of a call as Python's own functions raise it: with its number and words.
fn os_error(error: std::io::Error) -> PyErr {
    match error.raw_os_error() {
        Some(number) => {
            let words = error.to_string();
            let words = words.split(" (os error").next().unwrap_or_default().to_owned();
            PyOSError::new_err((number, words))
        }
        None => error.into(),
    }
}

/// A file that a task of IOR has open: `TaskFile(descriptor, buffer_bytes)` takes the descriptor over, and closes it when it
/// is deleted. Raises `OSError`.
#[pyclass(name = "TaskFile", module = "mileage._core", frozen)]
pub struct PyTaskFile {
    file: Mutex<TaskFile>,
}

impl PyTaskFile {
    fn file(&self) -> MutexGuard<'_, TaskFile> {
        self.file.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl PyTaskFile {
    /// Take the descriptor over, and allocate a buffer.
    #[new]
    fn new(descriptor: i32, buffer_bytes: usize) -> PyResult<Self> {
        // SAFETY: the caller gives an open descriptor away and does not use it again.
        let file = unsafe { OwnedFd::from_raw_fd(descriptor) };
        Ok(Self { file: Mutex::new(TaskFile::new(file, buffer_bytes).map_err(os_error)?) })
    }

    /// Make transfers (JSON); what was moved, as JSON. Raises `OSError`.
    fn transfer(&self, py: Python<'_>, work: &str) -> PyResult<String> {
        let work: TransferWork = serde_json::from_str(work).map_err(|cause| refused(format!("work: {cause}")))?;
        to_json(&py.detach(|| self.file().transfer(&work)).map_err(os_error)?)
    }

    /// `fsync`. Raises `OSError`.
    fn sync(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.file().sync()).map_err(os_error)
    }
}

/// Operations on names (JSON) below an open directory, as mdtest makes them; what was done, as JSON. Raises
/// `mileage.errors.Refused` for a text that describes none.
#[pyfunction]
pub fn run_names(py: Python<'_>, directory: i32, work: &str) -> PyResult<String> {
    let work: NameWork = serde_json::from_str(work).map_err(|cause| refused(format!("work: {cause}")))?;
    // SAFETY: the caller keeps the descriptor open during the call.
    let directory = unsafe { BorrowedFd::borrow_raw(directory) };
    to_json(&py.detach(|| work.run(directory)))
}

/// When a file came into being, in nanoseconds since 1970; None where the file system does not record it.
#[pyfunction]
pub fn birth_time_ns(descriptor: i32) -> Option<i64> {
    // SAFETY: the caller keeps the descriptor open during the call.
    mileage_engine::birth_time_ns(unsafe { BorrowedFd::borrow_raw(descriptor) })
}

/// Offsets in which IOR's `-z` visits a segment: seed, rank, tasks, whether each task has a file of its own, bytes of a
/// block and of a transfer.
#[pyfunction]
pub fn shuffled_offsets(seed: u32, rank: u32, tasks: u32, own_file: bool, block: u64, transfer: u64) -> Vec<u64> {
    offsets_of(seed, rank, tasks, own_file, block, transfer)
}

/// The first numbers of the C library's `rand` after `srand(seed)`.
#[pyfunction]
pub fn library_random(seed: u32, count: usize) -> Vec<u32> {
    random_of(seed, count)
}

//! Run a set of IOzone's tests one after the other on a background thread.

use super::calls::TestTimes;
use super::remount::remount;
use super::results::{IozoneResults, TestResult};
use super::steps::{Step, steps};
use super::suite::{Iozone, Mode};
use super::workers::{OpenedFiles, Workers};
use crate::error::Error;
use crate::job::{Control, Progress};
use crate::run_handle::Handle;
use crate::thread_range::ThreadRange;
use mileage_measure::{RunError, RunRecord};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Interval between checks for a stop request while a test runs; the test itself sees the request at once.
const LOOK: Duration = Duration::from_millis(50);

/// A set of tests in progress.
pub(super) struct Tests {
    pub(super) suite: Arc<Iozone>,
    pub(super) paths: Vec<PathBuf>,
    steps: Vec<Step>,
    known: Arc<OpenedFiles>,
    stopped: AtomicBool,
    /// The current test.
    current: Mutex<Option<Arc<Handle>>>,
    /// Where each result goes as soon as its test is done.
    finished: Option<Sender<TestResult>>,
    bytes_before: AtomicU64,
    operations_before: AtomicU64,
}

impl Tests {
    pub(super) fn new(suite: Iozone, paths: Vec<PathBuf>, finished: Option<Sender<TestResult>>) -> Self {
        Self {
            steps: steps(&suite),
            suite: Arc::new(suite),
            paths,
            known: Arc::default(),
            stopped: AtomicBool::new(false),
            current: Mutex::new(None),
            finished,
            bytes_before: AtomicU64::new(0),
            operations_before: AtomicU64::new(0),
        }
    }

    fn current(&self) -> MutexGuard<'_, Option<Arc<Handle>>> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    /// Do all tests, until one fails or the user stops them.
    pub(super) fn run(&self) -> Result<IozoneResults, Error> {
        let mut all = IozoneResults::default();
        let fidelity = self.suite.mode == Mode::Fidelity;
        if fidelity {
            rustix::fs::sync();
            rustix::fs::sync();
        }
        for step in &self.steps {
            if self.is_stopped() {
                break;
            }
            let done = self.run_step(step);
            let failed = done.as_ref().is_ok_and(|result| result.record.error.is_some());
            match done {
                Ok(result) => {
                    if let Some(sender) = self.finished.as_ref().filter(|_| !failed && !self.is_stopped()) {
                        // Nobody waits for results where the receiver was dropped.
                        let _ = sender.send(result.clone());
                    }
                    all.results.push(result);
                }
                Err(error) => {
                    remove_files(&self.suite, &self.paths, &self.known);
                    return Err(error);
                }
            }
            if failed {
                break;
            }
            if self.suite.workers.is_some() {
                if fidelity {
                    rustix::fs::sync();
                }
                self.pause();
            }
        }
        all.interrupted = self.is_stopped();
        if let Some(left) = remove_files(&self.suite, &self.paths, &self.known)
            && let Some(last) = all.results.last_mut()
        {
            last.record.notes.push(left);
        }
        Ok(all)
    }

    fn run_step(&self, step: &Step) -> Result<TestResult, Error> {
        if let Some(Err(error)) = self.suite.manner.remount.as_deref().map(remount) {
            let record = RunRecord { error: Some(error), ..RunRecord::default() };
            return Ok(TestResult::of(&self.suite, step, record, 0));
        }
        let ends = Arc::new(TestTimes::default());
        let workers = Workers {
            suite: Arc::clone(&self.suite),
            step: step.clone(),
            paths: self.paths.clone(),
            ends: Arc::clone(&ends),
            known: Arc::clone(&self.known),
        };
        let all = ThreadRange::all(workers.workload());
        let handle = Arc::new(workers.start(all)?);
        *self.current() = Some(Arc::clone(&handle));
        let outcome = loop {
            if self.is_stopped() {
                handle.stop();
            }
            if let Some(outcome) = handle.wait(LOOK) {
                break outcome;
            }
        };
        *self.current() = None;
        let mut record = match outcome {
            Ok(finished) => finished.record,
            Err(error) => RunRecord { error: Some(unprepared(error)?), ..RunRecord::default() },
        };
        record.error = record.error.or_else(|| ends.error());
        self.bytes_before.fetch_add(record.bytes_read + record.bytes_written, Ordering::Relaxed);
        self.operations_before.fetch_add(record.ops_read + record.ops_written, Ordering::Relaxed);
        Ok(TestResult::of(&self.suite, step, record, ends.whole_ns()))
    }

    fn pause(&self) {
        let mut left = Duration::from_nanos(self.suite.pause_ns);
        while !left.is_zero() && !self.is_stopped() {
            let piece = left.min(LOOK);
            std::thread::sleep(piece);
            left -= piece;
        }
    }
}

/// Remove the files that the tests of a suite made; why one is left, if so.
pub(super) fn remove_files(suite: &Iozone, paths: &[PathBuf], known: &OpenedFiles) -> Option<String> {
    if suite.keep || !suite.makes_files() {
        return None;
    }
    let compared = suite.directory.is_some();
    let is_other = |path: &PathBuf| compared && !known.of(path).is_some_and(|own| own.is_at(path));
    let paths = paths.iter().filter(|path| !is_other(path));
    let remove = |path: &PathBuf| match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Some(format!("{} is left behind: {error}", path.display()))
        }
        _ => None,
    };
    paths.filter_map(remove).reduce(|all, one| all + "; " + &one)
}

/// The error of the record for a file that could not be prepared: it ends the set, as an error of the test itself does.
///
/// # Errors
/// Any other error, for which the test is void.
pub(super) fn unprepared(error: Error) -> Result<RunError, Error> {
    match error {
        Error::Target { what, path, kind, reason, advice } => {
            let message = format!("cannot {what} {}: {reason} ({kind}){advice}", path.display());
            Ok(RunError { kind, message })
        }
        error => Err(error),
    }
}

impl Control for Tests {
    fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
        if let Some(handle) = &*self.current() {
            handle.stop();
        }
    }

    fn progress(&self) -> Progress {
        let now = self.current().as_ref().map(|handle| handle.progress());
        let (bytes, operations) = now.map_or((0, 0), |now| (now.bytes, now.operations));
        let whole = self.steps.iter().filter_map(|step| step.workload.stop.bytes).fold(0, u64::saturating_add);
        Progress {
            bytes: self.bytes_before.load(Ordering::Relaxed) + bytes,
            operations: self.operations_before.load(Ordering::Relaxed) + operations,
            bytes_total: Some(whole),
            operations_total: Some(whole / u64::from(self.suite.record_bytes)),
        }
    }
}

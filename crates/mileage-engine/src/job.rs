//! Background jobs that consist of several runs: start, progress, stop and result. IOzone's tests and metadata runs are jobs.

use crate::error::{Error, words_of};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Progress of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Bytes moved so far, late by at most 10 ms and one operation.
    pub bytes: u64,
    /// Operations completed so far, as late.
    pub operations: u64,
    /// Bytes at which the run will end; `None` when only time ends it.
    pub bytes_total: Option<u64>,
    /// Operations at which the run will end; `None` when only time ends it.
    pub operations_total: Option<u64>,
}

/// Control of a running job from other threads: read its progress, stop it.
pub(crate) trait Control: Send + Sync {
    /// End it; asked a second time, skip what can be skipped.
    fn stop(&self);
    /// Progress of the job.
    fn progress(&self) -> Progress;
}

struct Outcome<T> {
    outcome: Mutex<Option<Result<T, Error>>>,
    finished: Condvar,
}

/// A job in progress. May be watched and stopped from any thread; dropping it stops the job without waiting for it.
pub struct Job<T> {
    control: Arc<dyn Control>,
    result: Arc<Outcome<T>>,
}

impl<T> fmt::Debug for Job<T> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Job").finish_non_exhaustive()
    }
}

impl<T> Outcome<T> {
    // Written once, by code that does not panic: a poisoned lock still holds all of it or nothing.
    fn lock(&self) -> MutexGuard<'_, Option<Result<T, Error>>> {
        self.outcome.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: Clone + Send + 'static> Job<T> {
    /// Do `work` on a thread of its own.
    pub(crate) fn start(
        control: Arc<dyn Control>,
        work: impl FnOnce() -> Result<T, Error> + Send + 'static,
    ) -> Result<Self, Error> {
        let result = Arc::new(Outcome { outcome: Mutex::new(None), finished: Condvar::new() });
        let shared = Arc::clone(&result);
        let thread = std::thread::Builder::new().name("mileage-job".to_owned()).spawn(move || {
            let worked = catch_unwind(AssertUnwindSafe(work));
            let outcome = worked.unwrap_or_else(|panic| Err(Error::Broken { thread: 0, reason: words_of(&*panic) }));
            *shared.lock() = Some(outcome);
            shared.finished.notify_all();
        });
        match thread {
            Ok(_) => Ok(Self { control, result }),
            Err(error) => Err(Error::NoThread { thread: 0, threads: 1, reason: error.to_string() }),
        }
    }

    /// Wait up to `timeout` for the end; `None` if the job is still in progress. Once it has ended, every call returns the
    /// outcome.
    ///
    /// # Errors
    /// Inside: a job that is void, because a worker broke or had no memory, or a part of it that was refused. An input or
    /// output error is not one: it stands in the record.
    pub fn wait(&self, timeout: Duration) -> Option<Result<T, Error>> {
        let waited = self.result.finished.wait_timeout_while(self.result.lock(), timeout, |outcome| outcome.is_none());
        let (outcome, _) = waited.unwrap_or_else(PoisonError::into_inner);
        outcome.clone()
    }

    /// Interrupt the job. It still removes what it made, unless it is stopped a second time; what is left then is said.
    pub fn stop(&self) {
        self.control.stop();
    }

    /// Progress of the job.
    pub fn progress(&self) -> Progress {
        self.control.progress()
    }
}

impl<T> Drop for Job<T> {
    fn drop(&mut self) {
        self.control.stop();
    }
}

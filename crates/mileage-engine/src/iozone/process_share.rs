//! Tests whose workers are processes: each process does its share of one test after the other.
//!
//! Whoever leads asks [`iozone_steps`] how many steps there are. For each step every process does its workers by
//! [`start_test_share`]; all begin at one [`StartBarrier`]. [`merge_test_shares`] makes the result that workers of one process
//! would have made. What happens between the steps (`sync`, the pause) and at the end ([`remove_test_files`]) is the
//! leader's.

use super::calls::TestTimes;
use super::results::TestResult;
use super::run::{remove_files, unprepared};
use super::steps::{Step, steps};
use super::suite::Iozone;
use super::workers::{OpenedFiles, Workers};
use super::{checked_paths, paths_of};
use crate::error::Error;
use crate::identity::Identity;
use crate::merge::{ShareResult, merge_shares};
use crate::process_share::Share;
use crate::run_handle::Handle;
use crate::start_barrier::StartBarrier;
use mileage_measure::{RunError, RunRecord};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// One of the steps of a suite, as a process is to do its workers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TestShare {
    /// Number of the step, from 0.
    pub step: usize,
    /// The files that the steps before opened, as their results have them.
    pub known: Vec<(PathBuf, Identity)>,
    /// The workers of this process.
    pub share: Share,
}

/// Result of a process's workers in one step.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TestShareResult {
    /// The instant at which the workers began, on `CLOCK_MONOTONIC_RAW`; 0 without a `share`.
    origin_ns: u64,
    /// `None` when a file could not be prepared; `error` has the reason then.
    share: Option<ShareResult>,
    error: Option<RunError>,
    /// First call of any worker and last close of any, since `origin_ns`; `u64::MAX` and 0 without one.
    span_ns: (u64, u64),
    known: Vec<(PathBuf, Identity)>,
}

impl TestShareResult {
    /// The same result on a clock that was zero `by_ns` nanoseconds earlier; see [`ShareResult::shifted`].
    #[must_use]
    pub fn shifted(mut self, by_ns: u64) -> Self {
        self.share = self.share.map(|share| share.shifted(by_ns));
        self.span_ns = (self.span_ns.0.saturating_add(by_ns), self.span_ns.1.saturating_add(by_ns));
        self
    }
}

/// A process's workers of one step, in progress. Dropping it stops the step in all processes.
#[derive(Debug)]
pub struct TestShareHandle {
    handle: Handle,
    times: Arc<TestTimes>,
    known: Arc<OpenedFiles>,
}

impl TestShareHandle {
    /// Progress and stop.
    pub fn run(&self) -> &Handle {
        &self.handle
    }

    /// Wait up to `timeout` for the end; `None` if the workers are still busy.
    ///
    /// # Errors
    /// Inside: a test that is void. An I/O error is not one: it stands in the result.
    pub fn wait(&self, timeout: Duration) -> Option<Result<TestShareResult, Error>> {
        let (share, error) = match self.handle.wait_share(timeout)? {
            Ok(share) => (Some(share), None),
            Err(error) => match unprepared(error) {
                Ok(error) => (None, Some(error)),
                Err(error) => return Some(Err(error)),
            },
        };
        let origin_ns = share.as_ref().map_or(0, |share| share.origin_ns);
        let (began_ns, ended_ns) = self.times.span_ns();
        let began_ns = if began_ns == u64::MAX { began_ns } else { began_ns.saturating_sub(origin_ns) };
        Some(Ok(TestShareResult {
            origin_ns,
            share,
            error: error.or_else(|| self.times.error()),
            span_ns: (began_ns, ended_ns.saturating_sub(origin_ns)),
            known: self.known.all(),
        }))
    }
}

/// Number of steps of a suite on the file at `path`. A pass that IOzone does and does not print is a step too.
///
/// # Errors
/// As [`start_iozone`](crate::start_iozone).
pub fn iozone_steps(suite: &Iozone, path: impl Into<PathBuf>) -> Result<usize, Error> {
    checked_paths(suite, path.into())?;
    Ok(steps(suite).len())
}

/// Start this process's workers of one step. They begin when those of all processes are ready.
///
/// # Errors
/// A suite that breaks a rule, a step that it does not have, workers that are none of its own, or a barrier that was made for another
/// number of them. The step is abandoned in all processes then.
pub fn start_test_share(suite: Iozone, path: impl Into<PathBuf>, part: TestShare) -> Result<TestShareHandle, Error> {
    let barrier = Arc::new(StartBarrier::join(&part.share.barrier)?);
    let started = start_at(suite, path.into(), part, &barrier);
    if started.is_err() {
        barrier.abandon();
    }
    started
}

fn start_at(
    suite: Iozone,
    path: PathBuf,
    part: TestShare,
    barrier: &Arc<StartBarrier>,
) -> Result<TestShareHandle, Error> {
    suite.check()?;
    let step = step_of(&suite, part.step)?;
    let thread_range = part.share.range_of(&step.workload, barrier)?;
    let paths = paths_of(&suite, path);
    let (first, count) = (thread_range.first as usize, thread_range.count as usize);
    // Only of its own files can a process say what they are after the step.
    let own = part.known.into_iter().filter(|(path, _)| paths[first..first + count].contains(path));
    let (times, known) = (Arc::default(), Arc::new(OpenedFiles::these(own)));
    let workers = Workers { paths, suite: Arc::new(suite), step, ends: Arc::clone(&times), known: Arc::clone(&known) };
    Ok(TestShareHandle { handle: workers.start(thread_range)?, times, known })
}

fn step_of(suite: &Iozone, number: usize) -> Result<Step, Error> {
    let mut steps = steps(suite);
    if number >= steps.len() {
        let expected = "one of the suite's steps, counted from 0";
        return Err(mileage_workload::Error::Refused { what: "step", found: number.to_string(), expected }.into());
    }
    Ok(steps.swap_remove(number))
}

/// The result of a step of which each process did a share, and the files that are known after it.
///
/// # Errors
/// A step that the suite does not have, or workers that are missing or there twice.
pub fn merge_test_shares(
    suite: &Iozone,
    step: usize,
    shares: &[TestShareResult],
) -> Result<(TestResult, Vec<(PathBuf, Identity)>), Error> {
    let step = step_of(suite, step)?;
    let began_ns = shares.iter().map(|share| share.span_ns.0).min().unwrap_or(u64::MAX);
    let ended_ns = shares.iter().map(|share| share.span_ns.1).max().unwrap_or(0);
    let error = shares.iter().find_map(|share| share.error.clone());
    let done: Option<Vec<ShareResult>> = shares.iter().map(|share| share.share.clone()).collect();
    let mut record = match done {
        Some(done) => merge_shares(&step.workload, &done)?.record,
        None => RunRecord::default(),
    };
    record.error = record.error.or(error);
    let known = shares.iter().flat_map(|share| share.known.clone()).collect();
    Ok((TestResult::of(suite, &step, record, ended_ns.saturating_sub(began_ns)), known))
}

/// Remove the files that the tests of a suite made, unless it keeps them; why one is left, if so. `known`: as
/// [`merge_test_shares`] returned it after the last step.
pub fn remove_test_files(suite: &Iozone, path: impl Into<PathBuf>, known: Vec<(PathBuf, Identity)>) -> Option<String> {
    remove_files(suite, &paths_of(suite, path.into()), &OpenedFiles::these(known))
}

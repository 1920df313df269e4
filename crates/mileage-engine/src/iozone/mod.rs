//! IOzone's tests on real files: write, rewrite, read, reread, random read and write, backward read, record rewrite,
//! stride read, the four through C streams, and the mix of workers.
//!
//! [`Iozone`] says which, on what, and in which of two modes: *intended* does what the tests' names say, *fidelity* makes
//! the calls that IOzone 3.471 makes, at its offsets and in its order. [`iozone_differences`] says in words how the two
//! differ. [`start_iozone`] does the tests one after the other; each is a run of a
//! [`Workload`](mileage_workload::Workload) like any other and leaves a record.
//!
//! `suite` is the value, `manner` what moves the records, `record_extras` what is done before and after each,
//! `remount` what is done to the file system between tests, `steps`
//! what each test does before, inside and after its clock, `workers` what happens before, `calls` what happens inside
//! and after, `run` the sequence, `process_share` the part of a test that one of several processes does, `results` the rates
//! that IOzone prints, `differences` the text, `file_job` the same tests for a modelled host.
//!
//! # Invariant
//! In fidelity the system calls on the file are those of IOzone 3.471, in its order. *Guard:* the tests watch every test
//! by `strace` and compare it with what IOzone itself was seen to do.
//!
//! # Refused here
//! Record rewrite by workers in fidelity and the mix of a single stream, which IOzone skips without a message;
//! `pwritev` and `preadv` tests, which no Linux build of IOzone has.

mod calls;
mod differences;
mod file_job;
mod manner;
mod process_share;
#[expect(clippy::disallowed_methods, reason = "makes the logs of -Q")]
mod record_extras;
mod remount;
mod results;
#[expect(clippy::disallowed_methods, reason = "removes the files of a suite")]
mod run;
mod steps;
mod suite;
#[expect(clippy::disallowed_methods, reason = "opens, cuts off and removes the files of a suite")]
mod workers;

pub use differences::iozone_differences;
pub use file_job::{iozone_file_job, iozone_results};
pub use manner::{CacheSize, Manner, MappedFlush, Transport};
pub use process_share::{
    TestShare, TestShareHandle, TestShareResult, iozone_steps, merge_test_shares, remove_test_files, start_test_share,
};
pub use results::{IozoneResults, TestResult, TimedBytes, WorkerRates};
pub use suite::{Group, Iozone, Mode, Test};

use crate::error::{Error, failed};
use crate::job::{Control, Job};
use crate::target;
use run::Tests;
use rustix::fs::FileType;
use rustix::io::Errno;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::Sender;

/// Start a set of tests on the file at `path`; workers have files of their own, `PATH.0`, `PATH.1` and so on, unless the
/// suite names them. Returns at once. Files that the tests make are removed at the end, unless the suite keeps them; a
/// file that is there before the test *write* is lost.
///
/// # Errors
/// A suite that breaks a rule, a file that is none, or one that is too short for tests that only read.
pub fn start_iozone(suite: Iozone, path: impl Into<PathBuf>) -> Result<Job<IozoneResults>, Error> {
    start(suite, path.into(), None)
}

/// As [`start_iozone`]; each result is sent to `finished` as soon as its test is done.
///
/// # Errors
/// As [`start_iozone`].
pub fn start_iozone_watched(
    suite: Iozone,
    path: impl Into<PathBuf>,
    finished: Sender<TestResult>,
) -> Result<Job<IozoneResults>, Error> {
    start(suite, path.into(), Some(finished))
}

fn start(suite: Iozone, path: PathBuf, finished: Option<Sender<TestResult>>) -> Result<Job<IozoneResults>, Error> {
    let paths = checked_paths(&suite, path)?;
    let tests = Arc::new(Tests::new(suite, paths, finished));
    let job = Arc::clone(&tests);
    Job::start(tests as Arc<dyn Control>, move || job.run())
}

/// The files of a suite that can be done.
fn checked_paths(suite: &Iozone, path: PathBuf) -> Result<Vec<PathBuf>, Error> {
    suite.check()?;
    let paths = paths_of(suite, path);
    let makes = suite.order().first().is_some_and(|test| test.makes_the_file());
    for path in &paths {
        if let Some(mount_point) = suite.manner.remount.as_deref().filter(|mount_point| !path.starts_with(mount_point))
        {
            let (found, expected) = (mount_point.display().to_string(), "a mount point that the file is below");
            return Err(mileage_workload::Error::Refused { what: "remount", found, expected }.into());
        }
        check_file(suite, path, makes)?;
    }
    Ok(paths)
}

/// The files of a suite, one for each worker.
fn paths_of(suite: &Iozone, path: PathBuf) -> Vec<PathBuf> {
    match suite.workers {
        None => vec![path],
        Some(_) if !suite.files.is_empty() => suite.files.clone(),
        Some(workers) => (0..workers).map(|worker| target::path_of(&path, worker)).collect(),
    }
}

fn check_file(suite: &Iozone, path: &Path, makes: bool) -> Result<(), Error> {
    match rustix::fs::stat(path) {
        Ok(stat) => {
            let kind = FileType::from_raw_mode(stat.st_mode);
            let found = u64::try_from(stat.st_size).unwrap_or(0);
            if kind != FileType::RegularFile {
                return Err(target::not_storage(path, kind));
            }
            if !makes && found < suite.file_bytes {
                return Err(Error::TooSmall { path: path.to_owned(), found, needed: suite.file_bytes });
            }
            Ok(())
        }
        Err(Errno::NOENT) if makes => Ok(()),
        Err(error) => Err(failed("examine", path)(error)),
    }
}

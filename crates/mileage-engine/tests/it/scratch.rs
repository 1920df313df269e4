//! Files to work on, and a workload to vary.

use mileage_engine::{Error, Handle, Options, RunResult, start};
use mileage_workload::{Completion, Content, Observer, PatternKind, Stop, Sync, Workload};
use std::path::PathBuf;
use std::time::Duration;
use tempfile::TempDir;

/// A folder on the file system of the build, since the system's temporary folder is often in memory.
pub fn folder() -> TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

/// A file of `bytes` bytes that all differ from zero, in a folder of its own.
pub fn file_of(bytes: usize) -> (TempDir, PathBuf) {
    let folder = folder();
    let path = folder.path().join("data");
    std::fs::write(&path, vec![0xA5; bytes]).unwrap();
    (folder, path)
}

/// One thread that writes 4 MiB in order in records of 4 KiB.
pub fn plain() -> Workload {
    Workload {
        pattern: PatternKind::Sequential,
        read_percent: 0,
        record_bytes: 4096,
        span_start_bytes: 0,
        span_bytes: 4 << 20,
        depth: 1,
        threads: 1,
        stop: Stop { bytes: Some(4 << 20), ..Stop::default() },
        seed: 1,
        content: Content::Incompressible,
        sync: Sync::None,
        sync_timed: false,
        ..Workload::default()
    }
}

pub fn for_seconds(seconds: u64) -> Stop {
    Stop { time_ns: Some(seconds * 1_000_000_000), ..Stop::default() }
}

/// Wait for a run that ends by itself.
pub fn finish(handle: &Handle) -> Result<RunResult, Error> {
    handle.wait(Duration::from_secs(60)).expect("the run ends within a minute")
}

pub fn run(workload: Workload, options: Options) -> RunResult {
    finish(&start(workload, options).unwrap()).unwrap()
}

/// An observer of any kind.
struct Any(Box<dyn Observer + Send>);

impl Observer for Any {
    fn completed(&mut self, completion: &Completion) {
        self.0.completed(completion);
    }
}

/// As [`mileage_engine::start_observed`], with one type of observer for all tests: the engine's loops are compiled once
/// for each type, which takes seconds.
pub fn start_observed<O: Observer + Send + 'static>(
    workload: Workload,
    options: Options,
    mut observer: impl FnMut(u32) -> O,
) -> Result<Handle, Error> {
    let each: &mut dyn FnMut(u32) -> Any = &mut |thread| Any(Box::new(observer(thread)));
    mileage_engine::start_observed(workload, options, each)
}

/// Whether this file system does direct I/O with records of `record_bytes`; says so by name when a test is skipped.
pub fn has_direct(test: &str, record_bytes: u32) -> bool {
    let (_folder, path) = file_of(1 << 20);
    let workload = Workload {
        read_percent: 100,
        record_bytes,
        span_bytes: u64::from(record_bytes),
        stop: Stop { operations: Some(1), ..Stop::default() },
        ..plain()
    };
    let refused = start(workload, Options { direct: true, ..Options::new(path) }).err();
    if let Some(error) = &refused {
        eprintln!("skipped {test}: {error}");
    }
    refused.is_none()
}

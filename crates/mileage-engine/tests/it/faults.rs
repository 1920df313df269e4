//! A run that fails keeps what it did and names why; a run that breaks is void.

use crate::account::agrees_with_the_kernel;
use crate::scratch::{file_of, finish, folder, for_seconds, has_direct, plain, run, start_observed};
use mileage_engine::{Error, Options, start};
use mileage_workload::{Completion, Observer, PatternKind, Sync, Workload};
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;
use tempfile::TempDir;

/// A file system in memory with room for 1 MiB, unmounted whatever happens.
struct Tiny(TempDir);

impl Tiny {
    fn mount(test: &str) -> Option<Self> {
        let folder = folder();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=1m", "mileage-test"])
            .arg(folder.path())
            .output()
            .is_ok_and(|output| output.status.success());
        if !mounted {
            eprintln!("skipped {test}: mounting a tmpfs needs root");
        }
        mounted.then(|| Self(folder))
    }

    fn file(&self) -> PathBuf {
        self.0.path().join("data")
    }
}

impl Drop for Tiny {
    fn drop(&mut self) {
        let unmounted = Command::new("umount").arg(self.0.path()).status().is_ok_and(|status| status.success());
        assert!(unmounted || std::thread::panicking(), "{} is still mounted", self.0.path().display());
    }
}

#[test]
fn no_space_left() {
    let Some(tiny) = Tiny::mount("no_space_left") else { return };
    let options = Options { create: true, audit: true, ..Options::new(tiny.file()) };
    // 1 MiB is 85 records and a third: the last write is short, is continued, and only then fails.
    let workload = Workload { record_bytes: 12_288, span_bytes: 12_288 * 200, stop: for_seconds(30), ..plain() };
    let finished = run(Workload { sync: Sync::Fsync, ..workload }, options);
    agrees_with_the_kernel(&finished);
    let record = &finished.record;
    let error = record.error.as_ref().expect("1 MiB cannot hold 2.4 MB");
    assert_eq!(error.kind, "ENOSPC");
    assert_eq!(
        error.message,
        format!(
            "write of 12288 bytes at offset 1044480 of {} failed after 4096 bytes: No space left on device (ENOSPC): free space on the target or choose a smaller span",
            tiny.file().display()
        )
    );
    assert_eq!((record.ops_written, record.bytes_written, record.threads[0].calls), (85, 1 << 20, 87));
    assert_eq!((record.latency.write.count, record.durable_ns), (85, record.submit_ns));
    assert!(!record.interrupted);
}

#[test]
fn one_threads_failure_ends_all() {
    let Some(tiny) = Tiny::mount("one_threads_failure_ends_all") else { return };
    std::fs::write(tiny.file(), vec![1; 512 << 10]).unwrap();
    // Thread 0 rewrites what is there for ever; thread 1 soon fills the file system.
    let workload = Workload { threads: 2, span_bytes: 4 << 20, stop: for_seconds(30), ..plain() };
    let finished = run(workload, Options { create: true, audit: true, ..Options::new(tiny.file()) });
    agrees_with_the_kernel(&finished);
    assert_eq!(finished.record.error.unwrap().kind, "ENOSPC");
    assert!(finished.record.submit_ns < 20_000_000_000);
}

fn truncated_in_mid_run(direct: bool) {
    let (_folder, path) = file_of(4 << 20);
    let workload = Workload { read_percent: 100, record_bytes: 8192, stop: for_seconds(30), threads: 2, ..plain() };
    let handle = start(workload, Options { audit: true, direct, ..Options::new(&path) }).unwrap();
    assert_eq!(handle.wait(Duration::from_millis(50)), None);
    let file = std::fs::File::options().write(true).open(&path).unwrap();
    file.set_len(8192 * 100 + 1000).unwrap();
    let finished = finish(&handle).unwrap();
    agrees_with_the_kernel(&finished);
    let error = finished.record.error.unwrap();
    assert_eq!(error.kind, "EOF", "{error:?}");
    assert!(
        error.message.contains("has become shorter") && error.message.contains(path.to_str().unwrap()),
        "{error:?}"
    );
    assert!(finished.record.ops_read > 0 && !finished.record.interrupted);
}

#[test]
fn a_file_that_becomes_shorter() {
    truncated_in_mid_run(false);
}

#[test]
fn a_file_that_becomes_shorter_past_the_page_cache() {
    if has_direct("a_file_that_becomes_shorter_past_the_page_cache", 512) {
        truncated_in_mid_run(true);
    }
}

struct Breaks {
    after: u32,
}

impl Observer for Breaks {
    fn completed(&mut self, completion: &Completion) {
        self.after -= 1;
        assert!(completion.thread != 1 || self.after > 0, "the test breaks this thread");
    }
}

#[test]
fn a_worker_that_breaks_voids_the_run() {
    let (_folder, path) = file_of(4 << 20);
    let workload = Workload { pattern: PatternKind::Random, threads: 3, stop: for_seconds(30), ..plain() };
    let handle = start_observed(workload, Options::new(path), |thread| Breaks {
        after: if thread == 1 { 10 } else { u32::MAX },
    });
    let handle = handle.unwrap();
    let expected = Error::Broken { thread: 1, reason: "the test breaks this thread".to_owned() };
    assert_eq!(finish(&handle), Err(expected.clone()));
    assert_eq!(finish(&handle), Err(expected), "and stays void");
}

//! The record against a trace of the system calls.

use crate::scratch::{file_of, plain};
use mileage_engine::Finished;
use mileage_workload::{PatternKind, Stop, Sync, Workload};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The example that the trace watches, built beside this test by `cargo test`.
fn example() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    test.parent().unwrap().parent().unwrap().join("examples/one_run")
}

fn traced(path: &Path, workload: &Workload) -> (Finished, String) {
    let trace = path.with_extension("trace");
    let output = Command::new("/usr/bin/strace")
        .args(["-f", "-y", "-s", "0", "-e", "trace=read,write,pread64,pwrite64,fsync,fdatasync", "-o"])
        .arg(&trace)
        .arg(example())
        .arg(path)
        .arg(serde_json::to_string(workload).unwrap())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    (serde_json::from_slice(&output.stdout).unwrap(), std::fs::read_to_string(trace).unwrap())
}

#[test]
fn every_call_on_the_target_is_in_the_record() {
    for needed in [Path::new("/usr/bin/strace"), &example()] {
        if !needed.exists() {
            eprintln!("skipped every_call_on_the_target_is_in_the_record: no {}", needed.display());
            return;
        }
    }
    let (_folder, path) = file_of(4 << 20);
    let operations = Stop { operations: Some(1_500), ..Stop::default() };
    for workload in [
        Workload { sync: Sync::Fsync, stop: operations, ..plain() },
        Workload { read_percent: 60, threads: 3, sync: Sync::Fdatasync, pattern: PatternKind::Random, ..plain() },
        Workload { read_percent: 100, sync: Sync::Fsync, threads: 2, stop: operations, ..plain() },
    ] {
        let (finished, trace) = traced(&path, &workload);
        let on_target = format!("<{}>", path.display());
        // An interrupted line is counted where it begins.
        let lines: Vec<&str> = trace.lines().filter(|line| line.contains(&on_target)).collect();
        let count = |tid: u32, call: &str| {
            let (of_thread, called) = (format!("{tid} "), format!("{call}("));
            lines.iter().filter(|line| line.starts_with(&of_thread) && line.contains(&called)).count() as u64
        };
        for thread in &finished.record.threads {
            let tid = thread.tid.unwrap();
            assert_eq!(count(tid, " pread64"), thread.ops_read);
            assert_eq!(count(tid, " pwrite64"), thread.ops_written);
            assert_eq!(count(tid, " pread64") + count(tid, " pwrite64"), thread.calls);
            let wrote = thread.ops_written > 0;
            assert_eq!(count(tid, " fsync"), u64::from(wrote && workload.sync == Sync::Fsync));
            assert_eq!(count(tid, " fdatasync"), u64::from(wrote && workload.sync == Sync::Fdatasync));
        }
        let syncs = lines.iter().filter(|line| line.contains("sync(")).count() as u64;
        let calls: u64 = finished.record.threads.iter().map(|thread| thread.calls).sum();
        assert_eq!(lines.len() as u64, calls + syncs, "calls on the target that the record does not know");
        assert!(calls > 0);
    }
}

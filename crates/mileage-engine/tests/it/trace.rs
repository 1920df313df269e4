//! The record against a trace of the system calls.

use crate::scratch::{file_of, plain};
use crate::strace::{Call, traced};
use mileage_engine::{Options, RunResult};
use mileage_workload::{PatternKind, Stop, Sync, Workload};

/// Do a run in a process of its own under strace: what it leaves behind, and the calls that name its target (`mmap`
/// and what follows on the mapping included). `None` where the test must be skipped.
pub fn run_traced(test: &str, kinds: &str, workload: &Workload, options: &Options) -> Option<(RunResult, Vec<Call>)> {
    let path = options.path.to_str().unwrap();
    let arguments = [path, &serde_json::to_string(workload).unwrap(), &serde_json::to_string(options).unwrap()];
    let (output, calls) = traced(test, kinds, "one_run", &arguments)?;
    let mapped: Vec<String> = calls
        .iter()
        .filter(|call| call.name == "mmap" && call.text().contains(path))
        .map(|call| call.result.clone())
        .collect();
    let on_target = |call: &Call| {
        call.text().contains(&format!("<{path}>"))
            || call.text().contains(&format!("\"{path}\""))
            || (call.name == "msync" && mapped.iter().any(|address| call.arguments.starts_with(address)))
    };
    Some((serde_json::from_slice(&output).unwrap(), calls.into_iter().filter(on_target).collect()))
}

#[test]
fn every_call_on_the_target_is_in_the_record() {
    let (_folder, path) = file_of(4 << 20);
    let operations = Stop { operations: Some(1_500), ..Stop::default() };
    for workload in [
        Workload { sync: Sync::Fsync, stop: operations, ..plain() },
        Workload { read_percent: 60, threads: 3, sync: Sync::Fdatasync, pattern: PatternKind::Random, ..plain() },
        Workload { read_percent: 100, sync: Sync::Fsync, threads: 2, stop: operations, ..plain() },
    ] {
        let test = "every_call_on_the_target_is_in_the_record";
        let kinds = "read,write,pread64,pwrite64,fsync,fdatasync";
        let Some((finished, calls)) = run_traced(test, kinds, &workload, &Options::new(&path)) else { return };
        let count =
            |tid: u32, name: &str| calls.iter().filter(|call| call.tid == tid && call.name == name).count() as u64;
        for thread in &finished.record.threads {
            let tid = thread.tid.unwrap();
            assert_eq!(count(tid, "pread64"), thread.ops_read);
            assert_eq!(count(tid, "pwrite64"), thread.ops_written);
            assert_eq!(count(tid, "pread64") + count(tid, "pwrite64"), thread.calls);
            let wrote = thread.ops_written > 0;
            assert_eq!(count(tid, "fsync"), u64::from(wrote && workload.sync == Sync::Fsync));
            assert_eq!(count(tid, "fdatasync"), u64::from(wrote && workload.sync == Sync::Fdatasync));
        }
        let syncs = calls.iter().filter(|call| call.name.ends_with("sync")).count() as u64;
        let counted: u64 = finished.record.threads.iter().map(|thread| thread.calls).sum();
        assert_eq!(calls.len() as u64, counted + syncs, "calls on the target that the record does not know");
        assert!(counted > 0);
    }
}

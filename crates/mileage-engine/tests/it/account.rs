//! The record against the kernel's own account, exactly, thread by thread.

use crate::scratch::{file_of, has_direct, plain, run};
use mileage_engine::{Options, RunResult};
use mileage_workload::{PatternKind, Stop, Sync, Workload};

pub fn agrees_with_the_kernel(finished: &RunResult) {
    let audit = finished.audit.as_ref().expect("asked for");
    assert_eq!(audit.len(), finished.record.threads.len());
    for (thread, io) in finished.record.threads.iter().zip(audit) {
        assert_eq!(thread.tid, Some(io.tid));
        assert_eq!((thread.bytes_read, thread.bytes_written), (io.rchar, io.wchar), "{thread:?} {io:?}");
        assert_eq!(thread.calls, io.syscr + io.syscw, "{thread:?} {io:?}");
    }
    let sum = |pick: fn(&mileage_engine::ThreadIo) -> u64| audit.iter().map(pick).sum::<u64>();
    assert_eq!(finished.record.bytes_read, sum(|io| io.rchar));
    assert_eq!(finished.record.bytes_written, sum(|io| io.wchar));
}

fn adds_up(workload: &Workload, finished: &RunResult) {
    let record = &finished.record;
    let (bytes, ops) = (record.bytes_read + record.bytes_written, record.ops_read + record.ops_written);
    assert_eq!(bytes, ops * u64::from(workload.record_bytes));
    assert_eq!(record.latency.read.count, record.ops_read);
    assert_eq!(record.latency.write.count, record.ops_written);
    assert_eq!(record.series.ops.iter().sum::<u64>(), ops);
    assert_eq!(record.series.bytes_read.iter().sum::<u64>(), record.bytes_read);
    assert_eq!(record.series.bytes_written.iter().sum::<u64>(), record.bytes_written);
    assert_eq!(record.threads.iter().map(|thread| thread.ops_read).sum::<u64>(), record.ops_read);
    assert_eq!(record.threads.iter().map(|thread| thread.ops_written).sum::<u64>(), record.ops_written);
}

fn workloads() -> Vec<Workload> {
    let operations = Stop { operations: Some(5_000), ..Stop::default() };
    vec![
        Workload { read_percent: 100, ..plain() },
        plain(),
        Workload { pattern: PatternKind::Random, read_percent: 70, threads: 4, stop: operations, ..plain() },
        Workload { pattern: PatternKind::Shuffled, threads: 3, sync: Sync::Fsync, sync_timed: true, ..plain() },
        Workload { record_bytes: 1 << 20, read_percent: 50, threads: 2, sync: Sync::Fdatasync, ..plain() },
        Workload {
            record_bytes: 512,
            threads: 8,
            stop: Stop { time_ns: Some(30_000_000), ..Stop::default() },
            ..plain()
        },
    ]
}

#[test]
fn every_byte_and_call_is_the_kernels() {
    let (_folder, path) = file_of(4 << 20);
    for workload in workloads() {
        let finished = run(workload.clone(), Options { audit: true, ..Options::new(&path) });
        agrees_with_the_kernel(&finished);
        adds_up(&workload, &finished);
        assert_eq!((finished.record.error, finished.record.interrupted), (None, false));
    }
}

#[test]
fn also_past_the_page_cache() {
    if !has_direct("also_past_the_page_cache", 512) {
        return;
    }
    let (_folder, path) = file_of(4 << 20);
    for workload in workloads() {
        let finished = run(workload.clone(), Options { audit: true, direct: true, ..Options::new(&path) });
        agrees_with_the_kernel(&finished);
        adds_up(&workload, &finished);
    }
    let reads = Workload { read_percent: 100, ..plain() };
    // A page of the program itself that is not in memory yet is fetched by the thread too: later runs find it there.
    let mut tried = (0..3).map(|_| {
        let finished = run(reads.clone(), Options { audit: true, direct: true, ..Options::new(&path) });
        let fetched: u64 = finished.audit.unwrap().iter().map(|io| io.read_bytes).sum();
        (fetched, finished.record.bytes_read)
    });
    assert!(tried.any(|(fetched, read)| fetched == read), "direct reads come from the device");
}

#[test]
fn no_audit_unless_asked() {
    let (_folder, path) = file_of(4 << 20);
    assert_eq!(run(plain(), Options::new(path)).audit, None);
}

#[test]
fn what_is_finished_round_trips_as_json() {
    let (_folder, path) = file_of(4 << 20);
    let finished = run(plain(), Options { audit: true, ..Options::new(path) });
    let text = serde_json::to_string(&finished).unwrap();
    assert_eq!(serde_json::from_str::<RunResult>(&text).unwrap(), finished);
}

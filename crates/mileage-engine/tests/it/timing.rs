//! What the run's times mean.

use crate::scratch::{file_of, plain, run};
use mileage_engine::Options;
use mileage_measure::RunRecord;
use mileage_workload::{PatternKind, Stop, Sync, Workload};
use std::time::Instant;

fn timed(workload: Workload) -> (RunRecord, u64) {
    let (_folder, path) = file_of(16 << 20);
    let began = Instant::now();
    let record = run(workload, Options::new(path)).record;
    (record, began.elapsed().as_nanos() as u64)
}

fn writes(sync: Sync, sync_timed: bool) -> Workload {
    let bytes = 16 << 20;
    Workload { span_bytes: bytes, stop: Stop { bytes: Some(bytes), ..Stop::default() }, sync, sync_timed, ..plain() }
}

#[test]
fn a_record_says_what_its_threads_cost() {
    let (_folder, path) = file_of(4 << 20);
    let workload = Workload { threads: 2, stop: Stop { operations: Some(2_000), ..Stop::default() }, ..plain() };
    let usage = run(workload, Options::new(path)).record.usage;
    assert!(usage.user_ns + usage.system_ns > 0, "{usage:?}");
    assert!(!usage.clock.is_empty());
}

#[test]
fn a_timed_sync_counts() {
    for sync in [Sync::Fsync, Sync::Fdatasync] {
        let (record, outside_ns) = timed(writes(sync, true));
        assert!(record.durable_ns > record.submit_ns, "{record:?}");
        assert_eq!(record.elapsed_ns, record.durable_ns);
        assert!(record.durable_ns <= outside_ns);
        assert_eq!(record.latency.write.count, 4096, "the sync is not a write");
    }
}

#[test]
fn an_untimed_sync_is_done_and_does_not_count() {
    let (record, _) = timed(Workload { threads: 2, ..writes(Sync::Fsync, false) });
    assert!(record.durable_ns > record.submit_ns);
    assert_eq!(record.elapsed_ns, record.submit_ns);
}

#[test]
fn without_a_sync_both_times_are_one() {
    let (record, _) = timed(writes(Sync::None, true));
    assert_eq!((record.durable_ns, record.elapsed_ns), (record.submit_ns, record.submit_ns));
    let (record, _) = timed(Workload { read_percent: 100, ..writes(Sync::Fsync, true) });
    assert_eq!(record.durable_ns, record.submit_ns, "nothing was written, so nothing is synced");
}

#[test]
fn latencies_fill_the_run_and_no_more() {
    let (record, outside_ns) = timed(Workload { read_percent: 100, ..writes(Sync::None, false) });
    let latency = &record.latency.read;
    assert!(latency.sum_ns <= record.submit_ns && record.submit_ns <= outside_ns, "{latency:?} {}", record.submit_ns);
    assert!(latency.min_ns > 0 && latency.max_ns <= record.submit_ns);
    assert_eq!(record.series.latency_sum_ns.iter().sum::<u64>(), latency.sum_ns);
    assert_eq!(record.series.interval_ns % 10_000_000, 0);
}

#[test]
fn a_time_limit_is_met() {
    let stop = Stop { time_ns: Some(200_000_000), ..Stop::default() };
    let workload = Workload { pattern: PatternKind::Random, read_percent: 100, threads: 2, stop, ..plain() };
    let (record, _) = timed(workload);
    assert!((200_000_000..1_200_000_000).contains(&record.submit_ns), "{}", record.submit_ns);
}

//! The user's interrupt, and progress.

use crate::account::agrees_with_the_kernel;
use crate::scratch::{file_of, finish, for_seconds, plain, start_observed};
use mileage_engine::{Options, Progress, start};
use mileage_workload::{Completion, Observer, Stop, Sync, Workload};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

fn endless() -> Workload {
    Workload { record_bytes: 1 << 20, threads: 2, stop: for_seconds(600), sync: Sync::Fsync, ..plain() }
}

/// Counts what all threads complete.
struct CompletionCount(Arc<AtomicU64>);

impl Observer for CompletionCount {
    fn completed(&mut self, _completion: &Completion) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn a_stop_lets_each_thread_end_the_operation_it_is_at_and_begin_no_other() {
    let (_folder, path) = file_of(4 << 20);
    let (workload, completed) = (endless(), Arc::new(AtomicU64::new(0)));
    let options = Options { audit: true, ..Options::new(path) };
    let handle = start_observed(workload.clone(), options, |_| CompletionCount(Arc::clone(&completed))).unwrap();
    while completed.load(Ordering::SeqCst) < 100 {
        assert_eq!(handle.wait(Duration::from_millis(1)), None);
    }
    handle.stop();
    let before = completed.load(Ordering::SeqCst);
    let finished = finish(&handle).unwrap();
    let after = completed.load(Ordering::SeqCst) - before;
    assert!(after <= u64::from(workload.threads), "{after} operations were completed after the stop");
    agrees_with_the_kernel(&finished);
    let record = finished.record;
    assert!(record.interrupted && record.error.is_none() && record.ops_written > 0);
    assert_eq!(record.durable_ns, record.submit_ns, "an interrupted run claims nothing durable");
}

#[test]
fn a_stop_before_anything_was_issued_still_ends_in_a_record() {
    let (_folder, path) = file_of(4 << 20);
    for _ in 0..20 {
        let handle = start(endless(), Options::new(&path)).unwrap();
        handle.stop();
        let record = finish(&handle).unwrap().record;
        assert!(record.interrupted);
        assert_eq!(record.bytes_written, record.ops_written << 20);
    }
}

#[test]
fn a_stop_after_the_end_changes_nothing() {
    let (_folder, path) = file_of(4 << 20);
    let handle = start(plain(), Options::new(path)).unwrap();
    let first = finish(&handle).unwrap();
    handle.stop();
    assert_eq!(finish(&handle).unwrap(), first);
    assert!(!first.record.interrupted);
}

/// Alive as long as its worker.
struct Alive(#[expect(dead_code, reason = "held, not read")] Arc<()>);

impl Observer for Alive {
    fn completed(&mut self, _completion: &Completion) {}
}

#[test]
fn a_dropped_handle_leaves_no_worker_behind() {
    let (_folder, path) = file_of(4 << 20);
    let alive = Arc::new(());
    let handle = start_observed(endless(), Options::new(path), |_| Alive(Arc::clone(&alive))).unwrap();
    std::thread::sleep(Duration::from_millis(30));
    assert_eq!(Arc::strong_count(&alive), 3);
    let dropped = Instant::now();
    drop(handle);
    while Arc::strong_count(&alive) > 1 {
        assert!(dropped.elapsed() < Duration::from_secs(60), "a worker is still running");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn progress_grows_to_the_total() {
    let (_folder, path) = file_of(4 << 20);
    let stop = Stop { bytes: Some(512 << 20), operations: Some(60_000), time_ns: None };
    let handle = start(Workload { threads: 2, stop, ..plain() }, Options::new(&path)).unwrap();
    let mut last = handle.progress();
    assert_eq!((last.bytes_total, last.operations_total), (Some(60_000 * 4096), Some(60_000)));
    while handle.wait(Duration::from_millis(5)).is_none() {
        let now = handle.progress();
        assert!(now.bytes >= last.bytes && now.operations >= last.operations);
        last = now;
    }
    let Progress { bytes, operations, .. } = handle.progress();
    assert_eq!((bytes, operations), (60_000 * 4096, 60_000));
    let timed = start(endless(), Options::new(path)).unwrap().progress();
    assert_eq!((timed.bytes_total, timed.operations_total), (None, None));
}

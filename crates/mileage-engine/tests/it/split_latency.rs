//! Latencies in two parts: they add up to the whole, operation by operation, for every kind but syncs.

use crate::scratch::{file_of, plain, run};
use mileage_engine::{Api, Options};
use mileage_measure::{Histogram, HistogramData, RunRecord};
use mileage_workload::{PatternKind, Stop, Sync, Workload};

/// A mix at this depth with syncs between, which ends after a number of operations.
fn mix(depth: u32) -> Workload {
    Workload {
        pattern: PatternKind::Random,
        read_percent: 50,
        depth,
        sync: Sync::Fdatasync,
        sync_every: 7,
        stop: Stop { operations: Some(600), ..Stop::default() },
        ..plain()
    }
}

fn ring(batch: u32, sqpoll: bool) -> Api {
    Api::Uring { registered: false, batch, sqpoll, iopoll: false }
}

/// Read and write: the whole, its first part and its second part.
fn parts(record: &RunRecord) -> [[&HistogramData; 3]; 2] {
    let split = record.split_latency.as_ref().expect("latencies are split");
    [
        [&record.latency.read, &split.submission.read, &split.completion.read],
        [&record.latency.write, &split.submission.write, &split.completion.write],
    ]
}

#[test]
fn the_parts_add_up_to_the_whole() {
    let (_folder, path) = file_of(4 << 20);
    let apis = [
        (Api::Positioned, 1),
        (Api::Null, 1),
        (ring(0, false), 16),
        (ring(1, false), 4),
        (ring(3, false), 8),
        (ring(0, true), 8),
    ];
    for (api, depth) in apis {
        for threads in [1, 3] {
            let options = Options { api, split_latency: true, ..Options::new(&path) };
            let record = run(Workload { threads, ..mix(depth) }, options).record;
            assert_eq!(record.error, None, "{api:?}");
            for [whole, submission, completion] in parts(&record) {
                assert!(whole.count > 100, "{api:?}");
                assert_eq!((submission.count, completion.count), (whole.count, whole.count), "{api:?}");
                assert_eq!(submission.sum_ns + completion.sum_ns, whole.sum_ns, "{api:?}");
                assert!(submission.max_ns <= whole.max_ns && completion.max_ns <= whole.max_ns, "{api:?}");
            }
            let split = record.split_latency.unwrap();
            assert_eq!((split.submission.sync.count, split.completion.sync.count), (0, 0));
        }
    }
}

#[test]
fn a_wait_for_the_device_is_no_part_of_the_submission() {
    // Through the page cache one call could submit and wait; each read is of what was dropped from the cache.
    let (_folder, path) = file_of(4 << 20);
    std::fs::File::open(&path).unwrap().sync_all().unwrap();
    let options =
        Options { api: ring(0, false), drop_cache_every_bytes: 4096, split_latency: true, ..Options::new(&path) };
    let record = run(Workload { read_percent: 100, ..mix(1) }, options).record;
    assert_eq!(record.error, None);
    let [[whole, submission, completion], _] = parts(&record);
    if whole.sum_ns < 10_000 * whole.count {
        eprintln!("skipped a_wait_for_the_device_is_no_part_of_the_submission: the build's file system is in memory");
        return;
    }
    // Were the wait a part of the submission, a completion would be reaped at once, in less than a microsecond. How the
    // two compare depends on the device, and on what else runs.
    let waited_ns = Histogram::from_data(completion).unwrap().quantile_ns(0.5).unwrap();
    assert!(waited_ns > 3_000 && submission.count > 0, "{waited_ns}");
}

#[test]
fn what_is_warmed_up_is_not_in_the_parts_and_without_the_option_there_are_none() {
    let (_folder, path) = file_of(4 << 20);
    let mut warm = mix(4);
    warm.load.warm_up_ns = 2_000_000;
    warm.stop = Stop { operations: Some(6_000), ..Stop::default() };
    let options = Options { api: ring(0, false), ..Options::new(&path) };
    let record = run(warm.clone(), Options { split_latency: true, ..options.clone() }).record;
    for [whole, submission, completion] in parts(&record) {
        assert_eq!((submission.count, completion.count), (whole.count, whole.count));
    }
    assert_eq!(run(warm, options).record.split_latency, None);
}

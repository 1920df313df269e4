//! Records of a run that is still in progress.

use crate::scratch::{file_of, finish, plain};
use mileage_engine::{Api, Options, start};
use mileage_measure::RunRecord;
use mileage_workload::{Cap, Load, PatternKind, Stop, Think, Workload};
use std::time::Duration;

const TIMEOUT: Duration = Duration::from_secs(10);

/// Reads and writes of two threads until they are stopped, at a rate.
fn mix(depth: u32, load: Load) -> Workload {
    let stop = Stop { time_ns: Some(60_000_000_000), ..Stop::default() };
    Workload { pattern: PatternKind::Random, read_percent: 50, depth, threads: 2, stop, load, ..plain() }
}

/// Three records while the run is in progress, and that of its end.
fn records_of(workload: Workload, api: Api) -> Vec<RunRecord> {
    let (_folder, path) = file_of(4 << 20);
    let handle = start(workload, Options { api, ..Options::new(path) }).unwrap();
    let mut records = Vec::new();
    while records.len() < 3 {
        assert!(handle.wait(Duration::from_millis(50)).is_none(), "the run has ended");
        records.push(handle.interim(TIMEOUT));
    }
    handle.stop();
    records.push(finish(&handle).unwrap().record);
    records
}

fn add_up(records: &[RunRecord]) {
    for record in records {
        assert_eq!(record.latency.read.count, record.ops_read);
        assert_eq!(record.latency.write.count, record.ops_written);
        assert_eq!(record.series.ops.iter().sum::<u64>(), record.ops_read + record.ops_written);
        assert_eq!(record.bytes_read + record.bytes_written, 4096 * (record.ops_read + record.ops_written));
        assert_eq!(record.threads.len(), 2);
        assert!(record.latency.read.max_ns <= record.elapsed_ns);
    }
    let done = |record: &RunRecord| record.ops_read + record.ops_written;
    let spent = |record: &RunRecord| record.usage.user_ns + record.usage.system_ns;
    assert!(records.is_sorted_by_key(done) && records.is_sorted_by_key(spent));
    // The last one may hold no more than the one before: the run is stopped at once.
    let [first, second, third, _] = records else { panic!("{} records", records.len()) };
    assert!(0 < done(first) && done(first) < done(second) && done(second) < done(third));
    assert!(0 < first.elapsed_ns && first.elapsed_ns < second.elapsed_ns && second.elapsed_ns < third.elapsed_ns);
}

#[test]
fn an_interim_record_adds_up_and_grows() {
    let ring = Api::Uring { registered: false, batch: 0, sqpoll: false, iopoll: false };
    for (depth, api) in [(1, Api::Positioned), (8, ring)] {
        add_up(&records_of(mix(depth, Load::default()), api));
        let cap = Some(Cap::OperationsPerS(400));
        add_up(&records_of(mix(depth, Load { cap, ..Load::default() }), api));
    }
}

#[test]
fn a_thread_that_pauses_answers_too() {
    // Each thread does one operation and then pauses for longer than the test lasts.
    let think = Think { pause_ns: 50_000_000_000, every_operations: 1 };
    let (_folder, path) = file_of(4 << 20);
    let load = Load { think: Some(think), ..Load::default() };
    let handle = start(mix(1, load), Options::new(path)).unwrap();
    let done = |record: &RunRecord| record.ops_read + record.ops_written;
    let mut record = handle.interim(TIMEOUT);
    while done(&record) < 2 {
        assert!(handle.wait(Duration::from_millis(5)).is_none());
        record = handle.interim(TIMEOUT);
    }
    let later = handle.interim(TIMEOUT);
    assert_eq!((done(&later), later.threads.len()), (2, 2));
    assert!(later.elapsed_ns > record.elapsed_ns, "the pause is part of the run's time");
    handle.stop();
    assert_eq!(done(&finish(&handle).unwrap().record), 2);
    assert_eq!(done(&handle.interim(TIMEOUT)), 2, "a run that has ended");
}

//! Results of the tests: a record each, and for several workers the rates that IOzone prints.

use super::steps::Step;
use super::suite::{Iozone, Mode, Test};
use mileage_measure::{RunRecord, ThreadRecord};
use serde::{Deserialize, Serialize};

/// Results of a set of tests.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IozoneResults {
    /// The tests that were begun, in order. The last one has an error when the set ended by it.
    pub results: Vec<TestResult>,
    /// The user ended the set.
    pub interrupted: bool,
}

/// Result of one test.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestResult {
    /// The test.
    pub test: Test,
    /// The workload's name, such as `iozone.stride_read`.
    pub name: String,
    /// False for a pass that IOzone does and does not print: its second backward read.
    pub reported: bool,
    /// Record, as for every other workload.
    pub record: RunRecord,
    /// The rates of the workers; `None` for a single stream.
    pub workers: Option<WorkerRates>,
}

/// Rates that IOzone prints for several workers, as bytes and nanoseconds; a rate is their quotient.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerRates {
    /// Work of each worker and its time: until the first worker was done, or of its own complete part.
    pub children: Vec<TimedBytes>,
    /// Total work over the time from the first call to the last close of any worker; to the end of the first one where
    /// the others stop then ("parent sees").
    pub parent: TimedBytes,
}

/// Bytes and the time they took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimedBytes {
    /// Bytes.
    pub bytes: u64,
    /// Nanoseconds.
    pub ns: u64,
}

impl TestResult {
    /// The result of a step with this record. `whole_ns`: from the first call of any worker to the last close of any.
    pub(super) fn of(suite: &Iozone, step: &Step, record: RunRecord, whole_ns: u64) -> Self {
        let leave = suite.mode == Mode::Fidelity && step.test.only_reads();
        let rates = || WorkerRates::of(&record, whole_ns, suite.stonewall, leave, suite.manner.compute_timed);
        Self {
            test: step.test,
            name: step.test.name().to_owned(),
            reported: !step.unreported,
            workers: suite.workers.map(|_| rates()),
            record,
        }
    }
}

impl WorkerRates {
    /// The rates of a record's threads. `whole_ns` runs to the last close of any worker. `stonewall` counts what all had
    /// moved when the first was done; `leave` says that the others leave then. A worker's time is without its compute
    /// cycles unless `compute_timed`, that of all is with them, as in IOzone.
    pub(super) fn of(record: &RunRecord, whole_ns: u64, stonewall: bool, leave: bool, compute_timed: bool) -> Self {
        let first_done_ns = record.concurrency.as_ref().filter(|_| stonewall).map(|all| all.first_done_ns);
        let without = |ns: u64, computed_ns: u64| if compute_timed { ns } else { ns.saturating_sub(computed_ns) };
        let child = |thread: &ThreadRecord| match (first_done_ns, thread.first_done_bytes) {
            (Some(ns), Some(bytes)) if thread.elapsed_ns > ns => {
                TimedBytes { bytes, ns: without(ns, thread.first_done_computed_ns.unwrap_or(0)) }
            }
            _ => TimedBytes {
                bytes: thread.bytes_read + thread.bytes_written,
                ns: without(thread.elapsed_ns, thread.computed_ns),
            },
        };
        let children: Vec<TimedBytes> = record.threads.iter().map(child).collect();
        let bytes = children.iter().map(|child| child.bytes).sum();
        let ns = first_done_ns.filter(|_| leave).unwrap_or(whole_ns);
        Self { children, parent: TimedBytes { bytes, ns } }
    }
}

#[cfg(test)]
mod tests {
    use super::{TimedBytes, WorkerRates};
    use mileage_measure::{Concurrency, RunRecord, ThreadRecord};

    fn thread(bytes: u64, elapsed_ns: u64, first_done_bytes: u64) -> ThreadRecord {
        let first_done_bytes = Some(first_done_bytes);
        ThreadRecord { bytes_written: bytes, elapsed_ns, first_done_bytes, ..ThreadRecord::default() }
    }

    #[test]
    fn rates_stop_when_the_first_worker_is_done() {
        let record = RunRecord {
            threads: vec![thread(1000, 10, 1000), thread(1000, 20, 600)],
            concurrency: Some(Concurrency { first_done_ns: 10, ..Concurrency::default() }),
            ..RunRecord::default()
        };
        let rates = WorkerRates::of(&record, 40, true, false, false);
        assert_eq!(rates.children, [TimedBytes { bytes: 1000, ns: 10 }, TimedBytes { bytes: 600, ns: 10 }]);
        assert_eq!(rates.parent, TimedBytes { bytes: 1600, ns: 40 });
        let leaving = WorkerRates::of(&record, 40, true, true, false);
        assert_eq!(leaving.parent, TimedBytes { bytes: 1600, ns: 10 });
        let whole = WorkerRates::of(&record, 40, false, true, false);
        assert_eq!(whole.children[1], TimedBytes { bytes: 1000, ns: 20 });
        assert_eq!(whole.parent, TimedBytes { bytes: 2000, ns: 40 });
    }

    #[test]
    fn compute_cycles_count_in_the_time_of_all_alone() {
        let of = |elapsed_ns, first_done_bytes, computed_ns, first_done_computed_ns| ThreadRecord {
            computed_ns,
            first_done_computed_ns: Some(first_done_computed_ns),
            ..thread(1000, elapsed_ns, first_done_bytes)
        };
        let record = RunRecord {
            threads: vec![of(10, 1000, 6, 6), of(20, 600, 9, 5)],
            concurrency: Some(Concurrency { first_done_ns: 10, ..Concurrency::default() }),
            ..RunRecord::default()
        };
        let rates = WorkerRates::of(&record, 40, true, false, false);
        assert_eq!(rates.children, [TimedBytes { bytes: 1000, ns: 4 }, TimedBytes { bytes: 600, ns: 5 }]);
        assert_eq!(rates.parent, TimedBytes { bytes: 1600, ns: 40 });
        assert_eq!(WorkerRates::of(&record, 40, false, false, false).children[1].ns, 11);
        let timed = WorkerRates::of(&record, 40, true, false, true);
        assert_eq!(timed.children, [TimedBytes { bytes: 1000, ns: 10 }, TimedBytes { bytes: 600, ns: 10 }]);
    }
}

//! IOzone's tests as file jobs, so that a modelled host can run them instead of this engine.
//!
//! # Refused here
//! What only a real file has: bytes that are compared, calls that may hang.

use super::manner::Manner;
use super::results::{IozoneResults, TestResult, WorkerRates};
use super::steps::{Access, Action, Moves, Step, steps};
use super::suite::{Iozone, Mode};
use mileage_measure::RunRecord;
use mileage_workload::{Error, FileCall, FileJob, FilePhase, FileWork, HandleId, OpenHow};
use std::ops::Range;

/// The phases of a suite on the file at `path`, or on files of its workers, and what was there is removed at the end. The
/// handles from `first_handle` on are free: two for each worker.
///
/// Moves of a file's position take no time there; a stream writes and reads one record at a time, as its buffer is one record.
///
/// # Errors
/// A rule that the suite breaks, or what only a real file has.
pub fn iozone_file_job(suite: &Iozone, path: &str, first_handle: HandleId) -> Result<FileJob, Error> {
    suite.check()?;
    let refused = |what, found: &str| Err(Error::Refused { what, found: found.to_owned(), expected: "a real file" });
    match () {
        () if suite.compare => return refused("compare", "true"),
        () if suite.timeout_ns > 0 => return refused("timeout_ns", "given"),
        () if suite.manner != Manner::default() => return refused("manner", "given"),
        () if !suite.files.is_empty() => return refused("files", "given"),
        () => {}
    }
    let job = Job { suite, path, first_handle };
    let fidelity = suite.mode == Mode::Fidelity;
    let mut phases = Vec::new();
    if fidelity {
        phases.push(alone(vec![FileCall::SyncAll, FileCall::SyncAll]));
    }
    for step in steps(suite) {
        job.add(&step, &mut phases);
        if suite.workers.is_some() && fidelity {
            phases.push(alone(vec![FileCall::SyncAll]));
        }
        if suite.pause_ns > 0 {
            let work = vec![FileWork::Pause(suite.pause_ns)];
            phases.push(FilePhase { name: "pause".to_owned(), timed: false, work });
        }
    }
    if !suite.keep {
        phases.push(job.removal());
    }
    Ok(FileJob { phases })
}

/// The results of a suite, from the records of its timed phases in their order.
pub fn iozone_results(suite: &Iozone, records: Vec<RunRecord>, interrupted: bool) -> IozoneResults {
    let result = |(step, record): (Step, RunRecord)| {
        let leave = suite.mode == Mode::Fidelity && step.test.only_reads();
        TestResult {
            test: step.test,
            name: step.test.name().to_owned(),
            reported: !step.unreported,
            workers: suite.workers.map(|_| WorkerRates::of(&record, record.elapsed_ns, suite.stonewall, leave, false)),
            record,
        }
    };
    IozoneResults { results: steps(suite).into_iter().zip(records).map(result).collect(), interrupted }
}

/// Calls of the first worker alone.
fn alone(calls: Vec<FileCall>) -> FilePhase {
    let work = vec![FileWork::Calls { calls, tolerant: false }];
    FilePhase { name: "sync".to_owned(), timed: false, work }
}

struct Job<'a> {
    suite: &'a Iozone,
    path: &'a str,
    first_handle: HandleId,
}

impl Job<'_> {
    fn path_of(&self, worker: u32) -> String {
        if self.suite.workers.is_some() { format!("{}.{worker}", self.path) } else { self.path.to_owned() }
    }

    /// The handle of a worker's file, and one for a moment.
    fn handles(&self, worker: u32) -> (HandleId, HandleId) {
        (self.first_handle + 2 * worker, self.first_handle + 2 * worker + 1)
    }

    fn untimed(&self, name: &str, work: impl Fn(u32) -> FileWork) -> FilePhase {
        FilePhase { name: name.to_owned(), timed: false, work: (0..self.suite.threads()).map(work).collect() }
    }

    fn removal(&self) -> FilePhase {
        self.untimed("remove", |worker| FileWork::Calls {
            calls: vec![FileCall::Unlink { path: self.path_of(worker), directory: false }],
            tolerant: true,
        })
    }

    /// The phases of one test: what comes before its clock, what is inside, what comes after.
    fn add(&self, step: &Step, phases: &mut Vec<FilePhase>) {
        // A file that is to be removed may be missing, which no other call tolerates.
        let removal_at = step.before.iter().position(|action| *action == Action::Unlink);
        let before = |range: Range<usize>| {
            self.untimed("open", |worker| {
                let actions = step.before_of(self.suite, worker);
                let some = actions.get(range.start..range.end.min(actions.len())).unwrap_or_default();
                let calls = some.iter().flat_map(|action| self.calls_of(step, *action, worker)).collect();
                FileWork::Calls { calls, tolerant: false }
            })
        };
        if let Some(at) = removal_at {
            phases.extend((at > 0).then(|| before(0..at)));
            phases.push(self.removal());
        }
        phases.push(before(removal_at.map_or(0, |at| at + 1)..usize::MAX));
        let close = step.ending.close_inside;
        let records = |worker| {
            let workload = Box::new(step.workload_for(self.suite, worker));
            let sync = step.ending.flush_reads && !workload.writes();
            FileWork::Records { workload, thread: worker, handle: self.handles(worker).0, open: None, sync, close }
        };
        let work = (0..self.suite.threads()).map(records).collect();
        phases.push(FilePhase { name: step.test.name().to_owned(), timed: true, work });
        phases.push(self.untimed("close", |worker| {
            let (handle, _) = self.handles(worker);
            let mut calls = Vec::new();
            if step.ending.flush_after {
                calls.push(FileCall::Sync { handle, data_only: false });
            }
            if !close {
                calls.push(FileCall::Close { handle });
            }
            FileWork::Calls { calls, tolerant: false }
        }));
    }

    fn calls_of(&self, step: &Step, action: Action, worker: u32) -> Vec<FileCall> {
        let ((handle, other), path) = (self.handles(worker), self.path_of(worker));
        let made = OpenHow { create: true, truncate: true, ..OpenHow::default() };
        match action {
            // A phase of its own; only a real file's.
            // A modelled host is not asked for it: a study refuses a cold cache there.
            Action::Unlink | Action::Extend | Action::DropCache => Vec::new(),
            Action::Empty | Action::Create => {
                vec![FileCall::Open { path, handle: other, how: made }, FileCall::Close { handle: other }]
            }
            Action::Open(access) => vec![FileCall::Open { path, handle, how: self.opened_as(step, access) }],
            Action::Fsync => vec![FileCall::Sync { handle, data_only: false }],
            Action::ReadFirst => vec![FileCall::Read { handle, offset: 0, length: self.suite.record_bytes.into() }],
            Action::FsyncBeside => vec![
                FileCall::Open { path, handle: other, how: OpenHow::default() },
                FileCall::Sync { handle: other, data_only: false },
                FileCall::Close { handle: other },
            ],
        }
    }

    fn opened_as(&self, step: &Step, access: Access) -> OpenHow {
        let (suite, streamed) = (self.suite, step.moves == Moves::Stream);
        let writes = access != Access::Read;
        OpenHow {
            create: matches!(access, Access::Create | Access::Stream),
            direct: suite.direct && !streamed,
            dsync: (suite.dsync || suite.osync) && writes && !streamed,
            ..OpenHow::default()
        }
    }
}

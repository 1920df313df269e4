//! Work on files by several tasks, done on a host: the modelled host as a driver of [`FileExecution`].
//!
//! Every timed phase leaves a record like that of any other run. Times in it count from the start of the phase.

use crate::call::CallError;
use crate::host::Host;
use crate::written_content::JobContents;
use mileage_drive::PageSizes;
use mileage_measure::{
    CommitTimes, CompletedOperation, Concurrency, Histogram, LatencyData, RunError, RunRecord, Series, ThreadRecord,
    Usage,
};
use mileage_workload::{
    FileCall, FileExecution, FileFailure, FileJob, FileOperation, FileOperationKind, FileStep, FileWork,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// First length of a series' intervals; it doubles by itself.
const INTERVAL_NS: u64 = 1_000_000;
/// Calls between two questions whether to stop.
const POLL_CALLS: u64 = 4096;

/// A phase that was timed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhaseRecord {
    /// Its name.
    pub name: String,
    /// Its record.
    pub record: RunRecord,
    /// What each task did when.
    pub tasks: Vec<TaskSpans>,
}

/// When a task did what, in nanoseconds since the start of the phase: first and last instant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskSpans {
    /// Opening the file.
    pub open_ns: Option<(u64, u64)>,
    /// Operations and syncs.
    pub operate_ns: Option<(u64, u64)>,
    /// Closing the file.
    pub close_ns: Option<(u64, u64)>,
}

impl TaskSpans {
    /// End of the last operation, or of the `close` after it.
    fn end_ns(&self) -> Option<u64> {
        self.operate_ns.max(self.close_ns).map(|(_, last_ns)| last_ns)
    }
}

/// Result of a job.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileJobResult {
    /// The timed phases that began, in order; the last has an error when the job ended by it.
    pub phases: Vec<PhaseRecord>,
    /// `poll` asked to stop.
    pub interrupted: bool,
}

/// Do a job in virtual time. `poll(bytes, operations)` is asked now and then whether to stop; what was made is removed then.
///
/// # Errors
/// The rule that the job breaks.
pub fn run_job(
    host: &mut Host,
    job: FileJob,
    poll: &mut dyn FnMut(u64, u64) -> bool,
) -> Result<FileJobResult, mileage_workload::Error> {
    let tasks = job.tasks();
    let JobContents { job, changes } = host.contents_of(job)?;
    let execution = FileExecution::new(job)?;
    let all = FileJobResult::default();
    let mut driver = Driver { host, execution, changes, phase: None, all, moved: (0, 0), calls: 0 };
    driver.turn(tasks, poll);
    Ok(driver.all)
}

struct Driver<'a> {
    host: &'a mut Host,
    execution: FileExecution,
    /// Contents of the phases that change it and have not begun.
    changes: Vec<Option<PageSizes>>,
    phase: Option<Phase>,
    all: FileJobResult,
    /// Bytes and operations of timed phases.
    moved: (u64, u64),
    calls: u64,
}

impl Driver<'_> {
    fn turn(&mut self, tasks: u32, poll: &mut dyn FnMut(u64, u64) -> bool) {
        // Tasks to be asked, and when; those at the barrier are asked again after every completion.
        let mut ready: Vec<(u64, u32)> = (0..tasks).map(|task| (self.host.now_ns(), task)).collect();
        let mut at_barrier = Vec::new();
        let mut pending = 0_u32;
        let mut failure = None;
        loop {
            ready.sort_unstable();
            let next = ready.first().copied();
            if let Some((at_ns, task)) = next
                && (pending == 0 || !self.host.run_next(at_ns))
                && self.host.done.is_empty()
            {
                ready.remove(0);
                self.host.advance_to(at_ns);
                if failure.is_some() {
                    continue;
                }
                self.calls += 1;
                if self.calls.is_multiple_of(POLL_CALLS) && !self.all.interrupted && poll(self.moved.0, self.moved.1) {
                    self.all.interrupted = true;
                    self.execution.stop();
                }
                let phase = self.execution.phase();
                let step = self.execution.next(task, at_ns);
                if self.execution.phase() != phase {
                    ready.extend(at_barrier.drain(..).map(|task| (at_ns, task)));
                }
                self.follow_phase(at_ns);
                match step {
                    FileStep::Issue(call) => {
                        pending += 1;
                        if let Some((end_ns, result)) = self.host.begin(task, call, at_ns) {
                            self.host.done.push((task, end_ns, result));
                        }
                    }
                    FileStep::WaitUntil(at_ns) => ready.push((at_ns, task)),
                    FileStep::AwaitBarrier => at_barrier.push(task),
                    FileStep::Done => {}
                }
            } else if next.is_none() && self.host.done.is_empty() && (pending == 0 || !self.host.run_next(u64::MAX)) {
                break;
            }
            for (task, end_ns, result) in std::mem::take(&mut self.host.done) {
                pending -= 1;
                match self.complete(task, end_ns, result) {
                    Ok(()) => ready.push((end_ns, task)),
                    Err(error) => failure = failure.or(Some(error)),
                }
                ready.extend(at_barrier.drain(..).map(|task| (end_ns, task)));
            }
        }
        let now_ns = self.host.now_ns();
        self.end_phase(now_ns, failure);
    }

    /// Begin and end records as the execution passes from phase to phase.
    fn follow_phase(&mut self, now_ns: u64) {
        let current = self.execution.phase();
        if self.phase.as_ref().is_some_and(|phase| phase.number == current) {
            return;
        }
        self.end_phase(now_ns, None);
        if let Some(content) = self.changes.get_mut(current).and_then(Option::take) {
            self.host.set_content(content);
        }
        let is_timed = self.execution.job().phases.get(current).is_some_and(|phase| phase.timed);
        if is_timed {
            let job = self.execution.job();
            let work = &job.phases[current].work;
            let final_only =
                |own: &FileWork| matches!(own, FileWork::Records { workload, .. } if !workload.syncs_on_the_way());
            let syncs_between = (0..job.tasks() as usize).map(|task| !work.get(task).is_some_and(final_only)).collect();
            self.phase = Some(Phase::new(current, now_ns, syncs_between, self.host));
        }
    }

    fn end_phase(&mut self, now_ns: u64, failure: Option<RunError>) {
        let interrupted = self.all.interrupted;
        match (self.phase.take(), failure) {
            (Some(phase), failure) => {
                let name = self.execution.job().phases[phase.number].name.clone();
                let (mut record, tasks) = phase.end(self.host, now_ns);
                (record.error, record.interrupted) = (failure, interrupted);
                self.all.phases.push(PhaseRecord { name, record, tasks });
            }
            (None, Some(error)) => {
                let record = RunRecord { error: Some(error), interrupted, ..RunRecord::default() };
                self.all.phases.push(PhaseRecord { name: "set-up".to_owned(), record, tasks: Vec::new() });
            }
            (None, None) => {}
        }
    }

    fn complete(&mut self, task: u32, end_ns: u64, result: Result<(), CallError>) -> Result<(), RunError> {
        let entries = self.entries_found(task);
        let outcome = result.as_ref().map(|()| entries).map_err(CallError::errno);
        let done = self.execution.complete(task, end_ns, outcome);
        match done {
            Ok(None) => Ok(()),
            Ok(Some(operation)) => {
                if let Some(phase) = &mut self.phase {
                    phase.count(&operation);
                    self.moved.0 += operation.bytes_read + operation.bytes_written;
                    self.moved.1 += 1;
                }
                Ok(())
            }
            Err(FileFailure { call, errno, .. }) => {
                let why = result.err().map_or(errno.clone(), |error| error.to_string());
                Err(RunError { kind: errno, message: format!("{}: {why}", words(&call)) })
            }
        }
    }

    /// Entries of the directory that a task has just read.
    fn entries_found(&self, task: u32) -> u64 {
        let Some(FileCall::Readdir { path }) = self.execution.outstanding(task) else { return 0 };
        let files = self.host.files();
        let found = files.resolve(path).ok().and_then(|(_, _, file)| file);
        let directory = found.and_then(|file| files.inode(file).directory.as_deref());
        directory.map_or(0, |directory| directory.entries.len() as u64)
    }
}

/// A call in a message.
fn words(call: &FileCall) -> String {
    let text = format!("{call:?}");
    text.split([' ', '{']).next().unwrap_or_default().to_lowercase()
}

/// What one task did in a phase.
#[derive(Clone, Debug)]
struct Part {
    record: ThreadRecord,
    series: Series,
    commits: CommitTimes,
    /// Whether a sync may come between its writes: a final one ends the run and no commit.
    syncs_between: bool,
    spans: TaskSpans,
    /// End of the last read or write.
    moved_ns: u64,
}

/// A timed phase.
struct Phase {
    number: usize,
    began_ns: u64,
    parts: Vec<Part>,
    latency: BTreeMap<&'static str, Histogram>,
    counters: Vec<u64>,
    entries: u64,
    /// When the operations of each task ended.
    ends: Vec<Vec<u64>>,
}

impl Phase {
    fn new(number: usize, began_ns: u64, syncs_between: Vec<bool>, host: &Host) -> Self {
        let part = |syncs_between| Part {
            record: ThreadRecord::default(),
            series: Series::new(INTERVAL_NS, &[]),
            commits: CommitTimes::default().over_time(INTERVAL_NS, 0),
            syncs_between,
            spans: TaskSpans::default(),
            moved_ns: 0,
        };
        let mut counters = vec![0; host.counter_names().len()];
        host.counters(&mut counters);
        let parts: Vec<Part> = syncs_between.into_iter().map(part).collect();
        let ends = vec![Vec::new(); parts.len()];
        Self { number, began_ns, parts, latency: BTreeMap::new(), counters, entries: 0, ends }
    }

    fn count(&mut self, operation: &FileOperation) {
        let (began_ns, ended_ns) =
            (operation.began_ns.saturating_sub(self.began_ns), operation.ended_ns.saturating_sub(self.began_ns));
        let part = &mut self.parts[operation.task as usize];
        let extend = |span: &mut Option<(u64, u64)>| {
            *span = Some(span.map_or((began_ns, ended_ns), |(first_ns, _)| (first_ns, ended_ns)));
        };
        let word = match operation.kind {
            FileOperationKind::Open => return extend(&mut part.spans.open_ns),
            FileOperationKind::Close => return extend(&mut part.spans.close_ns),
            FileOperationKind::Read => "read",
            FileOperationKind::Write => "write",
            FileOperationKind::Sync => "sync",
            FileOperationKind::Metadata => "metadata",
        };
        extend(&mut part.spans.operate_ns);
        let latency_ns = ended_ns - began_ns;
        self.latency.entry(word).or_default().record(latency_ns);
        if let Some(sync_ns) = operation.sync_ns {
            self.latency.entry("sync").or_default().record(sync_ns);
        }
        self.entries += operation.entries;
        let record = &mut part.record;
        record.bytes_read += operation.bytes_read;
        record.bytes_written += operation.bytes_written;
        match operation.kind {
            FileOperationKind::Sync if part.syncs_between => return part.commits.synced(ended_ns),
            FileOperationKind::Sync => return,
            FileOperationKind::Read => record.ops_read += 1,
            FileOperationKind::Write => {
                record.ops_written += 1;
                if part.syncs_between || operation.is_durable {
                    part.commits.written(began_ns, ended_ns);
                }
                if operation.is_durable {
                    part.commits.synced(ended_ns);
                }
            }
            _ => record.ops_metadata += 1,
        }
        record.calls += 1;
        part.moved_ns = ended_ns;
        part.series.record(CompletedOperation {
            at_ns: ended_ns,
            bytes_read: operation.bytes_read,
            bytes_written: operation.bytes_written,
            latency_ns,
        });
        self.ends[operation.task as usize].push(ended_ns);
    }

    /// The record. Its time runs from the first operation of any task to the last, and to the last `close` within the phase.
    fn end(mut self, host: &mut Host, now_ns: u64) -> (RunRecord, Vec<TaskSpans>) {
        host.advance_to(now_ns);
        let concurrency = self.note_first_done();
        let Self { parts, mut latency, counters: before, entries, .. } = self;
        let spans: Vec<TaskSpans> = parts.iter().map(|part| part.spans).collect();
        let operated = || spans.iter().filter_map(|spans| spans.operate_ns);
        let first_ns = operated().map(|(first_ns, _)| first_ns).min().unwrap_or(0);
        let durable_ns = operated().map(|(_, last_ns)| last_ns).max().unwrap_or(0) - first_ns;
        let elapsed_ns = spans.iter().filter_map(TaskSpans::end_ns).max().unwrap_or(0).saturating_sub(first_ns);
        let submit_ns = parts.iter().map(|part| part.moved_ns).max().unwrap_or(0).saturating_sub(first_ns);
        let series = parts.iter().map(|part| part.series.clone()).reduce(|mut all, part| {
            all.merge(&part);
            all
        });
        let mut data = |kind| latency.remove(kind).unwrap_or_default().to_data();
        let kinds = ["read", "write", "sync", "metadata"];
        let latency =
            LatencyData::of(kinds.map(|kind| (kind, data(kind)))).with_commits(parts.iter().map(|part| &part.commits));
        let commits = CommitTimes::series_of(parts.iter().map(|part| &part.commits));
        let threads: Vec<ThreadRecord> = parts
            .into_iter()
            .map(|part| {
                let operate_ns = part.spans.operate_ns;
                let elapsed_ns =
                    operate_ns.and_then(|(first_ns, _)| Some(part.spans.end_ns()? - first_ns)).unwrap_or(0);
                ThreadRecord { elapsed_ns, ..part.record }
            })
            .collect();
        let sum = |pick: fn(&ThreadRecord) -> u64| threads.iter().map(pick).sum::<u64>();
        let mut now = vec![0; before.len()];
        host.counters(&mut now);
        let names = host.counter_names().iter().map(|name| (*name).to_owned());
        let moved = now.iter().zip(&before).map(|(now, before)| now - before);
        let mut counters: BTreeMap<String, u64> = names.zip(moved).collect();
        if entries > 0 {
            counters.insert("entries".to_owned(), entries);
        }
        let record = RunRecord {
            bytes_read: sum(|thread| thread.bytes_read),
            bytes_written: sum(|thread| thread.bytes_written),
            ops_read: sum(|thread| thread.ops_read),
            ops_written: sum(|thread| thread.ops_written),
            ops_metadata: sum(|thread| thread.ops_metadata),
            submit_ns,
            durable_ns,
            elapsed_ns,
            latency,
            series: series.map(|series| series.to_data()).unwrap_or_default(),
            commits,
            counters,
            threads,
            usage: Usage { clock: "virtual".to_owned(), ..Usage::default() },
            concurrency,
            ..RunRecord::default()
        };
        (record, spans)
    }

    /// Work of all tasks up to the end of the first one that was done, which is noted in the others' records; `None` for one
    /// task.
    fn note_first_done(&mut self) -> Option<Concurrency> {
        let spans = self.parts.iter().filter_map(|part| part.spans.operate_ns);
        let (first_ns, first_done_ns) = spans.fold((u64::MAX, u64::MAX), |(first_ns, done_ns), (from_ns, to_ns)| {
            (first_ns.min(from_ns), done_ns.min(to_ns))
        });
        if self.parts.len() < 2 || first_ns == u64::MAX {
            return None;
        }
        let mut all = Concurrency { first_done_ns: first_done_ns - first_ns, ..Concurrency::default() };
        for (part, done) in self.parts.iter_mut().zip(&self.ends) {
            let record = &mut part.record;
            let operations = done.partition_point(|at_ns| *at_ns <= first_done_ns) as u64;
            let of_all = (record.ops_read + record.ops_written + record.ops_metadata).max(1);
            // Operations of a task are of one size.
            let bytes = (record.bytes_read + record.bytes_written) / of_all * operations;
            all.first_done_ops += operations;
            all.first_done_bytes += bytes;
            if part.spans.operate_ns.is_some_and(|(_, last_ns)| last_ns > first_done_ns) {
                (record.first_done_ops, record.first_done_bytes) = (Some(operations), Some(bytes));
            }
        }
        Some(all)
    }
}

impl Host {
    /// Remove a directory with everything in it, if it is there.
    ///
    /// # Errors
    /// A call fails.
    pub fn remove_tree(&mut self, path: &str) -> Result<(), CallError> {
        let Ok((_, _, Some(file))) = self.files().resolve(path) else { return Ok(()) };
        let entries: Option<Vec<String>> = self
            .files()
            .inode(file)
            .directory
            .as_deref()
            .map(|directory| directory.entries.keys().map(|name| format!("{path}/{name}")).collect());
        let directory = entries.is_some();
        for entry in entries.into_iter().flatten() {
            self.remove_tree(&entry)?;
        }
        self.call(FileCall::Unlink { path: path.to_owned(), directory }).map(|_| ())
    }
}

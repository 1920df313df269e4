//! Result of one thread: counts, latencies, series, and why it ended.

use super::failure::{no_answer, overdue};
use crate::data::{ComparisonCount, ContentSample};
use crate::kernel_io_audit::ThreadIo;
use crate::option_checks::INTERVAL_MIN_NS;
use crate::usage::ThreadUsage;
use mileage_measure::{CommitTimes, CompletedOperation, Histogram, RunError, Series, ThreadRecord};
use mileage_workload::{Op, OpKind, PerKind};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::path::Path;

/// Result of a thread. Times are in nanoseconds since the gate opened.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Part {
    pub(crate) record: ThreadRecord,
    /// The one thing that the thread does besides syncs: the series has its latencies. `None` where it does several,
    /// each of which has a histogram of its own; [`Part::latency`] chooses.
    pub(super) one_way: Option<OpKind>,
    latency: PerKind<Histogram>,
    /// Latencies in their two parts, where the options ask for them.
    pub(crate) split: Option<Box<PerKind<SplitLatency>>>,
    /// Latencies of reads and writes from the instant when they were due.
    pub(crate) response: Histogram,
    /// Of a thread that syncs between its writes.
    pub(crate) commits: Option<Box<CommitTimes>>,
    pub(crate) series: Series,
    /// Completions of the warm-up; `None` without one.
    pub(crate) warm_up: Option<Box<Series>>,
    /// Operations and their bytes, of the kinds that move none.
    pub(crate) commands: PerKind<(u64, u64)>,
    /// Generating what was written.
    pub(crate) fill_ns: u64,
    /// Comparing what was read.
    pub(crate) verify_ns: u64,
    /// A sample of what was written.
    pub(crate) kept: ContentSample,
    pub(crate) compared: ComparisonCount,
    /// First submission.
    pub(crate) first_ns: Option<u64>,
    /// Last completion of anything but a sync.
    pub(crate) last_ns: u64,
    /// End of the last sync.
    pub(crate) durable_ns: Option<u64>,
    /// Resources that the thread used while the run was timed.
    pub(crate) spent: ThreadUsage,
    /// From letting go of the target to having closed it, once all operations are done.
    pub(crate) closing_ns: Option<(u64, u64)>,
    pub(crate) interrupted: bool,
    pub(crate) failure: Option<(u64, RunError)>,
    pub(crate) io: Option<ThreadIo>,
    /// Kernel threads that read and wrote for this one.
    pub(crate) punted: u32,
    /// Processor time of all kernel threads that worked for this one.
    pub(crate) kernel_workers_ns: u64,
    /// Operations that never came back; the kernel may hold the thread as long as it holds them.
    pub(crate) stuck: u32,
    /// Bytes and operations when the first thread of the run was done; `None` if all of them were before that.
    pub(crate) at_first_done: Option<(u64, u64)>,
    /// Start and end of the last compute cycle.
    #[serde(skip)]
    pub(super) last_computed_ns: (u64, u64),
    /// Current work of this thread, for the watchdog.
    #[serde(skip)]
    pub(crate) current_work: Option<CurrentWork>,
}

/// Latencies of one kind in their two parts.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct SplitLatency {
    pub(crate) submission: Histogram,
    pub(crate) completion: Histogram,
}

/// Current work of a thread.
#[derive(Clone, Copy, Debug)]
pub(crate) enum CurrentWork {
    /// An operation, and when it was begun.
    Operation(Op, u64),
    /// A call that submits to a ring and waits for it, which returns soon unless the target does not let it.
    Entering,
    /// Letting go of the target.
    Closing,
}

impl Part {
    /// Shift all times to a clock that was zero `by_ns` earlier. The series stays: its intervals are counted from this
    /// share's own start.
    pub(crate) fn shift(&mut self, by_ns: u64) {
        self.first_ns = self.first_ns.map(|first_ns| first_ns + by_ns);
        self.last_ns += if self.first_ns.is_some() { by_ns } else { 0 };
        self.durable_ns = self.durable_ns.map(|durable_ns| durable_ns + by_ns);
        self.closing_ns = self.closing_ns.map(|(start_ns, end_ns)| (start_ns + by_ns, end_ns + by_ns));
        if let Some((at_ns, _)) = &mut self.failure {
            *at_ns += by_ns;
        }
    }

    pub(super) fn new(interval_ns: u64, one_way: Option<OpKind>, warms_up: bool) -> Self {
        let series = Series::new(interval_ns.max(INTERVAL_MIN_NS), &[]);
        let tid = rustix::thread::gettid().as_raw_nonzero().get().cast_unsigned();
        Self {
            record: ThreadRecord { tid: Some(tid), ..ThreadRecord::default() },
            one_way,
            latency: PerKind::default(),
            split: None,
            response: Histogram::default(),
            commits: None,
            warm_up: warms_up.then(|| Box::new(series.clone())),
            series,
            commands: PerKind::default(),
            fill_ns: 0,
            verify_ns: 0,
            kept: ContentSample::default(),
            compared: ComparisonCount::default(),
            first_ns: None,
            last_ns: 0,
            durable_ns: None,
            spent: ThreadUsage::default(),
            closing_ns: None,
            interrupted: false,
            failure: None,
            io: None,
            punted: 0,
            kernel_workers_ns: 0,
            stuck: 0,
            at_first_done: None,
            last_computed_ns: (0, 0),
            current_work: None,
        }
    }

    /// Length of the first intervals of its series.
    pub(super) fn interval_ns(&self) -> u64 {
        self.series.interval_end_ns()
    }

    /// The latencies of all operations of a kind.
    pub(crate) fn latency(&self, kind: OpKind) -> Cow<'_, Histogram> {
        if self.one_way == Some(kind) { Cow::Owned(self.series.latency()) } else { Cow::Borrowed(&self.latency[kind]) }
    }

    /// The end of a thread that is stuck: it is left behind at `at_ns`.
    #[cold]
    pub(crate) fn leave_behind(&mut self, at_ns: u64, timeout_ns: u64, path: &Path) {
        self.stuck = 1;
        if let Some(CurrentWork::Operation(op, begun_ns)) = self.current_work {
            self.given_up(op.kind, begun_ns, at_ns);
        }
        let error = match self.current_work {
            Some(CurrentWork::Operation(op, begun_ns)) => overdue(&op, at_ns.saturating_sub(begun_ns), path),
            Some(CurrentWork::Entering) => no_answer("io_uring_enter for", timeout_ns, path),
            Some(CurrentWork::Closing) | None => no_answer("closing", timeout_ns, path),
        };
        self.failure.get_or_insert((at_ns, error));
    }

    /// An operation that began at `began_ns` failed, or was given up, at `at_ns`.
    #[cold]
    pub(crate) fn given_up(&mut self, kind: OpKind, began_ns: u64, at_ns: u64) {
        match (&mut self.commits, kind) {
            (Some(commits), OpKind::Sync) => commits.sync_given_up(began_ns, at_ns),
            (Some(commits), OpKind::Write) => commits.write_given_up(began_ns, at_ns),
            _ => {}
        }
    }

    /// Count an operation that moves no bytes; true for a sync, of which nothing else is booked.
    #[cold]
    pub(super) fn command_completed(&mut self, op: &Op, latency_ns: u64, complete_ns: u64) -> bool {
        if op.kind == OpKind::Sync {
            self.latency[op.kind].record(latency_ns);
            self.durable_ns = Some(complete_ns);
            if let Some(commits) = &mut self.commits {
                commits.synced(complete_ns);
            }
            return true;
        }
        let (operations, bytes) = &mut self.commands[op.kind];
        *operations += 1;
        *bytes += u64::from(op.length_bytes);
        false
    }

    /// The latency of an operation of a thread that does several kinds.
    pub(super) fn record_apart(&mut self, kind: OpKind, latency_ns: u64) {
        self.latency[kind].record(latency_ns);
    }

    /// The two parts of an operation's latency, where they are asked for.
    #[cold]
    pub(super) fn record_split(&mut self, kind: OpKind, submission_ns: u64, completion_ns: u64) {
        if let Some(split) = self.split.as_mut().filter(|_| kind != OpKind::Sync) {
            split[kind].submission.record(submission_ns);
            split[kind].completion.record(completion_ns);
        }
    }

    /// An operation of the warm-up is complete; as in the run itself, syncs are not in the series. True if that closed
    /// an interval.
    #[cold]
    pub(super) fn warm_up_completed(&mut self, op: &Op, latency_ns: u64, complete_ns: u64) -> bool {
        let Some(series) = self.warm_up.as_mut().filter(|_| op.kind != OpKind::Sync) else { return false };
        let bytes_of = |kind| if op.kind == kind { u64::from(op.length_bytes) } else { 0 };
        series.record(CompletedOperation {
            at_ns: complete_ns,
            bytes_read: bytes_of(OpKind::Read),
            bytes_written: bytes_of(OpKind::Write),
            latency_ns,
        })
    }

    /// A compute cycle is over.
    #[inline]
    pub(super) fn computed(&mut self, began_ns: u64, ended_ns: u64) {
        if self.first_ns.is_none() {
            (self.first_ns, self.last_ns) = (Some(began_ns), began_ns);
        }
        self.record.computed_ns += ended_ns - began_ns;
        self.last_computed_ns = (began_ns, ended_ns);
    }

    /// Another thread was done at `at_ns`, before `op`, whose bytes are booked already, was complete.
    #[cold]
    pub(super) fn note_first_done(&mut self, op: &Op, at_ns: u64) {
        let record = &self.record;
        let bytes = record.bytes_read + record.bytes_written;
        let late = if op.kind.moves_bytes() { u64::from(op.length_bytes) } else { 0 };
        self.at_first_done = Some((bytes - late, self.operations()));
        let (began_ns, ended_ns) = self.last_computed_ns;
        let later_ns = ended_ns.saturating_sub(at_ns.max(began_ns));
        self.record.first_done_computed_ns = Some(self.record.computed_ns - later_ns);
    }

    /// Operations that are complete, without syncs.
    pub(crate) fn operations(&self) -> u64 {
        let commands: u64 = OpKind::ALL.into_iter().map(|kind| self.commands[kind].0).sum();
        self.record.ops_read + self.record.ops_written + commands
    }
}

//! Accounting of a thread's operations: counts, latencies, series, progress. Every loop uses it; none counts by itself.

use super::interim::InterimParts;
use super::run_state::{SharedState, Tally};
use super::thread_result::{CurrentWork, Part};
use crate::clock::RunClock;
use crate::data::Data;
use crate::error::Error;
use crate::in_flight::InFlight;
use crate::kernel_io_audit::Snapshot;
use crate::log::LogWriter;
use crate::run_context::RunContext;
use crate::thread_signals::Signals;
use crate::usage::ThreadUsage;
use mileage_measure::{CommitTimes, CompletedOperation, RunError};
use mileage_workload::{Op, OpKind, Workload};
use std::cell::Cell;
use std::sync::atomic::Ordering;

/// Interval at which a thread publishes its counts for progress.
const PUBLISH_NS: u64 = 10_000_000;

/// One completed operation, on the run's clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CompletedOp<'a> {
    pub(crate) op: &'a Op,
    /// Time at which it should have been submitted; `None` in the closed loop.
    pub(crate) due_ns: Option<u64>,
    pub(crate) submit_ns: u64,
    pub(crate) complete_ns: u64,
    /// False for an operation of the warm-up, which is booked in a series of its own and nowhere else.
    pub(crate) counted: bool,
}

/// A thread's accounting. Nothing in it grows while operations run.
#[derive(Debug)]
pub(crate) struct Accounting<'a> {
    pub(crate) part: InFlight<Part>,
    tally: &'a Tally,
    interim: &'a InterimParts,
    /// The thread's place among those of this process.
    place: usize,
    /// The last request for a copy that was answered.
    answered: Cell<u64>,
    /// Time of the next publication; also done at the first operation that counts.
    publish_ns: u64,
    signals: &'a Signals,
    is_done: bool,
    /// The kernel's I/O counts of the thread when counting began.
    before: Option<Snapshot>,
    /// The thread's processor use when counting began.
    spent: ThreadUsage,
    /// The run's context, for the one thread that marks when counting begins.
    context: Option<&'a RunContext>,
    log: Option<LogWriter>,
    /// Time at which counting began; the series starts there.
    base_ns: u64,
}

/// An I/O loop that is ready to run.
pub(super) trait Loop<'a> {
    /// Turn the execution until it is done, the run is halted, or an operation fails; the failure and when it came.
    fn turn(&mut self, clock: RunClock) -> Option<(u64, RunError)>;

    /// Record what generating and comparing the data cost, and the comparison's findings.
    fn close(&mut self);

    /// The thread's accounting.
    fn accounting(&mut self) -> &mut Accounting<'a>;
}

impl<'a> Accounting<'a> {
    /// An empty accounting for the calling thread, thread number `thread` of a run of `workload`.
    pub(crate) fn new(shared: &'a SharedState, thread: u32, workload: &Workload) -> Self {
        let mut part = Part::new(shared.options.interval_ns, workload.one_way(), workload.load.warm_up_ns > 0);
        part.split = shared.options.split_latency.then(Box::default);
        part.commits = CommitTimes::of_thread(workload.syncs_on_the_way(), workload.sync_every, shared.options.dsync)
            .map(|times| Box::new((*times).over_time(part.interval_ns(), shared.workload.load.warm_up_ns)));
        Self {
            part: InFlight::new(part, shared.hand_overs.get(shared.place_of(thread)).cloned()),
            tally: &shared.tally[shared.place_of(thread)].0,
            interim: &shared.interim,
            place: shared.place_of(thread),
            answered: Cell::new(0),
            publish_ns: 0,
            signals: shared.signals(),
            is_done: false,
            before: None,
            spent: ThreadUsage::default(),
            log: shared.log.as_ref().map(|log| log.pen(thread)),
            context: (shared.place_of(thread) == 0).then_some(&shared.context),
            base_ns: shared.workload.load.warm_up_ns,
        }
    }

    /// Note the start of an operation whose calls are made inside [`InFlight::blocking_call`].
    #[inline]
    pub(crate) fn begin(&mut self, op: &Op, at_ns: u64) {
        if self.part.is_watched() {
            self.part.begin();
            self.part.current_work = Some(CurrentWork::Operation(*op, at_ns));
        }
    }

    /// Take the kernel's I/O counts as the start of the audit: at the start of the run, and again after a warm-up.
    ///
    /// # Errors
    /// The kernel keeps no I/O counts per thread.
    pub(crate) fn begin_audit(&mut self) -> Result<(), Error> {
        self.before = Some(Snapshot::take()?);
        Ok(())
    }

    /// Take the kernel's I/O counts as the end of the audit.
    ///
    /// # Errors
    /// The kernel keeps no I/O counts per thread.
    pub(crate) fn end_audit(&mut self) -> Result<(), Error> {
        if let Some(before) = self.before {
            self.part.io = Some(before.until(&Snapshot::take()?));
        }
        Ok(())
    }

    /// Start to count the thread's processor use.
    pub(crate) fn begin_spending(&mut self) {
        self.spent = ThreadUsage::now();
    }

    /// Stop to count the thread's processor use.
    pub(crate) fn end_spending(&mut self) {
        self.part.spent = self.spent.until(&ThreadUsage::now());
    }

    /// The warm-up is over: the next operation is the first that counts. Takes some microseconds.
    #[cold]
    pub(crate) fn warmed_up(&mut self) {
        if let Some(context) = self.context {
            context.begin();
        }
        if self.before.is_some() {
            self.before = Snapshot::take().ok();
        }
        self.begin_spending();
    }

    /// A call of a ring is about to be made inside [`InFlight::blocking_call`].
    #[inline]
    pub(crate) fn enter(&mut self) {
        if self.part.is_watched() {
            self.part.begin();
            self.part.current_work = Some(CurrentWork::Entering);
        }
    }

    /// Book `calls` calls that moved `bytes` of an operation, whether or not it will complete.
    #[inline]
    pub(crate) fn moved(&mut self, kind: OpKind, bytes: usize, calls: u64) {
        let record = &mut self.part.record;
        record.calls += calls;
        match kind {
            OpKind::Read => record.bytes_read += bytes as u64,
            OpKind::Write => record.bytes_written += bytes as u64,
            _ => {}
        }
    }

    /// Book an operation that has completed whole. True when that took longer than a few nanoseconds (an interval was
    /// closed, progress published): a caller that times operations must read the clock again.
    #[expect(clippy::inline_always, reason = "otherwise its argument goes through memory in every operation")]
    #[inline(always)]
    pub(crate) fn completed(&mut self, done: CompletedOp<'_>) -> bool {
        let CompletedOp { op, due_ns, submit_ns, complete_ns, counted } = done;
        if !counted {
            return self.part.warm_up_completed(op, complete_ns - submit_ns, complete_ns);
        }
        if let Some(log) = &mut self.log {
            log.note(*op, due_ns, submit_ns, complete_ns);
        }
        let part = &mut *self.part;
        if complete_ns > self.signals.first_done_ns() && part.at_first_done.is_none() {
            part.note_first_done(op, self.signals.first_done_ns());
        }
        let (latency_ns, bytes) = (complete_ns - submit_ns, u64::from(op.length_bytes));
        let (is_read, is_write) = (op.kind == OpKind::Read, op.kind == OpKind::Write);
        if !(is_read || is_write) && part.command_completed(op, latency_ns, complete_ns) {
            return true;
        }
        // No branch on the kind: in a mix of reads and writes the processor cannot predict it.
        part.record.ops_read += u64::from(is_read);
        part.record.ops_written += u64::from(is_write);
        let (read, written) = (if is_read { bytes } else { 0 }, if is_write { bytes } else { 0 });
        if part.one_way.is_none() {
            part.record_apart(op.kind, latency_ns);
        }
        let at_ns = complete_ns.saturating_sub(self.base_ns);
        let closed =
            part.series.record(CompletedOperation { at_ns, bytes_read: read, bytes_written: written, latency_ns });
        if let Some(due_ns) = due_ns {
            part.response.record(complete_ns.saturating_sub(due_ns));
        }
        if let Some(commits) = part.commits.as_mut().filter(|_| is_write) {
            commits.written(due_ns.unwrap_or(submit_ns), complete_ns);
        }
        part.last_ns = complete_ns;
        if complete_ns >= self.publish_ns {
            part.first_ns.get_or_insert(submit_ns);
            self.publish_progress();
            self.answer_request(complete_ns);
            self.publish_ns = complete_ns + PUBLISH_NS;
            return true;
        }
        closed
    }

    /// The thread has handed over what it kept back of its writes: unless a sync already did, that ends them.
    pub(crate) fn handed_over(&mut self, at_ns: u64) {
        let part = &mut self.part;
        if part.record.ops_written > 0 && part.durable_ns.is_none_or(|durable_ns| durable_ns < part.last_ns) {
            part.last_ns = at_ns;
        }
    }

    /// The thread's time runs to here, whatever its last operation was.
    #[cold]
    pub(crate) fn ended(&mut self, at_ns: u64) {
        if self.part.first_ns.is_some() {
            self.part.last_ns = at_ns;
        }
    }

    /// The thread is done; with its syncs only if they are timed.
    #[cold]
    pub(crate) fn done(&mut self, sync_timed: bool) {
        if !self.is_done && self.part.first_ns.is_some() {
            self.is_done = true;
            let synced_ns = self.part.durable_ns.filter(|_| sync_timed).unwrap_or(0);
            self.signals.done(self.part.last_ns.max(synced_ns));
        }
    }

    /// Move the data's times, samples and findings into the thread's part.
    pub(crate) fn close(&mut self, data: &mut Data) {
        (self.part.kept, self.part.compared) = data.finish(self.part.record.ops_written);
        if let Some(log) = &mut self.log {
            log.hand_over();
        }
    }

    /// If a copy of the accounting was asked for, leave it, as of `at_ns` on the run's clock. Made between two operations.
    #[cold]
    pub(crate) fn answer_request(&self, at_ns: u64) {
        let request = self.interim.last_request();
        if self.answered.replace(request) != request {
            let mut part = self.part.clone();
            part.spent = self.spent.until(&ThreadUsage::now());
            if part.first_ns.is_some() {
                part.last_ns = part.last_ns.max(at_ns);
            }
            self.interim.leave(self.place, request, part);
        }
    }

    /// Whether a wait is to end early because the run is; asked during a wait, which answers requests too.
    pub(crate) fn is_halted(&self, at_ns: u64) -> bool {
        self.answer_request(at_ns);
        self.signals.halted() != 0
    }

    /// Let progress see what has been done.
    #[cold]
    pub(crate) fn publish_progress(&self) {
        let record = &self.part.record;
        self.tally.bytes.store(record.bytes_read + record.bytes_written, Ordering::Relaxed);
        self.tally.operations.store(record.ops_read + record.ops_written, Ordering::Relaxed);
    }
}

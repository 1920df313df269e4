//! What a thread writes down about its operations: counts, latencies, series, progress. Every loop uses it; none
//! counts by itself.

use super::part::{Part, UnderWay};
use super::run_state::{Shared, Tally};
use crate::audit::Snapshot;
use crate::clock::RunClock;
use crate::data::Data;
use crate::error::Error;
use crate::in_flight::Held;
use crate::log::Pen;
use crate::run_context::Around;
use crate::signals::Signals;
use crate::usage::Spent;
use mileage_measure::RunError;
use mileage_workload::{Op, OpKind, Workload};
use std::sync::atomic::Ordering;

/// How often a thread tells what it has done.
const TELL_NS: u64 = 10_000_000;

/// One completed operation, on the run's clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Completed<'a> {
    pub(crate) op: &'a Op,
    /// When it should have been submitted; `None` in the closed loop.
    pub(crate) due_ns: Option<u64>,
    pub(crate) submit_ns: u64,
    pub(crate) complete_ns: u64,
    /// False for an operation of the warm-up, of which nothing is booked.
    pub(crate) counted: bool,
}

/// A thread's books. Nothing in them grows while operations run.
#[derive(Debug)]
pub(crate) struct Books<'a> {
    pub(crate) part: Held<Part>,
    tally: &'a Tally,
    /// When to tell again; at the first operation that counts too.
    tell_ns: u64,
    signals: &'a Signals,
    is_done: bool,
    /// The kernel's account where counting began.
    before: Option<Snapshot>,
    /// What the thread had cost where counting began.
    spent: Spent,
    /// What lies around the run, for the one thread that says when counting begins.
    around: Option<&'a Around>,
    log: Option<Pen>,
    /// When counting began; the series starts there.
    base_ns: u64,
}

/// A loop, ready to go.
pub(super) trait Loop<'a> {
    /// Turn the execution until it is done, the run is halted, or an operation fails; the failure and when it came.
    fn turn(&mut self, clock: RunClock) -> Option<(u64, RunError)>;

    /// Write down what the data has to tell.
    fn close(&mut self);

    /// What is written down.
    fn books(&mut self) -> &mut Books<'a>;
}

impl<'a> Books<'a> {
    /// Empty books of the calling thread, thread number `thread` of its run, which does `workload`.
    pub(crate) fn new(shared: &'a Shared, thread: u32, workload: &Workload) -> Self {
        Self {
            part: Held::new(
                Part::new(shared.options.interval_ns, workload.one_way()),
                shared.hand_overs.get(shared.place_of(thread)).cloned(),
            ),
            tally: &shared.tally[shared.place_of(thread)].0,
            tell_ns: 0,
            signals: shared.signals(),
            is_done: false,
            before: None,
            spent: Spent::default(),
            log: shared.log.as_ref().map(|log| log.pen(thread)),
            around: (shared.place_of(thread) == 0).then_some(&shared.around),
            base_ns: shared.workload.load.warm_up_ns,
        }
    }

    /// An operation begins whose calls are made inside [`Held::outside`].
    #[inline]
    pub(crate) fn begin(&mut self, op: &Op, at_ns: u64) {
        if self.part.is_watched() {
            self.part.begin();
            self.part.under_way = Some(UnderWay::Operation(*op, at_ns));
        }
    }

    /// From here on the kernel's account is that of the operations that count: at the start, and again after a
    /// warm-up.
    ///
    /// # Errors
    /// The kernel keeps no account.
    pub(crate) fn begin_audit(&mut self) -> Result<(), Error> {
        self.before = Some(Snapshot::take()?);
        Ok(())
    }

    /// The kernel's account of what counts ends here.
    ///
    /// # Errors
    /// The kernel keeps no account.
    pub(crate) fn end_audit(&mut self) -> Result<(), Error> {
        if let Some(before) = self.before {
            self.part.io = Some(before.until(&Snapshot::take()?));
        }
        Ok(())
    }

    /// What the thread costs from here on is the run's.
    pub(crate) fn begin_spending(&mut self) {
        self.spent = Spent::now();
    }

    /// What it costs from here on is not.
    pub(crate) fn end_spending(&mut self) {
        self.part.spent = self.spent.until(&Spent::now());
    }

    /// The warm-up is over: the next operation is the first that counts. Takes some microseconds.
    #[cold]
    pub(crate) fn warmed_up(&mut self) {
        if let Some(around) = self.around {
            around.begin();
        }
        if self.before.is_some() {
            self.before = Snapshot::take().ok();
        }
        self.begin_spending();
    }

    /// A call of a ring is about to be made inside [`Held::outside`].
    #[inline]
    pub(crate) fn enter(&mut self) {
        if self.part.is_watched() {
            self.part.begin();
            self.part.under_way = Some(UnderWay::Entering);
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
            OpKind::Sync | OpKind::Discard => {}
        }
    }

    /// Book an operation that has completed whole. True when that took longer than a few nanoseconds (an interval was
    /// closed, progress told): who times operations reads the clock again.
    #[expect(clippy::inline_always, reason = "what it is tally would go through memory, for every operation")]
    #[inline(always)]
    pub(crate) fn completed(&mut self, done: Completed<'_>) -> bool {
        let Completed { op, due_ns, submit_ns, complete_ns, counted } = done;
        if !counted {
            return false;
        }
        if let Some(log) = &mut self.log {
            log.note(*op, due_ns, submit_ns, complete_ns);
        }
        let part = &mut *self.part;
        if complete_ns > self.signals.first_done_ns() && part.at_first_done.is_none() {
            part.note_first_done(op);
        }
        let (latency_ns, bytes) = (complete_ns - submit_ns, u64::from(op.length_bytes));
        let (is_read, is_write) = (op.kind == OpKind::Read, op.kind == OpKind::Write);
        if !(is_read || is_write) && part.command_completed(op, latency_ns, complete_ns) {
            return true;
        }
        // Added without a branch on the kind.
        part.record.ops_read += u64::from(is_read);
        part.record.ops_written += u64::from(is_write);
        let (read, written) = (if is_read { bytes } else { 0 }, if is_write { bytes } else { 0 });
        if part.one_way.is_none() {
            part.record_apart(op.kind, latency_ns);
        }
        let at_ns = complete_ns.saturating_sub(self.base_ns);
        let closed = part.series.record(at_ns, read, written, latency_ns);
        if let Some(due_ns) = due_ns {
            part.response.record(complete_ns.saturating_sub(due_ns));
        }
        part.last_ns = complete_ns;
        if complete_ns >= self.tell_ns {
            part.first_ns.get_or_insert(submit_ns);
            self.tell();
            self.tell_ns = complete_ns + TELL_NS;
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

    /// Take over what the data has to tell.
    pub(crate) fn close(&mut self, data: &mut Data) {
        (self.part.kept, self.part.compared) = data.finish(self.part.record.ops_written);
        if let Some(log) = &mut self.log {
            log.hand_over();
        }
    }

    /// Let progress see what has been done.
    #[cold]
    pub(crate) fn tell(&self) {
        let record = &self.part.record;
        self.tally.bytes.store(record.bytes_read + record.bytes_written, Ordering::Relaxed);
        self.tally.operations.store(record.ops_read + record.ops_written, Ordering::Relaxed);
    }
}

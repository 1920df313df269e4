//! The state machine of one thread of a workload: which operation to issue next, when to wait, when to stop.

use crate::error::Error;
use crate::issue_gates::{Gate, Gates};
use crate::operation::{Op, OpKind};
use crate::pattern::{Chunk, LOOKAHEAD, LOOKAHEAD_MAX, Source};
use crate::workload::{Sync, Workload};

/// The next action that a driver must take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Issue the operations that were appended, then ask again.
    Issue,
    /// No operation can be issued before a completion: wait for one, then ask again.
    AwaitCompletion,
    /// No operation can be issued before this time (or a completion, if one is outstanding): wait, then ask again.
    WaitUntil(u64),
    /// Everything was issued and has completed.
    Done,
}

/// Completion of one operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// Thread of the workload.
    pub thread: u32,
    /// The operation.
    pub op: Op,
    /// Due time in the driver's nanoseconds: as [`Execution::due_ns`] says, `submit_ns` in the closed loop.
    pub due_ns: u64,
    /// Submission time in the driver's nanoseconds.
    pub submit_ns: u64,
    /// Completion time in the driver's nanoseconds.
    pub complete_ns: u64,
    /// Whether the operation counts in the record: [`Execution::counted`] when it was issued.
    pub counted: bool,
}

/// Receives every completion, including those of the warm-up. Used by the conformance suite; in production it does
/// nothing.
pub trait Observer {
    /// An operation has completed.
    fn completed(&mut self, completion: &Completion);
}

/// The observer of production code; ignores all completions at no cost.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoObserver;

impl Observer for NoObserver {
    #[inline]
    fn completed(&mut self, _completion: &Completion) {}
}

/// The execution of one thread of a workload.
#[derive(Clone, Debug)]
pub struct Execution {
    source: Source,
    depth: u32,
    in_flight: u32,
    /// From this time on nothing is issued; set by the first call, which gives the time.
    deadline_ns: u64,
    /// Until then [`Execution::next_plain`] may issue: the deadline, or 0 where there is more to be asked than that.
    plain_until_ns: u64,
    start_ns: Option<u64>,
    /// Time during which operations are issued, warm-up included; `None` without a limit.
    duration_ns: Option<u64>,
    /// Operations and bytes not yet generated. Bytes only where operations differ in size; the operation that reaches
    /// the limit may pass it, and what it passed it by still counts when the warm-up gives bytes back.
    remaining: u64,
    remaining_bytes: i64,
    chunk: Chunk,
    /// Operations of a chunk, at most.
    lookahead: u64,
    cursor: usize,
    /// The last completion reported.
    last_ns: u64,
    gates: Option<Box<Gates>>,
    sync: Sync,
    /// Something was changed since the last sync.
    dirty: bool,
    expired: bool,
}

const SYNC: Op = Op { kind: OpKind::Sync, length_bytes: 0, offset_bytes: 0 };

impl Execution {
    /// Thread number `thread` of a workload.
    ///
    /// # Errors
    /// The rule that the workload breaks.
    ///
    /// # Panics
    /// When `thread` is not below the workload's threads: a programmer's mistake.
    pub fn new(workload: &Workload, thread: u32) -> Result<Self, Error> {
        workload.check()?;
        // The shares below would be those of a thread that does not exist, without any error.
        assert!(thread < workload.threads, "thread {thread} of {}", workload.threads);
        Ok(Self {
            source: Source::new(workload, thread),
            depth: workload.depth,
            in_flight: 0,
            deadline_ns: u64::MAX,
            plain_until_ns: 0,
            start_ns: None,
            duration_ns: workload.stop.time_ns.map(|time_ns| time_ns + workload.load.warm_up_ns),
            remaining: workload.limit_of(thread),
            // Signed, because the last operation may exceed a byte limit by less than its length.
            remaining_bytes: i64::try_from(workload.bytes_of(thread)).unwrap_or(i64::MAX),
            chunk: Chunk::new(),
            lookahead: LOOKAHEAD as u64,
            cursor: 0,
            last_ns: 0,
            gates: Gates::of(workload, thread).map(Box::new),
            sync: if workload.sync_last { workload.sync } else { Sync::None },
            dirty: false,
            expired: false,
        })
    }

    /// Generate more operations at a time, for drivers in whose time that takes nothing. It changes no operation.
    pub fn look_further(&mut self) {
        self.lookahead = LOOKAHEAD_MAX as u64;
    }

    /// Next action at `now_ns` (any origin, never running backwards); operations to issue are appended to `out`.
    #[inline]
    pub fn next(&mut self, now_ns: u64, out: &mut Vec<Op>) -> Step {
        self.advance::<false>(now_ns, out)
    }

    /// As [`Execution::next`], for drivers that prepare operations: besides a sync it issues only what
    /// [`Execution::upcoming`] shows. After [`Step::Issue`] such a driver prepares and asks again at once.
    #[inline]
    pub fn next_shown(&mut self, now_ns: u64, out: &mut Vec<Op>) -> Step {
        self.advance::<true>(now_ns, out)
    }

    /// The next operation, if it is generated and nothing stands before it: no gate, no depth, no deadline, no sync.
    /// `None` says nothing but that [`Execution::next`] is to be asked.
    #[inline]
    pub fn next_plain(&mut self, now_ns: u64) -> Option<Op> {
        // One comparison covers deadline, gates and stop: `plain_until_ns` is 0 wherever the full path is needed.
        if now_ns >= self.plain_until_ns || self.in_flight == self.depth {
            return None;
        }
        let op = *self.chunk.ops.get(self.cursor)?;
        self.cursor += 1;
        self.dirty |= op.kind.changes();
        self.in_flight += 1;
        Some(op)
    }

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "hot, and called from several loops: a call costs one of them a fiftieth")]
    fn advance<const SHOWN: bool>(&mut self, now_ns: u64, out: &mut Vec<Op>) -> Step {
        // The first call defines the start, so that time between construction and the start barrier is not part of the
        // run.
        if self.start_ns.is_none() {
            self.start(now_ns);
        }
        if now_ns >= self.deadline_ns {
            self.stop();
        }
        if self.gates.is_some() {
            return self.next_gated::<SHOWN>(now_ns, out);
        }
        let before = out.len();
        while self.in_flight < self.depth && !self.expired {
            // A driver that prepares operations has seen only this chunk: end the step, so that it sees the next one
            // before it is issued.
            if self.cursor == self.chunk.ops.len() && (SHOWN && out.len() > before || !self.refill()) {
                break;
            }
            let op = &self.chunk.ops[self.cursor];
            self.dirty |= op.kind.changes();
            // By reference, so that it is copied in one piece: a reader of a value stored in parts would wait for all
            // stores.
            out.push(*op);
            self.cursor += 1;
            self.in_flight += 1;
        }
        if out.len() > before { Step::Issue } else { self.idle(out) }
    }

    #[cold]
    fn start(&mut self, now_ns: u64) {
        self.start_ns = Some(now_ns);
        if let Some(duration_ns) = self.duration_ns {
            self.deadline_ns = now_ns.saturating_add(duration_ns);
        }
        if self.gates.is_none() && !self.expired {
            self.plain_until_ns = self.deadline_ns;
        }
    }

    /// Next action when no operation may be issued and no gate is the reason: wait, sync at the end, or be done.
    #[inline]
    fn idle(&mut self, out: &mut Vec<Op>) -> Step {
        if self.in_flight > 0 { Step::AwaitCompletion } else { self.finish(out) }
    }

    /// Everything else has completed: the final sync, if one is due.
    #[cold]
    fn finish(&mut self, out: &mut Vec<Op>) -> Step {
        if !self.dirty || !self.sync.is_a_call() {
            return Step::Done;
        }
        self.dirty = false;
        self.in_flight += 1;
        out.push(SYNC);
        Step::Issue
    }

    /// As [`Execution::next`], through the gates.
    #[inline(never)]
    fn next_gated<const SHOWN: bool>(&mut self, now_ns: u64, out: &mut Vec<Op>) -> Step {
        // Moved out, because the gates are changed while `self` is borrowed for the chunk.
        let Some(mut gates) = self.gates.take() else { unreachable!("asked for only with gates") };
        let start_ns = self.start_ns.unwrap_or(now_ns);
        let (at_ns, last_ns) = (now_ns - start_ns, self.last_ns.saturating_sub(start_ns));
        gates.begin(at_ns);
        let before = out.len();
        let held = loop {
            if self.in_flight == self.depth || gates.alone(self.in_flight) {
                break Step::AwaitCompletion;
            }
            let used_up = self.cursor == self.chunk.ops.len();
            if self.expired || used_up && (SHOWN && out.len() > before || !self.refill_through(&mut gates)) {
                break Step::Done;
            }
            match gates.gate(&self.chunk, self.cursor, at_ns, last_ns, self.in_flight) {
                Gate::Open => {}
                Gate::Completion => break Step::AwaitCompletion,
                Gate::Until(until_ns) => {
                    // Never wait beyond the deadline, at which the run ends whatever is due later.
                    break Step::WaitUntil(start_ns.saturating_add(until_ns).min(self.deadline_ns));
                }
                Gate::Sync => {
                    gates.issue_sync(now_ns);
                    self.dirty = false;
                    self.in_flight += 1;
                    out.push(SYNC);
                    continue;
                }
            }
            let op = self.chunk.ops[self.cursor];
            gates.issue(&self.chunk, self.cursor, at_ns, start_ns);
            self.cursor += 1;
            self.in_flight += 1;
            // A traced sync makes the earlier writes durable, so no final sync is due unless something is written after
            // it.
            self.dirty = op.kind.changes() || (self.dirty && op.kind != OpKind::Sync);
            if !gates.counted() {
                // Operations of the warm-up come in addition to those that the stop rule counts.
                self.remaining = self.remaining.saturating_add(u64::from(op.kind != OpKind::Sync));
                self.remaining_bytes = self.remaining_bytes.saturating_add(i64::from(op.length_bytes));
            }
            out.push(op);
        };
        let step = match held {
            _ if out.len() > before => Step::Issue,
            Step::Done => {
                let step = self.idle(out);
                if step == Step::Issue {
                    gates.issue_sync(now_ns);
                }
                step
            }
            held => held,
        };
        self.gates = Some(gates);
        step
    }

    /// Due time of each operation that the last call of [`Execution::next`] appended, in the same order and on the
    /// clock of its `now_ns`; a sync is due when it is issued. Empty in the closed loop, where an operation is due
    /// when it is submitted.
    #[inline]
    pub fn due_ns(&self) -> &[u64] {
        self.gates.as_ref().map_or(&[], |gates| gates.due_ns())
    }

    /// Whether the operations that the last call of [`Execution::next`] appended count in the record: false during
    /// the warm-up, true from then on.
    #[inline]
    pub fn counted(&self) -> bool {
        self.gates.as_ref().is_none_or(|gates| gates.counted())
    }

    /// Whether operations issued by a call of [`Execution::next`] at `now_ns` will count: for drivers with slow work
    /// to do at the end of the warm-up.
    #[inline]
    pub fn will_count(&self, now_ns: u64) -> bool {
        let passed_ns = now_ns - self.start_ns.unwrap_or(now_ns);
        self.gates.as_ref().is_none_or(|gates| gates.will_count(passed_ns))
    }

    /// An operation has completed, at `now_ns`.
    ///
    /// # Panics
    /// When none was outstanding: a programmer's mistake.
    #[inline]
    pub fn complete(&mut self, now_ns: u64) {
        assert!(self.in_flight > 0, "a completion without an operation");
        self.in_flight -= 1;
        self.last_ns = now_ns;
    }

    /// Issue nothing more except the final sync: the time is over, or the user interrupted the run.
    pub fn stop(&mut self) {
        self.expired = true;
        self.plain_until_ns = 0;
    }

    /// The operations that will be issued next, in order, as far as they are known, without the syncs between them; more
    /// become known only when all of these are issued. A driver may look at them to prepare, never reorder them.
    pub fn upcoming(&mut self) -> &[Op] {
        if self.cursor == self.chunk.ops.len() && !self.expired {
            if let Some(mut gates) = self.gates.take() {
                self.refill_through(&mut gates);
                self.gates = Some(gates);
            } else {
                self.refill();
            }
        }
        &self.chunk.ops[self.cursor..]
    }

    fn refill_through(&mut self, gates: &mut Gates) -> bool {
        let more = self.refill();
        gates.schedule(&mut self.chunk);
        more
    }

    /// Generate the next chunk; false when nothing is left.
    #[inline(never)]
    fn refill(&mut self) -> bool {
        let bytes = u64::try_from(self.remaining_bytes).unwrap_or(0);
        self.source.fill(self.remaining.min(self.lookahead), bytes, &mut self.chunk);
        self.cursor = 0;
        let ops = &self.chunk.ops;
        if matches!(self.source, Source::Records(_)) {
            self.remaining -= ops.len() as u64;
        } else {
            let counted = ops.iter().filter(|op| op.kind != OpKind::Sync);
            let (count, bytes) =
                counted.fold((0, 0), |(count, bytes), op| (count + 1, bytes + i64::from(op.length_bytes)));
            self.remaining -= count;
            self.remaining_bytes = self.remaining_bytes.saturating_sub(bytes);
        }
        !ops.is_empty()
    }
}

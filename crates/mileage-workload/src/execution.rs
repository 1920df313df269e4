//! The execution contract's one implementation of rules: what to issue, when to wait, when it is done.

use crate::pattern::{Records, below, stream};
use crate::workload::{Error, Sync, Workload};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::{Deserialize, Serialize};

const LOOKAHEAD: usize = 64;

/// What an operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OpKind {
    /// Read `length_bytes` at `offset_bytes`.
    Read,
    /// Write `length_bytes` at `offset_bytes`.
    Write,
    /// Make all completed writes durable; offset and length are 0.
    Sync,
    /// Give up `length_bytes` at `offset_bytes`: TRIM on a device, a hole in a file.
    Discard,
}

/// One operation of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Op {
    /// What to do.
    pub kind: OpKind,
    /// Size in bytes.
    pub length_bytes: u32,
    /// First byte, from the start of the target.
    pub offset_bytes: u64,
}

/// What a driver does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Issue the operations that were appended, then ask again.
    Issue,
    /// Nothing can be issued before a completion: wait for one, then ask again.
    AwaitCompletion,
    /// Nothing can be issued before this time (or a completion, if one is outstanding): wait, then ask again.
    WaitUntil(u64),
    /// Everything was issued and has completed.
    Done,
}

/// Sees every completion; the conformance suite's window into a driver. Nothing in production.
pub trait Observer {
    /// An operation of `thread` was submitted and completed at these times, in the driver's nanoseconds.
    fn completed(&mut self, thread: u32, op: &Op, submit_ns: u64, complete_ns: u64);
}

/// The observer of production code: sees nothing, costs nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unobserved;

impl Observer for Unobserved {
    #[inline]
    fn completed(&mut self, _thread: u32, _op: &Op, _submit_ns: u64, _complete_ns: u64) {}
}

/// One thread of a workload under way.
#[derive(Clone, Debug)]
pub struct Execution {
    records: Records,
    mix: Xoshiro256PlusPlus,
    read_percent: u64,
    record_bytes: u32,
    span_start_bytes: u64,
    depth: u32,
    time_ns: Option<u64>,
    start_ns: Option<u64>,
    /// Operations not yet generated.
    remaining: u64,
    upcoming: Vec<Op>,
    cursor: usize,
    in_flight: u32,
    sync: Sync,
    wrote: bool,
    synced: bool,
    expired: bool,
}

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
        assert!(thread < workload.threads, "thread {thread} of {}", workload.threads);
        Ok(Self {
            records: Records::new(workload, thread),
            mix: stream(workload.seed, thread, 1),
            read_percent: u64::from(workload.read_percent),
            record_bytes: workload.record_bytes,
            span_start_bytes: workload.span_start_bytes,
            depth: workload.depth,
            time_ns: workload.stop.time_ns,
            start_ns: None,
            remaining: workload.operations_of(thread),
            upcoming: Vec::with_capacity(LOOKAHEAD),
            cursor: 0,
            in_flight: 0,
            sync: workload.sync,
            wrote: false,
            synced: false,
            expired: false,
        })
    }

    /// What to do at `now_ns` (any origin, never running backwards); operations to issue are appended to `out`.
    #[inline]
    pub fn next(&mut self, now_ns: u64, out: &mut Vec<Op>) -> Step {
        let start_ns = *self.start_ns.get_or_insert(now_ns);
        if let Some(time_ns) = self.time_ns {
            self.expired |= now_ns - start_ns >= time_ns;
        }
        let before = out.len();
        while self.in_flight < self.depth && !self.expired {
            if self.cursor == self.upcoming.len() && !self.refill() {
                break;
            }
            let op = self.upcoming[self.cursor];
            self.cursor += 1;
            self.wrote |= op.kind == OpKind::Write;
            self.in_flight += 1;
            out.push(op);
        }
        if out.len() > before {
            Step::Issue
        } else if self.in_flight > 0 {
            Step::AwaitCompletion
        } else {
            self.finish(out)
        }
    }

    /// Everything else has completed: the final sync, if one is due.
    #[cold]
    fn finish(&mut self, out: &mut Vec<Op>) -> Step {
        if self.synced || !self.wrote || self.sync == Sync::None {
            return Step::Done;
        }
        self.synced = true;
        self.in_flight += 1;
        out.push(Op { kind: OpKind::Sync, length_bytes: 0, offset_bytes: 0 });
        Step::Issue
    }

    /// When each operation that the last call of [`Execution::next`] appended was due, in the same order and on the
    /// clock of its `now_ns`. Empty in the closed loop, where an operation is due when it is submitted.
    #[inline]
    pub fn due_ns(&self) -> &[u64] {
        &[]
    }

    /// An operation has completed, at `now_ns`.
    ///
    /// # Panics
    /// When none was outstanding: a programmer's mistake.
    #[inline]
    pub fn complete(&mut self, _now_ns: u64) {
        assert!(self.in_flight > 0, "a completion without an operation");
        self.in_flight -= 1;
    }

    /// Issue nothing more except the final sync: the user interrupted the run.
    pub fn stop(&mut self) {
        self.expired = true;
    }

    /// The operations that will be issued next, in order, as far as they are known; more become known only when all
    /// of these are issued. A driver may look at them to prepare, never reorder them.
    pub fn upcoming(&mut self) -> &[Op] {
        if self.cursor == self.upcoming.len() && !self.expired {
            self.refill();
        }
        &self.upcoming[self.cursor..]
    }

    /// Generate the next chunk; false when nothing is left.
    #[inline(never)]
    fn refill(&mut self) -> bool {
        let count = self.remaining.min(LOOKAHEAD as u64);
        self.remaining -= count;
        self.cursor = 0;
        self.upcoming.clear();
        for _ in 0..count {
            let kind = match self.read_percent {
                0 => OpKind::Write,
                100 => OpKind::Read,
                percent if below(&mut self.mix, 100) < percent => OpKind::Read,
                _ => OpKind::Write,
            };
            let offset_bytes = self.span_start_bytes + self.records.next() * u64::from(self.record_bytes);
            self.upcoming.push(Op { kind, length_bytes: self.record_bytes, offset_bytes });
        }
        count > 0
    }
}

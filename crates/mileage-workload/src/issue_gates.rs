//! Gates that may delay an operation in addition to the depth: a due time, a cap, a pause, an intermediate sync, the
//! warm-up.
//!
//! A workload that asks for none of them has no gates, and its execution pays nothing for them.

use crate::load_model::Think;
use crate::operation::OpKind;
use crate::pace::{Arrivals, Throttle};
use crate::pattern::Chunk;
use crate::workload::Workload;

/// One reason to delay an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gate {
    /// No gate: the operation can start.
    Open,
    /// An outstanding operation must complete first.
    Completion,
    /// This time.
    Until(u64),
    /// A sync is due before it.
    Sync,
}

/// All reasons to delay the operations of one thread. Times are since the thread's start.
#[derive(Clone, Debug)]
pub(crate) struct Gates {
    arrivals: Option<Arrivals>,
    throttle: Option<Throttle>,
    think: Option<Think>,
    /// Operations since the last pause.
    since_pause: u64,
    /// Writes between two syncs; 0 for none.
    sync_every: u64,
    writes: u64,
    /// A sync is outstanding; nothing else may be.
    syncing: bool,
    /// End of the pause after a burst, and of the one that a pattern puts before an operation, once they have begun.
    think_until_ns: Option<u64>,
    pause_until_ns: Option<u64>,
    warm_up_ns: u64,
    counted: bool,
    has_due_times: bool,
    /// Due times, on the driver's clock, of what the last call issued.
    issued_due_ns: Vec<u64>,
}

impl Gates {
    /// The gates of a workload, if it has any.
    pub(crate) fn of(workload: &Workload, thread: u32) -> Option<Self> {
        let load = &workload.load;
        if !workload.waits() && !workload.syncs_on_the_way() && load.warm_up_ns == 0 {
            return None;
        }
        let due = workload.has_due_times();
        Some(Self {
            arrivals: load.open.map(|open| Arrivals::new(open, workload.seed, thread, workload.threads)),
            throttle: load.cap.map(|cap| Throttle::new(cap, workload.record_bytes, thread, workload.threads)),
            think: load.think,
            since_pause: 0,
            sync_every: workload.sync_every,
            writes: 0,
            syncing: false,
            think_until_ns: None,
            pause_until_ns: None,
            warm_up_ns: load.warm_up_ns,
            counted: load.warm_up_ns == 0,
            has_due_times: due,
            issued_due_ns: Vec::with_capacity(if due { workload.depth as usize } else { 0 }),
        })
    }

    /// A chunk has been generated: say when its operations are due.
    pub(crate) fn schedule(&mut self, chunk: &mut Chunk) {
        if let Some(arrivals) = &mut self.arrivals {
            chunk.due_ns.extend((0..chunk.ops.len()).map(|_| arrivals.next_ns()));
        }
    }

    /// A call of the driver begins, `at_ns` after the thread's start.
    pub(crate) fn begin(&mut self, at_ns: u64) {
        self.issued_due_ns.clear();
        self.counted = self.will_count(at_ns);
    }

    /// Whether an operation issued `at_ns` after the thread's start counts in the record.
    pub(crate) fn will_count(&self, at_ns: u64) -> bool {
        at_ns >= self.warm_up_ns
    }

    pub(crate) fn counted(&self) -> bool {
        self.counted
    }

    pub(crate) fn due_ns(&self) -> &[u64] {
        &self.issued_due_ns
    }

    /// Whether a sync that must be alone is outstanding.
    pub(crate) fn alone(&mut self, in_flight: u32) -> bool {
        self.syncing &= in_flight > 0;
        self.syncing
    }

    /// The gate of operation `index` of the chunk, `at_ns` after the start; the last completion was at `last_ns`.
    pub(crate) fn gate(&mut self, chunk: &Chunk, index: usize, at_ns: u64, last_ns: u64, in_flight: u32) -> Gate {
        let alone = chunk.ops[index].kind == OpKind::Sync;
        if alone && in_flight > 0 {
            return Gate::Completion;
        }
        if self.sync_every > 0 && self.writes >= self.sync_every && !alone {
            return if in_flight > 0 { Gate::Completion } else { Gate::Sync };
        }
        if let Some(Think { pause_ns, every_operations }) = self.think
            && self.since_pause >= every_operations
        {
            if in_flight > 0 {
                return Gate::Completion;
            }
            let until_ns = *self.think_until_ns.get_or_insert(last_ns.saturating_add(pause_ns));
            if at_ns < until_ns {
                return Gate::Until(until_ns);
            }
            self.since_pause = 0;
            self.think_until_ns = None;
        }
        if let Some(pause_ns) = chunk.pause_ns.get(index).filter(|pause_ns| **pause_ns > 0) {
            let until_ns = *self.pause_until_ns.get_or_insert(at_ns.saturating_add(*pause_ns));
            if at_ns < until_ns {
                return Gate::Until(until_ns);
            }
        }
        match chunk.due_ns.get(index) {
            Some(due_ns) if at_ns < *due_ns => return Gate::Until(*due_ns),
            _ => {}
        }
        match &self.throttle {
            Some(throttle) if at_ns < throttle.slot_ns() && !alone => Gate::Until(throttle.slot_ns()),
            _ => Gate::Open,
        }
    }

    /// Operation `index` of the chunk is issued, `at_ns` after the start, which was at `start_ns`.
    pub(crate) fn issue(&mut self, chunk: &Chunk, index: usize, at_ns: u64, start_ns: u64) {
        self.pause_until_ns = None;
        if let Some(due_ns) = chunk.due_ns.get(index) {
            self.issued_due_ns.push(start_ns.saturating_add(*due_ns));
        }
        let op = &chunk.ops[index];
        if op.kind == OpKind::Sync {
            self.syncing = true;
            self.writes = 0;
            return;
        }
        if let Some(throttle) = &mut self.throttle {
            throttle.spend(at_ns, op.length_bytes);
        }
        self.since_pause += 1;
        self.writes += u64::from(op.kind == OpKind::Write);
    }

    /// A sync that stands in no chunk is issued at `now_ns` on the driver's clock.
    pub(crate) fn issue_sync(&mut self, now_ns: u64) {
        self.syncing = true;
        self.writes = 0;
        if self.has_due_times {
            self.issued_due_ns.push(now_ns);
        }
    }
}

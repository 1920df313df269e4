//! Replay of a trace: its operations are distributed over the threads in turn.

use super::{Chunk, LOOKAHEAD_MAX, TraceOp};
use crate::operation::{Op, OpKind};
use crate::workload::Workload;
use std::sync::Arc;

/// One thread's part of a trace.
#[derive(Clone, Debug)]
pub(crate) struct Replay {
    operations: Arc<[TraceOp]>,
    timed: bool,
    start_bytes: u64,
    /// The next of this thread's operations, and how many of them are one apart.
    next: usize,
    threads: usize,
}

impl Replay {
    pub(crate) fn new(workload: &Workload, thread: u32, operations: &Arc<[TraceOp]>, timed: bool) -> Self {
        let (next, threads) = (thread as usize, workload.threads as usize);
        Self { operations: Arc::clone(operations), timed, start_bytes: workload.span_start_bytes, next, threads }
    }

    /// Up to `count` operations and the syncs among them, until they move `bytes`; nothing once the trace has ended.
    pub(crate) fn fill(&mut self, count: u64, bytes: u64, chunk: &mut Chunk) {
        let (mut done, mut moved) = (0, 0);
        while done < count && moved < bytes && chunk.ops.len() < LOOKAHEAD_MAX {
            let Some(TraceOp { at_ns, kind, offset_bytes, length_bytes }) = self.operations.get(self.next) else {
                return;
            };
            self.next += self.threads;
            let sync = *kind == OpKind::Sync;
            let offset_bytes = if sync { 0 } else { self.start_bytes + offset_bytes };
            chunk.ops.push(Op { kind: *kind, length_bytes: *length_bytes, offset_bytes });
            if self.timed {
                chunk.due_ns.push(*at_ns);
            }
            done += u64::from(!sync);
            moved += u64::from(*length_bytes);
        }
    }
}

/// Operations of a thread's part, syncs not counted.
pub(crate) fn dealt(operations: &[TraceOp], thread: u32, threads: u32) -> u64 {
    let mine = operations.iter().skip(thread as usize).step_by(threads as usize);
    mine.filter(|op| op.kind != OpKind::Sync).count() as u64
}

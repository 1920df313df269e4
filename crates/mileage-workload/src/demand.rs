//! What a workload asks of its target: which kinds of operations, how long.

use crate::execution::OpKind;
use crate::load::Load;
use crate::pattern::{PatternKind, pauses};
use crate::workload::Workload;

impl Workload {
    /// Whether any operation may read.
    pub fn reads(&self) -> bool {
        match &self.pattern {
            PatternKind::Trace { operations, .. } => operations.iter().any(|op| op.kind == OpKind::Read),
            PatternKind::Access { lines } => lines.iter().any(|line| line.read_percent > 0),
            _ => self.read_percent > 0 && self.discard_percent < 100,
        }
    }

    /// Whether any operation may write.
    pub fn writes(&self) -> bool {
        match &self.pattern {
            PatternKind::Trace { operations, .. } => operations.iter().any(|op| op.kind == OpKind::Write),
            PatternKind::Access { lines } => lines.iter().any(|line| line.read_percent < 100),
            _ => self.read_percent < 100 && self.discard_percent < 100,
        }
    }

    /// Whether any operation may discard.
    pub fn discards(&self) -> bool {
        match &self.pattern {
            PatternKind::Trace { operations, .. } => operations.iter().any(|op| op.kind == OpKind::Discard),
            _ => self.discard_percent > 0,
        }
    }

    /// The one thing that its operations do besides syncs; `None` where they may do several.
    pub fn one_way(&self) -> Option<OpKind> {
        match (self.reads(), self.writes(), self.discards()) {
            (true, false, false) => Some(OpKind::Read),
            (false, true, false) => Some(OpKind::Write),
            (false, false, true) => Some(OpKind::Discard),
            _ => None,
        }
    }

    /// Whether a driver may be told to wait for a time.
    pub fn waits(&self) -> bool {
        let Load { open, cap, think, .. } = &self.load;
        let own = match &self.pattern {
            PatternKind::Access { lines } => pauses(lines),
            PatternKind::Trace { timed, .. } => *timed,
            _ => false,
        };
        own || open.is_some() || cap.is_some() || think.is_some()
    }

    /// Whether operations have due times of their own ([`crate::Execution::due_ns`]): the open loop, and a trace that
    /// keeps its times.
    pub fn has_due_times(&self) -> bool {
        self.load.open.is_some() || matches!(self.pattern, PatternKind::Trace { timed: true, .. })
    }

    /// Whether a sync may come before the end.
    pub fn syncs_on_the_way(&self) -> bool {
        match &self.pattern {
            PatternKind::Trace { operations, .. } if operations.iter().any(|op| op.kind == OpKind::Sync) => true,
            _ => self.sync_every > 0,
        }
    }

    /// Length of the longest operation, in bytes.
    pub fn length_bytes_max(&self) -> u32 {
        self.lengths().max().unwrap_or(self.record_bytes)
    }

    /// Whether every operation's length is a multiple of `of` bytes.
    pub fn lengths_are_multiples_of(&self, of: u32) -> bool {
        self.lengths().all(|length_bytes| length_bytes.is_multiple_of(of))
    }

    fn lengths(&self) -> Box<dyn Iterator<Item = u32> + '_> {
        match &self.pattern {
            PatternKind::Trace { operations, .. } => {
                let moves = operations.iter().filter(|op| op.kind != OpKind::Sync && op.kind != OpKind::Discard);
                Box::new(moves.map(|op| op.length_bytes))
            }
            PatternKind::Access { lines } => Box::new(lines.iter().map(|line| line.size_bytes)),
            _ => Box::new(std::iter::once(self.record_bytes)),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{OpKind, PatternKind, TraceOp, Workload};

    #[test]
    fn shares_and_traces_say_what_is_done() {
        let asks = |workload: &Workload| (workload.reads(), workload.writes(), workload.discards());
        let mixed = |read_percent, discard_percent| Workload { read_percent, discard_percent, ..Workload::default() };
        assert_eq!(asks(&mixed(100, 0)), (true, false, false));
        assert_eq!(asks(&mixed(0, 10)), (false, true, true));
        assert_eq!(asks(&mixed(50, 100)), (false, false, true));
        let op = |kind, length_bytes| TraceOp { at_ns: 0, kind, offset_bytes: 0, length_bytes };
        let operations = [op(OpKind::Write, 1536), op(OpKind::Sync, 0), op(OpKind::Discard, 1 << 20)];
        let pattern = PatternKind::Trace { operations: operations.into(), timed: false };
        let trace = Workload { pattern, ..mixed(100, 0) };
        assert_eq!(asks(&trace), (false, true, true));
        assert_eq!((trace.length_bytes_max(), mixed(0, 0).length_bytes_max()), (1536, 4096));
        assert!(trace.lengths_are_multiples_of(512) && !trace.lengths_are_multiples_of(1024));
    }
}

//! What a workload needs of its target: kinds of operations, duration; and for each thread: file, number of
//! operations.

use crate::load_model::Load;
use crate::operation::OpKind;
use crate::pattern::{IorOrder, PatternKind, dealt, pauses, unequal_share};
use crate::workload::{Files, Workload, share};

impl Workload {
    /// Whether any operation may be of a kind that is no sync.
    fn does(&self, kind: OpKind) -> bool {
        let has_share = |percent: u8| match kind {
            OpKind::Read => percent > 0,
            OpKind::Write => percent < 100,
            _ => false,
        };
        match &self.pattern {
            PatternKind::Trace { operations, .. } => operations.iter().any(|op| op.kind == kind),
            _ if kind == OpKind::Discard => self.discard_percent > 0,
            PatternKind::Access { lines } => lines.iter().any(|line| has_share(line.read_percent)),
            _ => has_share(self.read_percent) && self.discard_percent < 100,
        }
    }

    /// Whether any operation may read.
    pub fn reads(&self) -> bool {
        self.does(OpKind::Read)
    }

    /// Whether any operation may write.
    pub fn writes(&self) -> bool {
        self.does(OpKind::Write)
    }

    /// Whether any operation may discard.
    pub fn discards(&self) -> bool {
        self.does(OpKind::Discard)
    }

    /// Whether the target may be another afterwards.
    pub fn changes(&self) -> bool {
        OpKind::ALL.into_iter().any(|kind| kind.changes() && self.does(kind))
    }

    /// The one thing that its operations do besides syncs; `None` where they may do several.
    pub fn one_way(&self) -> Option<OpKind> {
        let mut kinds = OpKind::ALL.into_iter().filter(|kind| *kind != OpKind::Sync && self.does(*kind));
        kinds.next().filter(|_| kinds.next().is_none())
    }

    /// Whether a driver may have to wait until a time.
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
                let moves = operations.iter().filter(|op| op.kind.moves_bytes());
                Box::new(moves.map(|op| op.length_bytes))
            }
            PatternKind::Access { lines } => Box::new(lines.iter().map(|line| line.size_bytes)),
            _ => Box::new(std::iter::once(self.record_bytes)),
        }
    }
}

impl Workload {
    /// Number of the file that a thread works on, 0 to `threads` - 1, when each has its own ([`Files::PerThread`]): its
    /// own number, unless the pattern says whose part it visits; 0 for all in a shared file.
    pub fn file_of(&self, thread: u32) -> u32 {
        match (self.files, &self.pattern) {
            (Files::Shared, _) => 0,
            (Files::PerThread, PatternKind::Ior { order: IorOrder::Reordered { tasks }, .. }) => {
                ((u64::from(thread) + u64::from(*tasks)) % u64::from(self.threads)) as u32
            }
            (Files::PerThread, _) => thread,
        }
    }

    /// Operations that a thread does at most, syncs not counted: its share of the total, the first threads taking the
    /// remainder. Where operations differ in size, a byte limit is kept by [`Workload::bytes_of`] instead.
    pub fn operations_of(&self, thread: u32) -> u64 {
        let limit = self.limit_of(thread);
        match &self.pattern {
            PatternKind::Trace { operations, .. } => limit.min(dealt(operations, thread, self.threads)),
            _ => limit,
        }
    }

    /// Operations after which the stop rule ends a thread.
    pub(crate) fn limit_of(&self, thread: u32) -> u64 {
        let in_bytes =
            |bytes| if self.pattern.is_own_master() { u64::MAX } else { bytes / u64::from(self.record_bytes) };
        let by_bytes = self.stop.bytes.map_or(u64::MAX, in_bytes);
        let total = by_bytes.min(self.stop.operations.unwrap_or(u64::MAX));
        unequal_share(self, thread, total).unwrap_or_else(|| match total {
            u64::MAX => total,
            total => share(total, thread, self.threads).1,
        })
    }

    /// Bytes after which a thread ends, with the operation that reaches them: for patterns whose operations differ in
    /// size; [`u64::MAX`] without a byte limit and for all others.
    pub fn bytes_of(&self, thread: u32) -> u64 {
        match self.stop.bytes {
            Some(bytes) if self.pattern.is_own_master() => share(bytes, thread, self.threads).1,
            _ => u64::MAX,
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

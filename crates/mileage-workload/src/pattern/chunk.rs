//! A chunk of 64 operations that are generated together, ahead of their issue.

use crate::operation::Op;

/// Most operations of a chunk, unless its taker wants longer ones: making one takes a microsecond or so of real time.
pub(crate) const LOOKAHEAD: usize = 64;
/// Most operations of a chunk, whoever takes it.
pub(crate) const LOOKAHEAD_MAX: usize = 256;

/// Operations that were generated and not yet issued, and what their pattern says of their time.
#[derive(Clone, Debug)]
pub(crate) struct Chunk {
    pub(crate) ops: Vec<Op>,
    /// Due times since the thread's start, one for each operation; empty in the closed loop.
    pub(crate) due_ns: Vec<u64>,
    /// Pauses before each operation; empty for a pattern without.
    pub(crate) pause_ns: Vec<u64>,
}

impl Chunk {
    pub(crate) fn new() -> Self {
        let column = || Vec::with_capacity(LOOKAHEAD_MAX);
        Self { ops: Vec::with_capacity(LOOKAHEAD_MAX), due_ns: column(), pause_ns: column() }
    }

    pub(super) fn clear(&mut self) {
        self.ops.clear();
        self.due_ns.clear();
        self.pause_ns.clear();
    }
}

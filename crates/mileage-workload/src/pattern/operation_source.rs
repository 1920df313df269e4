//! Generate the operations of one thread from its access pattern, a chunk at a time.

use super::PatternKind;
use super::access::Access;
use super::chunk::{Chunk, LOOKAHEAD_MAX};
use super::random::{below, stream};
use super::records::Records;
use super::replay::Replay;
use crate::operation::{Op, OpKind};
use crate::workload::Workload;
use rand_xoshiro::Xoshiro256PlusPlus;

/// Generator of operations: endless, or until a trace ends.
#[derive(Clone, Debug)]
pub(crate) enum Source {
    Records(OfRecords),
    Access(Box<Access>),
    Replay(Replay),
}

impl Source {
    /// The source of one thread.
    pub(crate) fn new(workload: &Workload, thread: u32) -> Self {
        match (&workload.pattern, Records::new(workload, thread)) {
            (_, Some(records)) => Self::Records(OfRecords::new(workload, thread, records)),
            (PatternKind::Trace { operations, timed }, None) => {
                Self::Replay(Replay::new(workload, thread, operations, *timed))
            }
            (PatternKind::Access { lines }, None) => Self::Access(Box::new(Access::new(workload, thread, lines))),
            (pattern, None) => unreachable!("{pattern:?} is an order of records"),
        }
    }

    /// The next chunk: up to `count` operations, until they move `bytes`. Empty when `count` or `bytes` is 0 or a trace
    /// has ended; syncs of a trace are not counted.
    pub(crate) fn fill(&mut self, count: u64, bytes: u64, chunk: &mut Chunk) {
        chunk.clear();
        let count = count.min(LOOKAHEAD_MAX as u64);
        match self {
            Self::Records(records) => records.fill(count as usize, chunk),
            Self::Access(access) => access.fill(count, bytes, chunk),
            Self::Replay(replay) => replay.fill(count, bytes, chunk),
        }
    }
}

/// Operations of one size on records in a given order; reads and writes are drawn by their shares.
#[derive(Clone, Debug)]
pub(crate) struct OfRecords {
    records: Records,
    mix: Xoshiro256PlusPlus,
    read_percent: u64,
    discard_percent: u64,
    record_bytes: u32,
    span_start_bytes: u64,
}

impl OfRecords {
    fn new(workload: &Workload, thread: u32, records: Records) -> Self {
        Self {
            records,
            mix: stream(workload.seed, thread, 1),
            read_percent: u64::from(workload.read_percent),
            discard_percent: u64::from(workload.discard_percent),
            record_bytes: workload.record_bytes,
            span_start_bytes: workload.span_start_bytes,
        }
    }

    fn fill(&mut self, count: usize, chunk: &mut Chunk) {
        let mut records = [0; LOOKAHEAD_MAX];
        self.records.fill(&mut records[..count]);
        for record in &records[..count] {
            let offset_bytes = self.span_start_bytes + record * u64::from(self.record_bytes);
            let kind = self.kind();
            chunk.ops.push(Op { kind, length_bytes: self.record_bytes, offset_bytes });
        }
    }

    /// Draw the kind of the next operation; one draw for the discards and one for the reads, as far as there is a
    /// choice.
    #[inline]
    fn kind(&mut self) -> OpKind {
        let mut drawn = |percent| match percent {
            0 => false,
            100 => true,
            percent => below(&mut self.mix, 100) < percent,
        };
        if drawn(self.discard_percent) {
            OpKind::Discard
        } else if drawn(self.read_percent) {
            OpKind::Read
        } else {
            OpKind::Write
        }
    }
}

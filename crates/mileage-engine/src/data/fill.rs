//! The bytes that a write carries, which depend on their offset and on the current pass.
//!
//! # Laps
//! A run may write a place several times. Each thread counts the operations it has been given; every time their number
//! reaches the records of its share of the span, a new lap begins, and the blocks differ from those of the lap before.
//! For patterns that visit each record once this is the pass; for the others it is a measure of how far the run has
//! come. Two writes of one place in one lap carry the same bytes. A run that compares what it reads begins with lap 1: what
//! was laid out for it is of lap 0, and a write that is lost is then noticed.

use super::laps::Laps;
use super::vector_width::Width;
use mileage_workload::{Blocks, Content, IozoneBytes, Op, Workload, WriteIdentity};

/// Source of the bytes that are written.
#[derive(Debug)]
pub(super) enum Source {
    Blocks(Blocks, Width),
    Iozone(IozoneBytes),
    Zeros,
}

impl Source {
    pub(super) fn of(workload: &Workload) -> Self {
        let (content, seed) = (&workload.content, workload.seed);
        let records = (workload.span_start_bytes + workload.span_bytes) / u64::from(workload.record_bytes);
        if let Some(blocks) = Blocks::new(seed, content) {
            Self::Blocks(blocks, Width::best())
        } else if let Some(bytes) = IozoneBytes::new(content, seed, workload.length_bytes_max(), records) {
            Self::Iozone(bytes)
        } else {
            Self::Zeros
        }
    }

    /// The bytes of `writing` at `offset_bytes`.
    #[inline]
    pub(super) fn make(&self, writing: WriteIdentity, offset_bytes: u64, into: &mut [u8]) {
        match self {
            Self::Blocks(blocks, width) => width.fill(blocks, writing, offset_bytes, into),
            Self::Iozone(bytes) => {
                let record = offset_bytes / (into.len() as u64).max(1);
                bytes.fill(u32::from(writing.file), record, into);
            }
            Self::Zeros => into.fill(0),
        }
    }
}

/// Number of the file that a thread works on.
pub(super) fn file_of(workload: &Workload, thread: u32) -> u16 {
    workload.file_of(thread) as u16
}

/// Fills the write buffers of one thread.
#[derive(Debug)]
pub(super) struct Filler {
    source: Source,
    file: u16,
    generation: u32,
    lap: u32,
    /// Number of operations in a lap, one pass of a thread over its part.
    lap_operations: u64,
    /// Operations left in the current one.
    left: u64,
}

impl Filler {
    pub(super) fn new(workload: &Workload, thread: u32) -> Self {
        let lap_operations = workload.lap_operations(thread);
        Self {
            source: Source::of(workload),
            file: file_of(workload, thread),
            generation: workload.generation,
            lap: u32::from(Laps::needed(workload)),
            lap_operations,
            left: lap_operations,
        }
    }

    /// Whether all writes have the same bytes, so that a buffer is filled once for all of them.
    pub(super) fn is_fixed(content: Content) -> bool {
        matches!(content, Content::Zeros | Content::IozoneDefault | Content::IozonePattern { .. })
    }

    /// Fill a buffer for all writes to come, of any length; possible only for fixed contents.
    pub(super) fn prime(&self, into: &mut [u8]) {
        self.source.make(WriteIdentity::default(), 0, into);
    }

    /// An operation was handed out: which lap it belongs to.
    #[inline]
    pub(super) fn next_lap(&mut self) -> u32 {
        if self.left == 0 {
            self.left = self.lap_operations;
            self.lap = (self.lap + 1).min(WriteIdentity::LAP_MAX);
        }
        self.left -= 1;
        self.lap
    }

    /// The operation handed out last will be handed out again.
    pub(super) fn take_back(&mut self) {
        if self.left == self.lap_operations && self.lap > 0 {
            (self.lap, self.left) = (self.lap - 1, 0);
        }
        self.left += 1;
    }

    /// The bytes that a write of lap `lap` carries.
    #[inline]
    pub(super) fn fill(&self, op: &Op, lap: u32, into: &mut [u8]) {
        let writing = WriteIdentity { file: self.file, generation: self.generation, lap };
        self.source.make(writing, op.offset_bytes, into);
    }
}

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
use mileage_workload::{Blocks, Content, FioBuffer, IozoneBytes, Op, Workload, WriteIdentity};

/// Source of the bytes that are written.
#[derive(Debug)]
pub(super) enum Source {
    Blocks(Blocks, Width),
    Fio(FioBuffer, Width),
    Iozone(IozoneBytes),
    Zeros,
}

impl Source {
    pub(super) fn of(workload: &Workload) -> Self {
        let (content, seed) = (&workload.content, workload.seed);
        let records = (workload.span_start_bytes + workload.span_bytes) / u64::from(workload.record_bytes);
        if let Some(blocks) = Blocks::new(seed, content) {
            Self::Blocks(blocks, Width::best())
        } else if let Some(buffer) = FioBuffer::new(content, seed) {
            Self::Fio(buffer, Width::best())
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
            Self::Fio(buffer, width) => {
                prime_fio(buffer, *width, writing.file, into);
                buffer.change(writing, offset_bytes, into);
            }
            Self::Zeros => into.fill(0),
        }
    }
}

/// What a buffer of fio's contents holds before anything is written from it.
fn prime_fio(buffer: &FioBuffer, width: Width, file: u16, into: &mut [u8]) {
    width.fill(buffer.blocks(), WriteIdentity { file, ..WriteIdentity::default() }, 0, into);
}

/// Number of the file that a thread works on.
pub(super) fn file_of(workload: &Workload, thread: u32) -> u16 {
    workload.file_of(thread) as u16
}

/// What a write does to a buffer that only writes are made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refill {
    /// All bytes are made anew.
    All,
    /// Some words are changed in a buffer that was filled before the run.
    Words,
    /// Nothing: a buffer is filled before the run, for all writes.
    Nothing,
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

    /// What a write of this content does to a buffer.
    pub(super) fn refill_of(content: Content) -> Refill {
        match content {
            Content::Zeros | Content::FioConstant | Content::IozoneDefault | Content::IozonePattern { .. } => {
                Refill::Nothing
            }
            Content::FioScrambled => Refill::Words,
            _ => Refill::All,
        }
    }

    /// Fill a buffer for all writes to come, of any length; not possible for contents of which a write makes all bytes.
    pub(super) fn prime(&self, into: &mut [u8]) {
        match &self.source {
            Source::Fio(buffer, width) => prime_fio(buffer, *width, self.file, into),
            source => source.make(WriteIdentity::default(), 0, into),
        }
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

    /// The same, in a buffer that was primed and that only writes were put into.
    #[inline]
    pub(super) fn change(&self, op: &Op, lap: u32, into: &mut [u8]) {
        let writing = WriteIdentity { file: self.file, generation: self.generation, lap };
        match &self.source {
            Source::Fio(buffer, _) => buffer.change(writing, op.offset_bytes, into),
            source => source.make(writing, op.offset_bytes, into),
        }
    }
}

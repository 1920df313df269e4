//! Access patterns: which record comes next.
//!
//! Most patterns are an order of the span's records ([`records`]); an IOMeter specification ([`access`]) and a trace
//! ([`replay`]) say the size, the kind and the time of an operation too. All generate in chunks.

mod access;
mod chunk;
mod ior;
mod iozone;
mod mersenne;
mod operation_source;
mod order;
mod permutation;
mod random;
mod records;
mod replay;
mod skew;
mod validation;
mod zipf;

pub(crate) use access::pauses;
pub(crate) use chunk::{Chunk, LOOKAHEAD, LOOKAHEAD_MAX};
pub(crate) use ior::{unequal_pass, unequal_share};
pub(crate) use operation_source::Source;
pub(crate) use random::{below, stream};
pub(crate) use replay::dealt;

use crate::operation::OpKind;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Order in which the records of the span are visited.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PatternKind {
    /// Records in order from the start; each thread has a contiguous share; wraps around at its end.
    Sequential,
    /// Each record of the thread's share once, in a seeded order; another order for every further pass. Takes constant
    /// memory.
    Shuffled,
    /// Uniform over the whole span, with replacement, whatever the thread.
    Random,
    /// From the last record of the thread's share to the first.
    Backward,
    /// The first record of the thread's share, always: a hot spot.
    Fixed,
    /// A record, then the one `step_records` further on; at the end from the first one not yet visited: each record
    /// once.
    Stride {
        /// Distance in records, 1 to 2^40.
        step_records: u64,
    },
    /// As IOzone shuffles: MT19937-64 with its fixed seed and a full-range swap; every thread the same order of its
    /// share, every pass and every run the same. Needs 4 bytes of memory per record; 2^28 records at most.
    IozoneShuffle,
    /// As IOzone strides: wraps so that some records come twice and some never; a pass is as many operations as the
    /// thread's share has records.
    IozoneStride {
        /// Distance in records, 1 to 2^40; IOzone's default is 17.
        step_records: u64,
    },
    /// Zipf over the whole span, whatever the thread: the chance of the k-th most popular record is proportional to
    /// k^-theta. Which records are popular is a seeded permutation, the same for all threads.
    Zipf {
        /// The exponent, in hundredths, 1 to 300.
        theta_hundredths: u32,
    },
    /// A hot part at the start of the span, uniform inside each part, whatever the thread. Needs two records.
    HotCold {
        /// Share of the span's records that are hot, 1 to 99 percent, rounded down, at least one.
        hot_percent: u8,
        /// Share of operations that go there, 0 to 100 percent.
        access_percent: u8,
    },
    /// Sequential from the start of the thread's share, but each operation jumps to a random record of the whole span
    /// with this chance, and continues from there, through the whole span.
    PartlySequential {
        /// Chance of a jump, 0 to 100 percent.
        random_percent: u8,
    },
    /// An IOMeter access specification: lines with shares; sizes, mixes, bursts and delays come from the lines, and
    /// `read_percent` stays at 100. Every thread works on the whole span, from its start. `record_bytes` is the
    /// largest size. The random numbers are IOMeter's, from the workload's seed (thread 0) as its fixed seed; their low
    /// bits have short periods, so that shares come out up to a percentage point from what the lines say.
    Access {
        /// Up to 100 lines whose shares add up to 100 percent.
        lines: Arc<[AccessLine]>,
    },
    /// IOR's layout: segments of one block per task (thread), cut into transfers of the record. In a shared file the
    /// span is a whole number of segments of `threads` blocks; with a file for each thread, of single blocks.
    Ior {
        /// Part of a segment of one task, in bytes; a multiple of the record.
        block_bytes: u64,
        /// Order of the transfers, and whose part is visited.
        order: IorOrder,
    },
    /// The operations of a trace, once; operation `i` is done by thread `i` modulo the threads. `read_percent` stays at
    /// 100, `record_bytes` is the largest length. A sync in it waits for what its thread has outstanding, and is done as
    /// the workload's `sync` says.
    Trace {
        /// In the order of their times, at least one; offsets are from the span's start.
        operations: Arc<[TraceOp]>,
        /// Whether operations wait for their recorded times, counted from the thread's start: then they have due
        /// times, as in the open loop. Otherwise as fast as the depth and the load allow.
        timed: bool,
    },
}

/// One line of an IOMeter access specification.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AccessLine {
    /// Size of a transfer in bytes, 1 to 1 GiB.
    pub size_bytes: u32,
    /// Share of the specification, 1 to 100 percent.
    pub share_percent: u8,
    /// Share of reads, 0 to 100 percent.
    pub read_percent: u8,
    /// Share of random places, 0 to 100 percent; the others follow the transfer before.
    pub random_percent: u8,
    /// Pause before each burst, in milliseconds, up to a day; from when its first operation could have been issued.
    #[serde(default)]
    pub delay_ms: u32,
    /// Operations in a burst, 1 or more; a line is drawn for each burst.
    pub burst: u32,
    /// Every place is moved up to a multiple of this, in bytes; 0 for the sector, or for the common divisor of sector,
    /// sizes and start of the span where that is less. What would end behind the span goes to its start instead.
    #[serde(default)]
    pub align_bytes: u32,
}

/// IOR's order of transfers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IorOrder {
    /// In order, each task its own part.
    InOrder,
    /// In order, the part of the task `tasks` further on (IOR's `-C`, `-Q`); with a file for each thread, that thread's
    /// file ([`crate::Workload::file_of`]).
    Reordered {
        /// Distance in tasks, 1 or more.
        tasks: u32,
    },
    /// Shuffled transfers (IOR's `-z`), the same in every segment. In a shared file each transfer of a segment is dealt
    /// to a random thread first, so that threads do unequal work. 2^28 transfers in a segment at most.
    Random,
}

/// One operation of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TraceOp {
    /// Time of the operation, in nanoseconds since the trace began.
    pub at_ns: u64,
    /// Kind of the operation.
    pub kind: OpKind,
    /// First byte, from the span's start.
    pub offset_bytes: u64,
    /// Size in bytes, 1 to 1 GiB; 0 for a sync.
    pub length_bytes: u32,
}

//! Which record comes next.

use crate::workload::{Files, Workload, share};
use rand::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Order in which the records of the span are visited.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PatternKind {
    /// One after the other from the start; each thread has a contiguous share; wraps around at its end.
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
    /// A record, then the one `step_records` further on; at the end from the first one not yet visited: each record once.
    Stride {
        /// Distance in records, 1 or more.
        step_records: u64,
    },
    /// As IOzone shuffles: MT19937-64 with its fixed seed and a full-range swap; every thread the same order of its share.
    IozoneShuffle,
    /// As IOzone strides: wraps so that some records come twice and some never.
    IozoneStride {
        /// Distance in records, 1 or more; IOzone's default is 17.
        step_records: u64,
    },
    /// Zipf over the whole span; which records are popular is a seeded permutation.
    Zipf {
        /// The exponent, in hundredths, 1 to 300.
        theta_hundredths: u32,
    },
    /// A hot part at the start of the span, uniform inside each part.
    HotCold {
        /// Share of the span that is hot, 1 to 99 percent.
        hot_percent: u8,
        /// Share of operations that go there, 0 to 100 percent.
        access_percent: u8,
    },
    /// Sequential, but each operation jumps to a random record with this chance, and goes on from there.
    PartlySequential {
        /// Chance of a jump, 0 to 100 percent.
        random_percent: u8,
    },
    /// An IOMeter access specification: lines with shares; sizes, mixes, bursts and delays come from the lines.
    Access {
        /// Up to 100 lines whose shares add up to 100 percent.
        lines: Arc<[AccessLine]>,
    },
    /// IOR's layout: segments of one block per task, cut into transfers of the record.
    Ior {
        /// One task's part of a segment, in bytes; a multiple of the record.
        block_bytes: u64,
        /// Order of the transfers, and whose part is visited.
        order: IorOrder,
    },
    /// The operations of a trace.
    Trace {
        /// In the order of their times.
        operations: Arc<[TraceOp]>,
        /// Whether operations wait for their recorded times.
        timed: bool,
    },
}

/// One line of an IOMeter access specification.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AccessLine {
    /// Size of a transfer in bytes, a multiple of 512.
    pub size_bytes: u32,
    /// Share of the specification, 1 to 100 percent.
    pub share_percent: u8,
    /// Share of reads, 0 to 100 percent.
    pub read_percent: u8,
    /// Share of random places, 0 to 100 percent; the others follow the transfer before.
    pub random_percent: u8,
    /// Pause before each burst, in milliseconds.
    #[serde(default)]
    pub delay_ms: u32,
    /// Operations in a burst, 1 or more.
    pub burst: u32,
    /// Random places are multiples of this, in bytes; 0 for the sector.
    #[serde(default)]
    pub align_bytes: u32,
}

/// IOR's order of transfers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IorOrder {
    /// In order, each task its own part.
    InOrder,
    /// In order, the part of the task `tasks` further on (IOR's `-C`, `-Q`).
    Reordered {
        /// Distance in tasks, 1 or more.
        tasks: u32,
    },
    /// Shuffled transfers (IOR's `-z`).
    Random,
}

/// One operation of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TraceOp {
    /// When it was issued, in nanoseconds since the trace began.
    pub at_ns: u64,
    /// What it does.
    pub kind: crate::OpKind,
    /// First byte.
    pub offset_bytes: u64,
    /// Size in bytes; 0 for a sync.
    pub length_bytes: u32,
}

/// A seeded stream that differs between threads and between purposes.
pub(crate) fn stream(seed: u64, thread: u32, purpose: u64) -> Xoshiro256PlusPlus {
    let mixed = seed ^ (u64::from(thread) << 8 | purpose).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    Xoshiro256PlusPlus::seed_from_u64(mixed)
}

/// Uniform in `0..below`: the high half of a 64 x 64 bit product. Its bias is below `below` / 2^64.
#[inline]
pub(crate) fn below(rng: &mut Xoshiro256PlusPlus, below: u64) -> u64 {
    ((u128::from(rng.next_u64()) * u128::from(below)) >> 64) as u64
}

/// The records of one thread, in order, for ever.
#[derive(Clone, Debug)]
pub(crate) struct Records {
    kind: PatternKind,
    first: u64,
    count: u64,
    position: u64,
    rng: Xoshiro256PlusPlus,
    shuffle: Vec<u32>,
}

impl Records {
    pub(crate) fn new(workload: &Workload, thread: u32) -> Self {
        let (first, count) = match workload.pattern {
            PatternKind::Random => (0, workload.records()),
            _ if workload.files == Files::PerThread => (0, workload.records()),
            _ => share(workload.records(), thread, workload.threads),
        };
        let shuffle = match workload.pattern {
            PatternKind::Shuffled => (0..count as u32).collect(),
            _ => Vec::new(),
        };
        Self {
            kind: workload.pattern.clone(),
            first,
            count,
            position: 0,
            rng: stream(workload.seed, thread, 0),
            shuffle,
        }
    }

    /// Index of the next record in the span.
    #[inline]
    pub(crate) fn next(&mut self) -> u64 {
        if self.kind == PatternKind::Random {
            return below(&mut self.rng, self.count);
        }
        if self.position == 0 && self.kind == PatternKind::Shuffled {
            self.reshuffle();
        }
        let position = self.position;
        self.position = if position + 1 == self.count { 0 } else { position + 1 };
        let record = match self.kind {
            PatternKind::Shuffled => u64::from(self.shuffle[position as usize]),
            _ => position,
        };
        self.first + record
    }

    /// Fisher and Yates, from the back.
    fn reshuffle(&mut self) {
        for last in (1..self.shuffle.len()).rev() {
            let other = below(&mut self.rng, last as u64 + 1) as usize;
            self.shuffle.swap(last, other);
        }
    }
}

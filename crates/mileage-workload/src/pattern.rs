//! Which record comes next.

use crate::workload::{PatternKind, Workload, share};
use rand::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

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
            PatternKind::Sequential | PatternKind::Shuffled => share(workload.records(), thread, workload.threads),
        };
        let shuffle = match workload.pattern {
            PatternKind::Shuffled => (0..count as u32).collect(),
            PatternKind::Sequential | PatternKind::Random => Vec::new(),
        };
        Self { kind: workload.pattern, first, count, position: 0, rng: stream(workload.seed, thread, 0), shuffle }
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
            PatternKind::Sequential | PatternKind::Random => position,
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

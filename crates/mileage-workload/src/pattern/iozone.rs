//! The access orders of IOzone's random and stride tests, including their flaws.

use super::mersenne::Mersenne;

/// Most records of a shuffle: its table takes four bytes for each.
pub(crate) const SHUFFLED_MAX: u64 = 1 << 28;

/// Four numbers with which IOzone seeds its twister, run after run.
const KEY: [u64; 4] = [0x12345, 0x23456, 0x34567, 0x45678];

/// Each record once, in IOzone's order: record `i` is swapped with a random one of all, for every `i`. (A fair shuffle
/// would draw among those not yet placed; this one makes some orders likelier than others.)
#[derive(Clone, Debug)]
pub(crate) struct IozoneShuffle {
    first: u64,
    order: Box<[u32]>,
    position: usize,
}

impl IozoneShuffle {
    pub(crate) fn new(first: u64, count: u64) -> Self {
        let mut order: Box<[u32]> = (0..count as u32).collect();
        let mut twister = Mersenne::from_key(&KEY);
        for index in 0..order.len() {
            order.swap(index, (twister.next() % count) as usize);
        }
        Self { first, order, position: 0 }
    }

    pub(crate) fn fill(&mut self, out: &mut [u64]) {
        for record in out {
            *record = self.first + u64::from(self.order[self.position]);
            self.position = if self.position + 1 == self.order.len() { 0 } else { self.position + 1 };
        }
    }
}

/// IOzone's stride: after each record one step further, unless a step from the end of the record just done reaches the
/// last record; then to the record with the number of the wraps so far. A pass has as many operations as there are records, and begins again at the first.
#[derive(Clone, Debug)]
pub(crate) struct IozoneStride {
    first: u64,
    count: u64,
    step: u64,
    position: u64,
    wraps: u64,
    /// Operations of this pass so far.
    done: u64,
}

impl IozoneStride {
    pub(crate) fn new(first: u64, count: u64, step: u64) -> Self {
        Self { first, count, step, position: 0, wraps: 0, done: 0 }
    }

    pub(crate) fn fill(&mut self, out: &mut [u64]) {
        for record in out {
            *record = self.first + self.position;
            self.done += 1;
            if self.done == self.count {
                (self.position, self.wraps, self.done) = (0, 0, 0);
            } else if self.position + 1 + self.step >= self.count - 1 {
                self.wraps += 1;
                self.position = if self.count <= self.step { 0 } else { self.wraps % self.count };
            } else {
                self.position += self.step;
            }
        }
    }
}

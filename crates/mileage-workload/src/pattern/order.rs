//! Deterministic access orders: sequential, backward, one fixed record, strides.

/// The records `first..first + count` in an order that repeats.
#[derive(Clone, Debug)]
pub(crate) struct Order {
    first: u64,
    count: u64,
    /// Distance from one record to the next, below `count` unless that is 1.
    step: u64,
    position: u64,
    /// The first record of the current pass, which visits every `step`-th one.
    lane: u64,
}

impl Order {
    /// Records in ascending order.
    pub(crate) fn sequential(first: u64, count: u64) -> Self {
        Self::stride(first, count, 1)
    }

    /// The first record, always.
    pub(crate) fn fixed(first: u64) -> Self {
        Self::stride(first, 1, 1)
    }

    /// Every `step`-th one, then from the second record every `step`-th one, and so on. A step beyond the end visits
    /// one record per lane, which is the sequential order.
    pub(crate) fn stride(first: u64, count: u64, step: u64) -> Self {
        Self { first, count, step: step.min(count), position: 0, lane: 0 }
    }

    pub(crate) fn fill(&mut self, out: &mut [u64]) {
        for record in out {
            *record = self.first + self.position;
            self.position += self.step;
            if self.position >= self.count {
                self.lane = if self.lane + 1 == self.step { 0 } else { self.lane + 1 };
                self.position = self.lane;
            }
        }
    }
}

/// Records from the last to the first, repeatedly.
#[derive(Clone, Debug)]
pub(crate) struct Backward {
    first: u64,
    count: u64,
    /// Records not yet visited in this pass.
    left: u64,
}

impl Backward {
    pub(crate) fn new(first: u64, count: u64) -> Self {
        Self { first, count, left: count }
    }

    pub(crate) fn fill(&mut self, out: &mut [u64]) {
        for record in out {
            self.left = if self.left == 0 { self.count } else { self.left } - 1;
            *record = self.first + self.left;
        }
    }
}

//! Laps of a thread over its part of a device: the content of every lap differs.

use mileage_workload::Writing;

/// Current lap of a thread: a lap has as many operations as the thread visits places.
pub(crate) struct Lap {
    number: u32,
    operations: u64,
    left: u64,
}

impl Lap {
    /// First lap of a thread whose laps have this many operations.
    pub(crate) fn new(operations: u64) -> Self {
        Self { number: 0, operations, left: operations }
    }

    /// The lap of the next operation.
    pub(crate) fn of_next(&mut self) -> u32 {
        if self.left == 0 {
            self.left = self.operations;
            self.number = (self.number + 1).min(Writing::LAP_MAX);
        }
        self.left -= 1;
        self.number
    }
}

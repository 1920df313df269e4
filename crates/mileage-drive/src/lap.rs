//! Count how often a thread has written its whole part of a device (its laps), since each lap writes other content.

use mileage_workload::WriteIdentity;

/// Current lap of a thread. A lap has one operation for each record of the thread's part.
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
            self.number = (self.number + 1).min(WriteIdentity::LAP_MAX);
        }
        self.left -= 1;
        self.number
    }
}

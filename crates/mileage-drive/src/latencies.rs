//! Latencies of a run.

use mileage_measure::Histogram;
use mileage_workload::OpKind;

/// Latencies of a run's operations, by their kind.
#[derive(Default)]
pub(crate) struct Latencies {
    pub read: Histogram,
    pub write: Histogram,
    pub sync: Histogram,
    pub discard: Histogram,
    pub response: Histogram,
}

impl Latencies {
    pub(crate) fn of(&mut self, kind: OpKind) -> &mut Histogram {
        match kind {
            OpKind::Read => &mut self.read,
            OpKind::Write => &mut self.write,
            OpKind::Sync => &mut self.sync,
            OpKind::Discard => &mut self.discard,
        }
    }
}
